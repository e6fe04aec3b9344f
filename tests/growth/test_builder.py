"""The builder tells a backend what to do; a scripted one, without any data, writes it down."""

import numpy as np
import pytest

from gputree.backends import registry
from gputree.backends.contract import NO_SPLIT, Splits
from gputree.data.bins import Bins, FeatureBins
from gputree.data.cuts import bin_table
from gputree.data.table import Column, Kind, Table
from gputree.data.target import Channels, Target, value_target
from gputree.growth.builder import grow
from gputree.growth.finish import Finish, finish
from gputree.growth.rules import Rules
from gputree.kernels.criteria import GINI

BINS = Bins((FeatureBins("x", Kind.NUMERIC, None, np.array([0.0]), np.array([1.0]), False),))
PLENTY = 1000  # nodes


class Scripted:
    """Sums are lists of node numbers; splits are read from a script: node -> (score, left sums).

    Numbers are those of the draft: the children of a node are 2k+1 and 2k+2 for the k-th division.
    """

    def __init__(self, script, spans=None):
        self.script, self.spans, self.said = script, spans or {}, []

    def begin(self, data, bins, target):
        self.channels = target.channels
        return "rows"

    def hist_bytes(self, bins, channels, n_rows):
        return np.ones(len(n_rows), np.int64)

    def tally(self, rows, nodes):
        self.said.append(("tally", nodes.tolist()))
        return nodes.tolist()

    def derive(self, built, siblings, above):
        for node, place, parent in zip(
            siblings.node.tolist(), siblings.built.tolist(), siblings.parent.tolist(), strict=True
        ):
            if parent < 0:
                assert built[place] == node
            else:
                assert built[place] == (node + 1 if node % 2 else node - 1)
                self.said.append(("derive", node, "from", above[parent]))
        return siblings.node.tolist()

    def best_splits(self, hist, search):
        self.said.append(("search", hist))
        nothing = (NO_SPLIT, [0] * self.channels.n)
        score, left = zip(*(self.script.get(node, nothing) for node in hist), strict=True)
        n = len(hist)
        zeros = np.zeros(n, np.int64)
        return Splits(np.array(score), zeros, zeros, zeros + 1, zeros, np.array(left))

    def span(self, rows, nodes):
        self.said.append(("span", nodes.tolist()))
        return np.array([[self.spans[node]] for node in nodes.tolist()], np.float64)

    def route(self, rows, moves):
        self.said.append(("route", moves.node.tolist(), moves.first_child.tolist()))
        return rows


def classes(*totals):
    label = np.repeat(np.arange(len(totals)), totals)
    return Target(Channels(len(totals), True, False), None, label, None, None)


def numbers(n_rows):
    """A regression whose channels are the number of rows and a sum."""
    point = np.zeros((1, n_rows))
    channels = Channels(1, False, False, 0, (0,), (0.0,))
    return Target(channels, None, None, point, point.astype(np.int64))


def grown(backend, target, budget=PLENTY, **rules):
    return grow(backend, "data", BINS, target, Rules(GINI, **rules), budget)


def shape(found):
    """The numbers of the children of each node of the tree."""
    return found.layout.first_child.tolist()


# Which sums are tallied and which derived.


def test_only_the_smaller_child_is_tallied():
    backend = Scripted({0: (1.0, [2, 1])})  # 3 of 10 rows go left
    found = grown(backend, classes(6, 4))
    assert backend.said == [
        ("tally", [0]),
        ("search", [0]),
        ("route", [0], [1]),
        ("tally", [1]),
        ("derive", 2, "from", 0),
        ("search", [1, 2]),
    ]
    assert shape(found) == [1, -1, -1]


def test_the_right_child_is_tallied_where_it_is_smaller():
    backend = Scripted({0: (1.0, [4, 3])})
    grown(backend, classes(6, 4))
    assert backend.said[3:] == [("tally", [2]), ("derive", 1, "from", 0), ("search", [1, 2])]


def test_of_two_children_alike_the_left_one_is_tallied():
    backend = Scripted({0: (1.0, [3, 2])})
    grown(backend, classes(6, 4))
    assert backend.said[3:5] == [("tally", [1]), ("derive", 2, "from", 0)]


def test_smaller_means_fewer_rows_and_not_less_weight():
    channels = Channels(2, True, True)
    label, weight = np.array([0, 1, 0, 1]), np.array([97, 1, 1, 1])
    backend = Scripted({0: (1.0, [97, 0, 1])})  # one heavy row goes left
    grown(backend, Target(channels, weight, label, None, None))
    assert backend.said[3] == ("tally", [1])


def test_pure_nodes_are_not_searched():
    backend = Scripted({0: (1.0, [6, 0])})
    found = grown(backend, classes(6, 4))
    assert backend.said == [("tally", [0]), ("search", [0]), ("route", [0], [1])]
    assert shape(found) == [1, -1, -1]


def test_a_pure_small_child_is_tallied_for_the_sake_of_its_sibling():
    backend = Scripted({0: (1.0, [3, 0])})
    grown(backend, classes(6, 4))
    assert backend.said[3:] == [("tally", [1]), ("derive", 2, "from", 0), ("search", [2])]


def test_a_pure_large_child_is_not_derived():
    backend = Scripted({0: (1.0, [5, 0])})
    grown(backend, classes(7, 2))
    assert backend.said[3:] == [("tally", [2]), ("search", [2])]


def test_children_of_many_nodes_are_searched_together():
    """Both children of the root are split; of the grandchildren 3, 4 | 5, 6 only 5 is pure."""
    script = {0: (1.0, [8, 8]), 1: (1.0, [2, 1]), 2: (1.0, [3, 0])}
    backend = Scripted(script)
    grown(backend, classes(16, 16))
    assert backend.said[5:] == [
        ("search", [1, 2]),
        ("route", [1, 2], [3, 5]),
        ("tally", [3, 5]),
        ("derive", 4, "from", 1),
        ("derive", 6, "from", 2),
        ("search", [3, 4, 6]),
    ]


def test_a_child_is_derived_from_its_own_parent_where_not_all_were_split():
    """Node 1 stays a leaf, so node 2 is first in its batch but second in the sums."""
    backend = Scripted({0: (1.0, [8, 8]), 2: (1.0, [2, 1])})
    grown(backend, classes(16, 16))
    assert backend.said[-3:] == [("tally", [3]), ("derive", 4, "from", 2), ("search", [3, 4])]


def test_a_family_of_pure_children_is_not_tallied():
    """Node 1 has children of one class each, node 2 has not."""
    backend = Scripted({0: (1.0, [8, 8]), 1: (1.0, [8, 0]), 2: (1.0, [2, 1])})
    grown(backend, classes(16, 16))
    assert backend.said[-3:] == [("tally", [5]), ("derive", 6, "from", 2), ("search", [5, 6])]


# The budget.


def test_with_room_for_one_node_both_children_are_tallied():
    backend = Scripted({0: (1.0, [2, 1])})
    grown(backend, classes(6, 4), budget=1)
    assert backend.said[2:] == [
        ("route", [0], [1]),
        ("tally", [1]),
        ("search", [1]),
        ("tally", [2]),
        ("search", [2]),
    ]


def full_script(depth):
    """Every node of a full tree splits its rows evenly, numbered breadth-first."""
    rows = 2 ** (depth + 1)
    script, level = {}, [0]
    for at in range(depth):
        rows //= 2
        script |= {node: (1.0 + node % 3, [rows // 2, rows // 2]) for node in level}
        level = range(2 ** (at + 1) - 1, 2 ** (at + 2) - 1)
    return script


class Halving(Scripted):
    """Nodes are cut in half, and are worth as much as they have rows of the first class."""

    def begin(self, data, bins, target):
        self.sums = {0: target.totals}
        return super().begin(data, bins, target)

    def best_splits(self, hist, search):
        sums = {node: self.sums[node] for node in hist if self.sums[node].min() > 1}
        self.script = {node: (float(some[0]), some // 2) for node, some in sums.items()}
        return super().best_splits(hist, search)

    def route(self, rows, moves):
        for node, first in zip(moves.node.tolist(), moves.first_child.tolist(), strict=True):
            self.sums[first] = self.sums[node] // 2
            self.sums[first + 1] = self.sums[node] - self.sums[first]
        return super().route(rows, moves)


@pytest.mark.parametrize("max_leaves", [None, 6])
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 7, 16])
def test_no_budget_changes_the_tree(budget, max_leaves):
    found, right = (
        grown(Halving({}), classes(13, 22), room, max_leaves=max_leaves)
        for room in (budget, PLENTY)
    )
    assert shape(found) == shape(right)
    sums, same = (g.draft.sums[g.layout.node].tolist() for g in (found, right))
    assert sums == same
    assert len(sums) > 10


def test_the_sums_of_parents_are_held_until_those_of_the_children_are_derived():
    """One parent, two children searched, one of them tallied."""
    assert grown(Scripted({0: (1.0, [3, 2])}), classes(6, 4)).peak_bytes == 4


@pytest.mark.parametrize("budget", [8, 12, 16, 40])
def test_the_sums_held_at_once_stay_within_the_budget(budget):
    backend = Scripted(full_script(5))
    found = grown(backend, classes(32, 32), budget)
    assert 1 < found.peak_bytes <= budget
    assert len(found.layout.node) == 63


def test_a_frontier_is_an_eighth_of_the_budget():
    """Each node divided makes two to search and up to two to tally; as many sums are kept.

    Beside sums, a node takes the child of each of its codes.
    """
    backend = Scripted(full_script(5))
    n_bytes = 1 + 2 * int(BINS.n_codes[0])
    grown(backend, classes(32, 32), budget=16 * n_bytes)
    routed = [len(said[1]) for said in backend.said if said[0] == "route"]
    assert max(routed) == 2


# Order.


def test_nodes_are_split_breadth_first():
    backend = Scripted(full_script(3))
    found = grown(backend, classes(8, 8))
    assert [said[1] for said in backend.said if said[0] == "route"] == [[0], [1, 2], [3, 4, 5, 6]]
    assert shape(found) == [1, 3, 5, 7, 9, 11, 13] + 8 * [-1]


def test_nodes_are_split_best_first_where_leaves_are_counted():
    """Of nodes 1 and 2 the second is better, and its children are better still."""
    script = {
        0: (1.0, [8, 8]),
        1: (2.0, [4, 4]),
        2: (3.0, [4, 4]),
        3: (9.0, [2, 2]),
        5: (1.5, [2, 2]),
    }
    backend = Scripted(script)
    found = grown(backend, classes(16, 16), budget=4, max_leaves=4)
    assert shape(found) == [1, -1, 3, 5, -1, -1, -1]


def test_priorities_that_differ_by_rounding_only_tie():
    """Node 2 is better by one unit in the last place; node 1 came first."""
    up = np.nextafter(3.3, 4.0)
    script = {0: (1.0, [8, 8]), 1: (3.3, [4, 4]), 2: (up, [4, 4])}
    found = grown(Scripted(script), classes(16, 16), max_leaves=3)
    assert shape(found) == [1, 3, -1, -1, -1]


# Where growth ends.


def test_a_root_that_may_not_be_split_is_not_even_tallied():
    backend = Scripted({})
    found = grown(backend, classes(6, 0))
    assert (backend.said, shape(found), found.peak_bytes) == ([], [-1], 0)


def test_a_node_without_an_admissible_split_is_a_leaf():
    backend = Scripted({0: (NO_SPLIT, [0, 0])})
    assert shape(grown(backend, classes(6, 4))) == [-1]


def test_a_split_of_too_low_a_score_is_refused():
    assert shape(grown(Scripted({0: (1.0, [2, 1])}), classes(6, 4), min_score=1.1)) == [-1]
    assert shape(grown(Scripted({0: (1.0, [2, 1])}), classes(6, 4), min_score=1.0)) == [1, -1, -1]


def test_growth_ends_at_the_largest_depth():
    backend = Scripted(full_script(4))
    found = grown(backend, classes(16, 16), max_depth=2)
    assert shape(found) == [1, 3, 5, -1, -1, -1, -1]
    assert backend.said[-1] == ("route", [1, 2], [3, 5])


def test_an_impure_class_node_is_split_without_gain_and_without_a_question():
    backend = Scripted({0: (0.0, [3, 2])})
    assert shape(grown(backend, classes(6, 4))) == [1, -1, -1]
    assert shape(grown(Scripted(backend.script), classes(6, 4), splits_without_gain=False)) == [-1]


# Regression nodes, whose sums do not tell whether they are pure.


def test_a_regression_node_whose_best_score_is_zero_is_asked_for_its_span():
    backend = Scripted({0: (0.0, [2, 0])}, spans={0: (5, 5)})
    assert shape(grown(backend, numbers(4))) == [-1]
    assert backend.said == [("tally", [0]), ("search", [0]), ("span", [0])]


def test_a_regression_node_of_different_targets_is_split_even_without_gain():
    backend = Scripted({0: (0.0, [2, 0])}, spans={0: (-5, 5)})
    assert shape(grown(backend, numbers(4))) == [1, -1, -1]


def test_a_regression_node_that_gains_is_not_asked():
    backend = Scripted({0: (1.0, [1, 0])})
    assert shape(grown(backend, numbers(3))) == [1, -1, -1]
    assert "span" not in [said[0] for said in backend.said]


@pytest.mark.parametrize("rules", [{"min_score": 0.1}, {"splits_without_gain": False}])
def test_a_regression_node_that_would_not_be_split_anyway_is_not_asked(rules):
    backend = Scripted({0: (0.0, [2, 0])})
    assert shape(grown(backend, numbers(4), **rules)) == [-1]
    assert "span" not in [said[0] for said in backend.said]


def test_only_doubtful_nodes_are_asked():
    script = {0: (1.0, [4, 0]), 1: (0.0, [2, 0]), 2: (1.0, [2, 0])}
    backend = Scripted(script, spans={1: (0, 0)})
    found = grown(backend, numbers(8))
    assert [said for said in backend.said if said[0] == "span"] == [("span", [1])]
    assert shape(found) == [1, -1, 3, -1, -1]


def test_several_outputs_are_pure_only_together():
    class TwoOutputs(Scripted):
        def span(self, rows, nodes):
            return np.array([[[5, 5], [1, 2]]], np.float64)

    point = np.zeros((2, 4))
    channels = Channels(2, False, False, 0, (0, 0), (0.0, 0.0))
    target = Target(channels, None, None, point, point.astype(np.int64))
    assert shape(grown(TwoOutputs({0: (0.0, [2, 0, 0])}), target)) == [1, -1, -1]


@pytest.mark.parametrize("weight", [None, [1, 2, 3, 1, 2, 3], [0.1, 0.37, 0.7, 0.13, 0.9, 0.33]])
def test_rows_of_one_target_are_a_leaf_whatever_their_weights(weight):
    """Three targets, so two splits."""
    backend = registry.choose(backend="numpy").backend
    given = None if weight is None else np.array(weight, np.float64)
    target = value_target(np.array([[0.3]] * 3 + [[0.7]] * 2 + [[1.9]]), given)
    table = Table((Column("x", Kind.NUMERIC, np.arange(6.0)),), 6)
    bins, data = bin_table(backend, table, target.weight, 255)
    found = grow(backend, data, bins, target, Rules(GINI), 10**6)
    tree = finish(found, target, backend.leaves(found.rows), Finish(None))
    assert tree.threshold[~tree.is_leaf].tolist() == [4.5, 2.5]
    assert tree.n_leaves == 3
