"""Draws depend on who asks, never on when or where."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gputree.kernels.cpu import sampling as compiled
from gputree.sampling import (
    child_keys,
    drawn_by_group,
    feature_ranks,
    mix,
    root_key,
    shares,
    shuffled,
)

keys = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8).map(
    lambda numbers: np.array(numbers, np.uint64)
)


def splitmix(state, n):
    """The reference: SplitMix64 by Steele, Lea and Flood, in plain integers."""
    found = []
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        found.append(z ^ (z >> 31))
    return found


@pytest.mark.parametrize("seed", [0, 1, 1234567, 2**64 - 1])
def test_mixing_gives_the_numbers_of_splitmix(seed):
    assert mix(np.array([seed], np.uint64), np.arange(5, dtype=np.uint64)).tolist() == splitmix(
        seed, 5
    )


def test_the_first_numbers_of_splitmix_are_the_published_ones():
    found = mix(np.array([1234567], np.uint64), np.arange(3, dtype=np.uint64))
    assert found.tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(keys, st.integers(1, 20))
def test_a_draw_depends_on_its_key_only(key, n_features):
    together = feature_ranks(key, n_features)
    for at in range(len(key)):
        assert_array_equal(together[at], feature_ranks(key[at : at + 1], n_features)[0])
    assert_array_equal(feature_ranks(key[::-1], n_features), together[::-1])


@given(keys, st.integers(1, 40))
def test_ranks_are_permutations(key, n_features):
    ranks = feature_ranks(key, n_features)
    assert ranks.shape == (len(key), n_features)
    assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(n_features), (len(key), 1)))


def test_every_feature_is_as_likely_at_every_rank():
    """10,000 draws of 5 features: each count is 2,000, give or take four standard deviations."""
    key = mix(np.uint64(3), np.arange(10_000, dtype=np.uint64))
    ranks = feature_ranks(key, 5)
    for rank in range(5):
        assert (abs((ranks == rank).sum(axis=0) - 2000) < 160).all()


def test_every_order_of_three_features_is_as_likely():
    key = mix(np.uint64(4), np.arange(12_000, dtype=np.uint64))
    order = feature_ranks(key, 3) @ np.array([9, 3, 1])
    _, count = np.unique(order, return_counts=True)
    assert len(count) == 6
    assert (abs(count - 2000) < 170).all()


def test_nearby_seeds_and_trees_have_unrelated_draws():
    ranks = [feature_ranks(root_key(seed, tree), 12)[0] for seed in range(20) for tree in range(20)]
    assert len(np.unique(np.array(ranks), axis=0)) == 400


def test_a_parent_and_its_children_draw_differently():
    parent = root_key(5)
    ranks = [feature_ranks(key, 12)[0].tolist() for key in (parent, *both(parent))]
    assert ranks[0] != ranks[1] != ranks[2] != ranks[0]


def both(key):
    return child_keys(key, 0), child_keys(key, 1)


def test_all_nodes_of_a_deep_tree_have_keys_of_their_own():
    level, seen = root_key(7), [root_key(7)]
    for _ in range(14):
        level = np.concatenate(both(level))
        seen.append(level)
    key = np.concatenate(seen)
    assert len(np.unique(key)) == len(key) == 2**15 - 1


def test_roots_differ_by_seed_and_by_tree():
    key = [int(root_key(seed, tree)[0]) for seed in range(50) for tree in range(50)]
    assert len(set(key)) == 2500


def test_the_same_seed_gives_the_same_root_for_ever():
    """Pinned: a change here changes every model that was fitted with max_features."""
    assert root_key(0).tolist() == [splitmix(splitmix(0, 1)[0], 1)[0]]
    assert root_key(0, 3).tolist() == [splitmix(splitmix(0, 1)[0], 4)[3]]
    assert child_keys(root_key(0), 1).tolist() == [splitmix(root_key(0).tolist()[0], 2)[1]]


def test_the_same_seed_gives_the_same_draw_for_ever():
    assert feature_ranks(root_key(0), 6).tolist() == [[4, 3, 5, 0, 1, 2]]


@pytest.mark.parametrize("n_features", [7, compiled.FEW_FEATURES + 9])
def test_compiled_draws_are_the_same(n_features):
    key = root_key(5, 3)
    numbers = mix(key, np.arange(9, dtype=np.uint64))
    assert [compiled.mix(key[0], np.uint64(i)) for i in range(9)] == numbers.tolist()
    assert [compiled.share(number) for number in numbers] == shares(numbers).tolist()
    rank = feature_ranks(key, n_features)[0]
    for n_drawn in (1, n_features // 2, n_features):
        turn = np.empty(n_features, np.int64)
        compiled.draw(key[0], n_features, n_drawn, np.empty(n_features, np.uint64), turn)
        assert_array_equal(rank[turn[:n_drawn]], np.arange(n_drawn))


@given(st.lists(st.integers(0, 5), min_size=2, max_size=60), st.data(), st.integers(0, 9))
def test_every_group_has_its_share_drawn_and_a_row_left(group, data, seed):
    group = np.array(group)
    n = data.draw(st.integers(1, len(group) - 1))
    is_drawn = drawn_by_group(seed, group, n)
    for number in np.unique(group):
        own = is_drawn[group == number]
        assert own.sum() < len(own)
        assert abs(own.sum() - len(own) * n / len(group)) <= 1
    can_give_more = (np.bincount(group) > 1).all()
    assert is_drawn.sum() == n if can_give_more else is_drawn.sum() <= n


def test_of_a_single_group_the_first_in_random_order_are_drawn():
    is_drawn = drawn_by_group(3, np.zeros(40, int), 7)
    assert set(np.flatnonzero(is_drawn)) == set(shuffled(3, 40)[:7])
