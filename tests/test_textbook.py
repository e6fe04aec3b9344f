"""Trees of the library, held against the slow and exact tree of `textbook.py`."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from tests import textbook


def drawn_table(seed, *, n_classes=3, missing=0.2, nominal=0, weighted=False, ordered=2):
    """A small table in which much ties: few values, few rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 24))
    X = rng.integers(0, int(rng.integers(2, 6)), (n, ordered + nominal)).astype(float)
    X[rng.random(X.shape) < missing * rng.integers(0, 2)] = np.nan
    y = rng.integers(0, n_classes, n) if n_classes else rng.integers(-4, 5, n).astype(float)
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return X, y, weight, list(range(ordered, ordered + nominal))


def book_table(X, y, weight, nominal):
    """The same rows for the book: categories are numbered in their order."""
    columns = []
    for at, column in enumerate(X.T.tolist()):
        cells = [None if cell != cell else cell for cell in column]
        if at in nominal:
            number = {cell: k for k, cell in enumerate(sorted({*cells} - {None}))}
            cells = [None if cell is None else number[cell] for cell in cells]
        columns.append(cells)
    classes = {label: k for k, label in enumerate(np.unique(y).tolist())}
    is_number = np.asarray(y).dtype.kind == "f"
    answer = [Fraction(one) if is_number else classes[one] for one in y.tolist()]
    is_nominal = [at in nominal for at in range(X.shape[1])]
    return textbook.Table(columns, is_nominal, answer, [Fraction(one) for one in weight.tolist()])


def hold(make, rules, X, y, weight, nominal):
    """Fit on NumPy and compiled, and ask the book."""
    model = make(backend="numpy").fit(X, y, sample_weight=weight)
    compiled = make(backend="numba").fit(X, y, sample_weight=weight)
    assert model.to_bytes() == compiled.to_bytes()
    said = textbook.complaints(model.nodes_, book_table(X, y, weight, nominal), rules)
    assert not said, "\n".join(said[:5])


CASES = {
    "gini": (DecisionTreeClassifier, {"criterion": "gini"}, {}),
    "entropy": (DecisionTreeClassifier, {"criterion": "entropy"}, {}),
    "twoing": (DecisionTreeClassifier, {"criterion": "twoing"}, {}),
    "error": (DecisionTreeClassifier, {"criterion": "error"}, {}),
    "gain_ratio": (DecisionTreeClassifier, {"criterion": "gain_ratio"}, {}),
    "variance": (DecisionTreeRegressor, {"criterion": "variance"}, {}),
    "gini, multiway": (
        DecisionTreeClassifier,
        {"criterion": "gini", "nominal": "multiway"},
        {"is_multiway": True},
    ),
    "gain ratio, multiway": (
        DecisionTreeClassifier,
        {"criterion": "gain_ratio", "nominal": "multiway"},
        {"is_multiway": True},
    ),
    "variance, multiway": (
        DecisionTreeRegressor,
        {"criterion": "variance", "nominal": "multiway"},
        {"is_multiway": True},
    ),
    "gini, category": (
        DecisionTreeClassifier,
        {"criterion": "gini", "missing": "category"},
        {"missing": "category"},
    ),
    "entropy, category, multiway": (
        DecisionTreeClassifier,
        {"criterion": "entropy", "missing": "category", "nominal": "multiway"},
        {"missing": "category", "is_multiway": True},
    ),
    "variance, category": (
        DecisionTreeRegressor,
        {"criterion": "variance", "missing": "category"},
        {"missing": "category"},
    ),
    "gain ratio, category": (
        DecisionTreeClassifier,
        {"criterion": "gain_ratio", "missing": "category"},
        {"missing": "category"},
    ),
    "gini, fractional": (
        DecisionTreeClassifier,
        {"criterion": "gini", "missing": "fractional"},
        # Parts of rows count as such: each child of a split has the weight of a row.
        {"missing": "fractional", "least_branch": Fraction(1)},
    ),
    "C4.5": (
        C45Classifier,
        {"pruning": None},
        {
            "missing": "fractional",
            "is_multiway": True,
            "least_branch": Fraction(2),
            "most_least_branch": Fraction(25),
        },
    ),
    "CART": (CARTClassifier, {"pruning": None}, {"missing": "surrogate", "needs_gain": True}),
    "CART, variance": (
        CARTRegressor,
        {"pruning": None},
        {"missing": "surrogate", "needs_gain": True},
    ),
}


def drawn_case(name, seed):
    """A model, the rules of the book and a table, all drawn."""
    kind, options, words = CASES[name]
    rng = np.random.default_rng(seed)
    criterion = options.get("criterion", "gini")
    if kind is C45Classifier:
        criterion = "gain_ratio"
    if kind is CARTRegressor:
        criterion = "variance"
    n_classes = 0 if criterion == "variance" else int(rng.integers(2, 4))
    nominal = int(rng.integers(0, 3))
    table = drawn_table(
        seed,
        n_classes=n_classes,
        nominal=nominal,
        ordered=int(rng.integers(0 if nominal else 1, 3)),
        weighted=bool(rng.integers(2)),
    )
    options, words = dict(options), dict(words)
    if kind is C45Classifier:
        words["least_share"] = Fraction(1, 10) / max(1, len(np.unique(table[1])))
    elif not nominal:
        least = int(rng.integers(1, 4))
        options["min_samples_leaf"] = words["min_rows_leaf"] = least
    return kind, options, textbook.Rules(criterion, **words), table


@pytest.mark.parametrize("name", CASES)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_the_book_has_no_complaints(name, seed):
    kind, options, rules, (X, y, weight, nominal) = drawn_case(name, seed)
    hold(partial(kind, **options, categorical_features=nominal), rules, X, y, weight, nominal)


def test_the_book_complains_of_a_wrong_tree():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, np.nan]])
    y = np.array([0, 0, 1, 1])
    tree = DecisionTreeClassifier().fit(X, y).nodes_
    table, rules = book_table(X, y, np.ones(4), []), textbook.Rules("gini")
    assert textbook.complaints(tree, table, rules) == []
    wrong = {
        "counted": replace(tree, threshold=np.array([0.5, np.nan, np.nan])),
        "as good and before": replace(tree, feature=np.array([1, -1, -1])),
        "says that it gains": replace(tree, gain=np.array([0.25, 0.0, 0.0])),
    }
    for word, other in wrong.items():
        assert any(word in text for text in textbook.complaints(other, table, rules))
    leaf = DecisionTreeClassifier(max_depth=1).fit(X, [0, 1, 0, 1]).nodes_
    said = textbook.complaints(leaf, book_table(X, np.array([0, 1, 0, 1]), np.ones(4), []), rules)
    assert any("is a leaf, but may be split" in text for text in said)


def test_the_tree_of_the_book_learns_what_two_columns_tell_together():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    root = textbook.grow(book_table(X, y, np.ones(4), []), textbook.Rules("entropy"))
    leaves = [leaf for child in root.children for leaf in child.children]
    assert [leaf.members for leaf in leaves] == [[(row, 1)] for row in range(4)]
