"""A device proves itself against NumPy, and a wrong one is found out. Here it is simulated."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import gputree
from gputree.arrays import to_numpy
from gputree.backends import registry
from gputree.backends.cuda import histogram as cuda_histogram
from gputree.backends.cuda import split as cuda_split
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import open_device
from gputree.backends.cuda.plan import AUTOMATIC
from gputree.diagnostics import golden, verify

NUMPY = registry.choose(backend="numpy").backend
KINDS = tuple(golden.HISTOGRAM)


@pytest.fixture
def few_checks(monkeypatch):
    """One fit instead of many; histograms and an estimator are checked all the same."""
    monkeypatch.setattr(verify, "CASES", verify.CASES[:1])
    monkeypatch.setattr(verify, "NAMED", {"tree": verify.NAMED["tree"]})
    monkeypatch.setattr(verify, "SIMULATED", replace(verify.SIMULATED, n_retuned=0))


def failed(result):
    return {check.name: check.detail for check in result.checks if not check.passed}


# The integers


def added_up(kind):
    """The histogram of the golden table, by counting on one's fingers."""
    is_weighted, sums = "weighted" in kind, Counter()
    for row in range(len(golden.LABEL)):
        weight = int(golden.WEIGHT[row]) if is_weighted else 1
        for feature, codes in enumerate(golden.CODES):
            place = feature, codes[row].replace(".", "~")  # which sorts behind all digits
            if "classes" in kind:
                sums[place, int(golden.LABEL[row])] += weight
                n_scored = golden.N_CLASSES
            else:
                sums[place, 0] += weight
                sums[place, 1] += weight * golden.VALUE[row]
                n_scored = 2
            if is_weighted:
                sums[place, n_scored] += weight > 0
    places = sorted({place for place, _ in sums})
    n_channels = n_scored + is_weighted
    return tuple(tuple(sums[place, at] for at in range(n_channels)) for place in places)


@pytest.mark.parametrize("kind", KINDS)
def test_the_golden_integers_are_sums_of_the_golden_table(kind):
    assert golden.HISTOGRAM[kind] == added_up(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_repeats", [1, verify.REAL.n_repeats])
@pytest.mark.parametrize("most_codes", verify.CODE_LIMITS.values())
def test_numpy_finds_the_golden_integers(kind, n_repeats, most_codes):
    rows = golden.rows_at_root(NUMPY, kind, n_repeats, most_codes)
    (found,) = to_numpy(NUMPY.tally(rows, verify.ROOT).sums)
    np.testing.assert_array_equal(found.T, golden.histogram(kind, n_repeats))


def test_the_golden_table_has_what_can_go_wrong():
    assert any("." in codes for codes in golden.CODES)
    assert "0" in golden.WEIGHT
    assert min(golden.VALUE) < -(2**34)
    assert max(golden.VALUE) > 2**34


# The fits


@pytest.mark.parametrize("size", [verify.REAL, verify.SIMULATED], ids=["real", "simulated"])
@pytest.mark.parametrize("case", verify.CASES, ids=lambda case: case.name)
def test_every_case_grows_a_tree_worth_comparing(case, size):
    found = verify._fit(NUMPY, case, size, None)
    assert found.n_nodes >= 5
    assert len(np.unique(found.leaf)) > 2


def test_a_small_budget_makes_several_batches_of_a_level(monkeypatch):
    n_searches = Counter()
    choose = cuda_split.choose

    def counted(*args):
        n_searches[budget] += 1
        choose(*args)

    monkeypatch.setattr(cuda_split, "choose", counted)
    size = verify.SIMULATED
    (case,) = [case for case in verify.CASES if case.is_short_of_memory]
    for budget in (None, size.histogram_budget):
        verify._fit(CudaBackend(open_device("cuda:0")), case, size, budget)
    assert n_searches[size.histogram_budget] > n_searches[None]


def test_other_block_sizes_are_other_ones():
    usual, half, double, direct = verify._tunings().values()
    assert usual == AUTOMATIC
    same = {name for name, value in vars(half).items() if value == getattr(usual, name)}
    assert same <= {"scan_warps", "category_threads", "attribution_threads"}  # one warp at least
    same = {name for name, value in vars(double).items() if value == getattr(usual, name)}
    as_large_as_can_be = {"tile_rows", "add_up_threads", "grow_threads"}
    assert same <= as_large_as_can_be
    assert direct.direct_rows > verify.REAL.n_rows


# The result


@pytest.mark.parametrize("checks", ["few_checks", pytest.param(None, marks=pytest.mark.thorough)])
def test_the_simulated_device_passes(request, checks):
    if checks:
        request.getfixturevalue(checks)
    result = gputree.selftest()
    assert result.passed, str(result)
    assert result.device == "cuda:0 (simulated)"
    text = str(result)
    assert text.startswith(f"passed on cuda:0 (simulated): {len(result.checks)} of")
    assert len(text.splitlines()) == 1 + len(result.checks)
    for name in (*KINDS, *(case.name for case in verify.CASES)):
        assert any(name in check.name for check in result.checks)
    is_retuned = any("other block sizes" in check.name for check in result.checks)
    assert is_retuned == (verify.SIMULATED.n_retuned > 0)


def test_a_wrong_sum_fails(few_checks, monkeypatch):
    tally = CudaBackend.tally

    def wrong(self, rows, nodes):
        hist = tally(self, rows, nodes)
        hist.sums[4] += 1
        return hist

    monkeypatch.setattr(CudaBackend, "tally", wrong)
    result = gputree.selftest()
    assert not result.passed
    assert str(result).startswith("FAILED on cuda:0 (simulated): ")
    detail = failed(result)["histogram of classes"]
    assert detail == (
        "1 of 30 sums are wrong, the first in bin 1, channel 1: 5 instead of 4 (8-bit codes, "
        "block sizes: usual)"
    )
    assert failed(result).keys() >= {f"histogram of {kind}" for kind in KINDS}


def test_sums_that_are_wrong_for_some_block_sizes_only_fail(monkeypatch):
    monkeypatch.setattr(verify, "CASES", verify.CASES[:1])
    monkeypatch.setattr(verify, "NAMED", {})  # estimators have the usual sizes
    tally_tiles = cuda_histogram.tally_tiles

    def wrong(launches, *args):
        hist = tally_tiles(launches, *args)
        if launches.tuning.sum_threads > AUTOMATIC.sum_threads:
            hist.sums[:] = 1
        return hist

    monkeypatch.setattr(cuda_histogram, "tally_tiles", wrong)
    found = failed(gputree.selftest())
    (name,) = [name for name in found if name.startswith("fit of")]
    assert name == f"fit of {verify.CASES[0].name}, other block sizes"
    assert "another model: " in found[name]
    assert all("block sizes: double)" in detail for detail in found.values())


def test_a_wrong_prediction_fails(few_checks, monkeypatch):
    monkeypatch.setattr(
        CudaBackend, "apply", lambda self, tree, table: NUMPY.apply(tree, table)[::-1]
    )
    found = failed(gputree.selftest())
    assert set(found) == {f"fit of {verify.CASES[0].name}", "tree, by its estimator"}
    assert all("rows reach another leaf" in detail for detail in found.values()), found


def test_an_error_of_the_device_is_a_finding(few_checks, monkeypatch):
    def broken(*_):
        raise RuntimeError("an illegal memory\naccess was encountered")

    monkeypatch.setattr(cuda_split, "choose", broken)
    found = failed(gputree.selftest())
    assert set(found.values()) == {"RuntimeError: an illegal memory access was encountered"}
    assert not any("histogram" in name for name in found)


# Where there is nothing to test


def test_a_device_that_is_missing_is_an_error():
    with pytest.raises(gputree.BackendUnavailable, match="cuda sees 1 CUDA devices"):
        gputree.selftest("cuda:99")


def test_a_library_that_is_missing_is_an_error(monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "0")
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(gputree.BackendUnavailable, match="backend='cuda' is not installed"):
        gputree.selftest()


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_only_gpus_are_tested(device):
    with pytest.raises(ValueError, match=f"device='{device}'"):
        gputree.selftest(device)
