"""Best-first order, whatever is divided ahead of its turn."""

from hypothesis import given
from hypothesis import strategies as st

from gputree.turns import Turns


def one_by_one(worths, n_turns):
    """The nodes of a complete binary tree that are split, one after another."""
    waiting, split = [(0, 0)], []  # arrival, node
    arrivals = 1
    while waiting and len(split) < n_turns:
        best = min(waiting, key=lambda entry: (-worths[entry[1]], entry[0]))
        waiting.remove(best)
        split.append(best[1])
        for child in (2 * best[1] + 1, 2 * best[1] + 2):
            if child < len(worths):
                waiting.append((arrivals, child))
                arrivals += 1
    return split


@given(st.lists(st.integers(0, 9), min_size=1, max_size=63), st.integers(1, 40))
def test_as_if_nodes_were_split_one_by_one(worths, n_turns):
    turns = Turns(n_turns)
    turns.meet(0, worths[0], -1)
    n_divided = 0
    while wave := turns.next():
        n_divided += len(wave)
        for node in wave:
            turns.divide(node)
            for child in (2 * node + 1, 2 * node + 2):
                if child < len(worths):
                    turns.meet(child, worths[child], node)
    assert turns.settled == one_by_one(worths, n_turns)
    assert n_divided >= len(turns.settled)


def test_the_last_turn_is_known():
    turns = Turns(2)
    turns.meet(0, 1.0, -1)
    assert not turns.is_last
    turns.divide(0)
    turns.meet(1, 1.0, 0)
    assert turns.next() == [1]
    assert turns.is_last
