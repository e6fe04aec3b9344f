"""AdaBoost by hand, beside scikit-learn, and where it ends."""

import math

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from gputree import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    sampling,
)
from gputree.ensembles import adaboost_rounds
from gputree.ensembles.draws import ContentOrder

STUMP = DecisionTreeClassifier(criterion="error", max_depth=1)


def in_order(growing):
    """Rows as they are, instead of by what they hold."""
    return ContentOrder.alone(np.arange(growing.dataset.n_rows))


def test_ten_rows_by_hand():
    """Stumps by error. Rows 0..9, classes + + + - - - + + + -.

    Tree 1 cuts at 2.5 and is wrong on 6, 7, 8: e = 3/10, say ln(7/3). Their weights become 1/6
    each, those of the others 1/14. Tree 2 cuts at 8.5, wrong on 3, 4, 5: e = 3/14, say ln(11/3).
    Weights: 1/6 (3, 4, 5), 7/66 (6, 7, 8), 1/22 (0, 1, 2, 9). Tree 3 cuts at 5.5, wrong on
    0, 1, 2, 9: e = 4/22, say ln(9/2). Together they are right everywhere.
    """
    X, y = np.arange(10.0)[:, None], np.array(list("+++---+++-"))
    model = AdaBoostClassifier(STUMP, n_estimators=3).fit(X, y)
    assert [tree.nodes_.threshold[0] for tree in model.estimators_] == [2.5, 8.5, 5.5]
    assert model.estimator_errors_ == pytest.approx([3 / 10, 3 / 14, 4 / 22], rel=1e-12)
    said = [math.log(7 / 3), math.log(11 / 3), math.log(9 / 2)]
    assert model.estimator_weights_ == pytest.approx(said, rel=1e-12)
    # classes_ are '+' and '-': row 0 hears +, +, - from the trees.
    first = (-said[0] - said[1] + said[2]) / sum(said)
    assert model.decision_function(X)[0] == pytest.approx(2 * first, rel=1e-12)
    assert model.predict(X).tolist() == y.tolist()
    assert list(model.staged_score(X, y)) == [0.7, 0.7, 1.0]


def test_six_rows_of_a_regression_by_hand():
    """Targets 0 0 1 4 4 4; a stump cuts after the third: means 1/3 and 4.

    Errors 1/3, 1/3, 2/3, 0, 0, 0 are losses 1/2, 1/2, 1, 0, 0, 0 of the largest, in the mean
    L = 1/3, so b = 1/2 and the say is ln 2. The weights become √½, √½, 1, ½, ½, ½: the second stump
    cuts there again, with the mean 1 / (1 + √2) = 0.414 on the left. Its losses √½, √½, 1 have the
    mean 2 / (2.5 + √2) = 0.511, no better than chance: one tree remains.
    """
    X, y = np.arange(6.0)[:, None], [0.0, 0.0, 1.0, 4.0, 4.0, 4.0]
    stump = DecisionTreeRegressor(max_depth=1)
    model = AdaBoostRegressor(stump, resample=False).fit(X, y)
    assert model.estimator_errors_ == pytest.approx([1 / 3], rel=1e-12)
    assert model.estimator_weights_ == pytest.approx([math.log(2)], rel=1e-12)
    assert model.predict(X) == pytest.approx([1 / 3] * 3 + [4.0] * 3)
    # Squared losses 1/4, 1/4, 1 have the mean 1/4; 1 - exp(-loss) is in between.
    by_loss = {
        loss: AdaBoostRegressor(stump, resample=False, n_estimators=1, loss=loss).fit(X, y)
        for loss in ("square", "exponential")
    }
    assert by_loss["square"].estimator_errors_ == pytest.approx([1 / 4])
    mean = (2 * (1 - math.exp(-0.5)) + 1 - math.exp(-1)) / 6
    assert by_loss["exponential"].estimator_errors_ == pytest.approx([mean])


@pytest.fixture
def draws_at(monkeypatch):
    """Lets each tree draw the rows at given shares of the weight, which lies in the rows' order."""

    def fix(*shares):
        def drawn(tree, n, total):
            assert len(shares[tree]) == n
            return np.floor(np.array(shares[tree]) * total).astype(np.int64)

        monkeypatch.setattr(sampling, "tree_seed", lambda seed, tree: tree)
        monkeypatch.setattr(sampling, "drawn_with_replacement", drawn)
        monkeypatch.setattr(adaboost_rounds, "content_order", in_order)

    return fix


def test_ten_rows_drawn_by_weight_by_hand(draws_at):
    """The rows of the first example; trees are grown on what is drawn and judged by all rows.

    Tree 1 draws 3, 4, 5, 9 once and 6, 7, 8 twice: it cuts at 5.5, - before +, and is wrong on
    0, 1, 2, 9: e = 4/10, say ln(3/2). Their weights become 1/8, those of the others 1/12, so the
    weight up to each row is 3, 6, 9, 11, 13, 15, 17, 19, 21, 24 of 24. Tree 2 draws 0, 1, 1, 2, 3,
    4, 6, 7, 8, 9 and cuts at 8.5, wrong on 3 and 4 of these, and on 3, 4, 5 of all: e = 3/12, say
    ln 3.
    """
    X, y = np.arange(10.0)[:, None], np.array(list("+++---+++-"))
    draws_at(
        [0.35, 0.45, 0.55, 0.65, 0.65, 0.75, 0.75, 0.85, 0.85, 0.95],
        [0.04, 0.14, 0.24, 0.34, 0.44, 0.54, 0.64, 0.74, 0.84, 0.94],
    )
    model = AdaBoostClassifier(STUMP, n_estimators=2, resample=True).fit(X, y)
    assert [tree.nodes_.threshold[0] for tree in model.estimators_] == [5.5, 8.5]
    assert [tree.tree_.weight[0] for tree in model.estimators_] == [10, 10]
    assert model.estimator_errors_ == pytest.approx([4 / 10, 3 / 12], rel=1e-12)
    assert model.estimator_weights_ == pytest.approx([math.log(3 / 2), math.log(3)], rel=1e-12)
    # Row 0 hears - from the first tree and + from the second; ln 3 is more than ln 3/2.
    said = 2 * (math.log(3 / 2) - math.log(3)) / math.log(9 / 2)
    assert model.decision_function(X)[0] == pytest.approx(said, rel=1e-12)
    assert "".join(model.predict(X)) == "+++++++++-"


def test_six_rows_of_a_regression_drawn_by_weight_by_hand(draws_at):
    """Targets 0 0 1 4 4 4 (AdaBoost.R2).

    Tree 1 draws rows 0, 0, 1, 2, 3, 4 and cuts at 2.5: means 1/4 and 4. Errors 1/4, 1/4, 3/4, 0,
    0, 0 are losses 1/3, 1/3, 1, 0, 0, 0 of the largest, in the mean L = 5/18, so b = 5/13 and the
    say is ln(13/5). The weights become c, c, 1, b, b, b with c = b ** (2/3) = 0.529, a sum of
    3.211; up to each row 0.165, 0.329, 0.641, 0.760, 0.880, 1. Tree 2 draws rows 0, 1, 2, 2, 2, 5
    and cuts at 3.5: means 3/5 and 4. It errs by 0.6, 0.6, 0.4, 3.4, 0, 0: losses 3/17, 3/17, 2/17,
    1, 0, 0, in the mean 0.2145. It has the larger say, so it is the median everywhere.
    """
    X, y = np.arange(6.0)[:, None], [0.0, 0.0, 1.0, 4.0, 4.0, 4.0]
    draws_at([0.1, 0.15, 0.2, 0.4, 0.6, 0.8], [0.05, 0.2, 0.4, 0.5, 0.6, 0.9])
    model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=1), n_estimators=2).fit(X, y)
    assert [tree.nodes_.threshold[0] for tree in model.estimators_] == [2.5, 3.5]
    b, c = 5 / 13, (5 / 13) ** (2 / 3)
    second = (2 * c * 3 / 17 + 2 / 17 + b) / (2 * c + 1 + 3 * b)
    assert second == pytest.approx(0.2145, abs=1e-4)
    assert model.estimator_errors_ == pytest.approx([5 / 18, second], rel=1e-12)
    said = [math.log(13 / 5), math.log((1 - second) / second)]
    assert model.estimator_weights_ == pytest.approx(said, rel=1e-12)
    assert model.predict(X) == pytest.approx([0.6] * 4 + [4.0] * 2, rel=1e-12)
    first, _ = model.staged_predict(X)
    assert first == pytest.approx([0.25] * 3 + [4.0] * 3, rel=1e-12)


def test_three_classes_by_hand():
    """SAMME on rows 0..5 of classes a a b b c c, by a stump: one class is out of its reach.

    It cuts at 1.5 and says b to b and c alike: wrong on two rows, e = 1/3, better than the 2/3 of
    chance, and the say is ln 2 + ln 2. The rows of c weigh 4 times the others then, 1/3 each
    beside 1/12: the second stump cuts at 1.5 again (3.5 is as good), says c above, and is wrong on
    b: e = 2/12, say ln 5 + ln 2.
    """
    X, y = np.arange(6.0)[:, None], list("aabbcc")
    model = AdaBoostClassifier(STUMP, n_estimators=2).fit(X, y)
    assert model.estimator_errors_ == pytest.approx([1 / 3, 1 / 6], rel=1e-12)
    assert model.estimator_weights_ == pytest.approx([math.log(4), math.log(10)], rel=1e-12)
    assert [tree.nodes_.threshold[0] for tree in model.estimators_] == [1.5, 1.5]
    assert model.predict(X).tolist() == list("aacccc")
    # The last row: c has the say of tree 2 and half of that of tree 1 against it.
    said = (math.log(10) - math.log(4) / 2) / math.log(40)
    assert model.decision_function(X)[5, 2] == pytest.approx(said, rel=1e-12)


@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_iris_is_boosted_as_by_scikit_learn(learning_rate):
    """Stumps differ in thresholds that divide the rows alike."""
    X, y = load_iris(return_X_y=True)
    options = {"n_estimators": 12, "learning_rate": learning_rate}
    ours = AdaBoostClassifier(**options).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostClassifier(**options, random_state=0).fit(X, y)
    agree_with(ours, theirs, X)


def test_breast_cancer_is_boosted_as_by_scikit_learn():
    """Every value has a bin. The first two columns alone leave no ties among stumps."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :2]
    ours = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, max_bins=600), n_estimators=10)
    theirs = sklearn.ensemble.AdaBoostClassifier(n_estimators=10, random_state=0)
    agree_with(ours.fit(X, y), theirs.fit(X, y), X)


def agree_with(ours, theirs, X):
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    for one, other in zip(
        ours.staged_decision_function(X), theirs.staged_decision_function(X), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-9)
    for one, other in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_perfect_tree_ends_the_boosting():
    model = AdaBoostClassifier(n_estimators=9).fit([[0], [1], [2]], [0, 1, 1])
    assert len(model.estimators_) == 1
    assert model.estimator_errors_.tolist() == [0.0]
    assert model.estimator_weights_.tolist() == [1.0]
    exact = AdaBoostRegressor(resample=False).fit([[0], [1], [2]], [0.0, 1.0, 1.0])
    assert exact.predict([[0], [1]]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("learning_rate", [23.0, 400.0])
def test_weights_that_become_infinite_end_the_boosting(learning_rate):
    """At 400 the factor of one tree alone is more than a float can hold."""
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30, learning_rate=learning_rate)
    with pytest.warns(UserWarning, match="Sample weights have reached infinite values after"):
        model.fit(X, y)
    assert len(model) < 30
    assert np.isfinite(model.estimator_weights_).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_a_first_tree_no_better_than_chance_is_refused():
    X, y = [[0], [0], [0], [0]], [0, 1, 0, 1]
    with pytest.raises(ValueError, match="estimator: the first tree is not better than chance"):
        AdaBoostClassifier().fit(X, y)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_drawing_rows_by_weight_does_about_as_well_as_weighing_them(load):
    X, y = load(return_X_y=True)
    weighed = AdaBoostClassifier(n_estimators=10).fit(X[::2], y[::2])
    drawn = AdaBoostClassifier(n_estimators=10, resample=True, random_state=0)
    drawn.fit(X[::2], y[::2])
    assert drawn.to_bytes() != weighed.to_bytes()
    assert abs(drawn.score(X[1::2], y[1::2]) - weighed.score(X[1::2], y[1::2])) < 0.06


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_numbers_are_predicted_about_as_well_as_by_scikit_learn(loss):
    X, y = load_diabetes(return_X_y=True)
    scores = [
        np.mean(
            [
                kind(loss=loss, n_estimators=15, random_state=seed)
                .fit(X[::2], y[::2])
                .score(X[1::2], y[1::2])
                for seed in range(3)
            ]
        )
        for kind in (AdaBoostRegressor, sklearn.ensemble.AdaBoostRegressor)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.06)


def test_the_median_is_that_of_the_says():
    X, y = load_diabetes(return_X_y=True)
    model = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    every = np.stack([tree.predict(X[:9]) for tree in model.estimators_], axis=1)
    for row, found in zip(every, model.predict(X[:9]), strict=True):
        below = model.estimator_weights_[row < found].sum()
        above = model.estimator_weights_[row > found].sum()
        assert max(below, above) <= model.estimator_weights_.sum() / 2


def test_rows_without_weight_have_no_say():
    X, y = load_iris(return_X_y=True)
    weight = (np.arange(150) % 3 > 0).astype(float)
    inside = weight > 0
    for resample in (False, True):
        options = {"n_estimators": 4, "resample": resample, "random_state": 0}
        some = AdaBoostClassifier(**options).fit(X, y, weight)
        without = AdaBoostClassifier(**options).fit(X[inside], y[inside])
        np.testing.assert_allclose(some.estimator_weights_, without.estimator_weights_, rtol=1e-9)
        np.testing.assert_array_equal(some.predict(X), without.predict(X))


def test_any_tree_can_be_boosted():
    X, y = load_iris(return_X_y=True)
    X = X.copy()
    X[::7, 2] = np.nan
    tree = CARTClassifier(max_depth=2, pruning=None)
    model = AdaBoostClassifier(tree, n_estimators=3).fit(X, y)
    assert isinstance(model.estimators_[0], CARTClassifier)
    assert model.estimators_[0].tree_.n_surrogates.any()
    assert model.score(X, y) > 0.9
    plain, pruned = (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=4, ccp_alpha=alpha), n_estimators=1)
        for alpha in (0.0, 0.02)
    )
    n_leaves = [each.fit(X, y).estimators_[0].get_n_leaves() for each in (plain, pruned)]
    assert n_leaves[1] < n_leaves[0]
