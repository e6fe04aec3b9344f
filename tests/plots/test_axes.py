"""What all pictures share: axes in, axes out, nothing else touched."""

import subprocess
import sys

import pytest
from sklearn.datasets import load_iris

from gputree import (
    CARTClassifier,
    RandomForestClassifier,
    plot_boundary,
    plot_error_curve,
    plot_importance,
    plot_pruning,
    plot_tree,
)

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

X, Y = load_iris(return_X_y=True)
FOREST = RandomForestClassifier(30, oob_score=True, random_state=0)
CART = CARTClassifier(max_depth=3)
PICTURES = {
    "plot_boundary": lambda ax=None: plot_boundary(CART, X, Y, resolution=5, ax=ax),
    "plot_error_curve": lambda ax=None: plot_error_curve(FOREST, ax=ax),
    "plot_importance": lambda ax=None: plot_importance(FOREST, ax=ax),
    "plot_pruning": lambda ax=None: plot_pruning(CART, ax=ax),
}
WRONG = {
    "plot_boundary": lambda model: plot_boundary(model, X, Y),
    "plot_error_curve": plot_error_curve,
    "plot_importance": plot_importance,
    "plot_pruning": plot_pruning,
    "plot_tree": plot_tree,
}


@pytest.fixture(scope="module", autouse=True)
def fitted():
    """Not while tests are collected, which every worker does."""
    for model in (FOREST, CART):
        model.fit(X, Y)


@pytest.fixture
def plt():
    """No screen for pyplot; no figure is left behind."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_backend()
    pyplot.switch_backend("Agg")
    yield pyplot
    pyplot.close("all")
    pyplot.switch_backend(before)


@pytest.mark.parametrize("name", PICTURES)
def test_axes_that_are_given_are_drawn_into_and_returned(name, plt):
    ax = Figure().subplots()
    settings = dict(matplotlib.rcParams)
    assert PICTURES[name](ax) is ax
    assert ax.has_data()
    assert plt.get_fignums() == []
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("name", PICTURES)
def test_without_axes_a_new_figure_is_made(name, plt):
    first = PICTURES[name]()
    second = PICTURES[name]()
    assert first.figure is not second.figure
    assert len(plt.get_fignums()) == 2
    assert second.has_data()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_be_rendered(name):
    ax = PICTURES[name](Figure().subplots())
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_model_of_ours_is_refused_and_leaves_no_figure(name, plt):
    with pytest.raises(TypeError, match=r"of gputree (is needed|or a path)"):
        WRONG[name](3)
    assert plt.get_fignums() == []


def test_an_error_leaves_no_figure(plt):
    for draw in (
        lambda: plot_importance(CART, kind="permutation"),
        lambda: plot_error_curve(RandomForestClassifier(2).fit(X, Y)),
        lambda: plot_boundary(CART, X, Y, features=(0, 9)),
        lambda: plot_boundary(CART, X, Y + 5),
        lambda: plot_pruning(CARTClassifier(pruning=None).fit(X, Y)),
    ):
        with pytest.raises(ValueError):
            draw()
        assert plt.get_fignums() == []


def test_a_forest_is_no_tree_but_has_some():
    with pytest.raises(TypeError, match=r"estimators_\[0\]"):
        plot_tree(FOREST, ax=Figure().subplots())
    assert plot_tree(FOREST.estimators_[0], ax=Figure().subplots())


@pytest.mark.parametrize("name", PICTURES)
def test_without_matplotlib_the_error_says_how_to_get_it(name, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        PICTURES[name]()


def test_axes_that_are_given_need_no_pyplot():
    code = (
        "from matplotlib.figure import Figure; import gputree, sys;"
        "model = gputree.DecisionTreeClassifier().fit([[0, 1], [1, 0]], [0, 1]);"
        "gputree.plot_importance(model, ax=Figure().subplots());"
        "gputree.plot_boundary(model, [[0, 1], [1, 0]], [0, 1], ax=Figure().subplots());"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("False\n", "")
