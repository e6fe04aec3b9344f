"""Whether arrays that were read from somewhere can be a tree at all.

Knows the arrays of a tree; must not know where they came from, nor what the tree predicts.
"""

from collections.abc import Sequence

import numpy as np

from gputree.dtypes import STAY, HostArray
from gputree.runs import begins, owners, spread_out
from gputree.tree.categories import lists_of
from gputree.tree.directions import Directions
from gputree.tree.store import damaged
from gputree.tree.tree import Split, Tree

FEWEST_CHILDREN = 2  # of every inner node; only a child per category may make more
BY_CATEGORIES = (int(Split.SUBSET), int(Split.MULTIWAY))
LARGEST = 1e300  # of numbers that are added up, over all trees there can be
NAN_BITS = np.float64(np.nan).view(np.uint64)  # of the NaN that stands for no threshold
LEAST = 1e-300  # weights that differ by no more may be rounded to the last bits there are
ROUNDING = 1e-6  # of weights, which are rounded where they are not whole


def check_tree(tree: Tree, n_categories: Sequence[int | None]) -> None:
    """Raise ModelFileError unless rows can walk `tree` safely.

    `n_categories` has one entry per feature: its number of categories, None if it has thresholds.
    """
    n_entries = np.array([-1 if n is None else n + 1 for n in n_categories], np.int64)
    check_shapes(tree)
    if tree.directions is not None:
        check_directions(tree.directions, n_entries)
        n_entries = np.append(n_entries, np.full(len(tree.directions), -1))
        check_numbered(tree, tree.directions)
    check_kinds(tree, n_entries)
    check_numbering(tree)
    check_surrogates(tree, n_entries)
    check_lists(tree, n_entries)
    check_numbers(tree)


def check_shapes(tree: Tree) -> None:
    for name in Tree.DTYPES:
        shape = getattr(tree, name).shape
        n_dimensions = 2 if name == "value" else 1
        if len(shape) != n_dimensions:
            raise damaged(f"array {name!r} has {len(shape)} dimensions, not {n_dimensions}")
    names = list(Tree.DTYPES)
    _check_lengths(tree, [name for name in names if name not in Tree.OTHERS], "a tree")
    _check_lengths(tree, [name for name in names if name.startswith("surrogate_")], "surrogates")
    if not tree.n_nodes:
        raise damaged("a tree has no nodes")
    if not tree.value.shape[1]:
        raise damaged("the nodes of a tree have no value")


def check_directions(directions: Directions, n_entries: HostArray) -> None:
    """Raise ModelFileError unless combinations are of columns that hold numbers."""
    n, column = directions.n_terms.astype(np.int64), directions.column
    refuse(n < 2, "has fewer than two terms", "combination")
    if not len(column) == len(directions.weight) == int(n.sum()):
        raise damaged("the combinations of a tree have other than the terms that they count")
    is_known = (column >= 0) & (column < len(n_entries))
    is_known[is_known] = n_entries[column[is_known]] < 0
    refuse(~is_known, "is of no column of numbers", "term")
    same = owners(n)[1:] == owners(n)[:-1]
    refuse(same & (column[1:] <= column[:-1]), "is not followed by a later column", "term")
    is_weight = np.isfinite(directions.weight) & (directions.weight != 0.0)
    refuse(~is_weight, "has no weight", "term")


def check_numbered(tree: Tree, directions: Directions) -> None:
    """Combinations are numbered in the order of the nodes that test them, each by one node."""
    tested = tree.feature[tree.feature >= directions.n_columns]
    if not np.array_equal(tested, directions.n_columns + np.arange(len(directions))):
        raise damaged("the combinations of a tree are not in the order of its nodes")


def _check_lengths(tree: Tree, names: Sequence[str], whose: str) -> None:
    lengths = {name: len(getattr(tree, name)) for name in names}
    if len(set(lengths.values())) > 1:
        raise damaged(f"the arrays of {whose} differ in length: {lengths}")


def refuse(is_bad: HostArray, what: str, whose: str = "node") -> None:
    """Raise an error that names the first bad node, if there is one."""
    if is_bad.any():
        raise damaged(f"{whose} {int(is_bad.argmax())} of a tree {what}")


def check_kinds(tree: Tree, n_entries: HostArray) -> None:
    leaf, kind, n_children = tree.is_leaf, tree.kind, tree.n_children
    refuse(~np.isin(kind, [int(kind) for kind in Split]), "has an unknown kind")
    refuse(leaf & (tree.feature != -1), "is a leaf and tests a feature")
    refuse(leaf & ((tree.first_child != -1) | (n_children != 0)), "is a leaf and has children")
    _check_features(tree.feature, ~leaf, len(n_entries), "node")
    refuse(~leaf & (n_children < FEWEST_CHILDREN), "is split and has fewer than two children")
    is_binary = (kind == Split.THRESHOLD) | (kind == Split.SUBSET)
    refuse(is_binary & (n_children != 2), "has other than the two children of its kind")
    by_categories = np.isin(kind, BY_CATEGORIES)
    has_categories = _entries_of(tree.feature, n_entries) >= 0
    refuse(
        ~leaf & (by_categories != has_categories), "tests its feature in a way that does not fit it"
    )
    refuse(~leaf & ~by_categories & np.isnan(tree.threshold), "has no threshold")
    refuse(by_categories & ~np.isnan(tree.threshold), "has categories and a threshold")
    is_slot = (tree.missing_slot < n_children) | (tree.missing_slot == STAY)
    is_slot = np.where(leaf, tree.missing_slot == 0, is_slot)
    refuse(~is_slot, "sends missing values to a child that it has not")


def _check_features(feature: HostArray, tests: HostArray, n_features: int, whose: str) -> None:
    is_known = (feature >= 0) & (feature < n_features)
    refuse(tests & ~is_known, f"tests a feature outside 0..{n_features - 1}", whose)


def _entries_of(feature: HostArray, n_entries: HostArray) -> HostArray:
    """The entries of a table of categories of each feature, -1 where there are none."""
    return np.append(n_entries, -1)[feature]  # a leaf tests feature -1


def check_numbering(tree: Tree) -> None:
    """Children are numbered from 1 on in the order of their parents."""
    leaf, n = tree.is_leaf, tree.n_children.astype(np.int64)
    n_nodes = 1 + int(n.sum())
    if tree.n_nodes != n_nodes:
        raise damaged(
            f"a tree has {tree.n_nodes} nodes; the root and the children of all nodes make "
            f"{n_nodes}"
        )
    expected = np.where(leaf, -1, 1 + begins(n))
    refuse(tree.first_child != expected, "has children that are not numbered breadth-first")
    # The numbers alone would allow a leaf as root, and below it nodes that lead to themselves.
    is_above = expected > np.arange(tree.n_nodes)
    refuse(~leaf & ~is_above, "is numbered after its own children")


def check_surrogates(tree: Tree, n_entries: HostArray) -> None:
    n = tree.n_surrogates.astype(np.int64)
    refuse(n < 0, "has a negative number of surrogates")
    if int(n.sum()) != len(tree.surrogate_feature):
        raise damaged(
            f"a tree has {len(tree.surrogate_feature)} surrogates; its nodes count {int(n.sum())}"
        )
    refuse((n > 0) & (tree.n_children != 2), "has surrogates but not two children")
    feature, threshold = tree.surrogate_feature, tree.surrogate_threshold
    every, whose = np.ones(len(feature), bool), "surrogate"
    _check_features(feature, every, len(n_entries), whose)
    by_categories = _entries_of(feature, n_entries) >= 0
    # A threshold that no known value exceeds would divide nothing.
    refuse(~by_categories & ~(threshold < np.inf), "has no threshold", whose)
    refuse(by_categories & ~np.isnan(threshold), "has categories and a threshold", whose)
    refuse(tree.surrogate_slot > 1, "leads to a child other than 0 and 1", whose)
    agreement = tree.surrogate_agreement
    refuse(~((agreement >= 0) & (agreement <= 1)), "has an agreement outside 0..1", whose)


def check_lists(tree: Tree, n_entries: HostArray) -> None:
    """Lists of categories lie one after another, those of nodes first, and have their one form."""
    feature = np.append(tree.feature, tree.surrogate_feature)
    start = np.append(tree.category_start, tree.surrogate_category_start).astype(np.int64)
    n_values = _entries_of(feature, n_entries) - 1
    _refuse_tests(tree, (start >= 0) != (n_values >= 0), "has a list of categories, or lacks one")
    if len(tree.category) != len(tree.category_slot):
        raise damaged("the lists of categories of a tree differ in length from their children")
    tests = np.flatnonzero(start >= 0)
    if not tests.size:
        if len(tree.category):
            raise damaged("a tree has lists of categories that nobody tests")
        return
    start, n_values = start[tests], n_values[tests]
    n = np.diff(start, append=len(tree.category))
    is_bad = n < 2  # one entry at the beginning, and one at the end
    is_bad[0] |= start[0] != 0
    what = "has a list of categories that does not begin where the one before it ends"
    _refuse_tests(tree, is_bad, what, tests)
    _refuse_tests(tree, tree.category[start].astype(np.int64) + 1 != n, what, tests)
    n_children = np.append(tree.n_children, np.full(len(feature) - tree.n_nodes, 2))
    is_bad = (tree.category_slot >= np.repeat(n_children[tests], n)) & (tree.category_slot != STAY)
    what = "sends a category to a child that it has not"
    _refuse_tests(tree, np.logical_or.reduceat(is_bad, start), what, tests)
    _check_categories(tree, tests, start, n_values)


def _check_categories(tree: Tree, tests: HostArray, start: HostArray, n_values: HostArray) -> None:
    """Lists name categories that there are, in ascending order, and none that goes with others."""
    category, slot = tree.category.astype(np.int64), tree.category_slot.astype(np.int64)
    named = category[start] - 1
    last = start + 1 + named
    at = spread_out(start + 1, named)
    owner = owners(named)
    is_bad = category[last] != n_values
    is_bad[owner[category[at] >= n_values[owner]]] = True
    _refuse_tests(tree, is_bad, "names a category that its column has not", tests)
    is_bad[owner[1:][(np.diff(category[at]) <= 0) & (np.diff(owner) == 0)]] = True
    _refuse_tests(tree, is_bad, "names categories that are not in ascending order", tests)
    form = lists_of(n_values, slot[last], named, slot[start], category[at], slot[at])
    if not (np.array_equal(form[1], category) and np.array_equal(form[2], slot)):
        raise damaged("a list of categories of a tree does not have its one form")


def _refuse_tests(tree: Tree, is_bad: HostArray, what: str, tests: HostArray | None = None) -> None:
    """Raise an error that names the first bad node or surrogate; surrogates follow all nodes."""
    if is_bad.any():
        first = int(is_bad.argmax() if tests is None else tests[is_bad.argmax()])
        at, whose = (first, "node") if first < tree.n_nodes else (first - tree.n_nodes, "surrogate")
        raise damaged(f"{whose} {at} of a tree {what}")


def check_numbers(tree: Tree) -> None:
    for name in ("gain", "impurity", "weight", "value"):
        is_finite = np.isfinite(getattr(tree, name)).reshape(tree.n_nodes, -1).all(axis=1)
        refuse(~is_finite, f"has a {name} that is not finite")
    for name in ("threshold", "surrogate_threshold"):
        has_payload = np.isnan(getattr(tree, name)) & (getattr(tree, name).view("<u8") != NAN_BITS)
        whose = "node" if name == "threshold" else "surrogate"
        refuse(has_payload, "has bits in its missing threshold", whose)
    # Weights of classes, which are never added up over trees, may be as large as those of rows.
    is_huge = np.abs(tree.value).max(axis=1) > np.maximum(LARGEST, tree.weight)
    refuse(is_huge, "has a value too large to be added up")
    for name in ("gain", "impurity", "weight"):
        refuse(getattr(tree, name) < 0, f"has a negative {name}")
    refuse(tree.n_rows < 0, "has a negative number of rows")
    refuse(tree.is_leaf & (tree.gain != 0), "is a leaf and has a gain")
    refuse(tree.gain > 1e7 * LARGEST, "has a gain too large to be weighed")
    # Only a leaf for categories that its parent has not seen is empty.
    is_filled = tree.weight > 0
    may_be_empty = tree.is_leaf & (np.arange(tree.n_nodes) > 0)
    refuse(~is_filled & ~may_be_empty, "has no weight")
    # Rows may be divided among children in proportion to their weights.
    below = np.bincount(tree.parent[1:], tree.weight[1:], minlength=tree.n_nodes)
    is_divisible = (below > 0) & np.isfinite(below)
    refuse(~tree.is_leaf & ~is_divisible, "has children without a sum of weights")


def check_counts(tree: Tree, missing: str) -> None:
    """Raise ModelFileError unless the rows and weights of children fit those of their parents.

    Every row goes to one child; `missing` says whether some go to several, or to none.
    """
    parent, inner = tree.parent[1:], ~tree.is_leaf
    refuse((tree.n_rows == 0) != (tree.weight == 0), "has rows without weight, or weight of no row")
    has_more = np.zeros(tree.n_nodes, bool)
    for name, slack in (("n_rows", 0.0), ("weight", ROUNDING)):
        own = getattr(tree, name)
        if own[0] > LARGEST:
            own = own * LEAST  # so that no sum overflows
        most, least = own * (1.0 + slack) + LEAST, own * (1.0 - slack) - LEAST
        has_more[1:] |= own[1:] > most[parent]
        below = np.bincount(parent, own[1:], minlength=tree.n_nodes)
        too_many, too_few = below > most, below < least
        if missing == "fractional":  # a divided row counts in every child, with a share of itself
            too_many &= name == "weight"
        if missing == "surrogate":  # rows of which nothing is known stay
            too_few &= False
        refuse(
            inner & (too_many | too_few), f"has children whose {name} does not add up to its own"
        )
    refuse(has_more, "has more rows or weight than its parent")
