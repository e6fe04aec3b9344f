"""Rules in a row, and how rows of a table are matched with them.

Knows tables and words; must not know trees nor how rules were found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.inputs import read_table
from gputree.data.schema import Schema
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.rules.condition import Condition
from gputree.tree.describe import amount_text, label_text

Read: TypeAlias = Callable[[int], HostArray]  # the values of a column, by its number

BLOCK = 2**15  # rows matched at a time: what their conditions say stays in the cache


@dataclass(frozen=True)
class Rule:
    """A class that is predicted if all conditions are satisfied, and the rows it was counted on."""

    conditions: tuple[Condition, ...]
    answer: int  # the number of a class
    n_rows: float  # that it covers; not whole where a tree divided rows
    value: tuple[float, ...]  # their weight, by class

    @property
    def confidence(self) -> float:
        """The share that the answer has of the rows covered, by weight; 0 if there are none."""
        total = sum(self.value)
        return self.value[self.answer] / total if total > 0 else 0.0

    @property
    def shares(self) -> HostArray:
        """The share of each class; certain of the answer where nothing was counted."""
        value = np.array(self.value)
        if value.sum() > 0:
            return value / value.sum()
        return np.asarray(np.arange(len(value)) == self.answer, np.float64)


@dataclass(frozen=True)
class RuleSet:
    """Rules in their order, the columns they test, and the classes they predict.

    `print` shows one line per rule. `len`, iteration and indexing refer to rules.
    """

    rules: tuple[Rule, ...]
    schema: Schema
    classes: HostArray
    default: Rule | None = None  # the answer to rows that no rule covers; it has no conditions

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, at: int) -> Rule:
        return self.rules[at]

    def __str__(self) -> str:
        return self.text()

    @property
    def n_conditions(self) -> int:
        """The number of conditions of all rules; an interval counts as two."""
        return sum(len(rule.conditions) for rule in self.rules)

    def text(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        decimals: int = 2,
    ) -> str:
        """One line per rule, with the rows that it covers and the share of its class among them."""
        names = self.schema.names if feature_names is None else feature_names
        classes = self.classes if class_names is None else class_names
        lines = []
        for rule in self.rules:
            tests = [
                condition.text(self.schema, names[condition.feature], decimals)
                for condition in rule.conditions
            ]
            head = f"IF {' AND '.join(tests)} THEN" if tests else "ALWAYS"
            lines.append(f"{head} {_answer_text(rule, classes)}")
        if self.default is not None:
            lines.append(f"OTHERWISE {_answer_text(self.default, classes)}")
        return "\n".join(lines)

    def cover(self, X: Any) -> HostArray:
        """Which rules cover which rows of X, a (n_rows, n_rules) array of bools."""
        table = read_table(X, like=self.schema)
        covered = np.empty((table.n_rows, len(self)), bool)
        for begin, end, read in _blocks(table):
            met = Met(read, end - begin)
            for at, rule in enumerate(self.rules):
                covered[begin:end, at] = met.all(rule.conditions)
        return covered

    def first(self, X: Any) -> HostArray:
        """The number of the first rule that covers each row of X; `len(self)` if none does."""
        table = read_table(X, like=self.schema)
        found = np.full(table.n_rows, len(self), np.int64)
        for begin, end, read in _blocks(table):
            met, part = Met(read, end - begin), found[begin:end]
            # Backwards, so that the first rule has the last word.
            for at in range(len(self) - 1, -1, -1):
                np.putmask(part, met.all(self.rules[at].conditions), at)
        return found

    def counted(self, X: Any, y: Any) -> "RuleSet":
        """The same rules, counted on the rows of X with labels y."""
        covered = self.cover(X)
        number = self._numbers(y, len(covered))
        rules = []
        for rule, rows in zip(self.rules, covered.T, strict=True):
            value = np.bincount(number[rows], minlength=len(self.classes)).astype(float)
            rules.append(replace(rule, n_rows=float(rows.sum()), value=tuple(value.tolist())))
        return replace(self, rules=tuple(rules))

    def _numbers(self, y: Any, n_rows: int) -> HostArray:
        """The number of each label among the classes."""
        label = np.ravel(to_numpy(y))
        if len(label) != n_rows:
            raise ValueError(
                f"X has {n_rows} rows, y has {len(label)}; one label per row is needed"
            )
        place = {name: number for number, name in enumerate(self.classes.tolist())}
        unknown = [name for name in label.tolist() if name not in place]
        if unknown:
            raise ValueError(f"y holds {unknown[0]!r}, which is none of the classes of the rules")
        return np.array([place[name] for name in label.tolist()], np.int64)


class Met:
    """Which rows meet conditions; each condition is evaluated once."""

    def __init__(self, read: Read, n_rows: int) -> None:
        self._read, self._n_rows = read, n_rows
        self._columns: dict[int, HostArray] = {}
        self._known: dict[Condition, HostArray] = {}

    def one(self, condition: Condition) -> HostArray:
        """The rows that meet a condition."""
        if condition not in self._known:
            feature = condition.feature
            if feature not in self._columns:
                self._columns[feature] = np.ascontiguousarray(self._read(feature))
            self._known[condition] = condition.met(self._columns[feature])
        return self._known[condition]

    def all(self, conditions: Sequence[Condition]) -> HostArray:
        """The rows that meet every one of some conditions."""
        met = np.ones(self._n_rows, bool)
        for condition in conditions:
            met &= self.one(condition)
        return met


def _blocks(table: Table) -> Iterator[tuple[int, int, Read]]:
    """Some rows after others: from, to, and how to read them."""

    @cache
    def values(feature: int) -> HostArray:
        return to_numpy(table.columns[feature].values)

    for begin in range(0, table.n_rows, BLOCK):
        end = min(begin + BLOCK, table.n_rows)
        yield begin, end, partial(_part, values, begin, end)


def _part(values: Read, begin: int, end: int, feature: int) -> HostArray:
    return values(feature)[begin:end]


def _answer_text(rule: Rule, classes: Any) -> str:
    rows = amount_text(rule.n_rows)
    rows += " row" if rows == "1" else " rows"
    return f"{label_text(classes[rule.answer])} ({rows}, {rule.confidence:.1%})"
