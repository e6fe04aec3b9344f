"""How good predictions are: on training rows, on rows held out, on folds.

Knows rows, answers and estimators; must not know files.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from gputree.cli.models import CLASSIFICATION
from gputree.cli.output import Output, count
from gputree.dtypes import HostArray

LEAST_SHARE = float(np.finfo(np.float64).eps)  # that a log loss counts, as in scikit-learn
INTERRUPTED = "the fit was interrupted"  # how an ensemble reports that it has fewer trees


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their answers and weights."""

    X: Any  # pyarrow.Table
    y: HostArray
    weight: HostArray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: HostArray) -> "Rows":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.X.take(rows), self.y[rows], weight)


# Fitting


def fit(estimator: Any, rows: Rows, output: Output, what: str) -> Any:
    """Fit, with a line of progress."""
    return fit_on(estimator, (rows.X, rows.y, rows.weight), output, what)


def fit_on(estimator: Any, arguments: tuple[Any, ...], output: Output, what: str) -> Any:
    """Fit on whatever `fit` takes. An interrupt ends it, whatever is there by then."""
    from gputree.backends import aside

    with output.waiting(what, aside.note) as line, warnings.catch_warnings():
        options: dict[str, Any] = {}
        if "callbacks" in signature(estimator.fit).parameters:

            def tell(done: Any) -> None:
                line.detail = (
                    f"{done.number + 1:,}/{done.n_trees:,} trees, {done.seconds_left:.1f} s left"
                )

            options["callbacks"] = [tell]
        warnings.filterwarnings("error", message=INTERRUPTED)
        try:
            return estimator.fit(*arguments, **options)
        except UserWarning as warning:
            if str(warning).startswith(INTERRUPTED):
                raise KeyboardInterrupt from None
            raise


# Dividing


def divide(rows: Rows, task: str, share: float, seed: int) -> tuple[Rows, Rows | None, str]:
    """Rows to train on, rows held out or None, and how they were drawn."""
    from sklearn.model_selection import train_test_split

    n_test = math.ceil(len(rows) * share)
    if not n_test:
        return rows, None, ""
    if n_test == len(rows):
        raise ValueError(
            f"--test-share {share:g} of {count(len(rows), 'row')} leaves none to train on; use "
            "--test-share 0"
        )
    by_class = task == CLASSIFICATION and _can_stratify(rows.y, n_test)
    train, test = train_test_split(
        np.arange(len(rows)),
        test_size=n_test,
        random_state=seed,
        stratify=rows.y if by_class else None,
    )
    how = "stratified by class" if by_class else "drawn at random"
    return rows.take(train), rows.take(test), f"{how}, seed {seed}"


def _can_stratify(y: HostArray, n_test: int) -> bool:
    """Whether every class can be in both parts."""
    _, counts = np.unique(y, return_counts=True)
    return bool(counts.min() >= 2 and len(counts) <= min(n_test, len(y) - n_test))


# Scoring


def scores(model: Any, rows: Rows, task: str) -> dict[str, float]:
    """How good the predictions of some rows are; NaN where that is not defined."""
    from sklearn.metrics import r2_score, root_mean_squared_error

    predicted, weight = model.predict(rows.X), rows.weight
    if weight is not None and not weight.any():
        weight = None
    if task == CLASSIFICATION:
        found = {"accuracy": float(np.average(rows.y == predicted, weights=weight))}
        if hasattr(model, "predict_proba"):
            found |= _of_probabilities(model, rows, weight)
        return found
    # The share of the variance that is explained needs a variance.
    has_variance = len(np.unique(rows.y)) > 1
    explained = r2_score(rows.y, predicted, sample_weight=weight) if has_variance else math.nan
    error = root_mean_squared_error(rows.y, predicted, sample_weight=weight)
    return {"R²": float(explained), "RMSE": float(error)}


def _of_probabilities(model: Any, rows: Rows, weight: HostArray | None) -> dict[str, float]:
    """Scores of probabilities. The AUC of many classes is the mean of each against the others."""
    from sklearn.metrics import roc_auc_score

    shares, classes = model.predict_proba(rows.X), model.classes_
    area = math.nan
    if len(np.unique(rows.y)) == len(classes) > 1 and np.isin(rows.y, classes).all():
        of = shares[:, 1] if len(classes) == 2 else shares
        area = float(roc_auc_score(rows.y, of, sample_weight=weight, multi_class="ovr"))
    losses = log_losses(shares, classes, rows.y)
    return {"AUC": area, "log loss": float(np.average(losses, weights=weight))}


def log_losses(shares: HostArray, classes: HostArray, y: HostArray) -> HostArray:
    """The log loss of each row; a class that the training did not have had no chance."""
    at = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    share = np.where(classes[at] == y, shares[np.arange(len(y)), at], 0.0)
    return np.asarray(-np.log(np.maximum(share, LEAST_SHARE)))


def fold_scores(
    make: Callable[[], Any], rows: Rows, task: str, n_folds: int, seed: int, output: Output
) -> dict[str, list[float]]:
    """The scores of each fold, by a model that has not seen it."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if n_folds > len(rows):
        raise ValueError(
            f"--folds {n_folds}: there are {count(len(rows), 'row')}; give at most as many folds"
        )
    by_class = task == CLASSIFICATION and np.unique(rows.y, return_counts=True)[1].min() >= n_folds
    cutter = (StratifiedKFold if by_class else KFold)(n_folds, shuffle=True, random_state=seed)
    found: dict[str, list[float]] = {}
    for at, (train, test) in enumerate(cutter.split(np.zeros(len(rows)), rows.y)):
        model = fit(make(), rows.take(train), output, f"fold {at + 1} of {n_folds}")
        with output.waiting(f"scoring fold {at + 1} of {n_folds}"):
            own = scores(model, rows.take(test), task)
        for name, value in own.items():
            found.setdefault(name, []).append(value)
    return found


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """The mean, and its standard error."""
    mean = float(np.mean(values))
    return mean, float(np.std(values, ddof=1) / math.sqrt(len(values)))


# What is printed


def score_text(name: str, value: float) -> str:
    """A score as it is printed."""
    if math.isnan(value):
        return "undefined"
    return f"{value:.4g}" if name in ("RMSE", "log loss") else f"{value:.3f}"


def score_lines(parts: dict[str, dict[str, float]]) -> list[tuple[str, str]]:
    """One line per score, with the rows it was measured on."""
    names = next(iter(parts.values()))
    return [
        (name, ", ".join(f"{score_text(name, part[name])} on {on}" for on, part in parts.items()))
        for name in names
    ]
