"""The trees of a plan as a TreeEnsemble of ONNX.

Knows plans and the operator; must not know inputs.
"""

from dataclasses import dataclass, field

import numpy as np

from gputree.data.table import Kind
from gputree.dtypes import STAY, HostArray
from gputree.export.onnx_graph import ML, Graph
from gputree.export.onnx_inputs import MISSING
from gputree.export.plan import Plan, Test, surrogates_at, test_at
from gputree.tree.tree import Tree

UP_TO, MEMBER = 0, 6  # modes: value <= split, value in a set
SUM, NONE = 1, 0  # aggregate function, post transform


@dataclass
class Nodes:
    """The attributes of a TreeEnsemble, as they grow."""

    feature: list[int] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    split: list[float] = field(default_factory=list)
    yes: list[int] = field(default_factory=list)
    yes_is_leaf: list[int] = field(default_factory=list)
    no: list[int] = field(default_factory=list)
    no_is_leaf: list[int] = field(default_factory=list)
    missing_is_yes: list[int] = field(default_factory=list)
    members: dict[int, tuple[float, ...]] = field(default_factory=dict)  # by node
    target: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    root: list[int] = field(default_factory=list)

    def new(self) -> int:
        """An empty node, to be filled later: a parent is numbered before its children."""
        for each, value in (
            *((self.feature, 0), (self.mode, UP_TO), (self.missing_is_yes, 0)),
            *((self.yes, 0), (self.yes_is_leaf, 0), (self.no, 0), (self.no_is_leaf, 0)),
        ):
            each.append(value)
        self.split.append(0.0)
        return len(self.feature) - 1

    def leaf(self, target: int, weight: float) -> int:
        self.target.append(target)
        self.weight.append(weight)
        return len(self.weight) - 1


@dataclass(frozen=True)
class Question:
    """A test with two outcomes."""

    feature: int
    mode: int
    split: float
    members: tuple[float, ...] = ()
    missing_is_yes: bool = False


class Ensemble:
    """All trees of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        # Nodes with surrogates are decided beforehand, each in a column of its own.
        self.decided: dict[tuple[int, int], int] = {}
        for number, tree in enumerate(plan.trees):
            for node in np.flatnonzero(tree.n_surrogates).tolist():
                self.decided[number, node] = len(plan.schema.names) + len(self.decided)

    def decide(self, graph: Graph, table: str) -> str:
        """The table with a column for each node that has surrogates: its child, 2 for none."""
        if not self.decided:
            return table
        keys = list(self.decided)
        missing = [int(self.plan.trees[number].missing_slot[node]) for number, node in keys]
        slot = graph.constant(np.array([2.0 if each == STAY else float(each) for each in missing]))
        tests = [self._tests(number, node) for number, node in keys]
        # The last surrogate first, so that better ones overrule it.
        for turn in reversed(range(max(map(len, tests)))):
            slot = self._overruled(graph, table, slot, [own[turn : turn + 1] for own in tests])
        joined: str = graph.add("Concat", table, slot, axis=1)
        return joined

    def add_to(self, graph: Graph, table: str, *, is_apart: bool = False) -> str:
        """What the trees add up to, or with `is_apart` what each says."""
        nodes = Nodes()
        for number, (value, first) in enumerate(
            zip(self.plan.values, self.plan.column, strict=True)
        ):
            for output in range(value.shape[1]):
                target = number if is_apart else first + output
                self._add_tree(nodes, number, value[:, output], target)
        n_targets = len(self.plan.trees) if is_apart else self.plan.n_outputs
        options = {}
        if nodes.members:  # in the order of the nodes; a NaN ends each set
            sets = [[*nodes.members[at], np.nan] for at in sorted(nodes.members)]
            options["membership_values"] = graph.tensor(np.concatenate(sets))
        found: str = graph.add(
            "TreeEnsemble",
            table,
            domain=ML,
            n_targets=n_targets,
            aggregate_function=SUM,
            post_transform=NONE,
            tree_roots=nodes.root,
            nodes_featureids=nodes.feature,
            nodes_modes=graph.tensor(np.array(nodes.mode, np.uint8)),
            nodes_splits=graph.tensor(np.array(nodes.split)),
            nodes_truenodeids=nodes.yes,
            nodes_trueleafs=nodes.yes_is_leaf,
            nodes_falsenodeids=nodes.no,
            nodes_falseleafs=nodes.no_is_leaf,
            nodes_missing_value_tracks_true=nodes.missing_is_yes,
            leaf_targetids=nodes.target,
            leaf_weights=graph.tensor(np.array(nodes.weight)),
            **options,
        )
        return found

    def _add_tree(self, nodes: Nodes, number: int, said: HostArray, target: int) -> None:
        """Write one tree for one output, parents first."""
        tree = self.plan.trees[number]
        nodes.root.append(len(nodes.feature))
        root = nodes.new()
        if tree.is_leaf[0]:  # a root must ask something
            nodes.no[root] = nodes.leaf(target, float(said[0]))
            nodes.yes[root] = nodes.leaf(target, float(said[0]))
            nodes.yes_is_leaf[root] = nodes.no_is_leaf[root] = 1
            return
        pending = [(0, root)]
        while pending:
            node, at = pending.pop()
            first = int(tree.first_child[node])
            *asked, (_, last) = self._branches(tree, number, node)

            def place(slot: int, first: int = first, node: int = node) -> tuple[int, int]:
                """The number of a child, and whether it is a leaf."""
                child = node if slot == STAY else first + slot
                if slot == STAY or tree.is_leaf[child]:
                    return nodes.leaf(target, float(said[child])), 1
                below = nodes.new()
                pending.append((child, below))
                return below, 0

            for turn, (question, slot) in enumerate(asked):
                assert question is not None
                _fill(nodes, at, question)
                nodes.yes[at], nodes.yes_is_leaf[at] = place(slot)
                if turn < len(asked) - 1:
                    nodes.no[at], nodes.no_is_leaf[at] = nodes.new(), 0
                    at = nodes.no[at]
                else:
                    nodes.no[at], nodes.no_is_leaf[at] = place(last)

    def _branches(self, tree: Tree, number: int, node: int) -> list[tuple[Question | None, int]]:
        """The children with questions for them; the last takes the rest."""
        missing = int(tree.missing_slot[node])
        slots = list(range(int(tree.n_children[node])))
        if (number, node) in self.decided:
            column = self.decided[number, node]
            outcomes = [*slots, *([STAY] if missing == STAY else [])]
            asked = [(Question(column, UP_TO, slot + 0.5), slot) for slot in outcomes[:-1]]
            return [*asked, (None, outcomes[-1])]
        test = test_at(self.plan, tree, node)
        is_combination = test.feature >= self.plan.schema.n_features
        if is_combination or self.plan.schema.kinds[test.feature] is not Kind.NOMINAL:
            return self._thresholds(test, missing)
        members = {slot: self._members(test, slot) for slot in slots if slot != missing}
        asked = [
            (Question(test.feature, MEMBER, 0.0, own), slot) for slot, own in members.items() if own
        ]
        if not asked:  # a node has two branches, even if nobody takes one
            return [(Question(test.feature, MEMBER, 0.0, (MISSING,)), missing), (None, missing)]
        return [*asked, (None, missing)]

    def _thresholds(self, test: Test, missing: int) -> list[tuple[Question | None, int]]:
        low = Question(test.feature, UP_TO, test.threshold, missing_is_yes=missing == 0)
        if missing != STAY:
            return [(low, 0), (None, 1)]
        known = Question(test.feature, UP_TO, np.inf)
        return [(low, 0), (known, 1), (None, STAY)]

    def _members(self, test: Test, slot: int) -> tuple[float, ...]:
        """The numbers of the categories that go to a child."""
        categories = tuple(float(category) for category in test.categories_to(slot))
        unknown = float(len(self.plan.categories_of(test.feature)))
        return (*categories, unknown) if test.unknown == slot else categories

    def _tests(self, number: int, node: int) -> list[Test]:
        tree = self.plan.trees[number]
        return [test_at(self.plan, tree, node), *surrogates_at(self.plan, tree, node)]

    def _overruled(self, graph: Graph, table: str, slot: str, tests: list[list[Test]]) -> str:
        """The children by some tests where these can tell, and as they were elsewhere."""
        feature = np.array([own[0].feature if own else 0 for own in tests], np.int64)
        value = graph.add("Gather", table, graph.constant(feature), axis=1)
        threshold = np.array([own[0].threshold if own else np.nan for own in tests])
        low = np.array([float(own[0].low) if own else 0.0 for own in tests])
        by_categories = np.array(
            [bool(own) and self.plan.schema.kinds[own[0].feature] is Kind.NOMINAL for own in tests]
        )
        is_low = graph.add("LessOrEqual", value, graph.constant(np.nan_to_num(threshold)))
        found = graph.add("Where", is_low, graph.constant(low), graph.constant(1.0 - low))
        is_known = graph.add("Not", graph.add("IsNaN", value))
        if by_categories.any():
            found, is_known = self._by_categories(
                graph, value, found, is_known, tests, by_categories
            )
        is_there = graph.constant(np.array([bool(own) for own in tests]))
        is_known = graph.add("And", is_known, is_there)
        overruled: str = graph.add("Where", is_known, found, slot)
        return overruled

    def _by_categories(
        self,
        graph: Graph,
        value: str,
        found: str,
        is_known: str,
        tests: list[list[Test]],
        by_categories: HostArray,
    ) -> tuple[str, str]:
        """The same with tables of categories: what comes before the first category is missing."""
        table, start = [-1.0], []
        for own, has_categories in zip(tests, by_categories.tolist(), strict=True):
            start.append(float(len(table) + 1) if has_categories else 0.0)
            if has_categories:
                slots = own[0].slots or ()
                unknown = -1.0 if own[0].unknown is None else float(own[0].unknown)
                known = [-1.0 if slot == STAY else float(slot) for slot in slots]
                table += [-1.0, *known, unknown]
        is_category = graph.constant(by_categories)
        safe = graph.add("Where", is_category, value, graph.constant(np.array(0.0)))
        place = graph.add("Add", safe, graph.constant(np.array(start)))
        index = graph.add("Cast", place, to=graph.onnx.TensorProto.INT64)
        led = graph.add("Gather", graph.constant(np.array(table)), index)
        leads = graph.add("GreaterOrEqual", led, graph.constant(np.array(0.0)))
        # A category is a number, so `is_known` is true of it; a number always leads somewhere.
        leads = graph.add("Or", leads, graph.constant(~by_categories))
        return graph.add("Where", is_category, led, found), graph.add("And", is_known, leads)


def _fill(nodes: Nodes, at: int, question: Question) -> None:
    nodes.feature[at], nodes.mode[at] = question.feature, question.mode
    nodes.split[at] = question.split
    nodes.missing_is_yes[at] = int(question.missing_is_yes)
    if question.mode == MEMBER:
        nodes.members[at] = question.members
