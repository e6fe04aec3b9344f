"""Put rules in a row: class after class, the one that is least often wrong first."""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray


def by_false_positives(
    cover: Any, answer: HostArray, limit: HostArray, number: HostArray, weight: HostArray
) -> HostArray:
    """The order of rules of all classes.

    The class comes first whose rules claim the least weight of other classes; then the next one, on
    the rows that are left. Within a class the rule with the lowest limit of its error comes first.
    """
    pending = np.unique(answer).tolist()
    is_open = np.ones(len(number), bool)
    covered = {each: np.asarray(cover[answer == each].sum(axis=0)).ravel() > 0 for each in pending}
    order: list[int] = []
    while pending:
        wrong = [weight[is_open & covered[each] & (number != each)].sum() for each in pending]
        chosen = pending.pop(int(np.argmin(wrong)))
        is_open &= ~covered[chosen]
        own = np.flatnonzero(answer == chosen)
        order += own[np.argsort(limit[own], kind="stable")].tolist()
    return np.array(order, np.int64)


def without_harmful(
    cover: Any, answer: HostArray, default: int, number: HostArray, weight: HostArray
) -> HostArray:
    """Which of the rules, in their order, to keep: those are dropped that cost more than they save.

    Without a rule the next one that covers a row answers, or the default does.
    """
    kept = np.ones(len(answer), bool)
    while kept.any():
        at = np.flatnonzero(kept)
        first, second = _two_matches(cover[at])
        answers = np.append(answer[at], default)
        is_wrong = [(answers[match] != number) * weight for match in (first, second)]
        saved = np.bincount(first, is_wrong[0] - is_wrong[1], minlength=len(at) + 1)[:-1]
        worst = int(saved.argmax())
        if saved[worst] <= 0:
            break
        kept[at[worst]] = False
    return kept


def _two_matches(cover: Any) -> tuple[HostArray, HostArray]:
    """The first and the second rule that cover each row; the number of rules where none does."""
    by_row = cover.tocsc()
    by_row.sort_indices()
    padded = np.append(by_row.indices, [cover.shape[0]] * 2)
    begin, end = by_row.indptr[:-1], by_row.indptr[1:]
    none = len(by_row.indices)
    first = padded[np.where(begin < end, begin, none)]
    second = padded[np.where(begin + 1 < end, begin + 1, none)]
    return first, second
