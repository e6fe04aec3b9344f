"""Model files of earlier versions: a step for each version makes its contents those of the next.

To change what files hold, raise `store.FORMAT_VERSION` and add to STEPS a function that takes the
header and the arrays of a file of the version before, and returns those of the new one. The result
is checked as any file is, so that a step may raise whatever it likes at contents that make no
sense. Contents of JSON texts take the same steps: they have the same versions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gputree.data.table import Kind
from gputree.dtypes import HostArray
from gputree.runs import begins
from gputree.tree import joined, store
from gputree.tree.categories import lists_of_tables
from gputree.tree.tree import Tree

Header = dict[str, Any]
Arrays = dict[str, HostArray]
Step = Callable[[Header, Arrays], tuple[Header, Arrays]]


def newest(version: int, header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
    """What a file of some version says, in the way of the newest one."""
    for step in range(version, store.FORMAT_VERSION):
        header, arrays = STEPS[step](header, arrays)
    return header, arrays


def one_to_two(header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
    """Tables of the children of all categories become lists of categories.

    Lists are older than version 2: models with categories had them in the end, others never.
    """
    if "level_slot" not in arrays:
        if not arrays["category"].size:
            raise store.damaged("its trees have no lists of categories, and arrays for them")
        return header, arrays
    renamed = {joined.FIRST_NAMES.get(name, name): array for name, array in arrays.items()}
    if len(renamed) < len(arrays) or "category" in arrays:
        raise store.damaged("it has tables of categories and lists of categories")
    renamed["category"] = renamed["category_slot"]  # as long, so that trees can be told apart
    n_entries = _n_entries(header.get("tree", header))
    if "tree_nodes" not in renamed:
        own = {name: renamed[name] for name in Tree.DTYPES}
        return header, renamed | _with_lists(own, n_entries)
    trees = joined.split(renamed)
    return header, renamed | joined.join([_with_lists(tree, n_entries) for tree in trees])


def _n_entries(described: Header) -> HostArray:
    """How long a table of each column is, one more than it has categories; -1 without tables."""
    columns = zip(described["kinds"], described["levels"], strict=True)
    n = [
        len(categories["tuple"]) + 1 if kind == Kind.NOMINAL else -1 for kind, categories in columns
    ]
    return np.array(n, np.int64)


def _with_lists(tree: Arrays, n_entries: HostArray) -> Arrays:
    """The arrays of a tree, whose `category_start` and `category_slot` are about tables."""
    joined.check_types({name: tree[name] for name in Tree.DTYPES})
    known = n_entries[tree["columns"]] if "columns" in tree else n_entries
    feature = np.append(tree["feature"], tree["surrogate_feature"])
    n = np.maximum(np.append(known, -1)[feature], 0)  # a leaf tests feature -1
    start = np.append(tree["category_start"], tree["surrogate_category_start"])
    slot, has_table = tree["category_slot"], n > 0
    if not np.array_equal(start, np.where(has_table, begins(n), -1)) or len(slot) != n.sum():
        raise store.damaged("tables of categories do not lie one after another")
    start[has_table], category, slot = lists_of_tables(slot, n[has_table])
    at = len(tree["feature"])
    return tree | {
        "category_start": start[:at],
        "surrogate_category_start": start[at:],
        "category": category,
        "category_slot": slot,
    }


STEPS: dict[int, Step] = {1: one_to_two}
