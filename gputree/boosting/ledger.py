"""What is noted of each round: the loss of rows that it has seen, and of those it has left out."""

from collections.abc import Sequence

import numpy as np

from gputree.boosting.rounds import Rounds
from gputree.boosting.watch import Measure
from gputree.comm import total
from gputree.dtypes import HostArray
from gputree.progress import Progress

OFTEN = 10  # lines of a table, after which it shows every tenth of its rounds only


class Ledger:
    """The losses of a boosted model while it grows."""

    def __init__(self, rounds: Rounds, mean: Measure, weight: HostArray, n_kept: int) -> None:
        """`n_kept` rounds of an earlier fit have 0, unless their losses are known."""
        self._rounds, self._mean, self._weight = rounds, mean, weight
        self._seen = self._left_out = np.empty(0, np.int64)
        self._last: float | None = None  # loss out of bag
        self.train = [0.0] * n_kept
        self.out_of_bag = [0.0] * n_kept
        self.improvement = [0.0] * n_kept

    def go_on_from(self, out_of_bag: Sequence[float], improvement: Sequence[float]) -> None:
        """Take what an earlier fit has noted of its rounds."""
        self.out_of_bag, self.improvement = list(out_of_bag), list(improvement)
        self._last = self.out_of_bag[-1]

    def before(self, number: int) -> None:
        """Note where a round begins."""
        takes_part = self._weight > 0
        if self._rounds.lots.inside is not None:
            takes_part &= self._rounds.lots.inside
        seen = self._rounds.sample(number)
        seen = takes_part if seen is None else seen & takes_part
        self._seen, self._left_out = np.flatnonzero(seen), np.flatnonzero(takes_part & ~seen)
        if self._last is None:
            self._last = self._loss(self._left_out, self._rounds.predictions())

    def after(self) -> None:
        """Note where it ends."""
        raw = self._rounds.predictions()
        self.train.append(self._loss(self._seen, raw))
        loss = self._loss(self._left_out, raw)
        assert self._last is not None
        self.improvement.append(self._last - loss)
        self.out_of_bag.append(loss)
        self._last = loss

    def _loss(self, rows: HostArray, raw: HostArray) -> float:
        """The mean loss of some rows; NaN where there are none."""
        if not total(self._rounds.lots.comm, len(rows)):
            return np.nan
        return self._mean(self._rounds.y[rows], self._weight[rows], raw[:, rows])


class LossTable(Progress):
    """Lines of rounds, their losses and the time left, as scikit-learn prints them.

    Once ten lines are there, only every tenth round has one, unless all are asked for.
    """

    def __init__(self, n: int, n_before: int, n_outputs: int, *, all_rounds: bool) -> None:
        super().__init__("", n, is_shown=False, n_before=n_before)
        self._n_outputs, self._all_rounds = n_outputs, all_rounds
        self._every = 1
        self.ledger: Ledger | None = None
        self.has_out_of_bag = False

    def step(self, n: int = 1) -> None:
        """One more tree is done, or some more."""
        super().step(n)
        done = (self.n_done - self._n_before) // self._n_outputs
        if self.n_done % self._n_outputs or done % self._every or self.ledger is None:
            return
        if done == 1:
            print(self._line("Iter", "Train Loss", "OOB Improve", "Remaining Time"))
        number = self.n_done // self._n_outputs
        left = self.seconds_left
        time_left = f"{left / 60.0:.2f}m" if left > 60.0 else f"{left:.2f}s"
        train, fallen = self.ledger.train[number - 1], self.ledger.improvement[number - 1]
        print(self._line(str(number), f"{train:.4f}", f"{fallen:.4f}", time_left))
        if not self._all_rounds and done >= self._every * OFTEN:
            self._every *= OFTEN

    def _line(self, number: str, train: str, improvement: str, time_left: str) -> str:
        cells = [train, improvement, time_left] if self.has_out_of_bag else [train, time_left]
        return " ".join([f"{number:>10}", *(f"{cell:>16}" for cell in cells)])
