"""Rules in a row, of which the first that covers a row answers: which of them are needed."""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.rules.coding import list_bits, theory_bits

LEAST_SAVED = 1e-6  # bits: what rounding saves is nothing


class Ranked:
    """Rules in their order, with the rows that they cover.

    Parameters
    ----------
    cover : sparse (rules, rows) matrix of ones
        Which rules cover which rows.
    answer : (rules,)
        The class that each rule answers with.
    number, weight : (rows,)
        The class of each row, and its weight.
    """

    def __init__(self, cover: Any, answer: HostArray, number: HostArray, weight: HostArray) -> None:
        by_row = cover.tocsc()
        by_row.sort_indices()
        self._rule = by_row.indices.astype(np.int64)  # row after row, in their order
        self._row = np.repeat(np.arange(len(number)), np.diff(by_row.indptr))
        self._answer, self._number, self._weight = answer, number, weight

    @property
    def n_rules(self) -> int:
        return len(self._answer)

    def default(self, kept: HostArray) -> int:
        """The largest class of the rows that no rule covers, or of all."""
        is_open = np.ones(len(self._number), bool)
        is_open[self._row[kept[self._rule]]] = False
        if not is_open.any():
            is_open[:] = True
        return int(np.bincount(self._number[is_open], self._weight[is_open]).argmax())

    def wrong(self, kept: HostArray, default: int) -> tuple[float, HostArray]:
        """The weight of rows that some rules get wrong, and how that changes with each rule.

        What changes is that a rule is left out, or added, if it is not one of them.
        """
        first, second = self._matches(kept)
        answer = np.append(self._answer, default)
        wrong, then = (
            np.where(answer[m] != self._number, self._weight, 0.0) for m in (first, second)
        )
        dropped = np.bincount(first, then - wrong, minlength=self.n_rules + 1)[:-1]
        # A rule would have the say where the first one comes after it.
        has_say = self._rule < first[self._row]
        rule, row = self._rule[has_say], self._row[has_say]
        own = np.where(self._answer[rule] != self._number[row], self._weight[row], 0.0)
        added = np.bincount(rule, own - wrong[row], minlength=self.n_rules)
        return float(wrong.sum()), np.where(kept, dropped, added)

    def _matches(self, kept: HostArray) -> tuple[HostArray, HostArray]:
        """The first and the second of some rules for each row; the number of rules for none."""
        there = kept[self._rule]
        rule, row = self._rule[there], self._row[there]
        first = np.full(len(self._number), self.n_rules)
        second = first.copy()
        begins = np.append(True, row[1:] != row[:-1])[: len(row)]
        first[row[begins]] = rule[begins]
        follows = np.append(False, begins[:-1] & ~begins[1:])[: len(row)]
        second[row[follows]] = rule[follows]
        return first, second


def without_harmful(ranked: Ranked, kept: HostArray) -> HostArray:
    """Which of some rules to keep: those go, one by one, without which fewer rows are wrong."""
    kept, default = kept.copy(), ranked.default(kept)
    while kept.any():
        more = np.where(kept, ranked.wrong(kept, default)[1], np.inf)
        worst = int(more.argmin())
        if more[worst] >= 0:
            break
        kept[worst] = False
    return kept


def shortest(
    ranked: Ranked, bits: HostArray, total: float, n_classes: int, starts: list[HostArray]
) -> HostArray:
    """Which rules to keep, so that they and the rows that they get wrong take the fewest bits.

    From each of some sets, rules are added and dropped one at a time while that saves bits.
    """

    def length(own: HostArray, count: HostArray, wrong: HostArray) -> HostArray:
        return theory_bits(own, count) + list_bits(total, wrong, n_classes)

    def climbed(kept: HostArray) -> tuple[float, HostArray]:
        kept, default = kept.copy(), ranked.default(kept)
        shortest_yet = np.inf
        while True:
            wrong, more = ranked.wrong(kept, default)
            own, count = bits[kept].sum(), kept.sum()
            now = float(length(own, count, np.asarray(wrong)))
            if now > shortest_yet - LEAST_SAVED:  # another default has not helped
                return now, kept
            sign = np.where(kept, -1, 1)
            lengths = length(own + sign * bits, count + sign, wrong + more)
            best = int(lengths.argmin()) if len(lengths) else -1
            if best >= 0 and lengths[best] <= now - LEAST_SAVED:
                kept[best] = not kept[best]
            else:
                shortest_yet, default = now, ranked.default(kept)

    return min((climbed(start) for start in starts), key=lambda climb: climb[0])[1]
