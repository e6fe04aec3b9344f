"""One rule per leaf: the branches on the path to it, combined column by column."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gputree.data.schema import Schema
from gputree.dtypes import HostArray
from gputree.rules.condition import Condition, Sign
from gputree.rules.rule_set import Rule, RuleSet
from gputree.tree.tree import Split, Tree


@dataclass(frozen=True)
class Region:
    """The values of one column with which rows come to a node."""

    above: float | None = None  # None where no branch asks for it
    up_to: float | None = None
    categories: HostArray | None = None
    missing: bool = True

    @property
    def has_values(self) -> bool:
        if self.categories is not None:
            return bool(self.categories.size)
        up_to = math.inf if self.up_to is None else self.up_to
        return self.above is None or self.above < up_to

    def conditions(self, feature: int) -> list[Condition]:
        """What a value must meet; a missing one is let in only where nothing else is."""
        if not self.has_values:
            return [Condition(feature, Sign.MISSING)]
        if self.categories is not None:
            return [Condition(feature, Sign.AMONG, categories=tuple(self.categories.tolist()))]
        found = []
        if self.above is not None:
            found.append(Condition(feature, Sign.ABOVE, self.above))
        # A value above something is known.
        if self.up_to is not None and (self.up_to < math.inf or not found):
            found.append(Condition(feature, Sign.UP_TO, self.up_to))
        return found


Path = dict[int, Region]  # by column, in the order in which they are first tested


def rules_of(tree: Tree, schema: Schema, classes: HostArray) -> RuleSet:
    """A rule for each leaf that a row can reach, in the order of the tree's text."""
    if tree.directions is not None:
        raise ValueError(
            "rules have conditions on single columns, but nodes of this tree test combinations of "
            "them; export_text shows the tree, and DecisionTreeClassifier has rules"
        )
    # Rows that were divided among children are counted by their parts.
    is_unweighted = tree.weight[0] == tree.n_rows[0]
    n_rows = tree.weight if is_unweighted else tree.n_rows
    rules = []
    pending: list[tuple[int, Path]] = [(0, {})]
    while pending:
        node, path = pending.pop()
        if tree.kind[node] != Split.LEAF:
            pending += reversed(_children(tree, schema, node, path))
        elif all(region.has_values or region.missing for region in path.values()):
            conditions = [c for feature, region in path.items() for c in region.conditions(feature)]
            value = tree.value[node]
            rules.append(
                Rule(
                    tuple(conditions),
                    int(value.argmax()),
                    float(n_rows[node]),
                    tuple(value.tolist()),
                )
            )
    return RuleSet(tuple(rules), schema, classes)


def _children(tree: Tree, schema: Schema, node: int, path: Path) -> list[tuple[int, Path]]:
    feature, first = int(tree.feature[node]), int(tree.first_child[node])
    region = path.get(feature, Region())
    if tree.category_start[node] >= 0:
        parts = _by_categories(tree, node, region, len(schema.categories[feature] or ()))
    else:
        parts = _by_threshold(float(tree.threshold[node]), region)
    # Surrogates decide without the column, and rows that are divided go everywhere.
    missing_slot = -1 if tree.n_surrogates[node] else int(tree.missing_slot[node])
    return [
        (
            first + slot,
            {**path, feature: replace(part, missing=region.missing and slot == missing_slot)},
        )
        for slot, part in enumerate(parts)
    ]


def _by_threshold(threshold: float, region: Region) -> list[Region]:
    up_to = threshold if region.up_to is None else min(region.up_to, threshold)
    above = threshold if region.above is None else max(region.above, threshold)
    return [replace(region, up_to=up_to), replace(region, above=above)]


def _by_categories(tree: Tree, node: int, region: Region, n_categories: int) -> list[Region]:
    slot = tree.slots(node, n_categories)
    order = np.argsort(slot, kind="stable")
    bounds = np.searchsorted(slot[order], np.arange(int(tree.n_children[node]) + 1))
    parts = [order[begin:end] for begin, end in pairwise(bounds.tolist())]
    if region.categories is not None:
        parts = [np.intersect1d(part, region.categories) for part in parts]
    return [replace(region, categories=part) for part in parts]
