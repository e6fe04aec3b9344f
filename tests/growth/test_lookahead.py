"""Looking ahead: chessboards are parted along their squares, other problems as they were."""

import numpy as np
import pytest

import gputree.growth.oblique as oblique
from gputree import DecisionTreeClassifier, ObliqueTreeClassifier
from gputree.data.target import class_target
from gputree.growth.directions import NodeRows
from gputree.growth.lookahead import Sample, spread_apart
from tests.report.conftest import mixed_table


def chessboard(n=1500, seed=0, angle=0.5):
    """Four squares of two classes, turned."""
    Z = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 2))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return Z @ turn, ((Z[:, 0] > 0.1) ^ (Z[:, 1] > -0.1)).astype(int)


@pytest.mark.parametrize("angle", [0.2, 1.1])
def test_a_chessboard_is_parted_along_its_squares(angle):
    X, y = chessboard(angle=angle)
    along = DecisionTreeClassifier(pruning="pessimistic").fit(X, y)
    tree = ObliqueTreeClassifier(pruning="pessimistic").fit(X, y)
    assert tree.nodes_.n_nodes * 3 <= along.nodes_.n_nodes
    other = chessboard(seed=1, angle=angle)
    assert tree.score(*other) >= along.score(*other)


def test_without_looking_ahead_it_is_not(monkeypatch):
    X, y = chessboard(angle=0.2)
    ahead = ObliqueTreeClassifier(pruning="pessimistic").fit(X, y)
    monkeypatch.setattr(oblique, "LEAST_ROWS", len(X) + 1)
    plain = ObliqueTreeClassifier(pruning="pessimistic").fit(X, y)
    assert plain.nodes_.n_nodes > ahead.nodes_.n_nodes


def test_a_node_that_one_line_divides_well_is_left_alone(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    X[:, 0] += 3.0 * y
    tree = ObliqueTreeClassifier(max_depth=1).fit(X, y)
    monkeypatch.setattr(oblique, "LEAST_ROWS", len(X) + 1)
    assert ObliqueTreeClassifier(max_depth=1).fit(X, y).to_bytes() == tree.to_bytes()


def test_classes_that_are_spread_in_other_ways_tell_the_plane():
    """Of four columns two make a chessboard: directions have next to nothing of the others."""
    Z = np.random.default_rng(0).uniform(-1.0, 1.0, (4000, 4))
    y = ((Z[:, 1] > 0.0) ^ (Z[:, 3] > 0.0)).astype(int)
    own = NodeRows(Z.T.copy(), np.array([1000, 3000]), np.ones(4000), 4000)
    sample = Sample(own, Z.T.copy(), np.arange(4000))
    for lines in spread_apart(sample, class_target(y, 2, None).label.astype(float)):
        weight = np.abs(lines.weight)
        assert (weight[:, [0, 2]] < 0.25).all()
        assert (weight[:, [1, 3]].max(axis=1) == 1.0).all()
        assert np.abs(lines.limit).max() < 0.1


def test_missing_values_and_weights_are_looked_ahead_over():
    X, y = chessboard(800)
    X = X.copy()
    X[::9, 0], X[::11, 1] = np.nan, np.nan
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    again = np.random.default_rng(2).permutation(np.repeat(np.arange(len(X)), weight))
    how = {"max_depth": 3, "max_bins": 20}
    once = ObliqueTreeClassifier(**how).fit(X, y, sample_weight=weight).nodes_
    many = ObliqueTreeClassifier(**how).fit(X[again], y[again]).nodes_
    assert once.directions.weight.tobytes() == many.directions.weight.tobytes()
    assert once.threshold.tobytes() == many.threshold.tobytes()


def test_rows_end_where_they_were_counted_though_missing_values_are_better_parted():
    X, y = mixed_table(600, 0)
    tree = ObliqueTreeClassifier(max_depth=6, term_cost=0.0, backend="numpy").fit(X, y)
    nodes = tree.nodes_
    n_here = np.bincount(tree.apply(X), minlength=len(nodes.n_rows))
    assert (n_here[nodes.is_leaf] == nodes.n_rows[nodes.is_leaf]).all()
