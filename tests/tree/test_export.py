"""A tree as text: exact lines, categories by name, any depth."""

import sys

import numpy as np
import pytest

from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    export_text,
)
from gputree.dtypes import STAY
from gputree.tree.describe import MOST_NAMED, Answers, amount_text, label_text, list_text
from gputree.tree.export import tree_text
from gputree.tree.tree import Split, Tree
from tests.tables import with_lists

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


COLOURS = ("blue", "green", "red")


def by_categories(kind, slots, n_children, /, **changed):
    """A node that tests the categories of feature 1, and leaves."""
    n_nodes = 1 + n_children
    arrays = {
        "kind": [kind] + [0] * n_children,
        "feature": [1] + [-1] * n_children,
        "threshold": [NAN] * n_nodes,
        "missing_slot": [0] * n_nodes,
        "first_child": [1] + [-1] * n_children,
        "gain": [0.0] * n_nodes,
        "impurity": [0.0] * n_nodes,
        "n_rows": [n_children] + [1] * n_children,
        "weight": [n_children] + [1] * n_children,
        "value": [[1.0]] * n_nodes,
        "n_children": [n_children] + [0] * n_children,
        "level_start": [0] + [-1] * n_children,
        "level_slot": [*slots, 0],
    }
    return Tree(**with_lists({**arrays, **changed}))


def text(
    tree,
    categories=(None, None),
    max_depth=None,
    decimals=2,
    has_missing=(),
    show_surrogates=False,
    names=("a", "b"),
):
    def leaf_text(node, decimals):
        return f"leaf {node}"

    return tree_text(
        tree,
        names,
        categories,
        leaf_text,
        max_depth=max_depth,
        decimals=decimals,
        has_missing=has_missing,
        show_surrogates=show_surrogates,
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


def test_categories_are_shown_by_name():
    categories = (None, ("small", "medium", "large"))
    assert text(tree(), categories=categories).splitlines()[:2] == [
        "b in {small}: leaf 1",
        "b in {medium, large}",
    ]


def test_a_category_that_is_the_threshold_goes_with_the_lower_ones():
    categories = (None, ("small", "medium", "large"))
    on_a_category = tree(threshold=[1.0, NAN, -1.25, NAN, NAN])  # no row of the node was medium
    assert text(on_a_category, categories=categories).splitlines()[:2] == [
        "b in {small, medium}: leaf 1",
        "b in {large}",
    ]


def test_a_threshold_of_minus_infinity_is_a_number_with_a_side_for_missing_values():
    lines = text(tree(threshold=[-np.inf, NAN, 0, NAN, NAN]), has_missing=(True, True)).splitlines()
    assert lines[:2] == ["b <= -inf or missing: leaf 1", "b >  -inf"]


# Subsets of categories


def test_both_sides_of_a_subset_list_their_categories():
    subset = by_categories(Split.SUBSET, [1, 0, 0], 2)
    assert text(subset, categories=(None, COLOURS)).splitlines() == [
        "b in {green, red}: leaf 1",
        "b in {blue}: leaf 2",
    ]


def test_categories_that_a_node_has_not_seen_go_where_missing_values_go():
    subset = by_categories(Split.SUBSET, [0, STAY, 1], 2, missing_slot=[1, 0, 0])
    assert text(subset, categories=(None, COLOURS)).splitlines() == [
        "b in {blue}: leaf 1",
        "b in {red} or other: leaf 2",
    ]
    assert text(subset, categories=(None, COLOURS), has_missing=(False, True)).splitlines() == [
        "b in {blue}: leaf 1",
        "b in {red} or other or missing: leaf 2",
    ]


def test_a_side_of_missing_values_alone_says_so():
    subset = by_categories(Split.SUBSET, [0, 0, 0], 2, missing_slot=[1, 0, 0])
    assert text(subset, categories=(None, COLOURS), has_missing=(False, True)).splitlines() == [
        "b in {blue, green, red}: leaf 1",
        "b is missing: leaf 2",
    ]


def test_nothing_is_marked_where_rows_go_down_every_branch():
    both = by_categories(Split.SUBSET, [0, STAY, 1], 2, missing_slot=[STAY, 0, 0])
    assert text(both, categories=(None, COLOURS), has_missing=(False, True)).splitlines() == [
        "b in {blue}: leaf 1",
        "b in {red}: leaf 2",
    ]


def test_of_many_categories_the_first_are_named_and_the_others_counted():
    categories = tuple(f"l{i}" for i in range(5001))
    subset = by_categories(Split.SUBSET, [1] + [0] * 5000, 2)
    assert text(subset, categories=(None, categories)).splitlines() == [
        "b in {l1, l2, l3, l4, l5, l6, l7, l8, ... 4992 more}: leaf 1",
        "b in {l0}: leaf 2",
    ]


def test_a_list_is_whole_up_to_its_longest():
    items = [str(i) for i in range(MOST_NAMED)]
    assert list_text(items) == ", ".join(items)
    assert list_text([*items, "x"]) == ", ".join(items) + ", ... 1 more"
    assert list_text([]) == ""


# A branch a category


def test_a_line_a_category_and_one_for_those_the_node_has_not_seen():
    ways = by_categories(Split.MULTIWAY, [2, 0, 1, 2], 3)
    categories = (None, ("hail", "rain", "sun", "snow"))
    assert text(ways, categories=categories).splitlines() == [
        "b = rain: leaf 1",
        "b = sun: leaf 2",
        "b in {hail, snow}: leaf 3",
    ]


def test_missing_values_have_a_branch_of_their_own_or_join_one():
    own = by_categories(Split.MULTIWAY, [0, 1, 2], 4, missing_slot=[3, 0, 0, 0, 0])
    assert text(own, (None, COLOURS), has_missing=(False, True)).splitlines() == [
        "b = blue: leaf 1",
        "b = green: leaf 2",
        "b = red: leaf 3",
        "b is missing: leaf 4",
    ]
    joined = by_categories(Split.MULTIWAY, [0, 1, 2], 3, missing_slot=[1, 0, 0, 0])
    lines = text(joined, (None, COLOURS), has_missing=(False, True)).splitlines()
    assert lines[1] == "b = green or missing: leaf 2"
    assert text(joined, (None, COLOURS)).splitlines()[1] == "b = green: leaf 2"


def test_what_is_below_a_branch_follows_it():
    """Node 0 has three children, of which the second has two."""
    deeper = by_categories(
        Split.MULTIWAY,
        [0, 1, 2],
        5,
        kind=[3, 0, 1, 0, 0, 0],
        feature=[1, -1, 0, -1, -1, -1],
        threshold=[NAN, NAN, 0.5, NAN, NAN, NAN],
        first_child=[1, -1, 4, -1, -1, -1],
        n_children=[3, 0, 2, 0, 0, 0],
    )
    assert text(deeper, (None, COLOURS)).splitlines() == [
        "b = blue: leaf 1",
        "b = green",
        "|   a <= 0.50: leaf 4",
        "|   a >  0.50: leaf 5",
        "b = red: leaf 3",
    ]
    assert text(deeper, (None, COLOURS), max_depth=1).splitlines() == [
        "b = blue: leaf 1",
        "b = green: ... leaf 2",
        "b = red: leaf 3",
    ]


@pytest.mark.parametrize(
    ("name", "shown"),
    [("plain", "plain"), (7, "7"), ("", "''"), (" a", "' a'"), ("a\nb", "'a\\nb'"), ("é", "é")],
)
def test_a_name_stays_on_its_line_and_can_be_read(name, shown):
    assert label_text(name) == shown
    one = by_categories(Split.MULTIWAY, [0, 1], 2)
    lines = text(one, (None, (name, "x")), names=("a", name)).splitlines()
    assert lines == [f"{shown} = {shown}: leaf 1", f"{shown} = x: leaf 2"]


# Surrogates


def with_surrogates(missing_slot=1):
    """Feature 1 is tested; feature 0, then categories of feature 2, stand in for it."""
    return tree(
        missing_slot=[missing_slot, 0, 0, 0, 0],
        n_surrogates=[2, 0, 1, 0, 0],
        **with_lists(
            {
                "level_start": [-1] * 5,
                "level_slot": [1, 0, STAY, STAY],
                "surrogate_level_start": [-1, 0, -1],
            }
        ),
        surrogate_feature=[0, 2, 1],
        surrogate_threshold=[0.8, NAN, 3.0],
        surrogate_slot=[0, 0, 1],
        surrogate_agreement=[0.96, 0.75, 2 / 3],
    )


def test_surrogates_are_listed_below_the_first_branch_of_their_node():
    shown = {"categories": (None, None, COLOURS), "names": ("a", "b", "colour")}
    assert text(with_surrogates(), show_surrogates=True, **shown).splitlines() == [
        "b <= 0.50: leaf 1",
        "    surrogate: a <= 0.80 goes left (agreement 96.0%)",
        "    surrogate: colour in {green} goes left (agreement 75.0%)",
        "    otherwise: goes right",
        "b >  0.50",
        "|   a <= -1.25: leaf 3",
        "|       surrogate: b > 3.00 goes left (agreement 66.7%)",
        "|       otherwise: goes left",
        "|   a >  -1.25: leaf 4",
    ]
    assert text(with_surrogates(), **shown) == text(tree())


def test_where_surrogates_decide_no_branch_is_marked():
    shown = {"categories": (None, None, COLOURS), "names": ("a", "b", "colour")}
    assert text(with_surrogates(), has_missing=(True,) * 3, **shown) == text(tree())
    lines = text(with_surrogates(STAY), show_surrogates=True, **shown).splitlines()
    assert lines[3] == "    otherwise: ends here"


# Rows and answers


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(4, "4"), (4.28, "4.3"), (2.9999999999, "3"), (0.02, "2.0e-02"), (0.0, "0")],
)
def test_an_amount_has_a_decimal_where_it_is_not_whole(amount, shown):
    assert amount_text(amount) == shown


def classes(n_rows, weight):
    value = [[4.0, 4.0], [4.0, 2.0], [0.5, 1.5], [0.0, 1.0], [1.0, 0.0]]
    return Answers(tree(n_rows=n_rows, weight=weight, value=value), ("no", "yes"))


def test_rows_that_were_divided_are_shown_by_their_weight():
    divided = classes([8, 7, 3, 1, 2], [8.0, 6.0, 2.0, 1.0, 4.3])
    assert divided.leaf(1, 2) == "class no (6 rows, 66.7%)"
    assert divided.leaf(2, 2) == "class yes (2 rows, 75.0%)"
    assert divided.leaf(3, 2) == "class yes (1 row, 100.0%)"
    assert divided.leaf(4, 2) == "class no (4.3 rows, 100.0%)"


def test_weights_that_are_no_counts_are_called_weights():
    assert classes([8, 7, 3, 1, 2], [16.0, 6.0, 2.0, 1.0, 4.3]).rows(4) == "weight 4.3"
    whole = classes([8, 6, 2, 1, 1], [16.0, 6.0, 2.0, 1.0, 4.3])
    assert whole.rows(4) == "1 row"
    assert whole.lines(2, 2) == ["class yes", "2 rows, 75.0%", "weights [0.5, 1.5]"]


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


def test_ordinal_columns_of_a_frame_are_shown_by_their_categories():
    pd = pytest.importorskip("pandas")
    sizes = pd.CategoricalDtype(["s", "m", "l", "xl"], ordered=True)
    frame = pd.DataFrame({"size": pd.Categorical(["s", "m", "l", "xl"], dtype=sizes)})
    model = DecisionTreeClassifier(max_depth=1).fit(frame, [0, 0, 0, 1])
    assert model.export_text().splitlines() == [
        "size in {s, m, l}: class 0 (3 rows, 100.0%)",
        "size in {xl}: class 1 (1 row, 100.0%)",
    ]


# Whole estimators


def frame(**columns):
    """A table whose text is in categories."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(columns)
    return table.astype({name: "category" for name in table if table[name].dtype.kind != "f"})


def test_a_branch_a_level_of_a_fitted_tree_and_an_empty_leaf():
    table = frame(sky=["x", "x", "y", "y", "z", "z"], wind=["p", "q", "p", "q", "p", "r"])
    model = ID3Classifier(backend="numpy").fit(table, [0, 1, 0, 0, 1, 0])
    assert model.export_text().splitlines() == [
        "sky = x",
        "|   wind = p: class 0 (1 row, 100.0%)",
        "|   wind = q: class 1 (1 row, 100.0%)",
        "|   wind = r: class 0 (0 rows, 50.0%)",
        "sky = y: class 0 (2 rows, 100.0%)",
        "sky = z",
        "|   wind = p: class 1 (1 row, 100.0%)",
        "|   wind = r: class 0 (1 row, 100.0%)",
        "|   wind = q: class 0 (0 rows, 50.0%)",
    ]


def test_a_divided_row_is_in_both_leaves_and_nowhere_marked():
    """Of 5 rows 3 are low, and 2 high: the sixth is divided 3 to 2."""
    X = [[0.0], [0.0], [0.0], [1.0], [1.0], [NAN]]
    model = C45Classifier(backend="numpy", pruning=None).fit(X, ["a", "a", "a", "b", "b", "b"])
    assert model.export_text().splitlines() == [
        "x0 <= 0.50: class a (3.6 rows, 83.3%)",
        "x0 >  0.50: class b (2.4 rows, 100.0%)",
    ]


def test_surrogates_of_a_fitted_tree():
    X = np.array([[0, 5, 1], [0, 6, 1], [0, 7, 0], [1, 8, 0], [1, 9, 0]], float)
    model = CARTClassifier(pruning=None, backend="numpy").fit(X, [0, 0, 0, 1, 1])
    assert export_text(model, show_surrogates=True, decimals=1).splitlines() == [
        "x0 <= 0.5: class 0 (3 rows, 100.0%)",
        "    surrogate: x1 <= 7.5 goes left (agreement 100.0%)",
        "    surrogate: x2 > 0.5 goes left (agreement 80.0%)",
        "    otherwise: goes left",
        "x0 >  0.5: class 1 (2 rows, 100.0%)",
    ]


def test_a_regression_by_subsets():
    table = frame(colour=["red", "blue", "green", "red"])
    model = CARTRegressor(pruning=None, backend="numpy", max_depth=1).fit(
        table, [10.0, 1.0, 11.0, 12.0]
    )
    assert model.export_text(decimals=1).splitlines() == [
        "colour in {blue}: 1.0 (1 row)",
        "colour in {green, red}: 11.0 (3 rows)",
    ]


def test_the_function_shows_what_the_method_shows():
    model = DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "b", "a"])
    given = {"feature_names": ["age"], "class_names": ["no", "yes"], "max_depth": 1, "decimals": 1}
    assert export_text(model, **given) == model.export_text(**given)
    assert model.export_text(**given).splitlines()[0] == "age <= 0.5: class no (1 row, 100.0%)"


@pytest.mark.parametrize("what", [None, "tree", tree()])
def test_only_trees_of_gputree_are_shown(what):
    with pytest.raises(TypeError, match="a tree of gputree is needed"):
        export_text(what)


def test_class_names_are_counted_and_need_classes():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="class_names has 3 names; the tree has 2 classes"):
        model.export_text(class_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="a regression has no classes"):
        DecisionTreeRegressor().fit([[0], [1]], [0, 1]).export_text(class_names=["a", "b"])


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
