"""What cannot be right is refused, by name and with a remedy; the old model stays whole."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from gputree import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    CARTClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gputree.kinds import ENSEMBLES

X, Y = (part[::3] for part in load_iris(return_X_y=True))
Forest, Boost = RandomForestClassifier, AdaBoostClassifier
Bag = BaggingClassifier
WRONG = {
    "no trees": (Forest(0), "n_estimators=0: an integer of at least 1"),
    "a share of trees": (Forest(2.5), "n_estimators=2.5: an integer of at least 1"),
    "bootstrap": (Forest(bootstrap="yes"), "bootstrap='yes': True or False"),
    "warm_start": (Forest(warm_start=1), "warm_start=1: True or False"),
    "verbose": (Forest(verbose="much"), "verbose='much': an integer"),
    "oob_score": (Forest(oob_score="accuracy"), "oob_score='accuracy': True or False"),
    "nothing out of the bag": (
        Forest(bootstrap=False, oob_score=True),
        "only available if bootstrap=True, or with max_samples: otherwise every tree sees all",
    ),
    "max_samples of 0": (Forest(max_samples=0), "max_samples=0: an integer of at least 1"),
    "max_samples of text": (Forest(max_samples="all"), "max_samples='all': an integer"),
    "more than all": (
        Bag(bootstrap=False, max_samples=51),
        "max_samples=51: 51 rows are to be drawn without replacement from 50.*bootstrap=True",
    ),
    "max_features": (Forest(max_features="third"), "max_features='third': an integer"),
    "columns": (Bag(max_features=5), "max_features=5: an integer from 1 to 4"),
    "criterion": (Forest(criterion="mse"), "criterion='mse' is unknown; choose from"),
    "class_weight": (Forest(class_weight="even"), "class_weight='even': a dict of label and"),
    "balanced_subsample": (
        GradientBoostingClassifier(class_weight="balanced_subsample"),
        "class_weight='balanced_subsample': a dict of label and weight, 'balanced' or None",
    ),
    "random_state": (Forest(random_state=-1), "random_state=-1: an integer from 0 to"),
    "missing": (Forest(missing="drop"), "missing='drop' is unknown"),
    "max_bins": (Forest(max_bins=1), "max_bins=1"),
    "learning_rate": (Boost(learning_rate=0.0), "learning_rate=0.0: a number above 0"),
    "resample": (Boost(resample=None), "resample=None: True or False"),
    "gain ratio": (
        ExtraTreesClassifier(criterion="gain_ratio"),
        "use criterion='entropy' with splitter='random'",
    ),
    "multiway": (
        Bag(DecisionTreeClassifier(splitter="random", nominal="multiway")),
        "splitter='random' draws two groups of categories; use nominal='subset'",
    ),
    "folds": (
        Boost(CARTClassifier()),
        "pruning='cost_complexity' prunes by rows that a tree has not seen.*set pruning=None",
    ),
    "validation": (
        Bag(DecisionTreeClassifier(validation_fraction=0.2)),
        "validation_fraction: the trees of an ensemble.*leave it out",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_parameter_is_refused(case):
    estimator, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Bag(SVC()), "is not a tree of gputree; give for example DecisionTreeClassifier"),
        (Boost(BaggingClassifier()), "is not a tree of gputree"),
        (BaggingRegressor(DecisionTreeClassifier()), "is not a regressor"),
    ],
)
def test_an_estimator_that_is_no_such_tree_is_refused(estimator, message):
    with pytest.raises(TypeError, match=message):
        estimator.fit(X, Y)


class Odd:
    """Nothing that a parameter could be."""


@pytest.mark.parametrize("kind", ENSEMBLES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("value", [Odd(), "nonsense", np.nan], ids=["object", "text", "NaN"])
def test_every_parameter_that_cannot_be_right_is_named(kind, value):
    for name in kind().get_params(deep=False):
        with pytest.raises((ValueError, TypeError), match=name):
            kind(**{"n_estimators": 1, name: value}).fit(X, Y)


def test_a_loss_and_outputs_that_are_not_there():
    with pytest.raises(ValueError, match="loss='huber' is unknown; choose from exponential"):
        AdaBoostRegressor(loss="huber").fit(X, Y)
    both = np.stack([Y, Y], axis=1)
    with pytest.raises(ValueError, match="y has 2 outputs, but AdaBoost takes one"):
        AdaBoostRegressor().fit(X, both)
    with pytest.raises(ValueError, match="keep_targets=True: y has 2 outputs"):
        RandomForestRegressor(1, keep_targets=True).fit(X, both)


@pytest.mark.parametrize("estimator", [Forest(2), Boost(n_estimators=2), Bag(n_estimators=2)])
def test_a_failed_fit_leaves_the_old_model_whole(estimator):
    model = estimator.set_params(random_state=0).fit(X, Y)
    before, attributes = model.to_bytes(), set(vars(model))
    with pytest.raises(ValueError):
        model.fit(X[:, :2], Y[:-1])
    with pytest.raises(ValueError):
        model.set_params(n_estimators=-1).fit(X[:, :2], Y)
    assert model.to_bytes() == before
    assert set(vars(model)) == attributes
    assert model.predict(X).shape == (50,)


def test_what_a_model_does_not_know_it_says():
    forest = Forest(2, bootstrap=False).fit(X, Y)
    for name in ("oob_score_", "oob_decision_function_", "oob_error_curve_"):
        with pytest.raises(AttributeError, match=f"{name} is there after a fit with oob_score"):
            getattr(forest, name)
    with pytest.raises(AttributeError, match="fit with bootstrap=True or max_samples"):
        forest.permutation_importances_oob(X, Y)
    numbers = RandomForestRegressor(2).fit(X, Y)
    with pytest.raises(ValueError, match="fit with keep_targets=True"):
        numbers.predict_quantile(X)
    kept = RandomForestRegressor(2, keep_targets=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"q=1.5: a share between 0 and 1"):
        kept.predict_quantile(X, 1.5)
