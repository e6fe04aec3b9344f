"""Forests: accuracy, out-of-bag estimates, importances, proximities, quantiles."""

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.metrics import balanced_accuracy_score

import gputree
from gputree import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def noisy(n_rows, seed=0):
    """Column 0 matters most, column 1 a little, column 2 not at all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, 3 * X[:, 0] + X[:, 1] + rng.normal(size=n_rows)


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees"])
@pytest.mark.parametrize(
    ("task", "load", "step", "within"),
    [
        ("Classifier", load_breast_cancer, 1, 0.03),
        ("Classifier", load_digits, 6, 0.07),
        ("Regressor", load_diabetes, 2, 0.12),
    ],
)
def test_a_forest_is_about_as_good_as_scikit_learns(name, task, load, step, within):
    X, y = load(return_X_y=True)
    X, y = X[::step], y[::step]
    score = {
        library: np.mean(
            [
                getattr(library, name + task)(n_estimators=8, random_state=seed)
                .fit(X[::2], y[::2])
                .score(X[1::2], y[1::2])
                for seed in range(2)
            ]
        )
        for library in (gputree, sklearn.ensemble)
    }
    assert score[gputree] == pytest.approx(score[sklearn.ensemble], abs=within)


def test_the_out_of_bag_error_is_near_that_of_new_rows():
    X, y = CANCER
    forest = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X[::2], y[::2])
    # 285 rows each: the standard errors of two shares near 0.05 give 0.018 together.
    assert forest.oob_score_ == pytest.approx(forest.score(X[1::2], y[1::2]), abs=0.04)
    numbers = RandomForestRegressor(20, oob_score=True, random_state=0)
    X, y = noisy(400)
    numbers.fit(X[:200], y[:200])
    assert numbers.oob_score_ == pytest.approx(numbers.score(X[200:], y[200:]), abs=0.05)


@pytest.mark.parametrize("name", ["Bagging", "RandomForest", "ExtraTrees"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_out_of_bag_error_is_that_of_new_rows_within_sampling_noise(name, seed):
    """Means of 400 losses each, so three standard errors of their difference are the bound."""
    X, y = noisy(800, seed)
    train, new = slice(400), slice(400, 800)
    options = {"n_estimators": 40, "bootstrap": True, "oob_score": True, "random_state": seed}
    numbers = getattr(gputree, name + "Regressor")(**options).fit(X[train], y[train])
    losses = (numbers.oob_prediction_ - y[train]) ** 2, (numbers.predict(X[new]) - y[new]) ** 2
    assert numbers.oob_error_curve_[-1] == pytest.approx(losses[0].mean())
    agree_within_noise(*losses)
    label = np.digitize(y, [-2, 2])
    classes = getattr(gputree, name + "Classifier")(**options).fit(X[train], label[train])
    losses = (
        classes.oob_decision_function_.argmax(axis=1) != label[train],
        classes.predict(X[new]) != label[new],
    )
    assert classes.oob_error_curve_[-1] == pytest.approx(losses[0].mean())
    agree_within_noise(*losses)
    seen = classes.predict(X[train]) != label[train]
    assert seen.mean() < losses[0].mean() / 3  # rows that trees have seen say nothing


def agree_within_noise(ours, theirs):
    noise = np.sqrt(ours.var() / len(ours) + theirs.var() / len(theirs))
    assert abs(ours.mean() - theirs.mean()) < 3 * noise


@pytest.mark.parametrize("bootstrap", [True, False])
def test_out_of_bag_predictions_are_those_of_trees_that_have_not_seen_the_row(bootstrap):
    X, y = IRIS
    forest = RandomForestClassifier(
        20, bootstrap=bootstrap, max_samples=0.6, oob_score=True, random_state=0
    ).fit(X, y)
    total, n = np.zeros((150, 3)), np.zeros(150)
    curve = []
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        outside = np.setdiff1d(np.arange(150), rows)
        total[outside] += tree.predict_proba(X[outside])
        n[outside] += 1
        has = n > 0
        curve.append(np.mean(total[has].argmax(axis=1) != y[has]))
    np.testing.assert_allclose(forest.oob_decision_function_, total / n[:, None])
    np.testing.assert_allclose(forest.oob_error_curve_, curve)
    assert forest.oob_score_ == pytest.approx(1 - curve[-1])


def test_out_of_bag_by_a_score_of_ones_own_and_rows_without_any():
    X, y = IRIS
    forest = RandomForestClassifier(20, oob_score=balanced_accuracy_score, random_state=0)
    said = forest.fit(X, y).oob_decision_function_.argmax(axis=1)
    assert forest.oob_score_ == balanced_accuracy_score(y, said)
    with pytest.warns(UserWarning, match="use more trees"):
        few = RandomForestRegressor(2, oob_score=True, random_state=0).fit(*DIABETES)
    assert np.isnan(few.oob_prediction_).any()


def test_shuffling_the_column_that_matters_costs_most():
    X, y = noisy(200)
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    found = forest.permutation_importances_oob(X, y, n_repeats=2)
    assert found.importances.shape == (3, 10)
    first, second, third = found.importances_mean
    assert first > 5 * second > 0
    # A shuffled column of variance 1 with the factor 3 adds about 2 * 9 to the squared error.
    assert first == pytest.approx(18, rel=0.3)
    assert abs(third) < 0.3
    again = forest.permutation_importances_oob(X, y, n_repeats=2)
    np.testing.assert_array_equal(found.importances, again.importances)


def test_permutation_importances_by_hand():
    """One column decides all: shuffled, rows keep their class only by chance."""
    X = np.arange(60.0)[:, None] % 2
    y = X[:, 0].astype(int)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    found = forest.permutation_importances_oob(X, y)
    # Half of the pairs differ: an error of 1/2 on about 22 rows a tree, each tree +- 0.1.
    assert found.importances[0] == pytest.approx([0.5] * 3, abs=0.35)
    with pytest.raises(ValueError, match="the 60 rows of the training are needed"):
        forest.permutation_importances_oob(X[:5], y[:5])


def test_proximities_are_shares_of_trees():
    X, y = IRIS
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    found = forest.proximity(X[:20])
    leaf = forest.apply(X[:20])
    by_hand = [[np.mean(a == b) for b in leaf] for a in leaf]
    np.testing.assert_array_equal(found, by_hand)
    assert (np.diag(found) == 1).all()
    with pytest.raises(ValueError, match="give a sample of the rows"):
        forest.proximity(np.zeros((5001, 4)))


@pytest.mark.parametrize("weighed", [False, True])
def test_quantiles_are_those_of_the_forest_weights(weighed):
    X, y = DIABETES
    X, y = X[:80], y[:80]
    weight = np.arange(80) % 3 + 0.5 if weighed else np.ones(80)
    forest = RandomForestRegressor(6, min_samples_leaf=4, keep_targets=True, random_state=0)
    forest.fit(X, y, weight if weighed else None)
    train, asked = forest.apply(X), forest.apply(X[:7])
    levels = [0.0, 0.25, 0.5, 0.9, 1.0]
    found = forest.predict_quantile(X[:7], levels)
    for row, leaf in enumerate(asked):
        share = np.zeros(80)
        for tree in range(6):
            together = train[:, tree] == leaf[tree]
            share[together] += weight[together] / weight[together].sum() / 6
        order = np.argsort(y, kind="stable")
        order = order[share[order] > 0]
        reached = np.cumsum(share[order])
        by_hand = [y[order][np.argmax(reached >= q - 1e-9)] for q in levels]
        assert found[row].tolist() == by_hand
    np.testing.assert_array_equal(forest.predict_quantile(X[:7], 0.5), found[:, 2])
    assert (np.diff(found, axis=1) >= 0).all()


def test_quantiles_cover_new_rows_as_often_as_they_say():
    X, y = noisy(900)
    forest = RandomForestRegressor(20, min_samples_leaf=10, keep_targets=True, random_state=0)
    low, high = forest.fit(X[:600], y[:600]).predict_quantile(X[600:], [0.1, 0.9]).T
    assert np.mean((y[600:] >= low) & (y[600:] <= high)) == pytest.approx(0.85, abs=0.1)


def test_importances_are_the_mean_of_the_trees():
    forest = RandomForestClassifier(4, random_state=0).fit(*IRIS)
    mean = np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, mean / mean.sum())


def test_paths_lead_to_the_leaves():
    X = IRIS[0][:9]
    forest = RandomForestClassifier(3, random_state=0).fit(*IRIS)
    paths, begin = forest.decision_path(X)
    assert begin.tolist() == np.cumsum([0, *(t.tree_.n_nodes for t in forest.estimators_)]).tolist()
    for at, tree in enumerate(forest.estimators_):
        own = paths[:, begin[at] : begin[at + 1]]
        np.testing.assert_array_equal(own.toarray(), tree.decision_path(X).toarray())


def test_balanced_samples():
    """Each class weighs a third of every sample."""
    X, y = IRIS
    some = np.r_[0:50, 50:70, 100:110]
    forest = RandomForestClassifier(4, class_weight="balanced_subsample", random_state=0)
    forest.fit(X[some], y[some])
    for tree in forest.estimators_:
        share = tree.nodes_.value[0] / tree.nodes_.value[0].sum()
        assert share == pytest.approx([1 / 3] * 3, rel=1e-9)
    by_weight = RandomForestClassifier(20, class_weight="balanced", random_state=0)
    by_weight.fit(X[some], y[some])
    drawn = np.bincount(y[some][np.concatenate(by_weight.estimators_samples_)])
    assert drawn / drawn.sum() == pytest.approx([1 / 3] * 3, abs=0.05)


def test_min_samples_leaf_counts_rows_not_draws():
    forest = RandomForestClassifier(3, min_samples_leaf=7, random_state=0).fit(*IRIS)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        different = np.unique(rows)
        n = np.bincount(tree.apply(IRIS[0][different]))
        assert n[n > 0].min() >= 7


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
@pytest.mark.parametrize("missing", ["direction", "category", "fractional", "surrogate"])
def test_categories_and_missing_values_pass_through(name, missing):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    colour = rng.choice(list("abcdef"), 120)
    size = rng.normal(size=120)
    y = (np.isin(colour, list("ace")) ^ (size > 1)).astype(int)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": size})
    frame.loc[::9, "size"] = np.nan
    frame.loc[::11, "colour"] = None
    forest = getattr(gputree, name)(5, missing=missing, max_features=None, random_state=0)
    forest.fit(frame, y)
    assert forest.score(frame, y) > 0.9
    assert forest.feature_names_in_.tolist() == ["colour", "size"]
    new = frame.assign(colour=pd.Categorical(["nobody has seen it"] * 120))
    assert np.isfinite(forest.predict_proba(new)).all()


def test_extra_trees_draw_their_thresholds():
    """On one column, thresholds of the root lie anywhere between the values, not at the best."""
    X, y = np.arange(100.0)[:, None], (np.arange(100) >= 50).astype(float)
    roots = [
        tree.nodes_.threshold[0]
        for tree in ExtraTreesRegressor(40, max_depth=1, random_state=0).fit(X, y).estimators_
    ]
    # Uniform between 0 and 99: mean 49.5, standard deviation 28.6, so the mean's is 4.5.
    assert np.mean(roots) == pytest.approx(49.5, abs=14)
    assert np.std(roots) == pytest.approx(28.6, rel=0.3)
    skewed = ExtraTreesRegressor(40, max_depth=1, random_state=0).fit(np.exp(X / 10), y)
    # Uniform in value, not in rank: half of the thresholds are above exp(9.9) / 2, or row 92.
    assert np.median([tree.nodes_.threshold[0] for tree in skewed.estimators_]) > np.exp(8.5)


def test_a_random_tree_alone_is_one_of_extra_trees():
    X, y = IRIS
    tree = DecisionTreeClassifier(splitter="random", random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    other = DecisionTreeClassifier(splitter="random", random_state=1).fit(X, y)
    assert tree.to_bytes() != other.to_bytes()
    assert ExtraTreesClassifier(1).fit(X, y).estimators_[0].splitter == "random"


def test_an_ensemble_is_a_sequence_of_its_trees():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    assert len(forest) == 3
    assert [tree.to_bytes() for tree in forest] == [forest[at].to_bytes() for at in range(3)]
    assert forest[-1].to_bytes() == forest.estimators_[2].to_bytes()


@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_tree_that_is_fitted_again_on_its_rows_is_the_same(bootstrap):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], y[:200]
    forest = RandomForestClassifier(2, max_features=3, bootstrap=bootstrap, random_state=1)
    forest.fit(X, y)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        again = clone(tree).fit(X[rows], y[rows])
        np.testing.assert_allclose(again.tree_.value, tree.tree_.value)
    assert forest.estimators_[1:][0].random_state == forest.estimators_[1].random_state
