"""The trees of an ensemble: where rows end in them, what they answer, and each as an estimator."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from gputree import sampling
from gputree.arrays import to_numpy
from gputree.data.table import Column, Table
from gputree.dtypes import HostArray
from gputree.estimators.base import TreeEstimator
from gputree.estimators.parameters import TreeSeed
from gputree.fit.dataset import Dataset
from gputree.prediction import Walked
from gputree.pruning.report import PruningReport
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Member:
    """One tree, and the columns it was grown on."""

    tree: Tree
    columns: HostArray | None = None  # numbers of columns, None: all
    report: PruningReport | None = None
    params: dict[str, Any] | None = None  # of the fit that grew it, where a later one had others

    def of(self, table: Table) -> Table:
        """The columns of a table that the tree knows."""
        if self.columns is None:
            return table
        return Table(tuple(table.columns[at] for at in self.columns.tolist()), table.n_rows)

    @property
    def whole(self) -> Tree:
        """The tree with features numbered as in the whole table."""
        if self.columns is None:
            return self.tree
        number = np.append(self.columns, -1)  # a leaf tests feature -1
        feature, surrogate = number[self.tree.feature], number[self.tree.surrogate_feature]
        return replace(self.tree, feature=feature, surrogate_feature=surrogate)

    def importances(self, n_features: int) -> HostArray:
        """The share of each feature of the whole table in what the splits gained."""
        if self.columns is None:
            return self.tree.importances(n_features)
        own = self.tree.importances(len(self.columns))
        return np.bincount(self.columns, own, minlength=n_features)


class Members(list[Member]):
    """The trees of a fitted ensemble, which remember how they lie one after another."""

    _stack: Stack | None = None

    def stack(
        self, values: Callable[[Tree], HostArray], columns: Sequence[int] | None = None
    ) -> Stack:
        """The trees with what their nodes add to which output, put together at the first call."""
        if self._stack is None:
            self._stack = self.stacked(values, columns)
        return self._stack

    def stacked(
        self, values: Callable[[Tree], HostArray], columns: Sequence[int] | None = None
    ) -> Stack:
        """The same, put together anew."""
        trees = [member.whole for member in self]
        return Stack.of(trees, [values(tree) for tree in trees], columns)

    def __reduce__(self) -> tuple[type["Members"], tuple[list[Member]]]:
        """Copies put the trees together again."""
        return Members, (list(self),)


def walk(stem: TreeEstimator, members: Iterable[Member], table: Table) -> Iterator[Walked]:
    """Where the rows of a table end, tree by tree."""
    for member in members:
        yield stem._walk_table(member.tree, member.of(table), stem.missing_)


def answers(stem: TreeEstimator, members: Iterable[Member], table: Table) -> Iterator[HostArray]:
    """What each tree says of the rows: shares of classes, or means; (rows, outputs)."""
    members = list(members)
    for member, walked in zip(members, walk(stem, members, table), strict=True):
        yield walked.values(values_of(stem, member.tree))


def answers_in_parts(stem: TreeEstimator, member: Member, dataset: Dataset) -> HostArray:
    """What a tree says of the rows of a fit, wherever their values are."""
    return np.concatenate(
        [found for part in dataset.parts() for found in answers(stem, [member], part)]
    )


def values_of(stem: TreeEstimator, tree: Tree) -> HostArray:
    """What the nodes of a tree answer, (nodes, outputs)."""
    return tree.class_shares if hasattr(stem, "classes_") else tree.value


def rows_of(table: Table, row: HostArray) -> Table:
    """Some rows of a table on the host."""
    columns = (
        Column(each.name, each.kind, to_numpy(each.values)[row], each.categories)
        for each in table.columns
    )
    return Table(tuple(columns), len(row))


def remembering(members: Iterable[Member], old: TreeEstimator, new: TreeEstimator) -> list[Member]:
    """Trees of an earlier fit, with those of its parameters that the next one has otherwise."""
    now = new.get_params(deep=False)
    params = {
        name: value
        for name, value in old.get_params(deep=False).items()
        if name not in TreeEstimator.WHERE and repr(value) != repr(now.get(name))
    }
    # A tree that remembers an earlier fit was not grown by the last one.
    return [replace(each, params=(params | (each.params or {})) or None) for each in members]


class Estimators(Sequence[TreeEstimator]):
    """The trees as estimators, each made when it is asked for."""

    def __init__(
        self,
        stem: TreeEstimator,
        members: Sequence[Member],
        seed: int | None,
        numbers: Sequence[int] | None = None,
        n_outputs: int = 1,
    ) -> None:
        self._stem, self._members = stem, members
        self._seed = seed  # of the ensemble; None where nobody remembers
        self._numbers = range(len(members)) if numbers is None else numbers
        self._n_outputs = n_outputs  # that have a tree each in a round

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, at: int) -> TreeEstimator: ...
    @overload
    def __getitem__(self, at: slice) -> "Estimators": ...
    @overload
    def __getitem__(self, at: tuple[Any, Any]) -> Any: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, tuple):  # (round, output), as scikit-learn lists the trees of boosting
            place = np.arange(len(self)).reshape(-1, self._n_outputs)[at]
            return np.frompyfunc(self.__getitem__, 1, 1)(place)
        if isinstance(at, slice):
            return Estimators(self._stem, self._members[at], self._seed, self._numbers[at])
        member = self._members[at]
        one = copy.copy(self._stem)
        one.nodes_, one.pruning_report_ = member.tree, member.report
        for name, value in (member.params or {}).items():
            setattr(one, name, value)
        if self._seed is not None:
            one.random_state = TreeSeed(sampling.tree_seed(self._seed, self._numbers[at]))
        if member.columns is not None:
            one.schema_ = one.schema_.take(member.columns)
            one.n_features_in_ = len(member.columns)
            if hasattr(one, "feature_names_in_"):
                one.feature_names_in_ = one.feature_names_in_[member.columns]
        return one

    def __repr__(self) -> str:
        return f"{len(self)} x {self._stem!r}"
