"""What early stopping looks at, and when."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import mean_gamma_deviance, mean_tweedie_deviance, roc_auc_score

import gputree
from gputree import Dataset, GradientBoostingClassifier, GradientBoostingRegressor

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
QUICK = {"max_depth": 2, "learning_rate": 0.5, "random_state": 0}


def halves(X, y):
    is_first = np.arange(len(y)) % 2 == 0
    return X[is_first], y[is_first], X[~is_first], y[~is_first]


def test_scores_are_those_of_the_model_after_each_round():
    X, y, X_val, y_val = halves(*CANCER)
    labels = np.array(["no", "yes"])  # a scorer is shown labels, not their numbers
    model = GradientBoostingClassifier(
        8, early_stopping=True, scoring="roc_auc", n_iter_no_change=8, **QUICK
    ).fit(X, labels[y], X_val=X_val, y_val=labels[y_val])
    score = model.validation_score_
    assert model.n_iter_ == score.argmax() + 1
    staged = [roc_auc_score(y_val, each[:, 1]) for each in model.staged_predict_proba(X_val)]
    assert staged == pytest.approx(score[: model.n_iter_])


def test_a_function_is_shown_the_rows_that_are_held_out():
    X, y = DIABETES
    seen = []

    def score(model, X, y):
        seen.append((X, y))
        return -np.abs(model.predict(X) - y).mean()

    model = GradientBoostingRegressor(3, early_stopping=True, scoring=score, **QUICK).fit(X, y)
    rows = {(*row, target) for row, target in zip(X.tolist(), y.tolist(), strict=True)}
    assert len(seen) == 3
    for some, target in seen:
        assert len(target) == round(0.1 * len(y))
        assert {(*r, t) for r, t in zip(some.tolist(), target.tolist(), strict=True)} <= rows
    assert gputree.from_json(model.to_json()).scoring == "function"
    with pytest.raises(ValueError, match="the rows of a Dataset are not kept"):
        model.fit(Dataset(X, y))


def held_out_labels(y, fraction, **given):
    """The labels of the rows that early stopping looks at."""
    seen = []

    def score(model, X, y, sample_weight=None):
        seen.append(y)
        return 0.0

    options = {"early_stopping": True, "scoring": score, "validation_fraction": fraction}
    X = np.arange(len(y))[:, None]
    GradientBoostingClassifier(1, **options, **QUICK).fit(X, y, **given)
    return sorted(seen[0].tolist())


def test_every_class_is_held_out_by_its_share():
    y = np.repeat(["many", "rare", "some"], [70, 10, 20])
    assert held_out_labels(y, 0.1) == ["many"] * 7 + ["rare"] + ["some"] * 2


def test_every_class_is_left_to_train_on():
    assert held_out_labels(np.array([0, 0, 0, 1]), 0.5) == [0, 0]
    y = np.repeat([0, 1], [2, 8])
    assert held_out_labels(y, 0.8) == [0] + [1] * 7
    # A row of weight 0 is not one to train on.
    assert held_out_labels(y, 0.8, sample_weight=np.arange(10) > 0) == [1] * 7


def test_classes_of_one_row_cannot_be_held_out():
    with pytest.raises(ValueError, match="there is no such class; use early_stopping=False"):
        held_out_labels(np.arange(4), 0.5)


def test_the_order_of_rows_does_not_change_when_a_score_stops():
    X, y = CANCER
    order = np.random.default_rng(0).permutation(len(y))
    options = {"early_stopping": True, "scoring": "neg_log_loss", "n_iter_no_change": 3}
    one, other = (
        GradientBoostingClassifier(30, **options, **QUICK).fit(X[rows], y[rows])
        for rows in (slice(None), order)
    )
    assert one.to_bytes() == other.to_bytes()
    assert (one.validation_score_ == other.validation_score_).all()


@pytest.mark.parametrize(("n_rows", "stops"), [(10_000, False), (10_001, True)])
def test_auto_stops_where_there_are_many_rows(n_rows, stops):
    X = np.arange(n_rows)[:, None] % 7
    model = GradientBoostingRegressor(
        4, early_stopping="auto", n_iter_no_change=1, learning_rate=1.0, l2_regularization=0.0
    ).fit(X, X[:, 0] > 3)
    assert hasattr(model, "validation_score_") == stops
    assert (model.n_iter_ < 4) == stops


def test_without_rows_held_out_those_of_the_trees_are_watched():
    X, y = DIABETES
    options = {"early_stopping": True, "validation_fraction": None}
    model = GradientBoostingRegressor(5, **options, **QUICK).fit(X, y)
    assert model.validation_score_ == pytest.approx(list(model.staged_loss(X, y)))
    plain = GradientBoostingRegressor(5, **QUICK).fit(X, y)
    assert model.to_bytes() == plain.to_bytes()


def test_the_exponential_loss_is_made_small_and_predicts_log_odds():
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(10, loss="exponential", **QUICK).fit(X, y)
    raw = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-raw)))
    losses = list(model.staged_loss(X, y))
    assert losses[-1] == pytest.approx(np.exp(np.where(y == 1, -0.5, 0.5) * raw).mean())
    assert losses[-1] < 0.5 * losses[0]
    with pytest.raises(ValueError, match="only suitable for a binary classification"):
        model.fit(X, np.arange(len(X)) % 3)


def test_tweedie_lowers_its_deviance_and_takes_amounts_of_0():
    X, y = DIABETES
    y = np.where(y < 100, 0.0, y)
    model = GradientBoostingRegressor(10, loss="tweedie", power=1.3, **QUICK).fit(X, y)
    deviance = mean_tweedie_deviance(y, model.predict(X), power=1.3)
    assert deviance < 0.8 * mean_tweedie_deviance(y, np.full(len(y), y.mean()), power=1.3)
    before, after = list(model.staged_loss(X, y))[-2:]
    assert after < before
    with pytest.raises(ValueError, match=r"power=2\.0: a number above 1 and below 2"):
        GradientBoostingRegressor(loss="tweedie", power=2.0).fit(X, y)
    with pytest.raises(ValueError, match="non-negative"):
        model.fit(X, y - 1)


def test_gamma_lowers_its_deviance_and_predicts_amounts():
    X, y = DIABETES
    model = GradientBoostingRegressor(10, loss="gamma", **QUICK).fit(X, y)
    assert (model.predict(X) > 0).all()
    assert mean_gamma_deviance(y, model.predict(X)) < 0.8 * mean_gamma_deviance(
        y, np.full(len(y), y.mean())
    )
    losses = list(model.staged_loss(X, y))
    assert losses[-1] < losses[0]
    with pytest.raises(ValueError, match="strictly positive"):
        model.fit(X, y - y.min())
