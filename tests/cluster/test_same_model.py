"""Rows on several ranks give the model that they give together, byte for byte."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier

import gputree
from gputree import cluster, sampling
from gputree.backends import agreed_quantiles
from gputree.cluster import sums
from gputree.cluster.threads import run_ranks
from gputree.ensembles import places
from tests.cluster.spread import DEADLINE, corpus_table, is_able, parts_of, spread_fit
from tests.corpus import digests

CASES = {name: estimator for name, (estimator, _) in digests.cases().items() if is_able(estimator)}


@pytest.fixture
def shares(monkeypatch):
    """Ranks share out the columns of every node, however little there is to add up."""
    monkeypatch.setattr(sums, "SHARED_BYTES", 0)


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_model(name, shares):
    """Seven ranks, of which some have no rows, and some no columns."""
    X, y = corpus_table(name)
    expected = digests.fitted(name, "numpy")
    found = spread_fit(digests._on(clone(CASES[name]), "numpy"), 7, X, y)
    assert found.to_bytes() == expected.to_bytes()


def table(draw, n_rows):
    """Few values, so that many tie; categories, missing ones, and weights that are 0 at times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = pd.DataFrame(
        {
            "size": rng.integers(0, 9, n_rows).astype(float),
            "share": rng.normal(size=n_rows).round(draw(st.sampled_from([1, 6]))),
            "colour": pd.Categorical.from_codes(
                rng.integers(-1, 6, n_rows), ["red", "blue", "green", "pink", "grey", "black"]
            ),
        }
    )
    X.loc[rng.random(n_rows) < 0.2, "share"] = np.nan
    weight = rng.choice([0.0, 0.3, 1.0, 2.0, 7.5], n_rows)
    weight[0] = 1.0
    return X, rng.integers(0, 3, n_rows), weight


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_partition_of_any_rows(data):
    n_rows = data.draw(st.integers(2, 60))
    X, y, weight = table(data.draw, n_rows)
    n_ranks = data.draw(st.sampled_from([1, 2, 3, 5]))
    owner = np.array(
        data.draw(st.lists(st.integers(0, n_ranks - 1), min_size=n_rows, max_size=n_rows))
    )
    if data.draw(st.booleans()):
        tree = gputree.DecisionTreeClassifier(
            max_features=data.draw(st.sampled_from([None, 2])),
            max_leaf_nodes=data.draw(st.sampled_from([None, 5])),
            nominal=data.draw(st.sampled_from(["subset", "multiway"])),
            missing=data.draw(st.sampled_from(["direction", "category", "fractional"])),
            random_state=1,
        )
    else:
        tree = gputree.DecisionTreeRegressor(
            splitter=data.draw(st.sampled_from(["best", "random"])),
            missing=data.draw(st.sampled_from(["direction", "surrogate"])),
            random_state=1,
        )
    arrays = (X, y, weight) if data.draw(st.booleans()) else (X, y)
    expected = clone(tree).fit(*arrays)
    found = cluster.fit(tree, parts_of(owner, n_ranks, *arrays), timeout=DEADLINE)
    assert found.to_bytes() == expected.to_bytes()
    assert (found.predict(X) == expected.predict(X)).all()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_long_columns_are_cut_alike(backend):
    """So many rows that buckets are counted, and crowded ones divided."""
    rng = np.random.default_rng(0)
    X = np.stack(
        [rng.normal(size=40_000), rng.uniform(1.0, 1.5, 40_000), rng.integers(0, 9, 40_000)]
    )
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.normal(size=40_000)
    tree = gputree.DecisionTreeRegressor(max_depth=4, backend=backend)
    expected = clone(tree).fit(X.T, y)
    assert spread_fit(tree, 3, X.T, y).to_bytes() == expected.to_bytes()


def test_categories_that_only_one_rank_has_seen_are_united_in_order():
    X = pd.DataFrame({"kind": ["b", "c", "a", "b", "d", "a"], "x": [1.0, 2, 3, 4, 5, 6]})
    y = np.array([0, 1, 0, 1, 1, 0])
    tree = gputree.DecisionTreeClassifier(categorical_features=["kind"])
    parts = [(X.iloc[at], y[at]) for at in ([1, 4], [0, 3], [2, 5])]
    found = cluster.fit(clone(tree), parts, timeout=DEADLINE)
    assert found.schema_.categories[0] == ("a", "b", "c", "d")
    assert found.to_bytes() == clone(tree).fit(X, y).to_bytes()
    # Declared ones that differ are sorted; those that all parts declare keep their order.
    own = [(part.astype({"kind": "category"}), target) for part, target in parts]
    assert cluster.fit(clone(tree), own, timeout=DEADLINE).to_bytes() == found.to_bytes()
    dtype = pd.CategoricalDtype(["d", "c", "b", "a"])
    own = [(part.astype({"kind": dtype}), target) for part, target in parts]
    declared = cluster.fit(clone(tree), own, timeout=DEADLINE)
    assert declared.to_bytes() == clone(tree).fit(X.astype({"kind": dtype}), y).to_bytes()


ENSEMBLES = {
    "drawn by weight": gputree.RandomForestClassifier(3, class_weight="balanced_subsample"),
    "a share of the rows": gputree.ExtraTreesRegressor(3, max_samples=0.5),
    "some columns": gputree.BaggingClassifier(
        gputree.CARTClassifier(pruning=None), 3, max_features=0.5
    ),
    "rounds of some rows": gputree.GradientBoostingClassifier(3, subsample=0.6, max_features=2),
    "early stopping": gputree.GradientBoostingRegressor(
        30, early_stopping=True, n_iter_no_change=2, min_samples_leaf=3
    ),
    "constraints": gputree.GradientBoostingRegressor(3, monotonic_cst=[1, 0, 0, -1]),
    "a least decrease": gputree.GradientBoostingRegressor(3, min_impurity_decrease=1e-3),
    "boosted classes": gputree.AdaBoostClassifier(n_estimators=4, learning_rate=0.7),
    "boosted weights": gputree.AdaBoostRegressor(
        gputree.DecisionTreeRegressor(max_depth=3), n_estimators=4, resample=False, loss="square"
    ),
    "boosted draws": gputree.AdaBoostRegressor(n_estimators=4),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("backend", [pytest.param("numba", marks=pytest.mark.thorough), "numpy"])
def test_draws_are_of_all_rows(name, backend):
    """Which rows are drawn, held out and left out does not depend on where they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], 300)
    estimator = clone(ENSEMBLES[name]).set_params(random_state=1)
    digests._on(estimator, backend)
    y = rng.integers(0, 3, 300) if is_classifier(estimator) else rng.normal(size=300)
    expected = clone(estimator).fit(X, y, weight)
    found = spread_fit(estimator, 4, X, y, weight)
    assert found.to_bytes() == expected.to_bytes()
    if name == "early stopping":
        assert found.n_iter_ < 30
        assert (found.validation_score_ == expected.validation_score_).all()


@pytest.mark.parametrize(
    "estimator",
    [
        gputree.RandomForestClassifier(12, oob_score=True, random_state=0),
        gputree.RandomForestRegressor(12, oob_score=True, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_rows_out_of_the_bag_are_those_of_all_ranks(estimator):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.normal(size=(150, 2))
    y = (y[:, 0] > 0).astype(int) if is_classifier(estimator) else y
    expected = clone(estimator).fit(X, y)
    found = spread_fit(estimator, 5, X, y)
    assert found.to_bytes() == expected.to_bytes()
    assert found.oob_score_ == expected.oob_score_
    assert found.oob_error_curve_.tolist() == expected.oob_error_curve_.tolist()
    name = "oob_decision_function_" if is_classifier(estimator) else "oob_prediction_"
    assert len(getattr(expected, name)) == 150
    with pytest.raises(AttributeError, match="which several ranks had"):
        getattr(found, name)


@pytest.mark.parametrize("few_rows", [0, agreed_quantiles.FEW_ROWS], ids=["counted", "told"])
@pytest.mark.parametrize("weights", [None, [0.0, 0.5, 1.0, 3.0], [0.0, 0.1, 0.3, 1.7]])
@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_leaves_look_at_the_residuals_of_all_ranks(monkeypatch, loss, weights, few_rows):
    """Bit by bit where weights can be counted, and otherwise in the hands of all."""
    monkeypatch.setattr(agreed_quantiles, "FEW_ROWS", few_rows)
    monkeypatch.setattr(agreed_quantiles, "CELLS", 2**9)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)).round(1), rng.normal(size=200).round(1)
    weight = () if weights is None else (rng.choice(weights, 200),)
    model = gputree.GradientBoostingRegressor(
        4, loss=loss, alpha=0.8, subsample=0.9, min_samples_leaf=2, random_state=0
    )
    expected = clone(model).fit(X, y, *weight)
    assert spread_fit(model, 5, X, y, *weight).to_bytes() == expected.to_bytes()


def test_rows_that_rounds_leave_out_are_those_of_all_ranks():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.normal(size=150)
    model = gputree.GradientBoostingRegressor(4, subsample=0.5, oob_score=True, random_state=0)
    expected = clone(model).fit(X, y)
    found = spread_fit(model, 5, X, y)
    assert found.to_bytes() == expected.to_bytes()
    assert found.oob_scores_.tolist() == expected.oob_scores_.tolist()


def test_rows_that_are_watched_may_be_spread():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.poisson(2.0, 150).astype(float)
    X_val, y_val = rng.normal(size=(40, 3)), rng.poisson(2.0, 40).astype(float)
    weight = rng.choice([0.0, 0.5, 2.0], 40)
    model = gputree.GradientBoostingRegressor(
        30, loss="poisson", early_stopping=True, n_iter_no_change=2
    )
    expected = clone(model).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    parts = parts_of(np.arange(150) % 3, 3, X, y)
    others = parts_of(np.arange(40) % 2, 2, X_val, y_val, weight)
    found = cluster.fit(model, parts, validation=others, timeout=DEADLINE)
    assert found.to_bytes() == expected.to_bytes()
    assert found.validation_score_.tolist() == expected.validation_score_.tolist()


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        gputree.DecisionTreeClassifier(max_depth=5),
        gputree.DecisionTreeRegressor(max_depth=5),
        gputree.GradientBoostingClassifier(2, max_depth=4),
        gputree.GradientBoostingRegressor(2, min_samples_leaf=5),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_kernels_sum_nodes_of_any_size(estimator, is_weighted, shares):
    """Large nodes have histograms, and small ones lists of rows, on each rank by its own rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)).round(2)
    y = rng.integers(0, 3, 3000) if is_classifier(estimator) else rng.normal(size=3000)
    arrays = (X, y, rng.choice([0.0, 0.5, 2.0], 3000)) if is_weighted else (X, y)
    estimator = clone(estimator).set_params(backend="numba", n_jobs=1)
    expected = clone(estimator).fit(*arrays)
    assert spread_fit(estimator, 2, *arrays).to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("n_ranks", [2, 5])
def test_ranks_draw_shares_of_the_numbers(n_ranks, monkeypatch):
    """Together as many as one who has all rows, but for those that are keyed by the rows here."""
    n_drawn = []
    original = sampling.drawn_with_replacement

    def drawn(seed, n, total, first=0):
        n_drawn.append(n - first)
        return original(seed, n, total, first)

    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(90, 2)), rng.integers(0, 2, 90), rng.integers(0, 3, 90) * 1.0
    forest = gputree.RandomForestClassifier(3, random_state=0)
    expected = clone(forest).fit(X, y, weight)
    monkeypatch.setattr(sampling, "drawn_with_replacement", drawn)
    assert spread_fit(forest, n_ranks, X, y, weight).to_bytes() == expected.to_bytes()
    assert len(n_drawn) == 3 * n_ranks
    assert sum(n_drawn) == 3 * weight.sum()


def test_equal_random_numbers_are_drawn_by_their_places():
    def task(n, comm):
        number = np.array([7, 3, 7, 7], np.uint64)
        return places.least(comm, number, np.arange(4) * 3 + comm.rank, n).tolist()

    for n, expected in [
        (2, [[False, True, False, False]] * 2 + [[False] * 4]),
        (4, [[True, True, False, False]] + [[False, True, False, False]] * 2),
        (12, [[True] * 4] * 3),
    ]:
        assert run_ranks([partial(task, n)] * 3, 10) == expected


def test_categories_without_weight_on_one_rank_count_where_another_has_some():
    """What rows hold, and with it which ones are drawn, goes by the numbers of categories."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=80), "kind": rng.choice(["a", "m", "z"], 80)})
    X["kind"] = X["kind"].astype("category")
    y, owner = rng.integers(0, 2, 80), np.arange(80) % 2
    weight = np.where((owner == 0) & (X["kind"] == "m"), 0.0, 1.0)
    forest = gputree.RandomForestClassifier(3, random_state=0)
    expected = clone(forest).fit(X, y, weight)
    parts = parts_of(owner, 2, X, y, weight)
    assert cluster.fit(forest, parts, timeout=DEADLINE).to_bytes() == expected.to_bytes()


def test_weights_of_classes_count_the_rows_of_all_ranks():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.choice(["few", "many"], 200, p=[0.1, 0.9])
    for options in (
        {"class_weight": "balanced"},
        {"class_weight": {"few": 3.0}},
        {"priors": "uniform"},
    ):
        tree = gputree.DecisionTreeClassifier(max_depth=4, **options)
        expected = clone(tree).fit(X, y)
        assert spread_fit(tree, 3, X, y).to_bytes() == expected.to_bytes()


def test_the_estimator_of_the_user_is_fitted_and_keeps_its_parameters():
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]}), np.array([0, 1, 0])
    tree = gputree.DecisionTreeClassifier(max_features=1)
    assert cluster.fit(tree, [(X, y), (X, y)]) is tree
    assert tree.random_state is None
    assert tree.fit_report_.n_rows == 2 * len(X)
    assert list(tree.feature_names_in_) == list(X.columns)


def test_what_looks_at_rows_of_others_is_refused_with_the_cure():
    X, y = np.zeros((4, 2)), np.arange(4)
    for estimator, cure in [
        (gputree.C45Classifier(), "pruning=None"),
        (gputree.CARTClassifier(validation_fraction=0.2, pruning=None), "set it to None"),
        (gputree.ObliqueTreeClassifier(), "single columns"),
        (gputree.RuleSetClassifier(), "on one machine"),
        (gputree.AdaBoostClassifier(gputree.C45Classifier()), "pruning=None"),
        (gputree.RandomForestClassifier(oob_score=np.dot), "use True"),
        (gputree.BaggingClassifier(gputree.C45Classifier()), "pruning=None"),
        (gputree.GradientBoostingRegressor(loss=np.dot), "name a loss"),
        (gputree.GradientBoostingRegressor(init=gputree.DecisionTreeRegressor()), "'zero'"),
    ]:
        with pytest.raises(ValueError, match=cure):
            cluster.fit(estimator, [(X, y)])


def test_parts_that_do_not_go_together_are_told_of():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    y = np.array([0, 1])
    tree = gputree.DecisionTreeClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other, problem in [
            ((X[["b", "a"]], y), "different columns"),
            ((X.astype({"a": str}).astype({"a": "category"}), y), "column 'a' is numeric in one"),
            ((X, y, np.ones(2)), "no sample_weight"),
            ((X, y[:1]), "inconsistent numbers"),
            ((X, None), "y to be passed"),
        ]:
            with pytest.raises(ValueError, match=problem):
                cluster.fit(tree, [(X, y), other], timeout=DEADLINE)
    with pytest.raises(ValueError, match="0 sample"):
        cluster.fit(tree, [(X[:0], y[:0]), (X[:0], y[:0])], timeout=DEADLINE)
