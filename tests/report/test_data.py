"""Every estimator has a report, all of it JSON, and nothing of the data becomes code."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import gputree
from gputree import DecisionTreeClassifier, RandomForestClassifier
from gputree.report import Report, write_report
from gputree.report.plain import exact, number, script_json
from gputree.report.reached import reached
from gputree.report.trees import whole_families

MODELS = [
    name
    for name in gputree.__all__
    if hasattr(getattr(gputree, name), "get_params")
    and not name.startswith("RuleSet")  # which have none
]


@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_has_a_report(name, mixed):
    (X, y), (other, y_other) = mixed
    if name == "ID3Classifier":
        X, other = (each[["colour", "shape"]].dropna()[:200] for each in (X, other))
    kind = getattr(gputree, name)
    few = {"n_estimators": 4} if "n_estimators" in kind().get_params() else {}
    if "pruning" in kind().get_params():
        few["pruning"] = None
    model = kind(**few).fit(X, y[X.index])
    report = model.report(other, y_other[other.index])
    assert isinstance(report, Report)
    assert json.loads(json.dumps(report.data, allow_nan=False))["model"]["name"] == name
    n_trees = len(model.estimators_) if few.get("n_estimators") else 1
    assert len(report.data["trees"]["list"]) == min(n_trees, 10)
    assert bool(report.data["learning"]["lines"]) == (n_trees > 1)
    assert (report.data["pruning"] is not None) == (n_trees == 1)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y)
    path = tmp_path / "report.html"
    report = write_report(tree, X, y, path, title="Irises & more")
    assert path.read_text("utf-8") == report.html
    assert "<title>Irises &amp; more</title>" in report.html
    with pytest.raises(OSError, match="nowhere"):
        tree.report(X, y, tmp_path / "nowhere" / "report.html")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_report_needs_a_fitted_model_of_gputree():
    with pytest.raises(NotFittedError):
        DecisionTreeClassifier().report([[0]], [0])
    with pytest.raises(TypeError, match="list"):
        write_report([], [[0]], [0], "never.html")
    tree = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="max_trees"):
        tree.report([[0]], [0], max_trees=0)


def test_a_page_asks_for_nothing_outside():
    X, y = load_iris(return_X_y=True)
    text = DecisionTreeClassifier().fit(X, y).report(X, y).html
    assert "default-src 'none'" in text
    addresses = set(re.findall(r"[a-z]+://[^\"'\s]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, which nobody fetches


def test_json_cannot_leave_its_script():
    nasty = {"</script>": "<!-- & \u2028 \ud800 ]]>"}
    text = script_json(nasty)
    assert not set("<>&") & set(text)
    assert text.isascii()
    assert json.loads(text) == nasty


def test_numbers_keep_what_they_need():
    assert [number(each) for each in (1 / 3, 2.0, np.nan, np.inf, 1e300)] == [
        *(0.333333, 2, None, None, 1e300)
    ]
    assert [exact(each) for each in (1 / 3, 2.0, np.nan, np.inf, -np.inf)] == [
        *(1 / 3, 2, None, "Infinity", "-Infinity")
    ]


def test_a_notebook_gets_a_frame_that_holds_the_page():
    X, y = load_iris(return_X_y=True)
    report = DecisionTreeClassifier().fit(X, y).report(X, y, title='"><b>')
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert shown.count("<") == 2  # the frame, and nothing beside it
    assert "&lt;!DOCTYPE html&gt;" in shown


def test_rows_that_reach_nodes_add_up(mixed):
    """Also where rows are divided among branches."""
    (X, y), (other, y_other) = mixed
    for missing in ("direction", "fractional"):
        tree = DecisionTreeClassifier(missing=missing).fit(X, y)
        data = tree.report(other, y_other).data["trees"]["list"][0]
        here = np.array(data["here"])
        inner = np.flatnonzero(~tree.tree_.is_leaf)
        first, n = tree.tree_.first_child, tree.tree_.n_children
        below = [here[first[at] : first[at] + n[at]].sum() for at in inner]
        np.testing.assert_allclose(below, here[inner], rtol=1e-4, atol=1e-3)
        assert here[0] == len(other)


def test_rows_of_a_node_are_those_that_pass_it(mixed):
    (X, y), (other, _) = mixed
    tree = DecisionTreeClassifier().fit(X, y)
    leaf = tree.apply(other)
    found = reached(tree.nodes_, (np.arange(len(leaf)), leaf, np.ones(len(leaf))))
    path = tree.decision_path(other).toarray()
    for node in range(tree.tree_.n_nodes):
        assert sorted(found.rows_at(node)) == np.flatnonzero(path[:, node]).tolist()


def test_bars_of_a_node_count_its_rows(mixed):
    (X, y), _ = mixed
    data = DecisionTreeClassifier().fit(X, y).report(X, y).data["trees"]["list"][0]
    for node, bars in data["bars"]["bars"].items():
        counted = np.sum(bars.get("count", 0)) + bars["missing"] + bars.get("others", 0)
        assert counted == data["here"][int(node)]


def test_a_tree_too_large_is_cut_without_tearing_siblings_apart(mixed, monkeypatch):
    (X, y), _ = mixed
    tree = DecisionTreeClassifier(nominal="multiway").fit(X, y)
    monkeypatch.setattr("gputree.report.trees.MOST_NODES", 50)
    data = tree.report(X, y).data["trees"]["list"][0]
    n = len(data["kind"])
    assert 2 < n <= 50
    assert sum(data["n_children"]) == n - 1
    assert any(data["n_hidden"])
    assert data["n_nodes"] == tree.tree_.n_nodes
    assert [whole_families(tree.nodes_, most) for most in (1, 2)] == [1, 1]


def test_trees_of_an_ensemble_are_chosen_from_all_of_it(mixed):
    (X, y), _ = mixed
    forest = RandomForestClassifier(n_estimators=20, max_depth=2).fit(X, y)
    names = [tree["name"] for tree in forest.report(X, y, max_trees=3).data["trees"]["list"]]
    assert len(names) == 3
    assert (names[0], names[-1]) == ("Tree 1", "Tree 20")


def test_a_model_from_a_file_has_a_report(tmp_path, mixed):
    (X, y), _ = mixed
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    tree.save(tmp_path / "tree.gputree")
    read = gputree.load(tmp_path / "tree.gputree")
    assert read.report(X, y).data["trees"] == tree.report(X, y).data["trees"]
    assert read.report(X, y).data["model"]["fit"] is None


@pytest.mark.parametrize("n_rows", [1, 2])
def test_few_rows_are_enough(n_rows):
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y)
    assert tree.report(X[:n_rows], y[:n_rows]).data["scores"]
    numbers = gputree.DecisionTreeRegressor().fit(X, y)
    assert numbers.report(X[:n_rows], y[:n_rows]).data["scores"]


def test_a_tree_of_one_leaf_and_columns_without_values():
    X = pd.DataFrame({"empty": [np.nan] * 4, "one": [1.0] * 4})
    report = DecisionTreeClassifier().fit(X, [0, 0, 1, 1]).report(X, [0, 0, 1, 1])
    assert report.data["pruning"] is None
    assert report.data["table"]["list"][0]["bars"] is None
