"""Scores are those of scikit-learn, and intervals hold what they promise."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_diabetes, load_iris

from gputree import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.report.answers import UNSEEN, ClassAnswers, NumberAnswers
from gputree.report.curves import class_curves, confusion
from gputree.report.intervals import delong, of_mean, wilson
from gputree.report.scores import class_scores, number_scores


def answers_of(n_rows, n_classes, seed=0):
    draws = np.random.default_rng(seed)
    true = draws.integers(n_classes, size=n_rows)
    share = draws.dirichlet(np.ones(n_classes), n_rows) + 0.7 * np.eye(n_classes)[true]
    share = (share / share.sum(axis=1, keepdims=True)).round(2)  # rounded: scores with ties
    share[:, -1] = 1.0 - share[:, :-1].sum(axis=1)
    names = tuple(f"class {at}" for at in range(n_classes))
    return ClassAnswers(names, true, share.argmax(axis=1), share)


def by_name(scores):
    return {score["name"]: score for score in scores}


def test_scores_of_two_classes():
    found = answers_of(500, 2)
    scores = by_name(class_scores(found))
    true, said, share = found.true, found.said, found.share
    for name, expected in {
        "Accuracy": metrics.accuracy_score(true, said),
        "Balanced accuracy": metrics.balanced_accuracy_score(true, said),
        "F1, macro": metrics.f1_score(true, said, average="macro"),
        "ROC AUC": metrics.roc_auc_score(true, share[:, 1]),
        "Average precision": metrics.average_precision_score(true, share[:, 1]),
        "Log loss": metrics.log_loss(true, np.clip(share, 1e-15, 1)),
        "Brier score": metrics.brier_score_loss(true, share[:, 1]),
    }.items():
        assert scores[name]["value"] == pytest.approx(expected, abs=1e-5), name
        assert scores[name]["low"] < scores[name]["value"] < scores[name]["high"]
        assert scores[name]["method"]


def test_scores_of_several_classes():
    found = answers_of(400, 4)
    scores = by_name(class_scores(found))
    area = metrics.roc_auc_score(found.true, found.share, multi_class="ovr")
    assert scores["ROC AUC, macro"]["value"] == pytest.approx(area, abs=1e-5)
    assert scores["ROC AUC, macro"]["low"] < area < scores["ROC AUC, macro"]["high"]


def test_scores_of_numbers():
    draws = np.random.default_rng(0)
    true = draws.normal(size=(300, 2))
    said = true + draws.normal(size=(300, 2)) / 2
    scores = by_name(number_scores(NumberAnswers(true, said)))
    assert scores["R²"]["value"] == pytest.approx(metrics.r2_score(true, said), abs=1e-5)
    mse = metrics.mean_squared_error(true, said)
    assert scores["RMSE"]["value"] == pytest.approx(mse**0.5, abs=1e-5)
    assert scores["MAE"]["value"] == pytest.approx(
        metrics.mean_absolute_error(true, said), abs=1e-5
    )
    assert all(score["low"] < score["value"] < score["high"] for score in scores.values())


def test_wilson_of_a_worked_example():
    found = wilson(8, 10)
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(10, 10).high == 1.0
    assert wilson(10, 10).low < 1.0


@pytest.mark.parametrize("n_rows", [60, 400])
def test_about_95_of_100_intervals_hold_the_truth(n_rows):
    """Two normal distributions one apart: the area is Phi(1 / sqrt 2), the first mean 0."""
    draws = np.random.default_rng(1)
    is_positive = np.arange(n_rows) < n_rows // 2
    held = np.zeros(2)
    for _ in range(400):
        score = draws.normal(size=n_rows) + is_positive
        area, mean = delong(score, is_positive), of_mean(score[~is_positive])
        held += [area.low <= 0.76025 <= area.high, mean.low <= 0.0 <= mean.high]
    assert ((held / 400 > 0.91) & (held / 400 < 0.985)).all()


def test_curves_are_those_of_scikit_learn():
    found = answers_of(150, 2)
    (line,) = class_curves(found)["roc"]
    x, y, _ = metrics.roc_curve(found.true, found.share[:, 1], drop_intermediate=False)
    np.testing.assert_allclose(line["x"], x, atol=1e-3)
    np.testing.assert_allclose(line["y"], y, atol=1e-3)
    (line,) = class_curves(found)["precision_recall"]
    precision, recall, _ = metrics.precision_recall_curve(found.true, found.share[:, 1])
    # scikit-learn leaves out scores below the last positive row.
    n = len(recall)
    np.testing.assert_allclose(line["x"][1:n], recall[::-1][1:n], atol=1e-3)
    np.testing.assert_allclose(line["y"][1:n], precision[::-1][1:n], atol=1e-3)


def test_calibration_counts_all_rows_once():
    (line,) = class_curves(answers_of(333, 2))["calibration"]
    assert sum(line["n"]) == 333
    assert all(
        low <= y <= high for low, y, high in zip(line["low"], line["y"], line["high"], strict=True)
    )


def test_rare_classes_stand_together_where_there_are_many():
    found = answers_of(3000, 40)
    table = confusion(found)
    assert len(table["columns"]) == 20
    assert table["columns"][-1] == "all others"
    assert np.sum(table["count"]) == 3000


def test_a_class_that_was_not_in_training_counts_as_wrong():
    found = answers_of(100, 3)
    true = np.where(np.arange(100) < 10, UNSEEN, found.true)
    other = ClassAnswers(found.names, true, found.said, found.share)
    hits = int((found.true == found.said)[10:].sum())
    assert by_name(class_scores(other))["Accuracy"]["value"] == pytest.approx(hits / 100)
    table = confusion(other)
    assert table["rows"][-1] == "not in training"
    assert sum(table["count"][-1]) == 10


def test_rows_that_may_be_those_of_the_training_are_marked():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y)
    assert tree.report(X, y).data["same_size"]
    assert not tree.report(X[1:], y[1:]).data["same_size"]


def test_errors_say_what_is_wrong_with_y():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="no label that the model knows"):
        tree.report(X, y + 10)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        tree.report(X, y[:-1])
    X, y = load_diabetes(return_X_y=True)
    numbers = DecisionTreeRegressor(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="2 outputs"):
        numbers.report(X, np.stack([y, y], axis=1))
