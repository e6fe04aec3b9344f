"""The order in which nodes are split does not depend on how they are handed out."""

import heapq
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree.growth.queue import Batch, BestFirst, FirstInFirstOut

NO_PARENT = np.array([-1])


def batch(nodes, priority=None, hist=None):
    nodes = np.array(nodes)
    priority = np.zeros(len(nodes)) if priority is None else np.array(priority, np.float64)
    ones = np.ones(len(nodes), np.int64)
    n_bytes = 0 if hist is None else len(nodes)
    return Batch(nodes, priority, np.arange(len(nodes)), hist, ones, n_bytes)


def popped(queue, limit):
    """All nodes in the order in which they come, a list a batch."""
    found = []
    while (piece := queue.pop(limit)) is not None:
        found.append(piece.node.tolist())
    return found


def test_a_piece_of_a_batch_keeps_what_belongs_to_its_nodes():
    place, n_bytes = np.array([2, 4, 5]), np.array([10, 20, 30])
    whole = Batch(np.array([7, 8, 9]), np.array([0.1, 0.2, 0.3]), place, "hist", n_bytes, 60)
    piece = whole[np.array([2, 0])]
    assert piece.node.tolist() == [9, 7]
    assert piece.priority.tolist() == [0.3, 0.1]
    assert piece.place.tolist() == [5, 2]
    assert piece.hist == "hist"


# First in, first out.


def test_nodes_come_out_in_the_order_in_which_they_came():
    queue = FirstInFirstOut()
    queue.push(batch([0, 1, 2]), np.zeros(3))
    queue.push(batch([5, 4], [9.0, 9.0]), np.zeros(2))
    assert popped(queue, 10) == [[0, 1, 2], [5, 4]]


def test_a_batch_larger_than_the_limit_comes_in_pieces_before_the_next():
    queue = FirstInFirstOut()
    queue.push(batch([0, 1, 2, 3, 4]), np.zeros(5))
    queue.push(batch([5]), np.zeros(1))
    assert popped(queue, 2) == [[0, 1], [2, 3], [4], [5]]


def test_a_piece_knows_the_places_of_its_nodes_in_the_sums():
    queue = FirstInFirstOut()
    queue.push(batch([7, 8, 9]), np.zeros(3))
    assert [queue.pop(2).place.tolist(), queue.pop(2).place.tolist()] == [[0, 1], [2]]


def test_an_empty_batch_is_no_batch():
    queue = FirstInFirstOut()
    queue.push(batch([]), np.zeros(0))
    assert queue.pop(5) is None
    assert queue.split_nodes(3).tolist() == [False, False, False]


def test_every_node_that_came_out_is_split():
    queue = FirstInFirstOut()
    queue.push(batch([0, 3]), np.zeros(2))
    queue.push(batch([4]), np.zeros(1))
    popped(queue, 1)
    assert queue.split_nodes(6).tolist() == [True, False, False, True, True, False]


def test_a_queue_knows_how_many_sums_it_keeps():
    queue = FirstInFirstOut()
    queue.push(batch([0, 1, 2], hist="hist"), np.zeros(3))
    queue.push(batch([5]), np.zeros(1))
    assert queue.bytes_kept() == 3
    queue.pop(2)
    assert queue.bytes_kept() == 3  # the sums of a batch stay together until its last piece
    queue.pop(2)
    assert queue.bytes_kept() == 0


# Best first.


class Wood:
    """A tree to be discovered: the worth of a node follows from the path to it."""

    def __init__(self, seed, n_priorities):
        self.seed, self.n_priorities = seed, n_priorities

    def priority(self, path):
        return Random(f"{self.seed} {path} priority").randrange(self.n_priorities)

    def children(self, path):
        """The children that can be split."""
        both = [path + "0", path + "1"]
        return [child for child in both if Random(f"{self.seed} {child} can").random() < 0.7]


def one_after_another(wood, max_leaves):
    """The definition: always the best leaf next, the one that was there first if several are."""
    heap, arrivals, split = [(-wood.priority(""), 0, "")], 1, set()
    while heap and len(split) < max_leaves - 1:
        _, _, path = heapq.heappop(heap)
        split.add(path)
        for child in wood.children(path):
            heapq.heappush(heap, (-wood.priority(child), arrivals, child))
            arrivals += 1
    return split


def grown(wood, max_leaves, limit, piece):
    """What the builder does: nodes are numbered as they are divided, children come in pieces."""
    queue, path, number = BestFirst(max_leaves), [""], {"": 0}
    queue.push(batch([0], [wood.priority("")]), NO_PARENT)
    divided = set()
    while (found := queue.pop(limit)) is not None:
        nodes = found.node.tolist()
        assert 0 < len(nodes) <= limit
        assert divided.isdisjoint(nodes)
        assert [wood.priority(path[node]) for node in nodes] == found.priority.tolist()
        divided.update(nodes)
        children = []
        for node in nodes:
            for slot in "01":
                number[path[node] + slot] = len(path)
                path.append(path[node] + slot)
            children += [(number[child], node) for child in wood.children(path[node])]
        for first in range(0, len(children), piece):
            some = children[first : first + piece]
            numbers = [child for child, _ in some]
            worth = [wood.priority(path[child]) for child in numbers]
            queue.push(batch(numbers, worth), np.array([parent for _, parent in some]))
    return {path[node] for node in np.flatnonzero(queue.split_nodes(len(path))).tolist()}


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@given(
    seed=st.integers(0, 10**6),
    n_priorities=st.sampled_from([1, 3, 1000]),
    max_leaves=st.integers(2, 25),
    piece=st.sampled_from([1, 3, 100]),
)
def test_best_first_splits_what_splitting_one_after_another_splits(
    limit, seed, n_priorities, max_leaves, piece
):
    wood = Wood(seed, n_priorities)
    assert grown(wood, max_leaves, limit, piece) == one_after_another(wood, max_leaves)


def test_best_first_hands_out_nodes_of_one_batch_at_a_time():
    """Node 3 is the second best, but its sums are elsewhere."""
    queue = BestFirst(10)
    queue.push(batch([0, 1, 2], [5.0, 1.0, 3.0], hist="first"), np.full(3, -1))
    queue.push(batch([3], [4.0], hist="second"), NO_PARENT)
    piece = queue.pop(10)
    assert (piece.node.tolist(), piece.place.tolist(), piece.hist) == (
        [0, 2, 1],
        [0, 2, 1],
        "first",
    )
    assert queue.pop(10).node.tolist() == [3]


def test_best_first_looks_ahead_by_half_of_the_splits_to_come():
    queue = BestFirst(5)
    queue.push(batch([0, 1, 2], [1.0, 2.0, 3.0]), np.full(3, -1))
    assert queue.pop(10).node.tolist() == [2, 1]


def test_best_first_stops_when_there_are_enough_leaves():
    queue = BestFirst(2)
    queue.push(batch([0], [1.0]), NO_PARENT)
    assert queue.pop(5).node.tolist() == [0]
    queue.push(batch([1, 2], [1.0, 1.0]), np.array([0, 0]))
    assert queue.pop(5) is None
    assert queue.split_nodes(3).tolist() == [True, False, False]


def test_best_first_forgets_the_sums_of_batches_that_are_done():
    queue = BestFirst(5)
    queue.push(batch([0], [1.0], hist="first"), NO_PARENT)
    assert queue.bytes_kept() == 1
    queue.pop(5)
    queue.push(batch([1, 2], [2.0, 3.0], hist="second"), np.array([0, 0]))
    queue.pop(1)  # gives node 0 its turn
    assert queue.bytes_kept() == 2


def test_best_first_with_nothing_to_split_keeps_nothing():
    queue = BestFirst(5)
    queue.push(batch([]), np.zeros(0))
    assert queue.pop(5) is None
    assert queue.split_nodes(1).tolist() == [False]
