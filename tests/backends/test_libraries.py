"""What the array API leaves out means the same in every array library."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree.backends.array.backend import ArrayBackend
from gputree.backends.array.current_device import OnDevice
from gputree.backends.array.libraries import NumpyLibrary, open_library
from gputree.boosting.rounds import Recipe, Rounds
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.kernels.losses import LOGISTIC


@pytest.fixture(scope="session", params=["numpy", "array_api_strict", "torch"])
def library(request):
    pytest.importorskip(request.param)
    return open_library(request.param)


def put(library, values, dtype):
    return library.from_host(np.array(values, dtype))


def test_arrays_come_back_from_a_library_as_they_went(library):
    for dtype in (np.float64, np.float32, np.int64, np.int32, np.uint8, bool):
        array = np.array([0, 1, 1], dtype)
        there = library.from_host(array)
        assert library.to_host(there).dtype == dtype
        assert library.to_host(there).tolist() == array.tolist()


def test_a_read_only_array_may_be_sent(library):
    array = np.arange(3.0)
    array.setflags(write=False)
    assert library.to_host(library.from_host(array)).tolist() == [0.0, 1.0, 2.0]


def test_counting_counts_each_cell(library):
    found = library.to_host(library.count(put(library, [0, 2, 2], np.int64), 4))
    assert (found.dtype, found.tolist()) == (np.int64, [1, 0, 2, 0])


def test_counting_with_weights_adds_them(library):
    index = put(library, [0, 2, 2], np.int64)
    found = library.to_host(library.count(index, 4, put(library, [5, 7, -9], np.float64)))
    assert (found.dtype, found.tolist()) == (np.int64, [5, 0, -2, 0])


def test_counting_nothing_gives_zeros(library):
    nothing = put(library, [], np.int64)
    assert library.to_host(library.count(nothing, 2)).tolist() == [0, 0]
    weight = put(library, [], np.float64)
    assert library.to_host(library.count(nothing, 2, weight)).tolist() == [0, 0]


def test_counting_is_exact_up_to_the_limit(library):
    index = put(library, [0, 0, 0], np.int64)
    weight = put(library, [2**52, 2**51, 1], np.float64)
    assert library.to_host(library.count(index, 1, weight)).tolist() == [2**52 + 2**51 + 1]


def test_replacing_leaves_the_original_alone(library):
    array = put(library, [1, 2, 3], np.int64)
    index, values = put(library, [2, 0], np.int64), put(library, [7, 8], np.int64)
    assert library.to_host(library.replaced(array, index, values)).tolist() == [8, 2, 7]
    assert library.to_host(array).tolist() == [1, 2, 3]


def test_the_highest_is_that_of_each_cell(library):
    index = put(library, [0, 1, 0, 0], np.int64)
    highest = library.highest(index, put(library, [3.0, -5.0, 7.0, 2.0], np.float64), 3)
    assert library.to_host(highest).tolist() == [7.0, -5.0, -np.inf]


@given(x=st.floats(allow_nan=False))
def test_bits_are_read_as_they_are(library, x):
    word = library.to_host(library.bits(put(library, [x], np.float64), "int64"))
    assert word.tobytes() == np.array([x]).tobytes()
    back = library.to_host(library.bits(put(library, word, np.int64), "float64"))
    assert back.tobytes() == np.array([x]).tobytes()


def test_columns_of_a_matrix_are_adopted(library):
    matrix = np.arange(6.0).reshape(3, 2)
    assert library.to_host(library.adopt(matrix[:, 1])).tolist() == [1.0, 3.0, 5.0]


def test_arrays_of_other_libraries_are_adopted(library):
    for name in ("numpy", "array_api_strict", "torch"):
        pytest.importorskip(name)
        other = open_library(name)
        column = other.from_host(np.arange(6.0).reshape(3, 2))[:, 1]
        assert library.to_host(library.adopt(column)).tolist() == [1.0, 3.0, 5.0]


def test_a_tensor_that_needs_gradients_is_adopted(library):
    torch = pytest.importorskip("torch")
    tensor = torch.ones(3, dtype=torch.float64, requires_grad=True)
    assert library.to_host(library.adopt(tensor)).tolist() == [1.0, 1.0, 1.0]


def test_verbs_run_while_the_device_is_the_current_one():
    """Those that give one thing after another, too, and nothing of the user's in between."""
    open_now = []

    class Noting(NumpyLibrary):
        @contextmanager
        def current(self):
            open_now.append(self.device)
            yield
            open_now.pop()

        def count(self, *args):
            assert open_now == ["cuda:1"]
            return super().count(*args)

    library = Noting(np, "cuda:1")
    backend = OnDevice(ArrayBackend(library, "numpy"), library)
    X, y = np.arange(20.0).reshape(-1, 2) % 7, np.arange(10.0) % 2
    table = read_table(X)
    bins, data = bin_table(backend, table, None, 255)
    recipe = Recipe(max_depth=2, min_child_weight=0.0)
    rounds = Rounds(backend, data, bins, y, None, np.zeros((1, 10)), LOGISTIC, recipe)
    ((tree,),) = rounds.some(0, 1)
    assert tree.n_nodes > 1
    for _ in backend.gradients(rounds.raw_scores, LOGISTIC, None, counts_rows=False):
        assert open_now == []
