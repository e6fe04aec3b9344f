"""The Poisson deviance as a criterion: counts, of which no node may be without any."""

import numpy as np
import pytest
import sklearn.tree
from numpy.testing import assert_allclose

import gputree


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    return X, rng.poisson(np.exp(X[:, 0])).astype(float)


def deviance(y, mean):
    """Half the Poisson deviance of a node, by its definition."""
    some = y[y > 0]
    return (some * np.log(some / mean)).sum() / len(y)


def test_impurities_are_deviances(counts):
    X, y = counts
    model = gputree.DecisionTreeRegressor(criterion="poisson", max_depth=3).fit(X, y)
    path = model.decision_path(X).toarray().astype(bool)
    expected = [deviance(y[rows], y[rows].mean()) for rows in path.T]
    assert_allclose(model.tree_.impurity, expected, rtol=1e-9)


def test_no_leaf_predicts_zero(counts):
    X, y = counts
    assert (y == 0).mean() > 0.3
    for splitter in ("best", "random"):
        model = gputree.DecisionTreeRegressor(criterion="poisson", splitter=splitter)
        assert (model.fit(X, y).predict(X) > 0).all()
    forest = gputree.RandomForestRegressor(10, criterion="poisson", random_state=0).fit(X, y)
    assert (forest.predict(X) > 0).all()


def test_categories_are_divided_by_their_deviance(counts):
    X, y = counts
    categories = np.digitize(X[:, :1], [-1.0, -0.3, 0.3, 1.0])
    ours = gputree.DecisionTreeRegressor(
        criterion="poisson", categorical_features=[0], max_leaf_nodes=3
    ).fit(categories[:, ::-1], y)
    theirs = sklearn.tree.DecisionTreeRegressor(criterion="poisson", max_leaf_nodes=3)
    # The rates rise with the number of the category, so thresholds divide them best.
    assert_allclose(
        ours.predict(categories), theirs.fit(categories, y).predict(categories), rtol=1e-12
    )


def test_outputs_are_averaged(counts):
    X, y = counts
    both = np.column_stack([y, 1000 * y[::-1]])
    ours = gputree.DecisionTreeRegressor(criterion="poisson", max_depth=2).fit(X, both)
    theirs = sklearn.tree.DecisionTreeRegressor(criterion="poisson", max_depth=2).fit(X, both)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("y", "what"), [([1.0, -1.0, 2.0], "negative"), ([0.0, 0.0, 0.0], "not strictly positive")]
)
def test_targets_without_a_deviance_are_refused(y, what):
    model = gputree.DecisionTreeRegressor(criterion="poisson")
    with pytest.raises(ValueError, match=what):
        model.fit([[0.0], [1.0], [2.0]], y)


def test_a_branch_a_category_is_refused(counts):
    model = gputree.DecisionTreeRegressor(criterion="poisson", nominal="multiway")
    with pytest.raises(ValueError, match="nominal='subset'"):
        model.fit(*counts)


def test_names_of_scikit_learn_choose_the_same_trees(counts):
    X, y = counts
    label = (y > 1).astype(int)
    entropy, log_loss = (
        gputree.DecisionTreeClassifier(criterion=name).fit(X, label)
        for name in ("entropy", "log_loss")
    )
    assert entropy.to_bytes() == log_loss.to_bytes()
    with pytest.warns(FutureWarning, match="friedman_mse.*squared_error"):
        model = gputree.DecisionTreeRegressor(criterion="friedman_mse")
    model.fit(X, y)
    assert model.to_bytes() == gputree.DecisionTreeRegressor().fit(X, y).to_bytes()
