"""Categories with few rows in a node: one together, and how many rows they must have."""

import numpy as np
import pandas as pd
import pytest

from gputree import (
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from gputree.backends.defaults import Defaults
from gputree.growth.seek import Seeker
from gputree.tree.tree import Split


def names(number):
    return pd.Categorical([f"c{k:04}" for k in number])


def noisy(n_rows=1500, n_categories=600, seed=0):
    """A number that tells the target, and a category that tells nothing."""
    rng = np.random.default_rng(seed)
    x = rng.random(n_rows)
    X = pd.DataFrame({"x": x, "who": names(rng.integers(0, n_categories, n_rows))})
    return X, 3 * x + rng.normal(0.0, 0.5, n_rows)


@pytest.mark.parametrize(
    "kind",
    [
        lambda **how: DecisionTreeRegressor(min_samples_leaf=20, **how),
        lambda **how: RandomForestRegressor(5, random_state=0, min_samples_leaf=5, **how),
        lambda **how: GradientBoostingRegressor(30, **how),
    ],
    ids=["tree", "forest", "boosting"],
)
def test_many_categories_that_tell_nothing_do_no_harm(kind):
    X, y = noisy()
    Z, z = noisy(seed=1)
    without = kind().fit(X[["x"]], y).score(Z[["x"]], z)
    by_default = kind().fit(X, y).score(Z, z)
    each_told = kind(min_samples_category=1).fit(X, y).score(Z, z)
    assert by_default > without - 0.01
    assert each_told < without - 0.05


def test_categories_that_tell_the_target_are_still_found():
    rng = np.random.default_rng(0)
    who = rng.integers(0, 40, 4000)
    X, y = pd.DataFrame({"who": names(who)}), rng.normal(0.0, 1.0, 40)[who]
    assert DecisionTreeRegressor().fit(X, y).score(X, y) > 0.99


def test_few_categories_are_told_however_few_rows_they_have():
    X = pd.DataFrame({"who": names(np.arange(32))})
    y = np.arange(32) % 5
    assert DecisionTreeClassifier().fit(X, y).score(X, y) == 1.0
    X = pd.DataFrame({"who": names(np.arange(33))})
    y = np.arange(33) % 5
    assert DecisionTreeClassifier().fit(X, y).tree_.n_nodes == 1
    assert DecisionTreeClassifier(min_samples_category=1).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("kind", [CARTClassifier, CARTRegressor])
def test_the_classic_trees_keep_to_the_textbook(kind):
    X = pd.DataFrame({"who": names(np.repeat(np.arange(33), 2))})
    y = np.repeat(np.arange(33) % 2, 2)
    assert "min_samples_category" not in kind().get_params()
    assert kind(pruning=None, min_samples_split=2, min_samples_leaf=1).fit(X, y).score(X, y) == 1.0


def test_random_groups_are_drawn_of_all_categories():
    X, y = noisy(n_rows=300, n_categories=200)
    tree = ExtraTreesRegressor(1, random_state=0, bootstrap=False).fit(X, y).estimators_[0].nodes_
    assert (tree.feature == 1).any()


def test_rare_and_unseen_categories_go_together():
    """40 categories of 30 rows, 60 of one row; the rare ones are high, as half of the others."""
    number = np.concatenate([np.repeat(np.arange(40), 30), np.arange(40, 100)])
    rng = np.random.default_rng(0)
    y = np.where(number < 20, 0.0, 1.0) + rng.normal(0.0, 0.01, len(number))
    X = pd.DataFrame({"who": names(number)})
    tree = DecisionTreeRegressor(max_depth=1).fit(X, y).nodes_
    assert tree.kind[0] == Split.SUBSET
    assert tree.slots(0, 100).tolist() == [0] * 20 + [1] * 80
    X["half"] = np.arange(len(X)) % 2
    deep = DecisionTreeRegressor(min_samples_category=25, max_depth=4).fit(X, y)
    nodes = np.flatnonzero(deep.nodes_.kind == Split.SUBSET).tolist()
    assert nodes
    for node in nodes:
        assert len(set(deep.nodes_.slots(node, 100)[40:].tolist())) == 1


@pytest.mark.parametrize("value", [0, -1, 2.5, "few", None, True])
def test_other_numbers_are_refused(value):
    X, y = noisy(20, 5)
    for kind in (DecisionTreeRegressor, GradientBoostingRegressor):
        with pytest.raises(ValueError, match=r"min_samples_category=.*at least 1, or 'auto'"):
            kind(min_samples_category=value).fit(X, y)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_nodes_too_small_for_any_category_are_not_searched_and_lose_nothing(share, monkeypatch):
    X, y = noisy(n_rows=600, n_categories=50)
    y = y + 3 * (X["who"].cat.codes.to_numpy() % 2)
    X["who"] = X["who"].mask(np.random.default_rng(2).random(len(X)) < share)
    searched = []
    rate_categories = Defaults.rate_categories

    def counted(self, hist, place, *others):
        searched.append(len(place))
        return rate_categories(self, hist, place, *others)

    monkeypatch.setattr(Defaults, "rate_categories", counted)
    quick = DecisionTreeRegressor(backend="numpy").fit(X, y)
    n_quick = sum(searched)
    monkeypatch.setattr(Seeker, "_may_divide", lambda self, sums: np.ones((len(sums), 1), bool))
    assert DecisionTreeRegressor(backend="numpy").fit(X, y).to_bytes() == quick.to_bytes()
    n_slow = sum(searched) - n_quick
    assert (quick.nodes_.feature == 1).any()
    assert n_quick < n_slow / 3 if share == 0.0 else n_quick == n_slow
