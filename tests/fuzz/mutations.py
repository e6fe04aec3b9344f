"""Random edits of model files, by a seed."""

import json
from typing import Any

import numpy as np

from gputree.tree.store import DTYPES
from tests.fuzz.edits import FILES, content_of, parts_of

BINARY = sorted(path.name for path in FILES.glob("*.gputree"))
TEXTS = sorted(path.name for path in FILES.glob("*.json") if path.name != "answers.json")
EXTREMES = [
    *(0, 1, -1, 2, 3, 255, 256, 65_534, 65_535, 2**31 - 1, -(2**31), 2**53, -(2**63)),
    *(0.5, 1e-300, 1e300, -1e300, 1.5, "nan", "inf", "-inf", "-0.0", "1e308", "5e-324"),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 2**53, 10**25, 0.5, -0.5, 1e308, "", "x", "\0", "1"),
    *([], [None], [[]], {}, {"tuple": []}, {"int": "0x" + "f" * 50}, {"float": "7ff8000000000000"}),
    *(
        {"float": "7ff0000000000000"},
        {"str": "7aCA"},
        {"bytes": "AA=="},
        {"tuple": [1, {"tuple": []}]},
    ),
    *({"dict": []}, {"array": ["float64", [1], "AAAAAAAA+H8="]}, {"object_array": [[1], [None]]}),
    *({"text_array": [1, [1], "YQAAAA=="]}, {"array": ["int8", [0, 10**15], ""]}, "direction"),
    *(
        {"numpy": ["float64", "AAAAAAAA+H8="]},
        {"numpy_str": "a"},
        "fractional",
        "surrogate",
        "error",
    ),
    *(
        "poisson",
        "gini",
        "majority",
        "missing",
        "category",
        "DecisionTreeClassifier",
        "squared_error",
    ),
]


def mutation(seed: int) -> tuple[str, list[list[Any]]]:
    """The name of a file, and what is done to it."""
    draw = np.random.default_rng(seed)
    is_text = draw.random() < 0.2
    name = str(draw.choice(TEXTS if is_text else BINARY))
    n_edits = min(3, int(draw.geometric(0.7)))
    if is_text:
        said = json.loads(content_of(name))
        return name, [in_json(draw, said) for _ in range(n_edits)][:1]
    return name, [_edit(draw, *parts_of(name)) for _ in range(n_edits)]


def _edit(draw: Any, header: dict[str, Any], arrays: dict[str, Any]) -> list[Any]:
    kind = draw.choice(list(KINDS), p=np.array(list(KINDS.values())) / sum(KINDS.values()))
    name = str(draw.choice(sorted(arrays)))
    array = arrays[name]
    at, other = (int(draw.integers(0, max(1, array.size))) for _ in range(2))
    if kind == "item":
        near = array.flat[at] if array.size and draw.random() < 0.4 else None
        value = _some(draw, EXTREMES) if near is None else _beside(draw, near)
        return ["item", name, at, value]
    if kind == "bit":
        return ["bit", name, int(draw.integers(0, max(8, array.nbytes * 8)))]
    if kind == "in_header":
        path = _path(draw, header)
        return ["in_header", path, *_what(draw, header, path)]
    arguments: dict[str, list[Any]] = {
        "swap": [name, at, other],
        "repeat": [name, int(draw.choice([0, 2, 3, 40])), int(draw.integers(0, 2))],
        "truncate": [name, at],
        "roll": [name, int(draw.integers(1, 4))],
        "cast": [name, str(draw.choice(DTYPES))],
        "reshape": [name, [int(draw.integers(1, 4)), -1][:1]],
        "rename": [name, str(draw.choice(["start", "columns", "x", "value"]))],
        "splice": [str(draw.choice(BINARY)), str(draw.choice([*arrays, *header]))],
        "every_array": [str(draw.choice(BINARY))],
    }
    if kind == "bytes":
        places = [[int(draw.integers(0, 10**6)), int(draw.integers(0, 256))] for _ in range(2)]
        return ["bytes", places]
    return [str(kind), *arguments[str(kind)]]


# How often each is tried.
KINDS = {
    **{"item": 30, "bit": 10, "in_header": 30, "swap": 6, "repeat": 4, "truncate": 3, "roll": 3},
    **{"cast": 2, "reshape": 1, "rename": 1, "splice": 8, "every_array": 2, "bytes": 3},
}


def _some(draw: Any, choices: list[Any]) -> Any:
    return choices[int(draw.integers(0, len(choices)))]


def _beside(draw: Any, number: Any) -> Any:
    value = float(number)
    if not np.isfinite(value):
        return 0
    if np.asarray(number).dtype.kind in "iub":
        return int(number) + int(draw.choice([-1, 1, 2]))
    return value * float(draw.choice([-1.0, 0.5, 1.0000001, 2.0, 1e10])) + float(
        draw.choice([0, 1])
    )


def in_json(draw: Any, said: Any) -> list[Any]:
    path = _path(draw, said)
    return ["in_json", path, *_what(draw, said, path)]


def _path(draw: Any, content: Any) -> list[Any]:
    """A way to some place, deep or not."""
    path: list[Any] = []
    while isinstance(content, dict | list) and len(content) and draw.random() < 0.9:
        keys = list(content) if isinstance(content, dict) else list(range(len(content)))
        path.append(_some(draw, keys))
        content = content[path[-1]]
    return path


def _what(draw: Any, content: Any, path: list[Any]) -> list[Any]:
    for key in path:
        content = content[key]
    if path and draw.random() < 0.15:
        return ["delete"]
    if path and isinstance(content, list | str) and draw.random() < 0.2:
        return ["repeat", int(draw.choice([0, 2, 50]))]
    if isinstance(content, int | float) and not isinstance(content, bool) and draw.random() < 0.5:
        value = _beside(draw, content)
        return ["set", value if np.isfinite(value) else 0]
    return ["set", _some(draw, VALUES)]
