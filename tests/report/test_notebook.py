"""Notebooks show what scikit-learn shows, and some facts of a fit."""

import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from gputree import (
    CARTClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from gputree.report.notebook import facts

IRIS = load_iris(return_X_y=True, as_frame=True)


def test_before_a_fit_it_is_what_scikit_learn_shows():
    shown = DecisionTreeClassifier()._repr_html_()
    assert "gputree-facts" not in shown
    assert "DecisionTreeClassifier" in shown


def test_after_a_fit_facts_follow():
    tree = DecisionTreeClassifier(max_depth=2).fit(*IRIS)
    shown = tree._repr_html_()
    assert "sk-top-container" in shown  # scikit-learn's own part
    assert shown.count("gputree-facts") == 1
    assert "5 nodes, 3 leaves, 2 levels" in shown
    assert "petal width (cm)" in shown
    bundle = tree._repr_mimebundle_()
    assert bundle["text/html"].count("gputree-facts") == 1
    assert bundle["text/plain"] == repr(tree)


def test_scores_that_the_fit_knows_are_told():
    forest = RandomForestClassifier(n_estimators=20, oob_score=True, random_state=0).fit(*IRIS)
    assert f"{forest.oob_score_:.4g}" in facts(forest)
    boosted = GradientBoostingClassifier(n_estimators=5, early_stopping=True).fit(*IRIS)
    assert "validation loss" in facts(boosted)
    assert "pruned" in facts(CARTClassifier().fit(*IRIS))


def test_a_user_who_wants_text_gets_text():
    tree = DecisionTreeClassifier(max_depth=2).fit(*IRIS)
    with sklearn.config_context(display="text"):
        assert "text/html" not in tree._repr_mimebundle_()
        with pytest.raises(AttributeError):
            tree._repr_html_()


def test_names_are_escaped():
    X = pd.DataFrame({"<b>a</b>": [0, 1, 2, 3]})
    assert "<b>" not in facts(DecisionTreeClassifier().fit(X, ["<i>x", "y", "z", "w"]))
    assert "<i>" not in facts(DecisionTreeClassifier().fit(X, ["<i>x", "y", "z", "w"]))


def test_a_pipeline_can_be_shown():
    assert (
        "DecisionTreeClassifier" in make_pipeline(DecisionTreeClassifier()).fit(*IRIS)._repr_html_()
    )
