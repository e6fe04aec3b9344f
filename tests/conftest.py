"""What every test may use: one profile for hypothesis, and each backend by its name."""

import gc
import os
import sys

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn's array API checks read it at import
# Without a GPU, kernels for it run in numba's simulator; 0 runs them on a real one. Where ptxrun
# is to be found, their compiled code runs on the CPU.
if "GPUTREE_PTXRUN" in os.environ:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "0"
    sys.path.insert(0, os.environ["GPUTREE_PTXRUN"])
    import ptxrun

    ptxrun.install(lineinfo=False)  # names of some kernels are not fit for line information
# Where fakegpu is to be found beside it, CuPy runs, too, on devices that are not there.
if "GPUTREE_FAKEGPU" in os.environ:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "0"
    sys.path.insert(0, os.environ["GPUTREE_FAKEGPU"])
    from tests.gpu import fake

    fake.install(devices=2)
os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")
# No test starts a process that compiles kernels unless it is about that.
os.environ["GPUTREE_COMPILE_ASIDE"] = "0"

from importlib.util import find_spec

import pytest

from gputree.backends import registry
from tests import compiling, thorough

compiling.share()  # before kernels are imported

# The simulator of CUDA is too slow for all tests; the contract's and those in `gpu` are enough.
BACKENDS = ["numpy", "numba", "array_api_strict", "torch"]


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request):
    """Each backend that can run without a GPU. It keeps no state, so tests share it."""
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return registry.choose(backend=request.param).backend


# What one run skips because a package is missing, a later one with more packages can run alone.


def pytest_addoption(parser):
    thorough.add_option(parser)
    parser.addoption(
        "--only-skipped", action="store_true", help="run what the last whole run skipped"
    )


class Skips:
    """Keeps the tests that a run skips, and whole files of them, for the next one."""

    PLACE = "gputree/skipped"

    def __init__(self, config):
        self.cache = config.cache
        is_second = config.getoption("--thorough") == "only"
        self.found = set(self.cache.get(self.PLACE, [])) if is_second else set()

    def pytest_runtest_logreport(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            self.found.add(report.nodeid)

    def pytest_collectreport(self, report):
        if report.skipped:
            self.found.add(report.nodeid)

    def pytest_sessionfinish(self):
        self.cache.set(self.PLACE, sorted(self.found))


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One more than `-n auto` gives, because tests wait for processes and each other's kernels."""
    return 1 + (yield)


def pytest_configure(config):
    thorough.begin(config)
    for marker in thorough.MARKERS:
        config.addinivalue_line("markers", marker)
    if config.getoption("dist", None) == "load":
        # Each worker has files of its own at first, and so kernels: none waits for the other's.
        config.option.dist = "worksteal"
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    is_told = not hasattr(config, "workerinput") and hasattr(config, "cache")
    if is_whole and is_told and not config.getoption("--only-skipped"):
        config.pluginmanager.register(Skips(config))


def pytest_collection_finish():
    gc.freeze()  # what is there by now stays; to look for garbage in it takes a tenth of the time


def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        compiling.forget(config.workerinput["testrunuid"])


def pytest_collection_modifyitems(config, items):
    if config.getoption("--only-skipped"):
        wanted = set(config.cache.get(Skips.PLACE, []))
        is_wanted = [{item.nodeid, item.nodeid.split("::")[0]} & wanted for item in items]
        chosen = [item for item, is_one in zip(items, is_wanted, strict=True) if is_one]
        others = [item for item, is_one in zip(items, is_wanted, strict=True) if not is_one]
    else:
        chosen, others = thorough.select(config, items)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen
