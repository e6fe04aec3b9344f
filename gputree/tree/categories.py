"""Where tests send categories: each has a short list, and one rule for all that it does not name.

Lists lie one after another in two arrays. A list begins with an entry of its own: how many entries
follow, and the child of all categories that it does not name. These entries are categories in
ascending order, each with its child. So a node costs what it has seen, whatever its column has.

A list names the categories that do not go where most of the column's go (or to the lowest of
several such children), so that equal tests have equal lists. Its last entry has the number after
all categories of the column: so is one told that nobody has seen at fit. STAY in the place of a
child says that none is known.
"""

import numpy as np

from gputree.dtypes import CATEGORY, SLOT, STAY, HostArray
from gputree.runs import begins, owners, spread_out, within

NUMBERS = 2**17  # more than there are numbers of categories, or of children
FEW_ENTRIES = 2**20  # of tables, whatever lists there are
TABLE_ENTRIES = 8  # for each entry of a list

Lists = tuple[HostArray, HostArray, HostArray]  # where each begins; category and child of entries


def lists_of(
    n_values: HostArray,
    unknown: HostArray,
    n: HostArray,
    other: HostArray,
    category: HostArray,
    slot: HostArray,
) -> Lists:
    """The lists of tests that tell where `n` of the `n_values` categories of their column go.

    All others go to `other`, and those that nobody has seen to `unknown`; `category` and `slot`
    are told test by test, in any order.
    """
    owner, slot = owners(n), slot.astype(np.int64)
    most = _most_common(n_values, unknown, n, other, owner * NUMBERS + slot)
    # Where more go elsewhere than to `other`, those who go there are named: fewer than were told.
    untold, of_untold = _untold(np.flatnonzero(most != other), n_values, owner, category)
    is_named = slot != most[owner]
    every = np.arange(len(n))
    owner = np.concatenate([owner[is_named], of_untold, every])
    category = np.concatenate([category[is_named], untold, n_values])
    slot = np.concatenate([slot[is_named], other[of_untold], unknown])
    order = np.argsort(owner * NUMBERS + category)
    named = np.bincount(owner, minlength=len(n))
    first = begins(named)
    return (
        first + every,
        np.insert(category[order], first, named).astype(CATEGORY),
        np.insert(slot[order], first, most).astype(SLOT),
    )


def _most_common(
    n_values: HostArray, unknown: HostArray, n: HostArray, other: HostArray, told: HostArray
) -> HostArray:
    """The child of most categories of each test; `told` has a number for each test and child."""
    test = np.arange(len(n)) * NUMBERS
    pair, count = np.unique(told, return_counts=True)
    rest = n_values > n
    # Where a column has no categories, unseen ones decide.
    pair = np.concatenate([pair, (test + other)[rest], test + unknown])
    count = np.concatenate([count, (n_values - n)[rest], 0 * n])
    pair, at = np.unique(pair, return_inverse=True)
    owner, slot = np.divmod(pair, NUMBERS)
    best = np.lexsort([slot, -np.bincount(at, count, len(pair)), owner])
    return np.asarray(slot[best[np.searchsorted(owner, np.arange(len(n)))]])


def _untold(
    tests: HostArray, n_values: HostArray, owner: HostArray, category: HostArray
) -> tuple[HostArray, HostArray]:
    """The categories that some tests have not told, and the test of each."""
    n = n_values[tests]
    first = np.full(len(n_values), -1, np.int64)
    first[tests] = begins(n)
    is_told = np.zeros(int(n.sum()), bool)
    asked = first[owner] >= 0
    is_told[first[owner[asked]] + category[asked]] = True
    return within(n)[~is_told], np.repeat(tests, n)[~is_told]


def lists_of_tables(slot: HostArray, n_entries: HostArray) -> Lists:
    """The same from the child of every category of each test, and of one that nobody has seen."""
    place, n_values = within(n_entries), n_entries - 1
    is_last = place == np.repeat(n_values, n_entries)
    none = np.full(len(n_entries), STAY, np.int64)
    unknown = slot[is_last].astype(np.int64)
    return lists_of(n_values, unknown, n_values, none, place[~is_last], slot[~is_last])


def tables_of(
    start: HostArray, category: HostArray, slot: HostArray
) -> tuple[HostArray, HostArray]:
    """The child of every category of some tests, as `lists_of_tables` has it, and how many."""
    named = category[start].astype(np.int64)
    n_entries = category[start + named].astype(np.int64) + 1
    table = np.repeat(slot[start], n_entries)
    at = spread_out(start + 1, named)
    table[np.repeat(begins(n_entries), named) + category[at]] = slot[at]
    return table, n_entries


def table_of(start: int, n: int, category: HostArray, slot: HostArray) -> HostArray:
    """The children of the first `n` categories in one list."""
    table, _ = tables_of(np.array([start]), category, slot)
    return table[:n]


def taken(start: HostArray, category: HostArray, slot: HostArray) -> Lists:
    """Some lists one after another; where there is none, -1 says so still."""
    has_list = start >= 0
    n = category[start[has_list]].astype(np.int64) + 1
    at = spread_out(start[has_list], n)
    moved = np.full(len(start), -1, np.int64)
    moved[has_list] = begins(n)
    return moved, category[at], slot[at]


def joined(one: Lists, other: Lists) -> Lists:
    """The lists of some tests, and after them those of others."""
    later = np.where(other[0] >= 0, other[0] + len(one[1]), -1)
    return taken(np.append(one[0], later), *map(np.append, one[1:], other[1:]))


def quick(start: HostArray, category: HostArray, slot: HostArray) -> Lists:
    """The lists, or tables in their place where these are small: nothing is searched in a table.

    Tables come without categories. They have a child for every category, and for unseen ones.
    """
    has_list = start >= 0
    own = start[has_list]
    n_entries = category[own + category[own]].astype(np.int64) + 1
    if n_entries.sum() > max(FEW_ENTRIES, TABLE_ENTRIES * len(category)):
        return start, category, slot
    table, _ = tables_of(own, category, slot)
    start = np.full(len(start), -1, np.int64)
    start[has_list] = begins(n_entries)
    return start, category[:0], table


def slots_of(
    start: HostArray, number: HostArray, category: HostArray, slot: HostArray
) -> HostArray:
    """The child of a category in each list, found as `kernels.categories.place_of` does."""
    low, n = start.astype(np.int64), category[start].astype(np.int64) + 1
    for _ in range(int(n.max(initial=1) - 1).bit_length()):
        half = n >> 1
        low = low + np.where(category[low + half] <= number, half, 0)
        n = n - half
    return np.asarray(slot[np.where(category[low] == number, low, start)])
