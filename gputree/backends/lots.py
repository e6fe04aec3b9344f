"""Which rows take part in a round of boosting, drawn by lot: on the host."""

from dataclasses import dataclass

import numpy as np

from gputree import sampling
from gputree.comm import ALONE, Comm, total
from gputree.dtypes import HostArray


@dataclass(frozen=True, eq=False)
class Lots:
    """The rows that trees may see, and the number by which each is drawn."""

    n_rows: int
    inside: HostArray | None = None  # (rows,) those that trees may see; None: all
    rank: HostArray | None = None  # (rows,) their numbers; None: as they come
    weight: HostArray | None = None  # (rows,)
    comm: Comm = ALONE  # those who have other rows

    def drawn(self, seed: int, draw: int, share: float) -> HostArray | None:
        """Those that take part in a round, each with a chance of `share`; None for all.

        Where no row with a weight would be drawn, all take part that may.
        """
        if share == 1.0:
            return self.inside
        rank = np.arange(self.n_rows) if self.rank is None else self.rank
        drawn = sampling.taken(seed, draw, rank, share)
        if self.inside is not None:
            drawn &= self.inside
        counts = drawn if self.weight is None else drawn & (self.weight > 0)
        return drawn if total(self.comm, np.count_nonzero(counts)) else self.inside
