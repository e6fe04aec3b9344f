"""CART against rpart grown without cost (cp=-1): splits, category sets, surrogates, counts.

Where several splits are equally good, rpart's choice depends on rounding: such nodes are named in
its results, and nothing below them is compared.
"""

import numpy as np
import pytest

from gputree import CARTClassifier, CARTRegressor
from gputree.tree.tree import Split
from tests.peers.golden import names, requires, results, table

pytestmark = requires

EXACT = 20_000  # bins: a code for every value
MOST_DEPTH = 30  # of rpart


class Theirs:
    """One tree of rpart."""

    def __init__(self, run):
        tree = run["tree"]
        self.at = {number: i for i, number in enumerate(tree["node"])}
        self.tree = tree
        self.tied = set(tree.get("tied_nodes") or run.get("tied_nodes") or [])

    def is_leaf(self, number):
        return self.tree["var"][self.at[number]] == "<leaf>"

    def splits(self, number, kind):
        return [s for s in self.tree["splits"][self.at[number]] or [] if s["kind"] == kind]


class Comparison:
    """Walks both trees from the root, and keeps what differs."""

    def __init__(self, model, theirs):
        self.model, self.tree, self.theirs = model, model.nodes_, theirs
        self.first_surrogate = self.tree.first_surrogate()
        self.wrong, self.n_compared, self.n_surrogates, self.n_tied = [], 0, 0, 0

    def walk(self):
        pending = [(0, 1)]
        while pending:
            node, number = pending.pop()
            pending += self.compare(node, number)
        return self

    def compare(self, node, number):
        """Compare a node; returns the pairs of children to compare next."""
        theirs, tree = self.theirs, self.tree
        n_rows = theirs.tree["n"][theirs.at[number]]
        if tree.n_rows[node] != n_rows:
            self.wrong.append(f"{number}: {tree.n_rows[node]} rows / {n_rows}")
            return []
        if theirs.is_leaf(number) or number in theirs.tied:
            self.n_tied += not theirs.is_leaf(number)
            if theirs.is_leaf(number) and tree.kind[node] != Split.LEAF:
                self.wrong.append(f"{number}: a split of {n_rows} rows / a leaf")
            return []
        if tree.kind[node] == Split.LEAF:
            self.wrong.append(f"{number}: a leaf / a split of {n_rows} rows")
            return []
        (split,) = theirs.splits(number, "primary")
        feature, slots = int(tree.feature[node]), None
        if tree.category_start[node] >= 0:
            slots = tree.slots(node, len(self.model.schema_.categories[feature]))
        side = self.same_test(split, feature, tree.threshold[node], 0, slots)
        if side is None:
            self.wrong.append(f"{number}: {self.named(tree.feature[node])} / {split}")
            return []
        self.n_compared += 1
        self.compare_surrogates(node, number, side)
        first = int(tree.first_child[node])
        return [(first + side, 2 * number), (first + 1 - side, 2 * number + 1)]

    def same_test(self, split, feature, threshold, low_slot, slots):
        """The child of ours that is their left one; None if the tests differ."""
        if self.named(feature) != split["var"]:
            return None
        if slots is None:
            if threshold != pytest.approx(split["threshold"], rel=1e-9):
                return None
            is_low_left = split["less_goes"] == "left"
            return int(low_slot) if is_low_left else 1 - int(low_slot)
        categories = [str(category) for category in self.model.schema_.categories[feature]]
        ours = [
            {category for category, s in zip(categories, slots, strict=True) if s == own}
            for own in (0, 1)
        ]
        left, right = set(split["left"]), set(split["right"])
        if ours == [left, right]:
            return 0
        return 1 if ours == [right, left] else None

    def compare_surrogates(self, node, number, side):
        theirs = self.theirs.splits(number, "surrogate")
        begin = int(self.first_surrogate[node])
        own = range(begin, begin + int(self.tree.n_surrogates[node]))
        tree = self.tree
        n_theirs = self.theirs.tree["nsurrogate"][self.theirs.at[number]]
        if len(own) != n_theirs:
            self.wrong.append(f"{number}: {len(own)} surrogates / {n_theirs}")
            return
        # Where no value is missing, only the first one was written down.
        for at, split in zip(own, theirs, strict=False):
            agreement = tree.surrogate_agreement[at]
            feature, slots = int(tree.surrogate_feature[at]), None
            if tree.surrogate_category_start[at] >= 0:
                slots = tree.surrogate_slots(at, len(self.model.schema_.categories[feature]))
            threshold, low_slot = tree.surrogate_threshold[at], tree.surrogate_slot[at]
            same = self.same_test(split, feature, threshold, low_slot, slots)
            if same != side or agreement != pytest.approx(split["improve"], rel=1e-9):
                feature = self.named(tree.surrogate_feature[at])
                self.wrong.append(
                    f"{number}: surrogate {feature} {tree.surrogate_threshold[at]} / {split}"
                )
            self.n_surrogates += 1

    def named(self, feature):
        return self.model.schema_.names[int(feature)]


def run_of(found, **wanted):
    for run in found["runs"]:
        if all(run[key] == value for key, value in wanted.items()) and not run["extra"]:
            return run
    pytest.skip("not run there")


def compared(model, run, X, y):
    is_in = np.ones(len(X), bool)
    if run["dropped_rows_all_missing"]:
        is_in[run["dropped_rows_all_missing"]] = False
    model.fit(X[is_in], y[is_in])
    return Comparison(model, Theirs(run)).walk()


@pytest.mark.parametrize("name", names("rpart"))
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_classification_tree_is_that_of_rpart(name, criterion):
    found = results("rpart", name)
    split = {"gini": "gini", "entropy": "information"}[criterion]
    run = run_of(found, method="class", cp=-1, split=split)
    X, y = table(name)
    model = CARTClassifier(
        criterion=criterion,
        surrogate_style="rpart",
        max_bins=EXACT,
        max_depth=MOST_DEPTH,
        max_exact_levels=14,
        pruning=None,
        backend="numpy",
    )
    done = compared(model, run, X, y.cat.codes.to_numpy() if hasattr(y, "cat") else y)
    assert done.wrong == []
    assert done.n_compared or 1 in done.theirs.tied


@pytest.mark.parametrize("name", names("rpart"))
def test_a_regression_tree_is_that_of_rpart(name):
    found = results("rpart", name)
    run = run_of(found, method="anova", cp=-1)
    X, y = table(name)
    model = CARTRegressor(
        surrogate_style="rpart",
        max_bins=EXACT,
        max_depth=MOST_DEPTH,
        pruning=None,
        backend="numpy",
    )
    done = compared(model, run, X, y)
    assert done.wrong == []
    assert done.n_compared or 1 in done.theirs.tied
