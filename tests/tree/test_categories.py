"""Lists of categories say what tables say, and cost what a node has seen."""

import numpy as np
import pytest

from gputree import DecisionTreeRegressor
from gputree.dtypes import STAY
from gputree.kernels.categories import place_of
from gputree.tree import categories
from gputree.tree.categories import lists_of, lists_of_tables, quick, slots_of, table_of, tables_of

pd = pytest.importorskip("pandas")


def drawn(seed, n_tests=30):
    """Tables of columns of 0 to 40 categories, in which few children or many take them."""
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 41, n_tests) + 1
    slot = rng.integers(0, np.repeat(rng.integers(1, 6, n_tests), n))
    return np.where(rng.random(len(slot)) < np.repeat(rng.random(n_tests), n), STAY, slot), n


def told(slot, n, rng):
    """The same as tests tell it: where some categories go, in any order, and all others."""
    other, of_test, category, child = [], [], [], []
    for table in np.split(slot, np.cumsum(n)[:-1]):
        rest = int(rng.choice(table[:-1])) if len(table) > 1 else 0
        named = np.flatnonzero((table[:-1] != rest) | (rng.random(len(table) - 1) < 0.2))
        named = rng.permutation(named)
        other.append(rest)
        of_test.append(len(named))
        category += named.tolist()
        child += table[named].tolist()
    unknown = slot[np.cumsum(n) - 1]
    arrays = (n - 1, unknown, of_test, other, category, child)
    return [np.array(each, np.int64) for each in arrays]


@pytest.mark.parametrize("seed", range(3))
def test_a_list_says_what_its_table_says(seed):
    slot, n = drawn(seed)
    start, *lists = lists_of_tables(slot, n)
    again, n_again = tables_of(start, *lists)
    assert n_again.tolist() == n.tolist()
    assert again.tolist() == slot.tolist()
    owner, number = np.repeat(np.arange(len(n)), n), np.concatenate([np.arange(k) for k in n])
    assert slots_of(start[owner], number, *lists).tolist() == slot.tolist()
    found = [
        lists[1][place_of(k, start[at], lists[0])] for at, k in zip(owner, number, strict=True)
    ]
    assert found == slot.tolist()
    assert table_of(start[3], 5, *lists).tolist() == np.split(slot, np.cumsum(n))[3][:5].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_equal_tests_have_equal_lists_however_they_were_told(seed):
    slot, n = drawn(seed)
    expected = lists_of_tables(slot, n)
    found = lists_of(*told(slot, n, np.random.default_rng(seed)))
    for one, other in zip(expected, found, strict=True):
        assert one.tolist() == other.tolist()


def test_tables_take_the_place_of_lists_only_where_they_are_small(monkeypatch):
    slot, n = drawn(5)
    start, *lists = lists_of_tables(slot, n)
    starts = np.insert(start, 2, -1)
    found, category, table = quick(starts, *lists)
    assert not len(category)
    assert table.tolist() == slot.tolist()
    assert found.tolist() == np.insert(np.cumsum(n) - n, 2, -1).tolist()
    monkeypatch.setattr(categories, "FEW_ENTRIES", 0)
    monkeypatch.setattr(categories, "TABLE_ENTRIES", 0)
    assert quick(starts, *lists)[1] is lists[0]


def test_a_node_costs_what_it_has_seen():
    """3,000 categories; a node names no more of them than it has rows, beside two entries."""
    rng = np.random.default_rng(0)
    number = rng.integers(0, 3_000, 4_000)
    X = pd.DataFrame({"who": pd.Categorical(number), "x": rng.normal(size=4_000)})
    y = np.sin(number) + X["x"].to_numpy() ** 2
    tree = DecisionTreeRegressor(min_samples_category=1, max_depth=12).fit(X, y).nodes_
    nodes = np.flatnonzero(tree.category_start >= 0)
    assert len(nodes) > 50
    named = tree.category[tree.category_start[nodes]]
    assert (named <= tree.n_rows[nodes] + 1).all()
    assert len(tree.category) < 0.1 * 3_001 * len(nodes)
