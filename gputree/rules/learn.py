"""From the leaves of a tree to a short list of rules, the way of C4.5."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from gputree.dtypes import HostArray
from gputree.pruning.confidence import error_limit
from gputree.rules import coding, select, simplify
from gputree.rules.condition import Condition
from gputree.rules.ranked import Ranked, shortest, without_harmful
from gputree.rules.rule_set import Rule, RuleSet

SELECTIONS = ("description_length", "greedy")


@dataclass(frozen=True)
class Sample:
    """The rows to learn from, all of a positive weight."""

    columns: Callable[[int], HostArray]  # the values of a column, by its number
    number: HostArray  # of the class of each row
    weight: HostArray
    n_classes: int

    def met(self, condition: Condition) -> HostArray:
        return condition.met(self.columns(condition.feature))

    def totals(self, covered: HostArray | None = None) -> HostArray:
        """The weight of each class, of all rows or of some."""
        some = slice(None) if covered is None else covered
        return np.bincount(self.number[some], self.weight[some], minlength=self.n_classes)


@dataclass(frozen=True)
class Candidates:
    """Rules to choose from, with what they cover."""

    conditions: list[tuple[Condition, ...]]
    answer: HostArray
    cover: csr_matrix  # (rules, rows) ones
    value: HostArray  # (rules, classes) weights

    def limit(self, confidence: float) -> HostArray:
        """The limit of each rule's error."""
        total = self.value.sum(axis=1)
        right = self.value[np.arange(len(self.answer)), self.answer]
        return error_limit(total, np.maximum(total - right, 0.0), confidence)

    def take(self, at: HostArray) -> "Candidates":
        """Some of the rules, by number or by mask, in the order given."""
        numbers = np.arange(len(self.answer))[at]
        return Candidates(
            [self.conditions[number] for number in numbers],
            self.answer[numbers],
            self.cover[numbers],
            self.value[numbers],
        )


def learn(leaves: RuleSet, sample: Sample, confidence: float, selection: str) -> RuleSet:
    """Shorten the rules of a tree, choose among them for each class, and put them in order."""
    found = _counted(_shortened(leaves, sample, confidence), sample)
    # Where most of the rows are of another class, a rule would be wrong more often than right.
    found = found.take(found.value.argmax(axis=1) == found.answer)
    # The rule that is most likely to be right has the first say.
    found = found.take(np.argsort(found.limit(confidence), kind="stable"))
    found = found.take(_selected(found, sample, selection))
    n_rows = np.diff(found.cover.indptr).tolist()
    parts = zip(found.conditions, found.answer.tolist(), n_rows, found.value.tolist(), strict=True)
    rules = tuple(
        Rule(conditions, answer, float(count), tuple(value))
        for conditions, answer, count, value in parts
    )
    return RuleSet(rules, leaves.schema, leaves.classes, _default(found, sample))


def _shortened(
    leaves: RuleSet, sample: Sample, confidence: float
) -> list[tuple[tuple[Condition, ...], int]]:
    """Conditions and answers of all different rules that still ask for something."""
    found: dict[tuple[frozenset[Condition], int], tuple[Condition, ...]] = {}
    rules = [rule for rule in leaves if rule.n_rows and rule.conditions]
    kept = simplify.needed((_shortening(rule, sample) for rule in rules), confidence)
    for rule, numbers in zip(rules, kept, strict=True):
        conditions = tuple(rule.conditions[number] for number in numbers)
        if conditions:
            found.setdefault((frozenset(conditions), rule.answer), conditions)
    return [(conditions, answer) for (_, answer), conditions in found.items()]


def _shortening(rule: Rule, sample: Sample) -> simplify.Shortening:
    unmet = np.stack([~sample.met(condition) for condition in rule.conditions])
    return simplify.Shortening(unmet, sample.number != rule.answer, sample.weight)


def _counted(rules: list[tuple[tuple[Condition, ...], int]], sample: Sample) -> Candidates:
    rows = []
    for conditions, _ in rules:
        met = [sample.met(condition) for condition in conditions]
        rows.append(np.flatnonzero(np.logical_and.reduce(met)).astype(np.int32))
    ends = np.cumsum([0, *map(len, rows)])
    row = np.concatenate([np.empty(0, np.int32), *rows])
    shape = (len(rules), len(sample.number))
    cover = csr_matrix((np.ones(len(row), np.int32), row, ends), shape=shape)
    is_of = np.zeros((len(sample.number), sample.n_classes))
    is_of[np.arange(len(is_of)), sample.number] = sample.weight
    answer = np.array([answer for _, answer in rules], np.int64)
    return Candidates([conditions for conditions, _ in rules], answer, cover, cover @ is_of)


def _selected(found: Candidates, sample: Sample, selection: str) -> HostArray:
    """Which rules to keep, chosen class by class and then for the list that they make."""
    kept = np.zeros(len(found.answer), bool)
    bits = coding.rule_bits(found.conditions)
    for each in np.unique(found.answer):
        own = np.flatnonzero(found.answer == each)
        is_class = sample.number == each
        if selection == "greedy":
            kept[own] = select.greedily(found.cover[own], is_class, sample.weight)
        else:
            kept[own] = select.by_description_length(
                found.cover[own], bits[own], is_class, sample.weight
            )
    ranked = Ranked(found.cover, found.answer, sample.number, sample.weight)
    if selection == "greedy":
        return without_harmful(ranked, kept)
    total = float(sample.weight.sum())
    return shortest(ranked, bits, total, sample.n_classes, [kept, np.ones(len(kept), bool)])


def _default(found: Candidates, sample: Sample) -> Rule:
    """The answer to rows that no rule covers: their largest class, or that of all rows."""
    is_left = np.asarray(found.cover.sum(axis=0)).ravel() == 0
    value = sample.totals(is_left if is_left.any() else None)
    return Rule((), int(value.argmax()), float(is_left.sum()), tuple(value.tolist()))
