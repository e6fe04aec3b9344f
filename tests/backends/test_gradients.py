"""The verbs of boosting, on every backend: gradients, their sums, predictions that move."""

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gputree.backends.contract import NO_SPLIT, Moves, Search, Splits
from gputree.backends.lots import Lots
from gputree.data.bins import Bins, FeatureBins
from gputree.data.gradients import Given
from gputree.data.table import Column, Kind
from gputree.dtypes import SLOT
from gputree.kernels.criteria import GINI
from gputree.kernels.losses import (
    ABSOLUTE,
    EXPONENTIAL,
    GAMMA,
    HUBER,
    LOGISTIC,
    POISSON,
    QUANTILE,
    SOFTMAX,
    SQUARED,
    TWEEDIE,
)
from tests.backends.test_contract import opened

NUMPY = opened("numpy")
ROOT = np.zeros(1, np.int64)
N = 13

LOSSES = {
    "squared": SQUARED,
    "absolute": ABSOLUTE,
    "huber": replace(HUBER, constant=0.75),
    "quantile": replace(QUANTILE, constant=0.3),
    "poisson": POISSON,
    "logistic": LOGISTIC,
    "softmax": SOFTMAX,
    "gamma": GAMMA,
    "tweedie": replace(TWEEDIE, constant=1.3),
    "exponential": EXPONENTIAL,
}


COMPILED = ("numba", "numba by sums", "numba by rows")  # others share code, and cross little


@pytest.fixture(
    scope="session",
    params=[
        *("numpy", "numpy by sums", "numpy by rows", "array_api_strict", "torch"),
        *("numba", "numba by sums", "numba by rows", "cuda"),
    ],
)
def backend(request):
    return opened(request.param)


@dataclass(frozen=True)
class Rows:
    """Targets, predictions and weights of some rows, and who takes part."""

    y: np.ndarray
    raw: np.ndarray
    weight: np.ndarray | None = None
    takes_part: np.ndarray | None = None


def rows_of(kind, *, weighs=False, shares=False):
    """Rows for a loss; some predictions are as far off as a float64 allows."""
    rng = np.random.default_rng(list(LOSSES).index(kind))
    n_outputs = 3 if kind == "softmax" else 1
    raw = rng.standard_normal((n_outputs, N)) * 3
    raw[0, :4] = 800.0, -800.0, 0.0, -0.0
    y = rng.integers(0, 3 if kind == "softmax" else 2, N).astype(np.float64)
    if kind in ("squared", "absolute", "huber", "quantile"):
        y = rng.standard_normal(N)
        raw[0, 2] = y[2]
    if kind == "poisson":
        raw[0, 0] = 20.0
    if kind == "tweedie":
        y *= 2.5
    if kind == "gamma":
        y += 0.5
    return Rows(
        y,
        raw,
        rng.integers(0, 4, N) * 0.3 if weighs else None,
        rng.random(N) < 0.7 if shares else None,
    )


def one_code_a_row(backend, n):
    """Codes by which each row can be told from all others, and their bins."""
    number = np.arange(n, dtype=np.float64)
    bins = Bins((FeatureBins("x", Kind.NUMERIC, None, number[:-1], number[1:], False),))
    data = backend.reserve(1, n, n)
    backend.encode(data, 0, backend.hold([Column("x", Kind.NUMERIC, number)]), bins.features)
    return data, bins


def apart(backend, rows, n):
    """Each row at a node of its own, the first at node 1."""
    one = np.ones(1, np.int64)
    moves = Moves(ROOT, ROOT, one, n * one, ROOT, np.arange(n).astype(SLOT))
    return backend.route(rows, moves)


def marks(backend, raw_scores, rows):
    """The rows that take part, as the backend knows them."""
    urn = backend.urn(raw_scores, Lots(len(rows.y), rows.takes_part, None, rows.weight))
    return backend.drawn(urn, 0, 0, 1.0)


def taken(backend, rows, loss, *, counts_rows=False):
    """Everything there is to know of the gradients: scales, totals, and both widths of each row."""
    raw_scores = backend.raw_scores(rows.raw, rows.y, rows.weight)
    data, bins = one_code_a_row(backend, len(rows.y))
    found = []
    for gradients in backend.gradients(
        raw_scores, loss, marks(backend, raw_scores, rows), counts_rows=counts_rows
    ):
        at_root = backend.begin_gradients(data, bins, gradients)
        nodes = np.arange(1, len(rows.y) + 1)
        each = apart(backend, at_root, len(rows.y))
        found.append(
            {
                "channels": gradients.channels,
                "totals": gradients.totals.tolist(),
                "n_rows": gradients.n_rows,
                "shifts": (gradients.gradient_shift, gradients.hessian_shift),
                "narrow": backend.cells(backend.tally(at_root, ROOT), ROOT, ROOT).tolist(),
                "wide": backend.gradient_sums(each, gradients, nodes).tolist(),
            }
        )
    return found


@pytest.mark.quick("numba", "True-True", "squared")
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize("shares", [False, True])
def test_gradients_are_those_of_numpy(backend, kind, weighs, shares):
    rows = rows_of(kind, weighs=weighs, shares=shares)
    options = {"counts_rows": shares != weighs}
    found = taken(backend, rows, LOSSES[kind], **options)
    assert len(found) == len(rows.raw)
    assert found == taken(NUMPY, rows, LOSSES[kind], **options)


@pytest.mark.parametrize("weighs", [False, True])
def test_given_gradients_are_those_of_numpy(backend, weighs):
    rows = rows_of("softmax", weighs=weighs, shares=True)
    rng = np.random.default_rng(0)
    given = Given(rng.standard_normal(rows.raw.shape), rng.random(rows.raw.shape) ** 9)
    found = taken(backend, rows, given)
    assert len(found) == 3
    assert found == taken(NUMPY, rows, given)


def test_a_loss_of_one_output_looks_at_the_first(backend):
    rows = rows_of("softmax")
    one = Rows(rows.y, rows.raw[:1])
    assert taken(backend, rows, LOGISTIC) == taken(NUMPY, one, LOGISTIC)


def test_gradients_of_half_the_squared_distance_are_distances(backend):
    rows = Rows(np.array([1.0, 5.0, 2.0]), np.array([[2.0, 2.0, 2.0]]))
    [found] = taken(backend, rows, SQUARED)
    assert found["n_rows"] == 3
    assert found["channels"].n == 2
    assert not found["channels"].hides_rows
    unit = 2 ** found["shifts"][0]
    assert found["wide"] == [[unit, 1], [-3 * unit, 1], [0, 1]]
    narrow = 2 ** found["channels"].point_shift[0]
    assert found["narrow"] == [[1, narrow], [1, -3 * narrow], [1, 0]]
    assert found["totals"] == [3, -2 * narrow]


def test_rows_outside_and_rows_without_weight_have_nothing(backend):
    rows = Rows(
        np.zeros(4),
        np.array([[1.0, 1.0, np.inf, 1.0]]),
        np.array([1.0, 0.0, 1.0, 3.0]),
        np.array([True, True, False, True]),
    )
    [found] = taken(backend, rows, SQUARED, counts_rows=True)
    assert found["n_rows"] == 2
    assert [pair == [0, 0] for pair in found["wide"]] == [False, True, True, False]
    assert [cell[2] for cell in found["narrow"]] == [1, 0, 0, 1]
    assert found["wide"][3] == [3 * part for part in found["wide"][0]]


def test_magnitudes_of_narrow_numbers_add_up_to_31_bits(backend):
    """However unlike they are; and no hessian of a row that takes part vanishes."""
    rng = np.random.default_rng(0)
    gradient, hessian = rng.standard_cauchy((1, 40)) * 1e9, 10.0 ** -rng.integers(0, 30, (1, 40))
    is_inside = rng.random(40) < 0.8
    rows = Rows(np.zeros(40), np.zeros((1, 40)), None, is_inside)
    [found] = taken(backend, rows, Given(gradient, hessian))
    cells = np.array(found["narrow"])
    most = np.abs(cells).sum(axis=0)
    assert (most < 2**31).all()
    assert (most >= 2**28).all()  # and no bit is given away
    assert_array_equal(cells[:, 0] >= 1, is_inside)
    assert found["totals"] == cells.sum(axis=0).tolist()


@pytest.mark.parametrize("scale", [0.0, 1e-250, 1e290])
def test_gradients_of_any_scale(backend, scale):
    given = Given(scale * np.array([[1.0, -2.0, 3.0]]), scale * np.array([[1.0, 0.5, 0.25]]))
    rows = Rows(np.zeros(3), np.zeros((1, 3)))
    [found] = taken(backend, rows, given)
    assert [found] == taken(NUMPY, rows, given)
    shift = found["shifts"][0]
    values = np.ldexp(np.array(found["wide"])[:, 0].astype(np.float64), -shift)
    assert_allclose(values, given.gradient[0], rtol=1e-12)


def halved(backend, kind="logistic", **options):
    """Rows of a loss, at the root and at two children; the first four rows go left."""
    rows = rows_of(kind, **options)
    raw_scores = backend.raw_scores(rows.raw, rows.y, rows.weight)
    data, bins = one_code_a_row(backend, N)
    [gradients] = backend.gradients(
        raw_scores, LOSSES[kind], marks(backend, raw_scores, rows), counts_rows=False
    )
    at_root = backend.begin_gradients(data, bins, gradients)
    one = np.ones(1, np.int64)
    moves = Moves(ROOT, ROOT, one, 2 * one, ROOT, (np.arange(N) >= 4).astype(SLOT))
    return rows, raw_scores, gradients, at_root, backend.route(at_root, moves)


@pytest.mark.parametrize("kind", ["squared", "logistic"])
def test_sums_of_nodes_are_exact(backend, kind):
    _, _, gradients, at_root, rows = halved(backend, kind)
    nodes = np.arange(1, N + 1)
    each = backend.gradient_sums(apart(backend, at_root, N), gradients, nodes)
    left, right = each[:4].sum(axis=0), each[4:].sum(axis=0)
    found = backend.gradient_sums(rows, gradients, np.array([2, 0, 1]))
    assert found.tolist() == [right.tolist(), [0, 0], left.tolist()]


def test_rows_of_children_are_counted_where_sums_do_not_tell(backend):
    _, _, gradients, at_root, rows = halved(backend, weighs=True, shares=True)
    assert gradients.channels.hides_rows
    assert backend.count_rows(at_root, ROOT).tolist() == [gradients.n_rows]
    leaf = backend.leaves(rows)
    counts = [int((leaf == node).sum()) for node in (2, 1, 0)]
    assert min(counts[:2]) > 0
    assert backend.count_rows(rows, np.array([2, 1, 0])).tolist() == counts


def test_predictions_move_by_the_step_of_their_node(backend):
    rows, raw_scores, _, _, there = halved(backend, shares=True)
    leaf = backend.leaves(there)
    assert set(leaf.tolist()) == {-1, 1, 2}
    step = np.array([100.0, 0.1, -0.7])
    backend.renew(raw_scores, 0, there, step)
    moved = np.where(leaf < 0, rows.raw[0], rows.raw[0] + step[leaf])
    assert backend.read_raw_scores(raw_scores).tobytes() == moved[None].tobytes()
    assert_array_equal(rows.raw, rows_of("logistic", shares=True).raw)  # the caller's own


def test_only_one_output_moves(backend):
    rows = rows_of("softmax")
    raw_scores = backend.raw_scores(rows.raw, rows.y, None)
    data, bins = one_code_a_row(backend, N)
    gradients = next(backend.gradients(raw_scores, LOSSES["softmax"], None, counts_rows=False))
    backend.renew(raw_scores, 1, backend.begin_gradients(data, bins, gradients), np.array([0.25]))
    right = rows.raw.copy()
    right[1] += 0.25
    assert backend.read_raw_scores(raw_scores).tobytes() == right.tobytes()


def test_nobody_moves_where_nobody_is(backend):
    """As when rows that took no part are sent down a tree, and there are none."""
    rows = Rows(np.zeros(3), np.ones((1, 3)), None, np.zeros(3, bool))
    raw_scores = backend.raw_scores(rows.raw, rows.y, None)
    data, bins = one_code_a_row(backend, 3)
    [gradients] = backend.gradients(
        raw_scores, SQUARED, marks(backend, raw_scores, rows), counts_rows=False
    )
    none = apart(backend, backend.begin_gradients(data, bins, gradients), 3)
    backend.renew(raw_scores, 0, none, np.ones(4))
    assert backend.count_rows(none, np.arange(4)).tolist() == [0] * 4
    assert backend.gradient_sums(none, gradients, np.arange(4)).tolist() == [[0, 0]] * 4
    assert_array_equal(backend.read_raw_scores(raw_scores), rows.raw)


def split(backend, rows, kind, columns, n_values, *, counts_rows=False, **rules):
    """The best split of the root by columns of codes, of which n_values stands for missing."""
    number = np.arange(n_values, dtype=np.float64)
    feature = FeatureBins("x", Kind.NUMERIC, None, number[:-1], number[1:], True)
    bins = Bins((feature,) * len(columns))
    data = backend.reserve(len(columns), N, n_values + 1)
    values = [np.where(codes < n_values, codes, np.nan) for codes in columns]
    held = backend.hold([Column("x", Kind.NUMERIC, each) for each in values])
    backend.encode(data, 0, held, bins.features)
    raw_scores = backend.raw_scores(rows.raw, rows.y, rows.weight)
    [gradients] = backend.gradients(
        raw_scores, LOSSES[kind], marks(backend, raw_scores, rows), counts_rows=counts_rows
    )
    hist = backend.tally(backend.begin_gradients(data, bins, gradients), ROOT)
    search = Search(GINI, **{"min_rows": 1, "min_weight": 1, **rules}, n_drawn=9, rank=None)
    found = backend.best_splits(hist, search)
    return {field.name: getattr(found, field.name)[0].tolist() for field in fields(Splits)}


@pytest.mark.cover(*COMPILED)
@pytest.mark.parametrize("kind", ["squared", "logistic"])
@pytest.mark.parametrize("ridge", [0.0, 7.5, 1e9])
def test_a_ridge_is_added_to_the_weights_of_children(backend, kind, ridge):
    columns = np.random.default_rng(0).integers(0, 5, (3, N))
    found = split(backend, rows_of(kind), kind, columns, 4, ridge=ridge)
    assert found == split(NUMPY, rows_of(kind), kind, columns, 4, ridge=ridge)
    assert found["score"] > NO_SPLIT


def test_a_child_has_rows_enough_where_they_are_counted(backend):
    rows = rows_of("logistic", weighs=True)
    columns = np.random.default_rng(1).integers(0, 5, (3, N))
    options = {"counts_rows": True, "min_rows": 4}
    found = split(backend, rows, "logistic", columns, 4, **options)
    assert found == split(NUMPY, rows, "logistic", columns, 4, **options)
    n_rows = np.count_nonzero(rows.weight)
    assert 4 <= found["left"][2] <= n_rows - 4
