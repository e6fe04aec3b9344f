"""Decision trees with histogram kernels: the same model, byte for byte, on every backend.

A name is imported when it is first asked for, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gputree.boosting.gradient import GradientBoostingClassifier
    from gputree.boosting.gradient_regressor import GradientBoostingRegressor
    from gputree.diagnostics.verify import selftest
    from gputree.diagnostics.warm import warmup
    from gputree.ensembles.adaboost import AdaBoostClassifier, AdaBoostRegressor
    from gputree.ensembles.bagging import BaggingClassifier, BaggingRegressor
    from gputree.ensembles.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from gputree.ensembles.forests import RandomForestClassifier, RandomForestRegressor
    from gputree.errors import BackendUnavailable, ClusterError, ModelFileError
    from gputree.estimators.classic import (
        C45Classifier,
        CARTClassifier,
        CARTRegressor,
        ID3Classifier,
    )
    from gputree.estimators.criterion import make_criterion
    from gputree.estimators.model_file import load
    from gputree.estimators.oblique import ObliqueTreeClassifier, ObliqueTreeRegressor
    from gputree.estimators.rule_set import RuleSetClassifier
    from gputree.estimators.show import export_graphviz, export_text
    from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
    from gputree.export.json_text import from_json
    from gputree.fit.dataset import Dataset
    from gputree.plots import (
        plot_boundary,
        plot_error_curve,
        plot_importance,
        plot_pruning,
        plot_tree,
    )
    from gputree.report import write_report

__version__ = "0.1.0"

# Where each public name is.
_PLACES = {
    "AdaBoostClassifier": "gputree.ensembles.adaboost",
    "AdaBoostRegressor": "gputree.ensembles.adaboost",
    "BackendUnavailable": "gputree.errors",
    "BaggingClassifier": "gputree.ensembles.bagging",
    "BaggingRegressor": "gputree.ensembles.bagging",
    "C45Classifier": "gputree.estimators.classic",
    "CARTClassifier": "gputree.estimators.classic",
    "CARTRegressor": "gputree.estimators.classic",
    "ClusterError": "gputree.errors",
    "Dataset": "gputree.fit.dataset",
    "DecisionTreeClassifier": "gputree.estimators.trees",
    "DecisionTreeRegressor": "gputree.estimators.trees",
    "ExtraTreesClassifier": "gputree.ensembles.extra_trees",
    "ExtraTreesRegressor": "gputree.ensembles.extra_trees",
    "GradientBoostingClassifier": "gputree.boosting.gradient",
    "GradientBoostingRegressor": "gputree.boosting.gradient_regressor",
    "ID3Classifier": "gputree.estimators.classic",
    "ModelFileError": "gputree.errors",
    "ObliqueTreeClassifier": "gputree.estimators.oblique",
    "ObliqueTreeRegressor": "gputree.estimators.oblique",
    "RandomForestClassifier": "gputree.ensembles.forests",
    "RandomForestRegressor": "gputree.ensembles.forests",
    "RuleSetClassifier": "gputree.estimators.rule_set",
    "export_graphviz": "gputree.estimators.show",
    "export_text": "gputree.estimators.show",
    "from_json": "gputree.export.json_text",
    "load": "gputree.estimators.model_file",
    "make_criterion": "gputree.estimators.criterion",
    "plot_boundary": "gputree.plots",
    "plot_error_curve": "gputree.plots",
    "plot_importance": "gputree.plots",
    "plot_pruning": "gputree.plots",
    "plot_tree": "gputree.plots",
    "selftest": "gputree.diagnostics.verify",
    "warmup": "gputree.diagnostics.warm",
    "write_report": "gputree.report",
}

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BackendUnavailable",
    "BaggingClassifier",
    "BaggingRegressor",
    "C45Classifier",
    "CARTClassifier",
    "CARTRegressor",
    "ClusterError",
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "ID3Classifier",
    "ModelFileError",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RuleSetClassifier",
    "export_graphviz",
    "export_text",
    "from_json",
    "load",
    "make_criterion",
    "plot_boundary",
    "plot_error_curve",
    "plot_importance",
    "plot_pruning",
    "plot_tree",
    "selftest",
    "warmup",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """A public name, or a room of the library such as `gputree.pruning`."""
    if name in _PLACES:
        value = getattr(import_module(_PLACES[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        try:
            return import_module(f"gputree.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"gputree.{name}":
                raise
    raise AttributeError(f"module 'gputree' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
