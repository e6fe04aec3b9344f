"""The arrays of trees by the names that files have for them.

In files of the first form, a node that tests levels has an entry in `level_slot` for every level
of its column, and one more for levels that nobody has seen. Such files are read for ever. Models
without categories are still written so: nothing in them has changed.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from gputree.dtypes import HostArray
from gputree.runs import begins
from gputree.tree.categories import lists_of_tables
from gputree.tree.store import damaged
from gputree.tree.tree import Tree

FIRST = {
    "category_start": "level_start",
    "category_slot": "level_slot",
    "surrogate_category_start": "surrogate_level_start",
}
NAMES = tuple(Tree.DTYPES)
FIRST_NAMES = tuple(FIRST.get(name, name) for name in NAMES if name != "category")
# What tells how many entries the lists or tables of each tree of an ensemble have; and these.
LENGTHS = {"tree_categories": ("category", "category_slot"), "tree_levels": ("level_slot",)}


def names_in(names: Iterable[str]) -> tuple[str, ...]:
    """The names of a tree's arrays in the form of a file that has `names`, and perhaps others."""
    return FIRST_NAMES if FIRST["category_slot"] in set(names) else NAMES


def dtype_of(name: str) -> str:
    """What an array of either form consists of."""
    return Tree.DTYPES[{old: new for new, old in FIRST.items()}.get(name, name)]


def lengths_in(names: Iterable[str]) -> str:
    """The one of LENGTHS that an ensemble has whose trees have `names`."""
    return "tree_categories" if names_in(names) is NAMES else "tree_levels"


def ends(
    names: tuple[str, ...], by_node: HostArray, by_surrogate: HostArray, by_entry: HostArray
) -> dict[str, HostArray]:
    """For every array of an ensemble the one of three that tells where the parts of trees end."""
    of_nodes = {*NAMES, FIRST["category_start"]} - {*Tree.OTHERS}
    found = {name: by_node if name in of_nodes else by_surrogate for name in names}
    return found | dict.fromkeys(LENGTHS[lengths_in(names)], by_entry)


def check(arrays: Mapping[str, HostArray]) -> None:
    """Refuse a form that `stored` would not have chosen; a model has one form only."""
    if "category" in arrays and not arrays["category"].size:
        raise damaged("its trees have no lists of categories, and arrays for them")


def stored(arrays: Mapping[str, HostArray]) -> dict[str, HostArray]:
    """The arrays of a tree, or of several, as a file has them."""
    if len(arrays["category"]):
        return dict(arrays)
    return {FIRST.get(name, name): arrays[name] for name in NAMES if name != "category"}


def read(arrays: Mapping[str, HostArray], n_entries: HostArray) -> dict[str, HostArray]:
    """The arrays of a tree from those of a file; `n_entries` is that of each feature's tables.

    It is -1 where a feature has thresholds.
    """
    if names_in(arrays) is NAMES:
        return dict(arrays)
    old = {name: arrays[first] for name, first in FIRST.items()}
    feature = np.append(arrays["feature"], arrays["surrogate_feature"])
    n = np.maximum(np.append(n_entries, -1)[feature], 0)  # a leaf tests feature -1
    start = np.append(old["category_start"], old["surrogate_category_start"])
    slot, has_table = old["category_slot"], n > 0
    if not np.array_equal(start, np.where(has_table, begins(n), -1)) or len(slot) != n.sum():
        raise damaged("tables of levels do not lie one after another")
    start = start.astype(Tree.DTYPES["category_start"])
    start[has_table], category, slot = lists_of_tables(slot, n[has_table])
    n_nodes = len(arrays["feature"])
    return {
        **{name: arrays[name] for name in NAMES if name in arrays},
        "category_start": start[:n_nodes],
        "surrogate_category_start": start[n_nodes:],
        "category": category,
        "category_slot": slot,
    }
