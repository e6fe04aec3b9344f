"""A tree and the rules of its leaves say the same."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    ID3Classifier,
)
from gputree.data.schema import Schema
from gputree.data.table import Kind
from gputree.rules.condition import Condition, Sign
from gputree.rules.from_tree import rules_of
from gputree.tree.tree import Split, Tree
from tests.tables import with_lists

GOLDEN = Path(__file__).parents[1] / "golden"
IRIS = load_iris(as_frame=True)


def melons(name):
    frame = pd.read_csv(GOLDEN / f"{name}.csv", dtype={"ripe": str}).drop(columns="id")
    X = frame.drop(columns="ripe")
    text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    return X.astype(dict.fromkeys(text, "category")), frame["ripe"]


def sizes():
    """An ordered column, which classes go up and down with."""
    kind = pd.CategoricalDtype(["tiny", "small", "medium", "large"], ordered=True)
    X = pd.DataFrame({"size": pd.Series(kind.categories.repeat(3), dtype=kind)})
    return X, np.repeat(["no", "yes", "yes", "no"], 3)


MODELS = {
    "thresholds": (DecisionTreeClassifier(), IRIS.data, IRIS.target),
    "levels": (ID3Classifier(), *melons("watermelon2")),
    "both": (C45Classifier(min_branch=1, pruning=None), *melons("watermelon3")),
    "subsets": (CARTClassifier(), *melons("watermelon3")),
    "order": (DecisionTreeClassifier(), *sizes()),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_row_is_covered_by_the_rule_of_its_leaf_alone(name):
    tree, X, y = MODELS[name]
    tree.fit(X, y)
    rules = tree.to_rules()
    assert len(rules) == tree.get_n_leaves()
    assert (rules.cover(X).sum(axis=1) == 1).all()
    answer = np.array([rule.answer for rule in rules])[rules.first(X)]
    np.testing.assert_array_equal(tree.classes_[answer], tree.predict(X))


@pytest.mark.parametrize("name", MODELS)
def test_counts_of_leaves_are_counts_of_the_table(name):
    tree, X, y = MODELS[name]
    tree.fit(X, y)
    by_leaf, by_table = tree.to_rules(), tree.to_rules(X, y)
    for leaf, counted in zip(by_leaf, by_table, strict=True):
        assert leaf.n_rows == counted.n_rows
        if leaf.n_rows:  # an empty leaf answers with the distribution of its parent
            assert leaf.value == counted.value


def test_support_and_confidence_of_a_rule_by_hand():
    tree = DecisionTreeClassifier(max_depth=2).fit(IRIS.data, IRIS.target_names[IRIS.target])
    rule = tree.to_rules()[1]
    length, width = IRIS.data["petal length (cm)"], IRIS.data["petal width (cm)"]
    covered = (length > 2.45) & (width <= 1.75)
    assert rule.n_rows == covered.sum() == 54
    assert rule.confidence == (IRIS.target[covered] == 1).mean() == 49 / 54
    assert str(tree.to_rules()).splitlines()[1] == (
        "IF petal length (cm) > 2.45 AND petal width (cm) <= 1.75 THEN versicolor (54 rows, 90.7%)"
    )


def test_thresholds_of_one_column_become_an_interval():
    X = np.arange(8.0)[:, None]
    rules = DecisionTreeClassifier().fit(X, [0, 0, 1, 1, 2, 2, 0, 0]).to_rules()
    assert str(rules).splitlines() == [
        "IF x0 <= 1.50 THEN 0 (2 rows, 100.0%)",
        "IF x0 > 1.50 AND x0 <= 3.50 THEN 1 (2 rows, 100.0%)",
        "IF x0 > 3.50 AND x0 <= 5.50 THEN 2 (2 rows, 100.0%)",
        "IF x0 > 5.50 THEN 0 (2 rows, 100.0%)",
    ]
    assert rules.n_conditions == 6


def test_a_threshold_of_zero_is_a_bound():
    rules = DecisionTreeClassifier().fit([[-3.0], [-1.0], [1.0]], [0, 1, 0]).to_rules()
    assert str(rules).splitlines()[1] == "IF x0 > -2.00 AND x0 <= 0.00 THEN 1 (1 row, 100.0%)"


def test_an_ordered_column_is_compared_by_its_categories():
    X, y = sizes()
    assert str(DecisionTreeClassifier().fit(X, y).to_rules()).splitlines() == [
        "IF size <= tiny THEN no (3 rows, 100.0%)",
        "IF size > tiny AND size <= medium THEN yes (6 rows, 100.0%)",
        "IF size > medium THEN no (3 rows, 100.0%)",
    ]


def test_category_sets_on_a_path_are_intersected():
    """{a, b, c} below {b, c, d}: a category that only one of them has leads nowhere."""
    tree = Tree(
        kind=[Split.SUBSET, Split.LEAF, Split.SUBSET, Split.LEAF, Split.LEAF],
        feature=[0, -1, 0, -1, -1],
        threshold=[np.nan] * 5,
        missing_slot=[0] * 5,
        first_child=[1, -1, 3, -1, -1],
        gain=[0.0] * 5,
        impurity=[0.0] * 5,
        n_rows=[4, 1, 3, 2, 1],
        weight=[4.0, 1.0, 3.0, 2.0, 1.0],
        value=[[2.0, 2.0], [1.0, 0.0], [1.0, 2.0], [0.0, 2.0], [1.0, 0.0]],
        **with_lists(
            {"level_start": [0, -1, 5, -1, -1], "level_slot": [0, 1, 1, 1, 0, 0, 0, 0, 1, 0]}
        ),
    )
    schema = Schema(("x",), (Kind.NOMINAL,), (("a", "b", "c", "d"),))
    rules = rules_of(tree, schema, np.array(["no", "yes"]))
    assert [rule.conditions for rule in rules] == [
        (Condition(0, Sign.AMONG, categories=(0,)),),
        (Condition(0, Sign.AMONG, categories=(1, 2)),),
        (Condition(0, Sign.AMONG, categories=(3,)),),
    ]


def test_a_missing_value_meets_no_condition_but_is_missing():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    rules = DecisionTreeClassifier().fit(X, [0, 0, 1, 1]).to_rules()
    assert str(rules).splitlines() == [
        "IF x0 is known THEN 0 (2 rows, 100.0%)",
        "IF x0 is missing THEN 1 (2 rows, 100.0%)",
    ]
    assert rules.cover(X).tolist() == [[True, False]] * 2 + [[False, True]] * 2
    X, y = melons("watermelon2a")
    tree = C45Classifier(pruning=None).fit(X, y)
    rules = tree.to_rules()
    tested = [tree.schema_.names[rule.conditions[0].feature] for rule in rules]
    assert set(tested) == {"texture"}
    covered = rules.cover(X).any(axis=1)
    assert not covered[X["texture"].isna()].any()
    assert covered[X.notna().all(axis=1)].all()


def test_missing_as_a_category_is_asked_for_by_name():
    X = pd.DataFrame({"c": pd.Categorical(["a", "a", "b", "b", None, None])})
    tree = DecisionTreeClassifier(nominal="multiway", missing="category")
    rules = tree.fit(X, [0, 0, 1, 1, 2, 2]).to_rules()
    assert str(rules).splitlines() == [
        "IF c = a THEN 0 (2 rows, 100.0%)",
        "IF c = b THEN 1 (2 rows, 100.0%)",
        "IF c is missing THEN 2 (2 rows, 100.0%)",
    ]
    assert rules.first(X).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("unknown", ["missing", "majority"])
def test_a_category_that_nobody_has_seen_is_among_none(unknown):
    X = pd.DataFrame({"c": pd.Categorical(["a", "b", "c", "d"])})
    tree = DecisionTreeClassifier(unknown_category=unknown).fit(X, [0, 0, 1, 1])
    new = pd.DataFrame({"c": pd.Categorical(["e", "a"])})
    assert tree.to_rules().cover(new).tolist() == [[False, False], [True, False]]


def test_a_value_is_compared_as_exactly_as_the_tree_does():
    """The threshold lies between two float32 numbers; the nearest of them is above it."""
    low, high = np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1.0))
    X = np.array([[low], [high]])
    tree = DecisionTreeClassifier().fit(X, [0, 1])
    assert tree.to_rules().first(X).tolist() == [0, 1]
    below = np.nextafter(float(low), 0.0)
    assert not Condition(0, Sign.UP_TO, below).met(X[:, 0]).any()
    assert Condition(0, Sign.ABOVE, below).met(X[:, 0]).all()
    assert Condition(0, Sign.UP_TO, 1e300).met(np.array([np.inf, 1.0], "f4")).tolist() == [0, 1]


def test_a_tree_that_is_a_leaf_is_a_rule_without_conditions():
    rules = DecisionTreeClassifier().fit([[1], [1], [1]], ["a", "b", "b"]).to_rules()
    assert str(rules) == "ALWAYS b (3 rows, 66.7%)"


def test_what_cannot_be_counted_is_refused():
    tree = DecisionTreeClassifier().fit([[1], [2]], ["a", "b"])
    with pytest.raises(ValueError, match="both"):
        tree.to_rules([[1]])
    with pytest.raises(ValueError, match="'c'"):
        tree.to_rules([[1]], ["c"])
    with pytest.raises(ValueError, match="one label per row"):
        tree.to_rules([[1]], ["a", "b"])
    with pytest.raises(TypeError, match="regression"):
        CARTRegressor().fit([[1], [2]], [1, 2]).to_rules()


def test_a_leaf_that_no_row_can_reach_has_no_rule():
    """Up to 3 or missing, then known or not; above 3, then asked again where nothing is left."""
    tree = Tree(
        kind=[Split.THRESHOLD] * 3 + [Split.LEAF] * 4,
        feature=[0, 0, 0, -1, -1, -1, -1],
        threshold=[3.0, np.inf, 1.0, *[np.nan] * 4],
        missing_slot=[0, 1, 0, 0, 0, 0, 0],
        first_child=[1, 3, 5, -1, -1, -1, -1],
        gain=[0.0] * 7,
        impurity=[0.0] * 7,
        n_rows=[4, 2, 2, 1, 1, 0, 2],
        weight=[4.0, 2.0, 2.0, 1.0, 1.0, 0.0, 2.0],
        value=[[1.0, 3.0], [1.0, 1.0], [0.0, 2.0], [1.0, 0.0], *[[0.0, 1.0]] * 3],
    )
    rules = rules_of(tree, Schema(("x",), (Kind.NUMERIC,), (None,)), np.array(["no", "yes"]))
    assert [rule.conditions for rule in rules] == [
        (Condition(0, Sign.UP_TO, 3.0),),
        (Condition(0, Sign.MISSING),),
        (Condition(0, Sign.ABOVE, 3.0),),
    ]
