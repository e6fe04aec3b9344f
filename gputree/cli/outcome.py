"""What predictions come to: which classes are taken for which, and what guessing would reach.

Knows answers and predictions; must not know models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.cli.models import CLASSIFICATION
from gputree.dtypes import HostArray

MOST_CLASSES = 12  # of a table of confusion that is printed
LEAST_ROWS = 20  # with fewer, a score below the baseline says little


@dataclass(frozen=True, eq=False)
class Confusion:
    """How many rows of each class are predicted to be of which."""

    classes: list[Any]
    count: HostArray  # (true, predicted) weights of rows

    @classmethod
    def of(cls, y: HostArray, predicted: HostArray, weight: HostArray | None) -> "Confusion":
        """Count rows, or add up their weights."""
        classes, number = np.unique(np.concatenate([y, predicted]), return_inverse=True)
        n = len(classes)
        cell = number[: len(y)] * n + number[len(y) :]
        total = np.bincount(cell, weight, n * n).reshape(n, n)
        return cls(classes.tolist(), total if weight is not None else total.astype(np.int64))

    def merged(self, other: "Confusion") -> "Confusion":
        """The same of the rows of both."""
        classes = sorted({*self.classes, *other.classes})
        place = {label: at for at, label in enumerate(classes)}
        total = np.zeros((len(classes), len(classes)), self.count.dtype)
        for each in (self, other):
            at = [place[label] for label in each.classes]
            total[np.ix_(at, at)] += each.count
        return Confusion(classes, total)

    @property
    def baseline(self) -> "Baseline":
        """What guessing the most frequent class would reach on these rows."""
        of_class = self.count.sum(axis=1)
        most = int(of_class.argmax())
        return Baseline(self.classes[most], {"accuracy": float(of_class[most] / of_class.sum())})

    def lines(self, on: str) -> list[str]:
        """A table to be printed; none where there are too many classes."""
        if len(self.classes) > MOST_CLASSES:
            return []
        names = [str(label) for label in self.classes]
        cells = [[f"{each:g}" for each in row] for row in self.count.tolist()]
        left = max(map(len, names))
        widths = [max(len(name), *(len(row[at]) for row in cells)) for at, name in enumerate(names)]

        def line(name: str, row: Sequence[str]) -> str:
            padded = (f"{each:>{width}}" for each, width in zip(row, widths, strict=True))
            return f"  {name:<{left}}  {'  '.join(padded)}"

        rows = [line(name, row) for name, row in zip(names, cells, strict=True)]
        return [
            f"confusion of {on}: true classes down, predicted ones across",
            line("", names),
            *rows,
        ]

    def data(self) -> dict[str, Any]:
        """The same for machines."""
        return {"classes": self.classes, "counts": self.count.tolist()}


@dataclass(frozen=True, eq=False)
class Baseline:
    """The best that can be predicted without looking at any feature."""

    guess: Any  # the most frequent class of the training, or the mean
    scores: dict[str, float]

    @classmethod
    def of(
        cls,
        task: str,
        trained: tuple[HostArray, HostArray | None],
        judged: tuple[HostArray, HostArray | None],
    ) -> "Baseline":
        """By the answers and weights of the training, judged on those of other rows."""
        (y, weight), (other, own) = trained, judged
        own = None if own is None or not own.any() else own
        if task == CLASSIFICATION:
            classes, number = np.unique(y, return_inverse=True)
            guess = classes[np.bincount(number, weight).argmax()]
            return cls(guess.item(), {"accuracy": float(np.average(other == guess, weights=own))})
        mean = float(np.average(y, weights=weight))
        error = float(np.sqrt(np.average((other - mean) ** 2, weights=own)))
        return cls(mean, {"RMSE": error})

    def text(self) -> str:
        """What is always predicted."""
        if "accuracy" in self.scores:
            return f"always predicting {str(self.guess)!r}"
        return f"always predicting the mean, {self.guess:.4g}"

    def doubt(self, scores: dict[str, float], on: str, n_rows: int) -> str:
        """What to say of a model that is no better; empty for one that is."""
        ((name, reached),) = self.scores.items()
        own = scores[name]
        is_better = own > reached if name == "accuracy" else own < reached
        if is_better or n_rows < LEAST_ROWS:
            return ""
        form = ".3f" if name == "accuracy" else ".4g"
        return (
            f"look here: the model is no better than a guess: {name} {own:{form}} on {on}, and "
            f"{reached:{form}} by {self.text()}"
        )
