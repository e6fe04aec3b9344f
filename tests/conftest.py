"""What every test may use: one profile for hypothesis, and each backend by its name."""

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
os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

from importlib.util import find_spec

import hypothesis
import pytest

from gputree.backends import registry

# Every run tries the same examples, so that a failure can be seen again.
hypothesis.settings.register_profile("gputree", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.load_profile("gputree")

# The simulator of CUDA is too slow for all tests; the contract's and those in `gpu` are enough.
BACKENDS = ["numpy", "numba", "array_api_strict", "torch"]


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request):
    """Each backend that can run without a GPU. It keeps no state, so tests share it."""
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return registry.choose(backend=request.param).backend
