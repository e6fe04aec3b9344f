"""The laws of the contract, on every backend, with numbers a reader can add."""

from collections import Counter
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gputree.arrays import to_numpy
from gputree.backends import registry
from gputree.backends.array import histogram as array_histogram
from gputree.backends.contract import NO_SPLIT, Moves, Search, Siblings, Splits
from gputree.backends.cpu import backend as cpu_backend
from gputree.backends.cuda import backend as cuda_backend
from gputree.data.bins import Bins, FeatureBins
from gputree.data.cuts import bin_table
from gputree.data.number_line import Buckets, bucket_of
from gputree.data.table import Column, Kind, Table
from gputree.data.target import Channels, Target, class_target, value_target
from gputree.dtypes import OUTSIDE, SLOT
from gputree.kernels.criteria import ENTROPY, ERROR, GINI
from gputree.tree.tree import Tree

NAN, INF = np.nan, np.inf
ROOT = np.zeros(1, np.int64)


class Searching:
    """A backend for which nodes count as small, and have no sums, up to another size."""

    def __init__(self, backend, module, size, value):
        self._backend, self._patch = backend, (module, size, value)

    def __getattr__(self, name):
        verb = getattr(self._backend, name)
        if not callable(verb):
            return verb

        def call(*args, **options):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(*self._patch)
                return verb(*args, **options)

        return call


def opened(name):
    """A backend; "by sums" every node has sums, "by rows" no node of a small table has."""
    library, _, way = name.partition(" by ")
    if library != "cuda":  # which is simulated where it is not there
        pytest.importorskip(library)
    found = registry.choose(backend=library).backend
    if not way:
        return found
    if library == "numba":
        return Searching(found, cpu_backend, "DIRECT_ROWS", 0 if way == "sums" else 4096)
    return Searching(found, array_histogram, "CELLS_PER_BIN", 0 if way == "sums" else 100)


BY_SUMS = ["numpy by sums", "array_api_strict by sums", "torch by sums", "numba by sums", "cuda"]
BY_ROWS = ["numpy by rows", "array_api_strict by rows", "torch by rows", "numba by rows"]
HOSTS = BY_SUMS[:-1] + BY_ROWS
# How many examples a device is given: its simulator is slow.
FEW = pytest.mark.parametrize("n_examples", [8, pytest.param(25, marks=pytest.mark.thorough)])
NUMPY = opened("numpy by sums")


@pytest.fixture(scope="session", params=BY_SUMS + BY_ROWS)
def backend(request):
    return opened(request.param)


@pytest.fixture(scope="session", params=BY_SUMS)
def summing(request):
    """A backend whose sums can be looked at."""
    return opened(request.param)


# Small tables. A column is a list of codes, None where the value is missing.


def numeric(*columns):
    return Table(
        tuple(Column(f"x{at}", Kind.NUMERIC, values) for at, values in enumerate(columns)),
        len(columns[0]),
    )


def coded(column, n_values=None):
    """Bins in which the values 0, 1, 2, ... are their own codes."""
    known = [code for code in column if code is not None]
    last = (n_values or max(known, default=0) + 1) - 1
    number = np.arange(last + 1, dtype=np.float64)
    return FeatureBins("x", Kind.NUMERIC, None, number[:-1], number[1:], len(known) < len(column))


def start(backend, columns, target, n_values=None):
    """Rows at the root, with the given codes."""
    return backend.begin(*encoded(backend, columns, n_values), target)


def encoded(backend, columns, n_values=None):
    """A table with the given codes, and its bins."""
    bins = Bins(tuple(coded(column, n_values) for column in columns))
    table = numeric(*(np.array([NAN if c is None else c for c in column]) for column in columns))
    data = backend.reserve(len(columns), table.n_rows, int(bins.n_codes.max()))
    backend.encode(data, 0, backend.hold(table.columns), bins.features)
    return data, bins


def classes(*label, weight=None):
    weight = None if weight is None else np.array(weight, np.float64)
    return class_target(np.array(label), max(label) + 1, weight)


def numbers(*output, weight=None):
    """A regression target whose integers are the numbers themselves."""
    point = np.array(output, np.float64)
    whole = None if weight is None else np.array(weight)
    value = (point * (1 if whole is None else whole)).astype(np.int64)
    n = len(output)
    channels = Channels(n, False, whole is not None, 0, (0,) * n, (0.0,) * n)
    return Target(channels, whole, None, point, value)


def sums_of(hist):
    """The one place that opens a Hist: (nodes, channels, places)."""
    if isinstance(hist, cuda_backend.CudaHist):
        width, n_channels = hist.rows.bins.width, hist.rows.target.channels.n
        sums = hist.sums.copy_to_host().reshape(hist.n_nodes, width, n_channels)
        return np.moveaxis(sums, 1, 2)
    if isinstance(hist, cpu_backend.CpuHist):
        width, n_channels = hist.rows.bins.width, hist.rows.target.channels.n
        found = np.moveaxis(hist.sums.reshape(-1, width, n_channels), 1, 2)
    else:
        found = to_numpy(hist.sums)
    sums = np.zeros((len(hist.place), *found.shape[1:]), np.int64)
    has_rows = hist.place >= 0
    sums[has_rows] = found[hist.place[has_rows]]
    return sums


def at_root(backend, columns, target, n_values=None):
    return backend.tally(start(backend, columns, target, n_values), ROOT)


def search(criterion=GINI, min_rows=1, min_weight=0, n_drawn=10**6, rank=None):
    rank = None if rank is None else np.array(rank)
    return Search(criterion, min_rows, min_weight, n_drawn, rank)


def best(backend, columns, target, *, n_values=None, **rules):
    """The best split of the root as a dict of plain values."""
    splits = backend.best_splits(at_root(backend, columns, target, n_values), search(**rules))
    return {field.name: getattr(splits, field.name)[0].tolist() for field in fields(Splits)}


def to_two(node, feature, first_child, table):
    return Moves(
        np.array([node]),
        np.array([feature]),
        np.array([first_child]),
        np.array([2]),
        ROOT,
        np.array(table, SLOT),
    )


# Values to codes.


def codes_of(backend, columns, bins):
    """The codes of all rows: one code of one feature in turn moves rows from the root to node 2."""
    data = backend.reserve(len(columns), len(columns[0]), int(bins.n_codes.max()))
    backend.encode(data, 0, backend.hold(numeric(*columns).columns), bins.features)
    rows = backend.begin(data, bins, numbers(np.zeros(len(columns[0]))))
    code = np.full((len(columns), len(columns[0])), -1)
    for feature, n_codes in enumerate(bins.n_codes.tolist()):
        for at in range(n_codes):
            there = backend.route(rows, to_two(0, feature, 1, np.arange(n_codes) == at))
            code[feature, backend.leaves(there) == 2] = at
    return code.tolist()


def test_a_value_gets_the_number_of_cuts_below_it(backend):
    bins = Bins(
        (
            FeatureBins("a", Kind.NUMERIC, None, np.array([1.0, 3.0]), np.array([2.0, 4.0]), False),
            FeatureBins("b", Kind.NUMERIC, None, np.array([-INF, 5.0]), np.array([5.0, INF]), True),
        )
    )
    columns = [np.array([0.0, 1.5, 1.6, 3.5, 9.0]), np.array([-INF, 5.0, INF, NAN, -1e308])]
    assert codes_of(backend, columns, bins) == [[0, 0, 1, 1, 2], [0, 1, 2, 3, 1]]


def test_columns_may_be_coded_in_any_order(summing):
    bins = Bins((coded([0, 1]), coded([0, 1, 2])))
    table = numeric(np.array([0.0, 1.0, 1.0]), np.array([2.0, 0.0, 1.0]))
    data = summing.reserve(2, 3, 3)
    for at in (1, 0):
        summing.encode(
            data, at, summing.hold(table.columns[at : at + 1]), bins.features[at : at + 1]
        )
    sums = sums_of(summing.tally(summing.begin(data, bins, numbers([1, 2, 4])), ROOT))
    assert sums.tolist() == [[[1, 2, 1, 1, 1], [1, 6, 2, 4, 1]]]


@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("most_codes", [5, 300])
def test_rows_may_be_coded_part_by_part(summing, n_features, most_codes):
    column = [0.0, 1.0, 2.0, NAN, 3.0, 1.0, 0.0]
    bins = Bins(tuple(coded([0, 1, 2, None, 3, 1, 0]) for _ in range(n_features)))
    target = numbers([1, 2, 4, 8, 16, 32, 64])

    def sums(bounds):
        data = summing.reserve(n_features, 7, most_codes)
        for first, last in pairwise(bounds):
            part = numeric(*(np.array(column[first:last]) + 0.0 for _ in range(n_features)))
            summing.encode(data, 0, summing.hold(part.columns), bins.features, first)
        there = to_two(0, n_features - 1, 1, np.arange(5) >= 2)
        rows = summing.route(summing.begin(data, bins, target), there)
        return summing.leaves(rows).tolist()

    assert sums([0, 7]) == [1, 1, 2, 2, 2, 1, 1]
    assert sums([0, 3, 6, 7]) == sums([0, 1, 2, 7]) == sums([0, 7])


def test_categories_are_codes_and_no_category_is_missing(summing):
    column = Column("size", Kind.ORDINAL, np.array([2, -1, 0], np.int32), ("S", "M", "L"))
    edge = np.arange(3.0)
    bins = Bins((FeatureBins("size", Kind.ORDINAL, ("S", "M", "L"), edge[:-1], edge[1:], True),))
    data = summing.reserve(1, 3, 4)
    summing.encode(data, 0, summing.hold([column]), bins.features)
    sums = sums_of(summing.tally(summing.begin(data, bins, numbers([1, 2, 4])), ROOT))
    assert sums[0, 1].tolist() == [4, 0, 1, 2]


def test_refining_lists_the_values_of_the_wanted_buckets_only(backend):
    values = np.array([1.0, 7.0, 1.0, NAN, 1.0000001, 7.0, -0.0, 0.0])
    weight = np.array([1, 2, 4, 8, 16, 0, 32, 64])
    held = backend.hold(numeric(values, values).columns)
    wanted, none = Buckets(bucket_of(np.array([0.0, 1.0]))), Buckets(np.empty(0, np.int64))
    (value, total), (no_value, nothing) = backend.refine(held, weight, [wanted, none])
    assert (value.tolist(), total.tolist()) == ([0.0, 1.0, 1.0000001], [96, 5, 16])
    assert (no_value.size, nothing.size) == (0, 0)
    (value, total), _ = backend.refine(held, None, [Buckets(bucket_of(np.array([7.0]))), none])
    assert (value.tolist(), total.tolist()) == ([7.0], [2])


# In one bucket; the second and the third are in one fine bucket, the third is no float32.
CLOSE = np.array([1.0, 1.0 + 2.0**-15, 1.0 + 2.0**-15 + 2.0**-40, 1.0 + 2.0**-10])


def fine_bucket_of(values):
    """The leading 26 bits of positive float32s, with the sign in order."""
    return 2**25 + (values.astype(np.float32).view(np.int32) >> 6)


def test_refining_fine_buckets_lists_their_values_only(backend):
    values = np.array([CLOSE[2], NAN, 7.0, CLOSE[1], CLOSE[0], CLOSE[3], CLOSE[2], -CLOSE[1]])
    weight = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    held = backend.hold(numeric(values, values, values).columns)
    fine = Buckets(np.unique(fine_bucket_of(CLOSE[1:3])), is_fine=True)
    assert fine.number.size == 1
    more = Buckets(fine_bucket_of(np.array([CLOSE[0], CLOSE[3], 7.0])), is_fine=True)
    coarse = Buckets(bucket_of(CLOSE[:1]))
    first, second, third = backend.refine(held, weight, [fine, more, coarse])
    assert [part.tolist() for part in first] == [CLOSE[1:3].tolist(), [8, 65]]
    assert [part.tolist() for part in second] == [[CLOSE[0], CLOSE[3], 7.0], [16, 32, 4]]
    assert [part.tolist() for part in third] == [CLOSE.tolist(), [16, 8, 65, 32]]
    assert backend.refine(held, None, [fine, more, coarse])[0][1].tolist() == [1, 2]


def test_a_sketch_weighs_the_known_values_of_each_bucket(backend):
    held = backend.hold(numeric(np.array([1.0, NAN, 2.0, 1.0, NAN])).columns)
    [(bucket, weight)] = backend.sketch(held, np.array([1, 2, 4, 8, 16]))
    assert bucket.tolist() == bucket_of(np.array([1.0, 2.0])).tolist()
    assert weight.tolist() == [9, 4]
    assert backend.sketch(held, None)[0][1].tolist() == [2, 1]
    assert backend.count_missing(held).tolist() == [2]


def test_a_sketch_within_buckets_weighs_the_fine_ones_in_them(backend):
    values = np.array([CLOSE[2], NAN, 7.0, CLOSE[1], CLOSE[0], CLOSE[3], 0.5, -CLOSE[1]])
    weight = np.array([1, 2, 4, 8, 16, 0, 64, 128])
    held = backend.hold(numeric(values, values, values).columns)
    within = [bucket_of(own) for own in (CLOSE[:1], np.empty(0), np.array([0.5, 7.0]))]
    first, second, third = backend.sketch(held, weight, within)
    assert [part.tolist() for part in first] == [fine_bucket_of(CLOSE[:2]).tolist(), [16, 9]]
    assert [part.size for part in second] == [0, 0]
    assert third[0].tolist() == fine_bucket_of(np.array([0.5, 7.0])).tolist()
    assert third[1].tolist() == [64, 4]
    assert backend.sketch(held, None, within)[0][1].tolist() == [1, 2, 1]


def test_fine_sketches_of_parts_of_the_rows_add_up(backend):
    rng = np.random.default_rng(1)
    values, weight = 1.0 + rng.random(60), rng.integers(0, 3, 60)
    within = [np.unique(bucket_of(values[10:50]))]

    def fine(rows):
        held = backend.hold(numeric(values[rows]).columns)
        [(bucket, amount)] = backend.sketch(held, weight[rows], within)
        return Counter(dict(zip(bucket.tolist(), amount.tolist(), strict=True)))

    whole = fine(slice(None))
    assert whole == fine(slice(20)) + fine(slice(20, None))
    assert whole.total() == weight[np.isin(bucket_of(values), within[0])].sum()


# Tallies.


def test_a_tally_counts_the_rows_of_each_class_and_code(summing):
    hist = at_root(summing, [[0, 1, 1, 0], [2, 2, 0, 1]], classes(0, 1, 1, 1))
    assert sums_of(hist).tolist() == [[[1, 0, 0, 0, 1], [1, 2, 1, 1, 1]]]


def test_a_tally_of_weighted_classes_adds_weights_and_counts_rows(summing):
    hist = at_root(summing, [[0, 1, 1, 0]], classes(0, 1, 1, 1, weight=[5, 7, 2, 3]))
    assert sums_of(hist).tolist() == [[[5, 0], [3, 9], [2, 2]]]


def test_a_tally_of_a_regression_adds_rows_and_targets(summing):
    hist = at_root(summing, [[0, 1, 1, 0]], numbers([5, -7, 2, 3]))
    assert sums_of(hist).tolist() == [[[2, 2], [8, -5]]]


def test_a_tally_of_two_weighted_outputs_adds_weights_targets_and_rows(summing):
    target = numbers([5, -7, 2, 3], [1, 1, 0, 2], weight=[1, 2, 4, 8])
    hist = at_root(summing, [[0, 1, 1, 0]], target)
    assert sums_of(hist).tolist() == [[[9, 6], [29, -6], [17, 2], [2, 2]]]


def test_a_missing_value_is_tallied_under_the_last_code(summing):
    hist = at_root(summing, [[0, None, 1, None]], numbers([1, 2, 4, 8]))
    assert sums_of(hist).tolist() == [[[1, 1, 2], [1, 4, 10]]]


def test_a_tally_takes_the_rows_of_the_nodes_asked_for_in_their_order(summing):
    rows = start(summing, [[0, 1, 0, 1], [0, 0, 1, 1]], numbers([1, 2, 4, 8]))
    rows = summing.route(rows, to_two(0, 0, 1, [0, 1]))
    assert sums_of(summing.tally(rows, np.array([2]))).tolist() == [[[0, 2, 1, 1], [0, 10, 2, 8]]]
    both = sums_of(summing.tally(rows, np.array([2, 1])))
    assert both[:, 1].tolist() == [[0, 10, 2, 8], [5, 0, 1, 4]]
    assert sums_of(summing.tally(rows, ROOT)).sum() == 0


def test_sums_up_to_the_limit_are_exact(summing):
    big = 2**52 - 1
    hist = at_root(summing, [[0, 0, 1]], numbers([big, 1, -big]))
    assert sums_of(hist)[0, 1].tolist() == [2**52, -big]


def test_tallies_of_parts_of_the_rows_add_up(summing):
    column, label, weight = [0, 1, 1, 0, 2, 1], [0, 1, 1, 0, 1, 0], [1, 2, 3, 4, 5, 7]
    whole = sums_of(at_root(summing, [column], classes(*label, weight=weight)))
    parts = [
        sums_of(at_root(summing, [column[part]], classes(*label[part], weight=weight[part]), 3))
        for part in (slice(0, 2), slice(2, 6))
    ]
    assert_array_equal(parts[0] + parts[1], whole)


def test_a_derived_sibling_equals_its_own_tally(summing):
    rows = start(summing, [[0, 1, 2, 1, 0], [1, 1, 0, 0, 1]], classes(0, 1, 2, 1, 2))
    above = summing.tally(rows, ROOT)
    rows = summing.route(rows, to_two(0, 0, 1, [0, 1, 1]))
    built = summing.tally(rows, np.array([1]))
    both = summing.derive(
        built, Siblings(np.array([1, 2]), np.array([0, 0]), np.array([-1, 0])), above
    )
    assert_array_equal(sums_of(both), sums_of(summing.tally(rows, np.array([1, 2]))))
    only = summing.derive(built, Siblings(np.array([2]), np.array([0]), np.array([0])), above)
    assert_array_equal(sums_of(only), sums_of(summing.tally(rows, np.array([2]))))


def test_without_sums_above_tallied_ones_are_taken_as_they_are(summing):
    rows = start(summing, [[0, 1, 2]], numbers([1, 2, 4]))
    rows = summing.route(rows, to_two(0, 0, 1, [0, 1, 1]))
    built = summing.tally(rows, np.array([1, 2]))
    kept = summing.derive(
        built, Siblings(np.array([2, 1]), np.array([1, 0]), np.array([-1, -1])), None
    )
    assert_array_equal(sums_of(kept), sums_of(built)[::-1])


# The search.


def test_the_best_split_of_a_table_is_found(backend):
    """Code 0 and 1 hold class 0, code 2 holds class 1; feature 0 tells nothing."""
    found = best(backend, [[0, 1, 0, 1], [0, 1, 2, 2]], classes(0, 0, 1, 1))
    assert found == {
        "score": 2.0,  # 4 rows, Gini 1/2 before and 0 after
        "feature": 1,
        "code": 1,
        "next_code": 2,
        "missing_slot": 1,
        "left": [2, 0],
    }


@pytest.mark.parametrize(
    ("criterion", "decrease"),
    [(GINI, 1 / 6), (ENTROPY, 1 - 0.75 * 0.9182958340544896), (ERROR, 1 / 4)],
)
def test_a_score_is_the_decrease_of_impurity_times_the_weight(backend, criterion, decrease):
    """The node (2, 2) into (1, 0) and (1, 2)."""
    found = best(backend, [[0, 1, 1, 1]], classes(0, 0, 1, 1), criterion=criterion)
    assert found["score"] == pytest.approx(4 * decrease, rel=1e-12)


def test_the_score_of_a_regression_is_the_decrease_of_squared_error(backend):
    found = best(backend, [[0, 0, 1, 1]], numbers([1, 3, 10, 14]))
    assert found["score"] == 100.0  # 110 about the mean of 7, 2 + 8 about those of the children
    assert found["left"] == [2, 4]


def test_a_larger_score_wins_over_a_lower_feature(backend):
    assert best(backend, [[0, 0, 1, 0], [0, 0, 1, 1]], classes(0, 0, 1, 1))["feature"] == 1


def test_equal_scores_go_to_the_lower_feature(backend):
    column = [0, 0, 1, 1]
    assert best(backend, [[0, 1, 0, 1], column, column], classes(0, 0, 1, 1))["feature"] == 1


def test_equal_scores_go_to_the_lower_code(backend):
    """Classes 0 1 0 along the codes: cutting off either end gains the same."""
    found = best(backend, [[0, 1, 2]], classes(0, 1, 0))
    assert (found["code"], found["left"]) == (0, [1, 0])


def test_scores_that_differ_by_rounding_only_tie(backend):
    """Feature 1 is feature 0 reversed: its score has the same worth and a larger last bit."""
    target = classes(0, 1, 2, 2)
    first, mirrored = [1, 1, 1, 0], [0, 0, 0, 1]
    alone = [best(backend, [c], target, criterion=ENTROPY)["score"] for c in (first, mirrored)]
    assert alone[0] < alone[1]
    assert best(backend, [first, mirrored], target, criterion=ENTROPY)["feature"] == 0
    assert best(backend, [mirrored, first], target, criterion=ENTROPY)["feature"] == 0


def test_only_codes_that_occur_are_candidates(backend):
    found = best(backend, [[1, 1, 4, 6]], classes(0, 0, 1, 1), n_values=9)
    assert (found["code"], found["next_code"]) == (1, 4)
    found = best(backend, [[0, 1, 4, 6]], classes(0, 0, 0, 1), n_values=9)
    assert (found["code"], found["next_code"]) == (4, 6)


def test_nodes_are_searched_each_on_its_own_rows(backend):
    rows = start(backend, [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]], classes(0, 0, 1, 0, 1, 1))
    rows = backend.route(rows, to_two(0, 0, 1, [0, 1]))
    splits = backend.best_splits(backend.tally(rows, np.array([2, 1])), search())
    assert splits.feature.tolist() == [1, 1]
    assert splits.code.tolist() == [0, 1]
    assert splits.left.tolist() == [[1, 0], [2, 0]]
    assert splits.score.tolist() == pytest.approx([4 / 3, 4 / 3])


def test_a_node_that_cannot_be_split_says_so(backend):
    assert best(backend, [[0, 0, 0]], classes(0, 1, 0))["score"] == NO_SPLIT
    assert best(backend, [[1, 1]], classes(0, 1), n_values=3)["score"] == NO_SPLIT
    assert best(backend, [[None, None, 0, 0]], classes(0, 1, 0, 1), min_rows=3)["score"] == NO_SPLIT


def test_a_split_that_gains_nothing_is_still_a_split(backend):
    found = best(backend, [[0, 0, 1, 1]], classes(0, 1, 0, 1))
    assert (found["score"], found["left"]) == (0.0, [1, 1])


@pytest.mark.parametrize(("min_rows", "code"), [(1, 0), (2, 1), (3, 2)])
def test_both_children_have_the_rows_they_need(backend, min_rows, code):
    """One row of class 0 at the left end: the best cut is as near to it as allowed."""
    column = [0, 1, 2, 3, 4, 5, 6]
    found = best(backend, [column], classes(0, 1, 1, 1, 1, 1, 1), min_rows=min_rows)
    assert found["code"] == code
    mirrored = best(backend, [column[::-1]], classes(0, 1, 1, 1, 1, 1, 1), min_rows=min_rows)
    assert mirrored["code"] == 5 - code
    assert best(backend, [column], classes(0, 1, 1, 1, 1, 1, 1), min_rows=4)["score"] == NO_SPLIT


def test_rows_and_not_weights_are_counted_against_the_least_rows(backend):
    target = classes(0, 1, 1, 1, weight=[100, 1, 1, 1])
    assert best(backend, [[0, 1, 2, 3]], target, min_rows=1)["code"] == 0
    assert best(backend, [[0, 1, 2, 3]], target, min_rows=2)["code"] == 1


@pytest.mark.parametrize(("min_weight", "code"), [(0, 0), (5, 0), (6, 1), (7, 1)])
def test_both_children_have_the_weight_they_need(backend, min_weight, code):
    target = classes(0, 1, 1, 1, weight=[5, 3, 3, 4])
    found = best(backend, [[0, 1, 2, 3]], target, min_weight=min_weight)
    assert found["code"] == code
    assert best(backend, [[0, 1, 2, 3]], target, min_weight=8)["score"] == NO_SPLIT


# Missing values.


def test_missing_values_go_to_the_side_they_resemble(backend):
    column = [0, 0, 1, 1, None, None]
    like_left = best(backend, [column], classes(0, 0, 1, 1, 0, 0))
    assert (like_left["missing_slot"], like_left["left"], like_left["score"]) == (0, [4, 0], 8 / 3)
    like_right = best(backend, [column], classes(0, 0, 1, 1, 1, 1))
    assert (like_right["missing_slot"], like_right["left"]) == (1, [2, 0])
    assert (like_left["code"], like_left["next_code"]) == (0, 1)


def test_missing_values_that_do_not_care_go_right(backend):
    """One of each class is missing, so both directions gain the same."""
    found = best(backend, [[0, 1, None, None]], classes(0, 1, 0, 1))
    assert (found["code"], found["missing_slot"], found["left"]) == (0, 1, [1, 0])


def test_a_lower_code_wins_even_with_missing_values_to_the_left(backend):
    """{0, missing} | {1, 2} and {0, 1} | {2, missing} gain the same."""
    found = best(backend, [[0, 1, 2, None]], numbers([2, 0, -2, 0]), min_rows=2)
    assert (found["score"], found["code"], found["missing_slot"]) == (4.0, 0, 0)


def test_missing_values_alone_may_be_what_a_split_is_about(backend):
    found = best(backend, [[0, 1, 0, None, None]], classes(0, 0, 0, 1, 1))
    assert (found["code"], found["next_code"], found["missing_slot"]) == (1, -1, 1)
    assert found["left"] == [3, 0]


def test_the_direction_is_chosen_for_each_node(backend):
    columns = [[0, 0, 0, 1, 1, 1], [0, 1, None, 0, 1, None]]
    rows = start(backend, columns, classes(0, 1, 0, 0, 1, 1))
    rows = backend.route(rows, to_two(0, 0, 1, [0, 1]))
    splits = backend.best_splits(backend.tally(rows, np.array([1, 2])), search())
    assert splits.missing_slot.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("label", "slot"),
    [((0, 1, 1), 1), ((0, 0, 1), 0), ((0, 0, 1, 1), 1)],
    ids=["right is larger", "left is larger", "both are equal"],
)
def test_a_node_without_missing_values_sends_later_ones_to_its_larger_child(backend, label, slot):
    assert best(backend, [list(label)], classes(*label))["missing_slot"] == slot


def test_larger_means_more_rows_and_not_more_weight(backend):
    target = classes(0, 1, 1, weight=[100, 1, 1])
    assert best(backend, [[0, 1, 1]], target)["missing_slot"] == 1


def test_missing_rows_count_towards_the_least_rows_of_their_side(backend):
    found = best(backend, [[0, 1, 1, None]], classes(0, 1, 1, 0), min_rows=2)
    assert (found["code"], found["missing_slot"], found["left"]) == (0, 0, [2, 0])


# Drawn features.

THREE = [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]]  # feature 1 is the best for 0 0 1 1


@pytest.mark.parametrize(
    ("n_drawn", "rank", "feature"),
    [
        (1, [0, 1, 2], 0),
        (1, [1, 2, 0], 2),
        (2, [1, 2, 0], 0),  # 0 and 2 gain the same
        (2, [2, 0, 1], 1),
        (3, [2, 1, 0], 1),
    ],
)
def test_only_drawn_features_are_tried(backend, n_drawn, rank, feature):
    found = best(backend, THREE, classes(0, 0, 1, 1), n_drawn=n_drawn, rank=[rank])
    assert found["feature"] == feature


def test_where_no_drawn_feature_can_be_split_the_next_in_the_draw_that_can_is_tried(backend):
    columns = [[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 1, 1]]
    label = classes(0, 0, 1, 1)
    found = best(backend, columns, label, n_drawn=1, rank=[[0, 2, 1, 3]])
    assert found["feature"] == 1  # 0 and 2 are constant; 3 would be better, but comes later
    found = best(backend, columns, label, n_drawn=1, rank=[[0, 3, 1, 2]])
    assert found["feature"] == 3
    found = best(backend, columns[:1], label, n_drawn=1, rank=[[0]])
    assert found["score"] == NO_SPLIT


def test_a_drawn_feature_that_can_be_split_keeps_others_out_even_if_it_gains_nothing(backend):
    columns = [[0, 1, 0, 1], [0, 0, 1, 1]]
    found = best(backend, columns, classes(0, 0, 1, 1), n_drawn=1, rank=[[0, 1]])
    assert (found["feature"], found["score"]) == (0, 0.0)


def test_each_node_has_a_draw_of_its_own(backend):
    rows = start(
        backend, [[0, 0, 0, 0, 1, 1, 1, 1], *(2 * c for c in THREE)], classes(*[0, 0, 1, 1] * 2)
    )
    rows = backend.route(rows, to_two(0, 0, 1, [0, 1]))
    rule = search(n_drawn=1, rank=[[3, 0, 1, 2], [3, 2, 1, 0]])
    splits = backend.best_splits(backend.tally(rows, np.array([1, 2])), rule)
    assert splits.feature.tolist() == [1, 3]


# Rows.


def test_rows_go_where_the_table_of_slots_sends_their_code(backend):
    rows = start(backend, [[0, 1, 2, None], [0, 0, 0, 0]], classes(0, 1, 0, 1))
    there = backend.route(rows, to_two(0, 0, 1, [1, 0, 1, 0]))
    assert backend.leaves(there).tolist() == [2, 1, 2, 1]


def test_several_nodes_move_at_once_each_by_a_feature_of_its_own(backend):
    rows = start(backend, [[0, 0, 1, 1], [0, 1, 0, 1], [2, 1, 0, 1]], classes(0, 1, 0, 1))
    rows = backend.route(rows, to_two(0, 0, 1, [0, 1]))
    moves = Moves(
        node=np.array([2, 1]),
        feature=np.array([2, 1]),
        first_child=np.array([5, 3]),
        n_children=np.array([2, 2]),
        start=np.array([0, 3]),
        table=np.array([0, 1, 1, 0, 1], SLOT),
    )
    assert backend.leaves(backend.route(rows, moves)).tolist() == [3, 4, 5, 6]


def test_nodes_that_do_not_move_keep_their_rows(backend):
    rows = start(backend, [[0, 0, 1, 1], [0, 1, 0, 1]], classes(0, 1, 0, 1))
    rows = backend.route(rows, to_two(0, 0, 1, [0, 1]))
    there = backend.route(rows, to_two(1, 1, 3, [0, 1]))
    assert backend.leaves(there).tolist() == [3, 4, 2, 2]


def test_routing_leaves_the_old_rows_as_they_are(summing):
    rows = start(summing, [[0, 1, 1]], classes(0, 1, 1))
    before = sums_of(summing.tally(rows, ROOT))
    there = summing.route(rows, to_two(0, 0, 1, [0, 1]))
    assert summing.leaves(there).tolist() == [1, 2, 2]
    assert summing.leaves(rows).tolist() == [0, 0, 0]
    assert_array_equal(sums_of(summing.tally(rows, ROOT)), before)


def test_rows_without_weight_stay_outside(summing):
    rows = start(summing, [[0, 1, 1, 0]], classes(0, 1, 1, 1, weight=[2, 0, 1, 0]))
    assert summing.leaves(rows).tolist() == [0, OUTSIDE, 0, OUTSIDE]
    assert sums_of(summing.tally(rows, ROOT)).tolist() == [[[2, 0], [0, 1], [1, 1]]]
    there = summing.route(rows, to_two(0, 0, 1, [0, 1]))
    assert summing.leaves(there).tolist() == [1, OUTSIDE, 2, OUTSIDE]
    assert sums_of(summing.tally(there, np.array([1, 2])))[:, -1].tolist() == [[1, 0], [0, 1]]


def test_trees_grow_together_from_roots_of_their_own(summing):
    data, bins = encoded(summing, [[0, 1, 2, 1]])
    target = classes(0, 1, 1, 0, 1)
    taken = summing.take_rows(data, np.array([2, 0, 3, 3, 1]))
    rows = summing.begin(taken, bins, target, np.array([2, 3]))
    assert summing.leaves(rows).tolist() == [0, 0, 1, 1, 1]
    assert_array_equal(
        sums_of(summing.tally(rows, np.array([1, 0]))),
        [[[0, 1, 0], [0, 2, 0]], [[0, 0, 1], [1, 0, 0]]],
    )
    moved = summing.route(rows, to_two(1, 0, 2, [0, 1, 1]))
    assert summing.leaves(moved).tolist() == [0, 0, 3, 3, 3]


def test_leaves_are_plain_host_integers(backend):
    leaf = backend.leaves(start(backend, [[0, 1]], classes(0, 1)))
    assert isinstance(leaf, np.ndarray)
    assert leaf.dtype.kind == "i"


def test_a_span_is_the_smallest_and_the_largest_target_of_a_node(backend):
    rows = start(backend, [[0, 1, 1, 0, 0]], numbers([3, 5, 5, -1, 2], [0, 7, 9, 0, 0]))
    assert backend.span(rows, ROOT).tolist() == [[[-1, 5], [0, 9]]]
    there = backend.route(rows, to_two(0, 0, 1, [0, 1]))
    spans = backend.span(there, np.array([2, 1]))
    assert spans.tolist() == [[[5, 5], [7, 9]], [[-1, 3], [0, 0]]]


def test_a_span_does_not_see_rows_without_weight(backend):
    rows = start(backend, [[0, 0, 0]], numbers([3, 99, 5], weight=[1, 0, 1]))
    assert backend.span(rows, ROOT).tolist() == [[[3, 5]]]


# Prediction.


def tree(feature, threshold, missing_slot, first_child):
    n = len(feature)
    leaf = np.array(first_child) < 0
    return Tree(
        kind=~leaf,
        feature=feature,
        threshold=np.where(leaf, NAN, threshold),
        missing_slot=missing_slot,
        first_child=first_child,
        gain=np.zeros(n),
        impurity=np.zeros(n),
        n_rows=np.ones(n),
        weight=np.ones(n),
        value=np.zeros((n, 1)),
    )


STUMP = tree([0, -1, -1], [1.5, 0, 0], [0, 0, 0], [1, -1, -1])
DEEP = tree([0, 1, -1, -1, -1], [1.5, -2.0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 3, -1, -1, -1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_value_up_to_the_threshold_goes_left(backend, dtype):
    column = np.array([1.5, 1.4, 1.6, -INF, INF, NAN, -0.0], dtype)
    assert backend.apply(STUMP, numeric(column)).tolist() == [1, 1, 2, 1, 2, 1, 1]


def test_a_float32_is_compared_as_the_number_it_is(backend):
    """The float32 next to 0.1 lies above 0.1."""
    stump = tree([0, -1, -1], [0.1, 0, 0], [0, 0, 0], [1, -1, -1])
    assert backend.apply(stump, numeric(np.array([0.1], np.float32))).tolist() == [2]
    assert backend.apply(stump, numeric(np.array([0.1], np.float64))).tolist() == [1]


def test_rows_walk_down_to_their_leaves(backend):
    table = numeric(np.array([0.0, 0.0, 9.0, NAN, 0.0]), np.array([-2.0, 0.0, -5.0, -5.0, NAN]))
    assert backend.apply(DEEP, table).tolist() == [3, 4, 2, 2, 3]


def test_an_infinite_threshold_tells_missing_from_known(backend):
    stump = tree([0, -1, -1], [INF, 0, 0], [1, 0, 0], [1, -1, -1])
    assert backend.apply(stump, numeric(np.array([INF, 0.0, NAN, -INF]))).tolist() == [1, 1, 2, 1]


def test_an_infinite_threshold_below_all_tells_minus_infinity_from_the_rest(backend):
    stump = tree([0, -1, -1], [-INF, 0, 0], [1, 0, 0], [1, -1, -1])
    assert backend.apply(stump, numeric(np.array([-INF, -1e308, NAN]))).tolist() == [1, 2, 2]


def test_every_row_of_a_single_leaf_ends_in_it(backend):
    leaf = tree([-1], [0.0], [0], [-1])
    assert backend.apply(leaf, numeric(np.array([1.0, NAN]))).tolist() == [0, 0]


def test_categories_walk_by_their_numbers(backend):
    column = Column("size", Kind.ORDINAL, np.array([0, 1, 2, -1], np.int32), ("S", "M", "L"))
    assert backend.apply(STUMP, Table((column,), 4)).tolist() == [1, 1, 2, 1]


# Sizes.


def test_the_sums_of_a_node_take_at_least_eight_bytes_a_place_and_channel(backend):
    bins = Bins((coded([0, 1, None]), coded([0, 1])))
    n_bytes = backend.hist_bytes(bins, Channels(3, True, True), np.array([10_000, 1_000_000]))
    assert n_bytes[0] == n_bytes[1] >= 8 * 5 * 4


def test_rows_are_held_beside_the_codes(backend):
    bins = Bins((coded([0, 1]),))
    data = backend.reserve(1, 2, 2)
    rows = backend.begin(data, bins, numbers([1, 2]))
    assert backend.bytes_held(data, rows) > backend.bytes_held(data, None) >= 2


# One result everywhere.


@st.composite
def fits(draw):
    """A table with missing and repeated values, weights, and a target of either kind."""
    n_rows, n_features = draw(st.integers(2, 24)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = [
        rng.choice(rng.normal(size=draw(st.integers(1, 8))), n_rows) for _ in range(n_features)
    ]
    for column in columns:
        column[rng.random(n_rows) < draw(st.sampled_from([0.0, 0.3]))] = NAN
        column[rng.integers(n_rows)] = draw(st.sampled_from([-0.0, INF, 1e-310, 2.0**60]))
        column[0] = 0.25  # a known value in a row of weight
    weight = draw(
        st.sampled_from([None, rng.integers(0, 4, n_rows) * 1.0, rng.random(n_rows) + 0.01])
    )
    if weight is not None:
        weight[0] = 1.5
    if draw(st.booleans()):
        target = class_target(rng.integers(0, 3, n_rows), 3, weight)
    else:
        target = value_target(rng.normal(size=(n_rows, draw(st.integers(1, 2)))), weight)
    return numeric(*columns), target


class Fit:
    """The children of the root and what led to them; one of them may have no rows."""

    def __init__(self, backend, table, target, seed):
        rng = np.random.default_rng(seed)
        self.bins, data = bin_table(backend, table, target.weight, 5)
        n_features = len(self.bins.features)
        feature = int(rng.integers(n_features))
        slots = rng.integers(0, 2, self.bins.n_codes[feature])
        self.rank = rng.permuted(np.tile(np.arange(n_features), (2, 1)), axis=1)
        self.root = backend.begin(data, self.bins, target)
        self.above = backend.tally(self.root, ROOT)
        self.rows = backend.route(self.root, to_two(0, feature, 1, slots))
        built = backend.tally(self.rows, np.array([2]))
        nodes = np.intersect1d(backend.leaves(self.rows), [1, 2])
        siblings = Siblings(nodes, np.zeros(len(nodes), np.int64), np.where(nodes == 2, -1, 0))
        self.hist = backend.derive(built, siblings, self.above)
        self.rank = self.rank[: len(nodes)]


def winners(backend, fit, target):
    """The best splits by every criterion and rule; what a node without a split says is open."""
    found = []
    is_classes = target.channels.is_classes
    for criterion in (GINI, ENTROPY, ERROR) if is_classes else (GINI,):
        for rule in (search(criterion), search(criterion, 2, 3, 1, fit.rank)):
            splits = backend.best_splits(fit.hist, rule)
            is_split = splits.score > NO_SPLIT
            found.append(is_split.tolist())
            found += [getattr(splits, field.name)[is_split].tolist() for field in fields(Splits)]
    return found


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("backend", HOSTS, indirect=True)
@given(fits(), seeds)
def test_every_backend_finds_the_splits_of_numpy(backend, drawn, seed):
    check_splits(backend, *drawn, seed)


def on_a_device(check, n_examples):
    @settings(max_examples=n_examples)
    @given(fits(), seeds)
    def holds(drawn, seed):
        check(opened("cuda"), *drawn, seed)

    holds()


@FEW
def test_a_device_finds_the_splits_of_numpy(n_examples):
    on_a_device(check_splits, n_examples)


def check_splits(backend, table, target, seed):
    fit, right = (Fit(where, table, target, seed) for where in (backend, NUMPY))
    assert winners(backend, fit, target) == winners(NUMPY, right, target)


@pytest.mark.parametrize("summing", BY_SUMS[:-1], indirect=True)
@given(fits(), seeds)
def test_every_backend_cuts_and_sums_like_numpy(summing, drawn, seed):
    check_sums(summing, *drawn, seed)


@FEW
def test_a_device_cuts_and_sums_like_numpy(n_examples):
    on_a_device(check_sums, n_examples)


def check_sums(backend, table, target, seed):
    fit, right = (Fit(where, table, target, seed) for where in (backend, NUMPY))
    for feature, same in zip(fit.bins.features, right.bins.features, strict=True):
        assert feature.cut.tobytes() == same.cut.tobytes()
        assert feature.has_missing == same.has_missing
    assert_array_equal(sums_of(fit.above), sums_of(right.above))
    assert_array_equal(sums_of(fit.hist), sums_of(right.hist))


@pytest.mark.parametrize("backend", HOSTS, indirect=True)
@given(fits(), seeds)
def test_every_backend_moves_rows_like_numpy(backend, drawn, seed):
    check_moves(backend, *drawn, seed)


@FEW
def test_a_device_moves_rows_like_numpy(n_examples):
    on_a_device(check_moves, n_examples)


def check_moves(backend, table, target, seed):
    fit, right = (Fit(where, table, target, seed) for where in (backend, NUMPY))
    assert backend.leaves(fit.rows).tolist() == NUMPY.leaves(right.rows).tolist()
    if target.point is not None:
        assert_array_equal(backend.span(fit.root, ROOT), NUMPY.span(right.root, ROOT))
    walk = DEEP if table.n_features > 1 else STUMP
    assert backend.apply(walk, table).tolist() == NUMPY.apply(walk, table).tolist()
