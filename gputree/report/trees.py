"""Trees as a page needs them: all that a row meets on its way, and what the nodes know.

The page walks rows by these arrays as `gputree.tree.walk` does, so thresholds and weights keep all
their bits. Knows trees; must not know how they are drawn.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.data.schema import Schema
from gputree.dtypes import STAY, HostArray
from gputree.report.plain import DIGITS, exact, label, numbers
from gputree.tree.tree import Tree

MOST_NODES = 30_000  # of all trees of a report together
MOST_VALUES = 400_000  # class weights of all nodes together
ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
STAYS = "-"
FIRST_COMBINATION = -2  # -1 is a leaf


@dataclass(frozen=True, eq=False)
class Shown:
    """One tree of a report."""

    name: str
    tree: Tree
    columns: HostArray | None = None  # of the table, that the tree was grown on; None: all
    note: str = ""


def chosen_trees(n_trees: int, wanted: int) -> list[int]:
    """Some trees, the first and the last among them, evenly apart."""
    if n_trees <= wanted:
        return list(range(n_trees))
    return np.unique(np.linspace(0, n_trees - 1, wanted).round().astype(int)).tolist()


def room_for(trees: list[Shown]) -> list[int]:
    """How many nodes of each tree a report has room for."""
    n_outputs = max(each.tree.value.shape[1] for each in trees)
    left = min(MOST_NODES, MOST_VALUES // n_outputs)
    room = []
    for at, each in enumerate(trees):
        # What small trees leave is for those that follow.
        own = min(each.tree.n_nodes, left // (len(trees) - at))
        room.append(whole_families(each.tree, own))
        left -= room[-1]
    return room


def whole_families(tree: Tree, most: int) -> int:
    """The largest number of first nodes, not above `most`, that tears no siblings apart."""
    if tree.n_nodes <= most:
        return tree.n_nodes
    last = tree.first_child + tree.n_children
    return max(1, int(last[(tree.n_children > 0) & (last <= most)].max(initial=1)))


def tree_data(shown: Shown, n_nodes: int, schema: Schema) -> dict[str, Any]:
    """The first nodes of a tree, breadth-first, as lists."""
    tree, at = shown.tree, slice(n_nodes)
    end = tree.first_child[at] + tree.n_children[at]
    is_cut = (tree.n_children[at] > 0) & (end > n_nodes)
    n_children = np.where(is_cut, 0, tree.n_children[at])
    feature = _numbered(shown, tree.feature[at])
    n_surrogates = int(tree.n_surrogates[at].sum())
    return {
        "name": shown.name,
        "note": shown.note,
        "n_nodes": tree.n_nodes,
        "n_leaves": tree.n_leaves,
        "depth": len(tree.levels()) - 1,
        "kind": tree.kind[at].tolist(),
        "feature": feature.tolist(),
        "combinations": _combinations(shown, schema, feature),
        "threshold": [exact(each) for each in tree.threshold[at].tolist()],
        "missing": _slots(tree.missing_slot[at]),
        "n_children": n_children.tolist(),
        "n_hidden": np.where(is_cut, tree.n_children[at], 0).tolist() if is_cut.any() else [],
        "rows": tree.n_rows[at].tolist(),
        "weight": _weights(tree, n_nodes),
        "gain": numbers(tree.gain[at], 4),
        "impurity": numbers(tree.impurity[at], 4),
        "value": numbers(tree.value[at], DIGITS),
        "category_start": tree.category_start[at].tolist() if len(tree.category) else [],
        "category": tree.category.tolist(),
        "category_slot": _text(tree.category_slot),
        "n_surrogates": tree.n_surrogates[at].tolist() if n_surrogates else [],
        "surrogates": _surrogates(tree, shown.columns, n_surrogates),
    }


def _surrogates(tree: Tree, columns: HostArray | None, n: int) -> dict[str, Any]:
    return {
        "feature": _global(tree.surrogate_feature[:n], columns).tolist(),
        "threshold": [exact(each) for each in tree.surrogate_threshold[:n].tolist()],
        "slot": _slots(tree.surrogate_slot[:n]),
        "category_start": tree.surrogate_category_start[:n].tolist(),
        "agreement": numbers(tree.surrogate_agreement[:n], 4),
    }


def _numbered(shown: Shown, feature: HostArray) -> HostArray:
    """What nodes test: columns of the whole table, or combinations, which are -2, -3 and so on."""
    directions = shown.tree.directions
    n_columns = np.inf if directions is None else directions.n_columns
    is_own = feature >= n_columns
    column = _global(np.where(is_own, 0, feature), shown.columns)
    return np.where(is_own, FIRST_COMBINATION - (feature - n_columns), column).astype(np.int64)


def _combinations(shown: Shown, schema: Schema, feature: HostArray) -> list[dict[str, Any]]:
    """The combinations that the shown nodes test, as the page adds them up, and in words."""
    directions = shown.tree.directions
    if directions is None:
        return []
    every = np.arange(len(schema.names)) if shown.columns is None else shown.columns
    names = [label(schema.names[at]) for at in every.tolist()]
    found = []
    for number in range(int((feature <= FIRST_COMBINATION).sum())):
        column, weight = directions.terms(number)
        found.append(
            {
                "name": directions.text(number, names),
                "columns": every[column].tolist(),
                "weights": [exact(each) for each in weight.tolist()],
                "has_missing": any(schema.has_missing[at] for at in every[column].tolist()),
            }
        )
    return found


def _global(feature: HostArray, columns: HostArray | None) -> HostArray:
    """Columns of a tree by their numbers in the whole table."""
    if columns is None:
        return feature
    return np.where(feature >= 0, columns[feature], feature)


def _weights(tree: Tree, n_nodes: int) -> list[Any] | None:
    """Weights with all bits: rows are divided by them. None where they are the rows."""
    weight = tree.weight[:n_nodes]
    if (weight == tree.n_rows[:n_nodes]).all():
        return None
    return [exact(each) for each in weight.tolist()]


def _slots(slot: HostArray) -> list[int]:
    return [-1 if each == STAY else each for each in slot.tolist()]


def _text(slot: HostArray) -> str | list[int]:
    """A character a category, where there are few children: most of a page could be these."""
    used = slot[slot != STAY]
    if used.max(initial=0) >= len(ALPHABET):
        return _slots(slot)
    return "".join(STAYS if each == STAY else ALPHABET[each] for each in slot.tolist())
