"""Rows whose tested value is missing walk on as a row alone would, step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree.dtypes import MISSING_CATEGORY, STAY
from gputree.tree.check import check_tree
from gputree.tree.tree import Tree
from gputree.tree.walk import slots_of, spread, stopping, walk_on
from tests.tables import with_lists

NAN = np.nan
N_LEVELS = [None, 3, None]  # of the features of the trees below


def tree(**changed):
    r"""Three features: x, colour of three levels, z.

    0: colour a|b, c nobody saw        surrogates: z <= 5 to child 1, else 0; x <= 1 to child 0
       1: x <= 2 -> 3, 4               larger child: 1
       2: leaf
    """
    given = {
        "kind": [2, 1, 0, 0, 0],
        "feature": [1, 0, -1, -1, -1],
        "threshold": [NAN, 2.0, NAN, NAN, NAN],
        "missing_slot": [0, 1, 0, 0, 0],
        "first_child": [1, 3, -1, -1, -1],
        "gain": np.zeros(5),
        "impurity": np.zeros(5),
        "n_rows": [10, 6, 4, 1, 5],
        "weight": [10.0, 6.0, 4.0, 1.5, 4.5],
        "value": np.eye(5),
        "n_children": [2, 2, 0, 0, 0],
        "level_start": [0, -1, -1, -1, -1],
        "n_surrogates": [2, 0, 0, 0, 0],
        "level_slot": [0, 1, STAY, 0],
        "surrogate_feature": [2, 0],
        "surrogate_threshold": [5.0, 1.0],
        "surrogate_slot": [1, 0],
        "surrogate_level_start": [-1, -1],
        "surrogate_agreement": [0.9, 0.8],
    }
    made = Tree(**with_lists({**given, **changed}))
    check_tree(made, N_LEVELS)
    return made


def reader(x, colour, z):
    columns = [np.array(x, float), np.array(colour, np.int32), np.array(z, float)]
    return columns.__getitem__


# The slots of values


def slots(tree, values, threshold=NAN, low_slot=0, start=-1):
    n = len(values)
    each = (np.full(n, threshold), np.full(n, low_slot), np.full(n, start))
    return slots_of(tree, np.array(values), *each).tolist()


def test_values_up_to_the_threshold_go_to_the_low_slot():
    values = [1.0, 2.0, 2.5, np.inf, -np.inf, NAN]
    assert slots(tree(), values, 2.0, 0) == [0, 0, 1, 1, 0, STAY]
    assert slots(tree(), values, 2.0, 1) == [1, 1, 0, 0, 1, STAY]


def test_level_numbers_are_compared_or_looked_up():
    assert slots(tree(), [0, 1, 2, MISSING_CATEGORY], 0.5) == [0, 1, 1, STAY]
    assert slots(tree(), [0, 1, 2, 3, MISSING_CATEGORY], start=0) == [0, 1, STAY, 0, STAY]


# Surrogates


def test_backends_stop_where_there_are_surrogates():
    assert stopping(tree()).missing_slot.tolist() == [STAY, 1, 0, 0, 0]
    of_surrogates = ("feature", "threshold", "slot", "level_start", "agreement")
    none = {f"surrogate_{name}": [] for name in of_surrogates}
    plain = tree(n_surrogates=np.zeros(5), **none)
    assert stopping(plain) is plain


@pytest.mark.parametrize(
    ("x", "z", "leaf"),
    [
        (0.0, 4.0, 2),  # by the first surrogate, which is turned round
        (0.0, 6.0, 3),
        (3.0, 6.0, 4),
        (1.0, NAN, 3),  # by the second
        (1.5, NAN, 2),
        (NAN, NAN, 4),  # to the larger child, and there where missing values go
        (NAN, 6.0, 4),
    ],
)
def test_the_first_surrogate_that_knows_decides_and_then_the_larger_child(x, z, leaf):
    read = reader([x], [MISSING_CATEGORY], [z])
    assert walk_on(tree(), np.zeros(1, np.int64), read).tolist() == [leaf]


def test_rows_walk_on_from_the_node_where_each_of_them_stopped():
    read = reader([0.0, 3.0, NAN], [MISSING_CATEGORY, 0, 2], [NAN, NAN, 6.0])
    assert walk_on(tree(), np.array([0, 2, 0]), read).tolist() == [3, 2, 4]


def test_rows_stay_where_nothing_knows():
    tied = tree(missing_slot=[STAY, 1, 0, 0, 0])
    read = reader([NAN], [MISSING_CATEGORY], [NAN])
    assert walk_on(tied, np.zeros(1, np.int64), read).tolist() == [0]


def test_a_surrogate_may_test_levels():
    made = tree(
        surrogate_feature=[1, 0],
        surrogate_threshold=[NAN, 1.0],
        surrogate_slot=[0, 0],
        surrogate_level_start=[4, -1],
        level_slot=[0, 1, STAY, 0, STAY, STAY, 1, STAY],
    )
    read = reader([0.0, 0.0], [2, 0], [NAN, NAN])
    assert walk_on(made, np.zeros(2, np.int64), read).tolist() == [2, 3]


# Every branch


def shares(made, *row):
    """Leaf -> share of one row, from the root."""
    read = reader(*([value] for value in row))
    number, leaf, share = spread(made, np.zeros(1, np.int64), read)
    assert (number == 0).all()
    return dict(zip(leaf.tolist(), share.tolist(), strict=True))


def test_a_row_goes_down_every_branch_by_the_weights_of_the_children():
    assert shares(tree(), 0.0, MISSING_CATEGORY, NAN) == {3: 0.6, 2: 0.4}
    found = shares(tree(), NAN, MISSING_CATEGORY, NAN)
    assert found == pytest.approx({2: 0.4, 3: 0.6 * 0.25, 4: 0.6 * 0.75})


def test_an_empty_child_takes_no_share():
    made = tree(weight=[6.0, 6.0, 0.0, 1.5, 4.5])
    assert shares(made, 0.0, MISSING_CATEGORY, NAN) == {3: 1.0}


def one_row(made, node, row):
    """Leaf -> share, as the definition says it."""
    if made.is_leaf[node]:
        return {node: 1.0}
    n, first = int(made.n_children[node]), int(made.first_child[node])
    feature = int(made.feature[node])
    if made.category_start[node] >= 0:
        slot = STAY if row[feature] == MISSING_CATEGORY else int(made.slots(node, 4)[row[feature]])
    else:
        slot = STAY if np.isnan(row[feature]) else int(row[feature] > made.threshold[node])
    if slot != STAY:
        return one_row(made, first + slot, row)
    weight = made.weight[first : first + n]
    found = {}
    for child in range(n):
        for leaf, share in one_row(made, first + child, row).items():
            found[leaf] = found.get(leaf, 0.0) + share * weight[child] / weight.sum()
    return found


@given(st.integers(0, 2**32 - 1))
def test_many_rows_are_divided_as_each_would_be(seed):
    rng = np.random.default_rng(seed)
    made = tree(missing_slot=[STAY, STAY, 0, 0, 0])
    x = np.where(rng.random(20) < 0.5, NAN, rng.integers(0, 5, 20))
    colour = rng.integers(-1, 4, 20)
    # Rows come from the node where the backend left them: the first that cannot tell.
    blind = [made.slots(0, 4)[level] == STAY or level == MISSING_CATEGORY for level in colour]
    node = np.where(blind, 0, np.where((colour == 0) | (colour == 3), 1, 2))
    stops = np.array(blind) | ((node == 1) & np.isnan(x))
    x, colour, node = x[stops], colour[stops], node[stops]
    row, leaf, share = spread(made, node, reader(x, colour, x))
    assert (np.diff(row) >= 0).all()
    for at in range(len(x)):
        found = dict(zip(leaf[row == at].tolist(), share[row == at].tolist(), strict=True))
        expected = one_row(made, 0, (x[at], colour[at], NAN))
        assert found == pytest.approx(expected)
        assert sum(found.values()) == pytest.approx(1.0)
