"""Combinations of columns in Python, C, SQL and ONNX, with the bits of the model."""

import sqlite3

import numpy as np
import pytest

from gputree import ObliqueTreeClassifier, ObliqueTreeRegressor
from gputree.export import NotExportable
from tests.export import test_c
from tests.export.models import pd

NAMES = ["width", "a 'b\"", "length"]


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.01] = np.inf
    X[rng.random(X.shape) < 0.01] = -np.inf
    return pd.DataFrame(X, columns=NAMES)


def target(X):
    return np.nan_to_num(X.to_numpy(), posinf=3.0, neginf=-3.0) @ [1.0, -0.7, 0.4]


@pytest.fixture(scope="module")
def classifier():
    X = table(400, 0)
    y = np.array(["high", "low", "mid'"])[np.digitize(target(X), [-0.5, 0.7])]
    tree = ObliqueTreeClassifier(directions="cart-lc", max_depth=5).fit(X, y)
    assert len(tree.nodes_.directions) > 3
    return tree


@pytest.fixture(scope="module")
def regressor():
    X = table(400, 0)
    return ObliqueTreeRegressor(max_leaf_nodes=20).fit(X, target(X))


def test_python(classifier, regressor):
    X = table(2000, 1)
    for tree, name in ((classifier, "predict_proba"), (regressor, "predict")):
        module = {}
        exec(tree.to_python(), module)
        found = [module[name](row) for row in X.to_numpy().tolist()]
        assert np.array_equal(found, getattr(tree, name)(X))
        assert module[name](dict(zip(NAMES, X.iloc[0], strict=True))) == found[0]


@test_c.pytestmark
def test_c_source(classifier, tmp_path):
    X = table(2000, 1)
    found, codes = test_c.answers(test_c.compiled(classifier, tmp_path), X.to_numpy())
    assert not any(codes)
    assert np.array_equal(found, classifier.predict_proba(X))


def test_sql(regressor):
    X = table(2000, 1)
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE data (id INTEGER, width DOUBLE, "a \'b""" DOUBLE, length DOUBLE)')
    rows = ([at, *row] for at, row in enumerate(X.to_numpy().tolist()))
    base.executemany("INSERT INTO data VALUES (?, ?, ?, ?)", rows)
    said = base.execute(regressor.to_sql(dialect="sqlite", keep=["id"])).fetchall()
    assert np.array_equal([answer for _, answer in sorted(said)], regressor.predict(X))
    assert " * " in regressor.to_sql(dialect="duckdb")


def test_ordered_categories_in_a_combination_are_no_numbers_of_sql():
    rng = np.random.default_rng(0)
    code, width = rng.integers(0, 6, 300), rng.normal(3.0, 1.5, 300)
    grade = pd.Categorical.from_codes(code, list("abcdef"), ordered=True)
    X = pd.DataFrame({"grade": grade, "width": width})
    tree = ObliqueTreeClassifier().fit(X, code + width > 5)
    with pytest.raises(NotExportable, match="ordered categories"):
        tree.to_sql()
    module = {}
    exec(tree.to_python(), module)
    assert [module["predict"](row) for row in X.to_numpy().tolist()] == tree.predict(X).tolist()


def session(tree):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    return runtime.InferenceSession(tree.to_onnx().SerializeToString())


def test_onnx(classifier, regressor):
    X = table(2000, 1)
    given = {"X": X.to_numpy()}
    label, shares = session(classifier).run(["label", "probabilities"], given)
    assert np.array_equal(shares, classifier.predict_proba(X))
    assert np.array_equal(label, classifier.predict(X))
    (found,) = session(regressor).run(["prediction"], given)
    assert np.array_equal(found[:, 0], regressor.predict(X))


def test_onnx_takes_ordered_categories_for_their_numbers():
    rng = np.random.default_rng(0)
    code, width = rng.integers(-1, 6, 300), rng.normal(3.0, 1.5, 300)
    grade = pd.Categorical.from_codes(code, list("abcdef"), ordered=True)
    kind = pd.Categorical.from_codes(rng.integers(0, 3, 300), ["u", "v", "w"])
    X = pd.DataFrame({"grade": grade, "kind": kind, "width": width})
    tree = ObliqueTreeClassifier(max_depth=5).fit(X, (code + width > 5) ^ (kind == "u"))
    assert set(tree.nodes_.directions.column.tolist()) == {0, 2}
    text = X[["grade", "kind"]].astype(object).where(X[["grade", "kind"]].notna(), "")
    cells = {name: text[[name]].to_numpy(str).astype(object) for name in text}
    (found,) = session(tree).run(["probabilities"], {**cells, "width": width[:, None]})
    assert np.array_equal(found, tree.predict_proba(X))


@pytest.mark.parametrize("way", ["to_sklearn", "to_treelite"])
def test_formats_without_combinations_refuse_them(classifier, way):
    if way != "to_sklearn":
        pytest.importorskip(way.removeprefix("to_"))
    with pytest.raises(NotExportable, match="to_json"):
        getattr(classifier, way)()
