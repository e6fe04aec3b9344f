"""`fit` and `predict` of collections of Dask: the ordinary model, and answers that are lazy."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import gputree
from gputree import cluster

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def client():
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with distributed.Client(n_workers=2, **options) as client:
        yield client


def table(n_rows=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=n_rows), "kind": rng.choice(["a", "b", "c"], n_rows)})
    X["kind"] = X["kind"].astype("category")
    X.loc[::7, "x"] = np.nan
    y = np.where(X["x"] > 0.3, "high", np.where(X["kind"] == "b", "b", "low"))
    return X, pd.Series(y, index=X.index), pd.Series(rng.integers(0, 3, n_rows) * 1.0)


CLASSIFIERS = [
    gputree.DecisionTreeClassifier(max_depth=4),
    gputree.RandomForestClassifier(3, random_state=0),
    gputree.AdaBoostClassifier(n_estimators=3, random_state=0),
    gputree.GradientBoostingClassifier(3),
]


def name_of(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
def test_frames_are_fitted_and_predicted_partition_by_partition(client, estimator):
    X, y, weight = table()
    frame, target = dd.from_pandas(X, npartitions=5), dd.from_pandas(y, npartitions=5)
    weights = dd.from_pandas(weight, npartitions=5)
    expected = clone(estimator).fit(X, y, weight)
    found = clone(estimator).fit(frame, target, weights)
    assert found.to_bytes() == expected.to_bytes()
    assert found.score(frame, target) == expected.score(X, y)
    said = found.predict(frame)
    assert isinstance(said, dd.Series)
    assert said.dtype == said.compute().dtype
    assert said.compute().index.equals(X.index)
    assert (said.compute() == expected.predict(X)).all()
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        if not hasattr(expected, method):
            continue
        each = getattr(found, method)(frame)
        assert list(each.columns) == list(expected.classes_)
        assert (each.dtypes == each.compute().dtypes).all()
        assert np.array_equal(each.compute().to_numpy(), getattr(expected, method)(X))
    assert np.array_equal(np.asarray(found.apply(frame).compute()), expected.apply(X))
    told = found.shap_values(frame)
    assert isinstance(told, da.Array)
    assert np.array_equal(told.compute(), expected.shap_values(X))


def test_arrays_of_known_and_unknown_length(client):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(200, 4))
    y = numbers[:, 0] ** 2
    X, target = da.from_array(numbers, chunks=(60, 2)), da.from_array(y, chunks=50)
    model = gputree.GradientBoostingRegressor(3)
    expected = clone(model).fit(numbers, y, y)
    assert model.fit(X, target, target).to_bytes() == expected.to_bytes()
    said = model.predict(X)
    assert said.chunks == ((60, 60, 60, 20),)
    assert said.dtype == np.float64
    assert np.array_equal(said.compute(), expected.predict(numbers))
    told = model.shap_values(X)
    assert told.shape == (200, 4)
    assert np.array_equal(told.compute(), expected.shap_values(numbers))
    some = X[X[:, 0] > 0.5]  # nobody knows how many, and some partitions have none
    at = numbers[:, 0] > 0.5
    few = clone(model).fit(some, target.rechunk(60)[X[:, 0] > 0.5])
    assert few.to_bytes() == clone(model).fit(numbers[at], y[at]).to_bytes()
    assert np.isnan(model.predict(some).shape[0])
    assert np.array_equal(model.predict(some).compute(), expected.predict(numbers[at]))
    none = X[X[:, 0] > 3.5 - 60 * (X[:, 1] < -9)]
    assert model.predict(none).compute().shape == (0,)
    classifier = gputree.DecisionTreeClassifier(max_depth=2).fit(numbers, numbers[:, 0] > 0)
    assert classifier.shap_values(X).chunks == ((60, 60, 60, 20), (4,), (2,))
    assert classifier.shap_values(X).compute().shape == (200, 4, 2)


@pytest.mark.parametrize("is_spread", [True, False])
def test_rows_that_are_watched(client, is_spread):
    X, y, weight = table()
    model = gputree.GradientBoostingClassifier(40, early_stopping=True, n_iter_no_change=2)
    other = X[::3], y[::3], weight[::3]
    names = "X_val", "y_val", "sample_weight_val"
    expected = clone(model).fit(X, y, **dict(zip(names, other, strict=True)))
    if is_spread:
        other = [dd.from_pandas(each, npartitions=3) for each in other]
    model.fit(
        dd.from_pandas(X, npartitions=4),
        dd.from_pandas(y, npartitions=4),
        **dict(zip(names, other, strict=True)),
    )
    assert model.to_bytes() == expected.to_bytes()
    assert np.array_equal(model.validation_score_, expected.validation_score_)


def test_one_weight_and_partitions_that_differ(client):
    X, y, _ = table()
    frame, target = dd.from_pandas(X, npartitions=5), dd.from_pandas(y, npartitions=3)
    tree = gputree.DecisionTreeClassifier().fit(frame, target, 2.0)
    expected = gputree.DecisionTreeClassifier().fit(X, y, 2.0)
    assert tree.to_bytes() == expected.to_bytes()
    with pytest.raises(ValueError, match="'X': 5, 'y': 3"):
        tree.fit(frame.clear_divisions(), target)


def test_what_cannot_be_is_told_with_the_cure(client):
    X, y, _ = table()
    frame, target = dd.from_pandas(X, npartitions=5), dd.from_pandas(y, npartitions=5)
    tree = gputree.DecisionTreeClassifier().fit(X, y)
    forest = gputree.RandomForestClassifier(2)
    for fit, problem in [
        (lambda: tree.fit(frame, y), r"y is a Series in memory.*as one, too"),
        (lambda: tree.fit(X, target), r"X is a DataFrame in memory.*compute\(\)"),
        (lambda: tree.decision_path(frame), r"of Dask.*X\.compute\(\)"),
        (lambda: tree.fit(frame[["x"]], target).predict(frame), "feature"),
        (lambda: forest.fit(frame, target, callbacks=[print]), "leave callbacks out"),
        (lambda: tree.fit(frame, target, X_val=X, y_val=y), "watched by gradient boosting"),
    ]:
        with pytest.raises((TypeError, ValueError), match=problem):
            fit()


def test_without_a_client_the_error_says_how_to_get_one():
    code = """
import pandas, sys
import gputree
from gputree import cluster
gputree.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[1.0]])
assert not {"dask", "distributed"} & set(sys.modules)
import dask.array as da
X = da.ones((4, 2))
try:
    gputree.DecisionTreeClassifier().fit(X, X[:, 0])
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "client = distributed.Client(...)" in done.stdout, done.stderr


def test_workers_read_a_folder_themselves(client, tmp_path):
    X, y, weight = table()
    frame = X.assign(y=y, w=weight)
    for at in range(5):
        frame.iloc[at::5].to_parquet(tmp_path / f"part-{at}.parquet")
    tree = gputree.DecisionTreeClassifier()
    data = gputree.Dataset.from_file(tmp_path, "y", weight="w", columns=["x", "kind"])
    expected = clone(tree).fit(data).to_bytes()
    for path in (tmp_path, f"{tmp_path}/*.parquet", sorted(map(str, tmp_path.glob("*.parquet")))):
        found = cluster.fit(
            tree, path, target="y", weight="w", columns=["x", "kind"], client=client
        )
        assert found.to_bytes() == expected
    with pytest.raises(FileNotFoundError, match="no file matches"):
        cluster.fit(tree, f"{tmp_path}/*.pq", target="y", client=client)
