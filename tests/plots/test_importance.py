"""Importances as bars: their lengths, order, names and spread."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.inspection import permutation_importance

from gputree import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RuleSetClassifier,
    plot_importance,
)

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

X, Y = load_iris(return_X_y=True, as_frame=True)
TREE = DecisionTreeClassifier(max_depth=3)
FOREST = RandomForestClassifier(10, random_state=0)


@pytest.fixture(scope="module", autouse=True)
def fitted():
    """Not while tests are collected, which every worker does."""
    for model in (TREE, FOREST):
        model.fit(X, Y)


def axes():
    return Figure().subplots()


def bars(ax):
    """The names and lengths of the bars from top to bottom."""
    (container,) = [each for each in ax.containers if hasattr(each, "patches")]
    order = np.argsort([-(bar.get_y()) for bar in container.patches])
    if ax.get_ylim()[0] > ax.get_ylim()[1]:
        order = order[::-1]
    lengths = [container.patches[at].get_width() for at in order]
    names = [text.get_text() for text in ax.get_yticklabels()]
    return names, lengths


def spread(ax):
    """Where the thin lines of the bars begin and end, (bars, 2)."""
    ((_, _, (lines,)),) = [each.errorbar for each in ax.containers if hasattr(each, "patches")]
    return np.array([part[:, 0] for part in lines.get_segments()])


@pytest.mark.parametrize(
    "model",
    [
        TREE,
        FOREST,
        AdaBoostClassifier(n_estimators=5),
        GradientBoostingClassifier(5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_bars_are_the_importances_in_falling_order(model):
    model.fit(X, Y)
    names, lengths = bars(plot_importance(model, ax=axes()))
    order = np.argsort(-model.feature_importances_, kind="stable")
    assert names == X.columns[order].tolist()
    assert lengths == model.feature_importances_[order].tolist()


def test_the_spread_is_over_trees_and_ends_at_zero():
    ends = spread(plot_importance(FOREST, ax=axes()))
    own = np.stack([tree.feature_importances_ for tree in FOREST.estimators_])
    mean = FOREST.feature_importances_
    deviation = np.sqrt(((own - mean) ** 2).mean(axis=0))
    order = np.argsort(-mean)
    expected = np.stack([np.maximum(mean - deviation, 0.0), mean + deviation], axis=1)[order]
    np.testing.assert_allclose(ends, expected, atol=1e-15)
    assert (ends[:, 0] == 0.0).any()


def test_trees_that_count_more_count_more_in_the_spread():
    model = AdaBoostClassifier(n_estimators=5).fit(X, Y)
    own = np.stack([tree.feature_importances_ for tree in model.estimators_])
    mean, say = model.feature_importances_, model.estimator_weights_
    deviation = np.sqrt((say[:, None] * (own - mean) ** 2).sum(axis=0) / say.sum())
    ends = spread(plot_importance(model, ax=axes()))
    np.testing.assert_allclose(ends[:, 1], (mean + deviation)[np.argsort(-mean)])


def test_trees_on_some_columns_each_are_put_together():
    model = BaggingClassifier(n_estimators=5, max_features=2, random_state=0).fit(X, Y)
    names, lengths = bars(plot_importance(model, ax=axes()))
    assert sorted(names) == sorted(X.columns)
    assert sum(lengths) == pytest.approx(1.0)


def test_a_single_tree_and_boosting_have_no_spread():
    for model in (TREE, GradientBoostingClassifier(5).fit(X, Y)):
        (container,) = plot_importance(model, ax=axes()).containers
        assert container.errorbar is None


def test_no_more_columns_are_shown_than_asked_for():
    ax = plot_importance(FOREST, max_features=2, ax=axes())
    assert len(bars(ax)[1]) == 2
    assert ax.get_title(loc="left") == "the first 2 of 4 columns"
    ax = plot_importance(FOREST, max_features=None, ax=axes())
    assert len(bars(ax)[1]) == 4
    assert ax.get_title(loc="left") == ""


def test_permutation_importances_are_those_of_scikit_learn():
    ax = plot_importance(TREE, X, Y, kind="permutation", n_repeats=3, random_state=1, ax=axes())
    known = permutation_importance(TREE, X, Y, n_repeats=3, random_state=1)
    order = np.argsort(-known.importances_mean, kind="stable")
    assert bars(ax)[1] == known.importances_mean[order].tolist()
    assert ax.get_xlabel() == "fall of the accuracy when shuffled (± 1 sd over repeats)"
    np.testing.assert_allclose(
        np.diff(spread(ax))[:, 0], 2 * known.importances_std[order], atol=1e-15
    )


def test_out_of_bag_importances_are_those_of_the_forest():
    ax = plot_importance(FOREST, X, Y, kind="oob", ax=axes())
    known = FOREST.permutation_importances_oob(X, Y).importances_mean
    assert bars(ax)[1] == np.sort(known)[::-1].tolist()


def test_shapley_values_are_added_up_over_classes():
    known = np.abs(TREE.shap_values(X)).sum(axis=2).mean(axis=0)
    assert (
        bars(plot_importance(TREE, X, kind="shap", ax=axes()))[1] == np.sort(known)[::-1].tolist()
    )
    number = GradientBoostingRegressor(3).fit(X, Y)
    known = np.abs(number.shap_values(X)).mean(axis=0)
    ax = plot_importance(number, X, kind="shap", ax=axes())
    assert bars(ax)[1] == np.sort(known)[::-1].tolist()


def test_long_names_are_cut_and_dollars_are_no_formulas():
    X = np.arange(8.0).reshape(4, 2)
    import pandas as pd

    frame = pd.DataFrame(X, columns=["x" * 100, r"$\nope$"])
    ax = plot_importance(DecisionTreeClassifier().fit(frame, [0, 0, 1, 1]), ax=axes())
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["x" * 31 + "…", r"$\nope$"]
    ax.figure.draw_without_rendering()  # an unknown command of a formula would fail here


@pytest.mark.parametrize(
    ("model", "given", "match"),
    [
        (TREE, {"X": X, "y": Y}, "uses no rows"),
        (TREE, {"kind": "permutation"}, "give X and y"),
        (TREE, {"kind": "permutation", "X": X}, "give X and y"),
        (TREE, {"kind": "shap"}, "give X$"),
        (TREE, {"kind": "oob", "X": X, "y": Y}, "DecisionTreeClassifier has none"),
        (AdaBoostRegressor(), {"kind": "shap", "X": X}, "has no Shapley values"),
        (TREE, {"kind": "gain"}, "kind='gain' is unknown"),
        (TREE, {"max_features": 0}, "max_features=0"),
        (TREE, {"kind": "permutation", "X": X, "y": Y, "n_repeats": 0}, "n_repeats=0"),
        (RuleSetClassifier(), {}, "kind='permutation'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(model, given, match):
    model.fit(X, Y)
    with pytest.raises(ValueError, match=match):
        plot_importance(model, ax=axes(), **given)


def test_rules_can_be_shuffled_too():
    rules = RuleSetClassifier().fit(X, Y)
    names, _ = bars(plot_importance(rules, X, Y, kind="permutation", n_repeats=1, ax=axes()))
    assert sorted(names) == sorted(X.columns)
