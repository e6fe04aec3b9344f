"""Shapley values of trees with combinations of columns, against all subsets of the columns."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gputree.explain.combined as combined
from gputree import DecisionTreeRegressor, ObliqueTreeClassifier, ObliqueTreeRegressor


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)).round(1), columns=list("abcd"))
    for name in X:
        X.loc[rng.random(n) < 0.15, name] = np.nan
    X["size"] = pd.Categorical.from_codes(rng.integers(-1, 3, n), ["s", "m", "l"], ordered=True)
    X["kind"] = pd.Categorical.from_codes(rng.integers(-1, 3, n), ["u", "v", "w"])
    y = X["a"].fillna(0) - X["b"].fillna(0) + 0.7 * X["c"].fillna(0) + (X["kind"] == "u")
    return X, y.to_numpy()


def terms(tree, node):
    feature = tree.feature[node]
    if feature < tree.directions.n_columns:
        return [feature], [1.0]
    return tree.directions.terms(feature - tree.directions.n_columns)


def goes_high(tree, node, columns, row):
    """Whether a row of numbers takes the second branch, by the sum as it is written."""
    own, weight = terms(tree, node)
    value = sum(row[column] * factor for column, factor in zip(own, weight, strict=True))
    if np.isnan(value):
        return int(tree.missing_slot[node])
    if tree.category_start[node] >= 0:
        return int(tree.slots(node, columns)[int(value)])
    return int(value > tree.threshold[node])


def worth(tree, value, row, known, other, node=0):
    """What is predicted while the columns in `known` are."""
    if tree.is_leaf[node]:
        return value[node]
    first = tree.first_child[node]
    own, _ = terms(tree, node)
    if other is None and not set(own) <= known:
        share = tree.weight[first : first + 2] / tree.weight[first : first + 2].sum()
        return sum(
            share[slot] * worth(tree, value, row, known, other, first + slot) for slot in (0, 1)
        )
    mixed = row
    if other is not None:
        mixed = np.where([column in known for column in range(len(row))], row, other)
    return worth(tree, value, row, known, other, first + goes_high(tree, node, 3, mixed))


def by_all_subsets(tree, value, row, other=None):
    n = len(row)
    found = np.zeros((n, value.shape[1]))
    for column in range(n):
        rest = [each for each in range(n) if each != column]
        for size in range(n):
            weight = factorial(size) * factorial(n - 1 - size) / factorial(n)
            for subset in combinations(rest, size):
                more = worth(tree, value, row, {*subset, column}, other)
                found[column] += weight * (more - worth(tree, value, row, set(subset), other))
    return found


def as_numbers(X):
    codes = {name: X[name].cat.codes.replace(-1, np.nan) for name in ("size", "kind")}
    return X.assign(**codes).to_numpy(np.float64)


@pytest.fixture(scope="module", params=["classes", "numbers"])
def fitted(request):
    X, y = table()
    if request.param == "numbers":
        tree = ObliqueTreeRegressor(max_leaf_nodes=9, max_terms=3).fit(X, y)
        value = tree.nodes_.value
    else:
        tree = ObliqueTreeClassifier(max_depth=3, max_terms=3).fit(X, np.digitize(y, [-1, 1]))
        value = tree.nodes_.value / tree.nodes_.value.sum(axis=1, keepdims=True)
    assert len(tree.nodes_.directions) >= 2
    return tree, value


def of(tree, X, **how):
    found = tree.shap_values(X, **how)
    return found if found.ndim == 3 else found[:, :, None]


def test_values_are_those_of_all_subsets_of_columns(fitted):
    tree, value = fitted
    X, _ = table(6, seed=1)
    found = of(tree, X)
    for row, own in zip(as_numbers(X), found, strict=True):
        assert_allclose(own, by_all_subsets(tree.nodes_, value, row), atol=1e-12)


def test_values_against_other_rows_are_those_of_all_subsets_of_columns(fitted):
    tree, value = fitted
    X, _ = table(4, seed=1)
    others, _ = table(3, seed=2)
    found = of(tree, X, method="interventional", background=others)
    for row, own in zip(as_numbers(X), found, strict=True):
        each = [by_all_subsets(tree.nodes_, value, row, other) for other in as_numbers(others)]
        assert_allclose(own, np.mean(each, axis=0), atol=1e-12)


def test_values_add_up_to_the_prediction(fitted, monkeypatch):
    tree, _ = fitted
    monkeypatch.setattr(combined, "PAIRS_AT_ONCE", 50)
    X, _ = table(90, seed=3)
    others, _ = table(7, seed=4)
    predict = getattr(tree, "predict_proba", tree.predict)
    said = predict(X).reshape(90, -1)
    assert_allclose(of(tree, X).sum(axis=1) + tree.expected_value_, said, atol=1e-12)
    expected = predict(others).reshape(7, -1).mean(axis=0)
    found = of(tree, X, method="interventional", background=others)
    assert_allclose(found.sum(axis=1) + expected, said, atol=1e-12)


def test_a_tree_of_single_columns_has_the_values_of_an_ordinary_tree():
    X, y = table()
    plain = DecisionTreeRegressor(max_depth=4).fit(X, y)
    tree = ObliqueTreeRegressor(max_depth=4, term_cost=1e9).fit(X, y)
    assert not len(tree.nodes_.directions)
    assert tree.expected_value_ == pytest.approx(plain.expected_value_)
    for how in ({}, {"method": "interventional", "background": X[:5]}):
        assert_allclose(tree.shap_values(X, **how), plain.shap_values(X, **how), atol=1e-12)


@pytest.mark.parametrize(
    ("most", "how", "what"),
    [
        (2, {}, "smaller max_depth"),
        (3, {"method": "interventional", "background": table(2)[0]}, "method='path'"),
    ],
)
def test_more_sets_of_columns_than_can_be_told_are_refused(fitted, monkeypatch, most, how, what):
    tree, _ = fitted
    monkeypatch.setattr(combined, "MOST_GAMES", most)
    with pytest.raises(ValueError, match=what):
        tree.shap_values(table(3)[0], **how)
