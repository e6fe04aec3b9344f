"""Trees with nodes left out: the same answers above, nothing below."""

import numpy as np
import pandas as pd
import pytest

from gputree import CARTClassifier, DecisionTreeClassifier, DecisionTreeRegressor
from gputree.tree.check import check_tree
from gputree.tree.reshape import cut, reshaped, summed_up
from gputree.tree.tree import Tree


def table(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    few, many = rng.integers(0, 4, n_rows), rng.integers(0, 12, n_rows)
    x = rng.normal(size=n_rows).round(1)
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(n_rows) < 0.1, np.nan, x),
            "few": pd.Categorical.from_codes(
                np.where(rng.random(n_rows) < 0.1, -1, few), list("abcd")
            ),
            "many": pd.Categorical.from_codes(many, list("abcdefghijkl")),
        }
    )
    return X, (x + few % 2 + many % 3 + rng.normal(size=n_rows) > 1.5).astype(int)


MODELS = {
    "subsets": DecisionTreeClassifier(),
    "multiway": DecisionTreeClassifier(nominal="multiway", missing="fractional"),
    "surrogates": CARTClassifier(pruning=None),
    "numbers": DecisionTreeRegressor(),
}


def categories_of(model):
    return [
        None if k == 0 else len(v or ())
        for k, v in zip(model.schema_.kinds, model.schema_.categories, strict=True)
    ]


def same(one, other):
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in Tree.DTYPES
    )


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param].fit(*table())


def test_cutting_nothing_changes_nothing(model):
    assert same(cut(model.nodes_, np.empty(0, int)), model.nodes_)


def test_cutting_the_root_leaves_a_leaf(model):
    tree = cut(model.nodes_, np.array([0]))
    assert tree.n_nodes == 1
    assert tree.value.tolist() == model.nodes_.value[:1].tolist()
    assert not len(tree.category_slot)
    assert not len(tree.surrogate_feature)


def test_a_tree_cut_at_a_depth_is_the_tree_grown_to_it(model):
    deep = model.nodes_
    shallow = type(model)(**{**model.get_params(), "max_depth": 3}).fit(*table()).nodes_
    found = cut(deep, np.flatnonzero(deep.depth == 3))
    for name in Tree.DTYPES:
        # Impurities of a regression are summed from the leaves up, in another order.
        ours, theirs = getattr(found, name), getattr(shallow, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("seed", range(5))
def test_any_cut_is_a_tree_and_cutting_twice_is_cutting_at_once(model, seed):
    tree = model.nodes_
    rng = np.random.default_rng(seed)
    inner = np.flatnonzero(~tree.is_leaf)
    nodes = rng.choice(inner, size=len(inner) // 4, replace=False)
    found = cut(tree, nodes)
    check_tree(found, categories_of(model))
    assert found.n_nodes < tree.n_nodes
    assert same(cut(found, np.empty(0, int)), found)
    assert same(cut(cut(tree, nodes), np.array([0])), cut(tree, np.array([0])))


def test_statistics_may_be_others(model):
    tree = model.nodes_
    every = np.arange(tree.n_nodes)
    found = reshaped(tree, every, tree.is_leaf, n_rows=every)
    assert found.n_rows.tolist() == every.tolist()
    assert found.weight.tolist() == tree.weight.tolist()


def test_sums_go_up_from_the_leaves(model):
    tree = model.nodes_
    ones = np.where(tree.is_leaf, 1, 0)
    assert summed_up(tree, ones)[0] == tree.n_leaves
    if model.missing_ != "surrogate":
        own = np.where(tree.is_leaf, tree.weight, 0.0)
        np.testing.assert_allclose(summed_up(tree, own), tree.weight, rtol=1e-12)
