"""Which backend a user gets, why, and what is said where none can be had."""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gputree import RandomForestRegressor
from gputree.backends import registry
from gputree.backends.cpu import backend as cpu_backend
from gputree.backends.cpu import predict as cpu_predict
from gputree.backends.registry import choose, thread_count
from gputree.data.inputs import read_table
from gputree.errors import BackendUnavailable


@pytest.fixture
def machine(monkeypatch):
    """Pretend that only some libraries are installed, and how many GPUs they see."""

    def pretend(**n_devices):
        monkeypatch.setattr(registry, "find_spec", lambda name: name in n_devices or None)
        monkeypatch.setattr(registry, "_cuda_devices", n_devices.__getitem__)

    return pretend


@pytest.fixture
def process(monkeypatch):
    """Pretend what of the kernels is loaded or on the disk, in a process that has done nothing."""

    def pretend(*, is_loaded=False, can_walk=True, is_kept=False):
        loaded = {"gputree.backends.cpu.backend": cpu_backend} if is_loaded else {}
        monkeypatch.setattr(registry, "sys", SimpleNamespace(modules=loaded))
        monkeypatch.setattr(registry, "_are_kept", lambda: is_kept)
        monkeypatch.setattr(registry, "_spent", 0.0)
        monkeypatch.setattr(cpu_predict, "is_loaded", lambda n_trees: can_walk)

    return pretend


@pytest.mark.parametrize("device", ["auto", "cpu"])
@pytest.mark.parametrize(
    ("is_loaded", "n_cells", "name", "reason"),
    [
        (True, 0, "numpy", "0 cells are fewer than the 1,000 that compiled kernels need"),
        (True, 999, "numpy", "999 cells are fewer than the 1,000"),
        (True, 1_000, "numba", "1,000 cells are enough for compiled kernels"),
        (False, 100_000, "numpy", "100,000 cells are fewer than the 50,000,000"),
        (False, 50_000_000, "numba", "50,000,000 cells are enough"),
    ],
)
def test_the_cpu_is_used_by_numpy_until_compiled_kernels_pay(
    process, device, is_loaded, n_cells, name, reason
):
    process(is_loaded=is_loaded)
    choice = choose(device, n_cells=n_cells)
    assert (choice.backend.name, choice.backend.device) == (name, "cpu")
    assert choice.reason.startswith(reason)


@pytest.mark.parametrize(
    ("n_jobs", "n_threads"), [(None, 6), (1, 1), (3, 3), (9, 9), (-1, 6), (-2, 5), (-6, 1), (-9, 1)]
)
def test_jobs_are_threads_as_scikit_learn_counts_them(monkeypatch, n_jobs, n_threads):
    monkeypatch.setattr(registry, "available_cores", lambda: 6)
    assert thread_count(n_jobs) == n_threads


def test_a_backend_gets_the_threads_that_were_asked_for():
    assert choose(backend="numba", n_jobs=3).backend._workers.n_threads == 3


@pytest.mark.parametrize("n_jobs", [0, 1.0, "2", True])
def test_a_number_of_jobs_that_is_none_is_refused(n_jobs):
    with pytest.raises(ValueError, match=f"n_jobs={n_jobs!r}: a number of threads"):
        choose(n_jobs=n_jobs)


@pytest.mark.parametrize("name", ["numpy", "numba", "array_api_strict", "torch"])
def test_a_backend_that_is_asked_for_is_given(name):
    pytest.importorskip(name)
    for device in ("auto", "cpu"):
        choice = choose(device, name)
        assert (choice.backend.name, choice.backend.device) == (name, "cpu")
        assert choice.reason == f"backend={name!r} was requested"


@pytest.mark.parametrize(
    "device", ["gpu", "cuda:", "cuda:x", "cuda:-1", "CPU", "", " cpu", None, 0]
)
def test_an_unknown_device_is_refused_with_the_known_ones(device):
    with pytest.raises(ValueError, match="is unknown; choose 'auto', 'cpu', 'cuda' or 'cuda:N'"):
        choose(device)


@pytest.mark.parametrize("backend", ["jax", "NumPy", "", 3, ["numpy"]])
def test_an_unknown_backend_is_refused_with_the_known_ones(backend):
    with pytest.raises(ValueError, match=r"is unknown; choose from .*numpy.*torch"):
        choose(backend=backend)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:3"])
def test_a_device_that_is_missing_is_an_error_with_the_cure(machine, device):
    machine(numpy=0, torch=0)
    with pytest.raises(BackendUnavailable, match=f"device='{device}': no CUDA device") as error:
        choose(device)
    assert "device='auto'" in str(error.value)
    assert "gputree-ml[cuda12]" in str(error.value)


def test_an_unavailable_backend_is_an_import_error(machine):
    machine(numpy=0)
    with pytest.raises(ImportError):
        choose("cuda")


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("torch", "pip install torch"),
        ("cupy", "gputree-ml\\[cuda12\\]"),
        ("array_api_strict", "pip install array-api-strict"),
    ],
)
def test_a_backend_that_is_not_installed_says_how_to_install_it(machine, name, cure):
    machine(numpy=0)
    with pytest.raises(BackendUnavailable, match=f"backend='{name}' is not installed: .*{cure}"):
        choose(backend=name)


@pytest.mark.parametrize("name", ["numpy", "numba", "array_api_strict"])
def test_a_cpu_backend_is_not_moved_to_a_gpu(name):
    with pytest.raises(ValueError, match=f"backend='{name}' runs on the CPU, not on device='cuda'"):
        choose("cuda", name)


def test_a_gpu_backend_is_not_moved_to_the_cpu(machine):
    machine(numpy=0, cupy=1)
    with pytest.raises(ValueError, match="backend='cupy' runs on a GPU, not on device='cpu'"):
        choose("cpu", "cupy")


def test_a_gpu_that_a_library_does_not_see_is_an_error(machine):
    pytest.importorskip("torch")
    machine(torch=1)
    with pytest.raises(
        BackendUnavailable, match="'cuda:1' with backend='torch': torch sees 1 CUDA"
    ):
        choose("cuda:1", "torch")


@pytest.mark.parametrize(("device", "place"), [("cuda", "cuda:0"), ("cuda:1", "cuda:1")])
def test_a_gpu_that_is_asked_for_is_reached_by_a_library_that_sees_it(machine, device, place):
    pytest.importorskip("torch")
    machine(numpy=0, torch=2)
    choice = choose(device)
    assert (choice.backend.name, choice.backend.device) == ("torch", place)
    assert choice.reason == f"device={device!r} was requested; torch can use it"


def test_a_library_that_sees_no_gpu_is_passed_over(machine):
    pytest.importorskip("torch")
    machine(numpy=0, cupy=0, torch=1)
    assert choose("cuda").backend.name == "torch"


@pytest.mark.parametrize(
    ("n_cells", "libraries", "reason"),
    [
        (9_999_999, {"numpy": 0, "numba": 0}, "no GPU is searched for below 10,000,000 cells"),
        (10_000_000, {"numpy": 0, "numba": 0}, "no GPU is used, as numba-cuda is not installed"),
        (10_000_000, {"numba": 0, "numba_cuda": 0, "cuda": 0}, "no GPU was found"),
    ],
)
def test_automatic_says_why_it_does_without_a_gpu(monkeypatch, machine, n_cells, libraries, reason):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "0")
    machine(**libraries)
    choice = choose(n_cells=n_cells)
    assert choice.backend.name == "numba"
    assert choice.reason.endswith(reason)


class Opened:
    """Stands for a backend on a GPU."""

    def __init__(self, device):
        self.name, self.device = "cuda", device


@pytest.fixture
def gpus(monkeypatch, machine):
    """Two GPUs that numba-cuda reaches."""
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "0")
    machine(numpy=0, numba=0, numba_cuda=0, cuda=2)
    monkeypatch.setattr(
        "gputree.backends.cuda.backend.CudaBackend", lambda device, n_threads: Opened(device)
    )
    monkeypatch.setattr("gputree.backends.cuda.device.open_device", lambda name: name)


@pytest.mark.parametrize(
    ("options", "place", "reason"),
    [
        ({"n_cells": 10**7}, "cuda:0", "10,000,000 cells are enough for the GPU that was found"),
        ({"data_on": 1}, "cuda:1", "the table is on cuda:1"),
        ({"device": "cuda:1"}, "cuda:1", "device='cuda:1' was requested; cuda can use it"),
        ({"backend": "cuda"}, "cuda:0", "backend='cuda' was requested"),
        ({"backend": "cuda", "data_on": 1}, "cuda:1", "backend='cuda' was requested"),
        (
            {"device": "cuda", "data_on": 1},
            "cuda:1",
            "device='cuda:1' was requested; cuda can use it",
        ),
    ],
)
def test_a_gpu_is_used_by_its_own_kernels(gpus, options, place, reason):
    choice = choose(**options)
    assert (choice.backend.name, choice.backend.device, choice.reason) == ("cuda", place, reason)


def test_a_table_on_a_gpu_without_kernels_comes_to_the_cpu(monkeypatch, machine):
    machine(numpy=0, numba=0)
    assert choose(data_on=0).backend.device == "cpu"


def test_every_backend_that_may_be_missing_has_a_cure():
    assert set(registry.BACKENDS) - {"numpy"} <= set(registry._REMEDY)


def test_a_gpu_library_without_a_driver_sees_no_gpu(monkeypatch):
    class CUDARuntimeError(RuntimeError):
        pass

    def fail():
        raise CUDARuntimeError("cudaErrorNoDevice")

    runtime = SimpleNamespace(CUDARuntimeError=CUDARuntimeError, getDeviceCount=fail)
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    monkeypatch.setattr(registry, "import_module", {"cupy": cupy}.__getitem__)
    assert registry._cuda_devices("cupy") == 0
    runtime.getDeviceCount = lambda: 3
    assert registry._cuda_devices("cupy") == 3


def test_many_trees_make_compiled_kernels_worth_loading(process):
    process()
    assert choose(n_cells=500_000, n_trees=99).backend.name == "numpy"
    choice = choose(n_cells=500_000, n_trees=100)
    assert choice.backend.name == "numba"
    assert "500,000 cells in 100 trees are enough" in choice.reason


@pytest.mark.parametrize(
    ("is_loaded", "n_walks", "name"),
    [
        (True, 99, "numpy"),
        (True, 100, "numba"),
        (False, 1_999_999, "numpy"),
        (False, 2_000_000, "numba"),
    ],
)
def test_predictions_are_as_much_work_as_walks_down_trees(process, is_loaded, n_walks, name):
    process(is_loaded=is_loaded)
    choice = choose(n_cells=5, n_walks=n_walks)
    assert choice.backend.name == name
    assert f"{n_walks:,} walks down a tree are " in choice.reason


def test_kernels_on_the_disk_are_loaded_once_a_process_has_done_as_much_without_them(process):
    process(is_kept=True)
    said = [choose(n_cells=200_000).reason.partition(";")[0] for _ in range(3)]
    fewer = "200,000 cells and earlier ones are fewer than the 500,000 that compiled kernels need"
    assert said == [
        fewer,
        fewer,
        "200,000 cells after earlier ones are enough for compiled kernels",
    ]


def test_cells_of_categories_are_more_work_without_kernels(process):
    process(is_kept=True)
    assert choose(n_cells=60_000, n_category_cells=48_000).backend.name == "numpy"
    choice = choose(n_cells=60_000, n_category_cells=49_000)
    assert choice.backend.name == "numba"
    assert "60,000 cells, 49,000 of them of categories, are enough" in choice.reason


def test_what_was_done_before_does_not_make_anybody_compile(process):
    process(is_kept=False)
    assert {choose(n_cells=9_999_999).backend.name for _ in range(9)} == {"numpy"}


@pytest.mark.parametrize(("n_trees", "least"), [(1, 2_000), (50, 100_000)])
def test_few_rows_do_not_wait_for_the_kernels_of_predictions(process, n_trees, least):
    process(is_loaded=True, can_walk=False)
    names = [choose(n_trees=n_trees, n_walks=least // 2).backend.name for _ in range(2)]
    assert names == ["numpy", "numba"]
    process(is_loaded=True, can_walk=False)
    assert choose(n_trees=n_trees, n_walks=least).backend.name == "numba"


def test_kernels_on_the_disk_are_seen_without_loading_them(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not registry._finds_kept()
    folder = tmp_path / "cpu_0123abcd"
    folder.mkdir()
    (folder / "grow.grow-1.py20.nbi").touch()  # of another Python
    assert not registry._finds_kept()
    index = folder / f"grow.grow-1.py{sys.version_info[0]}{sys.version_info[1]}.nbi"
    index.touch()
    assert registry._finds_kept()
    os.utime(index, (0, 0))  # of older source
    assert not registry._finds_kept()


def test_a_forest_is_predicted_by_compiled_kernels_for_its_many_trees(monkeypatch):
    X = np.arange(60.0).reshape(30, 2)
    forest = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    table = read_table(X, like=forest.schema_)
    monkeypatch.setattr(cpu_predict, "is_loaded", lambda n_trees: n_trees == 3)
    monkeypatch.setattr(registry, "LOADED_WALKS", 90)
    assert forest._backend_for(table).name == "numba"
    monkeypatch.setattr(registry, "LOADED_WALKS", 91)
    assert forest._backend_for(table).name == "numpy"
