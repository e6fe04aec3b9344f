"""The verbs of classic trees, on every backend: rates, cells, many children, rows that stay."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gputree.backends.contract import NO_SPLIT, CategoryRules, Moves, Rates, Search
from gputree.backends.seen import OTHERS
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Column, Kind, Table
from gputree.data.target import class_target, parts_of, value_target
from gputree.dtypes import SLOT, STAY
from gputree.kernels.criteria import ENTROPY, ERROR, GINI, POISSON, TWOING
from gputree.kernels.cuda.gpu import SIMULATED
from gputree.tree.tree import Split, Tree
from gputree.tree.walk import Ways
from tests.backends.test_contract import opened
from tests.tables import with_lists

NUMPY = opened("numpy by sums")
NAN = np.nan
ROOT = np.zeros(1, np.int64)


HOSTS = [
    *("numpy", "numpy by sums", "numpy by rows", "array_api_strict", "torch"),
    *("numba", "numba by sums", "numba by rows"),
]


COMPILED = ("numba", "numba by sums", "numba by rows")  # others share code, and cross little


@pytest.fixture(scope="session", params=[*HOSTS, "cuda"])
def backend(request):
    return opened(request.param)


def check_size(backend, n_rows):
    """Skip what takes a simulator minutes."""
    if backend.name == "cuda" and SIMULATED and n_rows > 100:
        pytest.skip("too many for a simulator")


def rows_for(backend, n_rows):
    """As many rows as a backend has the time for."""
    return min(90, n_rows) if backend.name == "cuda" and SIMULATED else n_rows


N_VALUES = (7, 3, 300, 1)
MISSING = (True, False, True, True)


def table_of(n_rows, seed=0):
    """Codes of four features; the last one is missing everywhere."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, n, n_rows).astype(np.float64) for n in N_VALUES]
    for column, share in zip(columns, (0.2, 0.0, 0.1, 1.0), strict=True):
        column[rng.random(n_rows) < share] = NAN
    return columns


def bins():
    return Bins(
        tuple(
            FeatureBins(
                f"x{at}",
                Kind.NUMERIC,
                None,
                np.arange(n - 1.0),
                np.arange(1.0, n),
                has_missing,
            )
            for at, (n, has_missing) in enumerate(zip(N_VALUES, MISSING, strict=True))
        )
    )


def data_of(backend, n_rows, seed=0):
    columns = table_of(n_rows, seed)
    held = backend.hold([Column(f"x{i}", Kind.NUMERIC, c) for i, c in enumerate(columns)])
    data = backend.reserve(len(columns), n_rows, int(bins().n_codes.max()))
    backend.encode(data, 0, held, bins().features)
    return data


def begun(backend, target, seed=0):
    return backend.begin(data_of(backend, target.n_rows, seed), bins(), target)


def target_of(kind, n_rows, seed=1):
    rng = np.random.default_rng(seed)
    weight = None
    if "weighted" in kind:
        weight = rng.integers(0, 4, n_rows) + 0.5
    if "numbers" in kind:
        return value_target(rng.normal(size=(n_rows, 2)).round(2), weight)
    if "counts" in kind:
        return value_target(rng.poisson(0.7, (n_rows, 1)).astype(float), weight, is_counts=True)
    n_classes = 3 if "three" in kind else 2
    label = rng.integers(0, n_classes, n_rows)
    return class_target(label, n_classes, weight, divides_rows="divided" in kind)


KINDS = ["two classes", "three weighted classes", "numbers", "weighted numbers", "divided classes"]


def moves_by(table, node=0, first_child=1, feature=0):
    """Moves of one node by a table of slots."""
    n_children = int(max(slot for slot in table if slot != STAY)) + 1
    return Moves(
        np.array([node]),
        np.array([feature]),
        np.array([first_child]),
        np.array([n_children]),
        ROOT,
        np.array(table, SLOT),
    )


def listed(backend, rows, nodes):
    """The rows of each node, as sorted lists."""
    row, n_rows = backend.rows_at(rows, np.array(nodes))
    return [sorted(part.tolist()) for part in np.split(row, np.cumsum(n_rows)[:-1])]


def all_cells(backend, hist, n_nodes):
    feature = np.arange(len(N_VALUES))
    place = np.repeat(np.arange(n_nodes), len(feature))
    return backend.cells(hist, place, np.tile(feature, n_nodes))


# Rates.


@pytest.mark.cover(*COMPILED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [900, 5])
@pytest.mark.parametrize(
    "search",
    [
        Search(GINI, 1, 0, 9, None),
        Search(GINI, 3, 2, 9, None),
        Search(GINI, 1, 2, 9, None, least_share=0.03, most_least_weight=7),
        Search(GINI, 1, 0, 9, None, is_ordered=np.array([True, False, True, True])),
    ],
    ids=["any", "three rows", "a share", "without x1"],
)
def test_the_best_threshold_of_every_feature_is_that_of_numpy(backend, kind, n_rows, search):
    target = target_of(kind, rows_for(backend, n_rows))
    found, expected = (
        each.rate(each.tally(begun(each, target), ROOT), search) for each in (backend, NUMPY)
    )
    same_rates(found, expected)


@pytest.mark.quick("num", "array_api_strict", "torch", "cuda-entropy")
@pytest.mark.parametrize("criterion", [ENTROPY, ERROR, TWOING], ids=lambda each: each.name)
def test_every_criterion_rates_alike(backend, criterion):
    target = target_of("three weighted classes", rows_for(backend, 300))
    search = Search(criterion, 1, 0, 9, None)
    found, expected = (
        each.rate(each.tally(begun(each, target), ROOT), search) for each in (backend, NUMPY)
    )
    same_rates(found, expected)
    assert np.isfinite(found.score[0, :3]).all()
    splits = [
        each.best_splits(each.tally(begun(each, target), ROOT), search) for each in (backend, NUMPY)
    ]
    assert splits[0].score.tobytes() == splits[1].score.tobytes()
    assert_array_equal(splits[0].code, splits[1].code)


def same_rates(found, expected):
    """Bytes of scores; the rest where there is a threshold."""
    assert found.score.tobytes() == expected.score.tobytes()
    has = expected.score > NO_SPLIT
    for field in fields(Rates)[1:]:
        assert_array_equal(getattr(found, field.name)[has], getattr(expected, field.name)[has])


def test_missing_values_take_no_part_in_a_rate(backend):
    """x: 0 0 1 1 and two missing; the classes of the known rows are told apart by x."""
    target = class_target(np.array([0, 0, 1, 1, 1, 0]), 2, None)
    columns = [np.array([0.0, 0, 1, 1, NAN, NAN])]
    one = Bins((FeatureBins("x", Kind.NUMERIC, None, np.zeros(1), np.ones(1), True),))
    data = backend.reserve(1, 6, 3)
    backend.encode(data, 0, backend.hold([Column("x", Kind.NUMERIC, columns[0])]), one.features)
    rows = backend.begin(data, one, target)
    rates = backend.rate(backend.tally(rows, ROOT), Search(GINI, 1, 0, 9, None))
    # Gini of 2:2 is 1/2; four rows gain a half each.
    assert rates.score.tolist() == [[2.0]]
    assert (rates.code.tolist(), rates.next_code.tolist()) == ([[0]], [[1]])
    assert (rates.left_weight.tolist(), rates.n_cuts.tolist()) == ([[2]], [[1]])


# Cells.


@pytest.mark.quick("numba", "-900-", "-5-numbers")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [900, 5])
def test_cells_are_the_sums_of_a_node_and_feature(backend, kind, n_rows):
    target = target_of(kind, rows_for(backend, n_rows))
    found, expected = (
        all_cells(each, each.tally(begun(each, target), ROOT), 1) for each in (backend, NUMPY)
    )
    assert found.dtype.kind == "i"
    assert_array_equal(found, expected)
    n_codes = bins().n_codes
    for begin, n in zip(np.cumsum(n_codes) - n_codes, n_codes, strict=True):
        assert_array_equal(found[begin : begin + n].sum(axis=0), target.totals)


def test_cells_come_in_the_order_asked_for(backend):
    target = target_of("two classes", rows_for(backend, 900))
    moves = moves_by([0, 0, 1, 1, 2, 2, 2, 0])
    cells = []
    for each in (backend, NUMPY):
        rows = each.route(begun(each, target), moves)
        hist = each.tally(rows, np.array([1, 2, 3]))
        cells.append(each.cells(hist, np.array([2, 0, 1, 2]), np.array([1, 3, 0, 1])))
    assert_array_equal(*cells)


@pytest.mark.parametrize("kind", ["two classes", "weighted numbers"])
def test_what_is_seen_are_the_cells_without_those_of_values_that_do_not_occur(backend, kind):
    target = target_of(kind, rows_for(backend, 900))
    rows = backend.route(begun(backend, target), moves_by([0, 0, 1, 1, 2, 2, 2, 0]))
    hist = backend.tally(rows, np.array([1, 2, 3]))
    place, feature = np.array([2, 0, 1, 2, 2]), np.array([1, 3, 0, 2, 1])
    seen = backend.seen(hist, place, feature)
    ends, n_codes = np.cumsum(seen.n), bins().n_codes[feature]
    cells = np.split(backend.cells(hist, place, feature), np.cumsum(n_codes)[:-1])
    for pair, (end, n) in enumerate(zip(ends, seen.n, strict=True)):
        n_values, whole = bins().n_values[feature[pair]], cells[pair]
        known = np.flatnonzero(whole[:n_values].any(axis=1)).tolist()
        others = [OTHERS] if len(known) < n_values else []
        missing = list(range(n_values, n_codes[pair]))
        code, own = seen.code[end - n : end], seen.cells[end - n : end]
        assert code.tolist() == known + others + missing
        assert_array_equal(own[code != OTHERS], whole[code[code != OTHERS]])
        assert not own[code == OTHERS].any()


# Categories. `tests/gpu/test_categories.py` has more of those that a device rates.


@pytest.mark.cover(*COMPILED)
@pytest.mark.parametrize("backend", HOSTS, indirect=True)
@pytest.mark.parametrize("missing", ["direction", "category", "known"])
@pytest.mark.parametrize("is_multiway", [True, False])
@pytest.mark.parametrize(
    ("kind", "criterion"),
    [
        ("two classes", GINI),
        ("three weighted classes", ENTROPY),
        ("three weighted classes", ERROR),
        ("numbers", GINI),
        ("weighted numbers", GINI),
        ("divided classes", ENTROPY),
    ],
)
def test_categories_are_split_as_numpy_does(backend, kind, missing, is_multiway, criterion):
    check_categories(backend, kind, missing, is_multiway, criterion)


@pytest.mark.parametrize("is_multiway", [True, False])
def test_categories_of_a_device_are_split_as_numpy_does(is_multiway):
    device = opened("cuda")
    check_categories(device, "three weighted classes", "direction", is_multiway, ENTROPY)


@pytest.mark.parametrize("backend", HOSTS, indirect=True)
@pytest.mark.parametrize("kind", ["two classes", "three weighted classes"])
def test_twoing_of_categories_is_that_of_numpy(backend, kind):
    check_categories(backend, kind, "direction", is_multiway=False, criterion=TWOING)


@pytest.mark.cover(*COMPILED)
@pytest.mark.parametrize("backend", HOSTS, indirect=True)
@pytest.mark.parametrize("kind", ["counts", "weighted counts"])
@pytest.mark.parametrize("missing", ["direction", "known"])
def test_categories_of_counts_are_split_as_numpy_does(backend, kind, missing):
    check_categories(backend, kind, missing, is_multiway=False, criterion=POISSON)


@pytest.mark.cover(*COMPILED)
@pytest.mark.parametrize("backend", HOSTS, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", ["direction", "category", "known"])
def test_categories_with_few_rows_are_put_together_as_numpy_does(backend, kind, missing):
    for least in (9, 12):
        check_categories(backend, kind, missing, False, GINI, min_category=least)


def split_categories(backend, hist, place, feature, rules):
    """The splits of some pairs, which are worth what `rate_categories` tells."""
    splits = backend.split_categories(hist, backend.seen(hist, place, feature), feature, rules)
    rates = backend.rate_categories(hist, place, feature, rules, splits.n_seen)
    for name in ("score", "bits", "is_heuristic"):
        assert getattr(rates, name).tobytes() == getattr(splits, name).tobytes(), name
    return splits


def check_categories(backend, kind, missing, is_multiway, criterion, min_category=1):
    target = target_of(kind, 90)
    rules = CategoryRules(criterion, 2, 3, is_multiway, missing=missing, min_category=min_category)
    place, feature = np.zeros(4, np.int64), np.array([0, 1, 3, 0])
    found, expected = (
        split_categories(each, each.tally(begun(each, target), ROOT), place, feature, rules)
        for each in (backend, NUMPY)
    )
    assert found.score.tobytes() == expected.score.tobytes()
    assert found.bits.tobytes() == expected.bits.tobytes()
    assert_array_equal(found.n_children, expected.n_children)
    assert_array_equal(found.is_heuristic, expected.is_heuristic)
    assert_array_equal(found.n_seen, expected.n_seen)
    can = np.repeat(expected.score > NO_SPLIT, found.n_seen)
    assert_array_equal(found.slot[can], expected.slot[can])


# Many children, and rows that stay.


@pytest.mark.quick("numba", "-60-", "-40000-two classes")
@pytest.mark.parametrize("kind", ["two classes", "weighted numbers"])
@pytest.mark.parametrize("n_rows", [5, 60, 900, 40_000])
@pytest.mark.parametrize(
    "slots",
    [
        [0, 1, 0, 1, 0, 1, 0, 1],
        [0, 1, 2, 0, 1, 2, 0, STAY],
        [0, 0, 0, 1, 1, 1, 1, STAY],
        [6, 5, 4, 3, 2, 1, 0, 7],
    ],
    ids=["two", "three and some stay", "two and some stay", "eight"],
)
def test_rows_go_where_the_table_says(backend, kind, n_rows, slots):
    check_size(backend, n_rows)
    target = target_of(kind, n_rows)
    moves = moves_by(slots)
    rows = backend.route(begun(backend, target), moves)
    n_children = int(moves.n_children[0])
    code = table_of(n_rows)[0]
    slot = np.array(slots)[np.where(np.isnan(code), 7, code).astype(int)]
    inside = np.ones(n_rows, bool) if target.weight is None else target.weight > 0
    expected = [np.flatnonzero(inside & (slot == child)).tolist() for child in range(n_children)]
    expected.append(np.flatnonzero(inside & (slot == STAY)).tolist())
    assert listed(backend, rows, [*range(1, 1 + n_children), 0]) == expected


def test_several_nodes_divide_at_once(backend):
    target = target_of("two classes", rows_for(backend, 900))
    first = moves_by([0, 0, 1, 1, 2, 2, 2, STAY])
    then = Moves(
        node=np.array([1, 3]),
        feature=np.array([1, 2]),
        first_child=np.array([4, 7]),
        n_children=np.array([3, 2]),
        start=np.array([0, 3]),
        table=np.array([2, 1, 0, *([0] * 150), *([1] * 150), STAY], SLOT),
    )
    nodes = [0, 1, 2, 3, 4, 5, 6, 7, 8]
    found = []
    for each in (backend, NUMPY):
        rows = each.route(each.route(begun(each, target), first), then)
        found.append(listed(each, rows, nodes))
        hist = each.tally(rows, np.array([2, 4, 5, 6, 7, 8]))
        found.append(all_cells(each, hist, 6).tolist())
    assert found[:2] == found[2:]
    assert sum(map(len, found[0])) == target.n_rows
    assert found[0][1] == []  # all of node 1 moved
    assert found[0][0]
    assert found[0][3]


def test_codes_of_single_rows_can_be_asked_for(backend):
    target = target_of("two classes", 60)
    rows = begun(backend, target)
    row, feature = np.array([3, 59, 0, 3]), np.array([0, 2, 1, 2])
    expected = [table_of(60)[f][r] for r, f in zip(row, feature, strict=True)]
    n_values = np.array(N_VALUES)[feature]
    expected = np.where(np.isnan(expected), n_values, expected)
    assert_array_equal(backend.codes_of(rows, row, feature), expected)


def test_rows_that_stayed_are_put_where_they_belong(backend):
    target = target_of("two classes", 60)
    rows = backend.route(begun(backend, target), moves_by([0, 0, 0, 1, 1, 1, 1, STAY]))
    before = listed(backend, rows, [0, 1, 2])
    row, _ = backend.rows_at(rows, ROOT)
    node = np.where(row % 3 == 0, 1, np.where(row % 3 == 1, 2, 0))
    moved = backend.disperse(rows, ROOT, row, node)
    after = listed(backend, moved, [0, 1, 2])
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        own = [] if number == 0 else old
        assert new == sorted(own + row[node == number].tolist())
    assert listed(backend, rows, [0, 1, 2]) == before
    hist = backend.tally(moved, np.array([1, 2]))
    rows_of = backend.cells(hist, np.array([0, 1]), np.array([1, 1])).sum(axis=1).reshape(2, 3)
    assert rows_of.sum(axis=1).tolist() == [len(after[1]), len(after[2])]


@pytest.mark.parametrize("n_rows", [60, 900])
def test_a_row_can_be_divided_among_nodes(backend, n_rows):
    """Parts of rows have their own weights, and codes and classes of their row."""
    check_size(backend, n_rows)
    target = target_of("divided classes", n_rows)
    row = np.flatnonzero(np.arange(n_rows) % 3)
    whole = target.weight[row]
    weight = [whole // 4, whole // 4, whole - 2 * (whole // 4)]
    parts = parts_of(target, np.tile(row, 3), np.concatenate(weight))
    nodes, n_each = np.arange(3), np.full(3, len(row))
    found = []
    for each in (backend, NUMPY):
        data = each.take_rows(data_of(each, n_rows), np.tile(row, 3))
        rows = each.begin(data, bins(), parts, n_each)
        hist = each.tally(rows, nodes)
        found.append(all_cells(each, hist, 3).tolist())
        found.append(each.rate(hist, Search(ENTROPY, 1, 0, 9, None)).score.tobytes())
    assert found[:2] == found[2:]
    cells = np.array(found[0]).reshape(3, -1, target.channels.n)
    total = cells[:, : bins().n_codes[0]].sum(axis=(0, 1))
    expected = np.bincount(target.label[row], whole, minlength=2)
    assert_array_equal(total, [*expected, 3 * len(row)])


# Walking.


def tree_of(**arrays):
    """A tree in which some arrays are given and the others say nothing."""
    n = len(arrays["kind"])
    filled = {name: np.zeros(n) for name in ("gain", "impurity", "n_rows", "weight")}
    if "level_start" in arrays:
        arrays = with_lists(arrays)
    return Tree(**{**filled, "value": np.ones((n, 1)), **arrays})


def test_rows_are_walked_by_categories_and_stop_where_nobody_knows(backend):
    r"""
    Node 0: categories a, b, c, d to children 0, 1, 1, 2; unknown ones to 1; missing ones stay.
    Node 2: x <= 1.5, missing values to child 1.
    Node 3: categories a, c to children 0, 1; d stays, unknown ones stay, missing ones to child 0.
    """
    tree = tree_of(
        kind=[Split.MULTIWAY, Split.LEAF, Split.THRESHOLD, Split.SUBSET, *[Split.LEAF] * 4],
        feature=[1, -1, 0, 1, -1, -1, -1, -1],
        first_child=[1, -1, 4, 6, -1, -1, -1, -1],
        n_children=[3, 0, 2, 2, 0, 0, 0, 0],
        threshold=[NAN, NAN, 1.5, NAN, NAN, NAN, NAN, NAN],
        missing_slot=[STAY, 0, 1, 0, 0, 0, 0, 0],
        level_start=[0, -1, -1, 5, -1, -1, -1, -1],
        level_slot=[0, 1, 1, 2, 1, 0, STAY, 1, STAY, STAY],
    )
    category = np.array([0, 1, 2, 2, 3, 4, -1], np.int32)
    x = np.array([NAN, 1.0, 2.0, NAN, 0.0, 1.0, 0.0], np.float32)
    categories = ("a", "b", "c", "d")
    table = Table(
        (Column("x", Kind.NUMERIC, x), Column("l", Kind.NOMINAL, category, categories)), 7
    )
    assert backend.apply(tree, table).tolist() == [1, 4, 5, 5, 6, 4, 0]
    row, node = np.array([4, 3, 6, 1, 1, 0, 6]), np.array([0, 2, 3, 3, 7, 2, 0])
    assert backend.walker(table)(Ways.of(tree), row, node).tolist() == [6, 5, 6, 6, 7, 5, 0]


def test_walks_follow_ways_that_have_changed(backend):
    """Node 2 becomes a leaf, then node 0 gets the test and the children of node 1."""
    tree = tree_of(
        kind=[Split.THRESHOLD] * 3 + [Split.LEAF] * 4,
        feature=[0, 1, 1, -1, -1, -1, -1],
        first_child=[1, 3, 5, -1, -1, -1, -1],
        threshold=[0.5, 1.5, 2.5, NAN, NAN, NAN, NAN],
        missing_slot=[0, 1, 0, 0, 0, 0, 0],
    )
    columns = (
        Column("x", Kind.NUMERIC, np.array([0.0, 0.0, 1.0, 1.0, NAN])),
        Column("z", Kind.NUMERIC, np.array([1.0, 2.0, 2.0, 3.0, NAN])),
    )
    walk, ways = backend.walker(Table(columns, 5)), Ways.of(tree)
    row, root = np.arange(5), np.zeros(5, np.int64)
    assert walk(ways, row, root).tolist() == [3, 4, 5, 6, 4]
    ways.station["n_children"][2] = 0
    assert walk(ways, row, root).tolist() == [3, 4, 2, 2, 4]
    ways.station[0] = ways.station[1]
    assert walk(ways, row, root).tolist() == [3, 4, 4, 4, 4]
    assert root.tolist() == [0] * 5  # what is given stays as it is


def test_a_table_of_many_rows_is_walked_alike(backend):
    """A threshold, then many categories, on more rows than a block has."""
    rng = np.random.default_rng(5)
    n_rows, n_categories = rows_for(backend, 2_000), 500
    tree = tree_of(
        kind=[Split.THRESHOLD, Split.SUBSET, Split.SUBSET, *[Split.LEAF] * 4],
        feature=[0, 1, 1, -1, -1, -1, -1],
        first_child=[1, 3, 5, -1, -1, -1, -1],
        n_children=[2, 2, 2, 0, 0, 0, 0],
        threshold=[0.25, *[NAN] * 6],
        missing_slot=[0, STAY, 1, 0, 0, 0, 0],
        level_start=[-1, 0, n_categories + 1, *[-1] * 4],
        level_slot=np.where(
            rng.random(2 * n_categories + 2) < 0.1, STAY, rng.integers(0, 2, 2 * n_categories + 2)
        ),
    )
    x = rng.normal(size=n_rows)
    x[::17] = NAN
    category = rng.integers(-1, n_categories + 1, n_rows).astype(np.int32)
    columns = (
        Column("x", Kind.NUMERIC, x),
        Column("l", Kind.NOMINAL, category, tuple(range(n_categories))),
    )
    table = Table(columns, n_rows)
    found = backend.apply(tree, table)
    assert_array_equal(found, NUMPY.apply(tree, table))
    assert set(found.tolist()) == {1, 3, 4, 5, 6}
    row = rng.permutation(n_rows)
    again = backend.walker(table)(Ways.of(tree), row, np.zeros(n_rows, np.int64))
    assert_array_equal(again, found[row])
