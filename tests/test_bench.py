"""`gputree bench`: every backend and scikit-learn's trees, timed on a table of the user's."""

import io
import re

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from gputree import DecisionTreeRegressor
from gputree.backends import registry
from gputree.diagnostics.bench import as_text, bench
from gputree.diagnostics.tables import LabelledTable, load_bundled
from gputree.errors import BackendUnavailable

TIMES = ("cold", "warm", "predict")


def timed(table, **options):
    stream = io.StringIO()
    return bench(table, stream=stream, **options), stream.getvalue()


@pytest.fixture(scope="module")
def iris():
    return timed(load_bundled("iris"), backends=["numpy", "numba"], repeats=2)


def test_everyone_is_timed(iris):
    result, _ = iris
    assert list(result["contestants"]) == [
        *("gputree-numpy", "gputree-numba", "sklearn-exact", "sklearn-hist")
    ]
    for each in result["contestants"].values():
        assert all(each[name] > 0 for name in TIMES)
        assert 0.8 < each["score"] <= 1.0


def test_the_ratio_is_to_the_fastest(iris):
    contestants = iris[0]["contestants"].values()
    fastest = min(each["warm"] for each in contestants)
    assert [each["ratio"] for each in contestants] == [
        each["warm"] / fastest for each in contestants
    ]


def test_backends_give_the_same_bytes(iris):
    result, _ = iris
    assert result["same_bytes"] is True
    same = {name: each["same_bytes"] for name, each in result["contestants"].items()}
    assert same["gputree-numpy"] is same["gputree-numba"] is True
    assert same["sklearn-exact"] is same["sklearn-hist"] is None


def test_what_is_printed_is_a_table_of_the_result(iris):
    result, text = iris
    first, _, header, *lines = text.splitlines()
    assert first.startswith("iris: 150 rows x 4 features, classification, depth 8; ")
    assert header.split() == [
        "cold",
        "warm",
        "x",
        "fastest",
        "predict",
        "accuracy",
        "same",
        "model",
    ]
    assert [line.split()[0] for line in lines] == list(result["contestants"])
    numba = result["contestants"]["gputree-numba"]
    figures = "{cold:.4f} {warm:.4f} {ratio:.2f} {predict:.4f} {score:.4f} yes".format(**numba)
    assert lines[1].split()[1:] == figures.split()
    assert lines[2].endswith("  -")


def test_models_that_differ_are_shouted(iris):
    each = iris[0]["contestants"]["gputree-numba"] | {"same_bytes": False}
    text = as_text(iris[0] | {"contestants": {"gputree-numba": each}})
    assert text.endswith("  NO")


def test_values_are_scored_by_r2_and_peers_can_be_left_out():
    table = load_bundled("diabetes")
    result, text = timed(table, backends=["numpy"], peers=False, max_depth=3)
    assert "regression, depth 3" in text
    assert "R²" in text
    assert list(result["contestants"]) == ["gputree-numpy"]
    X, X_test, y, y_test = train_test_split(table.X, table.y, test_size=0.25, random_state=0)
    expected = DecisionTreeRegressor(max_depth=3).fit(X, y).score(X_test, y_test)
    assert result["contestants"]["gputree-numpy"]["score"] == expected
    assert result["same_bytes"] is None


def test_a_backend_that_cannot_run_is_listed_with_the_reason(monkeypatch):
    def refuse(*_, **__):
        raise BackendUnavailable("there is no such device")

    monkeypatch.setattr("gputree.diagnostics.bench.choose", refuse)
    result, text = timed(load_bundled("iris"), repeats=1, max_depth=None)
    names = [f"gputree-{name}" for name in registry.BACKENDS if name != "array_api_strict"]
    assert list(result["skipped"]) == names
    assert re.search(r"^gputree-numpy +skipped: there is no such device$", text, re.MULTILINE)
    assert "unlimited depth" in text
    assert set(result["contestants"]) == {"sklearn-exact", "sklearn-hist"}


def test_a_peer_that_refuses_the_table_is_listed_with_the_reason():
    X = np.arange(40.0).reshape(20, 2)
    X[3, 0] = np.inf
    table = LabelledTable("t", X, np.arange(20) % 2, ("a", "b"), "classification")
    result, _ = timed(table, backends=["numpy"], repeats=1)
    assert "infinity" in result["skipped"]["sklearn-exact"]
    assert "gputree-numpy" in result["contestants"]


def test_an_unknown_backend_is_an_error():
    with pytest.raises(ValueError, match="backend='fast' is unknown"):
        timed(load_bundled("iris"), backends=["fast"])


def test_too_few_rows_or_rounds_are_errors():
    iris = load_bundled("iris")
    with pytest.raises(ValueError, match="repeats=0: at least 1"):
        timed(iris, repeats=0)
    few = LabelledTable("few", iris.X[:7], iris.y[:7], iris.feature_names, iris.task)
    with pytest.raises(ValueError, match="7 rows are too few to time; 8 are needed"):
        timed(few)


def test_it_prints_to_standard_output_by_default(capsys):
    bench(load_bundled("iris"), backends=["numpy"], peers=False, repeats=1)
    assert "gputree-numpy" in capsys.readouterr().out
