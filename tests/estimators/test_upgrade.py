"""Files of earlier versions are brought up to date, and those of later ones named as such."""

import json

import numpy as np
import pytest

import gputree
from gputree import ModelFileError
from gputree.estimators import model_file, upgrade
from gputree.tree import store
from tests.fuzz.edits import packed

X, Y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
MODELS = {
    "tree": gputree.DecisionTreeClassifier(),
    "ensemble": gputree.RandomForestClassifier(2, random_state=0),
    "boosting": gputree.GradientBoostingClassifier(2),
    "rules": gputree.RuleSetClassifier(),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param].fit(X, Y)


def later(monkeypatch):
    monkeypatch.setattr(store, "FORMAT_VERSION", store.FORMAT_VERSION + 1)


def test_a_step_is_taken_before_anything_is_checked(model, monkeypatch):
    """In the version before, the weights had another name, and the way of missing values none."""
    header, arrays = model._file_parts()
    described = header.get("tree", header)
    arrays["mass"], missing = arrays.pop("weight"), described.pop("missing")
    data = store.pack(header, arrays)
    with pytest.raises(ModelFileError):
        model_file.from_bytes(data, "the file")

    def step(header, arrays):
        own = {**header.get("tree", header), "missing": missing}
        header = {**header, "tree": own} if "tree" in header else own
        renamed = {"weight" if name == "mass" else name: arrays[name] for name in arrays}
        return header, renamed

    monkeypatch.setitem(upgrade.STEPS, store.FORMAT_VERSION, step)
    later(monkeypatch)
    again = model_file.from_bytes(data, "the file")
    assert again.to_bytes() == model.to_bytes()
    assert store.version_of(again.to_bytes()) == store.FORMAT_VERSION


def test_steps_are_taken_one_after_another_from_the_version_of_the_file(monkeypatch):
    taken = []
    for version in range(1, 5):
        step = lambda header, arrays, version=version: (taken.append(version) or header, arrays)  # noqa: E731
        monkeypatch.setitem(upgrade.STEPS, version, step)
    monkeypatch.setattr(store, "FORMAT_VERSION", 4)
    upgrade.newest(2, {}, {})
    assert taken == [2, 3]


def test_json_takes_the_same_steps(monkeypatch):
    model = MODELS["ensemble"].fit(X, Y)
    said = json.loads(model.to_json())
    said["missing"] = "as before"

    def step(header, arrays):
        assert header["missing"] == "as before"
        return {**header, "missing": "direction"}, arrays

    monkeypatch.setitem(upgrade.STEPS, store.FORMAT_VERSION, step)
    later(monkeypatch)
    assert gputree.from_json(json.dumps(said)).to_bytes() == model.to_bytes()


def test_a_step_that_fails_refuses_the_file(monkeypatch):
    data = MODELS["tree"].fit(X, Y)
    data = store.pack(*data._file_parts())
    monkeypatch.setitem(upgrade.STEPS, store.FORMAT_VERSION, lambda header, arrays: header["no"])
    later(monkeypatch)
    with pytest.raises(ModelFileError, match="'old' does not describe"):
        model_file.from_bytes(data, "'old'")


def test_every_version_has_a_step():
    assert sorted(upgrade.STEPS) == list(range(1, store.FORMAT_VERSION))


def test_a_file_of_a_later_version_asks_for_a_newer_gputree(model, tmp_path):
    version = store.FORMAT_VERSION + 1
    (tmp_path / "model").write_bytes(packed(model._file_parts(), version))
    words = f"version {version}, and this gputree reads versions up to {version - 1}; a newer"
    with pytest.raises(ModelFileError, match=words):
        gputree.load(tmp_path / "model")
    if hasattr(model, "to_json"):
        said = json.loads(model.to_json()) | {"version": version}
        with pytest.raises(ModelFileError, match=words):
            gputree.from_json(json.dumps(said))


def test_a_file_of_rules_from_before_a_parameter_came_is_read():
    given = gputree.DecisionTreeClassifier(max_depth=2)
    model = gputree.RuleSetClassifier(given).fit(X, Y)
    header, arrays = model._file_parts()
    for part in (header["given"], header["tree"]):
        pairs = part["params"]["dict"]
        part["params"] = {"dict": [pair for pair in pairs if pair[0] != "min_samples_category"]}
    again = model_file.from_bytes(store.pack(header, arrays), "the file")
    assert again.to_bytes() == model.to_bytes()
    assert again.tree.min_samples_category == given.min_samples_category


@pytest.mark.parametrize("name", ["level_start", "level_slot", "surrogate_level_start"])
def test_arrays_of_tables_have_their_types_in_version_1_too(name):
    model = MODELS["tree"].fit(X, Y)
    header, arrays = model._file_parts()
    arrays.pop("category")
    old = {new: first for first, new in upgrade.joined.FIRST_NAMES.items()}
    arrays = {old.get(each, each): array for each, array in arrays.items()}
    again = model_file.from_bytes(packed((header, arrays), 1), "the file")
    assert again.to_bytes() == model.to_bytes()
    arrays[name] = arrays[name].astype(np.int64)
    with pytest.raises(ModelFileError, match="has dtype int64"):
        model_file.from_bytes(packed((header, arrays), 1), "the file")
