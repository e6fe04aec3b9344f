"""Decision trees with histogram kernels: the same model, byte for byte, on every backend."""

from gputree.data.dataset import Dataset
from gputree.errors import BackendUnavailable, ModelFileError
from gputree.estimators.model_file import load
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.verify import selftest
from gputree.warm import warmup

__version__ = "0.1.0"

__all__ = [
    "BackendUnavailable",
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ModelFileError",
    "load",
    "selftest",
    "warmup",
]
