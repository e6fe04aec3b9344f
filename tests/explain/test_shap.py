"""Shapley values: against all subsets of features, against sums, against the shap package."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
)
from gputree.backends import registry
from gputree.backends.cpu.backend import CpuBackend
from gputree.dtypes import STAY
from gputree.explain import shap_values
from gputree.explain.shap import attributed, expected_sum
from gputree.prediction import sum_leaves
from gputree.tree.stack import Stack
from gputree.tree.tree import Split
from gputree.tree.walk import slots_of
from tests.drawn_trees import drawn_table, drawn_tree

NUMPY = registry.choose(backend="numpy").backend
NUMBA = registry.choose(backend="numba", n_jobs=2).backend
MIXED = (0, 3, 0, 4, 0)


@pytest.fixture(scope="module", params=["numpy", "numba"])
def backend(request):
    return {"numpy": NUMPY, "numba": NUMBA}[request.param]


# Against the definition.


def branches(tree, node, table, row):
    """How much of a row goes to each child; None where it stops."""
    values = np.asarray(table.columns[tree.feature[node]].values)[row : row + 1]
    here = slice(node, node + 1)
    none = np.zeros(1, np.int64)
    slot = slots_of(tree, values, tree.threshold[here], none, tree.category_start[here])[0]
    slot = tree.missing_slot[node] if slot == STAY else slot
    return None if slot == STAY else np.eye(tree.n_children[node])[int(slot)]


def by_weight(tree, node):
    first = tree.first_child[node]
    weight = tree.weight[first : first + tree.n_children[node]]
    return weight / weight.sum()


def worth(tree, value, table, row, known, unknown, divides, node=0):
    """What a tree predicts of a row of which some features are known."""
    if tree.is_leaf[node]:
        return value[node]
    if tree.feature[node] in known:
        part = branches(tree, node, table, row)
    elif unknown is None:
        part = by_weight(tree, node)
    else:
        part = branches(tree, node, *unknown)
    if part is None and not divides:
        return value[node]
    part = by_weight(tree, node) if part is None else part
    children = range(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
    return sum(
        share * worth(tree, value, table, row, known, unknown, divides, child)
        for share, child in zip(part, children, strict=True)
        if share
    )


def shapley(stack, table, row, unknown=None, *, divides):
    """The Shapley values of one row by their definition, (features, outputs)."""
    n = table.n_features
    total = np.zeros((n, stack.n_outputs))
    for number, (tree, first) in enumerate(zip(stack.trees, stack.column, strict=True)):
        value, at = stack.values_of(number), slice(first, first + stack.width)
        for own in range(n):
            rest = [each for each in range(n) if each != own]
            for size in range(n):
                share = factorial(size) * factorial(n - 1 - size) / factorial(n)
                for known in combinations(rest, size):
                    args = tree, value, table, row
                    with_own = worth(*args, {*known, own}, unknown, divides)
                    total[own, at] += share * (with_own - worth(*args, {*known}, unknown, divides))
    return total


def drawn_stack(rng, n_trees=2, n_splits=5, **options):
    trees = [drawn_tree(rng, MIXED, n_splits, width=2, **options) for _ in range(n_trees)]
    return Stack.of(trees, column=[0, 1][:n_trees], n_outputs=3)


# What trees do with missing values, and which share of the nodes has no branch for them.
WAYS = {"direction": ("direction", 0.0), "stop": ("surrogate", 0.4), "divide": ("fractional", 1.0)}
seeds, ways = st.integers(0, 2**32 - 1), st.sampled_from(sorted(WAYS))


@settings(max_examples=12)
@given(seeds, ways)
def test_values_by_path_are_the_means_over_all_orders(backend, seed, way):
    rng, (missing, stops) = np.random.default_rng(seed), WAYS[way]
    stack, table = drawn_stack(rng, stops=stops), drawn_table(rng, MIXED, 3)
    found = attributed(backend, stack, table, missing=missing).values
    for row in range(3):
        right = shapley(stack, table, row, divides=way == "divide")
        assert_allclose(found[row], right, rtol=0, atol=1e-12)


@settings(max_examples=9)
@given(seeds, ways)
def test_values_with_a_background_are_the_means_over_all_orders_and_rows(backend, seed, way):
    rng, (missing, stops) = np.random.default_rng(seed), WAYS[way]
    stack = drawn_stack(rng, stops=stops)
    table, others = drawn_table(rng, MIXED, 2), drawn_table(rng, MIXED, 3)
    found = attributed(backend, stack, table, others, missing=missing).values
    for row in range(2):
        each = [
            shapley(stack, table, row, (others, at), divides=way == "divide") for at in range(3)
        ]
        assert_allclose(found[row], np.mean(each, axis=0), rtol=0, atol=1e-12)


# Sums.


@settings(max_examples=25)
@given(seeds, st.integers(0, 40), ways, st.booleans())
def test_values_and_what_is_expected_add_up(seed, n_splits, way, has_background):
    rng, (missing, stops) = np.random.default_rng(seed), WAYS[way]
    stack = drawn_stack(rng, n_splits=n_splits, stops=stops)
    table = drawn_table(rng, MIXED, 20, rng.choice([np.float32, np.float64]))
    others = drawn_table(rng, MIXED, 5) if has_background else None
    start = rng.normal(size=3)
    found = attributed(NUMBA, stack, table, others, start, missing)
    right = sum_leaves(NUMBA, stack, table, start, missing)
    assert_allclose(found.expected + found.values.sum(axis=1), right, rtol=0, atol=1e-11)


@settings(max_examples=10)
@given(seeds, ways, st.booleans())
def test_compiled_code_and_numpy_give_the_same_bits(seed, way, has_background):
    rng, (missing, stops) = np.random.default_rng(seed), WAYS[way]
    stack, table = drawn_stack(rng, n_splits=12, stops=stops), drawn_table(rng, MIXED, 40)
    others = drawn_table(rng, MIXED, 3) if has_background else None
    found, same = (
        attributed(each, stack, table, others, missing=missing).values for each in (NUMBA, NUMPY)
    )
    assert found.tobytes() == same.tobytes()


def test_a_deep_tree_adds_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 20))
    model = DecisionTreeRegressor().fit(X, rng.normal(size=3_000))
    assert model.get_depth() > 15
    found = model.shap_values(X[:50])
    assert_allclose(found.sum(axis=1) + model.expected_value_, model.predict(X[:50]), atol=1e-10)


def test_a_tree_without_a_split_credits_nobody(backend):
    rng = np.random.default_rng(0)
    stack = Stack.of([drawn_tree(rng, MIXED, 0)])
    found = attributed(backend, stack, drawn_table(rng, MIXED, 4))
    assert found.values.shape == (4, 5, 1)
    assert not found.values.any()
    assert found.expected.tolist() == stack.value[0].tolist()


def test_a_feature_that_no_tree_tests_gets_nothing(backend):
    rng = np.random.default_rng(1)
    stack = Stack.of([drawn_tree(rng, MIXED, 8, kinds=(Split.SUBSET, Split.MULTIWAY))])
    found = attributed(backend, stack, drawn_table(rng, MIXED, 30), missing="fractional").values
    assert not found[:, [0, 2, 4]].any()
    assert found[:, [1, 3]].any()


# Estimators.


def weather(n_rows=200, seed=0, missing=0.15):
    rng = np.random.default_rng(seed)
    heat, damp = rng.normal(size=(2, n_rows))
    damp += heat
    sky = rng.integers(0, 4, n_rows)
    y = (heat + 0.5 * (sky == 2) + 0.3 * rng.normal(size=n_rows) > 0.2).astype(int)
    table = pd.DataFrame(
        {"heat": heat, "damp": damp, "sky": pd.Categorical.from_codes(sky, list("abcd"))}
    )
    for name in table:
        table.loc[rng.random(n_rows) < missing, name] = None
    return table, np.array(["no", "yes"])[y]


CLASSIFIERS = {
    "direction": DecisionTreeClassifier(max_depth=5),
    "multiway": DecisionTreeClassifier(max_depth=4, nominal="multiway"),
    "category": DecisionTreeClassifier(max_depth=4, missing="category"),
    "C4.5, rows divided": C45Classifier(),
    "CART, surrogates": CARTClassifier(pruning=None, max_depth=4),
}


@pytest.mark.parametrize("where", ["numpy", "numba"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_values_of_a_classifier_explain_its_probabilities(kind, where):
    table, y = weather()
    unseen, _ = weather(60, seed=1)
    unseen["sky"] = unseen["sky"].cat.rename_categories({"d": "none has seen it"})
    model = CLASSIFIERS[kind].set_params(backend=where).fit(table, y)
    right = model.predict_proba(unseen)
    found = model.shap_values(unseen)
    assert found.shape == (60, 3, 2)
    assert np.abs(found).max() > 0.1
    assert_allclose(model.expected_value_ + found.sum(axis=1), right, atol=1e-10)
    others = table.iloc[:7]
    found = model.shap_values(unseen, method="interventional", background=others)
    mean = model.predict_proba(others).mean(axis=0)
    assert_allclose(mean + found.sum(axis=1), right, atol=1e-10)


def test_id3_is_explained():
    table, y = weather(missing=0.0)
    categories = table[["sky"]].assign(warm=pd.Categorical(np.where(table["heat"] > 0, "w", "c")))
    model = ID3Classifier().fit(categories, y)
    total = model.expected_value_ + model.shap_values(categories).sum(axis=1)
    assert_allclose(total, model.predict_proba(categories), atol=1e-12)


def test_regressions_have_one_output_or_several():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(150, 3)), rng.normal(size=(150, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    for model in (DecisionTreeRegressor(max_depth=4), CARTRegressor(max_depth=4, pruning=None)):
        both = model.fit(X, Y).shap_values(X)
        assert both.shape == (150, 3, 2)
        assert_allclose(model.expected_value_ + both.sum(axis=1), model.predict(X), atol=1e-12)
        one = model.fit(X, Y[:, 0]).shap_values(X)
        assert one.shape == (150, 3)
        assert isinstance(model.expected_value_, float)
        assert_allclose(model.expected_value_ + one.sum(axis=1), model.predict(X), atol=1e-12)


def test_a_surrogate_speaks_for_the_feature_of_its_node():
    """The first column is missing, and the second tells its branch; the first is credited."""
    x = np.arange(40.0)
    model = CARTRegressor(max_depth=1, pruning=None).fit(np.c_[x, -x], x > 19)
    assert model.tree_.n_surrogates[0] == 1
    found = model.shap_values([[np.nan, -3.0], [np.nan, -30.0], [5.0, -30.0]])
    assert_allclose(found, [[-0.5, 0], [0.5, 0], [-0.5, 0]])


def test_where_nothing_stands_for_a_missing_value_it_is_credited_with_nothing():
    table, y = weather()
    model = C45Classifier().fit(table, y)
    found = model.shap_values(table)
    for at, name in enumerate(table):
        assert not found[table[name].isna().to_numpy(), at].any()
    assert found.any()


def test_the_function_takes_trees_values_and_columns():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 3))
    models = [DecisionTreeRegressor(max_depth=3).fit(X, rng.normal(size=100)) for _ in range(3)]
    trees = [model.nodes_ for model in models]
    values = [0.1 * tree.value[:, 0] for tree in trees]
    found = shap_values(trees, X, values=values, columns=[0, 1, 0], start=[5.0, 7.0])
    right = np.zeros((100, 3, 2))
    for model, column in zip(models, [0, 1, 0], strict=True):
        right[:, :, column] += 0.1 * model.shap_values(X)
    assert_allclose(found.values, right, atol=1e-14)
    mean = [0.1 * model.expected_value_ for model in models]
    assert_allclose(found.expected, [5 + mean[0] + mean[2], 7 + mean[1]])
    stack = Stack.of(trees, values, [0, 1, 0])
    assert_array_equal(shap_values(stack, X).values, found.values)
    assert_allclose(np.add(expected_sum(stack), [5, 7]), found.expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "kernel"}, "method='kernel' is unknown; choose from"),
        ({"background": [[0.0]]}, "background: method='path' uses the row counts"),
        ({"method": "interventional"}, "background: method='interventional' takes"),
        ({"method": "interventional", "background": np.empty((0, 1))}, "0 sample"),
    ],
)
def test_a_background_goes_with_its_method(options, message):
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=message):
        model.shap_values([[0.0]], **options)


def test_trees_of_many_nodes_are_explained_by_compiled_kernels(monkeypatch):
    """A table of two rows would be for NumPy, which visits nodes one by one."""
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    tree = DecisionTreeClassifier().fit(X, y)
    expected, seen = tree.shap_values(X[:2]), []
    monkeypatch.setattr("gputree.explain.shap.MANY_NODES", tree.tree_.n_nodes)
    own = CpuBackend.attribute
    monkeypatch.setattr(CpuBackend, "attribute", lambda *all: seen.append(1) or own(*all))
    assert np.array_equal(tree.shap_values(X[:2]), expected)
    assert shap_values([tree.nodes_], X[:2]).values.shape == (2, 2, 2)
    assert len(seen) == 2
    tree.set_params(backend="numpy").shap_values(X[:2])
    assert len(seen) == 2


def test_values_are_given_back_in_the_library_of_the_table():
    torch = pytest.importorskip("torch")
    X = torch.tensor([[0.0], [1.0]])
    found = DecisionTreeRegressor(backend="torch").fit(X, [0.0, 1.0]).shap_values(X)
    assert found.tolist() == [[-0.5], [0.5]]


# Against the shap package.


@pytest.mark.parametrize("method", ["path", "interventional"])
def test_values_are_those_of_the_shap_package(method):
    """For a tree of scikit-learn with the same splits; it compares float32, so X has float32."""
    shap = pytest.importorskip("shap")
    rng = np.random.default_rng(5)
    X = rng.integers(0, 12, (400, 5)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + 3 * X[:, 2] + rng.normal(size=400)
    ours = DecisionTreeRegressor(max_depth=6, min_samples_leaf=3).fit(X, y)
    theirs = SklearnRegressor(max_depth=6, min_samples_leaf=3, random_state=0).fit(X, y)
    assert_allclose(theirs.predict(X), ours.predict(X))
    others = X[:30] if method == "interventional" else None
    kind = "interventional" if method == "interventional" else "tree_path_dependent"
    explainer = shap.TreeExplainer(theirs, others, feature_perturbation=kind)
    right = explainer.shap_values(X[:100])
    found = ours.shap_values(X[:100], method=method, background=others)
    assert_allclose(found, right, atol=1e-5 * np.abs(right).max())
