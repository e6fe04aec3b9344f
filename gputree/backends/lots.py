"""Which rows take part in a round of boosting, drawn by lot: on the host."""

from dataclasses import dataclass

from gputree import sampling
from gputree.dtypes import HostArray


@dataclass(frozen=True, eq=False)
class Lots:
    """The rows that trees may see, and the number by which each is drawn."""

    n_rows: int
    inside: HostArray | None = None  # (rows,) those that trees may see; None: all
    rank: HostArray | None = None  # (rows,) their numbers; None: as they come
    weight: HostArray | None = None  # (rows,)

    def drawn(self, seed: int, draw: int, share: float) -> HostArray | None:
        """Those that take part in a round, each with a chance of `share`; None for all.

        Where no row with a weight would be drawn, all take part that may.
        """
        if share == 1.0:
            return self.inside
        drawn = sampling.taken(seed, draw, self.n_rows, share)
        if self.rank is not None:
            drawn = drawn[self.rank]
        if self.inside is not None:
            drawn &= self.inside
        counts = drawn if self.weight is None else drawn & (self.weight > 0)
        return drawn if counts.any() else self.inside
