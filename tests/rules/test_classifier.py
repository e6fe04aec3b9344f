"""Rules learnt from known tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from gputree import C45Classifier, Dataset, DecisionTreeClassifier, RuleSetClassifier

GOLDEN = Path(__file__).parents[1] / "golden"
IRIS = load_iris(return_X_y=True)
XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 8, float), np.array([0, 1, 1, 0] * 8)


def melons(name):
    frame = pd.read_csv(GOLDEN / f"{name}.csv", dtype={"ripe": str}).drop(columns="id")
    X = frame.drop(columns="ripe")
    text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    return X.astype(dict.fromkeys(text, "category")), frame["ripe"]


def test_the_rules_of_iris():
    model = RuleSetClassifier().fit(*IRIS)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    text = model.export_text(feature_names=names, class_names=["setosa", "versicolor", "virginica"])
    assert text.splitlines() == [
        "IF petal length > 2.45 AND petal length <= 4.95 AND petal width <= 1.75 "
        "THEN versicolor (48 rows, 97.9%)",
        "IF petal width > 1.75 THEN virginica (46 rows, 97.8%)",
        "IF petal length > 4.95 THEN virginica (46 rows, 95.7%)",
        "OTHERWISE setosa (50 rows, 100.0%)",
    ]


def test_xor_cannot_do_without_a_condition():
    model = RuleSetClassifier(DecisionTreeClassifier()).fit(*XOR)
    assert str(model).splitlines() == [
        "IF x0 <= 0.50 AND x1 > 0.50 THEN 1 (8 rows, 100.0%)",
        "IF x0 > 0.50 AND x1 <= 0.50 THEN 1 (8 rows, 100.0%)",
        "OTHERWISE 0 (16 rows, 100.0%)",
    ]
    assert model.score(*XOR) == 1.0


def test_the_rules_of_the_watermelons():
    X, y = melons("watermelon3")
    model = RuleSetClassifier(C45Classifier(min_branch=1, pruning=None)).fit(X, y)
    assert str(model).splitlines() == [
        "IF density > 0.38 AND texture = clear THEN true (7 rows, 100.0%)",
        "OTHERWISE false (10 rows, 90.0%)",
    ]
    is_covered = (X["density"] > 0.3815) & (X["texture"] == "clear")
    assert is_covered.sum() == 7
    assert (y[~is_covered] == "false").mean() == 0.9


def test_a_rule_asks_for_less_than_its_leaf_and_its_limit_is_no_higher():
    X, y = melons("watermelon2")
    model = RuleSetClassifier(C45Classifier(min_branch=1, pruning=None)).fit(X, y)
    leaves = [set(rule.conditions) for rule in model.estimator_.to_rules()]
    for rule in model.rules_:
        assert any(set(rule.conditions) <= leaf for leaf in leaves)
    assert model.rules_.n_conditions < model.estimator_.to_rules().n_conditions


@pytest.mark.parametrize("selection", ["description_length", "greedy"])
def test_a_weight_counts_as_so_many_rows(selection):
    X, y = IRIS
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = RuleSetClassifier(selection=selection).fit(X, y, sample_weight=weight)
    repeated = RuleSetClassifier(selection=selection).fit(X.repeat(weight, 0), y.repeat(weight))
    assert [rule.conditions for rule in weighted.rules_] == [
        rule.conditions for rule in repeated.rules_
    ]
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-12)
    some = weight > 0
    left = RuleSetClassifier(selection=selection).fit(X[some], y[some], sample_weight=weight[some])
    assert str(weighted) == str(left)


def test_the_weights_of_classes_are_those_of_the_tree():
    X, y = IRIS
    by_class = RuleSetClassifier(C45Classifier(class_weight={0: 1, 1: 5, 2: 1}, pruning=None)).fit(
        X, y
    )
    by_row = RuleSetClassifier().fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    assert by_class.export_text() == by_row.export_text()


def test_probabilities_are_the_shares_among_the_rows_covered():
    X, y = IRIS
    model = RuleSetClassifier().fit(X, y)
    covered = model.rules_.cover(X)
    first = model.apply(X)
    for at in np.unique(first[first < len(model.rules_)]):
        shares = np.bincount(y[covered[:, at]], minlength=3) / covered[:, at].sum()
        np.testing.assert_allclose(model.predict_proba(X)[first == at][0], shares, rtol=1e-12)
    assert (model.predict_proba(X).argmax(axis=1) == model.predict(X)).all()


def test_a_table_that_nothing_can_be_learnt_from_has_a_default_only():
    model = RuleSetClassifier().fit([[1], [1], [1]], ["a", "b", "b"])
    assert str(model) == "OTHERWISE b (3 rows, 66.7%)"
    assert model.predict([[7], [float("nan")]]).tolist() == ["b", "b"]


def test_missing_values_and_new_categories_are_answered():
    X, y = melons("watermelon2a")
    model = RuleSetClassifier().fit(X, y)
    nothing = pd.DataFrame({name: pd.Categorical([None, "new"]) for name in X})
    default = model.classes_[model.rules_.default.answer]
    assert model.predict(nothing).tolist() == [default] * 2


def test_answers_do_not_depend_on_how_many_rows_come_together():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70_000, 3)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = RuleSetClassifier(DecisionTreeClassifier(max_leaf_nodes=30)).fit(X[:2000], y[:2000])
    parts = [model.predict(part) for part in np.array_split(X, 9)]
    np.testing.assert_array_equal(model.predict(X), np.concatenate(parts))


def test_codes_are_no_values_to_learn_rules_from():
    with pytest.raises(TypeError, match="Dataset"):
        RuleSetClassifier().fit(Dataset(*IRIS), IRIS[1])


def test_an_unfitted_classifier_is_printed_by_its_parameters():
    assert str(RuleSetClassifier(confidence=0.1)) == "RuleSetClassifier(confidence=0.1)"
