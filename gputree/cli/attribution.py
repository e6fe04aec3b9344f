"""Shapley values of a model of any kind, as one array, and what they add up to.

Knows models and rows; must not know what is printed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.cli.models import is_ensemble, schema_of
from gputree.cli.output import a
from gputree.cli.settings import near
from gputree.dtypes import HostArray


@dataclass(frozen=True, eq=False)
class Shapley:
    """What each feature adds to each output of each row."""

    values: HostArray  # (rows, features, outputs)
    expected: HostArray  # (outputs,) what is predicted while nothing is known
    outputs: list[str]  # the classes; one without a name for a regression
    unit: str  # what is explained

    @property
    def has_classes(self) -> bool:
        return self.unit != "prediction"

    def output(self, asked: str | None) -> int | None:
        """The number of a class by its name; None where none is asked for."""
        if asked is None:
            return 0 if len(self.outputs) == 1 else None
        if not self.has_classes:
            raise ValueError(f"--class {asked}: a regression has no classes; leave it out")
        if asked not in self.outputs:
            raise ValueError(f"--class {asked} is none of the classes{near(asked, self.outputs)}")
        return self.outputs.index(asked)


def shapley(model: Any, X: Any) -> Shapley:
    """The Shapley values of some rows."""
    from gputree.ensembles.averaging import Averaging

    if hasattr(model, "shap_values"):
        values, expected = np.asarray(model.shap_values(X)), np.atleast_1d(model.expected_value_)
        is_score = is_ensemble(model) and hasattr(model, "classes_")
        unit = "score (log odds)" if is_score else _unit(model)
    elif isinstance(model, Averaging):
        values, expected = _averaged(model, X)
        unit = _unit(model)
    else:
        raise ValueError(
            f"{a(type(model).__name__)} has no Shapley values: its trees do not add up; use "
            f"{'another model' if is_ensemble(model) else '--path, or another model'}"
        )
    if values.ndim == 2:
        values = values[:, :, None]
    return Shapley(values, np.atleast_1d(expected), _outputs(model, values.shape[2]), unit)


def _unit(model: Any) -> str:
    return "probability" if hasattr(model, "classes_") else "prediction"


def _outputs(model: Any, n: int) -> list[str]:
    if not hasattr(model, "classes_"):
        return [""] if n == 1 else [f"output {at}" for at in range(n)]
    classes = [str(label) for label in model.classes_.tolist()]
    return classes if n == len(classes) else classes[-1:]  # the score is that of the second class


def _averaged(model: Any, X: Any) -> tuple[HostArray, HostArray]:
    """Values of trees are averaged as their predictions are."""
    from gputree.explain.shap import MANY_NODES

    names = schema_of(model).names
    total: Any = 0.0
    expected: Any = 0.0
    is_large = sum(tree.tree_.n_nodes for tree in model.estimators_) >= MANY_NODES
    for tree in model.estimators_:
        if is_large:
            tree.backend = "numba"
        at = [names.index(name) for name in tree.schema_.names]
        own = np.asarray(tree.shap_values(_columns(X, at)))
        own = own[:, :, None] if own.ndim == 2 else own
        whole = np.zeros((len(own), len(names), own.shape[2]))
        whole[:, at] = own
        total = total + whole
        expected = expected + np.atleast_1d(tree.expected_value_)
    n = len(model.estimators_)
    return total / n, expected / n


def _columns(X: Any, at: list[int]) -> Any:
    return X[:, at] if isinstance(X, np.ndarray) else X.select(at)
