"""A table small enough to add up by hand, and its histograms: integers that every device must find.

Knows the contract; must not know which backend keeps it.
"""

import numpy as np

from gputree.backends.contract import Backend, Rows
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Column, Kind
from gputree.data.target import Channels, Target, class_target
from gputree.dtypes import HostArray

# A character a row: the codes of three features, "." where the value is missing; class and weight.
CODES = (
    "012330211203330120213021",
    "0.1202.1102021.00112.210",
    "010011010110001011110100",
)
LABEL = "012010221001201220110201"
WEIGHT = "120312013210231102310123"
# Targets of a regression: some need one limb of a kernel, some all of them.
VALUE = (
    *(1, -1, 65_535, -65_536, 131_071, -131_072, 131_073, 7),
    *(2**40 + 3, -(2**40), 2**34, -(2**34) - 1, 2**17, -(2**17), 2**44 - 1, 5),
    *(-(2**44), 12_345_678_901, -98_765_432_109, 0, 3, 2**33 + 2**16, -(2**30), 999_999_999_999),
)
N_CLASSES = 3

# Sums of every feature's codes in turn, the missing code last: a row a place, a column a channel.
HISTOGRAM: dict[str, tuple[tuple[int, ...], ...]] = {
    "classes": (
        (4, 1, 1),
        (0, 4, 2),
        (2, 1, 3),
        (3, 2, 1),
        (2, 3, 2),
        (3, 2, 2),
        (3, 1, 2),
        (1, 2, 1),
        (5, 3, 4),
        (4, 5, 3),
    ),
    "weighted classes": (
        (6, 1, 1, 6),
        (0, 9, 2, 6),
        (4, 3, 0, 3),
        (6, 1, 2, 4),
        (3, 4, 1, 5),
        (7, 6, 1, 6),
        (6, 1, 3, 6),
        (0, 3, 0, 2),
        (9, 6, 3, 8),
        (7, 8, 2, 11),
    ),
    "regression": (
        (6, 17_630_301_461_557),
        (6, 2_099_511_627_789),
        (6, -18_791_536_649_517),
        (6, -17_179_803_647),
        (7, -17_708_877_410_301),
        (7, 1_012_018_067_217),
        (6, 25_769_803_776),
        (4, 17_592_186_175_490),
        (12, 2_081_258_147_850),
        (12, -1_160_161_511_668),
    ),
    "weighted regression": (
        (8, 17_642_647_009_386, 6),
        (11, 6_298_534_883_344, 6),
        (7, -2_497_467_035_527, 3),
        (9, -196_609, 4),
        (8, 800_976_875_522, 5),
        (14, 3_024_782_067_955, 6),
        (10, 25_769_672_704, 6),
        (3, 17_592_186_044_413, 2),
        (18, 6_296_387_072_012, 8),
        (17, 15_147_327_588_582, 11),
    ),
}


def rows_at_root(backend: Backend, kind: str, repeats: int, most_codes: int) -> Rows:
    """The table so many times over, coded by a backend; `most_codes` decides the width of codes."""
    features = tuple(_bins(column) for column in CODES)
    n_rows = len(LABEL) * repeats
    data = backend.reserve(len(features), n_rows, most_codes)
    columns = [
        Column(feature.name, Kind.NUMERIC, np.tile(_values(text), repeats))
        for feature, text in zip(features, CODES, strict=True)
    ]
    backend.encode(data, 0, backend.hold(columns), features)
    return backend.begin(data, Bins(features), _target(kind, repeats))


def histogram(kind: str, repeats: int) -> HostArray:
    """The sums of the whole table, (places, channels)."""
    return np.array(HISTOGRAM[kind], np.int64) * repeats


def _values(text: str) -> HostArray:
    return np.array([np.nan if cell == "." else float(cell) for cell in text], np.float32)


def _bins(text: str) -> FeatureBins:
    """Bins in which the values 0, 1, 2, ... are their own codes."""
    number = np.arange(int(max(text)) + 1, dtype=np.float64)
    return FeatureBins("x", Kind.NUMERIC, None, number[:-1], number[1:], "." in text)


def _target(kind: str, repeats: int) -> Target:
    weight = np.tile([int(cell) for cell in WEIGHT], repeats) if "weighted" in kind else None
    if "classes" in kind:
        label = np.tile([int(cell) for cell in LABEL], repeats)
        return class_target(label, N_CLASSES, None if weight is None else weight.astype(float))
    point = np.tile(np.array(VALUE, np.int64), repeats)
    value = point if weight is None else point * weight
    # The targets are whole numbers in their own units: nothing is shifted or scaled.
    channels = Channels(1, False, weight is not None, 0, (0,), (0,), (0.0,))
    return Target(channels, weight, None, point[None].astype(float), value[None])
