"""A tree as a picture: a box a node, none over another, at any size."""

import sys

import numpy as np
import pytest

from gputree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    plot_tree,
)
from gputree.plots.boxes import LARGEST_FONT, positions
from gputree.tree.describe import Answers, Boxes, Branches
from gputree.tree.tree import Tree

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

NAN = np.nan


def axes(width=8.0, height=5.0):
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure.subplots()


def extents(artists):
    """Where the frames of texts are in the picture, once it has been drawn."""
    artists[0].figure.canvas.draw()
    return [each.get_bbox_patch().get_window_extent() for each in artists]


def overlap(one, other):
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1


def pairs_that_overlap(artists):
    found = extents(artists)
    return [
        (artists[i].get_text(), artists[j].get_text())
        for i in range(len(found))
        for j in range(i)
        if overlap(found[i], found[j])
    ]


def boxes_of(tree, max_depth=None):
    categories = [None] * (int(tree.feature.max()) + 1)
    names = [f"x{i}" for i in range(len(categories))]
    return Boxes(Branches(tree, names, categories, 2), Answers(tree, None), max_depth)


@pytest.fixture(scope="module")
def categories():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    table = {
        "a long name of a column": rng.choice([*"abcde"], 60),
        "b": rng.choice(["first", "second", "third"], 60),
    }
    target = rng.choice(["no", "yes"], 60)
    return ID3Classifier(backend="numpy").fit(pd.DataFrame(table, dtype="category"), target)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(2)
    return DecisionTreeRegressor(max_depth=4).fit(rng.normal(size=(80, 3)), rng.normal(size=80))


def test_a_node_is_an_annotation(categories):
    ax = axes()
    boxes = plot_tree(categories, ax=ax)
    tree = categories.nodes_
    assert len(boxes) == tree.n_nodes
    assert boxes[0].get_text().split("\n")[:2] == ["a long name of a", "column"]
    leaf = int(np.flatnonzero(tree.is_leaf)[0])
    assert boxes[leaf].get_text().split("\n")[0].startswith("class ")
    assert all(box in ax.texts for box in boxes)
    conditions = [each.get_text() for each in ax.texts if each not in boxes]
    assert len(conditions) == tree.n_nodes - 1
    assert conditions[:5] == ["= a", "= b", "= c", "= d", "= e"]


@pytest.fixture(scope="module")
def long_lists():
    """Conditions are wider and higher than the boxes below them."""
    pd = pytest.importorskip("pandas")
    categories = [f"level-{i}-of-twelve" for i in range(12)]
    table = pd.DataFrame({"a": pd.Categorical(categories * 2), "b": np.repeat([0.0, 1.0], 12)})
    target = [int(i % 3 == 0) + b for b in (0, 1) for i in range(12)]
    return DecisionTreeRegressor(backend="numpy", max_depth=2).fit(table, target)


@pytest.mark.parametrize("size", [(20.0, 8.0), (6.4, 4.8), (30.0, 3.0), (6.0, 40.0)])
@pytest.mark.parametrize("kind", ["categories", "numbers", "long_lists"])
def test_nothing_lies_over_anything_else(kind, size, request):
    ax = axes(*size)
    plot_tree(request.getfixturevalue(kind), ax=ax, impurity=True)
    assert pairs_that_overlap(ax.texts) == []


def test_a_font_that_is_too_large_is_used_if_it_is_asked_for(categories):
    ax = axes(6.4, 4.8)
    boxes = plot_tree(categories, ax=ax, fontsize=20)
    assert {each.get_fontsize() for each in ax.texts} == {20.0}
    assert pairs_that_overlap(boxes)


def test_the_font_is_as_large_as_the_picture_allows(categories):
    small, large = (plot_tree(categories, ax=axes(w, w / 2))[0].get_fontsize() for w in (8, 16))
    assert small < large < LARGEST_FONT
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    assert plot_tree(model, ax=axes())[0].get_fontsize() == LARGEST_FONT


@pytest.mark.parametrize("max_depth", [None, 0])
@pytest.mark.parametrize("size", [(8.0, 5.0), (4.0, 5.0)])
def test_boxes_are_inside_the_picture(categories, max_depth, size):
    ax = axes(*size)
    area = ax.get_window_extent()
    for each in extents(plot_tree(categories, ax=ax, max_depth=max_depth)):
        assert area.x0 <= each.x0 < each.x1 <= area.x1
        assert area.y0 <= each.y0 < each.y1 <= area.y1


def test_of_many_categories_few_are_named(long_lists):
    ax = axes()
    plot_tree(long_lists, ax=ax)
    shown = [each.get_text().split("\n") for each in ax.texts]
    assert shown[-2] == [
        "in {level-0-of-twelve,",
        "level-3-of-twelve,",
        "level-6-of-twelve,",
        "level-9-of-twelve}",
    ]
    assert shown[-1][-2:] == ["level-2-of-twelve, ...", "4 more}"]


def test_a_long_word_is_broken():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    box = plot_tree(model, feature_names=["x" * 50], ax=axes())[0]
    assert box.get_text().split("\n")[:4] == ["x" * 22, "x" * 22, "x" * 6, "class 0"]


def test_leaves_are_evenly_spaced_and_parents_are_above_their_children(categories, numbers):
    for model in (categories, numbers):
        tree = model.nodes_
        x, y = positions(boxes_of(tree))
        leaf_x = np.sort(x[tree.is_leaf])
        assert leaf_x.tolist() == (np.arange(tree.n_leaves) + 0.5).tolist()
        assert y.tolist() == (-tree.depth).tolist()
        for node in np.flatnonzero(~tree.is_leaf):
            own = x[tree.first_child[node] :][: tree.n_children[node]]
            assert x[node] == (own[0] + own[-1]) / 2
            assert (np.diff(own) > 0).all()
        for begin, end in tree.levels():
            assert (np.diff(x[begin:end]) >= 1).all()


def test_below_the_largest_depth_dots_stand_for_the_rest(numbers):
    tree = numbers.nodes_
    boxes = plot_tree(numbers, ax=axes(), max_depth=2)
    assert len(boxes) == int((tree.depth <= 2).sum())
    for node, box in enumerate(boxes):
        is_cut = tree.depth[node] == 2 and not tree.is_leaf[node]
        assert box.get_text().endswith("...") == is_cut
    (only,) = plot_tree(numbers, ax=axes(), max_depth=0)
    assert only.get_text() == f"mean {tree.value[0, 0]:.2f}\n80 rows\n..."


def test_boxes_have_the_colours_of_their_answers():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    white, *classes = (
        to_hex(box.get_bbox_patch().get_facecolor())
        for box in plot_tree(model, ax=axes(), filled=True)
    )
    assert (white, classes) == ("#ffffff", ["#e69f00", "#56b4e9"])
    plain = plot_tree(model, ax=axes())
    assert {to_hex(box.get_bbox_patch().get_facecolor()) for box in plain} == {"#ffffff"}


def test_a_leaf_alone_is_drawn():
    model = DecisionTreeRegressor().fit([[0], [1]], [3.0, 3.0])
    (box,) = model.plot(ax=axes(), filled=True)
    assert box.get_text() == "mean 3.00\n2 rows"
    (drawn,) = extents(model.plot(ax=axes(0.5, 2.0)))
    assert drawn.width < 0.5 * 100  # pixels


def test_dollars_are_not_formulas():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    boxes = plot_tree(model, feature_names=[r"$\nope$"], class_names=["$1", "$2"], ax=axes())
    extents(boxes)  # an unknown command of a formula would fail here
    assert boxes[0].get_text().split("\n")[:2] == [r"$\nope$", "class $1"]


def test_divided_rows_are_shown_by_their_weight():
    X = [[0.0], [0.0], [0.0], [1.0], [1.0], [NAN]]
    model = C45Classifier(backend="numpy", pruning=None).fit(X, ["a", "a", "a", "b", "b", "b"])
    box = plot_tree(model, ax=axes())[1]
    assert box.get_text() == "class a\n3.6 rows, 83.3%\ncounts [3, 0.6]"


def test_the_current_axes_are_drawn_into(monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = axes()
    monkeypatch.setattr(plt, "gca", lambda: ax)
    ax.plot([0, 1], [0, 1])
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    boxes = plot_tree(model)
    assert [box.axes for box in boxes] == [ax] * 3
    assert len(ax.lines) == 2  # what was there has gone


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plot_tree(model)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"feature_names": ["a", "b"]}, "feature_names has 2 names; the tree has 1 features"),
        ({"class_names": ["a"]}, "class_names has 1 names; the tree has 2 classes"),
        ({"max_depth": -1}, "max_depth"),
        ({"decimals": 0.5}, "decimals"),
        ({"fontsize": 0}, "fontsize"),
        ({"fontsize": "large"}, "fontsize"),
    ],
)
def test_wrong_names_and_sizes_are_refused(given, match):
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match=match):
        plot_tree(model, ax=axes(), **given)


def test_a_chain_deeper_than_the_recursion_limit_has_a_layout():
    depth = 5000
    assert depth > sys.getrecursionlimit()
    n_nodes = 2 * depth + 1
    is_split = np.arange(n_nodes) % 2 == 0
    is_split[-1] = False
    deep = Tree(
        kind=is_split,
        feature=np.where(is_split, 0, -1),
        threshold=np.where(is_split, 1.0, NAN),
        missing_slot=np.zeros(n_nodes),
        first_child=np.where(is_split, np.arange(n_nodes) + 1, -1),
        gain=np.zeros(n_nodes),
        impurity=np.zeros(n_nodes),
        n_rows=np.ones(n_nodes),
        weight=np.ones(n_nodes),
        value=np.zeros((n_nodes, 1)),
    )
    x, y = positions(boxes_of(deep))
    assert np.sort(x[deep.is_leaf]).tolist() == (np.arange(depth + 1) + 0.5).tolist()
    assert y.min() == -depth
    x, y = positions(boxes_of(deep, max_depth=2))
    assert x.tolist() == [1.25, 0.5, 2.0, 1.5, 2.5]
    assert y.tolist() == [0, -1, -1, -2, -2]
