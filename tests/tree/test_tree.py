"""The finished tree: flat read-only arrays, and what follows from them."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from gputree.tree.check import check_tree
from gputree.tree.tree import Tree

NAN = np.nan


def arrays():
    r"""Five nodes.

    0 tests feature 1 -> 1 leaf, 2 tests feature 0 -> 3 leaf, 4 leaf
    """
    return {
        "kind": [1, 0, 1, 0, 0],
        "feature": [1, -1, 0, -1, -1],
        "threshold": [0.5, NAN, -1.0, NAN, NAN],
        "missing_slot": [0, 0, 1, 0, 0],
        "first_child": [1, -1, 3, -1, -1],
        "gain": [0.25, 0.0, 0.5, 0.0, 0.0],
        "impurity": [0.5, 0.0, 0.5, 0.0, 0.0],
        "n_rows": [8, 6, 2, 1, 1],
        "weight": [8.0, 6.0, 2.0, 1.0, 1.0],
        "value": [[7.0, 1.0], [6.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]],
    }


def stump_of(n_features=1):
    """A single leaf."""
    return Tree(**{name: np.array(array)[1:2] for name, array in arrays().items()})


def chain(depth):
    """Each right child splits again; the left ones are leaves."""
    n_nodes = 2 * depth + 1
    is_split = np.zeros(n_nodes, bool)
    is_split[0] = True
    is_split[2 : 2 * depth : 2] = True
    first_child = np.full(n_nodes, -1)
    first_child[is_split] = 1 + 2 * np.arange(depth)
    return Tree(
        kind=is_split,
        feature=np.where(is_split, 0, -1),
        threshold=np.where(is_split, np.cumsum(is_split), NAN),
        missing_slot=np.zeros(n_nodes),
        first_child=first_child,
        gain=np.where(is_split, 0.5, 0.0),
        impurity=np.zeros(n_nodes),
        n_rows=np.ones(n_nodes),
        weight=np.ones(n_nodes),
        value=np.arange(n_nodes)[:, None],
    )


def test_nodes_leaves_parents_and_depths_follow_from_the_arrays():
    tree = Tree(**arrays())
    assert tree.n_nodes == 5
    assert tree.n_leaves == 3
    assert tree.is_leaf.tolist() == [False, True, False, True, True]
    assert tree.parent.tolist() == [-1, 0, 0, 2, 2]
    assert tree.depth.tolist() == [0, 1, 1, 2, 2]


def test_a_tree_whose_nodes_have_many_children_is_numbered_in_the_same_way():
    """0 has three children, of which 2 has two."""
    leaf = Tree(**{name: np.array(array)[[1] * 6] for name, array in arrays().items()})
    many = {name: np.array(getattr(leaf, name)) for name in arrays()}
    many["kind"][[0, 2]] = 3, 1
    many["first_child"][[0, 2]] = 1, 4
    tree = Tree(**many, n_children=[3, 0, 2, 0, 0, 0])
    assert tree.parent.tolist() == [-1, 0, 0, 0, 2, 2]
    assert tree.depth.tolist() == [0, 1, 1, 1, 2, 2]
    assert tree.levels() == [(0, 1), (1, 4), (4, 6)]
    assert tree.n_leaves == 4


def test_what_is_left_out_of_a_tree_says_two_children_and_no_categories():
    tree = Tree(**arrays())
    assert tree.n_children.tolist() == [2, 0, 2, 0, 0]
    assert tree.category_start.tolist() == [-1] * 5
    assert tree.n_surrogates.tolist() == tree.first_surrogate().tolist() == [0] * 5
    assert all(len(getattr(tree, name)) == 0 for name in Tree.OTHERS)


def test_the_surrogates_of_a_node_follow_those_of_the_node_before():
    tree = Tree(**arrays(), n_surrogates=[2, 0, 3, 0, 0])
    assert tree.first_surrogate().tolist() == [0, 2, 2, 5, 5]


def test_a_leaf_alone_is_a_tree():
    tree = stump_of()
    assert (tree.n_nodes, tree.n_leaves) == (1, 1)
    assert tree.parent.tolist() == [-1]
    assert tree.depth.tolist() == [0]
    assert tree.importances(3).tolist() == [0.0, 0.0, 0.0]


def test_importances_are_shares_of_the_weighted_gain():
    # feature 1: 8 * 0.25 = 2; feature 0: 2 * 0.5 = 1; feature 2 is never tested
    assert Tree(**arrays()).importances(3).tolist() == [1 / 3, 2 / 3, 0.0]


def test_splits_that_gain_nothing_have_no_importance():
    tree = Tree(**{**arrays(), "gain": np.zeros(5)})
    assert tree.importances(2).tolist() == [0.0, 0.0]


def test_every_array_has_the_dtype_of_a_model_file():
    tree = Tree(**arrays())
    for name, dtype in Tree.DTYPES.items():
        assert getattr(tree, name).dtype == np.dtype(dtype), name
        assert getattr(tree, name).flags.c_contiguous, name


@pytest.mark.parametrize(
    "copied",
    [lambda tree: tree, copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))],
    ids=["itself", "copy", "deepcopy", "pickle"],
)
def test_a_tree_and_its_copies_are_equal_and_cannot_be_changed(copied):
    tree = Tree(**arrays())
    twin = copied(tree)
    for name in Tree.DTYPES:
        np.testing.assert_array_equal(getattr(twin, name), getattr(tree, name))
        with pytest.raises(ValueError, match="read-only"):
            getattr(twin, name)[0] = 0
    with pytest.raises(FrozenInstanceError):
        twin.kind = np.zeros(5)


def test_a_tree_does_not_change_with_the_arrays_it_was_made_of():
    gain = np.array([0.25, 0.0, 0.5, 0.0, 0.0])
    tree = Tree(**{**arrays(), "gain": gain})
    gain[0] = 9.0
    assert tree.gain[0] == 0.25


def test_a_chain_of_thousands_of_splits_is_walked_without_recursion():
    tree = chain(5000)
    check_tree(tree, [None])
    assert tree.depth.max() == 5000
    assert tree.depth[-2:].tolist() == [5000, 5000]
    assert tree.n_leaves == 5001
    assert tree.parent[-1] == 9998


def test_arrays_that_nobody_can_change_are_not_copied():
    tree = Tree(**arrays())
    assert replace(tree, feature=[0, -1, 1, -1, -1]).value is tree.value
    whole = np.array([9.0, 0.25, 0.0, 0.5, 0.0, 0.0])
    own = Tree(**arrays() | {"gain": whole[1:]})
    whole.setflags(write=False)
    assert np.shares_memory(replace(own, gain=whole[1:]).gain, whole)
    whole.setflags(write=True)
    view = whole[1:]
    view.setflags(write=False)
    assert not np.shares_memory(replace(own, gain=view).gain, whole)
    assert not np.shares_memory(own.gain, whole)
