"""Room for codes on the host: in memory, or in a file that is mapped into it."""

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gputree.dtypes import HostArray

ONLY_ON_HOST = (
    "codes are kept in a file by the backends 'numba' and 'numpy' only, not by {0!r}; use one of "
    "them, or codes='memory'"
)


def host_codes(
    shape: tuple[int, int], dtype: npt.DTypeLike, folder: Path | None, *, is_clear: bool = False
) -> HostArray:
    """An array of codes; the file of one in a folder goes when the array goes."""
    if folder is None:
        return np.zeros(shape, dtype) if is_clear else np.empty(shape, dtype)
    with tempfile.TemporaryFile(dir=folder, prefix="gputree-codes-") as file:
        # A plain array on top: kernels are not compiled again for another type.
        return np.asarray(np.memmap(file, dtype, "w+", shape=shape))
