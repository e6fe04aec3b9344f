"""What a model says of the rows of a report, beside what is true.

Knows estimators by what they promise; must not know how anything is shown.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.dtypes import HostArray
from gputree.estimators.targets import read_target
from gputree.report.plain import label

UNSEEN = -1  # the number of a class that the model does not know


@dataclass(frozen=True, eq=False)
class ClassAnswers:
    """Classes by number: true ones, predicted ones, and the shares of all."""

    names: tuple[str, ...]
    true: HostArray  # (rows,) UNSEEN where the class was not in the training
    said: HostArray  # (rows,)
    share: HostArray  # (rows, classes)

    @property
    def known(self) -> HostArray:
        return np.asarray(self.true != UNSEEN)

    @property
    def n_unseen(self) -> int:
        return int((~self.known).sum())


@dataclass(frozen=True, eq=False)
class NumberAnswers:
    """Numbers: true ones and predicted ones, (rows, outputs)."""

    true: HostArray
    said: HostArray


def answers_of(model: Any, X: Any, y: Any, n_rows: int) -> ClassAnswers | NumberAnswers:
    """The predictions for X, and y in the same terms."""
    name = type(model).__name__
    if not hasattr(model, "classes_"):
        true = read_target(y, n_rows, name, numbers=True).reshape(n_rows, -1)
        said = np.asarray(to_numpy(model.predict(X)), np.float64).reshape(n_rows, -1)
        if true.shape != said.shape:
            raise ValueError(
                f"y has {true.shape[1]} outputs, but the model predicts {said.shape[1]}; give the "
                "outputs that it was fitted on"
            )
        return NumberAnswers(true, said)
    labels = model.classes_.tolist()
    place = {each: at for at, each in enumerate(labels)}
    target = read_target(y, n_rows, name)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1:
        raise ValueError(f"y has shape {target.shape}; a classifier takes one label per row")
    chosen = [place[each] for each in np.asarray(to_numpy(model.predict(X))).tolist()]
    true = np.array([place.get(each, UNSEEN) for each in target.tolist()])
    if (true == UNSEEN).all():
        first = target[:1].tolist()[0]  # without NumPy's type
        raise ValueError(
            f"y has no label that the model knows: {first!r} and others are not among "
            f"{labels[:5]}; give labels as they were at fit"
        )
    share = np.asarray(to_numpy(model.predict_proba(X)), np.float64)
    return ClassAnswers(tuple(map(label, labels)), true, np.array(chosen), share)
