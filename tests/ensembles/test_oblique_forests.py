"""Ensembles with splits="oblique": what they gain, keep, answer and refuse."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import gputree
from gputree import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gputree.errors import ModelFileError
from gputree.estimators.model_file import from_bytes
from gputree.export import NotExportable
from gputree.tree import store

KINDS = [RandomForestClassifier, GradientBoostingClassifier]


def bands(n=600, seed=0):
    """Two classes in slanted bands."""
    X = np.random.default_rng(seed).normal(size=(n, 6))
    return X, (np.abs(X[:, 0] + X[:, 1] - X[:, 2]) < 1.0).astype(int)


def mixed(n=300):
    """Numbers with missing values, ordered and unordered categories."""
    rng = np.random.default_rng(1)
    X, _ = bands(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    table = pd.DataFrame(X[:, :3], columns=list("uvw"))
    table["size"] = pd.Categorical(rng.choice(list("SML"), n), list("SML"), ordered=True)
    table["kind"] = pd.Categorical(rng.choice(list("abcde"), n))
    signal = np.nan_to_num(X[:, 0] - X[:, 1]) + table["size"].cat.codes + (table["kind"] == "b")
    return table, signal.to_numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_slanted_bands_are_told_apart_better(kind):
    X, y = bands()
    other, truth = bands(seed=1)
    score = [
        kind(20, splits=splits, random_state=0).fit(X, y).score(other, truth)
        for splits in ("axis", "oblique")
    ]
    assert score[1] > score[0] + 0.02


@pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
def test_compiled_walks_end_where_those_of_the_host_do(kind):
    X, y = mixed()
    model = kind(4, splits="oblique", random_state=0, backend="numba").fit(X, y)
    assert any(len(tree.nodes_.directions) for tree in model.estimators_)
    host = clone(model).set_params(backend="numpy").fit(X, y)
    assert np.array_equal(model.predict(X), host.predict(X))
    assert np.array_equal(model.apply(X), host.apply(X))
    single, its_host = model.estimators_[0], host.estimators_[0]
    assert np.array_equal(single.apply(X), its_host.apply(X))
    n_rows = np.bincount(np.asarray(single.apply(X)), minlength=single.nodes_.n_nodes)
    if kind is GradientBoostingRegressor:  # whose trees see all rows
        assert np.array_equal(
            n_rows[single.nodes_.is_leaf], single.nodes_.n_rows[single.nodes_.is_leaf]
        )


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_json_bring_them_back(kind, tmp_path):
    X, y = bands(200)
    model = kind(3, splits="oblique", max_projections=4, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    for back in (gputree.load(tmp_path / "model"), gputree.from_json(model.to_json())):
        assert back.to_bytes() == model.to_bytes()
        assert back.get_params() == model.get_params()
        assert np.array_equal(back.predict_proba(X), model.predict_proba(X))


def test_a_file_whose_combinations_are_not_those_of_its_trees_is_refused():
    model = RandomForestClassifier(2, splits="oblique", random_state=0).fit(*bands(200))
    header, arrays = store.unpack(store.pack(*model._file_parts()))
    for name, wrong in {
        "tree_terms": arrays["tree_terms"][::-1] + np.array([1, 0]),
        "tree_combinations": arrays["tree_combinations"][:1],
    }.items():
        with pytest.raises(ModelFileError):
            from_bytes(store.pack(header, {**arrays, name: wrong}), "it")
    few = {name: array for name, array in arrays.items() if "direction" not in name}
    with pytest.raises(ModelFileError):
        from_bytes(store.pack(header, few), "it")


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_adds_the_trees_that_one_fit_makes(kind):
    X, y = bands(200)
    model = kind(2, splits="oblique", random_state=0, warm_start=True).fit(X, y)
    model.set_params(n_estimators=4).fit(X, y)
    assert model.to_bytes() == kind(4, splits="oblique", random_state=0).fit(X, y).to_bytes()


def test_rows_out_of_bag_and_importances_know_the_columns_of_combinations():
    X, y = bands()
    forest = RandomForestClassifier(30, splits="oblique", oob_score=True, random_state=0)
    forest.fit(X, y)
    assert forest.oob_score_ > 0.8
    assert forest.feature_importances_[:3].min() > 1.5 * forest.feature_importances_[3:].max()
    assert forest.feature_importances_.sum() == pytest.approx(1.0)


def test_fitted_directions_may_be_used_in_forests():
    X, y = bands(150)
    forest = RandomForestClassifier(2, splits="oblique", directions="lda", max_depth=3)
    assert len(forest.fit(X, y).estimators_[0].nodes_.directions)


@pytest.mark.parametrize(
    ("kind", "wrong", "what"),
    [
        (RandomForestClassifier, {"splits": "diagonal"}, "choose from axis, oblique"),
        (RandomForestClassifier, {"missing": "surrogate"}, "missing='direction'"),
        (RandomForestClassifier, {"nominal": "multiway"}, "nominal='subset'"),
        (RandomForestClassifier, {"monotonic_cst": [1, 0, 0, 0, 0, 0]}, "monotonic_cst=None"),
        (RandomForestClassifier, {"max_projections": 0}, "max_projections=0"),
        (GradientBoostingClassifier, {"directions": "lda"}, "directions='sparse'"),
        (GradientBoostingClassifier, {"colsample_bytree": 0.5}, "colsample_bytree=1.0"),
    ],
)
def test_what_does_not_go_together_is_refused(kind, wrong, what):
    with pytest.raises(ValueError, match=what):
        kind(2, **{"splits": "oblique", **wrong}).fit(*bands(50))


def test_many_such_trees_are_not_exported_or_explained_yet():
    X, y = bands(100)
    forest = RandomForestClassifier(2, splits="oblique", random_state=0).fit(X, y)
    with pytest.raises(NotExportable, match="to_json"):
        forest.to_python()
    with pytest.raises(ValueError, match="Shapley"):
        forest.shap_values(X)
