"""What a file says of fitted rules: the tree they come from, and what they are."""

from typing import TYPE_CHECKING, Any

from gputree.dtypes import HostArray
from gputree.errors import ModelFileError
from gputree.estimators import model_file
from gputree.rules.arrays import DTYPES, from_arrays, to_arrays
from gputree.tree.plain import from_plain, to_plain

if TYPE_CHECKING:
    from gputree.estimators.rule_set import RuleSetClassifier

OPTIONS = ("confidence", "selection")


def described(model: "RuleSetClassifier") -> dict[str, Any]:
    """What the rules come from."""
    return {"estimator": type(model).__name__, "tree": model.estimator_._described()}


def settings(model: "RuleSetClassifier") -> dict[str, Any]:
    """The parameters of the model, of the tree it was given and of the one it has grown."""
    tree = model.estimator_
    return {
        "given": None if model.tree is None else model_file.told(model.tree),
        "params": to_plain({name: getattr(model, name) for name in OPTIONS}),
        "tree": {**tree._described(), **tree._settings()},
    }


def arrays_of(model: "RuleSetClassifier") -> dict[str, HostArray]:
    """The arrays of the tree and of the rules."""
    return {**model.estimator_._stored_arrays(), **to_arrays(model.rules_)}


def restore(model: "RuleSetClassifier", header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Make a new model the one that a file describes."""
    of_rules = {name: array for name, array in arrays.items() if name in DTYPES}
    of_tree = {name: array for name, array in arrays.items() if name not in DTYPES}
    tree = model_file.read_model(model_file.new_tree(header["tree"]), header["tree"], of_tree)
    if not hasattr(tree, "classes_"):
        raise ModelFileError("the rules come from a regression, which has no classes")
    options = from_plain(header["params"])
    if set(options) != set(OPTIONS):
        raise ModelFileError("the file holds unknown parameters; a newer gputree may read it")
    given = header["given"]
    model.set_params(tree=None if given is None else model_file.unfitted(given), **options)
    model._keep(tree, from_arrays(of_rules, tree.schema_, tree.classes_))
