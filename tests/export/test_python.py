"""Python source answers as the model does, without gputree."""

import ast
import itertools

import numpy as np
import pytest

import gputree
from tests.export.models import MODELS, expected, fitted, rows, values_of


def run(model):
    made = {}
    exec(compile(model.to_python(), "model.py", "exec"), made)
    return made


@pytest.mark.parametrize("name", MODELS)
def test_the_source_answers_with_the_bits_of_the_model(name):
    made = run(fitted(name))
    said = made.get("predict_proba", made["predict"])
    found = np.array([said(row) for row in values_of(rows(name))]).reshape(expected(name).shape)
    if name.startswith("AdaBoost") and "numbers" not in name:
        # The model takes SciPy's softmax here, and the source the exponential of gputree.
        np.testing.assert_allclose(found, expected(name), rtol=4e-15)
    else:
        assert (found == expected(name)).all()


@pytest.mark.parametrize("name", ["subsets", "fractions", "AdaBoost, fractions", "boosting, two"])
def test_the_source_answers_with_the_labels_of_the_model(name):
    predict = run(fitted(name))["predict"]
    some = rows(name)[:1000]
    assert [predict(row) for row in values_of(some)] == fitted(name).predict(some).tolist()


@pytest.mark.parametrize("name", ["C4.5", "CART", "boosting"])
def test_the_source_imports_nothing_but_math(name):
    tree = ast.parse(fitted(name).to_python())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [alias.name for node in imports for alias in node.names] == ["math"]
    assert max(map(len, fitted(name).to_python().splitlines())) <= 100


def test_a_row_may_be_a_dict():
    made, X = run(fitted("subsets")), rows("subsets")[:50]
    for row in values_of(X):
        assert made["predict"](dict(zip(X.columns, row, strict=True))) == made["predict"](row)


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="1 values; 5 are needed"):
        run(fitted("subsets"))["predict"]([1.0])


def test_categories_that_the_model_refuses_are_refused():
    X = [["a"], ["b"], ["a"], ["b"]]
    model = gputree.DecisionTreeClassifier(categorical_features=[0], unknown_category="error")
    made = run(model.fit(np.array(X, object), [0, 1, 0, 1]))
    assert made["predict"](["b"]) == 1
    with pytest.raises(ValueError, match="'x0' holds 'c', which was not seen at fit"):
        made["predict"](["c"])


@pytest.mark.parametrize("low", [-np.inf, 0.0])
def test_infinities_are_values(low):
    X = np.array(list(itertools.product([low, 1.0, np.inf, np.nan], [0.0, np.inf])))
    model = gputree.DecisionTreeRegressor().fit(X, np.arange(8.0))
    predict = run(model)["predict"]
    assert [predict(row) for row in X.tolist()] == model.predict(X).tolist()
