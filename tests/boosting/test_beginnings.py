"""Where boosted models begin, and how many rows a node needs to be split."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gputree import Dataset, GradientBoostingClassifier, GradientBoostingRegressor

CANCER, IRIS = load_breast_cancer(return_X_y=True), load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
QUICK = {"max_depth": 2, "min_child_weight": 0.0, "l2_regularization": 0.0, "random_state": 0}


def test_trees_fit_what_a_model_has_left():
    X, y = DIABETES
    model = GradientBoostingRegressor(5, init=LinearRegression(), **QUICK).fit(X, y)
    line = LinearRegression().fit(X, y).predict(X)
    rest = GradientBoostingRegressor(5, init="zero", **QUICK).fit(X, y - line)
    np.testing.assert_allclose(model.predict(X), line + rest.predict(X), rtol=1e-9)
    assert list(model.staged_predict(X))[-1] == pytest.approx(model.predict(X))
    assert list(model.staged_loss(X, y))[-1] == pytest.approx(
        ((model.predict(X) - y) ** 2).mean() / 2
    )


@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["two classes", "three"])
def test_probabilities_of_a_model_are_where_trees_begin(data):
    X, y = data
    init = make_pipeline(StandardScaler(), LogisticRegression())
    model = GradientBoostingClassifier(1, init=init, learning_rate=1e-12, **QUICK).fit(X, y)
    expected = init.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-6, atol=1e-12)


def test_shares_of_classes_are_the_best_constant():
    X, y = IRIS
    plain = GradientBoostingClassifier(3, **QUICK).fit(X, y)
    shares = GradientBoostingClassifier(3, init=DummyClassifier(), **QUICK).fit(X, y)
    np.testing.assert_allclose(shares.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


def test_amounts_of_a_model_are_logarithms_where_trees_add_up_to_one():
    X, y = DIABETES
    for loss in ("poisson", "gamma"):
        plain = GradientBoostingRegressor(3, loss=loss, **QUICK).fit(X, y)
        mean = GradientBoostingRegressor(3, loss=loss, init=DummyRegressor(), **QUICK).fit(X, y)
        np.testing.assert_allclose(mean.predict(X), plain.predict(X), rtol=1e-9)


def test_a_warm_start_and_early_stopping_go_on_from_the_same_model():
    X, y = DIABETES
    options = {**QUICK, "init": LinearRegression(), "early_stopping": True, "n_iter_no_change": 9}
    whole = GradientBoostingRegressor(6, **options).fit(X, y)
    warm = GradientBoostingRegressor(3, warm_start=True, **options).fit(X, y)
    warm.set_params(n_estimators=6).fit(X, y)
    assert (warm.predict(X) == whole.predict(X)).all()
    assert warm.validation_score_.tolist() == whole.validation_score_.tolist()
    other = GradientBoostingRegressor(4, init=LinearRegression(), **QUICK)
    other.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    expected = list(other.staged_loss(X[300:], y[300:]))
    assert other.validation_score_.tolist() == pytest.approx(expected)


def test_rows_that_are_held_out_are_held_out_of_the_first_model_too():
    X, y = DIABETES
    model = GradientBoostingRegressor(3, init=DummyRegressor(), early_stopping=True, **QUICK)
    plain = GradientBoostingRegressor(3, early_stopping=True, **QUICK).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).predict(X), plain.predict(X), rtol=1e-9)


def test_what_tells_of_trees_alone_is_refused():
    X, y = DIABETES
    model = GradientBoostingRegressor(2, init=LinearRegression(), **QUICK).fit(X, y)
    for ask in (model.to_bytes, lambda: model.shap_values(X), model.to_json):
        with pytest.raises(ValueError, match="covers trees alone"):
            ask()
    assert GradientBoostingRegressor(2, init="zero", **QUICK).fit(X, y).to_bytes()


@pytest.mark.parametrize(
    ("init", "options", "what"),
    [
        ("none", {}, "must be a str among"),
        (LinearRegression(), {}, "'predict_proba'"),
        (make_pipeline(LogisticRegression()), {"sample_weight": True}, "Pipeline does not support"),
        (LogisticRegression(), {"as_dataset": True}, "which a Dataset does not keep"),
    ],
)
def test_what_cannot_be_a_beginning_is_refused(init, options, what):
    X, y = IRIS
    weight = np.ones(len(y)) if options.get("sample_weight") else None
    table = Dataset(pd.DataFrame(X)) if options.get("as_dataset") else X
    with pytest.raises(ValueError, match=what):
        GradientBoostingClassifier(2, init=init, **QUICK).fit(table, y, weight)


@pytest.mark.parametrize("backend", ["numpy", "numba", "cuda"])
def test_nodes_of_fewer_rows_are_not_split(backend):
    X, y = CANCER[0][:60, :2], CANCER[1][:60]
    weight = np.linspace(0.5, 2.0, len(y))
    options = {**QUICK, "max_depth": 3, "min_samples_split": 20}
    model = GradientBoostingClassifier(1, backend=backend, **options).fit(X, y, weight)
    expected = GradientBoostingClassifier(1, backend="numpy", **options).fit(X, y, weight)
    assert model.to_bytes() == expected.to_bytes()
    nodes = model[0].nodes_
    assert nodes.n_rows[~nodes.is_leaf].min() >= 20
    free = GradientBoostingClassifier(1, **{**options, "min_samples_split": 2}).fit(X, y, weight)
    assert free[0].nodes_.n_rows[~free[0].nodes_.is_leaf].min() < 20


def test_a_share_of_rows_is_a_number_of_them():
    X, y = DIABETES
    share = GradientBoostingRegressor(3, min_samples_split=0.5, **QUICK).fit(X, y)
    number = GradientBoostingRegressor(3, min_samples_split=221, **QUICK).fit(X, y)
    assert (share.predict(X) == number.predict(X)).all()
