"""Grow one tree, or several in one frontier.

Knows trees and the contract; must not know devices, arrays on devices, or formulas.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from gputree import sampling
from gputree.backends.contract import Backend, Data, Hist, Parts, Rows, Siblings
from gputree.data.bins import Bins
from gputree.data.target import Channels, Target, has_weight
from gputree.dtypes import OUTSIDE, SLOT, HostArray
from gputree.formulas import HOST
from gputree.growth.constraints import NodeConstraints, constraints_for
from gputree.growth.draft import Draft, TreeLayout
from gputree.growth.fractions import Fractions, has_missing
from gputree.growth.queue import (
    Batch,
    BestFirst,
    FirstInFirstOut,
    LastInFirstOut,
    Queue,
    n_within,
)
from gputree.growth.rules import Rules
from gputree.growth.seek import Seeker
from gputree.growth.unknown import BySurrogates, Learned, Unknown
from gputree.nodes import tallied_children

# Most trees test one column per node.
if TYPE_CHECKING:
    from gputree.growth.oblique import Chosen, Oblique


@dataclass(frozen=True)
class Grown:
    """A tree that has stopped growing."""

    draft: Draft
    layout: TreeLayout  # of the first tree, where several have grown together
    rows: Rows  # each at its last node
    peak_bytes: int  # the most that sums of nodes took at once
    # Constraints, and what values they leave to each node.
    constraints: NodeConstraints | None = None
    # (rows,) the last node of each, where rows are of many trees of numbers and the host measures.
    leaf: HostArray | None = None
    is_split: HostArray | None = None  # (nodes of the draft,) of all trees that have grown together
    directions: "Chosen | None" = None  # combinations of columns, by the nodes that test them


@dataclass(frozen=True)
class Start:
    """Rows at the root of a tree."""

    rows: Rows
    channels: Channels
    totals: HostArray  # (channels,), or (roots, channels)
    n_rows: int = 0  # where the channels do not tell
    keys: HostArray | None = None  # (roots,) what draws follow from; None: the seed of the rules

    @classmethod
    def of(cls, backend: Backend, data: Data, bins: Bins, target: Target) -> Self:
        """All rows of a target that have a weight, at one root."""
        return cls(backend.begin(data, bins, target), target.channels, target.totals)


def grow(
    backend: Backend,
    data: Data,
    bins: Bins,
    target: Target,
    rules: Rules,
    budget: int,
    start: Start | None = None,
) -> Grown:
    """Grow one tree; `budget` bounds the bytes of histograms and never changes the tree.

    `start` is `Start.of` the same table and target, where a caller has it already.
    """
    start = start or Start.of(backend, data, bins, target)
    fractions = None
    if rules.missing == "fractional" and has_missing(bins):
        fractions = Fractions(backend, data, bins, target, start.rows)
    return grow_from(backend, start, bins, rules, budget, _unknown(rules, target), fractions)


def grow_from(
    backend: Backend,
    start: Start,
    bins: Bins,
    rules: Rules,
    budget: int,
    unknown: Unknown | None = None,
    fractions: Fractions | None = None,
    oblique: "Oblique | None" = None,
) -> Grown:
    """Grow one tree from rows at its root, or several from theirs.

    Nodes may test combinations of columns where something `oblique` looks for them.
    """
    growth = _Growth(backend, start, bins, rules, budget, unknown or Learned(), fractions)
    growth.oblique = oblique
    growth.go_on()
    is_split = growth.queue.split_nodes(growth.draft.n_nodes)
    return Grown(
        growth.draft,
        growth.draft.layout(is_split),
        growth.rows,
        growth.peak_bytes,
        growth.constraints,
        is_split=is_split,
        directions=None if oblique is None else oblique.chosen,
    )


def together(
    backend: Backend, data: Data, bins: Bins, targets: Sequence[Target], seeds: Sequence[int]
) -> Start:
    """The rows of several targets, each at a root of its own.

    The codes of the rows that take part lie side by side, tree after tree. All targets have the
    same channels.
    """
    rows = backend.begin_together(data, bins, targets)
    totals = np.stack([target.totals for target in targets])
    keys = np.concatenate([sampling.root_key(seed) for seed in seeds])
    return Start(rows, targets[0].channels, totals, keys=keys)


def parted(backend: Backend, grown: Grown, targets: Sequence[Target]) -> list[Grown]:
    """The tree of each target, of those that have grown together.

    Where rows end is told of numbers only, and only where the host measures how far they are from
    their means: of classes, the sums of nodes tell all.
    """
    assert grown.is_split is not None
    layouts = (grown.draft.layout(grown.is_split, root) for root in range(len(targets)))
    if grown.draft.channels.is_classes or backend.measures_there:
        return [replace(grown, layout=layout) for layout in layouts]
    row = [np.flatnonzero(has_weight(target)) for target in targets]
    leaves = np.split(backend.leaves(grown.rows), np.cumsum([len(each) for each in row])[:-1])
    found = []
    for layout, target, own, ends in zip(layouts, targets, row, leaves, strict=True):
        leaf = np.full(target.n_rows, OUTSIDE, ends.dtype)
        leaf[own] = ends
        found.append(replace(grown, layout=layout, leaf=leaf))
    return found


class _Growth:
    """The state of one growing tree."""

    def __init__(
        self,
        backend: Backend,
        start: Start,
        bins: Bins,
        rules: Rules,
        budget: int,
        unknown: Unknown,
        fractions: Fractions | None = None,
    ) -> None:
        self.backend, self.rules = backend, rules
        self.bins = bins
        self.rows = start.rows
        keys = sampling.root_key(rules.seed) if start.keys is None else start.keys
        self.draft = Draft(bins, start.channels, start.totals, keys, start.n_rows)
        self.constraints: NodeConstraints | None = None
        if rules.constraints is not None:
            unit = float(np.ldexp(1.0, -start.channels.weight_shift))
            self.constraints = constraints_for(
                rules.constraints, start.channels, rules.ridge * unit
            )
        self.seeker = Seeker(
            backend,
            bins,
            start.channels,
            rules.categories,
            rules.ratio,
            is_rated=rules.is_rated,
            lets_stay=rules.missing in ("fractional", "surrogate"),
            ridges=(rules.ridge, rules.category_ridge),
            most_whole=rules.most_whole,
            constraints=self.constraints,
        )
        self.unknown, self.fractions = unknown, fractions
        self.oblique: Oblique | None = None
        self.queue = _queue(rules, fractions)
        # Half of the budget is for sums that are kept to derive children's from, half for those at
        # hand: of each node divided two children are searched and one or two tallied.
        self.budget = budget
        self.frontier = budget // 8
        self.peak_bytes = 0

    def go_on(self) -> None:
        """Grow from the roots to the end."""
        parts = None if self.fractions is None else self.fractions.at_root()
        self._search_in_pieces(np.arange(self.draft.n_nodes), parts)
        while (batch := self.queue.pop(self.frontier)) is not None:
            self.split(batch)
        if self.draft.channels.hides_rows and not self.backend.counts_freely:
            every = np.arange(self.draft.n_nodes)
            self.draft.recount(self.backend.count_rows(self.rows, every))

    def split(self, batch: Batch) -> None:
        """Divide the nodes of a batch and search their children."""
        moves = self.draft.divide(batch.node)
        if self.fractions is not None:
            assert batch.parts is not None
            parts = self.fractions.divide(batch.parts.among(batch.place), moves, self.draft)
            self._search_in_pieces(moves.children, parts)
            return
        if self.oblique is None:
            self.rows = self.backend.route(self.rows, moves)
        else:
            self.rows = self.oblique.route(self.rows, self.draft, moves)
        self.rows = self.unknown.settle(self.backend, self.rows, moves, self.draft)
        if self.draft.channels.hides_rows:
            self.draft.counted[moves.children] = self._sizes(moves.children)
        if self.constraints is not None:
            self.constraints.pass_on(moves, self.draft.sums)
        if batch.hist is not None and self._can_derive(moves.n_children):
            self.search(moves.first_child[:, None] + np.arange(2), batch)
            return
        self._search_in_pieces(moves.children)

    def _sizes(self, nodes: HostArray) -> HostArray:
        """How many rows nodes have, or their weight where asking has its cost.

        While a tree grows that is as good: it tells the smaller child, and leaves out nodes of one
        row, which cannot be split anyway.
        """
        if self.backend.counts_freely:
            return self.backend.count_rows(self.rows, nodes)
        return self.draft.channels.weight_of(self.draft.sums[nodes])

    def _search_in_pieces(self, nodes: HostArray, parts: Parts | None = None) -> None:
        """Search nodes by sums of their own, as many at a time as the budget allows.

        Where rows are divided, `parts` are what the nodes have of them.
        """
        may = self.rules.may_split(self.draft, nodes)
        nodes = nodes[may]
        place = np.flatnonzero(may)
        while nodes.size:
            n = n_within(self._bytes_of(nodes), self.budget // 4)
            own = None if parts is None else parts.among(place[:n])
            self.search(nodes[:n], None, own)
            nodes, place = nodes[n:], place[n:]

    def search(self, nodes: HostArray, above: Batch | None, parts: Parts | None = None) -> None:
        """Find the best splits of some nodes and queue those that will be split.

        With the batch of their parents, nodes come as (parents, 2) and only the smaller child of
        each is tallied. With parts of rows, sums are of these.
        """
        if above is None:
            wanted = tallied = nodes
            siblings = Siblings(wanted, np.arange(len(wanted)), np.full(len(wanted), -1))
        else:
            wanted, tallied, siblings = self._families(nodes, above)
        if not wanted.size:
            return
        if parts is None or self.fractions is None:
            built = self.backend.tally(self.rows, tallied)
            hist = self.backend.derive(built, siblings, None if above is None else above.hist)
        else:
            hist = self.fractions.tally(parts)
        n_bytes = self._bytes_of(wanted)
        kept = self.queue.bytes_kept(above) + int(n_bytes.sum())
        self.peak_bytes = max(self.peak_bytes, kept + int(self._bytes_of(tallied).sum()))
        search = self.rules.search(self.draft, wanted, len(self.bins.features))
        found = self.seeker.seek(hist, search, self.draft.sums[wanted], wanted)
        self.draft.note(wanted, found)
        if self.oblique is not None:
            self.oblique.seek(self.rows, self.draft, wanted, search)
        keeps = kept <= self.budget // 2 and parts is None  # sums of parts are never derived
        self._enqueue(wanted, n_bytes, hist if keeps else None, parts)

    def _can_derive(self, n_children: HostArray) -> bool:
        """Whether the sums of two children are those of their parent."""
        return isinstance(self.unknown, Learned) and bool((n_children == 2).all())

    def _families(self, nodes: HostArray, above: Batch) -> tuple[HostArray, HostArray, Siblings]:
        """Which nodes to search, which to tally, and how the former follow from the latter."""
        may = self.rules.may_split(self.draft, nodes.ravel()).reshape(nodes.shape)
        n_rows = self.draft.n_rows(nodes.ravel()).reshape(nodes.shape)
        parents, small = tallied_children(may, n_rows)
        family, slot = np.nonzero(may[parents])
        wanted, tallied = nodes[parents[family], slot], nodes[parents, small]
        is_tallied = slot == small[family]
        parent = np.where(is_tallied, -1, above.place[parents[family]])
        return wanted, tallied, Siblings(wanted, family, parent)

    def _bytes_of(self, nodes: HostArray) -> HostArray:
        channels = self.draft.channels
        n_rows = self.draft.n_rows(nodes)
        return self.backend.hist_bytes(self.bins, channels, n_rows)

    def _table_bytes(self, nodes: HostArray) -> HostArray:
        """What the child of every code takes while rows are on their way.

        Where nodes are searched without sums of all codes, this is most of what they take.
        """
        return self.bins.n_codes[self.draft.feature[nodes]] * np.dtype(SLOT).itemsize

    def _enqueue(
        self, nodes: HostArray, n_bytes: HostArray, hist: Hist | None, parts: Parts | None
    ) -> None:
        score = self.draft.score[nodes]
        worth = self.rules.limits.worth(score, self.draft.sums[nodes])
        suffices = self.rules.limits.suffices(worth)
        if not self.draft.channels.is_classes and self.rules.splits_without_gain:
            # The sums of a regression do not tell whether a node is pure. If it is, no split gains,
            # but for the rounding of weighted targets.
            is_weighted = self.draft.channels.counts_rows
            doubtful = np.flatnonzero(suffices & ((score == 0.0) | is_weighted))
            if doubtful.size:
                low, high = np.moveaxis(self.backend.span(self.rows, nodes[doubtful]), 2, 0)
                suffices[doubtful] = (low < high).any(axis=1)
        chosen = np.flatnonzero(suffices)
        batch = Batch(
            node=nodes[chosen],
            priority=HOST.trim(worth[chosen]),
            place=chosen,
            hist=hist,
            n_bytes=n_bytes[chosen] + self._table_bytes(nodes[chosen]),
            hist_bytes=0 if hist is None else int(n_bytes.sum()),
        )
        if parts is not None and self.fractions is not None:
            batch = self.fractions.with_parts(batch, parts)
        self.queue.push(batch, self.draft.parent[nodes[chosen]])


def _queue(rules: Rules, fractions: Fractions | None) -> Queue:
    if rules.max_leaves is not None:
        return BestFirst(rules.max_leaves)
    return FirstInFirstOut() if fractions is None else LastInFirstOut()


def _unknown(rules: Rules, target: Target) -> Unknown:
    """What to do with rows whose tested value is missing."""
    if rules.missing == "surrogate":
        return BySurrogates(target, rules.surrogates)
    return Learned()
