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


# Few trees: what is checked does not depend on their number.
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
    missing = set(theirs) - set(ours) - {"monotonic_cst"}
    assert not missing


@pytest.mark.parametrize("name", NAMES)
def test_a_clone_has_the_parameters_and_is_not_fitted(name):
    X, y = IRIS if "Classifier" in name else DIABETES
    model = getattr(gputree, name)(n_estimators=2, random_state=3).fit(X[::5], y[::5])
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(X)


@pytest.mark.parametrize("name", NAMES)
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
