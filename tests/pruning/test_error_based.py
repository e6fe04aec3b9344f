"""C4.5's pruning: limits by hand, and a slow version that follows one node at a time."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree import C45Classifier, CARTClassifier, DecisionTreeClassifier
from gputree.data.inputs import read_table
from gputree.dtypes import MAX_BINS, MISSING_CATEGORY, STAY
from gputree.pruning.confidence import added_errors
from gputree.pruning.empty import with_a_leaf_per_category, with_shared_leaves
from gputree.pruning.error_based import (
    ErrorBased,
    collapsed,
    own_counts,
)
from gputree.pruning.parts import distributions
from gputree.tree.check import check_tree
from gputree.tree.tree import Split, Tree
from tests.tables import all_slots, with_lists
from tests.thorough import examples

# The limit of the errors


def added(weight, errors, confidence=0.25):
    return float(added_errors(np.array([weight]), np.array([errors]), confidence)[0])


@pytest.mark.parametrize(
    ("weight", "errors", "more"),
    [
        (1.0, 0.0, 0.75),  # one row is right with a chance of 1/4 if 3/4 of such rows are wrong
        (2.0, 0.0, 1.0),  # 1 - sqrt(1/4) a row
        (6.0, 0.0, 6 * (1 - 0.25 ** (1 / 6))),  # 1.238: Quinlan's 0.206 a row
        (9.0, 0.0, 9 * (1 - 0.25 ** (1 / 9))),
        (2.0, 2.0, 0.0),  # all wrong: no more to come
        (2.0, 1.6, 0.4),
        (1.0, 0.5, 0.375),  # halfway from 0.75 to none
        (0.0, 0.0, 0.0),
    ],
)
def test_limits_by_hand(weight, errors, more):
    assert added(weight, errors) == pytest.approx(more, rel=1e-12)


def test_the_limit_of_several_errors_is_where_the_normal_curve_has_the_chance_left():
    # The share q at which (e + 1/2) / n lies z standard deviations below q.
    z = 0.6744897501960817
    q = (5.0 + added(50.0, 5.0)) / 50.0
    assert q - z * np.sqrt(q * (1 - q) / 50.0) == pytest.approx(5.5 / 50.0, rel=1e-12)


def test_the_confidence_is_of_single_precision():
    single = float(np.float32(0.05))
    assert added(3.0, 0.0, 0.05) == pytest.approx(3 * (1 - single ** (1 / 3)), rel=1e-15)


def test_errors_below_one_lie_between():
    none, one = added(10.0, 0.0), added(10.0, 1.0)
    assert added(10.0, 0.25) == pytest.approx(none + 0.25 * (one - none), rel=1e-12)


@given(st.floats(1, 1e6), st.floats(0, 1), st.floats(0.001, 0.5), st.floats(0.5, 1))
def test_less_confidence_adds_more(weight, share, confidence, less):
    errors = share * weight
    assert added(weight, errors, confidence) >= -1e-9
    assert added(weight, errors, confidence * less) >= added(weight, errors, confidence) - 1e-9
    assert errors + added(weight, errors, confidence) <= weight * (1 + 1e-12)


@pytest.mark.parametrize("confidence", [0.0, 0.6, -1, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence="):
        ErrorBased(confidence).check()


# A slow version


class Slow:
    """A node with its rows; follows the rules one node at a time."""

    def __init__(self, tree, node, how, columns, label):
        self.tree, self.test, self.how, self.columns, self.label = tree, node, how, columns, label
        first = int(tree.first_child[node])
        self.sons = [
            Slow(tree, first + slot, how, columns, label)
            for slot in range(int(tree.n_children[node]))
        ]

    def receive(self, rows):
        """Take rows, each with its weight, and send them on."""
        self.rows = rows
        for son, part in zip(self.sons, self.divide(rows), strict=True):
            son.receive(part)

    def slot(self, row):
        tree, node = self.tree, self.test
        value = self.columns[int(tree.feature[node])][row]
        if tree.kind[node] == Split.THRESHOLD:
            return STAY if np.isnan(value) else int(value > tree.threshold[node])
        if value == MISSING_CATEGORY:
            return STAY
        return int(tree.slots(node, value + 1)[value])

    def divide(self, rows):
        if not self.sons:
            return []
        parts = [{} for _ in self.sons]
        staying = {}
        for row, weight in rows.items():
            slot = self.slot(row)
            slot = int(self.tree.missing_slot[self.test]) if slot == STAY else slot
            (staying if slot == STAY else parts[slot])[row] = weight
        share = np.array([sum(part.values()) for part in parts])
        share = share / share.sum() if share.sum() > 0 else np.full(len(parts), 1 / len(parts))
        for row, weight in staying.items():
            for part, own in zip(parts, share, strict=True):
                if own > 0:
                    part[row] = weight * own
        return parts

    def counts(self, rows):
        counts = np.zeros(self.tree.value.shape[1])
        for row, weight in rows.items():
            counts[self.label[row]] += weight
        return counts

    def as_leaf(self, rows):
        return float(self.how.estimated(self.counts(rows)[None])[0])

    def errors(self, rows):
        """Of the subtree, with these rows instead of its own."""
        if not self.sons:
            return self.as_leaf(rows)
        parts = self.divide(rows)
        return sum(son.errors(part) for son, part in zip(self.sons, parts, strict=True))

    def training_errors(self):
        if self.sons:
            return sum(son.training_errors() for son in self.sons)
        counts = self.counts(self.rows)
        return counts.sum() - counts.max()

    def collapse(self):
        counts = self.counts(self.rows)
        if self.sons and self.training_errors() >= counts.sum() - counts.max() - 1e-3:
            self.sons = []
        for son in self.sons:
            son.collapse()

    def rank(self, slot):
        """Categories come in their order, whatever the order of the children is."""
        tree, node = self.tree, self.test
        if tree.kind[node] != Split.MULTIWAY:
            return slot
        return tree.slots(node, MAX_BINS).tolist().index(slot)

    def prune(self):
        for son in self.sons:
            son.prune()
        if not self.sons:
            return
        weight = [sum(son.rows.values()) for son in self.sons]
        equal = [slot for slot, own in enumerate(weight) if own >= max(weight) - 1e-6]
        largest = self.sons[max(equal, key=self.rank)]
        as_leaf = self.as_leaf(self.rows)
        below = sum(son.errors(son.rows) for son in self.sons)
        as_branch = largest.errors(self.rows) if self.how.raising else np.inf
        slack = 0.1 + 1e-6
        if as_leaf <= below + slack and as_leaf <= as_branch + slack:
            self.sons = []
        elif as_branch <= below + slack:
            self.test, self.sons = largest.test, largest.sons
            self.receive(self.rows)
            self.prune()

    def told(self):
        counts = self.counts(self.rows)
        if not self.sons:
            return (counts,)
        tree, node = self.tree, self.test
        feature, sons = int(tree.feature[node]), [son.told() for son in self.sons]
        if tree.kind[node] == Split.MULTIWAY:
            n_categories = 1 + int(self.columns[feature].max())
            sons = [sons[slot] for slot in tree.slots(node, n_categories)]
        return (counts, feature, str(tree.threshold[node]), sons)


def slowly(tree, how, columns, label, weight):
    root = Slow(with_a_leaf_per_category(tree), 0, how, columns, label)
    root.receive(dict(enumerate(weight)))
    if how.collapse:
        root.collapse()
    root.prune()
    return root.told()


def told(tree, columns, node=0):
    """The same of a finished tree."""
    counts = own_counts(tree)[node]
    if tree.is_leaf[node]:
        return (counts,)
    feature, first = int(tree.feature[node]), int(tree.first_child[node])
    if tree.kind[node] == Split.MULTIWAY:
        slots = tree.slots(node, 1 + int(columns[feature].max())).tolist()
    else:
        slots = [0, 1]
    sons = [told(tree, columns, first + slot) for slot in slots]
    return (counts, feature, str(tree.threshold[node]), sons)


def assert_alike(one, other):
    """Equal trees; weights of divided rows are rounded in other ways."""
    np.testing.assert_allclose(one[0], other[0], atol=1e-6)
    assert one[1:3] == other[1:3]
    assert len(one) == len(other)
    for mine, theirs in zip(*(each[3] if each[1:] else [] for each in (one, other)), strict=True):
        assert_alike(mine, theirs)


def categories_of(model):
    categories = zip(model.schema_.kinds, model.schema_.categories, strict=True)
    return [None if kind == 0 else len(names or ()) for kind, names in categories]


def table(seed, n_rows=120, missing=0.1):
    """Two classes that some columns tell of, and noise that a tree takes for more."""
    rng = np.random.default_rng(seed)
    few, many = rng.integers(0, 3, n_rows), rng.integers(0, 7, n_rows)
    few[:3], many[:7] = range(3), range(7)
    x, z = rng.normal(size=(2, n_rows)).round(1)
    y = (x + few % 2 + 0.5 * (many == 3) + rng.normal(size=n_rows) > 0.7).astype(int)
    hidden = rng.random((4, n_rows)) < missing
    X = pd.DataFrame(
        {
            "x": np.where(hidden[0], np.nan, x),
            "z": np.where(hidden[1], np.nan, z),
            "few": pd.Categorical.from_codes(np.where(hidden[2], -1, few), list("abc")),
            "many": pd.Categorical.from_codes(np.where(hidden[3], -1, many), list("abcdefg")),
        }
    )
    return X, y


def fitted(estimator, X, y, weight=None):
    model = estimator.set_params(backend="numpy").fit(X, y, weight)
    columns = [np.asarray(each.values) for each in read_table(X, like=model.schema_).columns]
    return model, columns


ESTIMATORS = {
    "c45": C45Classifier(min_branch=1, pruning=None),
    "subsets": DecisionTreeClassifier(missing="fractional"),
    "direction": DecisionTreeClassifier(nominal="multiway", criterion="entropy"),
}


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(0, 10_000),
    st.sampled_from(sorted(ESTIMATORS)),
    st.sampled_from([0.0, 0.03, 0.2]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.05, 0.25, 0.5]),
)
def test_a_slow_version_finds_the_same(seed, which, missing, raising, collapse, confidence):
    X, y = table(seed, missing=missing)
    weight = np.random.default_rng(seed).integers(1, 5, len(y)) / 2
    model, columns = fitted(ESTIMATORS[which], X, y, weight)
    how = ErrorBased(confidence, raising, collapse)
    pruned = how.pruned(model.nodes_, columns.__getitem__, y, weight)
    check_tree(pruned, categories_of(model))
    assert_alike(told(pruned, columns), slowly(model.nodes_, how, columns, y, weight))
    assert n_inner(pruned) <= n_inner(model.nodes_)


def n_inner(tree):
    return int((~tree.is_leaf).sum())


@pytest.mark.cover
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.01])
def test_a_slow_version_finds_the_same_in_a_deep_tree(seed, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, 5)).round(2)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0).astype(int)
    X[rng.random(X.shape) < missing] = np.nan
    model, columns = fitted(C45Classifier(pruning=None), X, y)
    how, weight = ErrorBased(), np.ones(len(y))
    pruned = how.pruned(model.nodes_, columns.__getitem__, y)
    assert_alike(told(pruned, columns), slowly(model.nodes_, how, columns, y, weight))
    # Branches have been raised.
    cut_only = ErrorBased(raising=False).pruned(model.nodes_, columns.__getitem__, y)
    assert pruned.feature.tolist() != cut_only.feature.tolist()


# By hand


def by_hand(x, z, label, weight=None):
    """Root x <= 0; below its larger child z <= 0. Two classes."""
    x, z, label = np.array(x, float), np.array(z, float), np.array(label)
    weight = np.ones(len(label)) if weight is None else np.array(weight, float)
    where = [x == x, x <= 0, x > 0, (x > 0) & (z <= 0), (x > 0) & (z > 0)]
    value = np.array([np.bincount(label[w], weight[w], minlength=2) for w in where])
    tree = Tree(
        kind=[1, 0, 1, 0, 0],
        feature=[0, -1, 1, -1, -1],
        threshold=[0.0, np.nan, 0.0, np.nan, np.nan],
        missing_slot=[STAY, 0, STAY, 0, 0],
        first_child=[1, -1, 3, -1, -1],
        gain=[0.1, 0.0, 0.2, 0.0, 0.0],
        impurity=np.ones(5),
        n_rows=[w.sum() for w in where],
        weight=value.sum(axis=1),
        value=value,
    )
    check_tree(tree, [None, None])
    return tree, [x, z].__getitem__, label, weight


def test_a_branch_that_knows_all_takes_the_place_of_its_node():
    # x tells nothing, z everything; x parts two rows from twenty.
    x = [-1, -1] + [1] * 20
    z = [-1, 1] + [-1] * 10 + [1] * 10
    label = [0, 1] + [0] * 10 + [1] * 10
    tree, read, label, weight = by_hand(x, z, label)
    kept = ErrorBased(raising=False, collapse=False).pruned(tree, read, label, weight)
    assert kept.n_nodes == 5
    raised = ErrorBased().pruned(tree, read, label, weight)
    assert raised.feature.tolist() == [1, -1, -1]
    assert raised.value.tolist() == [[11, 11], [11, 0], [0, 11]]
    assert raised.n_rows.tolist() == [22, 11, 11]
    assert raised.weight.tolist() == [22, 11, 11]
    assert raised.impurity.tolist() == [1, 0, 0]
    assert raised.gain.tolist() == [1, 0, 0]


def test_a_branch_does_not_take_rows_that_it_would_mislead():
    # The two rows of the small child are of the class that z does not expect.
    x = [-1] * 4 + [1] * 20
    z = [-1, -1, -1, -1] + [-1] * 10 + [1] * 10
    label = [1, 1, 1, 1] + [0] * 10 + [1] * 10
    tree, read, label, weight = by_hand(x, z, label)
    assert ErrorBased().pruned(tree, read, label, weight).feature.tolist() == [0, -1, 1, -1, -1]


def test_a_leaf_takes_the_place_of_noise():
    x = [-1, -1] + [1] * 20
    z = [-1, 1] + [-1, 1] * 10
    label = [1, 0] + [0] * 19 + [1]
    tree, read, label, weight = by_hand(x, z, label)
    assert ErrorBased(0.05).pruned(tree, read, label, weight).value.tolist() == [[20, 2]]


def test_rows_of_unknown_value_are_divided_as_the_branch_divides_all_others():
    # One of the rows that join the branch has no z: it goes where 11 of 21 rows go.
    x = [-1, -1, -1] + [1] * 20
    z = [-1, 1, np.nan] + [-1] * 11 + [1] * 9
    label = [0, 1, 0] + [0] * 11 + [1] * 9
    tree, read, label, weight = by_hand(x, z, label)
    raised = ErrorBased(collapse=False).pruned(tree, read, label, weight)
    assert raised.feature.tolist() == [1, -1, -1]
    assert raised.value[1].tolist() == pytest.approx([12 + 12 / 22, 0])
    assert raised.value[2].tolist() == pytest.approx([10 / 22, 10])


def test_the_last_of_equal_branches_is_raised():
    x = [-1] * 10 + [1] * 10
    z = [-1, 1] * 10
    tree, read, label, weight = by_hand(x, z, [0, 1] * 10)
    assert ErrorBased().pruned(tree, read, label, weight).feature.tolist() == [1, -1, -1]


def test_categories_that_a_raised_branch_had_not_seen_get_leaves_of_their_own():
    # Root x <= 0; its larger child has seen two of five categories.
    x = np.repeat([-1.0, 1.0], [6, 16])
    colour = np.repeat([2, 3, 0, 1], [3, 3, 8, 8]).astype(np.int32)
    label = np.repeat([0, 1, 0, 1], [3, 3, 8, 8])
    value = np.array([[11, 11], [3, 3], [8, 8], [8, 0], [0, 8], [8, 8]], float)
    tree = Tree(
        kind=[1, 0, 3, 0, 0, 0],
        feature=[0, -1, 1, -1, -1, -1],
        threshold=[0.0] + [np.nan] * 5,
        missing_slot=[STAY, 0, STAY, 0, 0, 0],
        first_child=[1, -1, 3, -1, -1, -1],
        n_children=[2, 0, 3, 0, 0, 0],
        **with_lists({"level_start": [-1, -1, 0, -1, -1, -1], "level_slot": [0, 1, 2, 2, 2, 0]}),
        gain=np.zeros(6),
        impurity=np.ones(6),
        n_rows=[22, 6, 16, 8, 8, 0],
        weight=[22, 6, 16, 8, 8, 0],
        value=value,
    )
    check_tree(tree, [None, 5])
    raised = ErrorBased().pruned(tree, [x, colour].__getitem__, label)
    check_tree(raised, [None, 5])
    assert raised.feature.tolist() == [1, -1, -1, -1, -1, -1]
    assert all_slots(raised) == [0, 1, 2, 3, 4, 0]
    assert own_counts(raised)[1:].tolist() == [[8, 0], [0, 8], [3, 0], [0, 3], [0, 0]]


# What is cut


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(sorted(ESTIMATORS)))
def test_collapsing_keeps_the_errors_in_training(seed, which):
    X, y = table(seed)
    model, _ = fitted(ESTIMATORS[which], X, y)
    small = collapsed(model.nodes_)
    assert small.n_nodes <= model.tree_.n_nodes
    assert errors_of(small) == pytest.approx(errors_of(model.nodes_), abs=1e-3 * small.n_nodes)


def errors_of(tree):
    counts = own_counts(tree)[tree.is_leaf]
    return (counts.sum(axis=1) - counts.max(axis=1)).sum()


def test_surrogates_send_rows_as_they_did_in_training():
    X, y = table(3, n_rows=400, missing=0.0)
    X.loc[::5, "x"] = np.nan
    model, columns = fitted(CARTClassifier(max_depth=3, pruning=None), X, y)
    assert model.tree_.n_surrogates.sum() > 3
    counts = distributions(model.nodes_, columns.__getitem__, y, np.ones(len(y)))
    assert counts.tolist() == own_counts(model.nodes_).tolist()


@pytest.mark.parametrize("which", sorted(ESTIMATORS))
def test_rows_go_where_they_went_in_training(which):
    X, y = table(3, n_rows=400)
    model, columns = fitted(ESTIMATORS[which], X, y)
    counts = distributions(model.nodes_, columns.__getitem__, y, np.ones(len(y)))
    np.testing.assert_allclose(counts, own_counts(model.nodes_), atol=1e-9)


# Empty leaves


def test_empty_leaves_are_told_apart_and_joined_again():
    X, y = table(5, n_rows=60)
    model, _ = fitted(C45Classifier(min_branch=1, pruning=None), X, y)
    tree = model.nodes_
    apart = with_a_leaf_per_category(tree)
    check_tree(apart, categories_of(model))
    assert apart.n_nodes > tree.n_nodes
    multiway = np.flatnonzero(apart.kind == Split.MULTIWAY)
    n_categories = np.array([len(categories or ()) for categories in model.schema_.categories])
    assert (apart.n_children[multiway] == n_categories[apart.feature[multiway]]).all()
    joined = with_shared_leaves(apart)
    for name in Tree.DTYPES:
        assert getattr(joined, name).tobytes() == getattr(tree, name).tobytes(), name
