"""Where rows go that have stayed at their nodes: what the first test says that knows them."""

from collections.abc import Callable

import numpy as np

from gputree.backends.moves import Detours
from gputree.dtypes import STAY, HostArray
from gputree.runs import begins
from gputree.tree.categories import slots_of


def slots_by_detours(
    codes_of: Callable[[HostArray, HostArray], HostArray],
    detours: Detours,
    row: HostArray,
    move: HostArray,
) -> HostArray:
    """The child of each row, or STAY; `move` is the move of its node."""
    slot = np.full(len(row), STAY, np.int64)
    first = begins(detours.n)
    for turn in range(int(detours.n.max(initial=0))):
        at = np.flatnonzero((slot == STAY) & (turn < detours.n[move]))
        if not at.size:
            break
        test = first[move[at]] + turn
        slot[at] = _slots(detours, test, codes_of(row[at], detours.feature[test]))
    return np.where(slot == STAY, detours.otherwise[move], slot)


def _slots(detours: Detours, test: HostArray, code: HostArray) -> HostArray:
    """The child to which each test sends a code."""
    low = detours.low_slot[test]
    side = np.where(code > detours.code[test], 1 - low, low)
    slot = np.where(code < detours.n_values[test], side, STAY)
    start = detours.category_start[test]
    listed = np.flatnonzero(start >= 0)
    slot[listed] = slots_of(start[listed], code[listed], detours.category, detours.slot)
    return slot
