"""Pruning the trees of an ensemble, each by rows that it has or has not seen."""

from gputree.data.target import Target, weights_of
from gputree.ensembles.members import Member
from gputree.estimators.base import TreeEstimator
from gputree.estimators.growing import Growing
from gputree.pruning.methods import method_of
from gputree.pruning.task import Method, Task


def method_for(stem: TreeEstimator, remedy: str | None) -> Method | None:
    """How each tree is pruned; with a remedy, it has seen all rows."""
    if stem.validation_fraction is not None:
        raise ValueError(
            "validation_fraction: the trees of an ensemble are pruned by the rows they have not "
            "seen; leave it out"
        )
    judged = stem.pruning is not None and method_of(stem.pruning).needs_now() in (
        "validation",
        "folds",
    )
    if judged and remedy is not None:
        raise ValueError(
            f"pruning={stem.pruning!r} prunes by rows that a tree has not seen, but here every "
            "tree sees "
            f"all; {remedy}, or prune by 'pessimistic', 'minimum_error', 'critical_value' or "
            "ccp_alpha"
        )
    return stem._method(judged)


def pruned(
    member: Member, method: Method, stem: TreeEstimator, growing: Growing, target: Target
) -> Member:
    """A smaller tree, judged by the rows it was grown on or by the others."""
    if member.columns is not None:
        growing = growing.on(growing.dataset.take(member.columns))
    weight = weights_of(target)
    is_out = growing.counts & (weight == 0)
    training = stem._rows_of(growing, weight > 0, stem.missing, weight)
    others = stem._rows_of(growing, is_out, stem.missing, growing.weight) if is_out.any() else None
    task = Task(member.tree, target.label is not None, validation=others, training=training)
    found = method.prune(task)
    return Member(found.tree, member.columns, found.report)
