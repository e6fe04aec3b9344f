"""Each method against figures by hand, and laws that hold for all trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from gputree import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.pruning import (
    CostComplexity,
    CriticalValue,
    MinimumError,
    Pessimistic,
    Prepruning,
    ReducedError,
)
from gputree.pruning.errors import by_errors
from gputree.pruning.methods import METHODS
from gputree.pruning.path import measured, path_of
from gputree.pruning.weakest_link import weakest_links
from gputree.tree.check import check_tree
from gputree.tree.tree import Split, Tree
from tests.pruning.tables import CLASSIFIERS, MODELS, NEEDING_ROWS, OF_CLASSES, REGRESSORS, table

seeds = st.integers(0, 40)
few = settings(max_examples=8)  # each fits a tree and prunes it many times


def fitted(name, seed=0, weighted=False, n_rows=120):
    X, y, weight = table(n_rows, seed)
    return clone(MODELS[name]).fit(X, y, weight if weighted else None)


def kinds(model):
    return [
        None if kind == 0 else len(categories or ())
        for kind, categories in zip(model.schema_.kinds, model.schema_.categories, strict=True)
    ]


# With which a method needs no rows.
OPTIONS = {"cost_complexity": {"alpha": 0.01}, "error_based": {"raising": False}}


def all_methods(model):
    for name, method in METHODS.items():
        if name in OF_CLASSES and not hasattr(model, "classes_"):
            continue
        yield method(**OPTIONS.get(name, {}))


# Figures by hand


def small_tree(counts, children):
    """A tree of thresholds with these class counts; `children` are pairs, breadth-first."""
    first = np.array([pair[0] if pair else -1 for pair in children])
    is_leaf = first < 0
    value = np.array(counts, float)
    n = value.sum(axis=1)
    return Tree(
        kind=np.where(is_leaf, Split.LEAF, Split.THRESHOLD),
        feature=np.where(is_leaf, -1, 0),
        threshold=np.where(is_leaf, np.nan, 0.0),
        missing_slot=np.zeros(len(n)),
        first_child=first,
        gain=np.where(is_leaf, 0.0, 0.1),
        impurity=1.0 - ((value / n[:, None]) ** 2).sum(axis=1),
        n_rows=n,
        weight=n,
        value=value,
    )


def with_tree(tree):
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    model.nodes_ = tree
    return model


TREE = small_tree(
    [[60, 40], [50, 10], [10, 30], [48, 7], [2, 3]], [(1, 2), (3, 4), None, None, None]
)


def test_pessimistic_pruning_by_hand():
    """As a leaf node 1 has 10.5; below it 9 + 1 = 10, and sqrt(10 * 50 / 60) = 2.9 more."""
    small = with_tree(TREE).prune("pessimistic")
    assert small.tree_.n_leaves == 2
    report = small.pruning_report_
    assert report.nodes.tolist() == [1]
    assert report.as_leaf.tolist() == [10.5]
    assert report.as_subtree == pytest.approx([10 + np.sqrt(10 * 50 / 60)])
    assert with_tree(TREE).prune(Pessimistic(n_errors=0.1)).tree_.n_leaves == 3


@pytest.mark.parametrize(("m", "n_leaves"), [(2.0, 3), (20.0, 2)])
def test_minimum_error_by_hand(m, n_leaves):
    """Node 1 has 10 of 60 wrong; its leaves 7 of 55, and 2 of 5 for the class with 40%."""
    leaf = 60 * (10 + m * 0.4) / (60 + m)
    below = 55 * (7 + m * 0.4) / (55 + m) + 5 * (2 + m * 0.6) / (5 + m)
    small = with_tree(TREE).prune(MinimumError(m=m))
    assert (leaf <= below) == (n_leaves == 2)
    assert small.tree_.n_leaves == n_leaves
    if n_leaves == 2:
        assert small.pruning_report_.as_leaf == pytest.approx([leaf])
        assert small.pruning_report_.as_subtree == pytest.approx([below])


def test_weakest_links_by_hand():
    """Node 1 saves one error for one leaf; then the root saves 40 - 20 for one."""
    links = weakest_links(TREE, by_errors(TREE, True))
    assert links.alpha.tolist() == [20.0, 1.0, -np.inf, -np.inf, -np.inf]
    path = path_of(TREE, by_errors(TREE, True))
    assert path.alpha.tolist() == [0.0, 0.01, 0.2]
    assert path.n_leaves.tolist() == [3, 2, 1]
    assert path.risk == pytest.approx([0.19, 0.2, 0.4])


def test_a_parent_goes_with_a_child_of_the_same_alpha():
    """One error for each of two leaves: both links have alpha 1."""
    tree = small_tree([[6, 4], [6, 3], [0, 1], [6, 2], [0, 1]], [(1, 2), (3, 4), None, None, None])
    links = weakest_links(tree, by_errors(tree, True))
    assert links.alpha[:2].tolist() == [1.0, np.inf]


def test_a_split_below_that_gains_enough_saves_those_above():
    model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    gain = model.tree_.gain
    assert gain[0] < 0.2 < gain.max()
    assert model.prune(CriticalValue(0.2)).get_n_leaves() > 1
    assert model.prune(CriticalValue(0.6)).get_n_leaves() == 1
    values = DecisionTreeRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0])
    assert values.prune(CriticalValue(1.0)).get_n_leaves() == 2


def test_xor_is_lost_to_prepruning_and_kept_by_reduced_error():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    model = DecisionTreeClassifier().fit(X, y)
    assert model.prune(Prepruning(), X, y).get_n_leaves() == 1
    assert model.prune(ReducedError(prunes_ties=True), X, y).get_n_leaves() == 4


def test_wrong_classes_are_not_counted_in_a_regression():
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    for method in OF_CLASSES:
        with pytest.raises(ValueError, match="regression does not have; use 'cost_complexity'"):
            model.prune(method)


# Laws


@pytest.mark.parametrize("name", MODELS)
@few
@given(seed=seeds, weighted=st.booleans())
def test_pruning_never_grows_a_tree(name, seed, weighted):
    model = fitted(name, seed, weighted)
    X, y, _ = table(60, seed + 1000)
    before = model.to_bytes()
    for method in all_methods(model):
        rows = (X, y) if method.name in NEEDING_ROWS else ()
        small = model.prune(method, *rows)
        check_tree(small.nodes_, kinds(small))
        assert small.tree_.n_nodes <= model.tree_.n_nodes
        report = small.pruning_report_
        assert report.n_leaves == (model.get_n_leaves(), small.get_n_leaves())
        assert report.n_nodes == (model.tree_.n_nodes, small.tree_.n_nodes)
        is_told = len(report.nodes) or method.name == "error_based"
        assert model.tree_.n_nodes == small.tree_.n_nodes or is_told
    assert model.to_bytes() == before


@pytest.mark.parametrize("name", ["subsets", "multiway", "surrogates", "numbers"])
@few
@given(seed=seeds, risk=st.sampled_from(["error", "impurity"]))
def test_the_path_is_nested_and_ascends(name, seed, risk):
    if name == "surrogates":
        risk = "error"  # of rows that end above the leaves the impurity is not known exactly
    model = fitted(name, seed, n_rows=60)
    method = CostComplexity(alpha=0.0, risk=risk)
    account = method.account(model.nodes_, hasattr(model, "classes_"))
    links = weakest_links(model.nodes_, account)
    path = path_of(model.nodes_, account, links)
    assert (np.diff(path.alpha) >= 0).all()
    assert (np.diff(path.n_leaves) < 0).all()
    assert path.n_leaves[-1] == 1
    assert (np.diff(path.risk) >= -1e-12).all()
    once = path.without_ties()
    for alpha, n_leaves, risk_of in zip(once.alpha, once.n_leaves, once.risk, strict=True):
        small = model.prune(CostComplexity(alpha=float(alpha), risk=risk))
        assert small.get_n_leaves() == n_leaves
        assert small.prune(CostComplexity(alpha=float(alpha), risk=risk)).to_bytes() == (
            small.to_bytes()
        )
        own = method.account(small.nodes_, hasattr(model, "classes_"))
        assert own.at_ends.sum() / own.total == pytest.approx(risk_of, abs=1e-9)
    cost = measured(model.nodes_, links.alpha / account.total, account, once.alpha)
    np.testing.assert_allclose(cost / account.total, once.risk, atol=1e-9)


def one_by_one(tree, account):
    """Weakest links as the book has it: the least alpha of all, again and again."""
    leaf, steps = tree.is_leaf.copy(), []
    parent = tree.parent
    while not leaf[0]:
        alive = np.ones(tree.n_nodes, bool)
        for node in range(1, tree.n_nodes):
            alive[node] = alive[parent[node]] and not leaf[parent[node]]
        risk = np.where(leaf, account.as_leaf, account.at_ends) * alive
        n = (leaf & alive).astype(float)
        for node in range(tree.n_nodes - 1, 0, -1):
            risk[parent[node]] += risk[node]
            n[parent[node]] += n[node]
        inner = np.flatnonzero(alive & ~leaf)
        link = (account.as_leaf[inner] - risk[inner]) / (n[inner] - 1)
        weakest = inner[link <= link.min() + 1e-12]
        steps.append((max(0.0, float(link.min())) / account.total, int(n[0])))
        leaf[weakest] = True
    return steps


@pytest.mark.parametrize("name", ["subsets", "multiway", "divided", "surrogates"])
@few
@given(seed=seeds)
def test_cutting_many_links_at_once_is_cutting_them_one_by_one(name, seed):
    model = fitted(name, seed, n_rows=60)
    account = CostComplexity().account(model.nodes_, True)
    path = path_of(model.nodes_, account).without_ties()
    steps = one_by_one(model.nodes_, account)
    wanted = [(alpha, n) for alpha, n in steps if alpha > 1e-12]
    # A step starts from the tree before it; the path has the tree after it.
    np.testing.assert_allclose(path.alpha[1:], [alpha for alpha, _ in wanted], atol=1e-12)
    assert path.n_leaves[:-1].tolist() == [n for _, n in wanted]


@pytest.mark.parametrize("name", MODELS)
@few
@given(seed=seeds)
def test_an_alpha_of_0_keeps_the_training_error(name, seed):
    model = fitted(name, seed)
    X, y, _ = table(120, seed)
    small = model.prune("cost_complexity", alpha=0.0)
    before, after = small.pruning_report_.error
    assert after == pytest.approx(before, abs=1e-9)
    if name != "divided":  # whose rows may be in several leaves
        assert small.score(X, y) == pytest.approx(model.score(X, y), abs=1e-9)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "divided"])
@few
@given(seed=seeds, ties=st.booleans())
def test_reduced_error_never_lowers_the_validation_score(name, seed, ties):
    model = fitted(name, seed)
    X, y, weight = table(80, seed + 500)
    small = model.prune("reduced_error", X, y, weight, prunes_ties=ties)
    assert small.score(X, y, weight) >= model.score(X, y, weight) - 1e-12
    _, after = small.pruning_report_.error
    if name in CLASSIFIERS:
        assert 1.0 - small.score(X, y, weight) == pytest.approx(after)
    else:
        assert np.average((small.predict(X) - y) ** 2, weights=weight) == pytest.approx(after)


@pytest.mark.parametrize("name", ["subsets", "multiway", "numbers"])
@few
@given(seed=seeds)
def test_prepruning_is_judging_node_after_node(name, seed):
    model = fitted(name, seed, n_rows=60)
    X, y, _ = table(60, seed + 500)
    tree, leaves = model.nodes_, {0}
    queue, inner = [0], []
    while queue:
        node = queue.pop(0)
        if tree.is_leaf[node]:
            continue
        children = range(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
        split = (leaves - {node}) | set(children)
        scores = [model.prune(nodes=sorted(each)).score(X, y) for each in (leaves, split)]
        if scores[1] > scores[0] + 1e-12:
            leaves, inner = split, [*inner, node]
            queue += children
    small = model.prune("pre", X, y)
    assert small.to_bytes() == model.prune(nodes=sorted(leaves)).to_bytes()


@pytest.mark.parametrize("name", MODELS)
@few
@given(seed=seeds)
def test_simplifying_changes_no_answer_and_leaves_nothing_to_simplify(name, seed):
    model = fitted(name, seed)
    X, _, _ = table(200, seed + 7)
    small = model.simplify()
    if name != "divided":
        np.testing.assert_array_equal(small.predict(X), model.predict(X))
    tree = small.nodes_
    if name in CLASSIFIERS:
        label = tree.value.argmax(axis=1)
        for node in np.flatnonzero(~tree.is_leaf):
            own = np.arange(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
            same = tree.is_leaf[own].all() and (label[own] == label[node]).all()
            assert not same
    assert small.simplify().to_bytes() == small.to_bytes()


@pytest.mark.parametrize("name", REGRESSORS)
def test_the_order_of_validation_rows_changes_nothing(name):
    model = fitted(name)
    X, y, weight = table(300, 9)
    y = y + np.random.default_rng(0).normal(size=len(y))
    order = np.random.default_rng(1).permutation(len(y))
    one = model.prune("reduced_error", X, y, weight)
    other = model.prune("reduced_error", X.iloc[order], y[order], weight[order])
    assert one.to_bytes() == other.to_bytes()
    assert one.pruning_report_.error == other.pruning_report_.error
