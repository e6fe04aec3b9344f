"""What the contract says of rows of a boosted model: at its leaves, and those that are watched."""

from collections.abc import Sequence
from typing import Protocol

from gputree.dtypes import HostArray
from gputree.kernels.losses import Loss
from gputree.tree.tree import Tree


class Residuals(Protocol):
    """What the rows of a tree are off by, asked for by its nodes."""

    def quantile(self, share: float) -> HostArray:
        """The weighted quantile of the rows that end at each node; 0 where none do."""
        ...

    def clipped_mean(self, most: float) -> HostArray:
        """The median, moved by the mean of what is left once it is clipped; 0 where no rows end."""
        ...


class Watched(Protocol):
    """Some rows whose loss is watched while a model grows."""

    def mean_loss(self, loss: Loss) -> float:
        """Their mean loss at the predictions so far."""
        ...


class Other(Watched, Protocol):
    """Rows of another table than that of a fit, which no tree sees."""

    def add(self, trees: Sequence[Tree]) -> None:
        """Add the trees of a round, one an output, to their predictions."""
        ...

    def predictions(self) -> HostArray:
        """What trees add up to, (outputs, rows)."""
        ...
