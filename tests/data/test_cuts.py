"""Cuts are every midpoint, or exact weighted quantiles; codes follow from the cuts.

A short table is listed, a long one is counted in buckets; both ways are tried on the same tables.
"""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gputree.arrays import to_numpy
from gputree.backends import coding, cpu_values, registry
from gputree.backends.libraries import open_library
from gputree.data import cuts as cut_module
from gputree.data.bins import midpoint
from gputree.data.cuts import BUCKETS, MOST_TOGETHER, bin_table, bucket_of, quantile_ranks
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import MAX_BINS

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


def in_both_ways(call):
    """What a call gives with every table a short one, and with every table a long one."""
    with pytest.MonkeyPatch.context() as patch:
        for listed_rows in (10**9, 0):
            for module in (cut_module, coding, cpu_values):
                patch.setattr(module, "LISTED_ROWS", listed_rows)
            yield call()


def bins_of(values, max_bins, weight=None):
    whole = None if weight is None else np.asarray(weight, np.int64)
    column = table(np.asarray(values, np.float64))
    listed, counted = in_both_ways(lambda: bin_table(NUMPY, column, whole, max_bins)[0].features[0])
    assert listed.cut.tobytes() == counted.cut.tobytes()
    assert listed.has_missing == counted.has_missing
    return listed


def sketch(values, weight=None):
    """Weights by bucket, of all buckets."""
    [(bucket, weight)] = NUMPY.sketch(NUMPY.hold(table(values).columns), weight)
    counts = np.zeros(BUCKETS, np.int64)
    counts[bucket] = weight
    return counts


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


@settings(max_examples=200)
@given(columns, st.integers(2, 12))
@example(values=[float(k) for k in range(300)], max_bins=256)
@example(values=[float(k) for k in range(300)], max_bins=7)
@example(values=[*ONE_BUCKET, 0.5, 3.0, *[2.0**k for k in range(-40, 40)]], max_bins=9)
def test_cuts_are_those_of_the_slow_definition(values, max_bins):
    assert cuts(values, max_bins) == slow_cuts(values, max_bins)


@settings(max_examples=200)
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
    for bins, _ in in_both_ways(lambda: bin_table(NUMPY, single, None, max_bins)):
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


# Parts add up.


@given(columns, columns)
def test_the_sketches_of_two_halves_add_up_to_that_of_the_whole(first, second):
    first = [*first, NAN]
    assert_array_equal(sketch(first) + sketch(second), sketch(first + second))


def test_a_sketch_counts_the_weight_of_known_values_by_bucket():
    counts = sketch([1.0, NAN, 2.0, 1.0], np.array([3, 5, 7, 11]))
    one, two = bucket_of(np.array([1.0, 2.0]))
    assert (counts[one], counts[two], counts.sum()) == (14, 7, 21)


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=30))
def test_a_larger_value_is_never_in_a_lower_bucket(values):
    bucket = bucket_of(np.sort(np.array(values)))
    assert (np.diff(bucket) >= 0).all()
    assert bucket.min() >= 0
    assert bucket.max() < BUCKETS


def test_both_zeros_are_in_one_bucket():
    assert len(set(bucket_of(np.array([-0.0, 0.0])).tolist())) == 1


# Codes.


def codes(values, max_bins, backend=NUMPY):
    """Bins and codes of one column."""
    (bins, code), (_, same) = (
        (bins, codes_in(data))
        for bins, data in in_both_ways(lambda: bin_table(backend, table(values), None, max_bins))
    )
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
    levels = Column("x", Kind.ORDINAL, np.arange(3, dtype=np.int32), tuple(range(300)))
    assert bin_table(NUMPY, Table((levels,), 3), None, 255)[1].dtype == np.uint16


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


def test_an_ordinal_column_has_a_code_a_level_even_where_one_is_absent():
    level = np.array([2, 0, -1, 2], np.int32)
    column = Column("size", Kind.ORDINAL, level, ("S", "M", "L"))
    bins, data = bin_table(NUMPY, Table((column,), 4), None, 2)  # levels are never merged
    assert bins.features[0].cut.tolist() == [0.5, 1.5]
    assert bins.features[0].levels == ("S", "M", "L")
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
    for bins, data in in_both_ways(lambda: bin_table(backend, Table((there,), 5), None, 10)):
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


@settings(max_examples=100)
@given(column=weighted_columns(), max_bins=st.integers(2, 12))
@example(column=(np.array([*ONE_BUCKET, NAN]), None), max_bins=12)
@example(column=(np.array([*ONE_BUCKET, NAN]), np.arange(41)), max_bins=7)
def test_every_backend_cuts_and_codes_like_numpy(backend, column, max_bins):
    values, weight = column
    right, right_data = bin_table(NUMPY, table(values), weight, max_bins)
    for bins, data in in_both_ways(lambda: bin_table(backend, table(values), weight, max_bins)):
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
def test_a_column_without_a_known_value_is_refused_by_name(monkeypatch, listed_rows):
    monkeypatch.setattr(cut_module, "LISTED_ROWS", listed_rows)
    with pytest.raises(ValueError, match="column 'x1' has no known value; drop it"):
        bin_table(NUMPY, table([1.0, 2.0], [NAN, NAN]), None, 5)
    with pytest.raises(ValueError, match="column 'x1' has no known value; drop it"):
        bin_table(NUMPY, table([1.0, 2.0], [NAN, 3.0]), np.array([1, 0]), 5)
