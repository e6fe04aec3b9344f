"""Estimators by short names, with their parameters.

Knows which estimators there are; must not know tables nor files.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from gputree.cli.settings import near

CLASSIFICATION, REGRESSION = "classification", "regression"
TASKS = (CLASSIFICATION, REGRESSION)

# A classifier and a regressor of each kind.
MODELS: dict[str, tuple[str, str | None]] = {
    "tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "id3": ("ID3Classifier", None),
    "c45": ("C45Classifier", None),
    "cart": ("CARTClassifier", "CARTRegressor"),
    "oblique": ("ObliqueTreeClassifier", "ObliqueTreeRegressor"),
    "forest": ("RandomForestClassifier", "RandomForestRegressor"),
    "extra-trees": ("ExtraTreesClassifier", "ExtraTreesRegressor"),
    "bagging": ("BaggingClassifier", "BaggingRegressor"),
    "adaboost": ("AdaBoostClassifier", "AdaBoostRegressor"),
    "boosting": ("GradientBoostingClassifier", "GradientBoostingRegressor"),
    "rules": ("RuleSetClassifier", None),
}
# The parameter that says which trees are grown, and what they are by default.
BASES: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "bagging": ("estimator", {CLASSIFICATION: {}, REGRESSION: {}}),
    "adaboost": ("estimator", {CLASSIFICATION: {"max_depth": 1}, REGRESSION: {"max_depth": 3}}),
    "rules": ("tree", {CLASSIFICATION: {"pruning": None}}),
}
BASE_OF = {"bagging": "tree", "adaboost": "tree", "rules": "c45"}
# Models that no page of HTML can show, with the reason.
PAGELESS = {
    "oblique": "a page shows tests of single columns, and oblique trees combine them",
    "rules": "a page shows trees, and rules are none",
}
READABLE_DEPTH = 5  # of a single tree where nothing else is asked for, so that it can be read
ELSEWHERE = {
    "categorical_features": "--category, --number and --ordered say which columns hold categories",
    "random_state": "--seed sets it",
    "warm_start": "each command starts a new fit",
    "verbose": "a terminal shows progress without it",
}


@dataclass(frozen=True)
class Wanted:
    """The estimator that a user asks for."""

    name: str
    given: dict[str, Any]  # by options of their own; left out where it is not there
    settings: dict[str, Any]  # by --set

    @property
    def is_depth_default(self) -> bool:
        """Whether the depth is limited though nobody has asked for it."""
        return self.name == "tree" and "max_depth" not in {*self.given, *self.settings}

    def make(self, task: str) -> Any:
        """The estimator, not fitted; refuses parameters that it does not have."""
        estimator = _new(self.name, task)
        known = list(estimator.get_params(deep=False))
        base = _base(self.name, task, self.settings)
        if self.name == "tree":
            estimator.set_params(max_depth=READABLE_DEPTH)
        own, of_base = _sorted_out(self, known, base)
        estimator.set_params(**own)
        if base is not None and (of_base or BASES[self.name][0] in self.settings):
            base.set_params(**of_base)
            estimator.set_params(**{BASES[self.name][0]: base})
        return estimator


def _new(name: str, task: str) -> Any:
    import gputree

    kind = MODELS[name][task == REGRESSION]
    if kind is None:
        numbers = ", ".join(each for each, kinds in MODELS.items() if kinds[1])
        raise ValueError(
            f"--model {name} is a classifier only; for regression choose from {numbers}"
        )
    return getattr(gputree, kind)()


def _base(name: str, task: str, settings: dict[str, Any]) -> Any:
    """The estimator inside another one; None where there is none."""
    if name not in BASES:
        return None
    parameter, defaults = BASES[name]
    asked = settings.get(parameter)
    if asked is None:
        return _new(BASE_OF[name], task).set_params(**defaults[task])
    single = ("tree", "id3", "c45", "cart")
    if asked not in single:
        raise ValueError(f"--set {parameter}={asked}: the name of a tree is needed{_near(asked)}")
    return _new(asked, task)


def _near(asked: Any) -> str:
    return near(str(asked), ["tree", "id3", "c45", "cart"])


def _sorted_out(
    wanted: Wanted, known: list[str], base: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the estimator, and those of the one inside it."""
    inner = [] if base is None else list(base.get_params(deep=False))
    parameter = BASES[wanted.name][0] if base is not None else None
    own: dict[str, Any] = {}
    of_base: dict[str, Any] = {}
    for name, value in wanted.given.items():
        if name in known:
            own[name] = value
        elif name in inner:
            of_base[name] = value
        elif name not in ("random_state", "device", "backend", "n_jobs"):  # for whoever has them
            raise _unknown(f"--{name.replace('_', '-')}:", name, wanted.name, known)
    for name, value in wanted.settings.items():
        first, _, rest = name.partition("__")
        if name in ELSEWHERE or rest in ELSEWHERE:
            raise ValueError(f"--set {name}: {ELSEWHERE[rest or name]}; leave it out")
        if name == parameter:
            continue
        if rest and first == parameter:
            if rest not in inner:
                raise _unknown(f"--set {name}: the {parameter} of", rest, wanted.name, inner)
            of_base[rest] = _value(rest, value)
        elif name in known:
            own[name] = _value(name, value)
        else:
            raise _unknown("--set:", name, wanted.name, known)
    return own, of_base


def _unknown(where: str, name: str, model: str, known: list[str]) -> ValueError:
    settable = [each for each in known if each not in ELSEWHERE]
    hint = "" if get_close_matches(name, settable) else _having(name)
    hint = hint or near(name, settable)
    return ValueError(f"{where} --model {model} has no parameter {name!r}{hint}")


def _having(name: str) -> str:
    """The models that have a parameter, to be put behind a message; nothing where none has."""
    found = []
    for model, kinds in MODELS.items():
        task = CLASSIFICATION if kinds[0] else REGRESSION
        base = _base(model, task, {})
        if name in {
            *_new(model, task).get_params(deep=False),
            *(base.get_params() if base else ()),
        }:
            found.append(model)
    return f"; those that have it are --model {', '.join(found)}" if found else ""


def _value(name: str, value: Any) -> Any:
    """A value that a parameter can have; methods of pruning may come with options."""
    if name == "pruning" and isinstance(value, dict):
        from gputree.pruning.methods import method_of

        options = dict(value)
        return method_of(options.pop("method", None), **options)
    return value


def is_ensemble(model: Any) -> bool:
    """Whether a fitted model has many trees."""
    return hasattr(model, "estimators_")


def shape_of(model: Any) -> dict[str, int]:
    """How large a model is."""
    if is_ensemble(model):
        trees = [each.nodes_ for each in model.estimators_]
        return {
            "trees": len(trees),
            "depth": max(int(tree.depth.max()) for tree in trees),
            "leaves": sum(tree.n_leaves for tree in trees),
        }
    if hasattr(model, "rules_"):
        return {"rules": len(list(model.rules_))}
    found = {"depth": model.get_depth(), "leaves": model.get_n_leaves()}
    if model.combines_columns:
        found["combinations"] = len(model.nodes_.directions)
    return found


def shape_text(model: Any) -> str:
    """The same in words."""
    return ", ".join(f"{name} {n:,}" for name, n in shape_of(model).items())


def schema_of(model: Any) -> Any:
    """What a model remembers of its columns."""
    return model.estimator_.schema_ if hasattr(model, "rules_") else model.schema_


def task_of(model: Any) -> str:
    """What a fitted model predicts."""
    return CLASSIFICATION if hasattr(model, "classes_") else REGRESSION
