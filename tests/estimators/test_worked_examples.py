"""The numbers that textbooks and lectures print, from fitted trees."""

import csv
from pathlib import Path

import numpy as np
import pytest

from gputree import DecisionTreeClassifier

MELONS = Path(__file__).parents[1] / "golden" / "watermelon3.csv"  # Zhou, Machine Learning, ch. 4

# The lecture's table of (y=0, y=1) in a node, and its impurities.
IMPURITIES = [
    ((6, 0), {"error": 0.0, "gini": 0.0, "entropy": 0.0}),
    ((2, 4), {"error": 1 / 3, "gini": 4 / 9, "entropy": 0.918}),
    ((5, 1), {"error": 1 / 6, "gini": 10 / 36, "entropy": 0.650}),
    ((13, 5), {"error": 5 / 18, "gini": 65 / 162, "entropy": 0.85241}),
]
CARS = {"sports": (40, 160), "luxury": (50, 150), "truck": (60, 40), "family": (150, 50)}


@pytest.fixture(scope="module")
def melons():
    """The watermelon table 3.0, a list of strings a column."""
    with MELONS.open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def numbers(melons, *names):
    return np.column_stack([melons[name].astype(float) for name in names])


def from_counts(*counts):
    """A column that says which group a row is in, and labels with the given counts."""
    column = np.repeat(np.arange(len(counts)), [sum(pair) for pair in counts])
    label = np.concatenate([np.repeat([0, 1], pair) for pair in counts])
    return column[:, None], label


@pytest.mark.parametrize("criterion", ["error", "gini", "entropy"])
@pytest.mark.parametrize(("counts", "expected"), IMPURITIES, ids=str)
def test_a_leaf_has_the_impurity_that_the_lecture_prints(counts, expected, criterion):
    X, y = from_counts(counts)
    tree = DecisionTreeClassifier(criterion=criterion).fit(X, y).nodes_
    assert tree.n_nodes == 1
    assert tree.impurity[0] == pytest.approx(expected[criterion], abs=5e-4)


@pytest.mark.parametrize(
    ("criterion", "gain"), [("error", 1 / 9), ("gini", 13 / 81), ("entropy", 0.32963)]
)
def test_splitting_13_and_5_in_three_gains_what_the_lecture_prints(criterion, gain):
    X, y = from_counts((2, 4), (6, 0), (5, 1))
    tree = DecisionTreeClassifier(criterion=criterion).fit(X, y).nodes_
    leaf = tree.is_leaf
    left = (tree.weight * tree.impurity)[leaf].sum() / tree.weight[0]
    assert tree.impurity[0] - left == pytest.approx(gain, abs=5e-6)
    assert (tree.weight * tree.gain).sum() / tree.weight[0] == pytest.approx(gain, abs=5e-6)


@pytest.mark.parametrize(
    ("names", "feature", "gain", "threshold"),
    [
        (["density"], 0, 0.262, 0.3815),
        (["sugar"], 0, 0.349, 0.126),
        (["density", "sugar"], 1, 0.349, 0.126),
    ],
    ids=str,
)
def test_numeric_columns_of_the_watermelons_gain_what_zhou_prints(
    melons, names, feature, gain, threshold
):
    X = numbers(melons, *names)
    model = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(X, melons["ripe"])
    assert model.tree_.impurity[0] == pytest.approx(0.998, abs=5e-4)
    assert model.nodes_.feature[0] == feature
    assert model.tree_.gain[0] == pytest.approx(gain, abs=5e-4)
    assert model.nodes_.threshold[0] == pytest.approx(threshold, abs=1e-12)


def test_the_surface_of_a_watermelon_tells_next_to_nothing(melons):
    X = (melons["surface"] == "hard")[:, None]
    model = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(X, melons["ripe"])
    assert model.tree_.gain[0] == pytest.approx(0.006, abs=5e-4)


def test_among_clear_watermelons_density_parts_the_ripe_ones(melons):
    clear = melons["texture"] == "clear"
    X, y = numbers(melons, "density", "sugar")[clear], melons["ripe"][clear]
    model = DecisionTreeClassifier(criterion="entropy").fit(X, y)
    assert model.nodes_.feature.tolist() == [0, -1, -1]
    assert model.nodes_.threshold[0] == pytest.approx(0.3815, abs=1e-12)
    assert model.score(X, y) == 1.0


def test_cars_split_between_sporty_and_spacious_ones():
    X, y = from_counts(*CARS.values())
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y).nodes_
    assert tree.impurity[0] == pytest.approx(0.48980, abs=5e-6)
    assert tree.impurity[0] - tree.gain[0] == pytest.approx(0.37929, abs=5e-6)
    assert tree.threshold[0] == 1.5
    assert tree.value.tolist() == [[300.0, 400.0], [90.0, 310.0], [210.0, 90.0]]


@pytest.mark.parametrize(("first", "gini"), [(["family"], 0.40714), (["sports"], 0.44800)])
def test_the_other_cuts_of_the_cars_are_worse_by_the_lectures_figures(first, gini):
    """{family, truck, luxury} against {sports} is 0.44800, where the lecture slips."""
    X, y = from_counts(*CARS.values())
    is_first = np.isin(np.array(list(CARS))[X], first)
    tree = DecisionTreeClassifier(max_depth=1).fit(is_first, y).nodes_
    assert tree.impurity[0] - tree.gain[0] == pytest.approx(gini, abs=5e-6)
