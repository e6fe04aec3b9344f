"""What the doctor reads of cards, computes of bounds and says; cards and clocks are made up."""

import itertools
import json
from dataclasses import dataclass, replace
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
import pytest

from gputree.backends.cuda import cards
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.cards import Card, Machine, by_cupy, by_numba, read_machine
from gputree.backends.cuda.device import NumbaDevice, open_device
from gputree.data.target import class_target, value_target
from gputree.diagnostics import doctor, golden, kernel_times
from gputree.diagnostics.fit_times import FitTiming
from gputree.diagnostics.kernel_times import Size, Stopwatch, Timing, Work, measure
from gputree.diagnostics.verify import Check, SelfTest

GIB = 2**30
CARD = Card(0, "Example 100", "8.0", 80 * GIB, 79 * GIB, 108, 1.41e9, 2.04e12)
WITH_A_CARD = Machine("12.8", "12.9", (CARD,))
PASSED = SelfTest("cuda:0", (Check("histogram", True, "equal"),))


# Cards


def made_up_cupy(n_cards=2, error=None):
    """As much of CuPy as is asked."""

    class CUDARuntimeError(RuntimeError):
        pass

    def count():
        if error:
            raise CUDARuntimeError(error)
        return n_cards

    properties = {
        **{"name": b"Example 100", "major": 8, "minor": 0, "multiProcessorCount": 108},
        **{"clockRate": 1_410_000, "memoryClockRate": 1_593_000, "memoryBusWidth": 5120},
    }
    runtime = SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=count,
        getDeviceProperties=lambda number: properties,
        driverGetVersion=lambda: 12_080,
        runtimeGetVersion=lambda: 12_090,
    )
    device = SimpleNamespace(mem_info=(79 * GIB, 80 * GIB))
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, Device=lambda number: device))


class MadeUpGpu(SimpleNamespace):
    """A card as numba shows it."""

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def made_up_numba(n_cards=2, error=None):
    """As much of numba.cuda as is asked."""
    facts = {
        **{"name": "Example 100", "compute_capability": (8, 0), "MULTIPROCESSOR_COUNT": 108},
        **{"CLOCK_RATE": 1_410_000, "MEMORY_CLOCK_RATE": 1_593_000},
        "GLOBAL_MEMORY_BUS_WIDTH": 5120,
    }
    context = SimpleNamespace(get_memory_info=lambda: (79 * GIB, 80 * GIB))
    driver = SimpleNamespace(driver=SimpleNamespace(get_version=lambda: (12, 8)))
    return SimpleNamespace(
        is_available=lambda: error is None,
        cuda_error=lambda: error,
        gpus=[MadeUpGpu(id=number, **facts) for number in range(n_cards)],
        current_context=lambda: context,
        cudadrv=SimpleNamespace(driver=driver),
        runtime=SimpleNamespace(get_version=lambda: (12, 9)),
    )


@pytest.mark.parametrize("machine", [by_cupy(made_up_cupy()), by_numba(made_up_numba())])
def test_both_libraries_tell_the_same_of_a_card(machine):
    assert (machine.driver, machine.runtime, machine.problem) == ("12.8", "12.9", "")
    assert [card.number for card in machine.cards] == [0, 1]
    bandwidth = 2 * 1_593_000_000 * 5120 / 8
    assert machine.cards[0] == replace(CARD, clock=1.41e9, bandwidth=bandwidth)


def test_no_driver_and_no_card_are_told_in_a_line():
    error = "cudaErrorNoDevice:\n no CUDA-capable device"
    told = "cudaErrorNoDevice: no CUDA-capable device"
    assert by_cupy(made_up_cupy(error=error)) == Machine(problem=told)
    assert by_numba(made_up_numba(error=error)) == Machine(problem=told)
    assert by_cupy(made_up_cupy(n_cards=0)).problem == "CuPy sees none"
    assert by_numba(made_up_numba(n_cards=0)).problem == "numba sees none"


def test_cupy_is_asked_first_and_nobody_where_nothing_is_installed(monkeypatch):
    monkeypatch.setattr(cards, "import_module", {"cupy": made_up_cupy()}.__getitem__)
    monkeypatch.setattr(cards, "find_spec", lambda name: name == "cupy" or None)
    assert read_machine().cards[0].name == "Example 100"
    monkeypatch.setattr(cards, "find_spec", lambda name: None)
    assert read_machine() == Machine(problem="neither CuPy nor numba-cuda is there to ask for one")
    monkeypatch.setattr(cards, "find_spec", lambda name: name == "numba_cuda" or None)
    assert read_machine() == Machine(problem="CUDA is simulated")


def test_a_cupy_that_is_broken_is_told(monkeypatch):
    def broken(name):
        raise ImportError("libnvrtc.so.12:\ncannot open")

    monkeypatch.setattr(cards, "import_module", broken)
    monkeypatch.setattr(cards, "find_spec", lambda name: name)
    problem = "CuPy cannot be imported: libnvrtc.so.12: cannot open"
    assert read_machine() == Machine(problem=problem)


# Bounds


def test_the_rate_of_shared_additions_is_that_of_the_fullest_bank():
    assert CARD.shared_adds == pytest.approx(1.38e12, rel=0.005)


@pytest.mark.parametrize(
    ("work", "milliseconds", "by"),
    [
        # 10 million rows of 28 codes, a row number and a class.
        (Work(10**7 * 33, 10**7 * 28), 0.203, "shared memory"),
        (Work(10**7 * 40, 10**7 * 28 * 2), 0.406, "shared memory"),
        (Work(10**7 * 13), 0.0637, "memory"),
    ],
)
def test_the_bound_is_the_slower_of_memory_and_additions(work, milliseconds, by):
    bound, bound_by = work.bound(CARD)
    assert bound == pytest.approx(milliseconds, rel=0.005)
    assert bound_by == by


@pytest.mark.parametrize("unknown", ["clock", "bandwidth"])
def test_a_card_that_does_not_tell_has_no_bound(unknown):
    bound, why = Work(1, 1).bound(replace(CARD, **{unknown: 0.0}))
    assert bound is None
    assert why == "the driver does not tell clock and bus width"
    assert Timing("sum", 1.0, bound, why).ratio is None


# Times


@pytest.fixture
def made_up_clock(monkeypatch):
    """It moves by a millisecond with every event."""
    now = itertools.count()
    monkeypatch.setattr(NumbaDevice, "record", lambda device: next(now))
    monkeypatch.setattr(NumbaDevice, "milliseconds", lambda device, begin, end: float(end - begin))


TINY = Size(n_rows=40, n_nodes=2, n_filler=8, n_copies=1)


def test_every_kernel_of_a_verb_is_timed_and_still_does_its_work(made_up_clock):
    device = open_device("cuda:0")
    watch = Stopwatch(device, TINY)
    backend = CudaBackend(watch)
    rows = golden.rows_at_root(backend, "classes", 1, 256)
    seen = []
    before = device.n_launches
    milliseconds = watch.time(lambda: seen.append(backend.tally(rows, kernel_times.ROOT)))
    assert milliseconds == device.n_launches - before > 0
    found = device.download(seen[0].sums).reshape(-1, golden.N_CLASSES)
    np.testing.assert_array_equal(found, golden.histogram("classes", 1))
    assert watch.time(lambda: None) == 0


def test_sums_routing_and_search_are_measured(monkeypatch, made_up_clock):
    monkeypatch.setattr(kernel_times, "ROUNDS", 1)
    monkeypatch.setattr(kernel_times, "N_FEATURES", 3)
    monkeypatch.setattr(kernel_times, "N_CODES", 4)
    timings = measure("cuda:0", CARD, size=TINY)
    names = ["sum of 2 classes", "sum of a regression", "route", "scan of 2 nodes"]
    assert [timing.name for timing in timings] == names
    # As many milliseconds as kernels: routing finds children, adds them up and moves rows.
    assert timings[2].milliseconds >= 3
    assert all(timing.milliseconds >= 1 for timing in timings)
    counting, summing, routing, _ = timings
    assert counting.bound == pytest.approx(1e3 * 40 * (3 + 4 + 1) / CARD.bandwidth)
    assert summing.bound > counting.bound
    assert routing.bound == pytest.approx(1e3 * 40 * 13 / CARD.bandwidth)
    assert routing.ratio == routing.milliseconds / routing.bound


def test_a_sum_adds_once_a_row_feature_and_limb(monkeypatch):
    monkeypatch.setattr(kernel_times, "N_FEATURES", 3)
    backend = CudaBackend(open_device("cuda:0"))
    bins, data = kernel_times._coded(backend, np.random.default_rng(0), 8)
    classes = class_target(np.arange(8) % 2, 2, None)
    values = value_target(np.arange(8.0)[:, None], None)  # 47 bits: three limbs of 17
    counted, summed = (
        kernel_times._sum_work(backend.begin(data, bins, target)) for target in (classes, values)
    )
    assert counted == Work(8 * (3 + 4 + 1), 8 * 3)
    assert summed == Work(8 * (3 + 4 + 3 * 4), 8 * 3 * (3 + 1))


# The diagnosis


@dataclass
class Visit:
    """A machine that is made up, and what was done on it."""

    machine: Machine = WITH_A_CARD
    tested: SelfTest = PASSED
    timings: tuple = (
        Timing("route", 0.5, 0.25, "memory"),
        Timing("scan", 2.0, None, "the driver does not tell clock and bus width"),
    )

    def diagnose(self, **asked):
        return doctor.diagnose(
            read=lambda: self.machine,
            test=lambda device: self.tested,
            measure=lambda device, card: self.timings,
            time_fits=lambda device: [FitTiming("tree", 10**6, 28, device, 0.5)],
            **asked,
        )


@pytest.fixture
def nothing_missing(monkeypatch):
    monkeypatch.setattr(doctor, "missing", lambda device: "")


def line(found, name):
    (text,) = [each for each in doctor.as_text(found).splitlines() if each.startswith(f"{name} ")]
    return text[11:]


def test_a_card_is_shown_tested_and_timed_beside_its_bound(nothing_missing):
    found = Visit().diagnose()
    assert line(found, "driver") == "CUDA 12.8"
    assert line(found, "runtime") == "CUDA 12.9"
    assert line(found, "card 0") == (
        "Example 100, compute capability 8.0, 79.0 of 80.0 GiB free, 108 multiprocessors, "
        "1.41 GHz, 2,040 GB/s"
    )
    assert line(found, "self-test") == "passed, 1 checks"
    kernels = doctor.as_text(found).split("\nkernels")[1].splitlines()
    assert kernels[0].split() == ["ms", "bound", "x", "bound"]
    assert kernels[1].split() == ["route", "0.500", "0.250", "2.00", "memory"]
    assert kernels[2].split()[:2] == ["scan", "2.000"]
    assert line(found, "fit") == "tree, 1,000,000 rows x 28 features: 0.500 s"
    assert found["fits"][0]["device"] == "cuda:0"
    assert found["kernels"][0]["ratio"] == 2.0
    assert found["kernels"][1]["ratio"] is None


def test_what_a_driver_does_not_tell_is_not_known(nothing_missing):
    card = replace(CARD, clock=0.0, bandwidth=0.0)
    found = Visit(Machine("12.8", "12.9", (card,))).diagnose()
    assert line(found, "card 0").endswith("clock not known, bandwidth not known")


def test_wrong_results_are_listed_and_not_timed(nothing_missing):
    checks = (Check("histogram", True, "equal"), Check("fit", False, "another model"))
    found = Visit(tested=SelfTest("cuda:0", checks)).diagnose()
    assert found["selftest"]["passed"] is False
    assert found["kernels"] is None
    assert line(found, "self-test") == "FAILED, 1 of 2 checks"
    assert "\n           fit: another model\n" in doctor.as_text(found)
    assert line(found, "kernels").startswith("not measured: the self-test failed")


def test_what_cannot_be_timed_is_not_measured(nothing_missing):
    def measure(device, card):
        raise MemoryError("Out of memory\nallocating 1 byte")

    found = doctor.diagnose(read=lambda: WITH_A_CARD, test=lambda device: PASSED, measure=measure)
    reason = "not measured: MemoryError: Out of memory allocating 1 byte"
    assert line(found, "kernels") == reason
    assert line(found, "self-test").startswith("passed")


def test_the_card_that_is_asked_for_is_timed(nothing_missing):
    asked = []
    machine = Machine("12.8", "12.9", (CARD, replace(CARD, number=1)))

    def measure(device, card):
        asked.append((device, card.number))
        return ()

    told = {"read": lambda: machine, "test": lambda _: PASSED, "measure": measure}
    doctor.diagnose("cuda:1", **told, time_fits=lambda device: asked.append(device) or ())
    assert asked == [("cuda:1", 1), "cuda:1"]


def test_a_simulated_device_is_neither_tested_nor_timed():
    found = Visit(Machine(problem="CUDA is simulated")).diagnose()
    assert (found["selftest"], found["kernels"]) == (None, None)
    assert line(found, "cards") == "none: CUDA is simulated"
    assert line(found, "self-test") == "not run"
    assert line(found, "kernels").startswith("not measured: CUDA is simulated; unset NUMBA_ENABLE")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ImportError("numba-cuda is not installed"), "numba-cuda is not installed"),
        (RuntimeError("driver\nis too old"), "RuntimeError: driver is too old"),
    ],
)
def test_what_keeps_kernels_from_running_is_told(monkeypatch, error, told):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(doctor, "choose", fail)
    found = Visit().diagnose()
    assert found["not_measured"] == told
    assert line(found, "kernels") == f"not measured: {told}"
    assert {choice["backend"] for choice in found["auto"]} == {None}
    assert "1,000 rows x 10 features: fails (" in doctor.as_text(found)


def test_a_device_that_is_none_is_a_mistake():
    with pytest.raises(ValueError, match="device='gpu' is unknown"):
        Visit().diagnose(device="gpu")


def test_auto_is_told_for_a_small_table_and_for_a_large_one():
    found = Visit().diagnose()
    small, large = found["auto"]
    # Compiled kernels, once something has loaded them, are quicker for a small table, too.
    assert small["backend"] in ("numpy", "numba")
    assert small["device"] == "cpu"
    assert "no GPU is searched for below" in small["reason"]
    assert large["backend"] == "numba"
    assert "no GPU is used, as " in large["reason"]


def test_versions_are_those_that_are_installed(monkeypatch):
    found = Visit().diagnose()["versions"]
    assert found["numpy"] == np.__version__
    assert found["numba"] == version("numba")
    installed = {"cupy-cuda12x": "13.4.0", "cupy-cuda13x": "14.0.0"}

    def version_of(name):
        if name not in installed:
            raise doctor.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(doctor, "version", version_of)
    found = Visit().diagnose()
    assert line(found, "CuPy") == "14.0.0 (cupy-cuda13x), 13.4.0 (cupy-cuda12x)"
    assert line(found, "torch") == "not installed"


def test_a_diagnosis_survives_json(nothing_missing):
    found = Visit().diagnose()
    assert doctor.as_text(json.loads(json.dumps(found))) == doctor.as_text(found)
