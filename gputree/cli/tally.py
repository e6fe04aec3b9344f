"""Sums over rows, chunk by chunk or rank by rank, by which a model of many rows is scored.

Knows answers and predictions; must not know where rows come from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.cli.models import CLASSIFICATION
from gputree.cli.outcome import Baseline, Confusion
from gputree.cli.scoring import log_losses


@dataclass(frozen=True, eq=False)
class Scored:
    """How good the predictions of some rows are."""

    scores: dict[str, float]
    baseline: Baseline
    confusion: Confusion | None = None


@dataclass
class Tally:
    """Sums over rows; those of the AUC would need all rows at once."""

    total: float = 0.0  # of weights
    hits: float = 0.0
    loss: float | None = None  # where there are probabilities
    confusion: Confusion | None = None
    squares: float = 0.0
    mean: float = 0.0
    moment: float = 0.0

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, weight: Any, task: str) -> "Tally":
        """The sums over some rows; without `weight` all count alike."""
        predicted = model.predict(X)
        each = np.ones(len(y)) if weight is None else weight
        total = float(each.sum())
        if task == CLASSIFICATION:
            hits, loss = float(each[y == predicted].sum()), None
            if hasattr(model, "predict_proba"):
                loss = float((each * log_losses(model.predict_proba(X), model.classes_, y)).sum())
            return cls(total, hits, loss, Confusion.of(y, predicted, weight))
        mean = float(np.average(y, weights=each)) if each.any() else 0.0
        squares = float((each * (y - predicted) ** 2).sum())
        moment = float((each * (y - mean) ** 2).sum())
        return cls(total, squares=squares, mean=mean, moment=moment)

    def add(self, other: "Tally") -> None:
        """Take in other rows, as Chan, Golub and LeVeque do: no difference of large squares."""
        total = self.total + other.total
        apart = other.mean - self.mean
        self.moment += other.moment + apart**2 * self.total * other.total / max(total, 1e-300)
        self.mean += apart * other.total / max(total, 1e-300)
        self.hits, self.squares = self.hits + other.hits, self.squares + other.squares
        if other.loss is not None:
            self.loss = (self.loss or 0.0) + other.loss
        if other.confusion is not None:
            own = self.confusion
            self.confusion = other.confusion if own is None else own.merged(other.confusion)
        self.total = total

    def scored(self, task: str) -> Scored:
        """How good predictions are."""
        if task == CLASSIFICATION:
            assert self.confusion is not None
            scores = {"accuracy": float(self.hits / self.total)}
            if self.loss is not None:
                scores["log loss"] = float(self.loss / self.total)
            return Scored(scores, self.confusion.baseline, self.confusion)
        explained = 1.0 - self.squares / self.moment if self.moment > 0 else np.nan
        error, spread = (float(np.sqrt(each / self.total)) for each in (self.squares, self.moment))
        scores = {"R²": float(explained), "RMSE": error}
        return Scored(scores, Baseline(float(self.mean), {"RMSE": spread}))


def joined(tallies: Sequence[Tally]) -> Tally:
    """The sums over all rows."""
    found = Tally()
    for each in tallies:
        found.add(each)
    return found
