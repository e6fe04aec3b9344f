"""The exceptions a user may want to catch, each a kind of a built-in one."""


class BackendUnavailable(ImportError):
    """The requested backend or device cannot run here; the message says what is missing."""


class OutOfMemory(MemoryError):
    """A device has too little memory; the message says how much is needed, and what helps."""


class ClusterError(RuntimeError):
    """A fit on several ranks has ended because one of them failed, was lost or did not answer."""


class ModelFileError(ValueError):
    """A file or byte string is not a gputree model, or has been damaged or altered."""


class SparseTargetError(ValueError, TypeError):
    """The target is sparse: a ValueError of scikit-learn's forests, a TypeError of its trees."""
