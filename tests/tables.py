"""Trees whose tests of categories are written as tables: the child of each, and of unseen ones."""

from typing import Any

import numpy as np

from gputree.tree.categories import lists_of_tables, tables_of
from gputree.tree.tree import Tree


def with_lists(arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays of a tree in which lists of categories stand in the place of tables.

    `level_start` and `surrogate_level_start` tell where tables begin in `level_slot`, -1 without.
    """
    arrays = dict(arrays)
    of_surrogates = np.array(arrays.pop("surrogate_level_start", []), np.int64)
    start = np.append(np.array(arrays.pop("level_start"), np.int64), of_surrogates)
    slot = np.array(arrays.pop("level_slot"), np.int64)
    tests = np.flatnonzero(start >= 0)
    tests = tests[np.argsort(start[tests])]
    n = np.diff(start[tests], append=len(slot))
    start[tests], category, slot = lists_of_tables(slot, n)
    n_nodes = len(start) - len(of_surrogates)
    return {
        **arrays,
        "category_start": start[:n_nodes],
        "surrogate_category_start": start[n_nodes:],
        "category": category,
        "category_slot": slot,
    }


def all_slots(tree: Tree) -> list[int]:
    """The tables of all nodes, and then of all surrogates, one after another."""
    start = np.append(tree.category_start, tree.surrogate_category_start)
    return tables_of(start[start >= 0], tree.category, tree.category_slot)[0].tolist()
