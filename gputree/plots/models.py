"""What all pictures ask of a model first."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from gputree.data.schema import Schema
from gputree.ensembles.base import Ensemble
from gputree.estimators.base import TreeEstimator
from gputree.estimators.rule_set import RuleSetClassifier


def fitted(model: Any) -> Any:
    """The model, if it is one of ours and has been fitted."""
    if not isinstance(model, TreeEstimator | Ensemble | RuleSetClassifier):
        raise TypeError(f"a fitted model of gputree is needed; got {model!r}")
    check_is_fitted(model)
    return model


def tree_of(model: Any) -> TreeEstimator:
    """The model, if it is a single tree."""
    if isinstance(model, TreeEstimator):
        return model
    if isinstance(model, Ensemble):
        raise TypeError(
            f"{type(model).__name__} has many trees; give one of them, such as model.estimators_[0]"
        )
    raise TypeError(f"a tree of gputree is needed, such as DecisionTreeClassifier; got {model!r}")


def schema_of(model: Any) -> Schema:
    """The columns that a model was fitted on."""
    if isinstance(model, RuleSetClassifier):
        return model.estimator_.schema_
    schema: Schema = model.schema_
    return schema
