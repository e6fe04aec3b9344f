"""Importing gputree is cheap: it touches no GPU and no library that it may never need."""

import subprocess
import sys

import pytest

import gputree

NOT_NEEDED = [
    *("cupy", "torch", "numba", "numba.cuda"),
    *("pandas", "polars", "pyarrow", "dask", "matplotlib", "click"),
    *("onnx", "treelite"),
]
ALL = "import gputree; [getattr(gputree, name) for name in gputree.__all__]"
FIT = "gputree.DecisionTreeClassifier().fit([[0], [1]], [0, 1]).predict([[0]])"


def loaded_after(code):
    """The modules that a new process has loaded after some code."""
    # -P: the checkout itself must not stand in for the installed package.
    command = [
        sys.executable,
        "-P",
        "-W",
        "error",
        "-c",
        f"{code}; import sys; print(*sys.modules)",
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.fixture(scope="module")
def loaded():
    """What gputree loads itself: what scikit-learn loads is not ours to forbid."""
    ours = loaded_after(ALL)
    assert {"gputree.kernels.criteria", "gputree.estimators.trees"} <= ours
    return ours - loaded_after("import sklearn.tree, array_api_compat.numpy")


@pytest.mark.parametrize("library", NOT_NEEDED)
def test_importing_gputree_does_not_load(library, loaded):
    assert library not in loaded


def test_a_name_is_imported_when_it_is_asked_for():
    assert not {"numpy", "sklearn"} & loaded_after("import gputree")
    assert "gputree.pruning" in loaded_after("import gputree; gputree.pruning")


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'gputree' has no attribute 'forest'"):
        gputree.forest  # noqa: B018
    assert set(gputree.__all__) <= set(dir(gputree))


def test_fitting_and_predicting_on_the_cpu_loads_no_gpu_library():
    assert not {"cupy", "torch", "numba.cuda"} & loaded_after(f"import gputree; {FIT}")


def test_what_is_exported_exists_and_is_in_order():
    assert gputree.__all__ == sorted(gputree.__all__)
    assert all(hasattr(gputree, name) for name in gputree.__all__)
