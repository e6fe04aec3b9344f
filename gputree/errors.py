"""The exceptions a user may want to catch, each a kind of a built-in one."""

from collections.abc import Callable
from typing import Any


class BackendUnavailable(ImportError):
    """The requested backend or device cannot run here; the message says what is missing."""


class OutOfMemory(MemoryError):
    """A device has too little memory; the message says how much is needed, and what helps."""


class ClusterError(RuntimeError):
    """A fit on several ranks has ended because one of them failed, was lost or did not answer."""

    # What an ensemble had learned when a rank was lost: a later fit may go on from there.
    so_far: Callable[[], dict[str, Any] | None] | None = None
    kept: Any = None  # the estimator with that, where ranks have told of it


class LostRank(ClusterError):
    """A rank has left, which is no fault of the fit: it may start again without that rank."""


class ModelFileError(ValueError):
    """A file or byte string is not a gputree model, or has been damaged or altered."""


class SparseTargetError(ValueError, TypeError):
    """The target is sparse: a ValueError of scikit-learn's forests, a TypeError of its trees."""
