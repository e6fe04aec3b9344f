"""Models from files: one reader of all kinds, and what they have in common in a file."""

import math
import numbers
import os
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from gputree.data.schema import Schema, read_origins
from gputree.data.table import Kind
from gputree.dtypes import MAX_BINS, STAY, HostArray
from gputree.errors import ModelFileError
from gputree.estimators import upgrade
from gputree.estimators.parameters import WAYS, TreeSeed
from gputree.kernels.criteria import Criterion
from gputree.pruning import methods
from gputree.tree import joined, store
from gputree.tree.check import LARGEST, check_counts, check_tree
from gputree.tree.directions import Directions
from gputree.tree.plain import from_plain, to_plain
from gputree.tree.tree import Tree

# What the labels of one model can be.
LABELS: tuple[Any, ...] = (str, bytes, numbers.Real | np.bool_)

if TYPE_CHECKING:
    from gputree.estimators.base import TreeEstimator


def told(estimator: Any) -> dict[str, Any]:
    """The kind of an estimator and its parameters, fitted or not."""
    return {"estimator": type(estimator).__name__, "params": params_to_plain(estimator)}


def params_to_plain(estimator: Any) -> Any:
    """The parameters that are part of a model, as JSON holds them."""
    params = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name not in estimator.WHERE
    }
    if not isinstance(params.get("random_state", 0), (int, np.integer)):
        params["random_state"] = None  # a generator is not data
    if isinstance(params.get("random_state"), TreeSeed):
        params["random_state"] = 0  # a seed of an ensemble, to which the tree belongs no more
    if "pruning" in params:
        params["pruning"] = methods.to_data(params["pruning"])
    if callable(params.get("oob_score")):
        params["oob_score"] = True  # nor is a function
    if callable(params.get("loss")):
        params["loss"] = "function"  # a loaded model predicts, and wants a new one to be fitted
    if isinstance(params.get("criterion"), Criterion):
        params["criterion"] = params["criterion"].name
    if callable(params.get("scoring")):
        params["scoring"] = "function"
    base = params.get("estimator")
    if base is not None:
        params["estimator"] = {"kind": type(base).__name__, "params": params_to_plain(base)}
    return to_plain(params)


def set_params(estimator: Any, plain: Any) -> None:
    """Give a new estimator the parameters of a file."""
    params = from_plain(plain)
    if not set(params) <= set(estimator.get_params(deep=False)) - set(estimator.WHERE):
        raise ModelFileError("the file holds unknown parameters; a newer gputree may read it")
    if "pruning" in params:
        params["pruning"] = methods.from_data(params["pruning"])
    if params.get("estimator") is not None:
        base = _new(params["estimator"]["kind"])
        set_params(base, params["estimator"]["params"])
        params["estimator"] = base
    estimator.set_params(**params)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    The file is data only: nothing in it is executed, and a truncated, altered or foreign file is
    refused with a `ModelFileError`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        Fitted, with the parameters it was fitted with; `device` and `backend` are at their
        defaults.

    Examples
    --------
    >>> import os, tempfile, gputree
    >>> tree = gputree.DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.gputree")
    >>> tree.save(path)
    >>> gputree.load(path).predict([[1]])
    array(['yes'], dtype='<U3')
    """
    with open(os.fsdecode(path), "rb") as file:
        source = repr(os.fspath(path))
        if file.seekable():
            return from_file(file, source)
        return from_bytes(file.read(), source)  # a pipe cannot be read twice


def from_bytes(data: bytes, source: str) -> Any:
    """The model of a file's content; `source` says where it comes from."""
    return from_file(BytesIO(data), source)


def from_file(file: BinaryIO, source: str) -> Any:
    """The model of an open file at its beginning."""
    header, arrays = store.read(file)
    file.seek(0)
    version = store.version_of(file.read(store.PREFIX.size))
    return restored(version, header, arrays, source)


def restored(version: int, header: dict[str, Any], arrays: dict[str, Any], source: str) -> Any:
    """The model of a header and arrays, which a file of some version has."""
    try:
        header, arrays = upgrade.newest(version, header, arrays)
        return read_model(_new(header["estimator"], may_be_rules=True), header, arrays)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{source} does not describe a gputree model") from error


def describe(estimator: Any) -> dict[str, Any]:
    """What a model is, apart from its trees and parameters."""
    schema = estimator.schema_
    described = {
        "estimator": type(estimator).__name__,
        "named": hasattr(estimator, "feature_names_in_"),
        "names": list(schema.names),
        "kinds": [int(kind) for kind in schema.kinds],
        "levels": [to_plain(categories) for categories in schema.categories],
        "has_missing": [bool(missing) for missing in schema.has_missing],
        # Predictions depend on what becomes of values that the tree cannot test.
        "unknown": schema.unknown,
        "missing": estimator.missing_,
    }
    if hasattr(estimator, "classes_"):
        described["classes"] = to_plain(estimator.classes_)
    if schema.origins:
        described["origins"] = [each and each.to_plain() for each in schema.origins]
    return described


def _new(kind: Any, *, may_be_rules: bool = False) -> Any:
    """An estimator by the name of its class; rules are no parameter of other models."""
    from gputree import kinds

    known = (*kinds.TREES, *kinds.ENSEMBLES, *(kinds.RULES if may_be_rules else ()))
    for each in known:
        if each.__name__ == kind:
            return each()
    raise ModelFileError(f"the file holds an unknown kind of model: {kind!r:.40}")


def read_model(model: Any, header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """A new estimator as the model that a file describes."""
    model._restore(header, arrays)
    # A model has one form only: what would be described in another way is not a model of ours.
    again = _with_params_of(header, {**model._described(), **model._settings()})
    if store.canonical(again) != store.canonical(header):  # not by ==, to which 1 and True are one
        raise ModelFileError("the file describes its model in an unknown way")
    return model


def _with_params_of(header: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """A header with the parameters of another: an older file has fewer, and the rest defaults."""
    return {
        name: header[name]
        if name == "params"
        else _with_params_of(header[name], each)
        if isinstance(each, dict)
        else each
        for name, each in again.items()
    }


def unfitted(header: dict[str, Any]) -> Any:
    """The estimator that `told` described."""
    estimator = _new(header["estimator"])
    set_params(estimator, header["params"])
    return estimator


def new_tree(header: dict[str, Any]) -> Any:
    """A single tree of the kind that a file tells."""
    from gputree.estimators.base import TreeEstimator

    estimator = _new(header["estimator"])
    if not isinstance(estimator, TreeEstimator):
        raise ModelFileError("the file describes something that is not a tree")
    return estimator


def restore_tree(
    estimator: "TreeEstimator", header: dict[str, Any], arrays: dict[str, Any]
) -> None:
    """Make a new estimator the fitted tree that a file describes."""
    set_params(estimator, header["params"])
    estimator.pruning_report_ = None
    is_classifier = hasattr(estimator, "predict_proba")
    schema = read_schema(header)
    tree = read_tree(arrays, n_categories(schema))
    if (tree.directions is not None) != estimator.combines_columns:
        raise ModelFileError("the tree is not of the kind that the file names")
    estimator.nodes_, estimator.schema_ = tree, schema
    estimator.missing_ = read_missing(header, tree, is_classifier)
    estimator.n_features_in_ = schema.n_features
    if header["named"] is True:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    if is_classifier:
        estimator.classes_ = read_classes(header, tree)
        estimator.n_classes_ = len(estimator.classes_)
    else:
        estimator.n_outputs_ = read_outputs(tree)


def read_tree(arrays: dict[str, Any], n_categories: Sequence[int | None]) -> Tree:
    """A tree that fits the columns, of which `n_categories` tells."""
    joined.check_types(arrays)
    own = {name: arrays[name] for name in Tree.DTYPES}
    combined = [arrays[name] for name in Directions.DTYPES if name in arrays]
    directions = Directions(len(n_categories), *combined) if combined else None
    tree = Tree(**own, directions=directions)
    # What is left out a tree makes up; a file leaves nothing out.
    if any(len(array) != len(getattr(tree, name)) for name, array in own.items()):
        raise ModelFileError("the file lacks a part of the tree")
    check_tree(tree, n_categories)
    return tree


def n_categories(schema: Schema) -> list[int | None]:
    """How many categories each column has that is split by categories."""
    return [
        len(categories or ()) if kind is Kind.NOMINAL else None
        for kind, categories in zip(schema.kinds, schema.categories, strict=True)
    ]


def read_missing(header: dict[str, Any], tree: Tree, is_classifier: bool) -> str:
    """What becomes of missing values, which the tree must fit."""
    missing = header["missing"]
    if missing not in WAYS["missing"] or (missing == "fractional" and not is_classifier):
        raise ModelFileError("the file deals with missing values in an unknown way")
    stays = (tree.missing_slot == STAY)[~tree.is_leaf]
    fits = {"fractional": stays.all(), "surrogate": True}.get(missing, not stays.any())
    if not fits or (missing != "surrogate" and tree.n_surrogates.any()):
        raise ModelFileError(f"the tree does not deal with missing values by {missing!r}")
    check_counts(tree, missing)
    return str(missing)


def read_outputs(tree: Tree) -> int:
    """How many numbers a tree answers with; those of many trees are added up."""
    if (np.abs(tree.value) > LARGEST).any():
        raise ModelFileError("a node has a value too large to be added up")
    return int(tree.value.shape[1])


def read_classes(header: dict[str, Any], tree: Tree) -> HostArray:
    """The labels of a classifier, which the values of its tree must fit."""
    classes = read_labels(header)
    if classes.shape != (tree.value.shape[1],):
        raise ModelFileError("the class labels do not fit the tree")
    with np.errstate(over="ignore"):
        total = tree.value.sum(axis=1)
    if (tree.value < 0).any() or not ((total > 0) & np.isfinite(total)).all():
        raise ModelFileError("a node has class weights that are negative or without a sum")
    return classes


def read_labels(header: dict[str, Any]) -> HostArray:
    """The labels of a classifier: numbers or texts, sorted, each once."""
    classes = from_plain(header["classes"])
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not len(classes):
        raise ModelFileError("the class labels are not a list of labels")
    labels = classes.tolist()
    if not any(all(isinstance(label, kind) for label in labels) for kind in LABELS):
        raise ModelFileError("the class labels are not all numbers or all texts")
    if not all(low < high for low, high in pairwise(labels)):
        raise ModelFileError("the class labels are not in ascending order, each once")
    if not all(isinstance(label, str | bytes) or math.isfinite(label) for label in labels):
        raise ModelFileError("a class label is not finite")
    return classes


def read_schema(header: dict[str, Any]) -> Schema:
    """The columns of a model."""
    names = header["names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelFileError("the column names are not text")
    if not names or len(set(names)) < len(names):
        raise ModelFileError("there are no columns, or a column name occurs twice")
    if not all(type(kind) is int for kind in header["kinds"]):
        raise ModelFileError("the kinds of the columns are not numbers")
    kinds = tuple(Kind(kind) for kind in header["kinds"])
    categories = tuple(from_plain(plain) for plain in header["levels"])
    has_missing = header["has_missing"]
    if not isinstance(has_missing, list) or not all(isinstance(x, bool) for x in has_missing):
        raise ModelFileError("the flags of missing values are not true or false")
    if not len(names) == len(kinds) == len(categories) == len(has_missing):
        raise ModelFileError("the columns are described incompletely")
    for kind, known in zip(kinds, categories, strict=True):
        is_numeric = kind is Kind.NUMERIC
        if (known is None) != is_numeric or (known is not None and len(known) > MAX_BINS):
            raise ModelFileError("the categories of a column do not fit its kind")
        if known is not None and (type(known) is not tuple or len(set(known)) < len(known)):
            raise ModelFileError("the categories of a column are not a list of different values")
        if known is not None and any(
            category is None or category != category for category in known
        ):
            raise ModelFileError("a category of a column is a missing value")
    if header["unknown"] not in WAYS["unknown_category"]:
        raise ModelFileError("the handling of categories that were not seen at fit is unknown")
    return Schema(
        tuple(names),
        kinds,
        categories,
        tuple(has_missing),
        header["unknown"],
        read_origins(header.get("origins"), len(names)),
    )
