"""With a bin for every value the tree is scikit-learn's exact tree, up to ties.

scikit-learn breaks ties at random. So both trees are walked together, from nodes that hold the same
rows to children that do; where two partitions of the same worth were chosen, the walk ends.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import sklearn.tree
from sklearn import datasets

import gputree

EXACT = {"max_bins": 2000}  # more than any feature here has values
SEEDS = range(10)
REAL = [
    (name, criterion)
    for name in ("iris", "wine", "breast_cancer", "digits")
    for criterion in ("gini", "entropy")
] + [("diabetes", "squared_error"), ("diabetes", "poisson")]


@dataclass
class Walk:
    """What a walk through two trees has found."""

    n_nodes: int = 0
    n_ties: int = 0
    n_same_feature: int = 0


def walk_together(ours, theirs, X):
    """Compare matched nodes; raises where a node differs in more than a tie."""
    found = Walk()
    tiny = 1e-12 * theirs.tree_.impurity[0]
    stack = [(0, 0, np.arange(len(X)))]
    while stack:
        node, twin, row = stack.pop()
        found.n_nodes += 1
        is_leaf = ours.tree_.first_child[node] < 0
        assert is_leaf == (theirs.tree_.children_left[twin] < 0)
        assert ours.tree_.impurity[node] == pytest.approx(theirs.tree_.impurity[twin], 1e-9, tiny)
        if is_leaf:
            continue
        assert ours.tree_.gain[node] == pytest.approx(decrease(theirs.tree_, twin), 1e-9, tiny)
        is_left, twin_is_left = (
            our_left(ours.nodes_, node, X[row]),
            left(theirs.tree_, twin, X[row]),
        )
        first, second = ours.tree_.first_child[node] + np.arange(2)
        below = theirs.tree_.children_left[twin], theirs.tree_.children_right[twin]
        if (is_left == twin_is_left).all():
            if ours.nodes_.feature[node] == theirs.tree_.feature[twin]:
                found.n_same_feature += 1
                assert ours.nodes_.threshold[node] == theirs.tree_.threshold[twin]
        elif (is_left != twin_is_left).all():  # another feature, in the other direction
            below = below[::-1]
        else:
            found.n_ties += 1
            continue
        stack += [(first, below[0], row[is_left]), (second, below[1], row[~is_left])]
    return found


def decrease(tree, node):
    """The impurity decrease of a split of scikit-learn."""
    weight, impurity = tree.weighted_n_node_samples, tree.impurity
    children = [tree.children_left[node], tree.children_right[node]]
    return impurity[node] - sum(weight[c] * impurity[c] for c in children) / weight[node]


def left(tree, node, X):
    value = X[:, tree.feature[node]]
    return np.where(np.isnan(value), tree.missing_go_to_left[node], value <= tree.threshold[node])


def our_left(tree, node, X):
    value = X[:, tree.feature[node]]
    return np.where(np.isnan(value), tree.missing_slot[node] == 0, value <= tree.threshold[node])


def kinds_of(y):
    """Our estimator and scikit-learn's for a target."""
    name = "DecisionTreeRegressor" if y.dtype.kind == "f" else "DecisionTreeClassifier"
    return getattr(gputree, name), getattr(sklearn.tree, name)


def both(X, y, sample_weight=None, **params):
    ours, theirs = kinds_of(y)
    return (
        ours(**params, **EXACT).fit(X, y, sample_weight),
        theirs(**params, random_state=0).fit(X, y, sample_weight),
    )


def assert_same_tree(ours, theirs, X):
    """Every node of one tree is in the other."""
    found = walk_together(ours, theirs, X)
    assert found.n_ties == 0
    assert found.n_nodes == ours.tree_.n_nodes == theirs.tree_.node_count
    assert found.n_same_feature >= 1
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.get_depth() == theirs.get_depth()
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-9)


def numbers(n_rows=240, n_outputs=1, seed=0):
    """Continuous columns and targets: no two splits of more than a few rows tie."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).astype(np.float32)
    y = rng.normal(size=(n_rows, n_outputs)) + X[:, :1] * X[:, 1:2] + np.abs(X[:, 2:3])
    return X, y[:, 0] if n_outputs == 1 else y


def classes(n_rows=240, seed=0):
    """Three classes with continuous weights, which make ties unlikely."""
    X, y = numbers(n_rows, seed=seed)
    weight = np.random.default_rng(seed + 1).uniform(0.5, 2.0, n_rows)
    return X, np.digitize(y, [0.0, 1.5]), weight


# Well-known tables


@pytest.fixture(scope="module", params=REAL, ids=lambda case: "-".join(case))
def grown(request):
    """A table, our tree, and ten of scikit-learn's."""
    name, criterion = request.param
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = X.astype(np.float32)  # scikit-learn does the same
    ours, theirs = kinds_of(y)
    ours = ours(criterion=criterion, **EXACT).fit(X, y)
    return X, ours, [theirs(criterion=criterion, random_state=seed).fit(X, y) for seed in SEEDS]


def test_the_unlimited_tree_is_scikit_learns_but_for_ties(grown):
    X, ours, theirs = grown
    walks = [walk_together(ours, tree, X) for tree in theirs]
    share = [found.n_nodes / ours.tree_.n_nodes for found in walks]
    assert min(share) > 0.5
    assert max(share) > 0.85
    assert all(found.n_same_feature > 0 for found in walks)


def test_the_unlimited_tree_predicts_its_training_rows_as_scikit_learns_does(grown):
    X, ours, theirs = grown
    for tree in theirs:
        np.testing.assert_allclose(ours.predict(X), tree.predict(X), rtol=1e-12)


def test_some_order_of_the_columns_gives_scikit_learns_tree_the_same_size(grown):
    _, ours, theirs = grown
    sizes = {(tree.get_n_leaves(), tree.get_depth()) for tree in theirs}
    assert (ours.get_n_leaves(), ours.get_depth()) in sizes


# Rules of growing, on data without ties

RULES = [
    {"max_depth": 4},
    {"min_samples_leaf": 7},
    {"min_samples_leaf": 0.04},
    {"min_samples_split": 25},
    {"min_samples_split": 0.11},
    {"min_samples_split": 6, "min_samples_leaf": 9},
    {"min_weight_fraction_leaf": 0.05},
    {"min_impurity_decrease": 0.01},
    {"max_leaf_nodes": 2},
    {"max_leaf_nodes": 13},
    {"max_leaf_nodes": 20, "max_depth": 5, "min_samples_leaf": 3},
]


def rule_id(params):
    return "-".join(f"{name}={value}" for name, value in params.items())


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_rules_stop_a_weighted_class_tree_where_scikit_learns_stops(criterion, rule):
    X, y, weight = classes()
    ours, theirs = both(X, y, weight, criterion=criterion, **rule)
    assert_same_tree(ours, theirs, X)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
@pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
def test_rules_stop_a_regression_tree_where_scikit_learns_stops(is_weighted, rule):
    X, y = numbers()
    weight = np.random.default_rng(9).uniform(0.1, 3.0, len(y)) if is_weighted else None
    ours, theirs = both(X, y, weight, **rule)
    assert_same_tree(ours, theirs, X)


@pytest.mark.parametrize("n_leaves", [2, 3, 8, 30, 1000])
def test_best_first_growth_ends_with_scikit_learns_leaves_and_impurity(n_leaves):
    X, y, _ = classes()
    ours, theirs = both(X, y, max_leaf_nodes=n_leaves)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.score(X, y) == theirs.score(X, y)
    leaf = ours.tree_.is_leaf
    twin_leaf = theirs.tree_.children_left < 0
    assert (ours.tree_.weight * ours.tree_.impurity)[leaf].sum() == pytest.approx(
        (theirs.tree_.weighted_n_node_samples * theirs.tree_.impurity)[twin_leaf].sum(), abs=1e-9
    )


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_a_rule_makes_a_smaller_tree(rule):
    """Else the agreement above would say nothing of the rule."""
    X, y = numbers()
    limited, free = both(X, y, **rule)[0], both(X, y)[0]
    assert limited.get_n_leaves() < free.get_n_leaves()


@pytest.mark.parametrize("n_outputs", [2, 3])
@pytest.mark.parametrize("rule", [{"max_depth": 5}, {"min_samples_leaf": 4}], ids=rule_id)
def test_several_outputs_share_the_tree_that_scikit_learn_grows(n_outputs, rule):
    X, y = numbers(n_outputs=n_outputs)
    ours, theirs = both(X, y, **rule)
    assert_same_tree(ours, theirs, X)
    assert ours.predict(X).shape == y.shape


def test_outputs_of_different_size_count_by_their_variance():
    X, y = numbers(n_outputs=2)
    y[:, 1] *= 1000.0
    ours, theirs = both(X, y, max_depth=4)
    assert_same_tree(ours, theirs, X)


# Weights


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_a_whole_weight_is_a_row_repeated(task):
    X, y = classes()[:2] if task == "classes" else numbers()
    times = np.random.default_rng(2).integers(0, 4, len(y))
    ours, _ = kinds_of(y)
    params = {"max_depth": 6, "min_weight_fraction_leaf": 0.02, **EXACT}
    weighted = ours(**params).fit(X, y, sample_weight=times)
    repeated = ours(**params).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.get_n_leaves() > 10
    for name in ("feature", "threshold", "weight"):
        np.testing.assert_array_equal(
            getattr(weighted.nodes_, name), getattr(repeated.nodes_, name), name
        )
    np.testing.assert_allclose(weighted.nodes_.value, repeated.nodes_.value, rtol=1e-12)
    np.testing.assert_allclose(weighted.tree_.impurity, repeated.tree_.impurity, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-270, 1e-6, 1e6, 1e12, 1e270])
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_the_scale_of_the_weights_does_not_matter(task, scale):
    X, y, weight = classes()
    y = y if task == "classes" else numbers()[1]
    ours, _ = kinds_of(y)
    one, other = (ours(**EXACT, max_depth=6).fit(X, y, weight * by) for by in (1.0, scale))
    np.testing.assert_array_equal(one.nodes_.threshold, other.nodes_.threshold)
    np.testing.assert_allclose(one.tree_.gain, other.tree_.gain, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.tree_.weight * scale, other.tree_.weight, rtol=1e-9)


def test_the_target_of_a_row_without_weight_does_not_matter():
    X = [[0], [1], [2]]
    for far in (1.0, 1e149):
        model = gputree.DecisionTreeRegressor().fit(X, [0.0, 1e-200, far], [1, 1, 0])
        np.testing.assert_allclose(model.predict(X[:2]), [0.0, 1e-200], atol=1e-212)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.7, 1: 0.43, 2: 1.0}], ids=str)
def test_class_weights_work_as_in_scikit_learn(class_weight):
    X, y, weight = classes()
    y[weight < 1.0] = 2  # classes of different size
    # To scikit-learn a pure node of odd weights may be impure by a rounding error.
    params = {"max_depth": 5, "min_impurity_decrease": 1e-12}
    ours, theirs = both(X, y, weight, class_weight=class_weight, **params)
    assert_same_tree(ours, theirs, X)
    plain, _ = both(X, y, weight, **params)
    assert plain.to_bytes() != ours.to_bytes()


def same_splits(one, other):
    return (
        np.array_equal(one.nodes_.feature, other.nodes_.feature)
        and np.array_equal(one.nodes_.threshold, other.nodes_.threshold, equal_nan=True)
        and np.allclose(one.tree_.impurity, other.tree_.impurity, rtol=1e-9)
    )


def test_uniform_priors_are_balanced_class_weights():
    X, y, weight = classes()
    y[weight < 1.0] = 2
    balanced, _ = both(X, y, class_weight="balanced", max_depth=5)
    uniform = gputree.DecisionTreeClassifier(priors="uniform", max_depth=5, **EXACT).fit(X, y)
    assert same_splits(uniform, balanced)
    assert not same_splits(uniform, both(X, y, max_depth=5)[0])


@pytest.mark.parametrize("priors", [[0.2, 0.5, 0.3], {2: 0.3, 0: 0.2, 1: 0.5}], ids=str)
def test_given_priors_are_the_class_weights_that_lead_to_them(priors):
    X, y, weight = classes()
    total = np.bincount(y, weight)
    factor = np.array([0.2, 0.5, 0.3]) * total.sum() / total
    ours, theirs = both(X, y, weight, class_weight=dict(enumerate(factor)), max_depth=5)
    by_priors = gputree.DecisionTreeClassifier(priors=priors, max_depth=5, **EXACT)
    by_priors.fit(X, y, weight)
    assert same_splits(by_priors, ours)
    assert_same_tree(by_priors, theirs, X)
    np.testing.assert_allclose(by_priors.nodes_.value[0] / total.sum(), [0.2, 0.5, 0.3])


def test_priors_from_the_data_change_nothing():
    X, y, weight = classes()
    plain = gputree.DecisionTreeClassifier(**EXACT).fit(X, y, weight)
    assert gputree.DecisionTreeClassifier(priors="data", **EXACT).fit(X, y, weight).to_bytes() == (
        plain.to_bytes()
    )


# Missing values


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_missing_values_go_where_scikit_learn_sends_them(task, seed):
    X, y, weight = classes(seed=seed)
    y = y if task == "classes" else numbers(seed=seed)[1]
    X[np.random.default_rng(seed).random(X.shape) < 0.25] = np.nan
    ours, theirs = both(X, y, weight, max_depth=5, min_samples_leaf=4)
    assert_same_tree(ours, theirs, X)
    assert 0 < ours.tree_.missing_slot.sum() < (~ours.tree_.is_leaf).sum()


def test_missing_values_that_tell_the_target_are_split_off():
    X = np.array([[1.0], [np.nan], [2.0], [np.nan], [3.0]], np.float32)
    y = np.array([0, 1, 0, 1, 0])
    ours, theirs = both(X, y)
    assert_same_tree(ours, theirs, X)
    assert ours.nodes_.threshold[0] == np.inf
    assert ours.score(X, y) == 1.0
