"""Ensembles in files: what was saved comes back, and what was not is refused."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import gputree
from gputree import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    C45Classifier,
    CARTClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ModelFileError,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gputree.tree import store

IRIS = tuple(part[::3] for part in load_iris(return_X_y=True))
DIABETES = tuple(part[::9] for part in load_diabetes(return_X_y=True))
MODELS = {
    "forest": RandomForestClassifier(3, random_state=0, oob_score=np.mean, bootstrap=False),
    "pruned forest": RandomForestClassifier(2, pruning="pessimistic", random_state=0),
    "quantiles": RandomForestRegressor(2, keep_targets=True, random_state=0),
    "extra trees": ExtraTreesClassifier(2, random_state=0),
    "columns": BaggingClassifier(n_estimators=3, max_features=2, random_state=0),
    "C4.5": BaggingClassifier(C45Classifier(min_branch=3), n_estimators=2, random_state=0),
    "surrogates": BaggingClassifier(CARTClassifier(pruning=None), n_estimators=2, random_state=0),
    "boosted": AdaBoostClassifier(n_estimators=3),
    "boosted numbers": AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=2),
}
MODELS["forest"].set_params(oob_score=False)


def fitted(name):
    model = MODELS[name]
    X, y = IRIS if hasattr(model, "predict_proba") else DIABETES
    X = X.copy()
    X[::6, 1] = np.nan
    return model.fit(X, y), X


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_comes_back(name, tmp_path):
    model, X = fitted(name)
    model.save(tmp_path / "model")
    again = gputree.load(tmp_path / "model")
    assert type(again) is type(model)
    assert again.to_bytes() == model.to_bytes()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert repr(again) == repr(model)
    assert len(again.estimators_) == len(model.estimators_)
    assert again.estimators_[1].export_text() == model.estimators_[1].export_text()
    if name == "quantiles":
        np.testing.assert_array_equal(
            again.predict_quantile(X, [0.2, 0.7]), model.predict_quantile(X, [0.2, 0.7])
        )
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_categories_and_names_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"sky": pd.Categorical(list("abcab" * 8)), "wind": range(40)})
    y = np.arange(40) % 5 > 2
    for model in (
        RandomForestClassifier(3, random_state=0),
        BaggingClassifier(n_estimators=4, max_features=1, random_state=0),
    ):
        model.fit(frame, y).save(tmp_path / "model")
        again = gputree.load(tmp_path / "model")
        assert again.feature_names_in_.tolist() == ["sky", "wind"]
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_a_member_is_saved_by_itself(tmp_path):
    model, X = fitted("forest")
    model.estimators_[2].save(tmp_path / "tree")
    tree = gputree.load(tmp_path / "tree")
    np.testing.assert_array_equal(tree.predict(X), model.estimators_[2].predict(X))


@pytest.mark.parametrize("name", ["forest", "columns", "quantiles", "boosted"])
def test_a_damaged_file_is_refused(name, tmp_path):
    model, _ = fitted(name)
    model.save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            gputree.load(tmp_path / "cut")
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        altered = bytearray(whole)
        altered[at] ^= 1
        (tmp_path / "altered").write_bytes(altered)
        with pytest.raises(ModelFileError):
            gputree.load(tmp_path / "altered")


def to_int64(array):
    return array.astype(np.int64)


# The name of a model and an array, and what is done to it: all under a right checksum.
ALTERED = {
    "trees longer than their arrays": ("forest", "tree_nodes", lambda a: a + 1),
    "a tree without nodes": ("forest", "tree_nodes", lambda a: np.append(a, 0)),
    "huge trees": ("forest", "tree_nodes", lambda a: a * 2**50),
    "lengths that are floats": ("forest", "tree_nodes", lambda a: a.astype(float)),
    "categories that are not there": ("forest", "tree_categories", lambda a: a + 1),
    "one tree less": ("forest", "tree_categories", lambda a: a[1:]),
    "a child out of order": ("forest", "first_child", lambda a: a[::-1].copy()),
    "a feature that is not there": ("forest", "feature", lambda a: np.where(a >= 0, 9, a)),
    "negative surrogates": ("forest", "n_surrogates", lambda a: a - 1),
    "a wrong dtype": ("forest", "feature", to_int64),
    "a column that is not there": ("columns", "columns", lambda a: a + 3),
    "too few columns": ("columns", "tree_columns", lambda a: a[:-1]),
    "columns that are floats": ("columns", "columns", lambda a: a.astype(float)),
    "says that are not finite": ("boosted", "estimator_weights", lambda a: a * np.inf),
    "says of other trees": ("boosted", "estimator_errors", lambda a: a[:-1]),
    "targets out of order": ("quantiles", "target_value", lambda a: a[::-1].copy()),
    "targets of no leaf": ("quantiles", "target_leaf", lambda a: a * 0),
    "targets of leaves that are not there": ("quantiles", "target_leaf", lambda a: a + 10**6),
    "targets without weight": ("quantiles", "target_weight", lambda a: a * 0),
    "fewer targets": ("quantiles", "target_weight", lambda a: a[1:]),
}


@pytest.mark.parametrize("case", ALTERED)
def test_a_file_that_describes_no_model_is_refused(case, tmp_path):
    name, array, change = ALTERED[case]
    model, _ = fitted(name)
    model.save(tmp_path / "model")
    header, arrays = store.unpack((tmp_path / "model").read_bytes())
    (tmp_path / "model").write_bytes(store.pack(header, {**arrays, array: change(arrays[array])}))
    with pytest.raises(ModelFileError):
        gputree.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("changes", "extra"),
    [
        ({"n_trees": 4}, {}),
        ({"estimator": "RandomForestRegressor"}, {}),
        ({"missing": "surrogate_"}, {}),
        ({"classes": None}, {}),
        ({}, {"more": np.zeros(1)}),
        ({}, {"columns": np.zeros(1, np.int64)}),
    ],
)
def test_a_header_that_does_not_fit_is_refused(changes, extra, tmp_path):
    model, _ = fitted("forest")
    model.save(tmp_path / "model")
    header, arrays = store.unpack((tmp_path / "model").read_bytes())
    (tmp_path / "model").write_bytes(store.pack(header | changes, arrays | extra))
    with pytest.raises(ModelFileError):
        gputree.load(tmp_path / "model")


def test_a_loaded_model_has_forgotten_its_samples(tmp_path):
    model, X = fitted("boosted")
    forest = RandomForestClassifier(2, random_state=0).fit(*IRIS)
    forest.save(tmp_path / "model")
    with pytest.raises(AttributeError, match="a saved model does not keep"):
        _ = gputree.load(tmp_path / "model").estimators_samples_
    assert model.to_bytes() != forest.to_bytes()
    assert X.shape == (50, 4)
