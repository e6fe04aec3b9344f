"""The ensembles are scikit-learn's kind of estimators."""

import copy
import pickle

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gputree
from gputree import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
NAMES = [
    *("AdaBoostClassifier", "AdaBoostRegressor"),
    *("BaggingClassifier", "BaggingRegressor"),
    *("ExtraTreesClassifier", "ExtraTreesRegressor"),
    *("RandomForestClassifier", "RandomForestRegressor"),
]
ALL = [*NAMES, "GradientBoostingClassifier", "GradientBoostingRegressor"]


# Few trees: what is checked does not depend on their number.
@pytest.mark.quick("AdaBoostRegressor", "RandomForestClassifier")
@parametrize_with_checks(
    [
        *(AdaBoostClassifier(n_estimators=3), AdaBoostRegressor(n_estimators=3)),
        *(BaggingClassifier(n_estimators=3), BaggingRegressor(n_estimators=3)),
        *(ExtraTreesClassifier(n_estimators=3), ExtraTreesRegressor(n_estimators=3)),
        *(RandomForestClassifier(n_estimators=3), RandomForestRegressor(n_estimators=3)),
    ]
)
def test_scikit_learn_accepts_the_ensembles(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_scikit_learns_where_it_has_the_parameter(name):
    theirs = getattr(sklearn.ensemble, name)().get_params()
    ours = getattr(gputree, name)().get_params()
    shared = set(ours) & set(theirs)
    assert {"n_estimators", "random_state"} <= shared
    assert {each: ours[each] for each in shared} == {each: theirs[each] for each in shared}
    missing = set(theirs) - set(ours)
    assert not missing


@pytest.mark.parametrize("name", ALL)
def test_a_clone_has_the_parameters_and_is_not_fitted(name):
    X, y = IRIS if "Classifier" in name else DIABETES
    model = getattr(gputree, name)(n_estimators=2, random_state=3).fit(X[::5], y[::5])
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(X)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "copied",
    [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
def test_copies_predict_the_same_and_have_the_same_bytes(name, copied):
    X, y = IRIS if "Classifier" in name else DIABETES
    model = getattr(gputree, name)(n_estimators=2, random_state=0).fit(X[::5], y[::5])
    twin = copied(model)
    assert twin.to_bytes() == model.to_bytes()
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_a_grid_search_reaches_the_tree_inside():
    search = GridSearchCV(
        AdaBoostClassifier(gputree.DecisionTreeClassifier(max_depth=1), n_estimators=3),
        {"estimator__max_depth": [1, 2]},
        cv=2,
    ).fit(*IRIS)
    assert search.best_params_["estimator__max_depth"] in (1, 2)


@pytest.mark.parametrize("name", ALL)
def test_a_pipeline_a_search_and_weights_go_through(name):
    X, y = IRIS if "Classifier" in name else DIABETES
    kind = getattr(gputree, name)
    pipeline = Pipeline([("scale", StandardScaler()), ("model", kind(random_state=0))])
    search = GridSearchCV(pipeline, {"model__n_estimators": [1, 2]}, cv=2)
    weight = np.ones(len(y))
    search.fit(X[::3], y[::3], model__sample_weight=weight[::3])
    model = search.best_estimator_.named_steps["model"]
    assert model.n_features_in_ == X.shape[1]
    assert len(model.estimators_) >= search.best_params_["model__n_estimators"]
    assert search.predict(X).shape == y.shape


@pytest.mark.parametrize("name", ALL)
def test_names_of_columns_are_kept_and_asked_for(name):
    X, y = (load_iris if "Classifier" in name else load_diabetes)(return_X_y=True, as_frame=True)
    model = getattr(gputree, name)(n_estimators=2, random_state=0).fit(X, y)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[X.columns[::-1]])
    assert model.feature_importances_.shape == (X.shape[1],)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
