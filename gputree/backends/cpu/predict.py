"""Predictions of the CPU backend: how one tree is walked, and how many are.

Trees of thresholds are walked together by codes. Others are walked by their values: those that
look categories up, may stop rows, or have more thresholds than 16 bits can number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gputree.arrays import to_numpy
from gputree.backends.cpu import combined
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
LARGE_NODES = 2**16  # of a tree that is walked in its own arrays, not in copies beside others
# Of trees that are coded together, which takes room for a while; more in larger models, so that
# rows are not coded too often.
MOST_NODES, MOST_PARTS = 2**20, 8
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
    if tree.directions is not None:
        combined.leaves_of(
            workers, combined.stack_of(tree), _matrix(table, tree.read), leaf[:, None]
        )
        return leaf
    matrix, column_of = _matrix(table, tree.tested)
    column = column_of[tree.feature]
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
    if stack.combines:
        check_walk(stack, table)
        combined.leaves_of(workers, stack, _matrix(table, stack.tested), leaf)
        return leaf
    for part, matrix, column_of in _parts(stack, table):
        kernels = predict_many.leaves_of, predict_many.walked_leaves_of
        own = leaf[:, part.first_tree : part.first_tree + part.stack.n_trees]
        _run(workers, kernels, part, matrix, column_of, own)
    return leaf


def sum_leaves(workers: Workers, stack: Stack, table: Table, start: HostArray) -> HostArray:
    """The sum of the values of the leaves of each row, (rows, outputs)."""
    check_outputs(stack, len(start))
    total = np.tile(np.asarray(start, np.float64), (table.n_rows, 1))
    if stack.combines:
        check_walk(stack, table)
        combined.sum_leaves(workers, stack, _matrix(table, stack.tested), total)
        return total
    for part, matrix, column_of in _parts(stack, table):
        kernels = predict_many.sum_leaves, predict_many.walked_sum_leaves
        added = part.stack.root, part.stack.value, part.stack.column
        _run(workers, kernels, part, matrix, column_of, *added, total)
    return total


@dataclass(frozen=True)
class CodedTrees:
    """Neighbouring trees that only compare with thresholds."""

    first_tree: int
    stack: Stack
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

    def arguments(self, column_of: HostArray, dtype: Any) -> tuple[Any, ...]:
        feature, cut = column_of[self.feature], self.cut[np.dtype(dtype).str[1:]]
        columns = feature, self.is_high, self.first_cut, self.n_steps, cut
        return self.block, columns, self.word, self.number, self.root, self.least_depth


@dataclass(frozen=True)
class Walked:
    """Neighbouring trees, one of which at least needs the values themselves."""

    first_tree: int
    stack: Stack
    feature: HostArray  # (nodes,)
    others: tuple[HostArray, ...]  # (nodes,) what `predict.walk` asks for beside the columns
    block = predict_many.BLOCK_ROWS

    def arguments(self, column_of: HostArray, dtype: Any) -> tuple[Any, ...]:
        is_whole = np.array_equal(column_of, np.arange(len(column_of)))
        column = _read_only(self.feature if is_whole else column_of[self.feature])
        return (column, *self.others), self.stack.root


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
    # Where nothing is tested, nobody looks at the first column.
    matrix, column_of = _matrix(table, stack.tested if stack.tested.size else np.zeros(1, np.int64))
    for part in _PACKED[stack]:
        yield part, matrix, column_of


def _run(
    workers: Workers,
    kernels: tuple[Any, Any],
    part: CodedTrees | Walked,
    matrix: HostArray,
    column_of: HostArray,
    *args: Any,
) -> None:
    """Call the kernel for coded trees or the one for others."""
    kernel = kernels[isinstance(part, Walked)]
    given = part.arguments(column_of, matrix.dtype)
    workers.run(kernel, len(matrix), matrix, *given, *args, least=part.block)


def matrix_of(table: Table) -> HostArray:
    """All values as a matrix (rows, features)."""
    return _matrix(table, np.arange(table.n_features))[0]


def _matrix(table: Table, used: HostArray) -> tuple[HostArray, HostArray]:
    """A matrix (rows, columns) of values, and the column of each feature that is used."""
    column_of = np.arange(table.n_features, dtype=np.int32)
    whole = whole_matrix(table.columns)
    if whole is not None:
        return readable(to_numpy(whole)), column_of
    if all(column.categories is None for column in table.columns):
        matrix = as_matrix([floats(column) for column in table.columns])
        if matrix is not None:
            return matrix, column_of
    column_of[used] = np.arange(len(used))
    chosen = [floats(table.columns[feature]) for feature in used.tolist()]
    return readable(np.stack(chosen, axis=1)), column_of


def _needs_values(tree: Tree) -> bool:
    found = _NEEDS_VALUES.get(tree)
    if found is None:
        found = bool((tree.category_start >= 0).any() or (tree.missing_slot == STAY).any())
        _NEEDS_VALUES[tree] = found
    return found


def _pack(stack: Stack) -> Iterator[CodedTrees | Walked]:
    """Parts in the order of the trees. A large tree that is walked as it is has its own part."""
    n_nodes = np.array([tree.n_nodes for tree in stack.trees])
    is_walked = np.array([_needs_values(tree) for tree in stack.trees])
    is_alone = is_walked & (n_nodes > LARGE_NODES)
    is_first = (is_walked[1:] != is_walked[:-1]) | is_alone[1:] | is_alone[:-1]
    most = max(MOST_NODES, int(n_nodes.sum()) // MOST_PARTS)
    for first, last in pairwise([0, *(1 + np.flatnonzero(is_first)).tolist(), stack.n_trees]):
        part = stack.part(first, last)
        if is_walked[first]:
            yield _walked(first, part)
        else:
            yield from _coded(first, part, most)


def _walked(first: int, stack: Stack) -> Walked:
    """Some trees, in their own arrays where there is only one."""
    names = "feature", "threshold", "missing_slot", "first_child", "n_children"
    start, *lists = stack.quick_lists
    start = start.astype(np.int32 if len(lists[1]) < 2**31 else np.int64)
    feature, *others = map(_read_only, (*map(stack.joined, names), start, *lists))
    return Walked(first, stack, feature, tuple(others))


def _read_only(array: HostArray) -> HostArray:
    """Like the arrays of a tree, so that kernels are compiled once."""
    view = array.view()
    view.setflags(write=False)
    return view


def _coded(first: int, stack: Stack, most: int) -> Iterator[CodedTrees | Walked]:
    """Words of some trees; in two parts if they have more nodes, or one has too many thresholds."""
    trees, half = stack.trees, stack.n_trees // 2
    halves = (first, stack.part(0, half)), (first + half, stack.part(half, stack.n_trees))
    n_nodes = np.array([tree.n_nodes for tree in trees], np.int64)
    if half and n_nodes.sum() > most:
        for its_first, part in halves:
            yield from _coded(its_first, part, most)
        return
    feature, threshold, slot, child = map(
        stack.joined, ("feature", "threshold", "missing_slot", "first_child")
    )
    inner = np.flatnonzero(child >= 0)
    by_cut, is_new = _in_order(inner, feature, threshold)
    used, n_cuts = np.unique(feature[by_cut[is_new]], return_counts=True)
    column_key, column_of = np.unique(2 * feature[inner] + slot[inner], return_inverse=True)
    if not inner.size:  # leaves alone; they look at a column, too, whatever it holds
        used, n_cuts, column_key = np.zeros((3, 1), np.int64)
    if n_cuts.max(initial=0) > MOST_CUTS or len(column_key) > MOST_COLUMNS:
        if not half:
            yield _walked(first, stack)
        for its_first, part in halves if half else ():
            yield from _coded(its_first, part, most)
        return
    column = np.zeros(len(feature), np.uint64)
    column[inner] = column_of
    number = np.full(len(feature), predict_many.HIGHEST, np.uint64)
    owner = np.searchsorted(used, feature[by_cut])  # of its feature
    number[by_cut] = np.cumsum(is_new) - 1 - begins(n_cuts)[owner]
    root, word, number_of = _packed(trees, child, number, column)
    n_steps = np.ceil(np.log2(n_cuts + 1)).astype(np.int64)
    first_cut = begins(1 << n_steps)
    cut = np.full(int((1 << n_steps).sum()), np.inf)
    cut[(first_cut[owner] + number[by_cut].astype(np.int64))[is_new]] = threshold[by_cut[is_new]]
    own = np.searchsorted(used, column_key // 2)
    yield CodedTrees(
        first,
        stack,
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


def _in_order(
    inner: HostArray, feature: HostArray, threshold: HostArray
) -> tuple[HostArray, HostArray]:
    """Nodes in the order of their cuts; equal cuts of a feature have one number, that of the first.

    The second array tells which ones are first.
    """
    by_cut = inner[_by_cut(feature[inner], threshold[inner])]
    is_new = np.ones(len(by_cut), bool)
    is_new[1:] = (feature[by_cut[1:]] != feature[by_cut[:-1]]) | (
        threshold[by_cut[1:]] != threshold[by_cut[:-1]]
    )
    return by_cut, is_new


def _packed(
    trees: Sequence[Tree], child: HostArray, number: HostArray, column: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """Where each tree begins, its nodes as words in the order of memory, and their numbers."""
    n_nodes = np.array([tree.n_nodes for tree in trees], np.int64)
    near = np.concatenate([_near(tree) for tree in trees])  # the position of each node
    first_node, root = begins(n_nodes), begins(n_nodes + 1)  # a position after each root is empty
    tree_of = owners(n_nodes)
    below = near[np.where(child >= 0, child, 0) + first_node[tree_of]]
    below = np.where(child >= 0, below, near).astype(np.uint64)
    at = near + root[tree_of]
    word = np.zeros(int((n_nodes + 1).sum()), np.uint64)
    word[at] = below << predict_many.CHILD_BITS | number << predict_many.NUMBER_BITS | column
    number_of = np.zeros(len(word), np.int32)
    number_of[at] = within(n_nodes)
    return root, word, number_of


def _by_cut(feature: HostArray, threshold: HostArray) -> HostArray:
    """An order by feature and then by threshold; sorting by one key at a time is much quicker."""
    order = np.argsort(feature, kind="stable")
    bounds = [*np.flatnonzero(np.diff(feature[order], prepend=-1)), len(order)]
    for first, last in pairwise(bounds):
        own = order[first:last]
        order[first:last] = own[np.argsort(threshold[own])]
    return order


def _near(tree: Tree) -> HostArray:
    position = np.empty(tree.n_nodes, np.int64)
    predict_many.lay_out(tree.first_child, tree.n_rows, position)
    return position


def _rounded_down(cut: HostArray) -> HostArray:
    """The float32 below or at each cut: the same float32 values are above both."""
    with np.errstate(over="ignore"):
        near = cut.astype(np.float32)
        return np.where(near > cut, np.nextafter(near, np.float32(-np.inf)), near)
