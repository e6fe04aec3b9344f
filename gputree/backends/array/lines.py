"""The rows of small nodes, sorted by code one feature at a time, with running sums.

A matrix has one line per feature and one column per row of the table. Every line is sorted by node
and code, so that a node has the same columns in all lines, and the sum up to the end of a code is
the left child of a candidate. The cost follows the rows, not the codes.
"""

from typing import Any

from gputree.backends.array.libraries import Library
from gputree.backends.array.rows import CodedRows
from gputree.dtypes import Array, HostArray
from gputree.runs import begins

NARROW = 2**31  # keys below it are sorted as int32, in half the time


class Lines:
    """The sorted rows of some nodes.

    `left` and `total` have an entry a channel. What counts rows is the same in all lines, and has
    a single one.
    """

    def __init__(self, lib: Library, coded: CodedRows, row: Array, n_rows: HostArray) -> None:
        xp = lib.xp
        self._lib, self._coded = lib, coded
        self.n_rows, self.n_columns = n_rows, int(row.shape[0])
        self.start = begins(n_rows)  # (nodes,) the first column of each
        self.stride = int(coded.bins.n_codes.max())
        self.node = lib.segments(n_rows)  # (columns,)
        first = xp.take(lib.from_host(self.start), self.node)
        self.count = (lib.numbers(self.n_columns) + 1 - first)[None, :]  # rows of the node so far
        self.left: list[Array] = []  # (features or 1, columns) the node's sum so far
        self.total: list[Array] = []  # (nodes,)
        if coded.label is not None and coded.weight is None:
            self.cell = self._count_classes(row)  # (features, columns) node * stride + code
        else:
            self.cell = self._sum_values(row)

    def pick(self, matrix: Array, line: Array, column: Array) -> Array:
        """Single entries of a matrix; one with a single line has it for all."""
        at = line * matrix.shape[1] + column if matrix.shape[0] > 1 else column
        return self._lib.xp.take(self._lib.xp.reshape(matrix, (-1,)), at)

    def _count_classes(self, row: Array) -> Array:
        xp, n_classes = self._lib.xp, self._coded.target.channels.n_scored
        assert self._coded.label is not None
        cell, label = self._sorted(row, xp.take(self._coded.label, row), n_classes)
        for number in range(1, n_classes):
            is_own = label if n_classes == 2 else xp.astype(label == number, xp.int32)
            self._add(*self._running(is_own, xp.int32))
        # The first class has the rows that no other has.
        rest, total = xp.astype(self.count, xp.int32), self._lib.from_host(self.n_rows)
        for other, of_all in zip(self.left, self.total, strict=True):
            rest, total = rest - other, total - of_all
        self.left.insert(0, rest)
        self.total.insert(0, total)
        return cell

    def _sum_values(self, row: Array) -> Array:
        xp = self._lib.xp
        cell, column = self._sorted(row, self._lib.numbers(self.n_columns), self.n_columns)
        flat = xp.reshape(column, (-1,))
        for values in self._values(row):
            if values is None:
                self._add(self.count, self._lib.from_host(self.n_rows))
            else:
                values = xp.reshape(xp.take(values, flat), column.shape)
                self._add(*self._running(values, xp.int64))
        return cell

    def _add(self, left: Array, total: Array) -> None:
        self.left.append(left)
        self.total.append(total)

    def _values(self, row: Array) -> list[Array | None]:
        """What each row adds to each channel; None where it counts 1."""
        xp, coded = self._lib.xp, self._coded
        channels = coded.target.channels

        def whole(column: Array) -> Array:
            return xp.astype(xp.take(column, row), xp.int64)

        weight = None if coded.weight is None else whole(coded.weight)
        if coded.label is not None:
            label = xp.take(coded.label, row)
            values = [xp.where(label == c, weight, 0) for c in range(channels.n_scored)]
        else:
            assert coded.value is not None
            values = [weight]
            values += [whole(coded.value[output, ...]) for output in range(channels.n_scored)]
        return [*values, None] if channels.counts_rows else values

    def _sorted(self, row: Array, rider: Array, n_riders: int) -> tuple[Array, Array]:
        """The cells in order along each line, and the riders, which go with the rows."""
        xp = self._lib.xp
        bits = (n_riders - 1).bit_length()
        is_narrow = len(self.n_rows) * self.stride << bits <= NARROW
        dtype = xp.int32 if is_narrow else xp.int64
        apart = xp.astype((self.node * self.stride << bits) + rider, dtype)
        code = xp.astype(xp.take(self._coded.code, row, axis=1), dtype)
        # Keys tell all there is to tell, so equal ones may change places.
        key = xp.sort((code << bits) + apart[None, :], axis=1, stable=False)
        return key >> bits, key & ((1 << bits) - 1)

    def _running(self, values: Array, dtype: Any) -> tuple[Array, Array]:
        """The sum of each node's columns so far, along each line, and in all."""
        xp = self._lib.xp
        running = xp.cumulative_sum(values, axis=1, dtype=dtype)
        after = xp.take(running[0, :], self._lib.from_host(self.start + self.n_rows - 1))
        before = xp.concat([0 * after[:1], after[:-1]])
        total = xp.astype(after - before, xp.int64)
        return running - xp.take(before, self.node)[None, :], total
