"""Losses that users write as functions.

A function of the target and the predictions so far returns gradient and hessian, and perhaps the
loss of each row, without which nobody can watch it. A loss object of scikit-learn tells all three.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gputree.boosting.losses import Named
from gputree.boosting.rounds import Objective
from gputree.data.averages import average
from gputree.data.target import LARGEST_TARGET
from gputree.dtypes import HostArray
from gputree.kernels.losses import SQUARED

# The links of scikit-learn's loss objects by which answers of a model of one's own loss are made.
LINKS = "IdentityLink", "LogitLink", "MultinomialLogit"

# What a file says where a model had a function.
FORGOTTEN = "function"


def refuse_forgotten(loss: Any) -> None:
    """Refuse to go by a function that a file has not kept."""
    if isinstance(loss, str) and loss == FORGOTTEN:
        raise ValueError("loss was a function, which files do not hold; set it again")


def as_function(loss: Any) -> Any:
    """A function as it is; that of a loss object of scikit-learn, which has it as methods."""
    if not hasattr(loss, "gradient_hessian"):
        return loss
    link = type(loss.link).__name__
    if link not in LINKS or not loss.differentiable:
        raise ValueError(
            f"loss={type(loss).__name__}(...) has a link of its own ({link}), or quantiles for "
            "leaves, which an object cannot express; use the name of a loss, such as 'poisson'"
        )

    def told(y: HostArray, raw: HostArray) -> tuple[HostArray, HostArray, HostArray]:
        return *loss.gradient_hessian(y, raw), loss.loss(y, raw)

    return told


class OwnLoss:
    """A function of y and predictions; these are (rows,), or (rows, outputs) for several."""

    def __init__(
        self, function: Callable[[HostArray, HostArray], Any], n_outputs: int, ridge: float
    ) -> None:
        """`ridge` is what is added to the hessian of a leaf."""
        self._function, self._n_outputs, self._ridge = as_function(function), n_outputs, ridge
        self._name = getattr(function, "__name__", type(function).__name__)

    def named(self) -> Named:
        """The loss as boosting knows it: models start from 0."""
        return Named(SQUARED, lambda y, weight: np.zeros(self._n_outputs), self._mean)

    def objective(self, y: HostArray) -> Objective:
        """Gradients and hessians of the rows of a fit."""

        def found(raw: HostArray) -> tuple[HostArray, HostArray]:
            gradient, hessian = self._ask(y, raw)[:2]
            if (hessian < 0).any():
                raise ValueError(
                    f"loss {self._name} returned a hessian below 0; trees need it to be positive"
                )
            if self._ridge == 0.0 and not hessian.any():
                raise ValueError(
                    f"loss {self._name} returned a hessian of 0 for every row, which does not "
                    "give a step size; let it return 1, or set l2_regularization above 0"
                )
            return _by_output(gradient), _by_output(hessian)

        return found

    def _mean(self, y: HostArray, weight: HostArray, raw: HostArray) -> float:
        parts = self._ask(y, raw)
        if len(parts) < 3:
            raise ValueError(
                f"loss {self._name}: a function of gradient and hessian alone cannot be monitored; "
                "let it return the loss of each row as a third, or use neither early_stopping nor "
                "X_val, and staged_predict instead of staged_loss"
            )
        return average(parts[2], weight)

    def _ask(self, y: HostArray, raw: HostArray) -> list[HostArray]:
        said = raw[0] if self._n_outputs == 1 else np.ascontiguousarray(raw.T)
        parts = self._function(y, said)
        if not isinstance(parts, tuple | list) or len(parts) not in (2, 3):
            raise ValueError(
                f"loss {self._name} must return gradient and hessian, or gradient, hessian and the "
                "loss of each row"
            )
        found = [np.asarray(part, np.float64) for part in parts]
        shapes = said.shape, said.shape, y.shape
        names = "gradient", "hessian", "loss"
        for name, part, shape in zip(names, found, shapes, strict=False):
            if part.shape != shape or not np.isfinite(part).all():
                raise ValueError(
                    f"loss {self._name} returned a {name} that is not finite, or not of shape "
                    f"{shape}"
                )
            if name != "loss" and np.abs(part).max(initial=0.0) > LARGEST_TARGET:
                raise ValueError(
                    f"loss {self._name} returned a {name} beyond {LARGEST_TARGET:g}, whose square "
                    "overflows; scale the target down, or bound the gradients"
                )
        return found


def _by_output(part: HostArray) -> HostArray:
    """From (rows,) or (rows, outputs) to (outputs, rows)."""
    return np.ascontiguousarray(part.reshape(len(part), -1).T)
