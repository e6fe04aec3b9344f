"""Criteria that users make: what functions are given, and one result everywhere."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import gputree
from gputree import (
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    make_criterion,
)


def between(sums, weights):
    """Squared distances of the children's means from the node's: Gini, or the variance."""
    total, weight, worth = sums.sum(axis=0), weights.sum(), 0.0
    for child in range(len(weights)):
        for c in range(sums.shape[1]):
            distance = sums[child, c] / weights[child] - total[c] / weight
            worth += weights[child] * distance * distance
    return worth


def gini(sums, weight):
    chance = 1.0
    for share in sums / weight:
        chance -= share * share
    return chance


def odd(sums, weights):
    """No impurity, but defined: what backends could compute with different bits."""
    return np.log1p(sums[0, 0]) * np.exp(-weights[1] / weights.sum()) + np.sqrt(sums[0, -1])


BETWEEN = make_criterion(between, needs_gain=False)
ODD = make_criterion(odd)


def table(n_rows, n_classes=3):
    rng = np.random.default_rng(n_rows)
    X = np.column_stack([rng.normal(size=n_rows), *rng.integers(0, 6, (3, n_rows))])
    y = (X[:, 0] > 0) + (X[:, 1] > 2) * rng.integers(0, n_classes - 1, n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, rng.random(n_rows)


def bytes_of(model):
    models = getattr(model, "estimators_", [model])
    return [pickle.dumps(each.nodes_) for each in np.ravel(models)]


WAYS = [
    {"max_leaf_nodes": 12},
    {"nominal": "multiway", "categorical_features": [1]},
    {"nominal": "subset", "categorical_features": [2], "missing": "category"},
    {"splitter": "random", "random_state": 3},
    {"missing": "surrogate"},
    {"missing": "fractional"},
    {"max_features": 2, "random_state": 3},
]


@pytest.mark.parametrize("params", WAYS, ids=lambda params: "-".join(map(str, params.values())))
def test_a_criterion_written_as_gini_chooses_as_gini_does(params):
    X, y, weight = table(400)
    ours = DecisionTreeClassifier(criterion="gini", max_depth=5, **params).fit(X, y, weight)
    made = [
        DecisionTreeClassifier(criterion=BETWEEN, max_depth=5, backend=backend, **params).fit(
            X, y, weight
        )
        for backend in ("numpy", "numba")
    ]
    assert bytes_of(made[0]) == bytes_of(made[1])
    np.testing.assert_array_equal(made[0].apply(X), ours.apply(X))
    np.testing.assert_allclose(made[0].nodes_.gain, ours.nodes_.gain, rtol=1e-9, atol=1e-15)
    if params.get("missing") != "fractional":  # which divides rows among leaves
        nodes = made[0].nodes_
        n_rows = np.bincount(made[0].apply(X), minlength=nodes.n_nodes)
        np.testing.assert_array_equal(n_rows[nodes.is_leaf], nodes.n_rows[nodes.is_leaf])


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(criterion=ODD, categorical_features=[1], max_depth=3),
        DecisionTreeClassifier(
            criterion=ODD, nominal="multiway", categorical_features=[1], max_depth=2
        ),
        CARTClassifier(criterion=ODD, max_depth=2, pruning=None),
        DecisionTreeRegressor(criterion=ODD, max_depth=3),
    ],
    ids=["subset", "multiway", "surrogates", "values"],
)
def test_any_function_gives_one_model(model):
    X, y, weight = table(70)
    found = [
        bytes_of(clone(model).set_params(backend=backend).fit(X, y, weight))
        for backend in ("numpy", "numba", "cuda", "array_api_strict")
    ]
    assert found[0] == found[1]
    assert found[0] == found[2]
    assert found[0] == found[3]
    assert model.fit(X, y, weight).nodes_.n_nodes > 3


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor])
def test_ensembles_and_threads(kind):
    X, y, _ = table(500)
    found = [
        bytes_of(kind(4, criterion=ODD, random_state=0, max_depth=5, **how).fit(X, y))
        for how in ({"backend": "numpy"}, {"backend": "numba", "n_jobs": 1}, {"n_jobs": 2})
    ]
    assert found[0] == found[1] == found[2]


def test_weights_and_counts_are_those_of_the_user():
    def all_weight(sums, weights):
        return weights.sum() ** 2 + sums.sum()

    X, y, weight = table(300)
    tree = DecisionTreeClassifier(criterion=make_criterion(all_weight), max_depth=2)
    for own in (None, weight, 7.0 * weight):
        total = 300.0 if own is None else own.sum()
        nodes = tree.fit(X, y, own).nodes_
        assert nodes.gain[0] == pytest.approx(total + 1.0, rel=1e-9)


def test_sums_of_targets_are_those_of_the_user():
    def of_second_output(sums, weights):
        return sums[0, 1] + sums[1, 1] + 1000.0 * weights.sum()

    X, y, weight = table(300)
    targets = np.column_stack([1e-3 * y, 100.0 + 5.0 * y])
    tree = DecisionTreeRegressor(criterion=make_criterion(of_second_output), max_depth=1)
    mean = np.average(targets[:, 1], weights=weight)
    assert tree.fit(X, targets, weight).nodes_.gain[0] == pytest.approx(1000.0 + mean, rel=1e-9)


@pytest.mark.parametrize("answer", [-1.0, np.nan, np.inf, 0.0])
def test_a_split_is_refused_by_what_is_not_worth_anything(answer):
    def constant(sums, weights):
        return answer

    X, y, _ = table(60)
    for backend in ("numpy", "numba"):
        tree = DecisionTreeClassifier(criterion=make_criterion(constant), backend=backend)
        assert tree.fit(X, y).get_n_leaves() == 1


def test_a_split_without_worth_is_made_where_no_gain_is_needed():
    def nothing(sums, weights):
        return 0.0

    X, y, _ = table(60)
    criterion = make_criterion(nothing, needs_gain=False)
    assert DecisionTreeClassifier(criterion=criterion).fit(X, y).get_n_leaves() > 1


def test_an_impurity_is_enough():
    X, y, weight = table(300)
    criterion = make_criterion(impurity=gini, name="own gini", needs_gain=False)
    made = DecisionTreeClassifier(criterion=criterion, max_depth=4).fit(X, y, weight)
    ours = DecisionTreeClassifier(max_depth=4).fit(X, y, weight)
    np.testing.assert_array_equal(made.apply(X), ours.apply(X))
    np.testing.assert_allclose(made.nodes_.impurity, ours.nodes_.impurity, atol=1e-12)
    pruned = [tree.set_params(ccp_alpha=0.02).fit(X, y, weight) for tree in (made, ours)]
    assert pruned[0].get_n_leaves() == pruned[1].get_n_leaves() < 16


def test_constraints_hold_with_a_criterion_of_a_user():
    X, y, _ = table(300, 2)
    params = {"max_depth": 4, "monotonic_cst": [-1, 0, 0, 0]}
    ours = DecisionTreeClassifier(**params).fit(X, y)
    made = DecisionTreeClassifier(criterion=BETWEEN, **params).fit(X, y)
    np.testing.assert_array_equal(made.predict_proba(X), ours.predict_proba(X))


def test_a_model_file_keeps_the_name(tmp_path):
    X, y, _ = table(100)
    model = RandomForestClassifier(3, criterion=BETWEEN, random_state=0).fit(X, y)
    model.save(tmp_path / "model.gputree")
    loaded = gputree.load(tmp_path / "model.gputree")
    assert loaded.criterion == "between"
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="give the criterion itself to fit anew"):
        loaded.fit(X, y)
    again = loaded.set_params(criterion=BETWEEN).fit(X, y)
    assert bytes_of(again) == bytes_of(model)


def test_pickles_and_copies_keep_the_function():
    X, y, _ = table(100)
    model = DecisionTreeClassifier(criterion=BETWEEN, max_depth=3).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), clone(model)):
        assert other.criterion == model.criterion
        assert bytes_of(other.fit(X, y)) == bytes_of(model)
    assert "criterion=<criterion between>" in repr(model)


def test_what_numba_cannot_compile_is_told():
    def wrong(sums, weights):
        return sums.no_such_method()

    X, y, _ = table(60)
    for backend in ("numpy", "numba"):
        with pytest.raises(TypeError, match=r"numba cannot compile wrong(.|\n)*sums.child, class."):
            DecisionTreeClassifier(criterion=make_criterion(wrong), backend=backend).fit(X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give score, or impurity, or both"),
        ({"score": between, "impurity": "twoing"}, "choose from gini, entropy, error"),
        ({"score": gini}, "'gini' is a criterion of gputree"),
    ],
)
def test_arguments_that_make_no_criterion(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_criterion(**arguments)


def test_no_function_is_no_criterion():
    with pytest.raises(TypeError, match="score is a int; a function is needed"):
        make_criterion(3)


def test_a_function_for_two_children_has_no_multiway_splits():
    X, y, _ = table(60)
    criterion = make_criterion(between, multiway=False)
    tree = DecisionTreeClassifier(criterion=criterion, nominal="multiway", categorical_features=[1])
    with pytest.raises(ValueError, match="criterion between> compares two children"):
        tree.fit(X, y)


def test_an_impurity_is_not_negative():
    def wrong(sums, weight):
        return -1.0

    X, y, _ = table(60)
    tree = DecisionTreeClassifier(criterion=make_criterion(between, impurity=wrong, name="wrong"))
    with pytest.raises(ValueError, match=r"impurity -1\.0 for a node; an impurity is a finite"):
        tree.fit(X, y)
