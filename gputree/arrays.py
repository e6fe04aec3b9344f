"""Moving arrays of any library to the host."""

from typing import Any

import array_api_compat
import numpy as np

from gputree.dtypes import Array, HostArray

CUDA_KINDS = (2, 13)  # of DLPack: device memory, and memory that host and device share


def to_numpy(array: Array) -> HostArray:
    """The array as NumPy, shared where the library allows."""
    if isinstance(array, np.ndarray | np.generic):
        return np.asarray(array)
    if array_api_compat.is_torch_array(array):
        return np.asarray(array.detach().cpu().numpy())
    if array_api_compat.is_cupy_array(array):
        return np.asarray(array.get())
    if array_api_compat.is_array_api_obj(array):
        return np.asarray(np.from_dlpack(array))
    return np.asarray(array)


def cuda_number(array: Any) -> int | None:
    """The number of the CUDA device that holds an array; None for the host."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return None
    kind, number = array.__dlpack_device__()
    return int(number) if int(kind) in CUDA_KINDS else None


def is_foreign(array: Any) -> bool:
    """Whether the array belongs to an array-API library other than NumPy."""
    return not array_api_compat.is_numpy_array(array) and array_api_compat.is_array_api_obj(array)


def is_collection(table: Any) -> bool:
    """Whether a table is a collection of Dask, whose rows are not here; nothing is imported."""
    return hasattr(type(table), "__dask_graph__")
