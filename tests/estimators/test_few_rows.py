"""Few rows and very many columns: the ways that save work change no prediction and no error."""

import numpy as np
import pytest

from gputree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from gputree.data.inputs import read_table
from gputree.data.table import Column, Kind, MatrixColumns, Table

N_ROWS = 600


@pytest.fixture(scope="module")
def table():
    """Numbers of which some are missing, and two columns of categories."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_ROWS, 6)).round(2)
    X[:, 2], X[:, 5] = rng.integers(0, 7, (2, N_ROWS))
    y = (X[:, 0] * X[:, 1] + (X[:, 2] % 3) + 0.3 * X[:, 5] > 1.5).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


MODELS = {
    "numbers": DecisionTreeClassifier(random_state=0),
    "short": DecisionTreeClassifier(max_depth=1),
    "leaf": DecisionTreeRegressor(min_samples_leaf=N_ROWS),
    "levels": DecisionTreeClassifier(categorical_features=[2, 5]),
    "branches": C45Classifier(categorical_features=[2, 5]),
    "surrogates": DecisionTreeClassifier(missing="surrogate"),
    "forest": RandomForestClassifier(7, random_state=0, categorical_features=[2]),
    "boosting": GradientBoostingClassifier(n_estimators=7),
}


def answers(model, X):
    proba = getattr(model, "predict_proba", model.predict)
    return np.asarray(model.predict(X)).tobytes(), np.asarray(proba(X)).tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_every_way_to_predict_gives_the_same_bytes(table, name):
    X, y = table
    X = np.vstack([X, np.full((1, 6), np.nan), [[9.5, -9.5, 7.0, 0.0, np.inf, -np.inf]]])
    model = MODELS[name].set_params(backend="numpy").fit(X[:N_ROWS], y)
    asked = answers(model, X)
    assert model.set_params(backend="array_api_strict").predict(X).tobytes() == asked[0]
    assert answers(model.set_params(backend="numba"), X) == asked
    for backend in ("numpy", "numba"):
        model.set_params(backend=backend)
        one_by_one = [model.predict(X[at : at + 1])[0] for at in range(N_ROWS - 20, len(X))]
        assert one_by_one == model.predict(X)[N_ROWS - 20 :].tolist()
        for other in (np.asfortranarray(X), X[:, ::-1].copy()[:, ::-1], X.tolist()):
            assert answers(model, other) == asked


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_columns_that_no_tree_tests_may_hold_anything(backend):
    rng = np.random.default_rng(0)
    X = np.zeros((60, 5_000))
    X[:, 4_321], X[:, 17] = rng.standard_normal((2, 60))
    tree = DecisionTreeClassifier(backend=backend).fit(X, X[:, 4_321] + X[:, 17] > 0)
    asked = tree.predict(X).tolist()
    for other in (np.nan, np.inf, -np.inf, 1e308):
        changed = np.full_like(X, other)
        changed[:, [17, 4_321]] = X[:, [17, 4_321]]
        assert tree.predict(changed).tolist() == asked


@pytest.mark.parametrize("unknown", ["missing", "majority"])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64, object])
def test_categories_that_are_numbers_are_found_by_value(dtype, unknown):
    X = np.array([[3], [1], [2], [3], [1], [7]], dtype)
    model = DecisionTreeClassifier(categorical_features=[0], unknown_category=unknown)
    schema = model.fit(X, [0, 1, 0, 0, 1, 1]).schema_
    new = np.array([[7], [2], [5], [1], [-4], [9], [3]], dtype)
    other = -1 if unknown == "missing" else 4
    found = read_table(new, like=schema).columns[0].values
    assert found.tolist() == [3, 1, other, 0, other, other, 2]
    assert found.dtype == read_table(new.astype(object), like=schema).columns[0].values.dtype


def test_an_unknown_category_is_refused_in_a_column_that_is_not_tested():
    X = np.array([[0.0, 3.0], [1.0, 4.0]])
    model = DecisionTreeClassifier(categorical_features=[1], unknown_category="error", max_depth=1)
    model.fit(X, [0, 1])
    with pytest.raises(ValueError, match=r"Column 'x1' \(position 1\) holds 1 value\(s\) not seen"):
        model.predict([[0.0, 5.0]])
    with pytest.raises(ValueError, match="holds 1 value"):
        model.predict(np.array([[0.0, 5.0]]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 4)), "X has 4 features, but DecisionTreeClassifier is expecting 3 features"),
        (np.zeros((0, 3)), r"Found array with 0 sample\(s\)"),
        (np.zeros(3), "Expected 2D array, got 1D array instead"),
        (np.zeros((1, 3), complex), "Complex data not supported"),
        (np.array([["a", 0, 1]], object), "was numeric at fit"),
    ],
)
def test_what_cannot_be_predicted_is_refused_as_ever(X, message):
    tree = DecisionTreeClassifier().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match=message):
        tree.predict(X)


def test_a_matrix_without_names_is_told_of_where_there_were_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.0, 1.0], "b": [1.0, 2.0]})
    tree = DecisionTreeClassifier().fit(frame, [0, 1])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        tree.predict(frame.to_numpy())
    with pytest.raises(ValueError, match="feature names should match"):
        tree.predict(frame[["b", "a"]])


def test_columns_of_a_matrix_are_those_that_would_be_listed():
    matrix = np.arange(12.0).reshape(3, 4)
    category = Column("c", Kind.NOMINAL, np.array([0, 1, 0], np.int32), ("u", "v"))
    columns = MatrixColumns(matrix, ("a", "b", "c", "d"), {2: category})
    assert [each.name for each in columns] == ["a", "b", "c", "d"]
    assert columns[2] is columns[-2] is columns[1:][1] is category
    assert columns[1:][0].values.tolist() == columns[1].values.tolist() == [1.0, 5.0, 9.0]
    assert Table(columns, 3).n_features == len(columns[::-1]) == 4
    assert columns[::-1][1] is category
    with pytest.raises(IndexError):
        columns[4]
