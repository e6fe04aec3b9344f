"""JSON holds a model without loss, and says what its schema says."""

import json
import tracemalloc

import numpy as np
import pytest

import gputree
from gputree.errors import ModelFileError
from gputree.export import json_text
from tests.export.models import MODELS, expected, fitted, rows


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_with_the_same_bytes(name):
    model = fitted(name)
    again = gputree.from_json(model.to_json())
    assert again.to_bytes() == model.to_bytes()
    assert again.to_json() == model.to_json()
    assert set(again.get_params(deep=False)) == set(model.get_params(deep=False))


@pytest.mark.parametrize("name", ["surrogates, majority", "bagging, columns", "boosting"])
def test_a_model_that_came_back_predicts_the_same(name):
    again = gputree.from_json(fitted(name).to_json(indent=1).encode())
    said = again.predict_proba if hasattr(again, "predict_proba") else again.predict
    assert (said(rows(name)).reshape(expected(name).shape) == expected(name)).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_text_keeps_the_schema(name):
    jsonschema = pytest.importorskip("jsonschema")
    kind = jsonschema.Draft202012Validator
    kind.check_schema(json_text.schema())
    kind(json_text.schema()).validate(json.loads(fitted(name).to_json()))


def test_the_schema_refuses_what_is_no_model():
    jsonschema = pytest.importorskip("jsonschema")
    said = json.loads(fitted("subsets").to_json())
    said["trees"][0]["missing_slot"][0] = -1
    assert not jsonschema.Draft202012Validator(json_text.schema()).is_valid(said)


def test_numbers_json_lacks_are_null_and_in_quotes():
    X = np.array([[-np.inf], [-np.inf], [0.0], [np.nan]])
    model = gputree.DecisionTreeClassifier().fit(X, [0, 0, 1, 2])
    thresholds = json.loads(model.to_json())["trees"][0]["threshold"]
    assert None in thresholds
    assert "inf" in thresholds
    assert gputree.from_json(model.to_json()).to_bytes() == model.to_bytes()


@pytest.mark.parametrize(
    "labels", [[True, False], [1.0, 2.0], [2**60, 3], ["a", "é\ud800"], np.array([1, 2], np.int8)]
)
def test_class_labels_keep_their_type(labels):
    model = gputree.DecisionTreeClassifier().fit([[0], [1]], labels)
    again = gputree.from_json(model.to_json())
    assert again.to_bytes() == model.to_bytes()
    assert again.classes_.dtype == model.classes_.dtype


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda said: said.update(version=3), "version 3"),
        (lambda said: said.update(format="x"), "is not a model"),
        (lambda said: said.pop("trees"), "does not describe"),
        (lambda said: said["trees"][0]["feature"].__setitem__(0, 99), "tests a feature"),
        (lambda said: said["trees"][0]["feature"].__setitem__(0, 0.5), "whole number"),
        (lambda said: said["trees"][0]["threshold"].__setitem__(0, "1"), "not a number"),
        (lambda said: said["trees"][0]["value"][0].append(1.0), "differ in length"),
        (lambda said: said["trees"].append(said["trees"][0]), "does not describe"),
        (lambda said: said["columns"][0].update(kind="other"), "does not describe"),
        (lambda said: said["params"].update(nonsense=1), "unknown parameters"),
        (lambda said: said.update(arrays={"start": [0.0]}), "arrays of a tree"),
        (lambda said: said.update(classes={"dtype": "<i8", "labels": ["a", "b"]}), "describe"),
    ],
)
def test_what_is_no_model_is_refused(change, message):
    said = json.loads(fitted("regression" if "arrays of" in message else "subsets").to_json())
    change(said)
    with pytest.raises(ModelFileError, match=message):
        gputree.from_json(json.dumps(said))


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, '{"format": NaN}', b"\xff"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ModelFileError):
        gputree.from_json(text)


def test_targets_of_leaves_come_back():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = gputree.RandomForestRegressor(3, keep_targets=True, random_state=0).fit(X, X[:, 0])
    again = gputree.from_json(model.to_json())
    assert again.to_bytes() == model.to_bytes()
    assert (again.predict_quantile(X, 0.3) == model.predict_quantile(X, 0.3)).all()


@pytest.mark.parametrize("dtype", ["<U400000000", "(100000000,)f8", "V400000000", "i4,f8", "M8[s]"])
def test_a_short_text_takes_little_memory(dtype):
    said = json.loads(gputree.DecisionTreeClassifier().fit([[0], [1]], ["a", "b"]).to_json())
    said["classes"]["dtype"] = dtype
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="class labels"):
        gputree.from_json(json.dumps(said))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**7


@pytest.mark.parametrize(
    ("version", "cure"), [(99, "up to 2; a newer gputree"), (0, "no gputree"), (True, "no")]
)
def test_another_version_is_named(version, cure):
    said = json.loads(gputree.DecisionTreeClassifier().fit([[0], [1]], [0, 1]).to_json())
    said["version"] = version
    with pytest.raises(ModelFileError, match=f"has format version {version}.*{cure}"):
        gputree.from_json(json.dumps(said))
