"""Shapley values of a model of any kind, as one array, and what they add up to.

Knows models and rows; must not know what is printed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.cli.models import is_ensemble
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
    if not hasattr(model, "shap_values"):
        raise ValueError(
            f"{a(type(model).__name__)} has no Shapley values: its predictions are not a sum over "
            f"trees; use {'another model' if is_ensemble(model) else '--path, or another model'}"
        )
    values, expected = np.asarray(model.shap_values(X)), np.atleast_1d(model.expected_value_)
    if values.ndim == 2:
        values = values[:, :, None]
    return Shapley(values, expected, _outputs(model, values.shape[2]), _unit(model))


def _unit(model: Any) -> str:
    from gputree.ensembles.adaboost_rounds import AdaBoost

    if not hasattr(model, "classes_"):
        return "prediction"
    if isinstance(model, AdaBoost):
        return "score (mean vote)"
    return "score (log odds)" if hasattr(model, "decision_function") else "probability"


def _outputs(model: Any, n: int) -> list[str]:
    if not hasattr(model, "classes_"):
        return [""] if n == 1 else [f"output {at}" for at in range(n)]
    classes = [str(label) for label in model.classes_.tolist()]
    return classes if n == len(classes) else classes[-1:]  # the score is that of the second class
