"""A node of a growing tree costs what it has seen, never what its columns have."""

import numpy as np
import pandas as pd
import pytest

from gputree import (
    C45Classifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from gputree.backends.categories import CategoryTables
from gputree.growth import builder
from gputree.growth.draft import Draft
from gputree.growth.seek import Seeker

N_ROWS, N_CATEGORIES = 3000, 1000

MODELS = [
    RandomForestClassifier(2, nominal="multiway", random_state=0),
    ExtraTreesClassifier(2, random_state=0),
    RandomForestClassifier(2, backend="numpy", min_samples_category=1, random_state=0),
    DecisionTreeClassifier(missing="surrogate", max_depth=9),
    C45Classifier(pruning=None),
]


def table():
    """A column of many categories, each of which matters, and one of which some are missing."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, N_CATEGORIES, N_ROWS)
    who = pd.Categorical.from_codes(code, [f"w{i}" for i in range(N_CATEGORIES)])
    many = pd.Series(who).mask(rng.random(N_ROWS) < 0.01)
    X = pd.DataFrame({"x": rng.normal(size=N_ROWS), "many": many, "z": rng.normal(size=N_ROWS)})
    return X, (code % 3 == 0) ^ (X["x"] > 0.5).to_numpy() ^ (rng.random(N_ROWS) < 0.1)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_lists_of_a_frontier_have_no_more_categories_than_its_nodes_have_rows(model, monkeypatch):
    excess = []
    note = Draft.note

    def watched(self, nodes, found):
        if found.tables is not None:
            categories = found.tables.categories
            # The code of missing values is listed whether a node has any or not.
            excess.append(
                int((categories.n - 1 - self.n_rows(nodes[categories.node])).max(initial=-1))
            )
        note(self, nodes, found)

    monkeypatch.setattr(Draft, "note", watched)
    model.fit(*table())
    assert len(excess) > 2
    assert max(excess) <= 0


@pytest.mark.parametrize("model", MODELS[:3], ids=lambda model: type(model).__name__)
def test_sums_of_categories_are_of_those_that_nodes_have(model, monkeypatch):
    entries, rows = [], []
    made, seek = CategoryTables.__init__, Seeker.seek

    def counted(self, cells, *others):
        entries.append(len(cells))
        made(self, cells, *others)

    def noted(self, hist, search, sums, nodes):
        rows.append(int((sums.sum(axis=1) + 2).sum()))
        return seek(self, hist, search, sums, nodes)

    monkeypatch.setattr(CategoryTables, "__init__", counted)
    monkeypatch.setattr(Seeker, "seek", noted)
    model.fit(*table())
    # Each pair is looked at a few times; all categories of every node would be a hundred times so.
    assert sum(entries) <= 6 * sum(rows)


def test_tables_of_moves_keep_within_the_frontier(monkeypatch):
    budget = 2**20
    n_bytes = []
    divide = Draft.divide

    def watched(self, nodes):
        moves = divide(self, nodes)
        n_bytes.append(moves.table.nbytes if len(nodes) > 1 else 0)
        return moves

    X, y = table()
    whole = RandomForestClassifier(8, nominal="multiway", random_state=0).fit(X, y).to_bytes()
    monkeypatch.setattr(Draft, "divide", watched)
    init = builder._Growth.__init__

    def frugal(self, backend, start, bins, rules, _, *others):
        init(self, backend, start, bins, rules, budget, *others)

    monkeypatch.setattr(builder._Growth, "__init__", frugal)
    again = RandomForestClassifier(8, nominal="multiway", random_state=0).fit(X, y).to_bytes()
    assert whole == again
    assert len(n_bytes) > 10
    assert max(n_bytes) <= budget // 8
