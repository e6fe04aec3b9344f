"""Zhou's Machine Learning, 4.3: the watermelons of table 2.0 with ten rows held in, seven out."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gputree import ID3Classifier

GOLDEN = Path(__file__).parents[1] / "golden"
TRAINING = [1, 2, 3, 6, 7, 10, 14, 15, 16, 17]
VALIDATION = [4, 5, 8, 9, 11, 12, 13]
SEVENTH = 1 / 7


def melons(numbers):
    """Umbilicus comes first, as it ties with colour; ripe comes first, as the book breaks ties."""
    frame = pd.read_csv(GOLDEN / "watermelon2.csv", dtype=str).set_index("id")
    y = frame.pop("ripe").map({"true": "a ripe one", "false": "not ripe"})
    first = ["umbilicus", "color", "root", "sound", "texture", "surface"]
    rows = [str(number) for number in numbers]
    return frame[first].astype("category").loc[rows], y[rows]


def fitted(**params):
    X_val, y_val = melons(VALIDATION)
    more = {"X_val": X_val, "y_val": y_val} if params.get("pruning") else {}
    return ID3Classifier(**params).fit(*melons(TRAINING), **more)


@pytest.fixture
def full():
    return fitted()


def inner(model, node):
    """The feature that a node tests."""
    return model.schema_.names[model.nodes_.feature[node]]


def accuracy(model):
    return model.score(*melons(VALIDATION))


def test_the_grown_tree_is_that_of_figure_4_5(full):
    tree = full.nodes_
    assert inner(full, 0) == "umbilicus"
    categories = full.schema_.categories[0]
    below = {
        category: 1 + int(slot)
        for category, slot in zip(categories, tree.slots(0, len(categories)), strict=True)
    }
    assert inner(full, below["hollow"]) == "color"
    assert inner(full, below["slightly_hollow"]) == "root"
    assert tree.is_leaf[below["flat"]]
    assert accuracy(full) == pytest.approx(3 * SEVENTH)


@pytest.mark.parametrize(
    ("cut", "right"),
    [
        ([0], 3),  # the root as a leaf
        (["hollow", "slightly_hollow"], 5),  # the split by the umbilicus alone
        (["slightly_hollow"], 4),  # node 2 split by colour
        (["hollow"], 5),  # node 3 split by root
    ],
)
def test_accuracies_on_the_way(full, cut, right):
    # What is below a node is cut to its children, to see one split at a time.
    tree, categories = full.nodes_, full.schema_.categories[0]
    nodes = [
        at if at == 0 else 1 + int(tree.slots(0, len(categories))[categories.index(at)])
        for at in cut
    ]
    depth_two = [node for node in range(tree.n_nodes) if tree.depth[node] == 2]
    assert accuracy(full.prune(nodes=nodes + depth_two)) == pytest.approx(right * SEVENTH)


def test_prepruning_leaves_a_stump():
    model = fitted(pruning="pre")
    assert model.get_depth() == 1
    assert inner(model, 0) == "umbilicus"
    assert accuracy(model) == pytest.approx(5 * SEVENTH)
    assert model.pruning_report_.error == pytest.approx((4 * SEVENTH, 2 * SEVENTH))


def test_postpruning_keeps_what_is_as_good():
    """Figure 4.7: texture and the colour of hollow ones are gone, the other colour stays."""
    model = fitted(pruning="reduced_error")
    tested = [inner(model, node) for node in np.flatnonzero(~model.tree_.is_leaf)]
    assert tested == ["umbilicus", "root", "color"]
    assert accuracy(model) == pytest.approx(5 * SEVENTH)


def test_postpruning_by_occams_razor_leaves_the_stump(full):
    model = full.prune("reduced_error", *melons(VALIDATION), prunes_ties=True)
    assert model.to_bytes() == fitted(pruning="pre").to_bytes()
    assert accuracy(model) == pytest.approx(5 * SEVENTH)
