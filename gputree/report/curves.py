"""Curves of a classifier: ROC, precision and recall, calibration; and its confusions.

Knows answers; must not know models.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.report.answers import UNSEEN, ClassAnswers
from gputree.report.intervals import wilson_bounds
from gputree.report.plain import number, numbers, thinned

MOST_CURVES = 6  # classes that are still told apart in one chart
MOST_CONFUSED = 20  # classes with a row of their own in the table
N_GROUPS = 10  # of predictions, to compare with what came true
OTHERS = "all others"
NOT_KNOWN = "not in training"


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows by descending score; rows of one score belong together."""

    group: HostArray  # (rows,) number of the row's score, the highest 0
    is_positive: HostArray  # (rows,)
    score: HostArray  # (scores,) descending

    def passed(self, weight: HostArray | None = None) -> tuple[HostArray, HostArray]:
        """Weights of positive and of negative rows down to each score."""
        n = len(self.score)
        own = np.ones(len(self.group)) if weight is None else weight
        positive = np.bincount(self.group, own * self.is_positive, minlength=n)
        every = np.bincount(self.group, own, minlength=n)
        return np.cumsum(positive), np.cumsum(every - positive)


def ranked(score: HostArray, is_positive: HostArray) -> Ranked:
    """Put rows in the order of their scores."""
    value, group = np.unique(-score, return_inverse=True)
    return Ranked(group, is_positive, -value)


def roc_area(rows: Ranked, weight: HostArray | None = None) -> float:
    """The area under the ROC curve; NaN with rows of one side only."""
    hit, miss = (np.append(0.0, each) for each in rows.passed(weight))
    if hit[-1] <= 0 or miss[-1] <= 0:
        return float("nan")
    return float(np.trapezoid(hit, miss) / (hit[-1] * miss[-1]))


def average_precision(rows: Ranked, weight: HostArray | None = None) -> float:
    """The mean precision over the steps of recall; NaN without positive rows."""
    hit, miss = rows.passed(weight)
    if hit[-1] <= 0:
        return float("nan")
    gained = np.diff(hit, prepend=0.0)
    return float((gained * hit / np.maximum(hit + miss, 1e-300)).sum() / hit[-1])


def class_curves(answers: ClassAnswers) -> dict[str, Any]:
    """The curves of the second of two classes, or of each of a few against all others."""
    known = answers.known
    true, share = answers.true[known], answers.share[known]
    chosen = charted_classes(true, len(answers.names))
    found: dict[str, list[Any]] = {"roc": [], "precision_recall": [], "calibration": []}
    for one in chosen:
        is_own = true == one
        about = {"name": answers.names[one], "class": one, "share": number(is_own.mean())}
        rows = ranked(share[:, one], is_own)
        hit, miss = rows.passed()
        fall_out, recall = thinned(np.append(0.0, miss) / miss[-1], np.append(0.0, hit) / hit[-1])
        found["roc"].append(
            about
            | {"x": numbers(fall_out, 4), "y": numbers(recall, 4), "area": number(roc_area(rows))}
        )
        recall, precision = thinned(hit / hit[-1], hit / (hit + miss))
        found["precision_recall"].append(
            about
            | {
                "x": numbers(np.append(0.0, recall), 4),
                "y": numbers(np.append(precision[0], precision), 4),
                "area": number(average_precision(rows)),
            }
        )
        found["calibration"].append(about | calibration(share[:, one], is_own))
    return found | {"n_classes": len(answers.names), "n_charted": len(chosen)}


def charted_classes(true: HostArray, n_classes: int) -> list[int]:
    """Classes that have rows and others beside them: the second of two, or the most frequent."""
    count = np.bincount(true, minlength=n_classes)
    usable = [at for at in range(n_classes) if 0 < count[at] < len(true)]
    if n_classes == 2:
        return usable[-1:]
    return sorted(sorted(usable, key=lambda at: -count[at])[:MOST_CURVES])


def calibration(share: HostArray, is_own: HostArray) -> dict[str, Any]:
    """Groups of like predictions: what was predicted, and what came true."""
    value, place, count = np.unique(share, return_inverse=True, return_counts=True)
    group = place
    if len(value) > N_GROUPS:  # about as many rows in each, equal predictions together
        middle = (np.cumsum(count) - count / 2.0) / len(share)
        group = (middle * N_GROUPS).astype(np.int64)[place]
    n = np.bincount(group)
    used = n > 0
    hit = np.bincount(group, is_own)[used]
    mean = np.bincount(group, share)[used] / n[used]
    low, high = wilson_bounds(hit, n[used])
    gap = float((np.abs(mean - hit / n[used]) * n[used]).sum() / len(share))
    return {
        "x": numbers(mean, 4),
        "y": numbers(hit / n[used], 4),
        "low": numbers(low, 4),
        "high": numbers(high, 4),
        "n": n[used].tolist(),
        "gap": number(gap, 4),
    }


def confusion(answers: ClassAnswers) -> dict[str, Any]:
    """True classes by predicted ones; rare classes together where there are many."""
    n_classes = len(answers.names)
    names, true, said = list(answers.names), answers.true, answers.said
    if n_classes > MOST_CONFUSED:
        count = np.bincount(np.concatenate([true[true != UNSEEN], said]), minlength=n_classes)
        kept = np.sort(np.argsort(-count, kind="stable")[: MOST_CONFUSED - 1])
        place = np.full(n_classes + 1, len(kept))
        place[kept] = np.arange(len(kept))
        place[-1] = UNSEEN  # the last entry answers for UNSEEN
        true, said = place[true], place[said]
        names = [*(names[at] for at in kept.tolist()), OTHERS]
    rows = [*names, NOT_KNOWN] if answers.n_unseen else names
    cells = np.zeros((len(rows), len(names)), np.int64)
    np.add.at(cells, (true, said), 1)  # UNSEEN is -1: the last row
    return {"rows": rows, "columns": names, "count": cells.tolist()}
