"""Pruning as users meet it: parameters, methods, reports, files, pictures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import gputree
from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    Dataset,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from gputree.pruning import CostComplexity, CriticalValue, Pessimistic, Prepruning, ReducedError
from tests.pruning.tables import MODELS, NEEDING_ROWS, OF_CLASSES, table

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
METHODS = [
    CostComplexity(alpha=0.01),
    CostComplexity(cv=3, rule="one_se"),
    CriticalValue(0.3),
    Pessimistic(),
    Prepruning(),
    ReducedError(prunes_ties=True),
]


def named(method):
    return method.name


# Fits


@pytest.mark.parametrize("method", METHODS, ids=named)
def test_pruning_in_a_fit_is_growing_and_then_pruning(method):
    X, y, _ = table(300)
    other = table(200, seed=1)[:2]
    needs_rows = method.name in NEEDING_ROWS
    more = {"X_val": other[0], "y_val": other[1]} if needs_rows else {}
    at_once = DecisionTreeClassifier(pruning=method, random_state=5).fit(X, y, **more)
    grown = DecisionTreeClassifier(random_state=5).fit(X, y)
    rows = other if needs_rows else (X, y) if method.needs_now() == "folds" else ()
    later = grown.prune(method, *rows)
    assert at_once.to_bytes() == later.to_bytes()
    assert str(at_once.pruning_report_) == str(later.pruning_report_)
    assert at_once.get_n_leaves() < grown.get_n_leaves()
    assert grown.pruning_report_ is None


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("pruning", ["cost_complexity", "reduced_error", "pre"])
def test_every_backend_prunes_to_the_same_bytes(kind, pruning):
    X, y, weight = table(400)
    estimator = DecisionTreeClassifier if kind == "classes" else DecisionTreeRegressor
    how = {} if pruning == "cost_complexity" else {"validation_fraction": 0.3}
    models = [
        estimator(pruning=pruning, missing="surrogate", random_state=1, backend=name, **how).fit(
            X, y, weight
        )
        for name in ("numpy", "numba")
    ]
    assert models[0].to_bytes() == models[1].to_bytes()
    assert models[0].get_n_leaves() > 1
    reports = [model.pruning_report_ for model in models]
    assert str(reports[0]) == str(reports[1])


@pytest.mark.parametrize("estimator", [CARTClassifier, CARTRegressor])
def test_cart_prunes_by_cross_validation_unless_told_otherwise(estimator):
    X, y = CANCER if estimator is CARTClassifier else DIABETES
    X = X[:, :4]
    pruned, full = (estimator(**how).fit(X, y) for how in ({}, {"pruning": None}))
    assert 1 < pruned.get_n_leaves() < full.get_n_leaves()
    path = pruned.pruning_report_.path
    assert path.n_leaves[path.chosen] == pruned.get_n_leaves()
    assert path.error[path.chosen] == path.error.min()
    assert estimator().fit(X, y).to_bytes() == pruned.to_bytes()
    careful = estimator(pruning=CostComplexity(rule="one_se")).fit(X, y)
    assert careful.get_n_leaves() <= pruned.get_n_leaves()
    again = careful.pruning_report_.path
    limit = again.error.min() + again.deviation[again.error.argmin()]
    assert again.error[again.chosen] <= limit
    assert (again.error[again.chosen + 1 :] > limit).all()


def test_the_folds_follow_from_the_seed():
    X, y = CANCER
    errors = [
        CARTClassifier(pruning=CostComplexity(cv=3), random_state=seed)
        .fit(X[:, :4], y)
        .pruning_report_.path.error.tolist()
        for seed in (0, 0, 1)
    ]
    assert errors[0] == errors[1] != errors[2]


def test_cross_validated_errors_are_those_of_scikit_learns_folds():
    """The last tree of the path is a root: wrong are all rows not of the majority of a fold."""
    X, y = CANCER
    fold = np.arange(len(y)) % 4
    model = CARTClassifier(pruning=CostComplexity(cv=fold)).fit(X, y)
    wrong = sum((y[fold == k] != np.bincount(y[fold != k]).argmax()).sum() for k in range(4))
    path = model.pruning_report_.path
    assert path.error[-1] == pytest.approx(wrong / len(y))
    full = CARTClassifier(pruning=None)
    right = sum(
        full.fit(X[fold != k], y[fold != k]).score(X[fold == k], y[fold == k]) * (fold == k).sum()
        for k in range(4)
    )
    assert path.error[0] == pytest.approx(1 - right / len(y), abs=0.01)


def test_rows_held_out_do_not_grow_the_tree():
    X, y = CANCER
    model = DecisionTreeClassifier(pruning="pre", validation_fraction=0.25, random_state=0)
    model.fit(X, y)
    assert model.tree_.n_rows[0] == len(y) - round(0.25 * len(y))
    assert model.fit_report_.n_rows == len(y)
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert other.to_bytes() != model.to_bytes()
    assert clone(model).fit(X, y).to_bytes() == model.to_bytes()


def test_alpha_is_chosen_on_validation_rows_where_there_are_some():
    X, y = CANCER
    model = CARTClassifier().fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    path = model.pruning_report_.path
    assert model.score(X[1::2], y[1::2]) == pytest.approx(1 - path.error.min())


def test_a_dataset_is_pruned_as_its_table_is():
    X, y, weight = table(300)
    one = CARTClassifier().fit(X, y, weight)
    other = CARTClassifier().fit(Dataset(X, y, sample_weight=weight))
    assert one.to_bytes() == other.to_bytes()


def test_a_class_that_the_tree_does_not_know_is_never_right():
    X, y = IRIS
    known = y < 2
    model = DecisionTreeClassifier().fit(X[known], y[known])
    report = model.prune("reduced_error", X, y).pruning_report_
    assert report.error == pytest.approx((1 / 3, 1 / 3))


def test_ccp_alpha_prunes_by_impurity():
    model = DecisionTreeClassifier(ccp_alpha=0.02).fit(*IRIS)
    grown = DecisionTreeClassifier().fit(*IRIS)
    assert model.to_bytes() == grown.prune(CostComplexity(alpha=0.02, risk="impurity")).to_bytes()
    assert model.get_n_leaves() == 4


@pytest.mark.parametrize(
    ("params", "more", "match"),
    [
        ({"pruning": "guess"}, {}, "pruning='guess' is unknown; choose from cost_complexity"),
        ({"pruning": "pre"}, {}, "needs validation rows"),
        ({"pruning": "pre", "ccp_alpha": 0.1}, {}, "give one of them"),
        ({"validation_fraction": 0.5}, {}, "pruning=None does not use validation rows"),
        (
            {"pruning": "pessimistic", "validation_fraction": 0.5},
            {},
            "does not use validation rows",
        ),
        ({"pruning": "pre", "validation_fraction": 1.5}, {}, "a share between 0 and 1"),
        (
            {"pruning": "pre", "validation_fraction": 0.5},
            {"X_val": IRIS[0], "y_val": IRIS[1]},
            "not both",
        ),
        ({"ccp_alpha": -1.0}, {}, "ccp_alpha=-1.0"),
        ({"pruning": CostComplexity(cv=1)}, {}, "cv=1"),
        ({"pruning": CostComplexity(cv=[0, 1])}, {}, "folds of 2 rows, but there are 150 rows"),
        ({"pruning": CostComplexity(rule="best")}, {}, "rule='best' is unknown"),
        ({"pruning": CriticalValue(-1.0)}, {}, "value=-1.0"),
    ],
)
def test_what_cannot_be_right_is_refused(params, more, match):
    with pytest.raises(ValueError, match=match):
        DecisionTreeClassifier(**params).fit(*IRIS, **more)


def test_what_cannot_be_pruned_is_refused():
    model = DecisionTreeClassifier().fit(*IRIS)
    for wrong, match in [
        ({}, "give a pruning method"),
        ({"method": "pre"}, "needs validation rows"),
        ({"method": "cost_complexity"}, "choose alpha"),
        ({"method": "pessimistic", "m": 1}, "no option m; it has n_errors, penalty"),
        ({"method": Pessimistic(), "penalty": 1}, "has its options already"),
        ({"method": "pessimistic", "X": IRIS[0], "y": IRIS[1]}, "uses no rows"),
        ({"nodes": [99]}, "nodes 0 to 16"),
        ({"nodes": [0.5]}, "numbers of nodes"),
        ({"nodes": [1], "method": "pre"}, "by hand"),
    ]:
        with pytest.raises(ValueError, match=match):
            model.prune(**wrong)


# Reports


def test_a_report_tells_what_was_cut_and_why():
    model = DecisionTreeClassifier(pruning="pessimistic").fit(*IRIS)
    text = str(model.pruning_report_)
    assert "method   pessimistic" in text
    assert "leaves   9 before, 4 after" in text
    assert "the leaf, with its penalty, is within the standard error of the subtree" in text
    assert f"node {model.pruning_report_.nodes[0]}: " in text
    many = DecisionTreeRegressor().fit(*DIABETES).prune("cost_complexity", alpha=20.0)
    assert "more" in str(many.pruning_report_).splitlines()[-1]
    none = model.prune("cost_complexity", alpha=0.0)
    assert str(none.pruning_report_).endswith("pruned   0 nodes")


# Files


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=5)
@given(seed=st.integers(0, 30))
def test_pruning_and_saving_commute(tmp_path_factory, name, seed):
    X, y, _ = table(100, seed)
    other = table(60, seed + 100)[:2]
    model = clone(MODELS[name]).fit(X, y)
    path = tmp_path_factory.mktemp("models") / "model.gputree"

    def back(each):
        each.save(path)
        return gputree.load(path)

    for method in METHODS:
        if method.needs_now() == "folds" or (
            method.name in OF_CLASSES and not hasattr(model, "classes_")
        ):
            continue
        rows = other if method.name in NEEDING_ROWS else ()
        one, two = back(model).prune(method, *rows), back(model.prune(method, *rows))
        assert one.to_bytes() == two.to_bytes()
        np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("method", [*METHODS, "pessimistic", None], ids=str)
def test_a_file_keeps_how_a_tree_was_pruned(tmp_path, method):
    how = {"validation_fraction": 0.3} if getattr(method, "name", "") in NEEDING_ROWS else {}
    model = DecisionTreeClassifier(pruning=method, random_state=0, **how).fit(*IRIS)
    model.save(tmp_path / "model")
    back = gputree.load(tmp_path / "model")
    assert back.get_params() == model.get_params()
    assert back.to_bytes() == model.to_bytes()
    assert clone(back).fit(*IRIS).to_bytes() == model.to_bytes()


# C4.5's own


def test_c45_prunes_by_estimated_errors_of_its_training_rows():
    X, y, _ = table(300, 3)
    full = C45Classifier(pruning=None).fit(X, y)
    small = C45Classifier().fit(X, y)
    assert small.pruning_report_.method == "error_based"
    assert small.get_n_leaves() < full.get_n_leaves()
    assert full.prune("error_based", X, y).to_bytes() == small.to_bytes()
    without = full.prune("error_based", raising=False)
    assert without.get_n_leaves() <= full.get_n_leaves()
    with pytest.raises(ValueError, match="needs the training rows"):
        full.prune("error_based")


def test_a_regression_has_no_estimated_errors():
    X, y, _ = table(60, 0)
    with pytest.raises(ValueError, match="counts misclassified rows"):
        DecisionTreeRegressor(pruning="error_based").fit(X, y)
