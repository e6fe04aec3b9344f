"""What the contract says of finished trees: where rows end, what they add up to, and why."""

from typing import Protocol

from gputree.data.table import Table
from gputree.dtypes import Array, HostArray
from gputree.kernels.losses import Link
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree
from gputree.tree.walk import Walk


class Answering(Protocol):
    """The verbs by which models answer."""

    def apply(self, tree: Tree, table: Table) -> HostArray:
        """Where each row of a table of values ends: at a leaf, or at a node that cannot tell."""
        ...

    def leaves_of(self, stack: Stack, table: Table) -> HostArray:
        """The same for each tree of a stack, (rows, trees) int32; nodes by their numbers there."""
        ...

    def sum_leaves(self, stack: Stack, table: Table, start: HostArray) -> HostArray:
        """What each row adds up to, (rows, outputs) float64, from `start`, (outputs,), on.

        The values of the nodes where a row ends are added one by one in the order of the trees, so
        that the bits of the sum do not depend on who adds.
        """
        ...

    def answer(
        self,
        stack: Stack,
        table: Table,
        start: HostArray,
        divisor: float,
        label: HostArray | None,
        link: Link | None,
    ) -> Array | None:
        """The sums of `sum_leaves` over `divisor`, (rows, outputs), made and left where X is.

        With labels, numbers: that of each row's largest output, (rows,), the first of several; of
        one output, the second label above 0 and else the first. With a link, the shares of all
        classes or the number that it makes. None where X is on the host, or not one array.
        """
        ...

    def number_leaves(self, stack: Stack, table: Table) -> Array | None:
        """`leaves_of` as int64, made and left where X is; None as above."""
        ...

    def attribute(
        self, stack: Stack, table: Table, owner: HostArray, background: Table | None
    ) -> HostArray:
        """The Shapley values of each row, (rows, features, outputs): what its features add.

        A column of the table counts as the feature `owner[column]`. What is not known of a row is
        as in the rows of `background`, or goes by the weights of the branches. A row for which a
        node has no branch is divided by weight.
        """
        ...

    def walker(self, table: Table) -> Walk:
        """How rows of a table of values walk on from any node, for many walks on the host."""
        ...
