"""Combinations of columns: their values, their words, and files that make no sense."""

import pickle

import numpy as np
import pytest

from gputree.errors import ModelFileError
from gputree.explain.shap import expected_sum
from gputree.tree.check import check_tree
from gputree.tree.directions import Directions, added_up
from gputree.tree.reshape import cut
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

X = np.array([[1.0, 2.0, 4.0], [0.5, np.nan, 3.0], [np.inf, 1.0, np.inf]])
TWO = Directions(3, [2, 3], [0, 2, 0, 1, 2], [0.25, -1.0, 1.0, 2.0, 1e-3])


def tree(directions=TWO, feature=(3, 4, -1, -1, -1)):
    """A node with the first combination above one with the second."""
    return Tree(
        kind=[1, 1, 0, 0, 0],
        feature=feature,
        threshold=[0.5, 1.0, np.nan, np.nan, np.nan],
        missing_slot=[0, 1, 0, 0, 0],
        first_child=[1, 3, -1, -1, -1],
        gain=[0.3, 0.6, 0.0, 0.0, 0.0],
        impurity=[0.5] * 5,
        n_rows=[6, 4, 2, 1, 3],
        weight=[6.0, 4.0, 2.0, 1.0, 3.0],
        value=[[1.0]] * 5,
        directions=directions,
    )


def test_a_combination_is_its_terms_added_up_in_order():
    assert TWO.values(0, lambda at: X[:, at]).tolist()[:2] == [0.25 - 4.0, 0.125 - 3.0]
    big = [np.array([1e16]), np.array([1.0]), np.array([-1e16])]
    assert added_up(big, np.ones(3)) == [(1e16 + 1.0) - 1e16] == [0.0]


def test_it_is_missing_where_a_value_is_or_where_infinities_cancel():
    assert np.isnan(TWO.values(1, lambda at: X[:, at])).tolist() == [False, True, False]
    assert np.isnan(TWO.values(0, lambda at: X[:, at])).tolist() == [False, False, True]


def test_a_term_without_weight_does_not_count_whatever_its_value():
    weight = np.array([[1.0, 1.0], [0.0, 2.0]])
    found = added_up([np.array([3.0, 4.0]), np.array([np.nan, 5.0])], weight)
    assert found.tolist() == [3.0, 14.0]


def test_words_tell_the_weights_as_they_are():
    names = ["density", "sugar", "'a b'"]
    assert TWO.text(0, names) == "0.25 density - 'a b'"
    assert TWO.text(1, names) == "density + 2 sugar + 0.001 'a b'"
    assert Directions(2, [2], [0, 1], [-1.0, 1.0]).text(0, names) == "-density + sugar"


def test_columns_of_a_combination_share_what_it_gains():
    # 6 * 0.3 for columns 0 and 2, and 4 * 0.6 for all three.
    np.testing.assert_allclose(tree().importances(3), np.array([1.7, 0.8, 1.7]) / 4.2)


def test_a_smaller_tree_has_the_combinations_that_it_tests():
    kept = cut(tree(), np.array([1])).directions
    assert kept.n_terms.tolist() == [2]
    assert kept.column.tolist() == [0, 2]


def test_a_pickle_has_the_combinations_and_none_can_be_changed():
    again = pickle.loads(pickle.dumps(tree()))
    assert again.directions.weight.tolist() == TWO.weight.tolist()
    with pytest.raises(ValueError, match="read-only"):
        again.directions.weight[0] = 2.0


def test_a_stack_tells_whether_its_trees_have_combinations_and_what_they_read():
    stack = Stack.of([tree()])
    assert stack.combines
    assert stack.tested.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="Shapley"):
        expected_sum(stack)


def test_a_tree_with_combinations_is_accepted():
    check_tree(tree(), [None, None, None])


@pytest.mark.parametrize(
    ("directions", "what"),
    [
        (Directions(3, [1, 3], [0, 0, 1, 2], np.ones(4)), "fewer than two terms"),
        (Directions(3, [2, 3], [0, 2, 0, 1], np.ones(4)), "other than the terms"),
        (Directions(3, [2, 3], [0, 2, 0, 1, 2], np.ones(4)), "other than the terms"),
        (Directions(3, [2, -2], [], []), "fewer than two terms"),
        (Directions(3, [2, 3], [0, 3, 0, 1, 2], np.ones(5)), "of no column of numbers"),
        (Directions(3, [2, 3], [-1, 2, 0, 1, 2], np.ones(5)), "of no column of numbers"),
        (Directions(3, [2, 3], [2, 2, 0, 1, 2], np.ones(5)), "not followed by a later"),
        (Directions(3, [2, 3], [0, 2, 0, 1, 2], [1, 1, 0, 1, 1]), "has no weight"),
        (Directions(3, [2, 3], [0, 2, 0, 1, 2], [1, 1, np.nan, 1, 1]), "has no weight"),
        (Directions(3, [2], [0, 2], np.ones(2)), "not in the order"),
        (Directions(3, [2, 2, 2], [0, 2] * 3, np.ones(6)), "not in the order"),
    ],
)
def test_combinations_that_make_no_sense_are_refused(directions, what):
    with pytest.raises(ModelFileError, match=what):
        check_tree(tree(directions), [None, None, None])


def test_combinations_of_categories_or_out_of_order_are_refused():
    with pytest.raises(ModelFileError, match="of no column of numbers"):
        check_tree(tree(), [None, None, 4])
    with pytest.raises(ModelFileError, match="not in the order"):
        check_tree(tree(feature=(4, 3, -1, -1, -1)), [None, None, None])
