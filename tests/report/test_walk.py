"""Rows go the same way in the page as in Python: thresholds, categories, surrogates, shares."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from gputree import (
    AdaBoostClassifier,
    BaggingRegressor,
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ID3Classifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    RandomForestClassifier,
)

WALK = """rows => gputreeReport.explorer.trees.map(tree => rows.map(cells => {
  const read = gputreeReport.readRow(cells);
  if (read.error) return [read.error];
  const found = gputreeReport.walk(tree, read.row);
  return [found.main, gputreeReport.answerOf(tree, found.ends)];
}))"""
TREES = {
    "directions": DecisionTreeClassifier(),
    "directions, several branches": DecisionTreeClassifier(nominal="multiway"),
    "categories": DecisionTreeClassifier(missing="category"),
    "surrogates": DecisionTreeClassifier(missing="surrogate", max_depth=7),
    "surrogates of rpart": CARTClassifier(pruning=None, max_depth=6),
    "divided rows": DecisionTreeClassifier(missing="fractional"),
    "divided rows, several branches": C45Classifier(),
    "the majority": DecisionTreeClassifier(unknown_category="majority"),
    "the majority, surrogates": DecisionTreeClassifier(
        missing="surrogate", unknown_category="majority"
    ),
    "the majority, divided rows": C45Classifier(unknown_category="majority", pruning=None),
    "numbers": DecisionTreeRegressor(max_depth=6),
    "combinations": ObliqueTreeClassifier(max_depth=6, term_cost=0.0),
    "combinations of numbers": ObliqueTreeRegressor(max_leaf_nodes=9, term_cost=0.0),
    "random splits": DecisionTreeClassifier(splitter="random", random_state=0),
}
ENSEMBLES = {
    "forest": RandomForestClassifier(n_estimators=3, random_state=0),
    "extra trees": ExtraTreesClassifier(n_estimators=3, random_state=0),
    "columns of their own": BaggingRegressor(n_estimators=4, max_features=0.6, random_state=0),
    "AdaBoost": AdaBoostClassifier(n_estimators=4),
    "boosting of classes": GradientBoostingClassifier(n_estimators=2),
    "boosting of numbers": GradientBoostingRegressor(n_estimators=3),
}


def cells_of(table):
    """Rows as JSON has them."""
    return [
        [None if pd.isna(each) else each for each in row]
        for row in table.astype(object).to_numpy().tolist()
    ]


@pytest.mark.parametrize("name", TREES)
def test_a_row_ends_in_the_leaf_that_python_says(name, mixed, opened):
    (X, y), (other, y_other) = mixed
    tree = TREES[name].fit(X, y)
    page = opened(tree.report(other, y_other))
    (found,) = page.evaluate(WALK, cells_of(other))
    assert [each[0] for each in found] == tree.apply(other).tolist()
    predict = tree.predict_proba if hasattr(tree, "classes_") else tree.predict
    said = np.array([each[1] for each in found])
    np.testing.assert_allclose(said, predict(other).reshape(said.shape), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_row_ends_in_the_leaf_of_every_tree(name, mixed, opened):
    (X, y), (other, y_other) = mixed
    model = ENSEMBLES[name].fit(X, y)
    page = opened(model.report(other, y_other))
    found = page.evaluate(WALK, cells_of(other))
    assert [[each[0] for each in tree] for tree in found] == model.apply(other).T.tolist()


def test_a_combination_is_spelled_out_added_up_and_followed(mixed, opened):
    (X, y), (other, y_other) = mixed
    tree = ObliqueTreeClassifier(max_depth=4, term_cost=0.0).fit(X, y)
    directions = tree.nodes_.directions
    assert len(directions) > 2
    page = opened(tree.report(other, y_other))
    names = page.evaluate("gputreeReport.explorer.trees[0].combinations.map(each => each.name)")
    assert names == [directions.text(at, list(X)) for at in range(len(directions))]
    node = int(np.flatnonzero(tree.nodes_.feature >= X.shape[1])[0])
    page.evaluate("node => gputreeReport.explorer.view.select(node)", node)
    heading = page.inner_text(".side h3")
    assert names[0] in heading
    assert "\u2264" in heading
    say = "node => gputreeReport.sentenceText(gputreeReport.explorer.trees[0], node)"
    words = page.evaluate(say, int(tree.nodes_.first_child[node]))
    assert f"{names[0]} is at most " in words
    assert page.locator(".side svg").count() > 0  # the values of the combination in this node


def test_of_equal_shares_the_first_stands_for_the_row(opened):
    tree = DecisionTreeClassifier(missing="fractional").fit([[0.0], [1.0]], [0, 1])
    page = opened(tree.report([[0.0], [1.0]], [0, 1]))
    (found,) = page.evaluate(WALK, [[None]])
    assert found == [[1, [0.5, 0.5]]]
    assert tree.apply([[np.nan]]).tolist() == [1]


def test_columns_of_categories_only(mixed, opened):
    X = mixed[0][0][["colour", "shape"]].dropna()
    y = mixed[0][1][X.index]
    tree = ID3Classifier().fit(X, y)
    page = opened(tree.report(X, y))
    (found,) = page.evaluate(WALK, cells_of(X))
    assert [each[0] for each in found] == tree.apply(X).tolist()


def test_bits_of_thresholds_are_kept(opened):
    """Rows at a threshold, and one step above it, part there."""
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X + 1e-9 / 3, y)
    limits = tree.nodes_.threshold[~tree.tree_.is_leaf]
    rows = np.concatenate(
        [np.tile(limits[:, None], 4), np.nextafter(limits, np.inf)[:, None] * [[1.0] * 4]]
    )
    page = opened(tree.report(X, y))
    (found,) = page.evaluate(WALK, rows.tolist())
    assert [each[0] for each in found] == tree.apply(rows).tolist()


def test_infinities_are_values(opened):
    X = np.array([[1.0], [2.0], [np.inf], [-np.inf], [np.nan]])
    tree = DecisionTreeClassifier().fit(X, [0, 1, 2, 3, 4])
    page = opened(tree.report(X, [0, 1, 2, 3, 4]))
    (found,) = page.evaluate(WALK, [[1.0], [2.0], ["inf"], ["-Infinity"], [None]])
    assert [each[0] for each in found] == tree.apply(X).tolist()


def test_categories_are_matched_as_in_python(opened):
    """Numbers and truth values as categories; their texts in a pasted row mean them."""
    X = pd.DataFrame({"flag": [True, False] * 6, "code": [1, 2, 3] * 4}).astype("category")
    y = [0, 1, 2, 3, 4, 5] * 2
    tree = DecisionTreeClassifier(nominal="multiway").fit(X, y)
    page = opened(tree.report(X, y))
    rows = [["True", "1"], ["false", "2.0"], [1, 3], [True, 1]]
    (found,) = page.evaluate(WALK, rows)
    meant = pd.DataFrame({"flag": [True, False, True, True], "code": [1, 2, 3, 1]})
    assert [each[0] for each in found] == tree.apply(meant).tolist()


def test_a_category_that_is_refused_in_python_is_refused_in_the_page(mixed, opened):
    (X, y), _ = mixed
    tree = DecisionTreeClassifier(unknown_category="error").fit(X, y)
    page = opened(tree.report(X, y))
    (found,) = page.evaluate(WALK, [[40, 1, "violet", "small", None]])
    assert "colour" in found[0][0]
    assert "violet" in found[0][0]
