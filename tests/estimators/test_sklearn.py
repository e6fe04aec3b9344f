"""The estimators are scikit-learn's kind of estimators."""

import copy
import pickle

import numpy as np
import pytest
import sklearn.tree
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gputree
from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
BOTH = pytest.mark.parametrize(
    ("estimator", "data"),
    [(DecisionTreeClassifier, IRIS), (DecisionTreeRegressor, DIABETES)],
    ids=["classifier", "regressor"],
)
COPIES = pytest.mark.parametrize(
    "copied",
    [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)


def expected_to_fail(estimator):
    """Checks of a parameter that the trees of the literature have not, and of folds."""
    failing = {}
    if isinstance(estimator, (C45Classifier, CARTClassifier)):
        failing["check_class_weight_classifiers"] = "sets min_weight_fraction_leaf"
    if isinstance(estimator, (CARTClassifier, CARTRegressor)):
        for kind in ("dense", "sparse"):
            name = f"check_sample_weight_equivalence_on_{kind}_data"
            failing[name] = "a fold has rows, not weights"
    return failing


# ID3 is left out: it refuses columns of numbers, which most of the checks fit it on.
@pytest.mark.quick("DecisionTreeClassifier()", "DecisionTreeRegressor()", "C45Classifier()")
@parametrize_with_checks(
    [
        *(DecisionTreeClassifier(), DecisionTreeRegressor()),
        *(C45Classifier(), CARTClassifier(), CARTRegressor()),
        DecisionTreeClassifier(missing="fractional", nominal="multiway"),
        *(ObliqueTreeClassifier(), ObliqueTreeRegressor()),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learn_accepts_the_estimators(estimator, check):
    check(estimator)


@BOTH
def test_a_clone_has_the_parameters_and_is_not_fitted(estimator, data):
    model = estimator(max_depth=3, min_samples_leaf=4, device="cpu").fit(*data)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(data[0])


@BOTH
def test_fit_leaves_the_parameters_as_they_were_given(estimator, data):
    given = {"max_features": "sqrt", "random_state": np.int64(3), "min_samples_leaf": 0.1}
    model = estimator(**given).fit(*data)
    assert {name: model.get_params()[name] for name in given} == given


@BOTH
def test_a_second_fit_forgets_the_first(estimator, data):
    X, y = data
    model = estimator().fit(X[:50, :2], y[:50]).fit(X, y)
    assert model.to_bytes() == estimator().fit(X, y).to_bytes()
    assert model.n_features_in_ == X.shape[1]


@BOTH
@COPIES
def test_copies_predict_the_same_and_have_the_same_bytes(estimator, data, copied):
    X, y = data
    model = estimator(max_depth=5).fit(X, y)
    twin = copied(model)
    assert twin.to_bytes() == model.to_bytes()
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


@BOTH
@COPIES
def test_the_arrays_of_a_tree_cannot_be_written_to(estimator, data, copied):
    for model in (estimator().fit(*data), copied(estimator().fit(*data))):
        for name in type(model.nodes_).DTYPES:
            with pytest.raises(ValueError, match="read-only"):
                getattr(model.nodes_, name)[...] = 0


def test_scikit_learn_knows_which_is_which():
    assert is_classifier(DecisionTreeClassifier())
    assert is_regressor(DecisionTreeRegressor())


def test_a_tree_ends_a_pipeline_of_mixed_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"colour": ["red", "blue", "red", "green"] * 5, "size": range(20)})
    y = (frame["colour"] == "red").to_numpy()
    encode = ColumnTransformer([("c", OneHotEncoder(), ["colour"])], remainder="passthrough")
    model = make_pipeline(encode, SimpleImputer(), DecisionTreeClassifier()).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model[-1].get_depth() == 1


def test_scaling_the_columns_does_not_change_the_predictions():
    X, y = IRIS
    plain = DecisionTreeClassifier(max_depth=4).fit(X, y)
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), scaled.predict(X))


def test_cross_validation_scores_iris_as_trees_do():
    score = cross_val_score(DecisionTreeClassifier(max_depth=3), *IRIS, cv=5)
    assert len(score) == 5
    assert score.mean() > 0.93


def test_a_grid_search_finds_that_a_stump_is_too_small():
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=3).fit(*IRIS)
    assert search.best_params_ == {"max_depth": 3}
    assert search.predict(IRIS[0]).shape == (150,)


def test_an_ensemble_of_scikit_learn_takes_the_tree_as_its_base():
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0)
    bag.fit(*IRIS)
    assert bag.score(*IRIS) > 0.9
    assert len({tree.to_bytes() for tree in bag.estimators_}) == 3


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_defaults_are_scikit_learns_where_it_has_the_parameter(name):
    theirs = getattr(sklearn.tree, name)().get_params()
    ours = getattr(gputree, name)().get_params()
    shared = set(ours) & set(theirs)
    assert {"max_depth", "min_samples_leaf", "max_features", "max_leaf_nodes"} <= shared
    assert {each: ours[each] for each in shared} == {each: theirs[each] for each in shared}
