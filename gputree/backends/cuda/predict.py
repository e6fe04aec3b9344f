"""Where rows end, and what leaves add up to, on the device: some rows of a table at a time."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from gputree.backends.cuda import binning as cuda_binning
from gputree.backends.cuda.binning import CudaValues
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.watched import packed
from gputree.backends.door import check_outputs, check_walk
from gputree.data.table import Table, whole_matrix
from gputree.dtypes import STAY, Array, HostArray
from gputree.errors import OutOfMemory
from gputree.kernels.cuda import predict
from gputree.kernels.losses import Link
from gputree.tree.stack import Stack

LEAST_ROWS = 2**12  # that are predicted together

make_leaves_of = cache(predict.make_leaves_of)
make_sum_leaves = cache(predict.make_sum_leaves)
make_linked = cache(predict.make_linked)


def leaves_of(launches: Launches, stack: Stack, table: Table) -> HostArray:
    return _joined(
        [
            launches.device.download(leaf).reshape(stack.n_trees, n_rows)
            for n_rows, leaf in _leaves(launches, stack, table, 4 * stack.n_trees)
        ]
    )


def _leaves(
    launches: Launches, stack: Stack, table: Table, n_bytes: int
) -> Iterator[tuple[int, Array]]:
    """The leaves of blocks of so many rows, (trees, rows); a row's answer takes some bytes."""
    has_categories, used, nodes = nodes_of(launches, stack, table)
    kernel, dev = make_leaves_of(has_categories, STAY), launches.device
    for held in blocks(launches, table, used, n_bytes):
        leaf = dev.empty(stack.n_trees * held.n_rows, np.int32)
        args = stack.n_trees, held.n_rows, held.values, *nodes, leaf
        launches.over(kernel, held.n_rows, *args)
        yield held.n_rows, leaf


def sum_leaves(launches: Launches, stack: Stack, table: Table, start: HostArray) -> HostArray:
    return _joined(
        [
            launches.device.download(total).reshape(stack.n_outputs, n_rows)
            for n_rows, total in _sums(launches, stack, table, start, 8 * stack.n_outputs)
        ]
    )


def number_leaves(launches: Launches, stack: Stack, table: Table) -> Array | None:
    dev, n_trees = launches.device, stack.n_trees
    if not is_there(launches, table):
        return None
    found, first = dev.empty(n_trees * table.n_rows, np.int64), 0
    for n_rows, leaf in _leaves(launches, stack, table, 12 * n_trees):
        own = found[first * n_trees : (first + n_rows) * n_trees]
        launches.over(predict.turn_leaves, len(own), n_trees, n_rows, leaf, own)
        first += n_rows
    return dev.give(found, (table.n_rows, n_trees), np.int64)


def answer(
    launches: Launches,
    stack: Stack,
    table: Table,
    start: HostArray,
    divisor: float,
    label: HostArray | None,
    link: Link | None,
) -> Array | None:
    dev, n_outputs = launches.device, stack.n_outputs
    if not is_there(launches, table):
        return None
    kernel, n_each, given = predict.divide_sums, n_outputs, [divisor]
    if label is not None:
        kernel, n_each = predict.name_largest, 1
        given += dev.pack(label.astype(np.float64))
    elif link is not None:  # of what is added up, without a divisor
        kernel, given = make_linked(link.answer, link.raw is None), []
        n_each = 2 if link.raw is None and n_outputs == 1 else n_outputs
    found = dev.empty(n_each * table.n_rows, np.float64)
    first = 0
    # The sums of a block, and what they are in the end.
    for n_rows, total in _sums(launches, stack, table, start, 8 * (n_outputs + n_each)):
        own = found[first * n_each : (first + n_rows) * n_each]
        launches.over(kernel, len(own), n_outputs, n_rows, total, *given, own)
        first += n_rows
    if label is not None:
        return dev.give(found, (table.n_rows,), label.dtype)
    return dev.give(found, (table.n_rows, n_each), np.float64)


def is_there(launches: Launches, table: Table) -> bool:
    """Whether a table is one matrix on the device."""
    matrix = whole_matrix(table.columns)
    return matrix is not None and launches.device.has(matrix)


def nodes_of(launches: Launches, stack: Stack, table: Table) -> tuple[bool, HostArray, list[Array]]:
    """Whether categories are tested, the columns that are, and the trees on the device."""
    check_walk(stack, table)
    feature = stack.joined("feature")
    # Where all trees are leaves, a column is brought that nobody looks at.
    used = np.unique(feature[feature >= 0]) if (feature >= 0).any() else np.zeros(1, np.int64)
    nodes = packed(launches.device, stack, used)
    return bool((stack.category_start >= 0).any()), used, nodes


def blocks(launches: Launches, table: Table, used: HostArray, n_bytes: int) -> Iterator[CudaValues]:
    """Some columns of as many rows at a time as there is memory for.

    `n_bytes` is what the answer of a row takes.
    """
    free, n_rows = launches.device.free_bytes(), table.n_rows
    row_bytes = 8 * len(used) + n_bytes
    most = n_rows if free is None else free // (2 * row_bytes)
    if free is not None and most < min(n_rows, LEAST_ROWS):
        raise OutOfMemory(
            f"{LEAST_ROWS:,} rows need {LEAST_ROWS * row_bytes / 2**20:.1f} MiB on "
            f"{launches.device.name}, and {free / 2**20:.1f} MiB are free; use device='cpu'"
        )
    for first in range(0, n_rows, most):
        yield _held(launches, table, used, slice(first, first + most))


def _sums(
    launches: Launches, stack: Stack, table: Table, start: HostArray, n_bytes: int
) -> Iterator[tuple[int, Array]]:
    """What leaves add up to, (outputs, rows), for blocks of so many rows.

    `n_bytes` is what a row takes beside its values.
    """
    check_outputs(stack, len(start))
    has_categories, used, nodes = nodes_of(launches, stack, table)
    kernel, n_outputs = make_sum_leaves(has_categories, STAY), stack.n_outputs
    initial = np.asarray(start, np.float64)
    value, column, initial = launches.device.pack(stack.value, stack.column, initial)
    payload = stack.width, value, column, n_outputs, initial
    for held in blocks(launches, table, used, n_bytes):
        total = launches.device.empty(n_outputs * held.n_rows, np.float64)
        args = stack.n_trees, held.n_rows, held.values, *nodes, *payload, total
        launches.over(kernel, held.n_rows, *args)
        yield held.n_rows, total


def _held(launches: Launches, table: Table, used: HostArray, rows: slice) -> CudaValues:
    """Some columns of some rows."""
    matrix = whole_matrix(table.columns)
    if matrix is not None:
        found = cuda_binning.hold_rows(launches, matrix[rows], used)
        if found is not None:
            return found
    columns = (table.columns[at] for at in used.tolist())
    own = [replace(column, values=column.values[rows]) for column in columns]
    return cuda_binning.hold(launches, own)


def _joined(found: list[HostArray]) -> HostArray:
    """What blocks of rows have found, (rows, what each has)."""
    return np.concatenate(found, axis=1).T if len(found) > 1 else found[0].T
