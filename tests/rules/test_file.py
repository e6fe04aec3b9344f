"""Rules come back from their file as they were; anything else in a file is refused."""

import os

import numpy as np
import pytest

import gputree
from gputree import C45Classifier, DecisionTreeClassifier, ModelFileError, RuleSetClassifier
from gputree.rules.arrays import DTYPES
from gputree.tree import store

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
N_ROWS = 200
SIZES = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
CODE = RNG.integers(-1, 3, N_ROWS)
FRAME = pd.DataFrame(
    {
        "size": pd.Categorical.from_codes(CODE, dtype=SIZES),
        "colour": pd.Categorical.from_codes(RNG.integers(-1, 4, N_ROWS), list("rgbk")),
        "x": np.where(RNG.random(N_ROWS) < 0.1, np.nan, RNG.normal(size=N_ROWS).round(1)),
    }
)
NOISE = RNG.normal(size=N_ROWS)
Y = np.array(["no", "yes", "perhaps"])[
    (FRAME.x.fillna(0).to_numpy() + (CODE == 2) > 0.3 * NOISE).astype(int)
    + (FRAME.colour == "r").to_numpy(int)
]
MODELS = {
    "by default": RuleSetClassifier(),
    "subsets": RuleSetClassifier(
        DecisionTreeClassifier(max_depth=5, pruning="pessimistic"), confidence=0.1
    ),
    "asks for missing": RuleSetClassifier(
        DecisionTreeClassifier(missing="category", nominal="multiway"), selection="greedy"
    ),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param].fit(FRAME, Y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rules.gputree"


@pytest.fixture
def saved(path):
    MODELS["by default"].fit(FRAME, Y).save(path)
    return path


def test_rules_come_back(model, path):
    model.save(path)
    back = gputree.load(path)
    assert type(back) is RuleSetClassifier
    assert str(back) == str(model)
    assert back.rules_.rules == model.rules_.rules
    assert back.rules_.default == model.rules_.default
    assert back.to_bytes() == model.to_bytes()
    assert back.estimator_.to_bytes() == model.estimator_.to_bytes()
    assert back.feature_names_in_.tolist() == list(FRAME)
    for method in ("predict", "predict_proba", "apply"):
        np.testing.assert_array_equal(getattr(back, method)(FRAME), getattr(model, method)(FRAME))
    with pytest.raises(ValueError, match="same order"):
        back.predict(FRAME[["x", "size", "colour"]])


def test_the_parameters_come_back(model, path):
    model.save(path)
    back = gputree.load(path)
    assert back.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert (back.confidence, back.selection) == (model.confidence, model.selection)
    assert (back.tree is None) == (model.tree is None)
    if model.tree is not None:
        assert repr(back.tree) == repr(model.tree)
        assert not hasattr(back.tree, "tree_")
    assert repr(back.estimator_) == repr(model.estimator_)
    assert back.fit(FRAME, Y).to_bytes() == model.to_bytes()


def test_a_saved_model_saved_again_is_the_same_file(saved, tmp_path):
    gputree.load(saved).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


@pytest.mark.parametrize("backend", ["numba", "array_api_strict"])
def test_all_backends_give_the_same_bytes(backend):
    pytest.importorskip(backend)
    one, other = (
        RuleSetClassifier(C45Classifier(pruning=None, backend=each)).fit(FRAME, Y)
        for each in ("numpy", backend)
    )
    assert one.to_bytes() == other.to_bytes()


def test_other_rules_have_other_bytes():
    one, other = (RuleSetClassifier(confidence=c).fit(FRAME, Y) for c in (0.5, 0.01))
    assert one.estimator_.to_bytes() == other.estimator_.to_bytes()
    assert one.to_bytes() != other.to_bytes()


def test_rules_that_are_not_fitted_have_no_bytes(path):
    with pytest.raises(ValueError, match="not fitted"):
        RuleSetClassifier().to_bytes()
    with pytest.raises(ValueError, match="not fitted"):
        RuleSetClassifier().save(path)
    assert not path.exists()


# Files that are not right


def test_a_truncated_file_is_refused_wherever_it_ends(saved):
    data = saved.read_bytes()
    for end in range(0, len(data), 97):
        saved.write_bytes(data[:end])
        with pytest.raises(ModelFileError):
            gputree.load(saved)


def test_a_file_with_any_byte_changed_is_refused(saved):
    data = saved.read_bytes()
    for at in range(0, len(data), 97):
        saved.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(ModelFileError):
            gputree.load(saved)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no room"):
        MODELS["subsets"].fit(FRAME, Y).save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def with_array(name, change):
    def hostile(header, arrays):
        array = arrays[name].copy()
        array = change(array)
        return header, {**arrays, name: array}

    return hostile


def set_to(value, where=0):
    def change(array):
        array[where] = value
        return array

    return change


def with_header(**parts):
    return lambda header, arrays: ({**header, **parts}, arrays)


HOSTILE = {
    "an answer that is no class": with_array("rule_answer", set_to(9)),
    "a negative answer": with_array("rule_answer", set_to(-1)),
    "rows that are no number": with_array("rule_n_rows", set_to(np.nan)),
    "weights below nothing": with_array("rule_value", set_to(-1.0)),
    "a column that is not there": with_array("condition_feature", set_to(3)),
    "a negative column": with_array("condition_feature", set_to(-1)),
    "a comparison that nobody knows": with_array("condition_sign", set_to(7)),
    "a threshold that is no number": with_array("condition_threshold", set_to(np.nan, slice(None))),
    "categories that are not there": with_array("condition_level", set_to(99, slice(None))),
    "negative categories": with_array("condition_level", set_to(-2, slice(None))),
    "too many conditions": with_array("rule_n_conditions", set_to(2**31 - 1)),
    "a negative number of conditions": with_array("rule_n_conditions", set_to(-1)),
    "a negative number of categories": with_array("condition_n_levels", set_to(-1, slice(None))),
    "another dtype": with_array("rule_answer", lambda array: array.astype(np.int64)),
    "another number of axes": with_array("rule_answer", lambda array: array[:, None]),
    "no default": lambda header, arrays: (
        header,
        {name: array[:0] if name in DTYPES else array for name, array in arrays.items()},
    ),
    "rules of different lengths": with_array("rule_n_rows", lambda array: array[:-1]),
    "a part that is missing": lambda header, arrays: (
        header,
        {name: array for name, array in arrays.items() if name != "rule_answer"},
    ),
    "a part too many": lambda header, arrays: (header, {**arrays, "more": np.zeros(1)}),
    "a default with conditions": with_array("rule_n_conditions", lambda array: array[::-1].copy()),
    "no tree": with_header(tree=None),
    "a tree of an unknown kind": with_header(given={"estimator": "Oak", "params": {"dict": []}}),
    "a parameter too many": with_header(params={"dict": [["confidence", 0.1], ["more", 1]]}),
    "an entry too many": with_header(more=1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_with_a_right_checksum_is_refused(saved, name):
    header, arrays = HOSTILE[name](*store.unpack(saved.read_bytes()))
    saved.write_bytes(store.pack(header, arrays))
    with pytest.raises(ModelFileError):
        gputree.load(saved)


def test_the_same_file_packed_again_is_accepted(saved):
    saved.write_bytes(store.pack(*store.unpack(saved.read_bytes())))
    assert isinstance(gputree.load(saved), RuleSetClassifier)
