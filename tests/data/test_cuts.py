"""Cuts are every midpoint, or exact weighted quantiles; codes follow from the cuts.

A short table is listed, a long one is counted in buckets, and where values crowd in fine buckets,
too; all ways are tried on the same tables.
"""

from collections import Counter
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gputree.arrays import to_numpy
from gputree.backends import registry
from gputree.backends.array import binning as array_binning
from gputree.backends.array.libraries import open_library
from gputree.backends.cpu import binning as cpu_binning
from gputree.backends.cpu import distinct as cpu_distinct
from gputree.data import cuts as cut_module
from gputree.data.bins import midpoint
from gputree.data.cuts import (
    MOST_DIVIDED,
    MOST_TOGETHER,
    NO_BUCKETS,
    bin_table,
    find_cuts,
    quantile_ranks,
)
from gputree.data.number_line import Buckets, bucket_of
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import MAX_BINS
from gputree.kernels.buckets import BUCKETS, PAGE, ordered_fine_bucket
from tests.thorough import examples

NUMPY = registry.choose(backend="numpy").backend
NAN, INF = np.nan, np.inf
MAX = np.finfo(np.float64).max
UP = np.nextafter(1.0, 2.0)


def table(*columns):
    return Table(
        tuple(
            Column(f"x{at}", Kind.NUMERIC, np.asarray(values)) for at, values in enumerate(columns)
        ),
        len(columns[0]),
    )


def never_divide(plan, most_listed=None):
    return NO_BUCKETS


def always_divide(plan, most_listed=None):
    return plan.first[plan._with_cuts()] // PAGE


def in_every_way(call):
    """What a call gives if tables are listed, counted in buckets, or counted in fine buckets."""
    ways = [(10**9, never_divide), (0, never_divide), (0, always_divide)]
    for listed_rows, to_divide in ways:
        with pytest.MonkeyPatch.context() as patch:
            for module in (cut_module, array_binning, cpu_distinct, cpu_binning):
                patch.setattr(module, "LISTED_ROWS", listed_rows)
            patch.setattr(cut_module.CutSearch, "to_divide", to_divide)
            yield call()


def bins_of(values, max_bins, weight=None):
    whole = None if weight is None else np.asarray(weight, np.int64)
    column = table(np.asarray(values, np.float64))
    listed, *others = in_every_way(lambda: bin_table(NUMPY, column, whole, max_bins)[0].features[0])
    for counted in others:
        assert listed.cut.tobytes() == counted.cut.tobytes()
        assert listed.has_missing == counted.has_missing
    return listed


def sketch(values, weight=None, within=None):
    """Weights by bucket, or by fine bucket."""
    [(bucket, weight)] = NUMPY.sketch(NUMPY.hold(table(values).columns), weight, within)
    return Counter(dict(zip(bucket.tolist(), weight.tolist(), strict=True)))


def cuts(values, max_bins, weight=None):
    return bins_of(values, max_bins, weight).cut.tolist()


def slow_cuts(values, max_bins, weight=None):
    """The definition: sort, walk until each share of the weight is reached, cut above that."""
    weight = [1] * len(values) if weight is None else weight
    pairs = sorted((v, w) for v, w in zip(values, weight, strict=True) if v == v and w > 0)
    distinct = sorted({v for v, _ in pairs})
    if len(distinct) <= max_bins:
        below = distinct[:-1]
    else:
        total = sum(w for _, w in pairs)
        below = []
        for j in range(1, max_bins):
            reached, at = 0, -1
            while reached * max_bins < j * total:
                at += 1
                reached += pairs[at][1]
            below.append(pairs[at][0])
        below = sorted(set(below) - {distinct[-1]})
    above = [min(v for v in distinct if v > b) for b in below]
    return midpoint(np.array(below, np.float64), np.array(above, np.float64)).tolist()


# One pool puts many values into one bucket of the number line, others reach its ends.
ONE_BUCKET = [1.0 + k * 2.0**-52 for k in range(40)]
POOLS = {
    "small": st.integers(-9, 9).map(float),
    "one bucket": st.sampled_from(ONE_BUCKET),
    "buckets apart": st.sampled_from([2.0**k for k in range(-140, 140, 3)]),
    "huge and tiny": st.sampled_from([s * 10.0**e for s in (1, -3) for e in range(-320, 308, 15)]),
    "special": st.sampled_from([-INF, -MAX, -1e-320, -0.0, 0.0, 5e-324, 1e-45, 1e39, MAX, INF]),
    "any": st.floats(allow_nan=False),
}
known_values = st.one_of([st.lists(pool, min_size=1, max_size=60) for pool in POOLS.values()])
mixed_values = st.lists(st.one_of(list(POOLS.values())), min_size=1, max_size=60)
columns = st.one_of(known_values, mixed_values)


# Every midpoint.


def test_a_feature_with_no_more_values_than_bins_offers_every_midpoint():
    assert cuts([4.0, 1.0, 2.0, 1.0, 4.0], 3) == [1.5, 3.0]
    assert cuts([4.0, 1.0, 2.0, 1.0, 4.0], 255) == [1.5, 3.0]


def test_values_closer_than_a_float32_still_get_a_midpoint_each():
    assert (
        cuts(ONE_BUCKET[:4], 4)
        == midpoint(np.array(ONE_BUCKET[:3]), np.array(ONE_BUCKET[1:4])).tolist()
    )
    assert cuts([1.0, UP], 2) == [1.0]


def test_a_constant_feature_is_not_cut():
    assert cuts([3.0, 3.0, 3.0], 2) == []


def test_negative_zero_and_zero_are_one_value():
    assert cuts([-0.0, 0.0, 1.0], 5) == [0.5]
    assert cuts([0.0, -0.0, -1.0], 5) == [-0.5]


def test_infinities_are_values():
    assert cuts([-INF, 0.0, INF], 5) == [-INF, 0.0]
    assert cuts([-INF, INF], 5) == [-INF]


def test_missing_values_are_not_cut_but_get_a_code():
    feature = bins_of([NAN, 1.0, 2.0, NAN], 5)
    assert feature.cut.tolist() == [1.5]
    assert feature.has_missing
    assert not bins_of([1.0, 2.0], 5).has_missing


# Quantiles.


def test_quantiles_share_the_rows_evenly():
    assert cuts([1, 2, 3, 4, 5, 6, 7, 8], 4) == [2.5, 4.5, 6.5]
    assert cuts([1, 2, 3, 4, 5], 2) == [3.5]  # half of 5 rows is reached at the third


def test_a_heavy_value_takes_several_quantiles_and_gets_one_cut():
    assert cuts([1, 5, 5, 5, 5, 5, 5, 9, 10], 3) == [7.0]  # both thirds are reached at 5
    assert cuts([1, 2, 9, 9, 9, 9, 9, 9], 2) == []  # half is reached at the largest value


@settings(max_examples=examples(200))
@given(columns, st.integers(2, 12))
@example(values=[float(k) for k in range(300)], max_bins=256)
@example(values=[float(k) for k in range(300)], max_bins=7)
@example(values=[*ONE_BUCKET, 0.5, 3.0, *[2.0**k for k in range(-40, 40)]], max_bins=9)
def test_cuts_are_those_of_the_slow_definition(values, max_bins):
    assert cuts(values, max_bins) == slow_cuts(values, max_bins)


@settings(max_examples=examples(200))
@given(st.data(), columns, st.integers(2, 12))
def test_weighted_cuts_are_those_of_the_slow_definition(data, values, max_bins):
    weights = st.lists(st.integers(0, 7), min_size=len(values), max_size=len(values))
    weight = data.draw(weights.filter(any))
    assert cuts(values, max_bins, weight) == slow_cuts(values, max_bins, weight)


@given(st.data(), columns, st.integers(2, 12))
def test_a_weight_of_two_cuts_like_the_row_twice(data, values, max_bins):
    weight = data.draw(st.lists(st.integers(1, 3), min_size=len(values), max_size=len(values)))
    assert cuts(values, max_bins, weight) == cuts(np.repeat(values, weight), max_bins)


@given(columns, columns, st.integers(2, 12))
def test_rows_without_weight_have_no_say(inside, outside, max_bins):
    weight = [1] * len(inside) + [0] * len(outside)
    assert cuts(inside + outside, max_bins, weight) == cuts(inside, max_bins)


@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=60), st.integers(2, 12))
def test_float32_and_float64_of_the_same_values_are_cut_alike(values, max_bins):
    single = table(np.array(values, np.float32))
    for bins, _ in in_every_way(lambda: bin_table(NUMPY, single, None, max_bins)):
        found = bins.features[0].cut
        assert found.dtype == np.float64
        assert found.tolist() == cuts(values, max_bins)


@given(st.permutations(range(40)), st.integers(2, 12))
def test_the_order_of_the_rows_does_not_matter(order, max_bins):
    values = np.array([*ONE_BUCKET[:20], *range(20)])
    assert cuts(values[order], max_bins) == cuts(values, max_bins)


def test_the_weight_of_all_rows_may_come_close_to_the_largest_exact_total():
    weight = np.array([2**51, 2**50, 2**50, 2**49])
    assert cuts([1, 2, 3, 4], 2, weight) == slow_cuts([1, 2, 3, 4], 2, weight.tolist()) == [2.5]


@given(st.integers(1, 2**53), st.integers(2, MAX_BINS))
def test_quantile_ranks_are_whole_shares_rounded_up(total, n_bins):
    ranks = quantile_ranks(total, n_bins)
    assert len(ranks) == n_bins - 1
    for j in {1, 2, n_bins // 2, n_bins - 1} - {0, n_bins}:
        assert int(ranks[j - 1]) == ceil(Fraction(j * total, n_bins))


# Columns of many values, of which some crowd in few buckets.


def sorted_cuts(values, max_bins, weight):
    """The same definition for long columns."""
    weight = np.ones(len(values), np.int64) if weight is None else weight
    is_in = (values == values) & (weight > 0)
    value, place = np.unique(values[is_in].astype(np.float64), return_inverse=True)
    reached = np.cumsum(np.bincount(place, weight[is_in]).astype(np.int64))
    at = np.arange(len(value))
    if len(value) > max_bins:
        total = int(reached[-1])
        ranks = [ceil(Fraction(j * total, max_bins)) for j in range(1, max_bins)]
        at = np.unique(np.searchsorted(reached, ranks))
    at = at[at < len(value) - 1]
    return midpoint(value[at], value[at + 1])


LONG = {  # how the values of a column come about, and whether its buckets are to be divided
    "uniform": (lambda rng, n: rng.random(n, np.float32), True),
    "one octave": (lambda rng, n: 1.0 + rng.random(n), True),
    "two octaves": (lambda rng, n: 100.0 + 100.0 * rng.random(n), True),
    "a part of an octave": (lambda rng, n: 1000.0 + 100.0 * rng.random(n), True),
    "negative": (lambda rng, n: -3.0 - rng.random(n), True),
    "both signs": (lambda rng, n: 2.0 * rng.random(n) - 1.0, True),
    "three to a float32": (
        lambda rng, n: (1.0 + rng.random(n, np.float32)) * (1.0 + rng.integers(0, 3, n) * 2.0**-40),
        True,
    ),
    "years": (lambda rng, n: rng.integers(1900, 2030, n), True),
    "ties": (lambda rng, n: rng.integers(2**17, 2**18, n).astype(np.float32), True),
    "zero or else": (lambda rng, n: np.where(rng.random(n) < 0.5, -0.0, 1.0 + rng.random(n)), True),
    "normal": (lambda rng, n: rng.standard_normal(n), False),
    "few integers": (lambda rng, n: rng.integers(0, 100, n), False),
    "one float32": (lambda rng, n: 1.0 + rng.integers(0, n, n) * 2.0**-50, False),
}


def long_column(name, n_rows, is_weighted):
    """Values, some of them missing, and weights, some of them 0, or none."""
    rng = np.random.default_rng(5)
    values = np.asarray(LONG[name][0](rng, n_rows) * 1.0)
    values[rng.random(n_rows) < 0.1] = NAN
    return values, rng.integers(0, 4, n_rows) if is_weighted else None


@pytest.mark.cover("numba")
@pytest.mark.parametrize("max_bins", [2, 9, 255])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", LONG)
def test_cuts_are_those_of_the_sorted_column_in_every_way(backend, name, is_weighted, max_bins):
    values, weight = long_column(name, 500, is_weighted)
    right = sorted_cuts(values, max_bins, weight)
    for bins, _ in in_every_way(lambda: bin_table(backend, table(values), weight, max_bins)):
        assert bins.features[0].cut.tobytes() == right.tobytes()


class Watching:
    """A backend that keeps what its sketches were asked for."""

    def __init__(self, backend):
        self._backend, self.within = backend, []

    def sketch(self, values, weight, within=None):
        self.within.append(within)
        return self._backend.sketch(values, weight, within)

    def __getattr__(self, name):
        return getattr(self._backend, name)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("library", ["numpy", "numba"])
def test_long_columns_are_cut_exactly_and_divided_where_values_crowd(library, name, is_weighted):
    values, weight = long_column(name, 250_000, is_weighted)
    watching = Watching(registry.choose(backend=library).backend)
    bins, _ = bin_table(watching, table(values), weight, 255)
    assert bins.features[0].cut.tobytes() == sorted_cuts(values, 255, weight).tobytes()
    assert len(watching.within) == (2 if LONG[name][1] else 1)


def test_only_columns_that_crowd_are_divided():
    values = [long_column(name, 250_000, False)[0] for name in ("normal", "uniform", "years")]
    watching, block = Watching(NUMPY), table(*values).columns
    find_cuts(watching, block, watching.hold(block), None, 255, block[0].values.shape[0])
    first, (normal, uniform, years) = watching.within
    assert first is None
    assert (normal.size, uniform.size) == (0, 254)
    assert_array_equal(years, np.unique(bucket_of(values[2][values[2] == values[2]])))


@pytest.mark.parametrize(("most_divided", "n_sketches"), [(MOST_DIVIDED, 1), (10**9, 2)])
def test_no_more_buckets_are_divided_than_there_is_room_for(monkeypatch, most_divided, n_sketches):
    monkeypatch.setattr(cut_module, "MOST_DIVIDED", most_divided)
    values = long_column("uniform", 250_000, False)[0]
    watching = Watching(NUMPY)
    bins, _ = bin_table(watching, table(values), None, 2_000)
    assert len(watching.within) == n_sketches
    assert bins.features[0].cut.tobytes() == sorted_cuts(values, 2_000, None).tobytes()


# Parts add up.


@given(columns, columns)
def test_the_sketches_of_two_halves_add_up_to_that_of_the_whole(first, second):
    first = [*first, NAN]
    assert sketch(first) + sketch(second) == sketch(first + second)


@given(columns, columns, columns)
def test_the_fine_sketches_of_two_halves_add_up_to_that_of_the_whole(first, second, around):
    first = [*first, NAN]
    within = [np.unique(bucket_of(np.array(around)))]
    halves = sketch(first, within=within) + sketch(second, within=within)
    assert halves == sketch(first + second, within=within)


def test_a_sketch_counts_the_weight_of_known_values_by_bucket():
    counts = sketch([1.0, NAN, 2.0, 1.0], np.array([3, 5, 7, 11]))
    one, two = bucket_of(np.array([1.0, 2.0])).tolist()
    assert counts == {one: 14, two: 7}


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=30))
def test_a_larger_value_is_never_in_a_lower_bucket(values):
    bucket = bucket_of(np.sort(np.array(values)))
    assert (np.diff(bucket) >= 0).all()
    assert bucket.min() >= 0
    assert bucket.max() < BUCKETS


def fine_bucket_of(values):
    return ordered_fine_bucket((values.astype(np.float32) + np.float32(0.0)).view(np.int32))


@given(st.lists(st.floats(allow_nan=False, width=32), min_size=2, max_size=30))
def test_a_bucket_is_a_page_of_fine_buckets_which_are_in_order_too(values):
    values = np.sort(np.array(values))
    fine = fine_bucket_of(values)
    assert (np.diff(fine) >= 0).all()
    assert_array_equal(fine // PAGE, bucket_of(values))


def test_a_table_of_fine_buckets_has_the_pages_asked_for_behind_a_first_one():
    buckets = Buckets(np.array([5 * PAGE, 5 * PAGE + 7, 9 * PAGE + 1]), is_fine=True)
    assert buckets.pages.tolist() == [5, 9]
    assert buckets.cell.tolist() == [PAGE, PAGE + 7, 2 * PAGE + 1]
    assert buckets.n_cells == 3 * PAGE
    coarse = Buckets(np.array([5, 9]))
    assert (coarse.cell.tolist(), coarse.pages.size) == ([5, 9], 0)


def test_both_zeros_are_in_one_bucket():
    assert len(set(bucket_of(np.array([-0.0, 0.0])).tolist())) == 1


# Codes.


def codes(values, max_bins, backend=NUMPY):
    """Bins and codes of one column."""
    (bins, code), *others = (
        (bins, codes_in(data))
        for bins, data in in_every_way(lambda: bin_table(backend, table(values), None, max_bins))
    )
    for _, same in others:
        assert_array_equal(code, same)
    return bins, code


def codes_in(data):
    """The one place that opens coded data: (features, rows)."""
    return to_numpy(getattr(data, "by_feature", data))


@given(st.data(), columns, st.integers(2, 12))
def test_a_code_is_the_number_of_cuts_below_its_value(data, values, max_bins):
    gaps = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    column = np.array([*np.where(gaps, NAN, values), values[0]])
    bins, code = codes(column, max_bins)
    feature = bins.features[0]
    right = np.searchsorted(feature.cut, column, side="left")
    right[np.isnan(column)] = feature.n_codes - 1
    assert_array_equal(code[0], right)
    assert feature.has_missing == np.isnan(column).any()


@given(columns, st.integers(2, 12))
def test_every_code_holds_a_training_value(values, max_bins):
    bins, code = codes(np.array(values), max_bins)
    assert_array_equal(np.unique(code), np.arange(bins.features[0].n_codes))
    assert bins.features[0].n_values <= max_bins


def test_codes_up_to_256_take_one_byte_and_more_take_two():
    values = np.arange(300.0)
    assert codes(values, 255)[1].dtype == np.uint8  # with the missing code, 256
    assert codes(values, 256)[1].dtype == np.uint16
    categories = Column("x", Kind.ORDINAL, np.arange(3, dtype=np.int32), tuple(range(300)))
    assert bin_table(NUMPY, Table((categories,), 3), None, 255)[1].dtype == np.uint16


def test_sixty_thousand_values_keep_a_code_each(backend):
    rng = np.random.default_rng(3)
    values = rng.permutation(np.append(np.arange(60_000.0) / 7.0, NAN))
    _, code = codes(values, MAX_BINS, backend)
    right = np.where(np.isnan(values), 60_000, np.rint(np.nan_to_num(values) * 7.0))
    assert_array_equal(code[0], right)


def test_more_values_than_codes_fill_all_of_them():
    values = np.arange(70_000.0)
    bins, code = codes(values, MAX_BINS)
    assert bins.features[0].n_codes == MAX_BINS
    assert_array_equal(np.unique(code), np.arange(MAX_BINS))
    assert np.bincount(code[0]).max() == 2


def test_an_ordinal_column_has_a_code_a_category_even_where_one_is_absent():
    category = np.array([2, 0, -1, 2], np.int32)
    column = Column("size", Kind.ORDINAL, category, ("S", "M", "L"))
    bins, data = bin_table(NUMPY, Table((column,), 4), None, 2)  # categories are never merged
    assert bins.features[0].cut.tolist() == [0.5, 1.5]
    assert bins.features[0].categories == ("S", "M", "L")
    assert codes_in(data).tolist() == [[2, 0, 3, 2]]


def test_each_column_is_cut_on_its_own(backend):
    both = table(np.arange(8.0), np.array([1.0, 1.0, 2.0, 2.0, 2.0, NAN, 2.0, 2.0]))
    bins, _ = bin_table(backend, both, None, 4)
    assert [feature.cut.tolist() for feature in bins.features] == [[1.5, 3.5, 5.5], [1.5]]
    assert bins.n_codes.tolist() == [4, 3]


def test_columns_are_taken_a_few_at_a_time_and_none_is_lost(backend):
    n_features = 2 * MOST_TOGETHER + 3
    values = np.arange(6.0)
    many = table(*(np.roll(values, at) for at in range(n_features)))
    bins, data = bin_table(backend, many, None, 10)
    assert len(bins.features) == n_features
    assert codes_in(data).tolist() == [np.roll(values, at).tolist() for at in range(n_features)]


@pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
def test_columns_of_every_library_are_cut_alike(backend, library):
    pytest.importorskip(library)
    values = np.array([3.0, NAN, 1.0, 2.0, 1.0])
    there = Column("x", Kind.NUMERIC, open_library(library).from_host(values))
    for bins, data in in_every_way(lambda: bin_table(backend, Table((there,), 5), None, 10)):
        assert bins.features[0].cut.tolist() == [1.5, 2.5]
        assert codes_in(data).tolist() == [[2, 3, 0, 1, 0]]


@st.composite
def weighted_columns(draw):
    """Values, some of them missing, and weights or none; the last row is known and weighs 1."""
    values = np.array(draw(columns))
    values[draw(st.lists(st.integers(0, len(values) - 1), max_size=9))] = NAN
    weights = st.lists(st.integers(0, 7), min_size=len(values), max_size=len(values))
    weight = draw(st.none() | weights)
    return np.append(values, 1.0), None if weight is None else np.array([*weight, 1])


@settings(max_examples=examples(100))
@given(column=weighted_columns(), max_bins=st.integers(2, 12))
@example(column=(np.array([*ONE_BUCKET, NAN]), None), max_bins=12)
@example(column=(np.array([*ONE_BUCKET, NAN]), np.arange(41)), max_bins=7)
def test_every_backend_cuts_and_codes_like_numpy(backend, column, max_bins):
    values, weight = column
    right, right_data = bin_table(NUMPY, table(values), weight, max_bins)
    for bins, data in in_every_way(lambda: bin_table(backend, table(values), weight, max_bins)):
        assert bins.features[0].cut.tobytes() == right.features[0].cut.tobytes()
        assert bins.features[0].has_missing == right.features[0].has_missing
        assert_array_equal(codes_in(data), codes_in(right_data))


# What is refused.


@pytest.mark.parametrize("max_bins", [-1, 0, 1, MAX_BINS + 1])
def test_numbers_of_bins_outside_the_bounds_are_refused(max_bins):
    with pytest.raises(ValueError, match=rf"max_bins={max_bins}: an integer from 2 to 65535"):
        cuts([1.0, 2.0], max_bins)


@pytest.mark.parametrize("max_bins", [2, MAX_BINS])
def test_numbers_of_bins_at_the_bounds_are_taken(max_bins):
    assert cuts([1.0, 2.0], max_bins) == [1.5]


@pytest.mark.parametrize("listed_rows", [0, 10])
def test_a_column_without_a_known_value_has_one_code_for_values_and_one_for_missing(
    monkeypatch, listed_rows
):
    monkeypatch.setattr(cut_module, "LISTED_ROWS", listed_rows)
    bins, data = bin_table(NUMPY, table([1.0, 2.0], [NAN, NAN]), None, 5)
    assert (bins.n_values[1], bins.n_codes[1]) == (1, 2)
    assert data[1].tolist() == [1, 1]
    bins, data = bin_table(NUMPY, table([1.0, 2.0], [NAN, 3.0]), np.array([1, 0]), 5)
    assert (bins.n_values[1], bins.n_codes[1]) == (1, 2)
    assert data[1].tolist() == [1, 0]
