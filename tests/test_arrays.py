"""Where arrays are."""

import numpy as np
import pytest

from gputree.arrays import cuda_number


class There:
    def __init__(self, kind, number):
        self._where = kind, number

    def __dlpack_device__(self):
        return self._where


@pytest.mark.parametrize(
    ("array", "number"),
    [
        (np.zeros(3), None),
        ([1.0, 2.0], None),
        (There(1, 0), None),  # the host
        (There(3, 0), None),  # pinned on the host
        (There(2, 1), 1),
        (There(13, 0), 0),
    ],
)
def test_the_device_of_an_array(array, number):
    assert cuda_number(array) == number
