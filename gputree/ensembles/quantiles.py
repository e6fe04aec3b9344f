"""The training targets in the leaves of a forest (Meinshausen: Quantile regression forests)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gputree.data.target import weights_of
from gputree.dtypes import HostArray
from gputree.ensembles.draws import content_order
from gputree.ensembles.members import Member, walk
from gputree.errors import ModelFileError
from gputree.runs import begins, owners, spread_out

if TYPE_CHECKING:
    from gputree.ensembles.base import Run

PAIRS_AT_ONCE = 2**22  # of a row and a training row that share a leaf
SLACK = 1e-12  # shares that should add up to q are not held up by rounding


@dataclass(frozen=True, eq=False)
class LeafTargets:
    """Where the training rows ended, sorted by their targets."""

    target: HostArray  # (rows,) sorted
    weight: HostArray  # (rows,)
    leaf: HostArray  # (trees, rows)

    @classmethod
    def of(cls, run: "Run") -> "LeafTargets":
        """Those of a fit."""
        growing = run.growing
        answers = growing.answers
        if answers.shape[1] > 1:
            raise ValueError(
                f"keep_targets=True: y has {answers.shape[1]} outputs, but quantiles need a single "
                "one; fit one forest per output"
            )
        order = content_order(growing).row  # equal models have equal bytes
        order = order[np.argsort(answers[order, 0], kind="stable")]
        everyone = list(run.everyone)
        leaves = [
            [walked.leaf().astype(np.int32) for walked in walk(run.stem, everyone, part)]
            for part in growing.dataset.parts()
        ]
        leaf = np.stack([np.concatenate(nodes)[order] for nodes in zip(*leaves, strict=True)])
        return cls(answers[order, 0], weights_of(growing.target)[order], leaf)

    def quantiles(self, leaf: HostArray, q: Any) -> HostArray:
        """The quantiles of rows whose leaves are given, (rows, trees)."""
        wanted = np.asarray(q, np.float64)
        if wanted.ndim > 1 or not ((wanted >= 0) & (wanted <= 1)).all():
            raise ValueError(f"q={q!r}: a share between 0 and 1, or a list of them, is needed")
        groups = [
            _Groups(own, self.weight, int(rows.max(initial=0)) + 1)
            for own, rows in zip(self.leaf, leaf.T, strict=True)
        ]
        result = np.empty((len(leaf), wanted.size))
        n_pairs = np.sum([each.n[own] for each, own in zip(groups, leaf.T, strict=True)], axis=0)
        for some in _blocks(n_pairs):
            result[some] = self._of_rows(groups, leaf[some], wanted.ravel())
        return result if wanted.ndim else result[:, 0]

    def _of_rows(
        self, groups: Sequence["_Groups"], leaf: HostArray, wanted: HostArray
    ) -> HostArray:
        row, rank, share = (
            np.concatenate(part)
            for part in zip(
                *(each.pairs(own) for each, own in zip(groups, leaf.T, strict=True)), strict=True
            )
        )
        # Targets are sorted, so ranks are in their order; stable, so sums are in that of trees.
        order = np.lexsort((rank, row))
        row, rank, share = row[order], rank[order], share[order]
        n = np.bincount(row, minlength=len(leaf))
        first = begins(n)
        reached = np.cumsum(share)
        some = np.flatnonzero(n)  # others ended in leaves for categories that no row had
        first, n = first[some], n[some]
        before = np.zeros(len(leaf))
        before[some] = np.where(first > 0, reached[first - 1], 0.0)
        whole = reached[first + n - 1] - before[some]
        result = np.full((len(leaf), len(wanted)), np.nan)
        for at, each in enumerate(wanted.tolist()):
            least = np.zeros(len(leaf))
            least[some] = each * whole * (1.0 - SLACK)
            is_short = reached - before[row] < least[row]
            n_short = np.minimum(np.bincount(row[is_short], minlength=len(leaf))[some], n - 1)
            result[some, at] = self.target[rank[first + n_short]]
        return result

    def arrays(self) -> dict[str, HostArray]:
        """For a file."""
        return {
            "target_value": self.target,
            "target_weight": self.weight,
            "target_leaf": self.leaf,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, HostArray], members: Sequence[Member]) -> "LeafTargets":
        """From a file; refuses what a fit cannot have made."""
        target, weight, leaf = (
            arrays[name] for name in ("target_value", "target_weight", "target_leaf")
        )
        dtypes = target.dtype.name, weight.dtype.name, leaf.dtype.name
        if dtypes != ("float64", "float64", "int32") or target.ndim != 1:
            raise ModelFileError("the targets of the leaves are not numbers")
        if weight.shape != target.shape or leaf.shape != (len(members), len(target)):
            raise ModelFileError("the targets of the leaves are described incompletely")
        if not np.isfinite(target).all() or (np.diff(target) < 0).any():
            raise ModelFileError("the targets of the leaves are not sorted")
        if not (np.isfinite(weight) & (weight > 0)).all():
            raise ModelFileError("a target of a leaf has no weight")
        for member, own in zip(members, leaf, strict=True):
            tree = member.tree
            if ((own < 0) | (own >= tree.n_nodes)).any() or not tree.is_leaf[own].all():
                raise ModelFileError("a target belongs to a leaf that its tree does not have")
            n_of = np.bincount(own, minlength=tree.n_nodes)
            if (n_of[tree.is_leaf & (tree.n_rows > 0)] == 0).any():
                raise ModelFileError("a leaf has no targets")
        return cls(target, weight, leaf)


class _Groups:
    """The training rows of each leaf of one tree."""

    def __init__(self, leaf: HostArray, weight: HostArray, n_leaves: int) -> None:
        self.n = np.bincount(leaf, minlength=n_leaves)
        self._begin = begins(self.n)
        self._place = np.argsort(leaf, kind="stable")
        share = weight / np.bincount(leaf, weight)[leaf]
        self._share = share[self._place]

    def pairs(self, leaf: HostArray) -> tuple[HostArray, HostArray, HostArray]:
        """Row, rank of a training row in the same leaf and its share there."""
        n = self.n[leaf]
        at = spread_out(self._begin[leaf], n)
        return owners(n), self._place[at], self._share[at]


def _blocks(n_pairs: HostArray) -> list[slice]:
    """Rows that are looked at together."""
    block = (np.cumsum(n_pairs) - n_pairs) // PAIRS_AT_ONCE
    bound = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(block)]
    return [slice(a, b) for a, b in pairwise(bound) if b > a]
