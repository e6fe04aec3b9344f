"""Shapley values of a tree whose nodes test combinations of columns.

Whether a row takes a branch is a game of the columns that the node tests. Any game is a sum of
games in which some columns win together, and nobody wins without all of these. The product of two
such games is that of the union of their columns. So a row comes to a leaf by a sum of such games,
one for each union of what the nodes above test, and each game gives all of its columns the same.

- "path": a test is known where all of its columns are; a row goes down both branches otherwise, by
  their training weight.
- "interventional": columns that are not known have the values of another row, so that a combination
  is added up from the values of both.

Knows trees and tables; must not know estimators.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.explain.shap import Attribution, expected_at
from gputree.prediction import numbers
from gputree.tree.directions import added_up
from gputree.tree.tree import Tree
from gputree.tree.walk import decided

MOST_GAMES = 2**12  # on the way to a leaf, and of one test
PAIRS_AT_ONCE = 2**12  # of rows: each has a number in every game on the way to a leaf

Games = dict[int, HostArray]  # by the columns that win together, a bit each: what each row gets


@dataclass(frozen=True)
class Pairs:
    """Rows, each with another one that stands for what is not known; or without any."""

    table: Table
    row: HostArray  # (pairs,)
    others: Table | None = None
    other: HostArray | None = None  # (pairs,)

    def values(self, column: int, is_known: bool) -> HostArray:
        """The values of a column, of the rows or of the others, as nodes test them."""
        table, row = self._from(is_known)
        return to_numpy(table.columns[column].values)[row]

    def numbers(self, column: int, is_known: bool) -> HostArray:
        """The same as terms of a combination."""
        table, row = self._from(is_known)
        return numbers(table, row, column)

    def _from(self, is_known: bool) -> tuple[Table, HostArray]:
        if is_known:
            return self.table, self.row
        assert self.others is not None
        assert self.other is not None
        return self.others, self.other


def attributed(tree: Tree, value: HostArray, table: Table, others: Table | None) -> Attribution:
    """The Shapley values of the rows of a table, for leaves with `value` (nodes, outputs)."""
    found = np.zeros((table.n_rows, table.n_features, value.shape[1]))
    n_others = 1 if others is None else others.n_rows
    at_once = max(1, PAIRS_AT_ONCE // n_others)
    expected = expected_at(tree, value)
    if others is not None:
        expected = np.zeros(value.shape[1])
    for first in range(0, table.n_rows, at_once):
        rows = np.arange(first, min(first + at_once, table.n_rows))
        pairs = Pairs(table, rows)
        if others is not None:
            other = np.tile(np.arange(n_others), len(rows))
            pairs = Pairs(table, np.repeat(rows, n_others), others, other)
        for games, leaf in _leaves(tree, pairs):
            for columns, share in games.items():
                part = share.reshape(len(rows), n_others).mean(axis=1)[:, None] * value[leaf]
                members = _members(columns)
                for column in members:
                    found[rows, column] += part / len(members)
                if not members and others is not None:
                    expected = expected + part.sum(axis=0) / table.n_rows
    return Attribution(found, expected)


def _leaves(tree: Tree, pairs: Pairs) -> Iterator[tuple[Games, int]]:
    """The leaves, each with the games by which rows come to it."""
    share = tree.share
    pending: list[tuple[int, Games]] = [(0, {0: np.ones(len(pairs.row))})]
    while pending:
        node, games = pending.pop()
        if tree.is_leaf[node]:
            yield games, node
            continue
        first = int(tree.first_child[node])
        high = _test(tree, node, pairs, float(share[first + 1]))
        low = {columns: -game for columns, game in high.items()}
        low[0] = low.get(0, 0.0) + np.ones(len(pairs.row))
        pending += [(first, _product(games, low)), (first + 1, _product(games, high))]


def _product(games: Games, others: Games) -> Games:
    """The product of two sums of games."""
    found: Games = {}
    for columns, share in games.items():
        for more, part in others.items():
            union, product = columns | more, share * part
            if product.any():
                found[union] = found[union] + product if union in found else product
    if len(found) > MOST_GAMES:
        raise ValueError(
            f"the nodes on the way to a leaf test {len(found):,} sets of columns together, and "
            f"Shapley values are made of at most {MOST_GAMES:,}; fit with fewer max_terms or a "
            "smaller max_depth, prune the tree, or use DecisionTreeClassifier or "
            "DecisionTreeRegressor"
        )
    return found


def _test(tree: Tree, node: int, pairs: Pairs, share: float) -> Games:
    """The game that a row takes the second branch of a node, which has a share of the weight."""
    columns, weight = _terms(tree, node)
    if pairs.others is None:
        is_high = _is_high(tree, node, pairs, columns, weight, [True] * len(columns))
        return {0: np.full(len(pairs.row), share), _as_bits(columns): is_high - share}
    if 2 ** len(columns) > MOST_GAMES:
        raise ValueError(
            f"a node tests {len(columns)} columns together, and method='interventional' takes "
            f"them in all {2 ** len(columns):,} ways of knowing some of them; use method='path', "
            "or fit with fewer max_terms"
        )
    places = range(len(columns))
    ways = [
        _is_high(tree, node, pairs, columns, weight, [bool(way >> at & 1) for at in places])
        for way in range(2 ** len(columns))
    ]
    # What knowing a set of columns does, beyond what knowing the parts of it does.
    for at in places:
        for way in range(len(ways)):
            if way >> at & 1:
                ways[way] = ways[way] - ways[way ^ (1 << at)]
    return {
        _as_bits([column for at, column in enumerate(columns) if way >> at & 1]): game
        for way, game in enumerate(ways)
        if not way or game.any()
    }


def _is_high(
    tree: Tree,
    node: int,
    pairs: Pairs,
    columns: list[int],
    weight: HostArray | None,
    is_known: list[bool],
) -> HostArray:
    """Which rows take the second branch, 1 or 0, where some of the tested columns are known."""
    if weight is None:
        tested = pairs.values(columns[0], is_known[0])
    else:
        parts = zip(columns, is_known, strict=True)
        tested = added_up([pairs.numbers(column, known) for column, known in parts], weight)
    every = np.arange(len(tested))
    here = np.full(len(tested), node)
    slot = decided(tree, here, every, np.ones(len(tested), bool), lambda column: tested)
    return slot.astype(np.float64)


def _terms(tree: Tree, node: int) -> tuple[list[int], HostArray | None]:
    """The columns that a node tests, with their weights where there are several."""
    feature = int(tree.feature[node])
    if tree.directions is None or feature < tree.directions.n_columns:
        return [feature], None
    column, weight = tree.directions.terms(feature - tree.directions.n_columns)
    return column.tolist(), weight


def _as_bits(columns: list[int]) -> int:
    return sum(1 << column for column in columns)


def _members(columns: int) -> list[int]:
    return [at for at in range(columns.bit_length()) if columns >> at & 1]
