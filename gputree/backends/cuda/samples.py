"""Samples of rows that are drawn on the device: nothing travels that has an entry a row."""

from functools import cached_property
from typing import Any

import numpy as np

from gputree import sampling
from gputree.backends.cuda.draws import Every
from gputree.backends.cuda.launch import Launches
from gputree.backends.cuda.plan import magnitude
from gputree.backends.cuda.sorting import sorted_by
from gputree.backends.cuda.targets import (
    ONE_UNIT,
    Amount,
    CudaTarget,
    amount_of,
    label_of,
    point_of,
    some,
)
from gputree.backends.samples import Samples
from gputree.data.target import Target, drawn_units, factor_units, without_weights
from gputree.dtypes import SUM, Array, HostArray
from gputree.kernels.cuda import samples as kernels
from gputree.kernels.cuda.samples import LARGEST_COUNT, MAGNITUDE, N_FOUND, N_INSIDE, N_OF_AMOUNT

MOST_SUMS = 256  # of classes, with their copies
NO_REACH = np.zeros(1, SUM)


class CudaSample(Target):
    """The target of a sample that is on the device; the host makes its weights when it is asked."""

    def __init__(
        self, units: Target, totals: HostArray, own: CudaTarget, samples: Samples, tree: int
    ) -> None:
        told = {name: getattr(units, name) for name in ("channels", "label", "point", "comm")}
        vars(self).update(told, _totals=totals, own=own, _samples=samples, _tree=tree)

    own: CudaTarget

    @cached_property
    def _on_host(self) -> Target:
        samples: Samples = vars(self)["_samples"]
        return samples.of(vars(self)["_tree"])

    def __getattr__(self, name: str) -> Any:
        if name in ("weight", "value"):
            return getattr(self._on_host, name)
        raise AttributeError(name)


class CudaSampler:
    """The rows that samples are drawn from."""

    def __init__(self, launches: Launches, samples: Samples) -> None:
        draws, target, upload = samples.draws, samples.target, launches.device.upload
        self.samples, self._launches = samples, launches
        self._every = Every.of(launches, target.n_rows)
        self._row = upload(draws.order.row.astype(np.int32))
        self._n_all = draws.order.n
        (self._reached,) = launches.constants(NO_REACH)
        if draws.replaces and draws.weight is not None and draws.order.n > 1:
            reached = np.cumsum(draws.weight)
            self._reached, self._n_all = upload(reached), int(reached[-1])
        self._units = (
            drawn_units(target, draws.n_drawn) if draws.replaces else without_weights(target)
        )
        self._label = label_of(launches, target)
        self._point = point_of(launches, self._units)
        self._weight, self._values = self._given(target)

    def _given(self, target: Target) -> tuple[Amount, list[Amount]]:
        """What a row that is drawn once weighs, and what it adds to the sums of outputs."""
        one, replaces = self._launches.constants(ONE_UNIT)[0], self.samples.draws.replaces
        weight = Amount(one, 0, 1)
        if not replaces and target.weight is not None:
            (weight,) = amount_of(self._launches, target.weight[None])
        if self._units.point is None:
            return weight, []
        if not replaces:
            assert target.value is not None
            return weight, amount_of(self._launches, target.value)
        # Targets are whole-numbered floats, and count as often as their rows are drawn.
        n_rows, points = target.n_rows, self._units.point
        return weight, [
            Amount(self._point, at * n_rows, magnitude(own)) for at, own in enumerate(points)
        ]

    def sample(self, tree: int) -> CudaSample:
        """The target of the sample of one tree."""
        launches, n_rows = self._launches, self._every.n
        counts, mark = self._counts(tree), launches.device.empty(n_rows, np.uint8)
        found, sums = self._sums(counts, mark)
        n, most = int(found[N_INSIDE]), int(found[LARGEST_COUNT])
        (unit,), units = launches.constants(ONE_UNIT), self._units
        if units.label is None:
            totals = sums[:, 0]
            largest = sums[:, MAGNITUDE].tolist()
        else:
            totals, largest = sums, [self._weight.largest * most]
            if self.samples.factor is not None:
                factor = self.samples.factor(sums)
                own_unit, units = factor_units(units, factor, self.samples.draws.n_drawn)
                unit, totals = launches.device.upload(own_unit), sums * own_unit
                largest = [most * magnitude(own_unit)]
        amounts = zip([self._weight, *self._values], largest, strict=True)
        own = CudaTarget(
            n_rows,
            n,
            some(launches, self._every, n, mark),
            self._label,
            self._point,
            counts,
            unit,
            tuple(Amount(given.each, given.begin, own_largest) for given, own_largest in amounts),
            True,
        )
        return CudaSample(units, np.append(totals, n).astype(SUM), own, self.samples, tree)

    def _counts(self, tree: int) -> Array:
        """How often each row is drawn for a tree."""
        launches, dev, draws = self._launches, self._launches.device, self.samples.draws
        key = dev.upload(sampling.draw_key(draws.seed, tree, replaces=draws.replaces))
        counts, n = dev.zeros(self._every.n, np.int32), draws.n_drawn
        if draws.replaces:
            args = n, key, self._n_all, self._reached, self._row, counts
            launches.over(kernels.draw_with_replacement, n, *args)
            return counts
        bits = dev.empty(draws.order.n, np.uint64)
        launches.over(kernels.mix_numbers, draws.order.n, draws.order.n, key, bits)
        place = sorted_by(launches, draws.order.n, bits.view(np.int64), self._every.number)
        launches.over(kernels.count_once, n, n, place, self._row, counts)
        return counts

    def _sums(self, counts: Array, mark: Array) -> tuple[HostArray, HostArray]:
        """How many rows are drawn and how often; then totals of classes, or what amounts add up to.

        Of each amount the total and the largest magnitude.
        """
        launches, dev, n_rows = self._launches, self._launches.device, self._every.n
        amounts = [self._weight, *self._values]
        n_classes = self._units.channels.n_scored if self._units.label is not None else 0
        n_copies = max(1, MOST_SUMS // max(n_classes, 1))
        shape = (n_copies, n_classes) if n_classes else (len(amounts), N_OF_AMOUNT)
        sums = dev.zeros(N_FOUND + int(np.prod(shape)), np.int64)
        launches.over_rows(kernels.mark_drawn, n_rows, counts, mark, sums)
        if n_classes:
            args = self._weight.each, self._label, n_classes, n_copies, N_FOUND, sums
            launches.over_rows(kernels.sum_classes, n_rows, counts, *args)
        else:
            for number, amount in enumerate(amounts):
                at = N_FOUND + number * N_OF_AMOUNT
                given = amount.each, amount.begin, at, sums
                launches.over_rows(kernels.sum_amounts, n_rows, counts, *given)
        told = dev.download(sums)
        found = told[N_FOUND:].reshape(shape)
        return told[:N_FOUND], found.sum(axis=0) if n_classes else found
