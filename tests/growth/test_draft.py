"""A draft numbers nodes as they are made, and its tree breadth-first."""

import numpy as np
import pytest

from gputree import sampling
from gputree.backends.contract import Splits
from gputree.backends.whole import CategoryLists
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Kind
from gputree.data.target import Channels
from gputree.dtypes import SLOT, STAY
from gputree.growth.draft import Draft
from gputree.growth.seek import Found, TableSplits


def feature(n_values, has_missing=False):
    number = np.arange(n_values, dtype=np.float64)
    return FeatureBins("x", Kind.NUMERIC, None, number[:-1], number[1:], has_missing)


BINS = Bins((feature(3), feature(2, has_missing=True)))


def draft(*totals):
    return Draft(BINS, Channels(len(totals), True, False), np.array(totals), sampling.root_key(4))


def note(growing, node, left, **split):
    """Tell a draft the best split of a node."""
    given = {"score": 1.0, "feature": 0, "code": 0, "next_code": 1, "missing_slot": 0} | split
    found = {name: np.array([value]) for name, value in given.items()}
    growing.note(np.array([node]), Found(Splits(**found, left=np.array([left])), None))


def note_table(growing, nodes, feature, slot, sums):
    """Tell a draft best splits that are tables: of each node the child of every code."""
    n = len(nodes)
    none = {name: np.zeros(n, np.int64) for name in ("code", "next_code", "missing_slot")}
    splits = Splits(
        score=np.ones(n), feature=np.array(feature), left=np.zeros((n, 2), np.int64), **none
    )
    codes = [np.arange(len(part), dtype=np.int32) for part in slot]
    lists = CategoryLists(
        node=np.arange(n),
        n=np.array([len(part) for part in slot]),
        absent=np.full(n, STAY, SLOT),
        code=np.concatenate(codes),
        slot=np.concatenate(slot).astype(SLOT),
    )
    tables = TableSplits(
        place=np.arange(n),
        n_children=np.array([len(part) for part in sums]),
        sums=np.concatenate(sums),
        categories=lists,
    )
    growing.note(np.array(nodes), Found(splits, tables))


def divide(growing, *nodes):
    return growing.divide(np.array(nodes))


def test_a_draft_begins_with_a_root_that_has_all_rows():
    growing = draft(3, 5)
    assert growing.n_nodes == 1
    assert growing.sums.tolist() == [[3, 5]]
    assert (
        growing.parent.tolist() == growing.first_child.tolist() == growing.feature.tolist() == [-1]
    )
    assert growing.score.tolist() == [-np.inf]
    assert growing.key.tolist() == sampling.root_key(4).tolist()


def test_children_share_the_sums_of_their_parent():
    growing = draft(3, 5)
    note(growing, 0, [1, 4])
    divide(growing, 0)
    assert growing.sums.tolist() == [[3, 5], [1, 4], [2, 1]]
    assert growing.parent.tolist() == [-1, 0, 0]
    assert growing.depth.tolist() == [0, 1, 1]
    assert growing.first_child.tolist() == [1, -1, -1]


def test_children_are_numbered_in_the_order_in_which_their_parents_are_divided():
    growing = draft(8, 8)
    note(growing, 0, [4, 4])
    divide(growing, 0)
    for node in (1, 2):
        note(growing, node, [2, 2])
    moves = divide(growing, 2, 1)
    assert moves.first_child.tolist() == [3, 5]
    assert growing.first_child.tolist()[:3] == [1, 5, 3]
    assert growing.parent.tolist() == [-1, 0, 0, 2, 2, 1, 1]
    assert growing.depth.tolist() == [0, 1, 1, 2, 2, 2, 2]


def test_the_key_of_a_node_follows_from_its_path_and_not_from_its_number():
    one, other = draft(8, 8), draft(8, 8)
    for growing, order in [(one, (1, 2)), (other, (2, 1))]:
        note(growing, 0, [4, 4])
        divide(growing, 0)
        for node in order:
            note(growing, node, [2, 2])
        divide(growing, *order)
    assert one.key[[3, 4, 5, 6]].tolist() == other.key[[5, 6, 3, 4]].tolist()
    assert len(set(one.key.tolist())) == 7


def test_new_nodes_have_no_split_even_where_memory_was_used_before():
    growing = draft(64)
    for depth in range(4):
        first = 2**depth - 1
        for node in range(first, 2 * first + 1):
            note(growing, node, [int(growing.sums[node, 0]) // 2])
        divide(growing, *range(first, 2 * first + 1))
    assert growing.n_nodes == 31
    assert growing.sums[15:].tolist() == [[4]] * 16
    assert growing.score[15:].tolist() == [-np.inf] * 16
    assert growing.feature[15:].tolist() == growing.first_child[15:].tolist() == [-1] * 16


@pytest.mark.parametrize(
    ("split", "table"),
    [
        ({"feature": 0, "code": 0}, [0, 1, 1]),
        ({"feature": 0, "code": 1}, [0, 0, 1]),
        ({"feature": 1, "code": 0, "missing_slot": 0}, [0, 1, 0]),
        ({"feature": 1, "code": 0, "missing_slot": 1}, [0, 1, 1]),
        ({"feature": 1, "code": 1, "missing_slot": 1, "next_code": -1}, [0, 0, 1]),
        ({"feature": 0, "code": 0, "missing_slot": 1}, [0, 1, 1]),  # has no missing code
        ({"feature": 0, "code": 1, "missing_slot": 1}, [0, 0, 1]),
    ],
)
def test_codes_up_to_that_of_the_split_move_left_and_missing_ones_as_learned(split, table):
    growing = draft(3, 5)
    note(growing, 0, [1, 4], **split)
    moves = divide(growing, 0)
    assert moves.table.tolist() == table
    assert moves.table.dtype == SLOT
    assert moves.n_children.tolist() == [2]


def test_the_tables_of_several_moves_lie_one_after_another():
    growing = draft(8, 8)
    note(growing, 0, [4, 4])
    divide(growing, 0)
    note(growing, 1, [2, 2], feature=1, code=0, missing_slot=1)
    note(growing, 2, [2, 2], feature=0, code=1)
    moves = divide(growing, 1, 2)
    assert moves.node.tolist() == [1, 2]
    assert moves.feature.tolist() == [1, 0]
    assert moves.start.tolist() == [0, 3]
    assert moves.table.tolist() == [0, 1, 1, 0, 0, 1]


def test_a_table_of_codes_may_make_any_number_of_children():
    growing = draft(8, 8)
    note_table(growing, [0], [1], [[2, 0, 1]], [[[1, 2], [3, 4], [4, 2]]])
    moves = divide(growing, 0)
    assert moves.n_children.tolist() == [3]
    assert moves.table.tolist() == [2, 0, 1]
    assert moves.children.tolist() == [1, 2, 3]
    assert growing.sums.tolist() == [[8, 8], [1, 2], [3, 4], [4, 2]]
    assert growing.parent.tolist() == [-1, 0, 0, 0]


def test_tables_and_thresholds_lie_side_by_side():
    growing = draft(8, 8)
    note(growing, 0, [4, 4])
    divide(growing, 0)
    note_table(growing, [2], [0], [[1, STAY, 0]], [[[1, 1], [2, 2]]])
    note(growing, 1, [1, 3], feature=1, code=0, missing_slot=1)
    moves = divide(growing, 1, 2)
    assert moves.table.tolist() == [0, 1, 1, 1, STAY, 0]
    # Of the four rows a class in node 2 some stay: the children have less than it.
    assert growing.sums[3:].tolist() == [[1, 3], [3, 1], [1, 1], [2, 2]]


def test_a_tree_with_children_of_any_number_is_numbered_breadth_first():
    growing = draft(8, 8)
    note_table(growing, [0], [1], [[2, 0, 1]], [[[1, 2], [3, 4], [4, 2]]])
    divide(growing, 0)
    note(growing, 3, [1, 1])
    divide(growing, 3)
    note_table(growing, [1], [1], [[2, 0, 1]], [[[1, 0], [0, 1], [0, 1]]])
    divide(growing, 1)
    layout = growing.layout(np.isin(np.arange(9), [0, 1, 3]))
    assert layout.node.tolist() == [0, 1, 2, 3, 6, 7, 8, 4, 5]
    assert layout.n_children.tolist() == [3, 3, 0, 2, 0, 0, 0, 0, 0]
    assert layout.first_child.tolist() == [1, 4, -1, 7, -1, -1, -1, -1, -1]


def grown_out_of_order():
    """Node 2 was divided before node 1; node 6, a child of 1, as well."""
    growing = draft(16, 16)
    for node in (0, 2, 1, 6):
        note(growing, node, (growing.sums[node] // 2).tolist())
        divide(growing, node)
    return growing


def test_a_tree_is_numbered_breadth_first_whatever_the_order_of_growth():
    layout = grown_out_of_order().layout(np.isin(np.arange(9), [0, 1, 2, 6]))
    assert layout.node.tolist() == [0, 1, 2, 5, 6, 3, 4, 7, 8]
    assert layout.first_child.tolist() == [1, 3, 5, -1, 7, -1, -1, -1, -1]
    assert layout.number.tolist() == [0, 1, 2, 5, 6, 3, 4, 7, 8]


def test_nodes_that_are_left_out_have_the_place_of_their_ancestor_in_the_tree():
    layout = grown_out_of_order().layout(np.isin(np.arange(9), [0, 2]))
    assert layout.node.tolist() == [0, 1, 2, 3, 4]
    assert layout.first_child.tolist() == [1, -1, 3, -1, -1]
    assert layout.number.tolist() == [0, 1, 2, 3, 4, 1, 1, 1, 1]


def test_a_tree_without_a_split_is_its_root():
    layout = draft(3, 5).layout(np.array([False]))
    assert (layout.node.tolist(), layout.first_child.tolist(), layout.number.tolist()) == (
        [0],
        [-1],
        [0],
    )


def test_what_a_draft_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="colour"):
        _ = draft(1).colour
