"""Predictions of the CPU backend: how one tree is walked, and how many are.

Trees of thresholds are walked together by codes. Others are walked by their values: those that
look categories up, may stop rows, or have more thresholds than 16 bits can number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gputree.arrays import to_numpy
from gputree.backends.cpu.binning import as_matrix, floats, readable
from gputree.backends.cpu.rows import LEAST_ROWS
from gputree.backends.cpu.workers import Workers
from gputree.backends.door import check_outputs, check_tree_walk, check_walk
from gputree.data.table import Table, whole_matrix
from gputree.dtypes import STAY, HostArray
from gputree.kernels.cpu import predict, predict_many
from gputree.runs import begins, owners, within
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

MOST_CUTS = int(predict_many.HIGHEST) - 1  # of a feature; its codes are 0 .. n_cuts, or HIGHEST
MOST_COLUMNS = int(predict_many.COLUMN) + 1
MOST_NEAR = 4096  # words of a tree that leave room for codes in the cache nearest to a core


def is_loaded(n_trees: int) -> bool:
    """Whether kernels that walk so many trees have been compiled, or loaded, in this process."""
    many = predict_many.sum_leaves, predict_many.walked_sum_leaves, predict_many.leaves_of
    kernels = (predict.apply, predict.walk) if n_trees == 1 else many
    return any(getattr(kernel, "signatures", True) for kernel in kernels)


def apply(workers: Workers, tree: Tree, table: Table) -> HostArray:
    """Where each row ends in one tree."""
    check_tree_walk(tree, table)
    leaf = np.zeros(table.n_rows, np.int64)
    if tree.n_nodes == 1:
        return leaf
    matrix, place = _matrix(table, tree.tested)
    column = place[tree.feature].astype(np.int32)
    args = [matrix, column, tree.threshold, tree.missing_slot, tree.first_child]
    kernel = predict.apply
    if _needs_values(tree):
        kernel = predict.walk
        args += [tree.n_children, tree.category_start, tree.category, tree.category_slot]
    workers.run(kernel, table.n_rows, *args, leaf, least=LEAST_ROWS)
    return leaf


def leaves_of(workers: Workers, stack: Stack, table: Table) -> HostArray:
    """Where each row ends in each tree, (rows, trees)."""
    leaf = np.zeros((table.n_rows, stack.n_trees), np.int32)
    for part, matrix, place in _parts(stack, table):
        kernels = predict_many.leaves_of, predict_many.walked_leaves_of
        own = leaf[:, part.first_tree : part.first_tree + len(part.root)]
        _run(workers, kernels, part, matrix, place, own)
    return leaf


def sum_leaves(workers: Workers, stack: Stack, table: Table, start: HostArray) -> HostArray:
    """The sum of the values of the leaves of each row, (rows, outputs)."""
    check_outputs(stack, len(start))
    total = np.tile(np.asarray(start, np.float64), (table.n_rows, 1))
    for part, matrix, place in _parts(stack, table):
        kernels = predict_many.sum_leaves, predict_many.walked_sum_leaves
        own = slice(part.first_tree, part.first_tree + len(part.root))
        added = stack.root[own], stack.value, stack.column[own]
        _run(workers, kernels, part, matrix, place, *added, total)
    return total


@dataclass(frozen=True)
class CodedTrees:
    """Neighbouring trees that only compare with thresholds."""

    first_tree: int
    root: HostArray  # (trees,) in `word`
    word: HostArray  # (nodes and gaps,)
    number: HostArray  # (nodes and gaps,) the node of each word in its tree
    least_depth: HostArray  # (trees,) of a leaf
    feature: HostArray  # (columns,)
    is_high: HostArray  # (columns,) whether missing values lie above all others, not below
    first_cut: HostArray  # (columns,) in `cut`
    n_steps: HostArray  # (columns,) of a search among 2 ** n_steps - 1 cuts
    cut: dict[str, HostArray]  # by the dtype of the values

    @property
    def block(self) -> int:
        """Rows that walk together."""
        largest = int(np.diff(self.root, append=len(self.word)).max())
        return predict_many.BLOCK_ROWS if largest <= MOST_NEAR else predict_many.LARGE_BLOCK_ROWS

    def arguments(self, place: HostArray, dtype: Any) -> tuple[Any, ...]:
        feature, cut = place[self.feature], self.cut[np.dtype(dtype).str[1:]]
        columns = feature, self.is_high, self.first_cut, self.n_steps, cut
        return self.block, columns, self.word, self.number, self.root, self.least_depth


@dataclass(frozen=True)
class Walked:
    """Neighbouring trees, one of which at least needs the values themselves."""

    first_tree: int
    root: HostArray  # (trees,)
    feature: HostArray  # (nodes,)
    others: tuple[HostArray, ...]  # (nodes,) what `predict.walk` asks for beside the columns
    block = predict_many.BLOCK_ROWS

    def arguments(self, place: HostArray, dtype: Any) -> tuple[Any, ...]:
        return (place[self.feature], *self.others), self.root


# Kept as long as the stack is, since a model predicts many times.
_PACKED: WeakKeyDictionary[Stack, list[CodedTrees | Walked]] = WeakKeyDictionary()
_NEEDS_VALUES: WeakKeyDictionary[Tree, bool] = WeakKeyDictionary()


def _parts(
    stack: Stack, table: Table
) -> Iterator[tuple[CodedTrees | Walked, HostArray, HostArray]]:
    """The parts of a stack, and the values they are about to see."""
    check_walk(stack, table)
    if stack not in _PACKED:
        _PACKED[stack] = list(_pack(stack))
    feature = stack.joined("feature")
    used = np.unique(feature[feature >= 0])
    if not used.size:
        used = np.zeros(1, np.int64)  # nobody looks at it
    matrix, place = _matrix(table, used)
    for part in _PACKED[stack]:
        yield part, matrix, place


def _run(
    workers: Workers,
    kernels: tuple[Any, Any],
    part: CodedTrees | Walked,
    matrix: HostArray,
    place: HostArray,
    *args: Any,
) -> None:
    """Call the kernel for coded trees or the one for others."""
    kernel = kernels[isinstance(part, Walked)]
    given = part.arguments(place, matrix.dtype)
    workers.run(kernel, len(matrix), matrix, *given, *args, least=part.block)


def matrix_of(table: Table) -> HostArray:
    """All values as a matrix (rows, features)."""
    return _matrix(table, np.arange(table.n_features))[0]


def _matrix(table: Table, used: HostArray) -> tuple[HostArray, HostArray]:
    """A matrix (rows, columns) of values, and the column of each feature that is used."""
    place = np.arange(table.n_features)
    whole = whole_matrix(table.columns)
    if whole is not None:
        return readable(to_numpy(whole)), place
    if all(column.categories is None for column in table.columns):
        matrix = as_matrix([floats(column) for column in table.columns])
        if matrix is not None:
            return matrix, place
    place[used] = np.arange(len(used))
    chosen = [floats(table.columns[feature]) for feature in used.tolist()]
    return readable(np.stack(chosen, axis=1)), place


def _needs_values(tree: Tree) -> bool:
    found = _NEEDS_VALUES.get(tree)
    if found is None:
        found = bool((tree.category_start >= 0).any() or (tree.missing_slot == STAY).any())
        _NEEDS_VALUES[tree] = found
    return found


def _pack(stack: Stack) -> Iterator[CodedTrees | Walked]:
    """Parts in the order of the trees."""
    is_walked = np.array([_needs_values(tree) for tree in stack.trees])
    bounds = [0, *(1 + np.flatnonzero(is_walked[1:] != is_walked[:-1])), stack.n_trees]
    for first, last in pairwise(bounds):
        if is_walked[first]:
            yield _walked(stack, int(first), int(last))
        else:
            yield from _coded(stack, int(first), int(last))


def _walked(stack: Stack, first: int, last: int) -> Walked:
    trees = stack.trees[first:last]
    names = "feature", "threshold", "missing_slot", "first_child", "n_children"
    feature, *others = (np.concatenate([getattr(tree, name) for tree in trees]) for name in names)
    root = stack.root[first:last]
    start, *lists = stack.quick_lists
    own = start[root[0] : root[0] + len(feature)]
    return Walked(first, root - root[0], feature, (*others, own, *lists))


def _coded(stack: Stack, first: int, last: int) -> Iterator[CodedTrees | Walked]:
    """Words of some trees; in two parts, if one has too many thresholds."""
    trees = stack.trees[first:last]
    feature, threshold, slot, child = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "threshold", "missing_slot", "first_child")
    )
    inner = np.flatnonzero(child >= 0)
    # Equal cuts of a feature get one number, in their order.
    by_cut = inner[_by_cut(feature[inner], threshold[inner])]
    is_new = np.ones(len(by_cut), bool)
    is_new[1:] = (feature[by_cut[1:]] != feature[by_cut[:-1]]) | (
        threshold[by_cut[1:]] != threshold[by_cut[:-1]]
    )
    used, n_cuts = np.unique(feature[by_cut[is_new]], return_counts=True)
    column_key, column_of = np.unique(2 * feature[inner] + slot[inner], return_inverse=True)
    if not inner.size:  # leaves alone; they look at a column, too, whatever it holds
        used, n_cuts, column_key = np.zeros((3, 1), np.int64)
    if n_cuts.max(initial=0) > MOST_CUTS or len(column_key) > MOST_COLUMNS:
        if last - first == 1:
            yield _walked(stack, first, last)
        else:
            middle = (first + last) // 2
            yield from _coded(stack, first, middle)
            yield from _coded(stack, middle, last)
        return
    column = np.zeros(len(feature), np.uint64)
    column[inner] = column_of
    number = np.full(len(feature), predict_many.HIGHEST, np.uint64)
    place = np.searchsorted(used, feature[by_cut])  # of its feature
    number[by_cut] = np.cumsum(is_new) - 1 - begins(n_cuts)[place]
    n_nodes = np.array([tree.n_nodes for tree in trees], np.int64)
    near = np.concatenate([_near(tree) for tree in trees])  # the place of each node
    first_node, root = begins(n_nodes), begins(n_nodes + 1)  # a place after each root is empty
    tree_of = owners(n_nodes)
    below = near[np.where(child >= 0, child, 0) + first_node[tree_of]]
    below = np.where(child >= 0, below, near).astype(np.uint64)
    at = near + root[tree_of]
    word = np.zeros(int((n_nodes + 1).sum()), np.uint64)
    word[at] = below << predict_many.CHILD_BITS | number << predict_many.NUMBER_BITS | column
    number_of = np.zeros(len(word), np.int32)
    number_of[at] = within(n_nodes)
    n_steps = np.ceil(np.log2(n_cuts + 1)).astype(np.int64)
    first_cut = begins(1 << n_steps)
    cut = np.full(int((1 << n_steps).sum()), np.inf)
    cut[(first_cut[place] + number[by_cut].astype(np.int64))[is_new]] = threshold[by_cut[is_new]]
    own = np.searchsorted(used, column_key // 2)
    yield CodedTrees(
        first,
        root,
        word,
        number_of,
        np.array([tree.depth[tree.is_leaf].min() for tree in trees]),
        column_key // 2,
        column_key % 2 == 1,
        first_cut[own],
        n_steps[own],
        {"f8": cut, "f4": _rounded_down(cut)},
    )


def _by_cut(feature: HostArray, threshold: HostArray) -> HostArray:
    """An order by feature and then by threshold; sorting by one key at a time is much quicker."""
    order = np.argsort(feature, kind="stable")
    bounds = [*np.flatnonzero(np.diff(feature[order], prepend=-1)), len(order)]
    for first, last in pairwise(bounds):
        own = order[first:last]
        order[first:last] = own[np.argsort(threshold[own])]
    return order


def _near(tree: Tree) -> HostArray:
    place = np.empty(tree.n_nodes, np.int64)
    predict_many.lay_out(tree.first_child, tree.n_rows, place)
    return place


def _rounded_down(cut: HostArray) -> HostArray:
    """The float32 below or at each cut: the same float32 values are above both."""
    with np.errstate(over="ignore"):
        near = cut.astype(np.float32)
        return np.where(near > cut, np.nextafter(near, np.float32(-np.inf)), near)
