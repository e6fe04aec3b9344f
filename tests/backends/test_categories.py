"""The best split of unordered categories, against all splits there are."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree import formulas
from gputree.backends.categories import CategoryTables, split_categories
from gputree.backends.contract import NO_SPLIT, CategoryRules
from gputree.data.target import Channels
from gputree.dtypes import STAY
from gputree.kernels.criteria import ENTROPY, GINI

METHODS = ["exact", "ordered", "greedy", "principal", "auto"]
IMPURITY = {GINI: "gini", ENTROPY: "entropy"}
CARS = {"sports": (40, 160), "family": (150, 50), "truck": (60, 40), "luxury": (50, 150)}
VALUES = Channels(1, False, False, 0, (0,), (0,), (0.0,))


def classes(n):
    return Channels(n, True, False)


def rules(criterion=GINI, **given):
    return CategoryRules(criterion, given.pop("min_rows", 1), given.pop("min_weight", 0), **given)


def split_all(table, n_values, channels, how):
    """The splits of nodes with tables of (nodes, codes, channels); slots by node."""
    n_nodes, n_codes, n_channels = table.shape
    tables = CategoryTables(
        table.reshape(-1, n_channels), np.full(n_nodes, n_codes), np.full(n_nodes, n_values)
    )
    found = split_categories(tables, channels, how)
    return replace(found, slot=found.slot.reshape(n_nodes, n_codes))


def split(table, n_values=None, channels=None, **given):
    """The split of one node."""
    table = np.array(table)[None]
    channels = channels or classes(table.shape[2])
    return split_all(table, n_values or table.shape[1], channels, rules(**given))


# Categories with too few rows.


@pytest.mark.parametrize("method", METHODS)
def test_categories_with_too_few_rows_are_split_as_one_category(method):
    table = np.random.default_rng(0).integers(0, 6, (20, 12, 2))
    n_rows = table.sum(axis=2)
    pooled = np.where(n_rows[:, :, None] < 5, 0, table)
    pool = np.where(n_rows[:, :, None] < 5, table, 0).sum(axis=1, keepdims=True)
    by_hand = np.concatenate([pooled, pool], axis=1)
    expected = split_all(by_hand, 13, classes(2), rules(method=method))
    found = split_all(table, 12, classes(2), rules(method=method, min_category=5))
    assert found.score.tobytes() == expected.score.tobytes()
    can = found.score > NO_SPLIT
    assert can.any()
    is_rare = n_rows < 5
    assert is_rare.any(axis=1).all()
    slot = np.where(is_rare, expected.slot[:, 12:], expected.slot[:, :12])
    assert np.array_equal(found.slot[can], slot[can])  # also those that the node has not


def test_nothing_is_pooled_where_all_categories_have_rows_enough():
    assert split([(5, 0), (0, 0), (0, 5)], min_category=5).slot.tolist() == [[0, STAY, 1]]


def test_a_node_whose_categories_all_have_too_few_rows_is_not_split_by_them():
    table = [(2, 0), (0, 2), (2, 0)]
    assert split(table, min_category=3).score.tolist() == [NO_SPLIT]
    assert split(table, min_category=2).score[0] > 0.0


def test_missing_values_may_be_told_from_the_pool():
    found = split([(2, 0), (2, 0), (0, 9)], n_values=2, min_category=3)
    assert found.slot.tolist() == [[0, 0, 1]]


def test_the_rows_of_a_category_are_counted_where_they_have_weights():
    channels = Channels(2, True, True)
    table = [(9, 0, 1), (0, 9, 4), (9, 0, 4), (0, 9, 1)]
    found = split(table, channels=channels, min_category=2)
    assert found.slot[0, 1:3].tolist() == [0, 1]
    assert found.slot[0, 0] == found.slot[0, 3]


# Impurities by the formulas of the textbooks, and every division there is.


def impurity(counts, name):
    share = counts / counts.sum()
    if name == "gini":
        return 1.0 - (share**2).sum()
    return -(share[share > 0] * np.log2(share[share > 0])).sum()


def gain(parts, name):
    """Weight times what the division of class counts into parts lowers the impurity by."""
    parts = [part for part in np.array(parts, float) if part.sum() > 0]
    whole = np.sum(parts, axis=0)
    return whole.sum() * impurity(whole, name) - sum(p.sum() * impurity(p, name) for p in parts)


def gain_of_means(parts, name):
    """The same for parts of (weight, sum of targets)."""
    parts = [part for part in np.array(parts, float) if part[0] > 0]
    weight, total = np.sum(parts, axis=0)
    return sum(part[0] * (part[1] / part[0] - total / weight) ** 2 for part in parts)


def best_of_all(cells, name, gain=gain, weight=lambda part: part.sum()):
    """The highest gain of all divisions of some cells in two parts that both have rows."""
    cells = np.array([cell for cell in cells if weight(cell) > 0])
    best = NO_SPLIT
    for sides in product([False, True], repeat=max(len(cells) - 1, 0)):
        is_right = np.array([False, *sides], bool)[: len(cells)]
        if is_right.any():
            parts = [cells[~is_right].sum(axis=0), cells[is_right].sum(axis=0)]
            best = max(best, gain(parts, name))
    return best


# The cars of a lecture


def cars(*names):
    return np.array([CARS[name] for name in names or CARS])


def weighted_gini(*names):
    left = cars(*names).sum(axis=0)
    right = cars().sum(axis=0) - left
    return (left.sum() * impurity(left, "gini") + right.sum() * impurity(right, "gini")) / 700


def test_the_formulas_give_the_numbers_of_the_lecture():
    assert impurity(cars().sum(axis=0), "gini") == pytest.approx(0.48980, abs=5e-6)
    assert weighted_gini("family") == pytest.approx(0.40714, abs=5e-6)
    assert weighted_gini("family", "truck") == pytest.approx(0.37929, abs=5e-6)
    assert weighted_gini("family", "truck", "luxury") == pytest.approx(0.44800, abs=5e-6)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_parts_family_and_truck_from_the_other_cars(method):
    found = split(cars(), method=method)
    assert found.slot.tolist() == [[0, 1, 1, 0]]  # child 0 has the first category
    assert found.n_children.tolist() == [2]
    assert found.score[0] / 700 == pytest.approx(0.48980 - 0.37929, abs=1e-5)


def test_four_categories_have_seven_divisions(monkeypatch):
    tried = []
    score = formulas.score

    def counting(criterion, left, *others):
        tried.extend(zip(*left, strict=True))
        return score(criterion, left, *others)

    monkeypatch.setattr(formulas, "score", counting)
    split(cars(), method="exact")
    assert len(tried) == len({tuple(left) for left in tried}) == 7


@pytest.mark.parametrize("need", ["min_rows", "min_weight"])
def test_children_have_the_rows_and_the_weight_they_need(need):
    table = [(2, 0), (0, 5), (1, 4)]
    assert split(table).slot.tolist() == [[0, 1, 1]]
    assert split(table, **{need: 3}).slot.tolist() == [[0, 1, 0]]
    assert split(table, **{need: 5}).slot.tolist() == [[0, 1, 0]]
    assert split(table, **{need: 6}).score[0] == NO_SPLIT


# Categories that are not there, and missing values


def test_categories_that_a_node_has_not_are_not_sent_anywhere():
    found = split([(3, 0), (0, 0), (0, 3), (0, 0)], method="auto")
    assert found.slot.tolist() == [[0, STAY, 1, STAY]]


def test_a_node_with_one_category_and_no_missing_values_has_no_split():
    assert split([(3, 2), (0, 0), (0, 0)], n_values=2).score[0] == NO_SPLIT
    assert split([(0, 0), (0, 0), (3, 2)], n_values=2).score[0] == NO_SPLIT


@pytest.mark.parametrize("method", METHODS)
def test_missing_values_go_where_they_gain_more(method):
    for missing, side in [((0, 9), 1), ((9, 0), 0)]:
        found = split([(5, 1), (1, 5), missing], n_values=2, method=method)
        assert found.slot.tolist() == [[0, 1, side]]
        parts = np.array([(5, 1), (1, 5)]) + np.eye(2, dtype=int)[side][:, None] * missing
        assert found.score[0] == pytest.approx(gain(parts, "gini"))


def test_known_and_missing_values_may_be_the_best_division():
    found = split([(5, 0), (5, 0), (0, 9)], n_values=2)
    assert found.slot.tolist() == [[0, 0, 1]]


def test_a_node_without_missing_values_sends_later_ones_to_its_larger_child():
    assert split([(5, 0), (0, 4), (0, 0)], n_values=2).slot.tolist() == [[0, 1, 0]]
    assert split([(5, 0), (0, 6), (0, 0)], n_values=2).slot.tolist() == [[0, 1, 1]]


def test_missing_values_may_be_left_out_or_be_a_category():
    table = [(5, 0), (0, 5), (0, 9)]
    known = split(table, n_values=2, missing="known")
    assert known.slot.tolist() == [[0, 1, STAY]]
    assert known.score[0] == pytest.approx(gain([(5, 0), (0, 5)], "gini"))
    category = split(table, n_values=2, missing="category", is_multiway=True)
    assert category.slot.tolist() == [[0, 1, 2]]


# Against all divisions

tables = st.integers(0, 2**32 - 1).flatmap(
    lambda seed: st.tuples(st.just(seed), st.integers(2, 8), st.booleans())
)


@given(tables, st.sampled_from(list(IMPURITY)))
def test_for_two_classes_the_best_cut_of_the_order_is_the_best_division(drawn, criterion):
    seed, n_categories, has_missing = drawn
    table = np.random.default_rng(seed).integers(0, 9, (n_categories + has_missing, 2))
    best = best_of_all(table, IMPURITY[criterion])
    for method in ("ordered", "exact", "auto"):
        found = split(table, n_values=n_categories, criterion=criterion, method=method)
        assert found.score[0] == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert not found.is_heuristic.any()


@given(tables)
def test_for_one_output_the_best_cut_of_the_order_is_the_best_division(drawn):
    seed, n_categories, has_missing = drawn
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 6, n_categories + has_missing)
    table = np.stack([weight, rng.integers(-50, 50, len(weight)) * weight], axis=1)
    best = best_of_all(table, "variance", gain_of_means, lambda part: part[0])
    for method in ("ordered", "exact", "auto"):
        found = split(table, n_values=n_categories, channels=VALUES, method=method)
        assert found.score[0] == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(tables, st.integers(3, 6), st.sampled_from(list(IMPURITY)))
def test_for_many_classes_all_divisions_are_tried(drawn, n_classes, criterion):
    seed, n_categories, has_missing = drawn
    table = np.random.default_rng(seed).integers(
        0, 9, (min(n_categories, 6) + has_missing, n_classes)
    )
    found = split(table, n_values=min(n_categories, 6), criterion=criterion)
    best = best_of_all(table, IMPURITY[criterion])
    assert found.score[0] == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert not found.is_heuristic.any()


# What is measured over these tables, with some slack: mean and least share of the best score.
@pytest.mark.parametrize(
    ("criterion", "method", "mean", "least"),
    [
        (GINI, "principal", 0.99, 0.65),
        (GINI, "greedy", 0.975, 0.55),
        (ENTROPY, "principal", 0.98, 0.55),
        (ENTROPY, "greedy", 0.97, 0.55),
    ],
)
@pytest.mark.parametrize("n_classes", [3, 4, 5, 6])
def test_heuristics_come_near_the_best_division(criterion, method, mean, least, n_classes):
    table = np.random.default_rng(n_classes).integers(0, 30, (500, 8, n_classes))
    exact = split_all(table, 8, classes(n_classes), rules(criterion, method="exact"))
    found = split_all(table, 8, classes(n_classes), rules(criterion, method=method))
    assert found.is_heuristic.all()
    assert not exact.is_heuristic.any()
    share = found.score / exact.score
    assert share.max() <= 1.0 + 1e-12
    assert share.mean() > mean
    assert share.min() > least


def test_beyond_so_many_categories_divisions_are_not_all_tried():
    table = np.random.default_rng(0).integers(1, 9, (5, 3))
    assert not split(table, most_exact=5).is_heuristic
    assert split(table, most_exact=4).is_heuristic


@pytest.mark.parametrize("method", METHODS)
def test_nodes_searched_together_are_split_as_each_is_alone(method):
    table = np.random.default_rng(3).integers(0, 4, (40, 6, 3))
    together = split_all(table, 5, classes(3), rules(method=method))
    for at, own in enumerate(table):
        alone = split(own, n_values=5, method=method)
        assert alone.score[0] == together.score[at]
        assert alone.slot[0].tolist() == together.slot[at].tolist()


# A child a category


@given(tables, st.integers(2, 5), st.sampled_from(list(IMPURITY)))
def test_a_child_a_category_gains_what_its_children_tell(drawn, n_classes, criterion):
    seed, n_categories, _ = drawn
    table = np.random.default_rng(seed).integers(0, 6, (n_categories, n_classes))
    found = split(table, criterion=criterion, is_multiway=True)
    if (table.sum(axis=1) > 0).sum() < 2:
        assert found.score[0] == NO_SPLIT
    else:
        assert found.score[0] == pytest.approx(gain(table, IMPURITY[criterion]), abs=1e-9)


@given(tables)
def test_a_child_a_category_gains_the_squares_between_their_means(drawn):
    seed, n_categories, _ = drawn
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 6, n_categories)
    table = np.stack([weight, rng.integers(-50, 50, n_categories)], axis=1)
    found = split(table, channels=VALUES, is_multiway=True)
    assert found.score[0] == pytest.approx(gain_of_means(table, "variance"), abs=1e-9)


def test_categories_that_a_node_has_not_share_an_empty_child():
    found = split([(3, 0), (0, 0), (0, 3), (0, 0)], is_multiway=True)
    assert found.slot.tolist() == [[0, 2, 1, 2]]
    assert found.n_children.tolist() == [3]
    whole = split([(3, 0), (0, 3)], is_multiway=True)
    assert whole.n_children.tolist() == [2]


def test_two_of_many_children_must_be_large():
    table = [(3, 0), (1, 2), (1, 0)]
    assert split(table, is_multiway=True, min_rows=3).score[0] > 0
    assert split(table, is_multiway=True, min_rows=4).score[0] == NO_SPLIT
    assert split(table, is_multiway=True, min_weight=4).score[0] == NO_SPLIT
