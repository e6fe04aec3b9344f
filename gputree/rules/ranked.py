"""Rules in a row, of which the first that covers a row answers: which of them are needed."""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.rules.coding import Swaps, list_bits, swaps_of, theory_bits
from gputree.runs import owners, spread_out

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
        self._n = np.diff(by_row.indptr).astype(np.int64)  # rules of each row
        self._begin = by_row.indptr[:-1].astype(np.int64)
        self._row = np.repeat(np.arange(len(number)), self._n)
        self._cover = cover
        self._answer, self._number, self._weight = answer, number, weight
        # What the last question was, and what is known of it.
        self._kept = np.zeros(len(answer), bool)
        self._default: int | None = None
        self._first = np.full(len(number), len(answer))
        self._second = self._first.copy()
        self._wrong = 0.0
        self._dropped, self._added = np.zeros(len(answer) + 1), np.zeros(len(answer))

    @property
    def n_rules(self) -> int:
        return len(self._answer)

    def swaps(self) -> Swaps:
        """The bits that tell an order of rules or rows."""
        return swaps_of(self._weight, self.n_rules)

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
        for row in self._news(kept, default):
            n = self._n[row]
            entries = self._rule[spread_out(self._begin[row], n)], owners(n)
            if self._default is not None:
                self._count(row, *entries, -1.0)
            self._kept, self._default = kept.copy(), default
            self._match(row, *entries)
            self._count(row, *entries, 1.0)
        return self._wrong, np.where(kept, self._dropped[:-1], self._added)

    def _news(self, kept: HostArray, default: int) -> list[HostArray]:
        """The rows whose matches may be others than at the last question, if there are any.

        Sums of whole weights are exact, so that only these rows need to be counted anew.
        """
        if default != self._default:
            return [np.arange(len(self._number))]
        changed = np.flatnonzero(kept != self._kept)
        if len(changed) == 1:
            # Only the first and the second rule of a row have a say.
            row = self._rows_of(int(changed[0]))
            return [row[changed[0] <= self._second[row]]]
        return [np.unique(self._cover[changed].indices).astype(np.int64)] if changed.size else []

    def _rows_of(self, rule: int) -> HostArray:
        """The rows that a rule covers, ascending."""
        begin, end = self._cover.indptr[rule], self._cover.indptr[rule + 1]
        return np.sort(self._cover.indices[begin:end]).astype(np.int64)

    def _count(self, row: HostArray, rule: HostArray, owner: HostArray, sign: float) -> None:
        """Add what some rows have to say, or take it away.

        The rules that cover the rows come with the place of each one's row among these.
        """
        assert self._default is not None
        answer = np.append(self._answer, self._default)
        weight, number, first = self._weight[row], self._number[row], self._first[row]
        wrong, then = (
            np.where(answer[m] != number, weight, 0.0) for m in (first, self._second[row])
        )
        self._wrong += sign * float(wrong.sum())
        change = np.bincount(first, then - wrong, minlength=self.n_rules + 1)
        self._dropped += sign * change
        # A rule would have the say where the first one comes after it.
        has_say = rule < first[owner]
        rule, owner = rule[has_say], owner[has_say]
        own = np.where(self._answer[rule] != number[owner], weight[owner], 0.0)
        self._added += sign * np.bincount(rule, own - wrong[owner], minlength=self.n_rules)

    def _match(self, row: HostArray, rule: HostArray, owner: HostArray) -> None:
        """Find the first and the second rule for some rows; the number of rules for none."""
        there = self._kept[rule]
        rule, owner = rule[there], row[owner[there]]
        self._first[row] = self._second[row] = self.n_rules
        begins = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
        self._first[owner[begins]] = rule[begins]
        follows = np.append(False, begins[:-1] & ~begins[1:])[: len(owner)]
        self._second[owner[follows]] = rule[follows]


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
    swaps = ranked.swaps()

    def length(own: HostArray, count: HostArray, wrong: HostArray) -> HostArray:
        return theory_bits(own, count, swaps) + list_bits(total, wrong, n_classes, swaps)

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
