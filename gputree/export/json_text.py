"""Models as JSON with a documented schema, and back without loss.

The text says what a model file of the same version says, tree by tree and in words. Numbers are
written with the fewest digits that read back as the same number; NaN is null, infinities are "inf"
and "-inf".
`model.schema.json` beside this module is the schema.
"""

import json
import re
from importlib import resources
from typing import Any

import numpy as np

from gputree.data.table import Kind
from gputree.dtypes import HostArray
from gputree.errors import ModelFileError
from gputree.tree import joined, store
from gputree.tree.plain import from_plain, to_plain
from gputree.tree.store import DTYPES, MAX_NESTING, ArrayOrParts, nesting, shown

FORMAT = "gputree-json"
INFINITE = {"inf": np.inf, "-inf": -np.inf}
NAME = "the JSON text"
LEAVES = "target_leaf"  # (trees, rows) whole numbers, unlike other arrays of ensembles
# Types of class labels as NumPy writes them, but for those of text, which have a width.
LABELS = {"|O", *(np.dtype(name).str for name in DTYPES)}
TEXT = re.compile("[<>]U([1-9][0-9]{0,8})")
SPARE = 2**20  # characters that the widths of labels may make more than the whole text has


def schema() -> dict[str, Any]:
    """The JSON Schema of what `to_json` writes.

    Examples
    --------
    >>> from gputree.export import json_text
    >>> json_text.schema()["title"]
    'A model of gputree'
    """
    text = resources.files("gputree.export").joinpath("model.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def to_json(header: dict[str, Any], stored: dict[str, ArrayOrParts], *, indent: int | None) -> str:
    """The text for the header and the arrays of a model file."""
    arrays = {name: store.whole(store.parts_of(array)) for name, array in stored.items()}
    said = {
        "format": FORMAT,
        "version": store.FORMAT_VERSION,
        "estimator": header["estimator"],
        "params": dict(header["params"]["dict"]),
        "ensemble": "n_trees" in header,
        "named": header["named"],
        "columns": [
            {
                "name": name,
                "kind": Kind(kind).name.lower(),
                "levels": _items(categories),
                "missing": has,
                **({} if origin is None else {"origin": origin}),
            }
            for name, kind, categories, has, origin in zip(
                header["names"],
                header["kinds"],
                header["levels"],
                header["has_missing"],
                header.get("origins") or [None] * len(header["names"]),
                strict=True,
            )
        ],
        "missing": header["missing"],
        "unknown_category": header["unknown"],
        "classes": _labels(header.get("classes")),
        "trees": _trees(header, arrays),
        "arrays": {
            name: _numbers(array) for name, array in arrays.items() if name not in joined.NAMES
        },
    }
    return json.dumps(said, indent=indent, ensure_ascii=True, allow_nan=False)


def from_json(text: str | bytes) -> Any:
    """Read a model that `to_json` wrote.

    The text is data only: none of it is executed, and a text that does not describe a model is
    refused with a `ModelFileError`.

    Parameters
    ----------
    text : str or bytes
        The JSON text, for a file `pathlib.Path(path).read_text()`.

    Returns
    -------
    estimator
        The fitted estimator with its parameters; its `to_bytes()` is that of the written model.

    Examples
    --------
    >>> import gputree
    >>> tree = gputree.DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    >>> again = gputree.from_json(tree.to_json())
    >>> again.to_bytes() == tree.to_bytes(), again.predict([[1]])
    (True, array(['yes'], dtype='<U3'))
    """
    from gputree.estimators import model_file

    said = _read(text)
    try:
        header, arrays = _header(said, len(text)), _arrays(said)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{NAME} does not describe a gputree model: {error}") from error
    return model_file.restored(said["version"], header, arrays, NAME)


def _items(plain: Any) -> Any:
    """Categories as a list: a file says that they are a tuple."""
    return None if plain is None else plain["tuple"]


def _labels(plain: Any) -> dict[str, Any] | None:
    if plain is None:
        return None
    labels = from_plain(plain)
    return {"dtype": labels.dtype.str, "labels": to_plain(labels.tolist())}


def _trees(header: dict[str, Any], arrays: dict[str, HostArray]) -> list[dict[str, Any]]:
    trees = joined.split(arrays) if "n_trees" in header else [arrays]
    return [
        {name: _numbers(array) for name, array in tree.items() if name in joined.NAMES}
        for tree in trees
    ]


def _numbers(array: HostArray) -> Any:
    """Numbers of any shape as lists."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    return [
        _numbers(each) if each.ndim else float(each) if np.isfinite(each) else _unusual(each)
        for each in array
    ]


def _unusual(number: Any) -> str | None:
    return None if np.isnan(number) else "inf" if number > 0 else "-inf"


def _read(text: str | bytes) -> dict[str, Any]:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    if nesting(raw) > MAX_NESTING:  # before the parser, which recurses
        raise ModelFileError(f"{NAME} is nested deeper than {MAX_NESTING} levels")
    try:
        said = json.loads(raw, parse_constant=_refuse_constant)
    except ValueError as error:
        raise ModelFileError(f"{NAME} is not JSON: {error}") from error
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ModelFileError(f"{NAME} is not a model: it does not say 'format': {FORMAT!r}")
    store.check_version(said.get("version"), NAME)
    return said


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is written as null, or in quotes")


def _header(said: dict[str, Any], n_characters: int) -> dict[str, Any]:
    columns = said["columns"]
    header = {
        "estimator": said["estimator"],
        "params": {"dict": [[name, value] for name, value in said["params"].items()]},
        "named": said["named"],
        "names": [column["name"] for column in columns],
        "kinds": [int(Kind[column["kind"].upper()]) for column in columns],
        "levels": [_tuple(column["levels"]) for column in columns],
        "has_missing": [column["missing"] for column in columns],
        "unknown": said["unknown_category"],
        "missing": said["missing"],
    }
    origins = [column.get("origin") for column in columns]
    if any(origin is not None for origin in origins):
        header["origins"] = origins
    if said["classes"] is not None:
        header["classes"] = _plain_labels(said["classes"], n_characters)
    if said["ensemble"] is True:
        header["n_trees"] = len(said["trees"])
    return header


def _tuple(items: Any) -> Any:
    return None if items is None else {"tuple": items}


def _plain_labels(said: dict[str, Any], n_characters: int) -> Any:
    """The labels as a file has them; `n_characters` is the length of the whole text."""
    labels, dtype = from_plain(said["labels"]), said["dtype"]
    if not isinstance(labels, list):
        raise ModelFileError("class labels are not a list")
    text = TEXT.fullmatch(dtype)
    if dtype not in LABELS and text is None:
        raise ModelFileError(f"{shown(dtype)} is not a dtype of class labels")
    if text is not None and int(text[1]) * len(labels) > n_characters + SPARE:
        raise ModelFileError(f"class labels of dtype {dtype} are much wider than the whole text")
    array = np.empty(len(labels), dtype)
    for at, label in enumerate(labels):
        array[at] = label
    if to_plain(array.tolist()) != said["labels"]:  # not by ==, to which 1 and True are one
        raise ModelFileError(f"class labels are not of dtype {dtype!r}")
    return to_plain(array)


def _arrays(said: dict[str, Any]) -> dict[str, HostArray]:
    trees = [{name: _of_tree(each, name) for name, each in tree.items()} for tree in said["trees"]]
    if any(set(tree) != set(trees[0]) for tree in trees):
        raise ModelFileError("the trees differ in what they tell")
    others = {name: _other(each, name) for name, each in said["arrays"].items()}
    if said["ensemble"] is True:
        return joined.join(trees) | others
    (only,) = trees
    return only | others


def _of_tree(said: Any, name: str) -> HostArray:
    """An array of a tree."""
    return (_matrix if name == "value" else _array)(said, name, joined.dtype_of(name))


def _other(said: Any, name: str) -> HostArray:
    """An array of the ensemble, beside those of its trees."""
    return _matrix(said, name, "<i4") if name == LEAVES else _array(said, name, "<f8")


def _matrix(said: Any, name: str, dtype: str) -> HostArray:
    """Rows of equal length."""
    if not isinstance(said, list) or not all(isinstance(row, list) for row in said):
        raise ModelFileError(f"{name!r} is not a list of lists of numbers")
    width = len(said[0]) if said else 0
    if any(len(row) != width for row in said):
        raise ModelFileError(f"the lists of {name!r} differ in length")
    flat = [number for row in said for number in row]
    return _array(flat, name, dtype).reshape(len(said), width)


def _array(said: Any, name: str, dtype: str) -> HostArray:
    if not isinstance(said, list):
        raise ModelFileError(f"{name!r} is not a list of numbers")
    if np.dtype(dtype).kind == "f":
        return np.array([_float(number, name) for number in said], np.dtype(dtype))
    if any(type(number) is not int for number in said):
        raise ModelFileError(f"{name!r} holds something that is not a whole number")
    return np.array(said, np.dtype(dtype))


def _float(number: Any, name: str) -> float:
    if number is None:
        return float("nan")
    if isinstance(number, str) and number in INFINITE:
        return INFINITE[number]
    if type(number) not in (int, float):
        raise ModelFileError(f"{name!r} holds {shown(number)}, which is not a number")
    return float(number)
