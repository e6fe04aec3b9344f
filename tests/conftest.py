"""What every test may use: one profile for hypothesis, and each backend by its name."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn's array API checks read it at import

from importlib.util import find_spec

import hypothesis
import pytest

from gputree.backends import registry

# Every run tries the same examples, so that a failure can be seen again.
hypothesis.settings.register_profile("gputree", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.load_profile("gputree")

BACKENDS = ["numpy", "numba", "array_api_strict", "torch"]


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request):
    """Each backend that can run without a GPU. It keeps no state, so tests share it."""
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return registry.choose(backend=request.param).backend
