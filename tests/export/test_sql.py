"""SQL answers as the model does, in SQLite and DuckDB."""

import functools
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

import gputree
from gputree.export import sql
from tests.export.models import (
    DIVIDED,
    MODELS,
    WITH_EXPONENTIALS,
    expected,
    fitted,
    pd,
    rows,
    values_of,
)

TYPES = {"colour": "VARCHAR", "size": "VARCHAR", "code": "BIGINT"}
NOT_SQL = {"AdaBoost of numbers", "AdaBoost, fractions"}
EXPORTED = [name for name in MODELS if name not in NOT_SQL]


def declared(columns):
    quoted = [column.replace('"', '""') for column in columns]
    kinds = [TYPES.get(column, "DOUBLE") for column in columns]
    return ", ".join(f'"{name}" {kind}' for name, kind in zip(quoted, kinds, strict=True))


def in_sqlite(X):
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE data (id INTEGER, {declared(X.columns)})")
    marks = ", ".join("?" * (1 + X.shape[1]))
    numbered = ([number, *row] for number, row in enumerate(values_of(X)))
    base.executemany(f"INSERT INTO data VALUES ({marks})", numbered)
    return base


def in_duckdb(X):
    """NaN stays NaN here, and is not NULL."""
    duckdb, pa = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    base = duckdb.connect(config={"threads": 1})
    columns = {"id": np.arange(len(X))}
    for name in X.columns:
        cells = X[name].to_numpy() if name not in TYPES else values_of(X[[name]])
        is_number = name not in TYPES
        columns[name] = pa.array(cells if is_number else [cell[0] for cell in cells])
    base.register("given", pa.table(columns))
    base.execute(f"CREATE TABLE data (id INTEGER, {declared(X.columns)})")
    base.execute("INSERT INTO data SELECT * FROM given")
    return base


BASES = {"sqlite": in_sqlite, "duckdb": in_duckdb}


@pytest.fixture(scope="module")
def base_of():
    """A data base with the rows, made once for each choice of columns."""
    made = {}

    def get(dialect, X):
        key = dialect, tuple(X.columns)
        if key not in made:
            made[key] = BASES[dialect](X)
        return made[key]

    yield get
    for base in made.values():
        base.close()


def ask(base, text):
    found = sorted(base.execute(text).fetchall())
    return np.array([row[1:] for row in found], np.float64)


@pytest.mark.parametrize("dialect", BASES)
@pytest.mark.parametrize("name", EXPORTED)
def test_the_answers_are_those_of_the_model(dialect, name, base_of):
    base = base_of(dialect, rows(name))
    found = ask(base, fitted(name).to_sql(dialect=dialect, keep=["id"]))
    if name in WITH_EXPONENTIALS:  # data bases take the exponential of the C library
        np.testing.assert_allclose(found, expected(name), rtol=1e-13)
    elif name in DIVIDED:  # shares are multiplied in, and added, branch by branch
        np.testing.assert_allclose(found, expected(name), rtol=1e-13, atol=1e-15)
    else:
        assert (found == expected(name)).all()


def test_plain_sql_is_understood_by_sqlite(base_of):
    base = base_of("sqlite", rows("surrogates"))
    found = ask(base, fitted("surrogates").to_sql(keep=["id"]))
    assert (found == expected("surrogates")).all()


def test_columns_of_the_answer_are_named_after_the_classes(base_of):
    base = base_of("sqlite", rows("subsets"))
    told = base.execute(fitted("subsets").to_sql(dialect="sqlite", keep=["id"])).description
    names = [column[0] for column in told]
    assert names == ["id", "probability_high", "probability_low", "probability_mid'"]


def test_a_table_without_a_column_is_an_error_and_not_a_text():
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE data (id INTEGER, other DOUBLE)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        base.execute(fitted("subsets").to_sql(dialect="sqlite"))
    base.close()


@pytest.mark.parametrize("dialect", BASES)
def test_categories_that_the_model_refuses_give_null(dialect):
    X = pd.DataFrame({"colour": ["a", "b", "a", "b"]})
    model = gputree.DecisionTreeClassifier(
        categorical_features=["colour"], unknown_category="error"
    )
    text = model.fit(X, [0, 1, 0, 1]).to_sql(dialect=dialect, keep=["id"])
    base = BASES[dialect](pd.DataFrame({"colour": ["a", "b", "c", None]}))
    found = sorted(base.execute(text).fetchall())
    assert [row[1:] for row in found[:3]] == [(1.0, 0.0), (0.0, 1.0), (None, None)]
    assert found[3][1:] == tuple(model.predict_proba(pd.DataFrame({"colour": [None]}))[0])
    base.close()


@pytest.mark.parametrize("dialect", BASES)
def test_truth_values_and_infinite_thresholds(dialect):
    wide = [-np.inf, -np.inf, 0.0, np.inf, np.inf, np.nan]
    X = pd.DataFrame({"width": wide, "colour": [True, False, True, False, True, None]})
    X["colour"] = X["colour"].astype(object)
    model = gputree.DecisionTreeRegressor(categorical_features=["colour"]).fit(X, np.arange(6.0))
    text = model.to_sql(dialect=dialect, keep=["id"])
    kinds = {"sqlite": "INTEGER", "duckdb": "BOOLEAN"}
    if dialect == "duckdb":
        base = pytest.importorskip("duckdb").connect(config={"threads": 1})
    else:
        base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE data (id INTEGER, width DOUBLE, colour {kinds[dialect]})")
    base.executemany(
        "INSERT INTO data VALUES (?, ?, ?)", [[i, *r] for i, r in enumerate(values_of(X))]
    )
    assert ask(base, text)[:, 0].tolist() == model.predict(X).tolist()
    base.close()


def test_deep_trees_are_not_too_deep_for_sqlite():
    X = np.arange(60.0)[:, None]
    model = gputree.DecisionTreeRegressor().fit(X, 4.0 ** X[:, 0])
    assert model.get_depth() > 20  # which is too deep for CASE within CASE
    base = in_sqlite(pd.DataFrame(X, columns=["x0"]))
    assert (ask(base, model.to_sql(dialect="sqlite", keep=["id"]))[:, 0] == model.predict(X)).all()
    base.close()


@pytest.mark.parametrize("dialect", BASES)
@pytest.mark.parametrize("n_trees", [sql.MOST_CHAINED, 3 * sql.MOST_CHAINED])
def test_many_trees_are_not_too_deep(dialect, n_trees):
    X = np.arange(4.0)[:, None]
    model = gputree.DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0] / 7)
    one = model._plan()
    many = replace(
        one, trees=one.trees * n_trees, values=one.values * n_trees, column=one.column * n_trees
    )
    base = BASES[dialect](pd.DataFrame(X, columns=["x0"]))
    found = ask(base, sql.to_sql(many, "data", dialect, ["id"]))[:, 0]
    expected = functools.reduce(np.add, [model.predict(X)] * n_trees)
    if n_trees == sql.MOST_CHAINED:
        assert (found == expected).all()
    else:  # added pairwise
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    base.close()


def test_what_sql_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="dialect='oracle' is unknown"):
        fitted("subsets").to_sql(dialect="oracle")
    with pytest.raises(ValueError, match="keep='id' is one text"):
        fitted("subsets").to_sql(keep="id")
    with pytest.raises(gputree.export.NotExportable, match="median; use to_onnx"):
        fitted("AdaBoost of numbers").to_sql()
    with pytest.raises(gputree.export.NotExportable, match="trees that divide rows"):
        fitted("AdaBoost, fractions").to_sql()
