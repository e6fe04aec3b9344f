"""All trees of a plan in flat tables, for formats that walk them in a loop.

Knows plans; must not know the language that the tables are written in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gputree.dtypes import STAY, HostArray
from gputree.export.plan import Plan, may_stop
from gputree.runs import begins
from gputree.tree.tree import Tree

NOWHERE = -1  # in the place of a slot


@dataclass(frozen=True, eq=False)
class Tables:
    """Nodes numbered through all trees, and the tests of each."""

    root: HostArray  # (trees,)
    feature: HostArray  # (nodes,) -1 at a leaf
    threshold: HostArray  # (nodes,)
    # (nodes,) the first child; at a leaf -1 less its row of values
    child: HostArray
    missing: HostArray  # (nodes,) the slot of missing values, NOWHERE where there is none
    category_start: HostArray  # (nodes,) of a list of categories, -1 where none are tested
    stop: HostArray  # (nodes,) the row of values of those who stay at a node, -1: nobody does
    n_children: HostArray  # (nodes,)
    share: HostArray  # (nodes,) what each node has of a row that is divided
    # (nodes + 1,) where the surrogates of each node begin
    first_surrogate: HostArray
    surrogate_feature: HostArray
    surrogate_threshold: HostArray
    surrogate_slot: HostArray
    surrogate_category_start: HostArray
    category: HostArray  # (entries of lists,)
    category_slot: HostArray  # (entries of lists,)
    value: HostArray  # (different ends, width)


def tables_of(plan: Plan) -> Tables:
    """The trees of a plan one after another."""
    trees = plan.trees
    root = begins(np.array([tree.n_nodes for tree in trees], np.int64))
    lists = begins(np.array([len(tree.category) for tree in trees], np.int64))
    row, value = _ends(plan)
    is_leaf = np.concatenate([tree.is_leaf for tree in trees])
    child = np.concatenate(
        [tree.first_child + first for tree, first in zip(trees, root, strict=True)]
    )
    n_surrogates = _joined(trees, "n_surrogates").astype(np.int64)
    return Tables(
        root=root,
        feature=_joined(trees, "feature"),
        threshold=np.where(np.isnan(own := _joined(trees, "threshold")), 0.0, own),
        child=np.where(is_leaf, -1 - row, child),
        missing=_slots(_joined(trees, "missing_slot")),
        category_start=_shifted(trees, "category_start", lists),
        stop=np.where(is_leaf, -1, row),
        n_children=_joined(trees, "n_children"),
        share=np.concatenate([np.where(tree.weight > 0, tree.share, 0.0) for tree in trees]),
        first_surrogate=np.append(0, np.cumsum(n_surrogates)),
        surrogate_feature=_joined(trees, "surrogate_feature"),
        surrogate_threshold=np.nan_to_num(_joined(trees, "surrogate_threshold")),
        surrogate_slot=_joined(trees, "surrogate_slot"),
        surrogate_category_start=_shifted(trees, "surrogate_category_start", lists),
        category=_joined(trees, "category"),
        category_slot=_slots(_joined(trees, "category_slot")),
        value=value,
    )


def _ends(plan: Plan) -> tuple[HostArray, HostArray]:
    """The row of values of each node where rows end, -1 elsewhere; and the different rows."""
    is_end = [
        tree.is_leaf if plan.is_divided else tree.is_leaf | may_stop(tree) for tree in plan.trees
    ]
    where = np.concatenate(is_end)
    value, place = np.unique(np.concatenate(plan.values)[where] + 0.0, axis=0, return_inverse=True)
    row = np.full(len(where), -1)
    row[where] = place.ravel()
    return row, value


def _joined(trees: Sequence[Tree], name: str) -> HostArray:
    return np.concatenate([getattr(tree, name) for tree in trees])


def _slots(slot: HostArray) -> HostArray:
    return np.where(slot == STAY, NOWHERE, slot.astype(np.int64))


def _shifted(trees: Sequence[Tree], name: str, by: HostArray) -> HostArray:
    own = (getattr(tree, name) for tree in trees)
    return np.concatenate(
        [np.where(each >= 0, each + first, -1) for each, first in zip(own, by, strict=True)]
    )


def wrapped(items: Iterable[str], width: int = 96, indent: str = "    ") -> str:
    """Items with commas in lines of some width."""
    lines: list[str] = []
    line = ""
    for item in items:
        if line and len(indent) + len(line) + len(item) + 2 > width:
            lines.append(line)
            line = ""
        line += f"{item}, " if not line or line[-1] == " " else f" {item},"
    lines.append(line)
    return "\n".join(f"{indent}{each.rstrip()}" for each in lines if each)
