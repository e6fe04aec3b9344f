"""A tree in the DOT language: whole, readable by a parser, with any name."""

import io
import re

import numpy as np
import pytest

from gputree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    export_graphviz,
)
from gputree.tree.colours import CLASS_COLOURS, node_colours
from gputree.tree.describe import Answers, Boxes, Branches
from gputree.tree.graphviz import quoted, tree_dot
from gputree.tree.tree import Tree

NAN = np.nan
STRING = r'"(?:[^"\\\n]|\\.)*"'
ATTRIBUTE = rf"\w+=(?:\w+|{STRING})"
STATEMENT = re.compile(
    rf"(?P<name>\w+)(?: -> (?P<child>\w+))? \[(?P<given>{ATTRIBUTE}(?:, {ATTRIBUTE})*)\] ;"
)
ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}


def parsed(source):
    """Nodes and edges with their attributes; fails unless every line is a statement."""
    first, *lines, last = source.removesuffix("\n").split("\n")
    assert (first, last) == ("digraph Tree {", "}")
    nodes, edges = {}, {}
    for line in lines:
        found = STATEMENT.fullmatch(line)
        assert found, line
        if found["name"] in ("node", "edge"):
            continue
        key = int(found["name"])
        into, key = (nodes, key) if found["child"] is None else (edges, (key, int(found["child"])))
        assert key not in into
        given = re.findall(rf"(\w+)=({STRING})", found["given"])
        into[key] = {name: unquoted(value) for name, value in given}
    return nodes, edges


def unquoted(string):
    """What Graphviz would show: escapes first, then entities."""
    shown = re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), string[1:-1])
    return re.sub("|".join(ENTITIES), lambda found: ENTITIES[found[0]], shown)


def check_whole(source, tree):
    nodes, edges = parsed(source)
    assert list(nodes) == list(range(tree.n_nodes))
    parent = tree.parent.tolist()
    assert list(edges) == [(parent[child], child) for child in range(1, tree.n_nodes)]


def chain(depth):
    """Every second node is a leaf."""
    n_nodes = 2 * depth + 1
    is_split = np.arange(n_nodes) % 2 == 0
    is_split[-1] = False
    return Tree(
        kind=is_split,
        feature=np.where(is_split, 0, -1),
        threshold=np.where(is_split, 1.0, NAN),
        missing_slot=np.zeros(n_nodes),
        first_child=np.where(is_split, np.arange(n_nodes) + 1, -1),
        gain=np.zeros(n_nodes),
        impurity=np.zeros(n_nodes),
        n_rows=np.where(is_split, 2, 1),
        weight=np.ones(n_nodes),
        value=np.arange(float(n_nodes))[:, None],
    )


@pytest.fixture(scope="module")
def weather():
    pd = pytest.importorskip("pandas")
    table = {
        "outlook": ["sunny", "sunny", "rain", "rain", "overcast"],
        "windy": ["no", "yes", "no", "yes", "yes"],
    }
    target = ["stay", "stay", "play", "stay", "play"]
    return ID3Classifier(backend="numpy").fit(pd.DataFrame(table, dtype="category"), target)


def test_nodes_have_features_and_answers_and_edges_have_conditions(weather):
    nodes, edges = parsed(export_graphviz(weather))
    assert nodes[0]["label"].split("\n") == [
        *("outlook", "class stay", "5 rows, 60.0%", "counts [2, 3]"),
    ]
    assert nodes[1]["label"].split("\n") == ["class play", "1 row, 100.0%", "counts [1, 0]"]
    assert {edge: given["label"] for edge, given in edges.items()} == {
        (0, 1): "= overcast",
        (0, 2): "= rain",
        (0, 3): "= sunny",
        (2, 4): "= no",
        (2, 5): "= yes",
    }


def test_signs_survive():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    _, edges = parsed(export_graphviz(model, decimals=1))
    assert [given["label"] for given in edges.values()] == ["<= 0.5", "> 0.5"]


def test_every_node_and_edge_is_there_once(weather):
    check_whole(export_graphviz(weather, filled=True), weather.nodes_)
    rng = np.random.default_rng(0)
    model = DecisionTreeRegressor().fit(rng.normal(size=(200, 3)), rng.normal(size=200))
    assert model.tree_.n_nodes > 300
    check_whole(export_graphviz(model, filled=True), model.nodes_)


def test_an_empty_leaf_says_so_and_has_no_counts_of_its_own():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [*"xxyyzz"], "b": [*"pqpqpr"]}, dtype="category")
    model = ID3Classifier(backend="numpy").fit(table, [0, 1, 0, 0, 1, 0])
    empty = int(np.flatnonzero(model.tree_.n_rows == 0)[0])
    nodes, _ = parsed(export_graphviz(model))
    assert nodes[empty]["label"] == "class 0\n0 rows, 50.0%"


def test_below_the_largest_depth_dots_stand_for_the_rest(weather):
    nodes, edges = parsed(export_graphviz(weather, max_depth=1))
    assert list(nodes) == [0, 1, 2, 3]
    assert list(edges) == [(0, 1), (0, 2), (0, 3)]
    assert nodes[2]["label"].split("\n")[-1] == "..."
    assert "windy" not in nodes[2]["label"]
    assert "..." not in nodes[1]["label"]
    only, none = parsed(export_graphviz(weather, max_depth=0))
    assert (list(only), none) == ([0], {})
    assert export_graphviz(weather, max_depth=99) == export_graphviz(weather)


def test_a_leaf_alone_is_a_graph():
    model = DecisionTreeRegressor().fit([[0], [1]], [3.0, 3.0])
    nodes, edges = parsed(export_graphviz(model, filled=True, impurity=True))
    assert nodes == {0: {"label": "impurity 0.00\nmean 3.00\n2 rows", "fillcolor": "#ffffff"}}
    assert not edges


NASTY = ['"', "\\", "\\N", "a\\", "<b>", "&lt;", "a;b", "]", "$x$", "{a|b}", "é", '"] ; 9 [label="']


@pytest.mark.parametrize("name", NASTY)
def test_any_name_is_shown_as_it_is(name):
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    source = export_graphviz(model, feature_names=[name], class_names=[name, "other"])
    check_whole(source, model.nodes_)
    nodes, _ = parsed(source)
    assert nodes[0]["label"].split("\n")[:2] == [name, f"class {name}"]


@pytest.mark.parametrize("name", NASTY)
def test_any_category_is_shown_as_it_is(name):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": pd.Categorical([name, "zz"], categories=[name, "zz"])})
    model = ID3Classifier(backend="numpy").fit(table, [0, 1])
    _, edges = parsed(export_graphviz(model))
    assert edges[0, 1]["label"] == f"= {name}"


def test_lines_are_broken_by_an_escape():
    assert quoted(["a\nb", "c"]) == r'"a\nb\nc"'


def test_a_name_of_several_lines_does_not_break_the_statement():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    nodes, _ = parsed(export_graphviz(model, feature_names=["a\nb"]))
    assert nodes[0]["label"].split("\n")[0] == r"'a\nb'"


def test_colours_are_those_of_the_classes_and_paler_where_they_mix():
    model = DecisionTreeClassifier().fit([[0], [1], [2], [3]], [0, 1, 1, 1])
    nodes, _ = parsed(export_graphviz(model, filled=True))
    first, second = ("#{:02x}{:02x}{:02x}".format(*colour) for colour in CLASS_COLOURS[:2])
    assert [nodes[1]["fillcolor"], nodes[2]["fillcolor"]] == [first, second]
    # Three of four rows are of the second class: it leads by (3/4 - 1/4) / (1 - 1/4).
    expected = [round(255 + 2 / 3 * (part - 255)) for part in CLASS_COLOURS[1]]
    assert nodes[0]["fillcolor"] == "#{:02x}{:02x}{:02x}".format(*expected)
    assert "fillcolor" not in parsed(export_graphviz(model))[0][0]


def test_a_node_between_classes_is_white():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    assert node_colours(model.nodes_, is_classes=True)[0] == "#ffffff"


@pytest.mark.parametrize("n_classes", [8, 9, 40])
def test_every_class_has_a_colour_of_its_own(n_classes):
    labels = np.arange(n_classes)
    tree = DecisionTreeClassifier().fit(labels[:, None], labels).nodes_
    colours = np.array(node_colours(tree, is_classes=True))
    assert len(set(colours[tree.is_leaf])) == n_classes


def test_larger_values_have_stronger_colours():
    model = DecisionTreeRegressor(max_depth=1).fit([[0], [1]], [1.0, 5.0])
    low, high = node_colours(model.nodes_, is_classes=False)[1:]
    assert low == "#ffffff"
    assert high < low


def test_of_several_outputs_the_purest_node_is_strongest():
    model = DecisionTreeRegressor(max_depth=1).fit([[0], [1]], [[1.0, 9.0], [5.0, -3.0]])
    root, *leaves = node_colours(model.nodes_, is_classes=False)
    assert root == "#ffffff"
    assert leaves[0] == leaves[1] < root


def test_a_file_or_a_path_is_written_to(tmp_path):
    model = DecisionTreeClassifier().fit([[0], [1]], ["é", "b"])
    source = export_graphviz(model)
    path, file = tmp_path / "tree.dot", io.StringIO()
    assert export_graphviz(model, path) is None
    assert path.read_text(encoding="utf-8") == source
    assert model.export_graphviz(file) is None
    assert file.getvalue() == source


def test_wrong_names_and_depths_are_refused():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="feature_names has 2 names; the tree has 1 features"):
        export_graphviz(model, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="class_names has 1 names; the tree has 2 classes"):
        export_graphviz(model, class_names=["a"])
    with pytest.raises(ValueError, match="max_depth"):
        export_graphviz(model, max_depth=-1)
    with pytest.raises(TypeError, match="a tree of gputree is needed"):
        export_graphviz(model.nodes_)


def test_a_chain_deeper_than_the_recursion_limit_is_shown():
    deep = chain(5000)
    boxes = Boxes(Branches(deep, ("a",), (None,), 2), Answers(deep, None))
    check_whole(tree_dot(boxes), deep)
