"""RuleSetClassifier is scikit-learn's kind of estimator."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from gputree import DecisionTreeClassifier, RuleSetClassifier

IRIS = load_iris(return_X_y=True)


@parametrize_with_checks(
    [RuleSetClassifier(), RuleSetClassifier(DecisionTreeClassifier(), selection="greedy")]
)
def test_scikit_learn_accepts_the_rules(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "copied",
    [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
def test_copies_say_the_same(copied):
    model = RuleSetClassifier().fit(*IRIS)
    twin = copied(model)
    assert twin.export_text() == model.export_text()
    np.testing.assert_array_equal(twin.predict_proba(IRIS[0]), model.predict_proba(IRIS[0]))


def test_a_clone_is_not_fitted_and_the_given_tree_stays_as_it_is():
    tree = DecisionTreeClassifier(max_depth=2)
    model = RuleSetClassifier(tree).fit(*IRIS)
    assert not hasattr(tree, "tree_")
    assert is_classifier(model)
    with pytest.raises(NotFittedError):
        clone(model).predict(IRIS[0])


def test_a_grid_search_reaches_the_parameters_of_the_tree():
    grid = {"tree__max_depth": [1, 3], "confidence": [0.1, 0.25]}
    search = GridSearchCV(RuleSetClassifier(DecisionTreeClassifier()), grid, cv=3).fit(*IRIS)
    assert search.best_params_["tree__max_depth"] == 3


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"confidence": 0.0}, ValueError, "more than 0"),
        ({"confidence": 0.6}, ValueError, "at most 0.5"),
        ({"selection": "best"}, ValueError, "description_length"),
        ({"tree": "C4.5"}, TypeError, "C45Classifier"),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_refused_with_what_would_be_right(wrong, error, match):
    with pytest.raises(error, match=match):
        RuleSetClassifier(**wrong).fit(*IRIS)
