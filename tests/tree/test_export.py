"""A tree as text: exact lines, levels by name, any depth."""

import sys

import numpy as np
import pytest

from gputree import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.tree.export import tree_text
from gputree.tree.tree import Tree

NAN = np.nan


def tree(**changed):
    """Node 0 tests feature 1 -> leaf 1, node 2 tests feature 0 -> leaves 3 and 4."""
    arrays = {
        "kind": [1, 0, 1, 0, 0],
        "feature": [1, -1, 0, -1, -1],
        "threshold": [0.5, NAN, -1.25, NAN, NAN],
        "missing_slot": [0, 0, 0, 0, 0],
        "first_child": [1, -1, 3, -1, -1],
        "gain": [0.1, 0.0, 0.1, 0.0, 0.0],
        "impurity": [0.5, 0.0, 0.5, 0.0, 0.0],
        "n_rows": [8, 6, 2, 1, 1],
        "weight": [8.0, 6.0, 2.0, 1.0, 1.0],
        "value": [[0.0], [1.0], [2.0], [3.0], [4.0]],
    }
    return Tree(**{**arrays, **changed})


def text(tree, levels=(None, None), max_depth=None, decimals=2, has_missing=()):
    def leaf_text(node, decimals):
        return f"leaf {node}"

    return tree_text(
        tree,
        ("a", "b"),
        levels,
        leaf_text,
        max_depth=max_depth,
        decimals=decimals,
        has_missing=has_missing,
    )


def test_a_line_a_branch_and_the_leaf_behind_it():
    assert text(tree()) == "\n".join(
        [
            "b <= 0.50: leaf 1",
            "b >  0.50",
            "|   a <= -1.25: leaf 3",
            "|   a >  -1.25: leaf 4",
        ]
    )


def test_below_the_largest_depth_dots_stand_for_the_rest():
    assert text(tree(), max_depth=1) == "b <= 0.50: leaf 1\nb >  0.50: ... leaf 2"
    assert text(tree(), max_depth=2) == text(tree())


def test_thresholds_have_as_many_decimals_as_asked_for():
    assert text(tree(), decimals=1).splitlines()[0] == "b <= 0.5: leaf 1"
    assert text(tree(), decimals=4).splitlines()[2] == "|   a <= -1.2500: leaf 3"


@pytest.mark.parametrize(
    ("threshold", "shown"), [(1e-7, "1.00e-07"), (-3e20, "-3.00e+20"), (0.0, "0.00")]
)
def test_a_threshold_that_so_many_decimals_would_hide_is_scientific(threshold, shown):
    small = tree(threshold=[threshold, NAN, -1.25, NAN, NAN])
    assert text(small).splitlines()[0] == f"b <= {shown}: leaf 1"


def test_the_branch_of_missing_values_is_marked_where_training_had_some():
    lines = text(tree(missing_slot=[1, 0, 0, 0, 0]), has_missing=(False, True)).splitlines()
    assert lines[:3] == ["b <= 0.50: leaf 1", "b >  0.50 or missing", "|   a <= -1.25: leaf 3"]


def test_a_split_between_known_and_missing_values_says_so():
    lines = text(tree(threshold=[np.inf, NAN, 0, NAN, NAN]), has_missing=(True, True)).splitlines()
    assert lines[:2] == ["b is known: leaf 1", "b is missing"]


def test_levels_are_shown_by_name():
    levels = (None, ("small", "medium", "large"))
    assert text(tree(), levels=levels).splitlines()[:2] == [
        "b in {small}: leaf 1",
        "b in {medium, large}",
    ]


def test_a_level_that_is_the_threshold_goes_with_the_lower_ones():
    levels = (None, ("small", "medium", "large"))
    on_a_level = tree(threshold=[1.0, NAN, -1.25, NAN, NAN])  # no row of the node was medium
    assert text(on_a_level, levels=levels).splitlines()[:2] == [
        "b in {small, medium}: leaf 1",
        "b in {large}",
    ]


def test_a_leaf_alone_is_one_line():
    model = DecisionTreeClassifier().fit([[0], [1]], ["a", "a"])
    assert model.export_text() == "class a (2 rows, 100.0%)"


def test_a_classifier_shows_class_rows_and_share():
    model = DecisionTreeClassifier(max_depth=1).fit(
        [[0], [1], [2], [3]], ["no", "yes", "yes", "no"]
    )
    assert model.export_text() == "\n".join(
        ["x0 <= 0.50: class no (1 row, 100.0%)", "x0 >  0.50: class yes (3 rows, 66.7%)"]
    )


def test_a_regressor_shows_means_and_rows():
    model = DecisionTreeRegressor(max_depth=1).fit([[0], [1], [2]], [[1, 10], [4, 40], [5, 50]])
    assert model.export_text(feature_names=["age"], decimals=1) == "\n".join(
        ["age <= 0.5: 1.0, 10.0 (1 row)", "age >  0.5: 4.5, 45.0 (2 rows)"]
    )


def test_ordinal_columns_of_a_frame_are_shown_by_their_levels():
    pd = pytest.importorskip("pandas")
    sizes = pd.CategoricalDtype(["s", "m", "l", "xl"], ordered=True)
    frame = pd.DataFrame({"size": pd.Categorical(["s", "m", "l", "xl"], dtype=sizes)})
    model = DecisionTreeClassifier(max_depth=1).fit(frame, [0, 0, 0, 1])
    assert model.export_text().splitlines() == [
        "size in {s, m, l}: class 0 (3 rows, 100.0%)",
        "size in {xl}: class 1 (1 row, 100.0%)",
    ]


def test_a_wrong_number_of_names_is_refused():
    model = DecisionTreeClassifier().fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(ValueError, match="feature_names has 1 names; the tree has 2 features"):
        model.export_text(feature_names=["a"])


@pytest.mark.parametrize(
    ("name", "value"), [("max_depth", -1), ("max_depth", 1.5), ("decimals", -1)]
)
def test_a_depth_or_decimals_out_of_range_are_refused_by_name(name, value):
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match=name):
        model.export_text(**{name: value})


def test_a_chain_deeper_than_the_recursion_limit_is_shown():
    depth = 5000
    assert depth > sys.getrecursionlimit()
    n_nodes = 2 * depth + 1
    is_split = np.arange(n_nodes) % 2 == 0
    is_split[-1] = False
    deep = Tree(
        kind=is_split,
        feature=np.where(is_split, 0, -1),
        threshold=np.where(is_split, 1.0, NAN),
        missing_slot=np.zeros(n_nodes),
        first_child=np.where(is_split, np.arange(n_nodes) + 1, -1),
        gain=np.zeros(n_nodes),
        impurity=np.zeros(n_nodes),
        n_rows=np.ones(n_nodes),
        weight=np.ones(n_nodes),
        value=np.zeros((n_nodes, 1)),
    )
    lines = text(deep).splitlines()
    assert len(lines) == 2 * depth
    assert lines[-1] == "|   " * (depth - 1) + "a >  1.00: leaf 10000"
    assert lines[-2] == "|   " * (depth - 1) + "a <= 1.00: leaf 9999"
    assert len(text(deep, max_depth=3).splitlines()) == 6


def test_a_tree_deeper_than_the_recursion_limit_is_fitted_and_shown():
    """Where labels alternate, the best split cuts off the first row, again and again."""
    n_rows = sys.getrecursionlimit() + 100
    X, y = np.arange(float(n_rows))[:, None], np.arange(n_rows) % 2
    model = DecisionTreeClassifier(max_bins=n_rows).fit(X, y)
    assert model.get_depth() > sys.getrecursionlimit()
    assert model.score(X, y) == 1.0
    assert len(model.export_text().splitlines()) == 2 * (n_rows - 1)
    assert model.decision_path(X[-1:]).nnz > sys.getrecursionlimit()
