"""Trees one after another: the arrays of several as those of one file, and back with checks.

`tree_nodes`, `tree_categories`, `tree_columns`, `tree_combinations` and `tree_terms` tell how long
the part of each tree is.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from gputree.dtypes import HostArray
from gputree.errors import ModelFileError
from gputree.tree.directions import Directions
from gputree.tree.tree import Tree

# What arrays of version 1 are called since; JSON of that version is read by these names, too.
FIRST_NAMES = {
    "level_start": "category_start",
    "level_slot": "category_slot",
    "surrogate_level_start": "surrogate_category_start",
    "tree_levels": "tree_categories",
}
# What tells the lengths of the parts of an array.
LENGTHS = {
    "tree_nodes": "kind",
    "tree_categories": "category_slot",
    "tree_columns": "columns",
    "tree_combinations": "direction_n_terms",
    "tree_terms": "direction_column",
    "tree_levels": "level_slot",
}
NAMES = {*Tree.DTYPES, *Directions.DTYPES, *FIRST_NAMES, "columns", *LENGTHS}
COLUMNS = "<i8"  # the type of `columns`, which a tree has that was grown on some columns


def dtype_of(name: str) -> str:
    """What an array of a tree consists of."""
    if name in Directions.DTYPES:
        return Directions.DTYPES[name]
    return COLUMNS if name == "columns" else Tree.DTYPES[FIRST_NAMES.get(name, name)]


def arrays_of(tree: Tree) -> dict[str, HostArray]:
    """The arrays of a tree by their names."""
    own = {name: getattr(tree, name) for name in Tree.DTYPES}
    return own if tree.directions is None else own | tree.directions.arrays()


def check_types(arrays: Mapping[str, HostArray]) -> None:
    """Refuse arrays that are not those of a tree, or not of their types."""
    if set(arrays) not in (set(Tree.DTYPES), {*Tree.DTYPES, *Directions.DTYPES}):
        raise ModelFileError("the file does not hold the arrays of a tree")
    for name, array in arrays.items():
        dtype, n_dimensions = dtype_of(name), 2 if name == "value" else 1
        if array.dtype != np.dtype(dtype):
            raise ModelFileError(f"array {name!r} has dtype {array.dtype}, not {dtype}")
        if array.ndim != n_dimensions:
            raise ModelFileError(f"array {name!r} has {array.ndim} dimensions, not {n_dimensions}")


def join(trees: Sequence[Mapping[str, HostArray]]) -> dict[str, HostArray]:
    """The arrays of an ensemble; all trees have the same names, perhaps with `columns`."""
    return {name: np.concatenate(parts) for name, parts in in_parts(trees).items()}


def in_parts(trees: Sequence[Mapping[str, HostArray]]) -> dict[str, list[HostArray]]:
    """The same, each array as the parts of which it consists."""
    arrays = {name: [tree[name] for tree in trees] for name in trees[0]}
    for lengths, whole in LENGTHS.items():
        if whole in arrays:
            arrays[lengths] = [np.array([len(part) for part in arrays[whole]], np.int64)]
    return arrays


def split(arrays: Mapping[str, HostArray]) -> list[dict[str, HostArray]]:
    """The arrays of each tree of an ensemble, from those that `join` made and perhaps others."""
    if not {*Tree.DTYPES, "tree_nodes", "tree_categories"} <= set(arrays):
        raise ModelFileError("the file does not hold the arrays of trees")
    by_node, by_list = _ends(arrays, "tree_nodes", 1), _ends(arrays, "tree_categories", 0)
    if len(by_node) < 2 or len(by_list) != len(by_node):
        raise ModelFileError("the file does not say how long its trees are")
    own = arrays["n_surrogates"]
    if own.ndim != 1 or len(own) != by_node[-1] or (own < 0).any():
        raise ModelFileError("the trees do not say how many surrogates they have")
    by_surrogate = np.append(0, np.cumsum(own, dtype=np.int64))[by_node]
    ends = {name: by_surrogate if name in Tree.OTHERS else by_node for name in Tree.DTYPES}
    ends |= {"category": by_list, "category_slot": by_list}
    if "columns" in arrays:
        ends["columns"] = _ends(arrays, "tree_columns", 1)
        is_right = arrays["columns"].ndim == 1 and arrays["columns"].dtype == np.dtype(COLUMNS)
        if not is_right or len(ends["columns"]) != len(by_node):
            raise ModelFileError("the columns of the trees are described incompletely")
    if set(Directions.DTYPES) & set(arrays):
        ends |= _ends_of_directions(arrays, len(by_node))
    for name, end in ends.items():
        if not arrays[name].ndim or len(arrays[name]) != end[-1]:
            raise ModelFileError(f"array {name!r} is not as long as the trees say")
    return [
        {name: arrays[name][end[at] : end[at + 1]] for name, end in ends.items()}
        for at in range(len(by_node) - 1)
    ]


def _ends_of_directions(arrays: Mapping[str, HostArray], n_ends: int) -> dict[str, HostArray]:
    """The same of the combinations of the trees and of their terms."""
    if not {*Directions.DTYPES, "tree_combinations", "tree_terms"} <= set(arrays):
        raise ModelFileError("the combinations of the trees are described incompletely")
    by_term = _ends(arrays, "tree_terms", 0)
    ends = dict.fromkeys(Directions.DTYPES, by_term)
    ends["direction_n_terms"] = _ends(arrays, "tree_combinations", 0)
    if any(len(end) != n_ends for end in ends.values()):
        raise ModelFileError("the combinations of the trees are described incompletely")
    return ends


def _ends(arrays: Mapping[str, HostArray], name: str, low: int) -> HostArray:
    """Where the part of each tree begins, and at last where all end, from lengths in a file."""
    sizes, high = arrays[name], arrays[LENGTHS[name]].size
    if sizes.dtype != np.int64 or sizes.ndim != 1 or ((sizes < low) | (sizes > high)).any():
        raise ModelFileError(f"array {name!r} does not hold lengths")
    return np.append(0, np.cumsum(sizes))
