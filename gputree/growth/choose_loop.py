"""Which loop grows trees: the backend's own, from a root to its leaves, or frontiers.

All of them grow the same trees. A backend that `grows_whole` trees is asked first, and says None
where frontiers are quicker or have to do it. Otherwise several trees share a frontier where they
can, and each of the others has the builder to itself. Knows the builder; must not know devices.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeAlias

import numpy as np

from gputree import sampling
from gputree.backends.contract import Backend, Data, Result
from gputree.backends.whole import Whole
from gputree.data.bins import Bins
from gputree.data.target import Target
from gputree.growth.builder import Grown, Start, grow, grow_from, parted, together
from gputree.growth.draft import Draft
from gputree.growth.rules import Rules
from gputree.growth.seek import alike

# What becomes of a tree, by its number; trees may be told of by several threads.
Then: TypeAlias = Callable[[int, Grown], Result]

MOST_TOGETHER = 16  # trees in one frontier: progress is seen, and Ctrl-C keeps what is finished
# Of each row of a tree in a frontier that several share, beside its codes: its place in lists, what
# it adds to sums, and the nodes that it may make in a tree of unlimited depth.
ROW_BYTES = 400


def trees_at_once(backend: Backend, n_rows: int, n_bytes: int, budget: int) -> Iterator[int]:
    """How many trees to grow together, each on rows whose codes take so many bytes: at first, then.

    As many as the budget has room for; fewer at first where that costs nothing, so that some are
    there soon.
    """
    n = 0
    while True:
        few = 2 * backend.n_lanes
        if backend.is_starting:  # another one may take over after each batch
            yield few
            continue
        room = n_bytes + n_rows * ROW_BYTES if backend.shares_frontiers else n_bytes
        most = max(min(budget // room, MOST_TOGETHER), few)
        starts_small = backend.grows_whole and not backend.shares_frontiers
        n = min(2 * n or few, most) if starts_small or n else most
        yield n


def grow_trees(
    backend: Backend,
    data: Data,
    bins: Bins,
    targets: Sequence[Target],
    rules: Sequence[Rules],
    budget: int,
    then: Then[Result],
) -> Iterator[Result]:
    """What becomes of a tree for each target by its own rules, all on one table."""
    first, seeds = rules[0], [own.seed for own in rules]
    # Rules that rate features hold arrays, which do not compare.
    if not first.is_rated and all(replace(own, seed=first.seed) == first for own in rules):
        can_share = can_grow_together(first, targets)
        if backend.grows_whole and not (can_share and backend.shares_frontiers):
            starts = [Start.of(backend, data, bins, target) for target in targets]
            whole = grow_whole(backend, starts, bins, first, seeds, budget, then)
            if whole is not None:
                return iter(whole)
        if can_share:
            grown = grow_together(backend, data, bins, targets, first, seeds, budget)
            return map(then, count(), grown)
    pairs = zip(targets, rules, strict=True)
    alone = (grow_tree(backend, data, bins, target, own, budget) for target, own in pairs)
    return map(then, count(), alone)


def grow_tree(
    backend: Backend, data: Data, bins: Bins, target: Target, rules: Rules, budget: int
) -> Grown:
    """One tree on the rows that have a weight."""
    start = Start.of(backend, data, bins, target)
    whole = grow_whole(backend, [start], bins, rules, [rules.seed], budget, as_grown)
    return whole[0] if whole else grow(backend, data, bins, target, rules, budget, start)


def grow_together(
    backend: Backend,
    data: Data,
    bins: Bins,
    targets: Sequence[Target],
    rules: Rules,
    seeds: Sequence[int],
    budget: int,
) -> list[Grown]:
    """A tree on the rows of each target, all in one frontier."""
    start = together(backend, data, bins, targets, seeds)
    return parted(backend, grow_rooted(backend, start, bins, rules, budget), targets)


def grow_rooted(backend: Backend, start: Start, bins: Bins, rules: Rules, budget: int) -> Grown:
    """One tree from rows at its root, or several from theirs."""
    whole = grow_whole(backend, [start], bins, rules, [rules.seed], budget, as_grown)
    return whole[0] if whole else grow_from(backend, start, bins, rules, budget)


def grow_whole(
    backend: Backend,
    starts: Sequence[Start],
    bins: Bins,
    rules: Rules,
    seeds: Sequence[int],
    budget: int,
    then: Then[Result],
) -> list[Result] | None:
    """Grow several trees at once by the backend alone; None where it has no way to.

    Each tree goes to `then` as soon as it is there: trees that grow take much more room than
    what becomes of them.
    """
    if not backend.grows_whole or rules.is_rated or rules.constraints is not None:
        return None
    combinations = rules.combinations
    if combinations is not None and not (combinations.projections and backend.projects):
        return None
    keys = starts[0].keys
    if keys is None:
        keys = np.concatenate([sampling.root_key(seed) for seed in seeds])
    roots = [start.rows for start in starts]
    search = rules.search(None, np.empty(0, np.int64), len(bins.features))
    if bins.is_nominal.any():
        categories = alike(rules.categories, bins, rules.ridge, rules.most_whole)
        search = replace(search, categories=categories)
    totals = np.concatenate([np.atleast_2d(start.totals) for start in starts])

    def made(root: int, whole: Whole) -> Result:
        draft = Draft.of(bins, starts[root].channels, whole)
        layout, is_split = draft.layout(whole.is_inner), whole.is_inner
        grown = Grown(draft, layout, whole.rows, 0, is_split=is_split, directions=whole.combined)
        return then(root, grown)

    limits = replace(rules.limits, budget=budget)
    return backend.grow_whole(roots, totals, keys, search, limits, made)


def as_grown(number: int, grown: Grown) -> Grown:
    """For those who want trees as they are."""
    return grown


def can_grow_together(rules: Rules, targets: Sequence[Target]) -> bool:
    """Whether nodes of trees of the same rules, but for the seed, may share a frontier.

    Leaf by leaf each tree has turns of its own, and rows that are divided need a table of theirs.
    """
    has_own = rules.constraints is not None or rules.combinations is not None
    is_divided = rules.missing in ("fractional", "surrogate")
    if rules.max_leaves is not None or has_own or is_divided:
        return False
    return len(targets) > 1 and all(own.channels == targets[0].channels for own in targets)
