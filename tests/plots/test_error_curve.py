"""The error of an ensemble after each tree, from the fit or from rows."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import log_loss

from gputree import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    plot_error_curve,
)

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

X, Y = load_breast_cancer(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)
NEW, SEEN = slice(0, None, 4), slice(1, None, 2)


def axes():
    return Figure().subplots()


def curves(ax):
    return [each.get_ydata() for each in ax.lines if each.get_gid() == "errors"]


def test_a_forest_shows_its_errors_out_of_the_bag_and_marks_the_least():
    forest = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, Y)
    ax = plot_error_curve(forest, ax=axes())
    curve, least = ax.lines
    assert curve.get_xdata().tolist() == list(range(1, 41))
    assert curve.get_ydata().tolist() == forest.oob_error_curve_.tolist()
    assert curve.get_label() == "out of bag"
    at = int(forest.oob_error_curve_.argmin())
    assert least.get_xdata() == [at + 1]
    assert least.get_ydata() == [forest.oob_error_curve_[at]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("trees", "error rate")


def test_a_forest_that_is_given_rows_shows_their_errors():
    forest = RandomForestClassifier(5, random_state=0).fit(X[SEEN], Y[SEEN])
    (curve,) = curves(plot_error_curve(forest, X[NEW], Y[NEW], ax=axes()))
    assert len(curve) == 5
    assert curve[-1] == np.mean(forest.predict(X[NEW]) != Y[NEW])
    first = forest.estimators_[0].predict(X[NEW])
    assert curve[0] == np.mean(forest.classes_[first.astype(int)] != Y[NEW])


def test_numbers_have_a_mean_squared_error():
    for model in (
        BaggingRegressor(n_estimators=4, random_state=0),
        AdaBoostRegressor(random_state=0),
    ):
        model.fit(*NUMBERS)
        ax = plot_error_curve(model, *NUMBERS, ax=axes())
        (curve,) = curves(ax)
        expected = np.mean((model.predict(NUMBERS[0]) - NUMBERS[1]) ** 2)
        assert curve[-1] == pytest.approx(expected, rel=1e-12)
        assert ax.get_ylabel() == "mean squared error"


def test_adaboost_shows_the_errors_of_rows():
    model = AdaBoostClassifier(n_estimators=8).fit(X[SEEN], Y[SEEN])
    (curve,) = curves(plot_error_curve(model, X[NEW], Y[NEW], ax=axes()))
    known = [1.0 - score for score in model.staged_score(X[NEW], Y[NEW])]
    np.testing.assert_allclose(curve, known, atol=1e-15)


def test_gradient_boosting_shows_the_loss_of_validation_rows():
    model = GradientBoostingClassifier(10, max_depth=3)
    model.fit(X[SEEN], Y[SEEN], X_val=X[NEW], y_val=Y[NEW])
    ax = plot_error_curve(model, ax=axes())
    assert curves(ax)[0].tolist() == model.validation_score_.tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rounds", "mean loss (log loss)")
    assert ax.lines[0].get_label() == "validation rows"
    # The same rows, given afterwards, have the same losses.
    (again,) = curves(plot_error_curve(model, X[NEW], Y[NEW], ax=axes()))
    np.testing.assert_allclose(again, model.validation_score_, rtol=1e-12)


def test_curves_share_axes_in_colours_of_their_own():
    model = GradientBoostingClassifier(5).fit(X[SEEN], Y[SEEN])
    ax = plot_error_curve(model, X[SEEN], Y[SEEN], label="training", ax=axes())
    assert plot_error_curve(model, X[NEW], Y[NEW], label="other", ax=ax) is ax
    drawn = [each for each in ax.lines if each.get_gid() == "errors"]
    assert [each.get_label() for each in drawn] == ["training", "other"]
    assert drawn[0].get_color() != drawn[1].get_color()


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "huber"])
def test_the_staged_loss_of_the_training_falls(loss):
    model = GradientBoostingRegressor(8, loss=loss).fit(*NUMBERS)
    found = list(model.staged_loss(*NUMBERS))
    assert len(found) == 8
    assert (np.diff(found) < 0).all()


def half_square(model):
    X, y = NUMBERS
    return np.mean((model.predict(X) - y) ** 2) / 2


def test_the_staged_loss_is_the_deviance_and_minds_weights():
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(3).fit(X, y)
    weight = np.arange(150) % 3 + 1.0
    *_, found = model.staged_loss(X, y, weight)
    assert found == pytest.approx(log_loss(y, model.predict_proba(X), sample_weight=weight))
    squared = GradientBoostingRegressor(3).fit(*NUMBERS)
    *_, found = squared.staged_loss(*NUMBERS)
    assert found == pytest.approx(half_square(squared))


def test_a_loss_of_the_users_own_is_drawn_if_it_tells_itself():
    def squared(y, raw):
        return raw - y, np.ones_like(y)

    def told(y, raw):
        return *squared(y, raw), (raw - y) ** 2 / 2

    model = GradientBoostingRegressor(2, loss=squared).fit(*NUMBERS)
    with pytest.raises(ValueError, match=r"return the loss of each row as a third.*staged_predict"):
        plot_error_curve(model, *NUMBERS, ax=axes())
    model = GradientBoostingRegressor(2, loss=told).fit(*NUMBERS)
    ax = plot_error_curve(model, *NUMBERS, ax=axes())
    assert curves(ax)[0][-1] == pytest.approx(half_square(model))
    assert ax.get_ylabel() == "mean loss (of one's own)"


def test_staged_predictions_of_a_forest_end_with_its_own():
    forest = RandomForestClassifier(6, random_state=0).fit(X, Y)
    stages = list(forest.staged_predict(X))
    assert len(stages) == 6
    assert (stages[-1] == forest.predict(X)).all()
    bagging = BaggingRegressor(n_estimators=3, max_features=0.5, random_state=0).fit(*NUMBERS)
    *_, last = bagging.staged_predict(NUMBERS[0])
    assert last.tolist() == bagging.predict(NUMBERS[0]).tolist()


@pytest.mark.parametrize(
    ("model", "given", "error", "match"),
    [
        (RandomForestClassifier(2), {}, ValueError, "oob_score=True"),
        (GradientBoostingClassifier(2), {}, ValueError, "early_stopping=True"),
        (AdaBoostClassifier(n_estimators=2), {}, ValueError, "give X and y"),
        (RandomForestClassifier(2), {"X": X}, ValueError, "go together"),
        (RandomForestClassifier(2), {"X": X, "y": Y[:5]}, ValueError, r"y has shape \(5,\)"),
        (DecisionTreeClassifier(), {}, TypeError, "not an ensemble"),
    ],
)
def test_what_has_no_curve_is_refused(model, given, error, match):
    with pytest.raises(error, match=match):
        plot_error_curve(model.fit(X, Y), ax=axes(), **given)
