"""A model comes back from its file as it was; anything else in a file is refused, never run."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import gputree
from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ModelFileError,
)
from gputree.tree import store
from gputree.tree.plain import to_plain
from gputree.tree.tree import Tree
from tests.thorough import examples

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(60, 3)), 1)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = RNG.integers(0, 3, 60)
LABELS = {
    "int": np.array([3, -1, 2**62]),
    "int8": np.array([1, 2, 3], np.int8),
    "uint64": np.array([1, 2, 2**64 - 1], np.uint64),
    "bool": np.array([False, True, True]),
    "float": np.array([0.0, 1.0, 7.0]),
    "float32": np.array([0.0, 1.0, 7.0], np.float32),
    "text": np.array(["no", "yes", "perhaps é"]),
    "object-text": np.array(["no", "yes", "perhaps"], dtype=object),
}
SIZES = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
YEARS = pd.CategoricalDtype([1990, 2000, 2010], ordered=True)


def frame():
    """Two ordinal columns with missing values, and a numeric one."""
    return pd.DataFrame(
        {
            "size": pd.Categorical.from_codes(RNG.integers(-1, 3, 60), dtype=SIZES),
            "year": pd.Categorical.from_codes(RNG.integers(-1, 3, 60), dtype=YEARS),
            "weight": X[:, 0],
        }
    )


FRAME = frame()
COLOURS = FRAME.assign(
    colour=pd.Categorical.from_codes(RNG.integers(-1, 4, 60), ["red", "green", "blue", "grey"])
)
KNOWN = pd.DataFrame(RNG.integers(0, 4, (60, 2)), columns=["a", "b"]).astype("category")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.gputree"


def reloaded(model, path):
    model.save(path)
    return gputree.load(path)


# There and back


def assert_same_model(one, other, X):
    assert type(one) is type(other)
    assert one.to_bytes() == other.to_bytes()
    for method in ("predict", "predict_proba", "apply"):
        if hasattr(one, method):
            mine, theirs = getattr(one, method)(X), getattr(other, method)(X)
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
    assert one.export_text() == other.export_text()
    np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)
    assert one.get_depth() == other.get_depth()


@pytest.mark.parametrize("label", LABELS)
def test_a_classifier_comes_back_with_its_labels(path, label):
    model = DecisionTreeClassifier(max_depth=4).fit(X, LABELS[label][Y])
    back = reloaded(model, path)
    assert_same_model(model, back, X)
    assert back.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(back.classes_, model.classes_)
    assert back.score(X, LABELS[label][Y]) == model.score(X, LABELS[label][Y])


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_regressor_comes_back_with_its_outputs(path, n_outputs):
    target = RNG.normal(size=(60, n_outputs))
    model = DecisionTreeRegressor().fit(X, target[:, 0] if n_outputs == 1 else target)
    back = reloaded(model, path)
    assert_same_model(model, back, X)
    assert back.predict(X).shape == model.predict(X).shape
    assert back.n_outputs_ == n_outputs


def test_ordinal_columns_come_back_with_their_categories_in_order(path):
    model = DecisionTreeClassifier(max_depth=4).fit(FRAME, Y)
    back = reloaded(model, path)
    assert_same_model(model, back, FRAME)
    assert back.feature_names_in_.tolist() == ["size", "year", "weight"]
    assert "size in {small" in back.export_text()
    np.testing.assert_array_equal(
        back.predict(FRAME.assign(size="huge")), back.predict(FRAME.assign(size=None))
    )
    with pytest.raises(ValueError, match="same order"):
        back.predict(FRAME[["weight", "size", "year"]])


@pytest.mark.parametrize(
    ("model", "table"),
    [
        (DecisionTreeClassifier(), COLOURS),
        (DecisionTreeClassifier(nominal="multiway", missing="category"), COLOURS),
        (DecisionTreeClassifier(nominal="multiway", missing="fractional", max_depth=4), COLOURS),
        (DecisionTreeClassifier(missing="surrogate", unknown_category="majority"), COLOURS),
        (DecisionTreeRegressor(missing="surrogate"), COLOURS),
        (ID3Classifier(), KNOWN),
        (C45Classifier(min_branch=1.5, mdl_correction=True, thresholds="value"), COLOURS),
        (CARTClassifier(criterion="twoing", max_surrogates=3, pruning=None), COLOURS),
        (CARTRegressor(max_depth=5, pruning=None), COLOURS),
    ],
    ids=lambda each: type(each).__name__,
)
def test_trees_of_every_shape_come_back(path, model, table):
    model.fit(table, Y)
    back = reloaded(model, path)
    assert back.tree_.n_leaves > 2
    assert back.get_params() == model.get_params()
    assert back.missing_ == model.missing_
    assert back.to_bytes() == model.to_bytes()
    asked = pd.concat([table, table.iloc[:3]])
    asked.iloc[-3:] = None
    for method in ("predict", "predict_proba", "apply"):
        if hasattr(model, method):
            np.testing.assert_array_equal(
                getattr(back, method)(asked), getattr(model, method)(asked)
            )


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("missing", "fractional", "direction"),
        ("missing", "direction", "fractional"),
        ("missing", "surrogate", "fractional"),
        ("unknown_category", "missing", "majority"),
        ("unknown_category", "majority", "error"),
    ],
)
def test_what_becomes_of_unknown_values_is_a_part_of_the_model(path, name, first, second):
    """Predictions depend on it, so bytes tell it, and parameters set later do not change it."""
    table = COLOURS[["weight", "colour"]]
    one = DecisionTreeClassifier(**{name: first}).fit(table, Y)
    other = DecisionTreeClassifier(**{name: second}).fit(table, Y)
    assert one.to_bytes() != other.to_bytes()
    asked = table.assign(colour="new")
    before = one.predict_proba(asked)
    one.set_params(**{name: second})
    np.testing.assert_array_equal(one.predict_proba(asked), before)
    back = reloaded(one, path)
    np.testing.assert_array_equal(back.predict_proba(asked), before)
    assert getattr(back, name) == second  # the parameter, for the next fit


@pytest.mark.parametrize("unknown", ["missing", "majority", "error"])
def test_categories_not_seen_at_fit_are_treated_as_was_asked_for(path, unknown):
    table = pd.DataFrame({"c": pd.Categorical(["a"] * 3 + ["b"] * 6 + [None] * 2)})
    y = [0] * 3 + [1] * 6 + [0] * 2
    model = DecisionTreeClassifier(unknown_category=unknown).fit(table, y)
    asked = pd.DataFrame({"c": ["new"]})
    for each in (model, reloaded(model, path)):
        if unknown == "error":
            with pytest.raises(ValueError, match="not seen at fit: 'new'"):
                each.predict(asked)
        else:
            assert each.predict(asked).tolist() == [{"missing": 0, "majority": 1}[unknown]]


def test_an_array_has_no_names_after_loading_either(path):
    back = reloaded(DecisionTreeClassifier().fit(X, Y), path)
    assert not hasattr(back, "feature_names_in_")
    assert back.n_features_in_ == 3


PARAMS = {
    "criterion": "entropy",
    "max_depth": np.int64(6),
    "min_samples_leaf": 0.02,
    "max_features": "sqrt",
    "random_state": 11,
    "class_weight": {0: 1.0, 1: 2.5, 2: np.float64(0.5)},
    "categorical_features": None,
    "max_bins": 40,
}


def test_the_parameters_come_back_except_for_where_to_compute(path):
    where = {"backend": "numpy", "device": "cpu", "histogram_budget": 10**6, "n_jobs": 1}
    model = DecisionTreeClassifier(**PARAMS, **where).fit(X, Y)
    back = reloaded(model, path)
    default = {name: DecisionTreeClassifier().get_params()[name] for name in where}
    assert back.get_params() == {**model.get_params(), **default}
    assert clone(back).fit(X, Y).to_bytes() == model.to_bytes()


def test_a_generator_as_random_state_is_not_kept(path):
    model = DecisionTreeClassifier(random_state=np.random.RandomState(0)).fit(X, Y)
    assert reloaded(model, path).random_state is None


def test_a_loaded_model_is_as_good_as_the_first(path, tmp_path):
    back = reloaded(DecisionTreeClassifier().fit(FRAME, Y), path)
    again = reloaded(back, tmp_path / "again.gputree")
    assert (tmp_path / "again.gputree").read_bytes() == path.read_bytes()
    assert_same_model(back, again, FRAME)
    assert pickle.loads(pickle.dumps(back)).to_bytes() == back.to_bytes()
    assert copy.deepcopy(back).to_bytes() == back.to_bytes()
    assert back.fit(X, Y).n_features_in_ == 3


def test_paths_may_be_text_or_path_objects(path):
    model = DecisionTreeClassifier().fit(X, Y)
    model.save(str(path))
    assert gputree.load(str(path)).to_bytes() == gputree.load(path).to_bytes()


# Files that are no model


@pytest.fixture
def saved(path):
    DecisionTreeClassifier(max_depth=3).fit(FRAME, Y).save(path)
    return path


def refuses(path, data, match=None):
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=match):
        gputree.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_once(saved, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    data = saved.read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[data], daemon=True)
    writer.start()
    assert gputree.load(tmp_path / "pipe").to_bytes() == gputree.load(saved).to_bytes()


def test_a_truncated_file_is_refused_wherever_it_ends(saved):
    data = saved.read_bytes()
    for end in [*range(0, 64), *range(64, len(data), 37), len(data) - 1]:
        refuses(saved, data[:end])


def test_a_file_with_any_byte_changed_is_refused(saved):
    data = saved.read_bytes()
    for at in range(0, len(data), 53):
        refuses(saved, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_foreign_files_are_refused_as_such(saved):
    data = saved.read_bytes()
    for foreign in (b"", b"PK\x03\x04", b"\x93NUMPY", b"{}", pickle.dumps({"a": 1}), data + b"\0"):
        refuses(saved, foreign, match="not a gputree model|damaged")
    refuses(saved, pickle.dumps(DecisionTreeClassifier()), match="not a gputree model")


def test_a_file_that_is_not_there_is_not_called_damaged(tmp_path):
    with pytest.raises(FileNotFoundError):
        gputree.load(tmp_path / "nothing")


def test_the_bytes_of_a_model_alone_are_no_file(path):
    refuses(path, DecisionTreeClassifier().fit(X, Y).to_bytes(), match="does not describe")


def test_loading_unpickles_nothing(saved, monkeypatch):
    def fail(*args, **kwargs):
        raise AssertionError("a model file was unpickled")

    monkeypatch.setattr(pickle, "loads", fail)
    monkeypatch.setattr(pickle, "load", fail)
    monkeypatch.setattr(pickle, "Unpickler", fail)
    monkeypatch.setattr("builtins.eval", fail)
    monkeypatch.setattr("builtins.exec", fail)
    assert gputree.load(saved).get_depth() > 0
    refuses(saved, b"cos\nsystem\n(S'true'\ntR.")


# Files made by someone who knows the format: the checksum is right, the content is not


def without(mapping, *names):
    return {name: value for name, value in mapping.items() if name not in names}


def changed(**parts):
    def change(header, arrays):
        assert {*parts} <= {*header, "extra"}  # what a file does not have is refused in any case
        return {**header, **parts}, arrays

    return change


def changed_array(name, change):
    return lambda header, arrays: (header, {**arrays, name: change(arrays[name].copy())})


def entry(name, at, value):
    def change(array):
        array[at] = value
        return array

    return changed_array(name, change)


def params(**given):
    return lambda header, arrays: (
        {**header, "params": to_plain({"max_depth": 3, **given})},
        arrays,
    )


HOSTILE = {
    # what is described
    "no-estimator": lambda header, arrays: (without(header, "estimator"), arrays),
    "no-params": lambda header, arrays: (without(header, "params"), arrays),
    "no-names": lambda header, arrays: (without(header, "names"), arrays),
    "no-classes": lambda header, arrays: (without(header, "classes"), arrays),
    "empty": lambda header, arrays: ({}, {}),
    "unknown-estimator": changed(estimator="Popen"),
    "estimator-with-a-path": changed(estimator="os.system"),
    "estimator-is-a-list": changed(estimator=["DecisionTreeClassifier"]),
    "regressor-with-classes": changed(estimator="DecisionTreeRegressor"),
    "unknown-parameter": params(presort=True),
    "parameter-is-a-method": params(fit=1),
    "where-to-compute": params(backend="torch"),
    "params-are-a-list": changed(params=[1, 2]),
    "params-are-nothing": changed(params=None),
    "params-have-no-tag": changed(params={"max_depth": 3}),
    "unknown-part": changed(extra=1),
    # columns
    "names-are-numbers": changed(names=[1, 2, 3]),
    "names-are-text": changed(names="abc"),
    "too-few-names": changed(names=["a", "b"]),
    "repeated-names": changed(names=["a", "a", "b"]),
    "named-is-text": changed(named="yes"),
    "unknown-kind": changed(kinds=[1, 1, 9]),
    "kinds-are-fractions": changed(kinds=[1.0, 1.0, 0.0]),
    "kinds-are-text": changed(kinds="110"),
    "missing-is-a-number": changed(has_missing=[1, 0, 0]),
    "missing-is-too-short": changed(has_missing=[True]),
    "no-missing": lambda header, arrays: (without(header, "has_missing"), arrays),
    "categories-of-a-number": changed(levels=[to_plain(("a",)), to_plain((1,)), to_plain((2,))]),
    "no-categories": changed(levels=[None, None, None]),
    "categories-are-text": changed(levels=["abc", "abc", None]),
    "categories-are-an-integer": changed(levels=[3, 3, None]),
    "categories-repeat": changed(levels=[to_plain(("a", "a", "b")), to_plain((1, 2, 3)), None]),
    "categories-cannot-be-keys": changed(levels=[to_plain(([], [1])), to_plain((1, 2, 3)), None]),
    # labels
    "too-few-classes": changed(classes=to_plain(np.array([0, 1]))),
    "classes-in-a-table": changed(classes=to_plain(np.array([[0, 1, 2]]))),
    "classes-are-a-list": changed(classes=to_plain([0, 1, 2])),
    "classes-are-lists": changed(
        classes={"object_array": [[3], [to_plain([1]), to_plain([2]), to_plain([3])]]}
    ),
    "classes-repeat": changed(classes=to_plain(np.array([1, 1, 1]))),
    # the tree
    "no-arrays": lambda header, arrays: (header, {}),
    "array-missing": lambda header, arrays: (header, without(arrays, "gain")),
    "array-too-many": lambda header, arrays: (header, {**arrays, "more": np.zeros(3)}),
    "wide-feature": changed_array("feature", lambda array: array.astype(np.int64)),
    "whole-threshold": changed_array("threshold", lambda array: np.zeros(len(array), np.int64)),
    "narrow-value": changed_array("value", lambda array: array.astype(np.float32)),
    "short-array": changed_array("feature", lambda array: array[:-1]),
    "value-without-classes": changed_array("value", lambda array: array[:, :0]),
    "flat-value": changed_array("value", lambda array: array[:, 0]),
    "no-nodes": lambda header, arrays: (header, {name: a[:0] for name, a in arrays.items()}),
    "root-is-its-own-child": entry("first_child", 0, 0),
    "child-before-its-parent": entry("first_child", 1, 0),
    "child-far-away": entry("first_child", 0, 2**31 - 1),
    "child-below-zero": entry("first_child", 0, -5),
    "feature-far-away": entry("feature", 0, 3),
    "feature-below-zero": entry("feature", 0, -1),
    "unknown-split": entry("kind", 0, 7),
    "root-is-a-leaf": entry("kind", 0, 0),
    "third-child": entry("missing_slot", 0, 2),
    "no-threshold": entry("threshold", 0, np.nan),
    "infinite-value": entry("value", 0, np.inf),
    "nan-value": entry("value", -1, np.nan),
    "negative-class-weight": entry("value", -1, [-1.0, 2.0, 0.0]),
    "no-class-weight": entry("value", -1, 0.0),
    "negative-weight": entry("weight", 0, -1.0),
    "nan-gain": entry("gain", 0, np.nan),
    "inner-node-without-weight": entry("weight", 0, 0.0),
    "more-children-than-there-are": entry("n_children", 0, 3),
    "children-left-out": changed_array("n_children", lambda array: array[:0]),
    "categories-left-out": changed_array("category_start", lambda array: array[:0]),
    "surrogates-left-out": changed_array("n_surrogates", lambda array: array[:0]),
    "surrogates-that-are-not-there": entry("n_surrogates", 0, 1),
    "categories-of-nobody": changed_array("category_slot", lambda array: np.zeros(4, array.dtype)),
    "missing-values-stay": entry("missing_slot", 0, 65_535),
    # what becomes of unknown values
    "no-way-for-missing": lambda header, arrays: (without(header, "missing"), arrays),
    "no-way-for-unknown": lambda header, arrays: (without(header, "unknown"), arrays),
    "missing-in-a-way-that-is-not": changed(missing="drop"),
    "missing-in-a-way-of-another-tree": changed(missing="fractional"),
    "missing-is-a-list": changed(missing=["direction"]),
    "unknown-in-a-way-that-is-not": changed(unknown="drop"),
    "unknown-is-nothing": changed(unknown=None),
}
# The same for a tree with categories and surrogates.
HOSTILE_CATEGORIES = {
    "category-sent-far-away": entry("category_slot", 1, 2),
    "others-sent-far-away": entry("category_slot", 0, 2),
    "category-of-a-surrogate-sent-far-away": entry("category_slot", -1, 7),
    "list-elsewhere": entry("category_start", 0, 1),
    "list-outside": entry("category_start", 0, 2**31 - 1),
    "list-too-short": changed_array("category", lambda array: array[:-1]),
    "slots-too-short": changed_array("category_slot", lambda array: array[:-1]),
    "list-too-long": changed_array("category", lambda array: np.append(array, array[:1])),
    "list-says-it-is-longer": entry("category", 0, 60_000),
    "list-says-it-is-empty": entry("category", 0, 0),
    "category-that-is-not": entry("category", 1, 60_000),
    "no-entry-for-unseen-ones": entry("category", -1, 2),
    "names-of-both-forms": lambda header, arrays: (
        header,
        {**arrays, "level_slot": arrays["category_slot"]},
    ),
    "threshold-of-categories": entry("threshold", 0, 0.5),
    "categories-compared": entry("kind", 0, 1),
    "surrogate-feature-far-away": entry("surrogate_feature", 0, 4),
    "surrogate-to-a-third-child": entry("surrogate_slot", 0, 2),
    "surrogate-at-a-leaf": changed_array("n_surrogates", lambda array: array[::-1].copy()),
    "surrogate-agrees-too-much": entry("surrogate_agreement", 0, 1.5),
    "surrogates-not-used": changed(missing="direction"),
    "more-categories": lambda header, arrays: (
        {**header, "levels": [*header["levels"][:-1], to_plain(tuple("abcde"))]},
        arrays,
    ),
    "categories-in-order": lambda header, arrays: (
        {**header, "kinds": [*header["kinds"][:-1], 1]},
        arrays,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_with_a_right_checksum_is_refused(saved, name):
    header, arrays = HOSTILE[name](*store.unpack(saved.read_bytes()))
    refuses(saved, store.pack(header, arrays))


@pytest.fixture
def saved_categories(path):
    """A tree whose root tests the colour, and its surrogates another column of categories."""
    rng = np.random.default_rng(1)
    twin = COLOURS["colour"].cat.rename_categories(list("rgby")).where(rng.random(60) < 0.9)
    table = COLOURS.assign(weight=twin)
    y = (COLOURS["colour"].isin(["red", "blue"]) ^ (rng.random(60) < 0.05)).to_numpy()
    model = CARTClassifier(max_depth=3, pruning=None).fit(table, y)
    assert model.nodes_.feature[0] == 3
    assert (model.tree_.surrogate_category_start >= 0).any()
    model.save(path)
    return path


@pytest.mark.parametrize("name", HOSTILE_CATEGORIES)
def test_a_hostile_file_with_categories_is_refused(saved_categories, name):
    header, arrays = store.unpack(saved_categories.read_bytes())
    assert gputree.load(saved_categories).get_depth() > 0
    refuses(saved_categories, store.pack(*HOSTILE_CATEGORIES[name](header, arrays)))


def test_the_same_file_packed_again_is_accepted(saved):
    """Else the test above would refuse for another reason."""
    data = saved.read_bytes()
    saved.write_bytes(store.pack(*store.unpack(data)))
    assert saved.read_bytes() == data
    assert gputree.load(saved).get_depth() == 3


def test_a_refusal_says_what_is_wrong(saved):
    header, arrays = store.unpack(saved.read_bytes())
    for name, match in [
        ("unknown-estimator", "unknown kind of model: 'Popen'"),
        ("unknown-parameter", "unknown parameters"),
        ("array-missing", "arrays of a tree"),
        ("wide-feature", "'feature' has dtype int64"),
        ("too-few-classes", "class labels do not fit"),
        ("feature-far-away", "feature outside 0..2"),
    ]:
        refuses(saved, store.pack(*HOSTILE[name](header, arrays)), match=match)


cell = st.tuples(
    st.sampled_from(["kind", "feature", "threshold", "missing_slot", "first_child", "value"]),
    st.integers(0, 2**16),
    st.integers(-3, 20) | st.floats(width=64),
)


@settings(max_examples=examples(100))
@given(st.lists(cell, min_size=1, max_size=4))
def test_a_file_with_other_numbers_is_refused_or_predicts(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("fuzz") / "model"
    DecisionTreeClassifier(max_depth=3).fit(FRAME, Y).save(path)
    header, arrays = store.unpack(path.read_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    for name, at, value in cells:
        flat = arrays[name].reshape(-1)
        with np.errstate(all="ignore"):
            flat[at % flat.size] = np.float64(value).astype(flat.dtype)
    path.write_bytes(store.pack(header, arrays))
    try:
        model = gputree.load(path)
    except ModelFileError:
        return
    assert model.tree_.is_leaf[model.apply(FRAME)].all()
    assert np.isfinite(model.predict_proba(FRAME)).all()


node_arrays = ["kind", "feature", "first_child", "missing_slot", "n_children", "weight"]
category_arrays = ["category_start", "n_surrogates", *Tree.OTHERS]
category_cell = st.tuples(
    st.sampled_from([*node_arrays, *category_arrays]),
    st.integers(0, 2**16),
    st.integers(-3, 20) | st.floats(width=64),
)


@settings(max_examples=examples(150))
@given(
    st.lists(category_cell, min_size=1, max_size=3), st.sampled_from(["surrogate", "fractional"])
)
def test_a_file_with_other_categories_is_refused_or_predicts(tmp_path_factory, cells, missing):
    path = tmp_path_factory.mktemp("fuzz") / "model"
    DecisionTreeClassifier(max_depth=3, missing=missing).fit(COLOURS, Y).save(path)
    header, arrays = store.unpack(path.read_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    for name, at, value in cells:
        flat = arrays[name].reshape(-1)
        if flat.size:
            with np.errstate(all="ignore"):
                flat[at % flat.size] = np.float64(value).astype(flat.dtype)
    path.write_bytes(store.pack(header, arrays))
    try:
        model = gputree.load(path)
    except ModelFileError:
        return
    share = model.predict_proba(pd.concat([COLOURS, COLOURS.assign(colour="new")]))
    np.testing.assert_allclose(share.sum(axis=1), 1.0)


# Saving


def test_a_failed_save_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    other = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, full)
            with pytest.raises(OSError, match="No space left"):
                other.save(saved)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == [saved.name]
    other.save(saved)
    assert saved.read_bytes() != before


def test_a_parameter_that_is_no_data_cannot_be_saved_and_spoils_nothing(saved):
    before = saved.read_bytes()

    class Weights(dict):
        pass

    model = DecisionTreeClassifier(class_weight=Weights({0: 1, 1: 1, 2: 1})).fit(X, Y)
    with pytest.raises(TypeError, match="Weights cannot be saved"):
        model.save(saved)
    assert saved.read_bytes() == before


def test_a_model_is_saved_with_nothing_of_the_machine(path):
    model = DecisionTreeClassifier(backend="numpy", device="cpu", histogram_budget=999, n_jobs=1)
    model.fit(X, Y).save(path)
    places = (b"numpy", b"device", b"histogram_budget", b"n_jobs", b"seconds")
    for word in (*places, os.fsencode(path.parent)):
        assert word not in path.read_bytes()


@pytest.mark.parametrize("weight", [1e306, 5e-324])
def test_a_model_of_huge_or_tiny_weights_comes_back(tmp_path, weight):
    X, y = np.arange(8.0)[:, None], [0, 0, 1, 1, 0, 1, 0, 1]
    tree = DecisionTreeClassifier().fit(X, y, np.full(8, weight))
    tree.save(tmp_path / "model")
    found = gputree.load(tmp_path / "model")
    assert found.to_bytes() == tree.to_bytes()
    assert found.feature_importances_.tolist() == [1.0]
    np.testing.assert_array_equal(found.predict(X), y)
