"""The picture of pruning: every tree of the path, the choice, one standard error."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from gputree import CARTClassifier, DecisionTreeClassifier, RandomForestClassifier, plot_pruning
from gputree.pruning import CostComplexity

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


def axes():
    return Figure().subplots()


def line(ax, beginning):
    (found,) = [each for each in ax.lines if str(each.get_label()).startswith(beginning)]
    return found


@pytest.fixture(scope="module", params=["min", "one_se"])
def pruned(request):
    return CARTClassifier(pruning=CostComplexity(rule=request.param)).fit(*CANCER)


@pytest.mark.parametrize("by", ["leaves", "alpha"])
def test_every_tree_of_the_path_is_drawn_and_the_choice_marked(pruned, by):
    path = pruned.pruning_report_.path
    x = path.n_leaves if by == "leaves" else path.alpha
    ax = plot_pruning(pruned, axes(), by=by)
    assert line(ax, "training").get_xdata().tolist() == x.tolist()
    assert line(ax, "training").get_ydata().tolist() == path.risk.tolist()
    (bars,) = ax.containers
    assert bars.get_label() == "cross-validation"
    assert bars.lines[0].get_ydata().tolist() == path.error.tolist()
    chosen = line(ax, "chosen")
    assert chosen.get_label() == f"chosen: {pruned.get_n_leaves()} leaves"
    assert chosen.get_xdata() == [x[path.chosen]]
    assert chosen.get_ydata() == [path.error[path.chosen]]
    assert ax.get_xlabel().startswith(by)


def test_the_rule_of_one_standard_error_is_drawn(pruned):
    path = pruned.pruning_report_.path
    least = path.error.argmin()
    ax = plot_pruning(pruned, axes())
    limit = line(ax, "lowest + 1").get_ydata()[0]
    assert limit == path.error[least] + path.deviation[least]
    n_leaves = line(ax, "1 standard error").get_xdata()[0]
    assert n_leaves == path.n_leaves[path.error <= limit].min()
    if pruned.pruning.rule == "one_se":
        assert n_leaves == pruned.get_n_leaves()
    else:
        assert n_leaves < pruned.get_n_leaves()


def test_validation_rows_are_named():
    X, y = CANCER
    method = CostComplexity()
    model = CARTClassifier(pruning=method).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert plot_pruning(model, axes()).containers[0].get_label() == "validation rows"


def test_a_path_alone_has_no_choice():
    path = DecisionTreeClassifier().cost_complexity_pruning_path(*IRIS)
    ax = plot_pruning(path, axes())
    (drawn,) = ax.lines
    assert drawn.get_xdata().tolist() == path.n_leaves.tolist()
    assert drawn.get_ydata().tolist() == path.impurities.tolist()
    assert ax.get_ylabel() == "impurity"


@pytest.mark.parametrize(
    ("method", "options"), [("pessimistic", {}), ("cost_complexity", {"alpha": 0.1})]
)
def test_other_methods_show_the_tree_before_and_after(method, options):
    model = DecisionTreeClassifier().fit(*IRIS)
    small = model.prune(method, **options)
    ax = plot_pruning(small, axes())
    assert line(ax, "chosen").get_xdata()[0] == small.get_n_leaves()
    assert ax.lines[0].get_xdata().max() == model.get_n_leaves()


def test_alpha_is_shown_where_there_is_one():
    small = DecisionTreeClassifier().fit(*IRIS).prune("cost_complexity", alpha=0.1)
    path = small.pruning_report_.path
    chosen = line(plot_pruning(small, axes(), by="alpha"), "chosen").get_xdata()[0]
    assert chosen == path.alpha[path.alpha <= 0.1].max()


@pytest.mark.parametrize("n_rows", [60, 4000])
def test_many_leaves_are_shown_by_their_logarithm(n_rows):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 2)), rng.integers(0, 2, n_rows)
    path = DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
    ax = plot_pruning(path, axes())
    assert ax.get_xscale() == ("log" if n_rows > 1000 else "linear")


def test_what_has_not_been_pruned_cannot_be_drawn():
    model = DecisionTreeClassifier().fit(*IRIS)
    with pytest.raises(ValueError, match="not pruned"):
        plot_pruning(model, axes())
    with pytest.raises(TypeError, match="pruned tree"):
        plot_pruning(RandomForestClassifier(2).fit(*IRIS), axes())
    with pytest.raises(ValueError, match="does not use alpha"):
        plot_pruning(model.prune("pessimistic"), axes(), by="alpha")
    with pytest.raises(ValueError, match="by='depth' is unknown"):
        plot_pruning(model.prune("pessimistic"), axes(), by="depth")
