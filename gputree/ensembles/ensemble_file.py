"""Ensembles as bytes and files, and back.

The trees lie one after another in every array; `tree_nodes` and `tree_categories` tell how long
each one's part is (`tree_levels` in the first form of files).
"""

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from gputree.data.schema import Schema
from gputree.dtypes import HostArray
from gputree.ensembles.members import Member, Members
from gputree.errors import ModelFileError
from gputree.estimators import model_file
from gputree.estimators.base import TreeEstimator
from gputree.tree import forms, store
from gputree.tree.tree import Tree

if TYPE_CHECKING:
    from gputree.ensembles.base import Ensemble

COLUMNS = ("columns", "tree_columns")


def model_bytes(ensemble: "Ensemble") -> bytes:
    """The canonical bytes of a model."""
    return store.pack(_describe(ensemble), _arrays(ensemble))


def save(ensemble: "Ensemble", path: str | os.PathLike[str]) -> None:
    """Write a model with its parameters."""
    store.write(path, store.pack(*parts(ensemble)))


def parts(ensemble: "Ensemble") -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a model with its parameters."""
    header = {**_describe(ensemble), "params": model_file.params_to_plain(ensemble)}
    return header, _arrays(ensemble)


def restore(ensemble: "Ensemble", header: dict[str, Any], arrays: dict[str, Any]) -> "Ensemble":
    """The model of a file; the ensemble is a new one of its kind."""
    model_file.set_params(ensemble, header["params"])
    stem = ensemble._new_stem()
    schema = model_file.read_schema(header)
    stem.schema_, stem.n_features_in_ = schema, schema.n_features
    if header["named"] is True:
        stem.feature_names_in_ = np.array(schema.names, dtype=object)
    members = _members(arrays, schema)
    if members[0].columns is not None and not ensemble.HAS_COLUMNS:
        raise ModelFileError("the trees have columns of their own, and trees of their kind do not")
    _fit_stem(stem, header, members)
    ensemble._take_from(stem)
    ensemble._restore_target(header)
    ensemble._stem, ensemble._members = stem, Members(members)
    own = _own_names(arrays, members)
    others = {name: array for name, array in arrays.items() if name not in own}
    names = set(others)
    ensemble._restore_extras(others)
    model_file.check_form({**_describe(ensemble), "params": header["params"]}, header)
    if set(ensemble._extras()) != names:
        raise ModelFileError("the file holds unknown arrays")
    return ensemble


def _describe(ensemble: "Ensemble") -> dict[str, Any]:
    described = model_file.describe(ensemble)
    return {**described, "n_trees": len(ensemble._members)}


def _arrays(ensemble: "Ensemble") -> dict[str, Any]:
    members = ensemble._members
    trees = [member.tree for member in members]
    arrays = forms.stored(
        {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in Tree.DTYPES}
    )
    arrays["tree_nodes"] = np.array([tree.n_nodes for tree in trees], np.int64)
    lengths = forms.lengths_in(arrays)
    arrays[lengths] = np.array([len(tree.category) for tree in trees], np.int64)
    own = [member.columns for member in members if member.columns is not None]
    if own:
        arrays["columns"] = np.concatenate(own).astype(np.int64)
        arrays["tree_columns"] = np.array([len(columns) for columns in own], np.int64)
    return {**arrays, **ensemble._extras()}


def _own_names(arrays: dict[str, Any], members: list[Member]) -> set[str]:
    """The arrays of a file that tell of its trees."""
    columns = COLUMNS if members[0].columns is not None else ()
    return {*forms.names_in(arrays), "tree_nodes", forms.lengths_in(arrays), *columns}


def _members(arrays: dict[str, Any], schema: Schema) -> list[Member]:
    forms.check(arrays)
    nodes = _sizes(arrays, "tree_nodes", 1, "kind")
    lengths = forms.lengths_in(arrays)
    lists = _sizes(arrays, lengths, 0, forms.LENGTHS[lengths][0])
    if not len(nodes) or len(lists) != len(nodes):
        raise ModelFileError("the file does not tell how long its trees are")
    ends = _ends(arrays, nodes, lists)
    columns = _columns(arrays, len(nodes), schema)
    members, of_all = [], model_file.n_levels(schema)
    for at in range(len(nodes)):
        parts = {name: arrays[name][end[at] : end[at + 1]] for name, end in ends.items()}
        own = None if columns is None else columns[at]
        known = of_all if own is None else [of_all[column] for column in own.tolist()]
        members.append(Member(model_file.read_tree(parts, known), own))
    if len({member.tree.value.shape[1:] for member in members}) > 1:
        raise ModelFileError("the trees have different numbers of classes or outputs")
    return members


def _ends(arrays: dict[str, Any], nodes: HostArray, lists: HostArray) -> dict[str, HostArray]:
    """Where each tree's part of each array begins, and at last where the array ends."""
    names = forms.names_in(arrays)
    if not set(names) <= set(arrays):
        raise ModelFileError("the file does not hold the arrays of trees")
    by_node = np.append(0, np.cumsum(nodes))
    own = arrays["n_surrogates"]
    if own.ndim != 1 or len(own) != by_node[-1] or (own < 0).any():
        raise ModelFileError("the trees do not tell how many surrogates they have")
    by_surrogate = np.append(0, np.cumsum(own, dtype=np.int64))[by_node]
    ends = forms.ends(names, by_node, by_surrogate, np.append(0, np.cumsum(lists)))
    for name, end in ends.items():
        if not arrays[name].ndim or len(arrays[name]) != end[-1]:
            raise ModelFileError(f"array {name!r} is not as long as the trees say")
    return ends


def _sizes(arrays: dict[str, Any], name: str, low: int, whole: str) -> HostArray:
    """Lengths of parts of an array, none of which is longer than the whole."""
    sizes, high = arrays[name], arrays[whole].size
    if sizes.dtype != np.int64 or sizes.ndim != 1 or ((sizes < low) | (sizes > high)).any():
        raise ModelFileError(f"array {name!r} does not hold lengths")
    return sizes


def _columns(arrays: dict[str, Any], n_trees: int, schema: Schema) -> list[HostArray] | None:
    if "columns" not in arrays:
        return None
    sizes, columns = _sizes(arrays, "tree_columns", 1, "columns"), arrays["columns"]
    is_right = len(sizes) == n_trees and columns.shape == (int(sizes.sum()),)
    if not is_right or columns.dtype != np.int64:
        raise ModelFileError("the columns of the trees are described incompletely")
    if ((columns < 0) | (columns >= schema.n_features)).any():
        raise ModelFileError("a tree has a column that the table has not")
    return np.split(columns, np.cumsum(sizes)[:-1])


def _fit_stem(stem: TreeEstimator, header: dict[str, Any], members: list[Member]) -> None:
    """What the trees know of their target and of missing values."""
    is_classifier = hasattr(stem, "predict_proba")
    for member in members:
        stem.missing_ = model_file.read_missing(header, member.tree, is_classifier)
        if is_classifier:
            stem.classes_ = model_file.read_classes(header, member.tree)
            stem.n_classes_ = len(stem.classes_)
        else:
            stem.n_outputs_ = model_file.read_outputs(member.tree)
    stem.pruning_report_ = None
