"""Fitted rules as bytes and files, and back: the tree they come from, and what they are."""

import os
from typing import TYPE_CHECKING, Any

from gputree.errors import ModelFileError
from gputree.estimators import model_file
from gputree.rules.arrays import DTYPES, from_arrays, to_arrays
from gputree.tree import store
from gputree.tree.plain import from_plain, to_plain

if TYPE_CHECKING:
    from gputree.rules.classifier import RuleSetClassifier

NAME = "RuleSetClassifier"
OPTIONS = ("confidence", "selection")


def rules_bytes(model: "RuleSetClassifier") -> bytes:
    """The canonical bytes of rules and their tree."""
    header = {"estimator": NAME, "tree": model_file.describe(model.estimator_)}
    return store.pack(header, _arrays(model))


def save(model: "RuleSetClassifier", path: str | os.PathLike[str]) -> None:
    """Write rules with the parameters of the model and of its tree."""
    store.write(path, store.pack(_header(model), _arrays(model)))


def restored(header: dict[str, Any], arrays: dict[str, Any]) -> "RuleSetClassifier":
    """The model that a file describes."""
    from gputree.rules.classifier import RuleSetClassifier

    of_rules = {name: array for name, array in arrays.items() if name in DTYPES}
    of_tree = {name: array for name, array in arrays.items() if name not in DTYPES}
    tree = model_file.restored_tree(header["tree"], of_tree)
    if not hasattr(tree, "classes_"):
        raise ModelFileError("the rules come from a regression, which has no classes")
    options = from_plain(header["params"])
    if set(options) != set(OPTIONS):
        raise ModelFileError("the file holds unknown parameters; a newer gputree may read it")
    given = header["given"]
    model = RuleSetClassifier(None if given is None else model_file.unfitted(given), **options)
    model._keep(tree, from_arrays(of_rules, tree.schema_, tree.classes_))
    model_file.check_form(_header(model), header)
    return model


def _header(model: "RuleSetClassifier") -> dict[str, Any]:
    return {
        "estimator": NAME,
        "given": None if model.tree is None else model_file.told(model.tree),
        "params": to_plain({name: getattr(model, name) for name in OPTIONS}),
        "tree": {
            **model_file.describe(model.estimator_),
            **model_file.told(model.estimator_),
        },
    }


def _arrays(model: "RuleSetClassifier") -> dict[str, Any]:
    return {**model_file.arrays_of(model.estimator_), **to_arrays(model.rules_)}
