"""scikit-learn's estimators answer as ours do, for values that are float32."""

import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris

import gputree
from gputree.export import NotExportable
from tests.export.models import DIVIDED, fitted

few = {"n_estimators": 9, "random_state": 0}
MODELS = {
    "tree": (gputree.DecisionTreeClassifier(max_depth=4), "tree.DecisionTreeClassifier"),
    "regression": (gputree.DecisionTreeRegressor(max_depth=5), "tree.DecisionTreeRegressor"),
    "forest": (gputree.RandomForestClassifier(**few), "ensemble.RandomForestClassifier"),
    "forest of numbers": (
        gputree.RandomForestRegressor(max_depth=6, **few),
        "ensemble.RandomForestRegressor",
    ),
    "extra trees": (gputree.ExtraTreesClassifier(**few), "ensemble.ExtraTreesClassifier"),
    "extra trees of numbers": (
        gputree.ExtraTreesRegressor(max_depth=6, **few),
        "ensemble.ExtraTreesRegressor",
    ),
    "bagging": (
        gputree.BaggingClassifier(max_features=0.5, **few),
        "ensemble.BaggingClassifier",
    ),
    "bagging of numbers": (
        gputree.BaggingRegressor(max_features=0.5, **few),
        "ensemble.BaggingRegressor",
    ),
    "AdaBoost": (gputree.AdaBoostClassifier(**few), "ensemble.AdaBoostClassifier"),
    "AdaBoost of numbers": (gputree.AdaBoostRegressor(**few), "ensemble.AdaBoostRegressor"),
}


def table(model, with_missing=True):
    X, y = (load_iris if is_classifier(model) else load_diabetes)(return_X_y=True)
    X = X.astype(np.float32)
    if with_missing:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    return X, y if not is_classifier(model) else np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("name", MODELS)
def test_the_answers_are_ours(name):
    model, kind = MODELS[name]
    # scikit-learn's AdaBoost takes no missing values.
    X, y = table(model, with_missing="AdaBoost" not in name)
    made = model.fit(X, y).to_sklearn()
    assert f"{type(made).__module__.split('.')[1]}.{type(made).__name__}" == kind
    made = pickle.loads(pickle.dumps(made))
    assert (made.predict(X) == model.predict(X)).all()
    if name == "AdaBoost":  # which weighs the sum in another order
        np.testing.assert_allclose(made.predict_proba(X), model.predict_proba(X), rtol=1e-13)
    elif hasattr(model, "predict_proba"):
        assert (made.predict_proba(X) == model.predict_proba(X)).all()


def test_several_outputs_stay_several():
    X, y = table(MODELS["regression"][0])
    model = gputree.RandomForestRegressor(max_depth=4, **few).fit(X, np.stack([y, -y], axis=1))
    assert (model.to_sklearn().predict(X) == model.predict(X)).all()


def test_trees_know_their_leaves_and_importances():
    X, y = table(MODELS["tree"][0])
    model = gputree.DecisionTreeClassifier(max_depth=4).fit(X, y)
    made = model.to_sklearn()
    assert (made.apply(X) == model.apply(X)).all()
    assert made.get_depth() == model.get_depth()
    np.testing.assert_allclose(made.feature_importances_, model.feature_importances_)


def test_names_of_columns_are_kept():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"b": [0.0, 1.0], "a": [1.0, 0.0]})
    made = gputree.DecisionTreeClassifier().fit(X, [0, 1]).to_sklearn()
    assert made.feature_names_in_.tolist() == ["b", "a"]
    assert made.predict(X).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, "as missing='fractional' does") for name in DIVIDED),
        ("surrogates", "tests one column per node"),
        ("subsets", "no unordered categories, and column 'colour'"),
        ("boosting", "use to_onnx or to_treelite"),
    ],
)
def test_what_scikit_learn_cannot_hold_is_refused(name, message):
    with pytest.raises(NotExportable, match=message):
        fitted(name).to_sklearn()
