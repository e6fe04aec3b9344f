"""What a file says of an ensemble: its trees one after another, and what it knows besides."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gputree.data.schema import Schema
from gputree.dtypes import HostArray
from gputree.ensembles.members import Member, Members
from gputree.errors import ModelFileError
from gputree.estimators import model_file
from gputree.estimators.base import TreeEstimator
from gputree.tree import joined
from gputree.tree.store import ArrayOrParts

if TYPE_CHECKING:
    from gputree.ensembles.base import Ensemble


def arrays_of(ensemble: "Ensemble") -> dict[str, ArrayOrParts]:
    """The arrays of a model; those of its trees in parts."""
    trees = [_arrays_of(member) for member in ensemble._members]
    return {**joined.in_parts(trees), **ensemble._extras()}


def _arrays_of(member: Member) -> dict[str, HostArray]:
    arrays = joined.arrays_of(member.tree)
    if member.columns is not None:
        arrays["columns"] = member.columns.astype(joined.COLUMNS)
    return arrays


def restore(ensemble: "Ensemble", header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Make a new ensemble the model of a file."""
    model_file.set_params(ensemble, header["params"])
    stem = ensemble._new_stem()
    schema = model_file.read_schema(header)
    stem.schema_, stem.n_features_in_ = schema, schema.n_features
    if header["named"] is True:
        stem.feature_names_in_ = np.array(schema.names, dtype=object)
    members = _members(arrays, schema)
    if members[0].columns is not None and not ensemble.HAS_COLUMNS:
        raise ModelFileError("the trees have columns of their own, and trees of their kind do not")
    if any((each.tree.directions is not None) != stem.combines_columns for each in members):
        raise ModelFileError("the trees are not of the kind that the file tells")
    _fit_stem(stem, header, members)
    ensemble._take_from(stem)
    ensemble._restore_target(header)
    ensemble._stem, ensemble._members = stem, Members(members)
    own = {*joined.in_parts([_arrays_of(members[0])])}
    others = {name: array for name, array in arrays.items() if name not in own}
    names = set(others)
    ensemble._restore_extras(others)
    if set(ensemble._extras()) != names:
        raise ModelFileError("the file holds unknown arrays")


def _members(arrays: dict[str, Any], schema: Schema) -> list[Member]:
    members, of_all = [], model_file.n_categories(schema)
    for parts in joined.split(arrays):
        own, known = parts.pop("columns", None), of_all
        if own is not None:
            if ((own < 0) | (own >= schema.n_features)).any():
                raise ModelFileError("a tree has a column that the table has not")
            known = [of_all[column] for column in own.tolist()]
        members.append(Member(model_file.read_tree(parts, known), own))
    if len({member.tree.value.shape[1:] for member in members}) > 1:
        raise ModelFileError("the trees have different numbers of classes or outputs")
    return members


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
