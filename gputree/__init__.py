"""Decision trees with histogram kernels: the same model, byte for byte, on every backend."""

from gputree.boosting.gradient import GradientBoostingClassifier, GradientBoostingRegressor
from gputree.data.dataset import Dataset
from gputree.ensembles.adaboost import AdaBoostClassifier, AdaBoostRegressor
from gputree.ensembles.bagging import BaggingClassifier, BaggingRegressor
from gputree.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from gputree.ensembles.forests import RandomForestClassifier, RandomForestRegressor
from gputree.errors import BackendUnavailable, ModelFileError
from gputree.estimators.classic import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    ID3Classifier,
)
from gputree.estimators.model_file import load
from gputree.estimators.show import export_graphviz, export_text
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.export.json_text import from_json
from gputree.plots import (
    plot_boundary,
    plot_error_curve,
    plot_importance,
    plot_pruning,
    plot_tree,
)
from gputree.report import write_report
from gputree.rules.classifier import RuleSetClassifier
from gputree.verify import selftest
from gputree.warm import warmup

__version__ = "0.1.0"

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BackendUnavailable",
    "BaggingClassifier",
    "BaggingRegressor",
    "C45Classifier",
    "CARTClassifier",
    "CARTRegressor",
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "ID3Classifier",
    "ModelFileError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RuleSetClassifier",
    "export_graphviz",
    "export_text",
    "from_json",
    "load",
    "plot_boundary",
    "plot_error_curve",
    "plot_importance",
    "plot_pruning",
    "plot_tree",
    "selftest",
    "warmup",
    "write_report",
]
