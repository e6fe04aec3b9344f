"""Models as files of other formats, told apart by their suffix.

Knows names and suffixes; the formats themselves are in the other modules, and are imported when
they are asked for.
"""

import os
from pathlib import PurePath
from typing import Any

from gputree.tree import store

# Name and suffix of every format.
FORMATS: dict[str, str] = {
    "json": ".json",
    "onnx": ".onnx",
    "sql": ".sql",
    "python": ".py",
    "c": ".c",
    "treelite": ".tl",
}


def export(model: Any, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a fitted model to a file of another format.

    The file is written under a temporary name and renamed, so it is complete or not there at all.

    Parameters
    ----------
    model : estimator
        A fitted tree or ensemble of gputree.
    path : str or path
        The file.
    format : {'json', 'onnx', 'sql', 'python', 'c', 'treelite'}, optional
        The format; by default the suffix of the path decides.

    Examples
    --------
    >>> import pathlib, tempfile, gputree
    >>> from gputree.export import export
    >>> tree = gputree.DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tree.json")
    >>> export(tree, path)
    >>> gputree.from_json(path.read_text()).predict([[1]])
    array(['yes'], dtype='<U3')
    """
    store.write(path, as_bytes(model, path, _format_of(path) if format is None else format))


def as_bytes(model: Any, path: str | os.PathLike[str], format: str) -> bytes:
    """What a file of a format holds; the name of the file names functions in it."""
    if format not in FORMATS:
        raise ValueError(f"format={format!r} is unknown; choose from {sorted(FORMATS)}")
    if not hasattr(model, "_plan"):
        raise TypeError(
            f"a {type(model).__name__} cannot be exported; give a fitted tree or ensemble of "
            "gputree"
        )
    if format == "onnx":
        return bytes(model.to_onnx().SerializeToString())
    if format == "treelite":
        return bytes(model.to_treelite().serialize_bytes())
    if format == "c":
        return str(model.to_c(name=_identifier(path))).encode()
    return str(getattr(model, f"to_{format}")()).encode()


def _format_of(path: str | os.PathLike[str]) -> str:
    suffix = PurePath(os.fsdecode(path)).suffix.lower()
    for name, own in FORMATS.items():
        if own == suffix:
            return name
    known = ", ".join(f"{own} ({name})" for name, own in FORMATS.items())
    raise ValueError(
        f"path={os.fsdecode(path)!r}: the suffix names no format; use one of {known}, or format="
    )


def _identifier(path: str | os.PathLike[str]) -> str:
    """A name in C after a file."""
    stem = PurePath(os.fsdecode(path)).stem
    text = "".join(each if each.isascii() and each.isalnum() else "_" for each in stem)
    return text if text[:1].isalpha() else f"model_{text}".rstrip("_")
