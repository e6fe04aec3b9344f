"""Sparse matrices give the models and predictions of their dense twins."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from gputree import (
    Dataset,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
)


@pytest.fixture(scope="module")
def tables():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 8)) * (random.random((300, 8)) < 0.3)
    X[random.random(X.shape) < 0.05] = np.nan
    return X, (np.nan_to_num(X).sum(axis=1) > 0.1).astype(int)


@pytest.mark.parametrize("backend", ["numpy", "numba", "array_api_strict"])
@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csc_array])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4),
        DecisionTreeRegressor(max_depth=4, missing="surrogate"),
        RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0),
        GradientBoostingRegressor(n_estimators=3),
    ],
)
def test_a_sparse_matrix_is_a_table(tables, model, make, backend):
    X, y = tables
    model.set_params(backend=backend)
    expected = model.fit(X, y).to_bytes()
    predicted = model.predict(X)
    assert model.fit(make(X), y).to_bytes() == expected
    assert np.array_equal(model.predict(make(X)), predicted)


def test_the_dense_table_is_never_made():
    n_rows, n_features = 2000, 500
    X = scipy.sparse.random_array((n_rows, n_features), density=0.01, rng=0, format="csr")
    y = np.arange(n_rows) % 2
    model = DecisionTreeClassifier(max_depth=3, backend="numpy")
    model.fit(X[:50], y[:50])  # what is imported or compiled at first does not count
    tracemalloc.start()
    data = Dataset(X, y, backend="numpy")
    _, coding = tracemalloc.get_traced_memory()
    model.fit(data)
    tracemalloc.reset_peak()
    model.predict(X)
    _, predict = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    n_dense = 8 * n_rows * n_features
    assert coding < n_dense / 2  # codes alone take an eighth
    assert predict < n_dense / 2
