"""Every dtype and limit of the library, each with its reason."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = Any  # an array of any array-API library; there is no common static type
HostArray: TypeAlias = npt.NDArray[Any]

SUM = np.int64  # every statistic is an integer sum: adding in any order gives the same bits
SCORE = np.float64  # totals stay below 2**53, so a sum becomes a float without rounding
FEATURE = np.int32
CATEGORY_NUMBER = np.int32  # the number of a category; MISSING_CATEGORY where there is none
CATEGORY = np.uint16  # the same in a finished tree: at most MAX_BINS, which nobody has seen
SLOT = np.uint16  # the number of a child below its node
STAY = 65_535  # in the place of a slot: the row has no known way and stays at the node

TOTAL_BITS = 53  # the largest |total| is below 2**TOTAL_BITS, the integers float64 holds exactly
MISSING_CATEGORY = -1
OUTSIDE = -1  # node of a row that takes no part in the tree

MAX_BINS = 65_535  # with the missing code, 65,536 codes: all that 16 bits can tell apart
MAX_ROWS = 2**31 - 1  # node numbers and row numbers of the compiled kernels are 32-bit
MAX_FEATURES = 2**31 - 1


def code_dtype(n_codes: int) -> type[np.uint8] | type[np.uint16]:
    """The smallest unsigned integer that holds `n_codes` different codes."""
    return np.uint8 if n_codes <= 256 else np.uint16
