"""Models that releases have saved are read for ever, and answer as they did."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gputree
from gputree.tree import store
from gputree.tree.joined import FIRST_NAMES
from tests.corpus.models import fitted
from tests.corpus.write import HERE, answers_of, digest, rows_of
from tests.fuzz.edits import packed

RELEASES = sorted(path.parent for path in HERE.glob("*/answers.json"))
FILES = [path for folder in RELEASES for path in sorted(folder.glob("*.gputree"))]
TEXTS = [path for folder in RELEASES for path in sorted(folder.glob("*.json"))]
TEXTS = [path for path in TEXTS if path.name != "answers.json"]

# Two groups and a child each, at nodes and at surrogates; rare ones and others; many trees.
LISTED = ["tree surrogate subset", "tree category multiway", "regression direction subset"]
LISTED += ["tree majority", "c45", "forest", "boosting"]


@cache
def told(folder):
    return json.loads((folder / "answers.json").read_text())


def named(path):
    return f"{path.parent.name}/{path.stem}"


def check_answers(model, path):
    everything = told(path.parent)
    expected = everything["answers"][path.with_suffix(".gputree").name]
    found = answers_of(model, rows_of(everything["rows"]))
    assert set(found) == set(expected) - {"file", "model"}
    for name, answer in found.items():
        if name in ("apply", "predict") and hasattr(model, "classes_"):
            assert answer == expected[name]
        else:  # exponentials and sums of other versions of NumPy may differ in the last place
            np.testing.assert_allclose(answer, expected[name], rtol=1e-13, atol=1e-15)


def as_in_version_1(header, arrays):
    """The contents of a file as version 1 had them; tables are not made of lists again."""
    if len(arrays["category"]):
        return header, arrays
    old = {new: name for name, new in FIRST_NAMES.items()}
    return header, {old.get(name, name): arrays[name] for name in arrays if name != "category"}


def test_every_release_has_models():
    assert len(FILES) > 30
    assert {path.name for path in FILES} == {
        name for folder in RELEASES for name in told(folder)["answers"]
    }


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_saved_model_answers_as_it_did(path, tmp_path):
    expected = told(path.parent)["answers"][path.name]
    assert digest(path.read_bytes()) == expected["file"], "files of a release are never changed"
    model = gputree.load(path)
    check_answers(model, path)
    again = tmp_path / "again.gputree"
    model.save(again)
    assert gputree.load(again).to_bytes() == model.to_bytes()
    parts = store.unpack(model.to_bytes())
    if told(path.parent)["format"] == 1:
        parts = as_in_version_1(*parts)
    # Lists of categories have come in version 1 where there were tables.
    if "category" not in parts[1] or path.parent.name != "0.1.0":
        assert digest(packed(parts, told(path.parent)["format"])) == expected["model"]


@pytest.mark.parametrize("name", LISTED)
def test_tables_of_categories_become_the_lists_that_a_fit_makes(name):
    saved = gputree.load(HERE / "0.1.0" / f"{name.replace(' ', '_')}.gputree")
    assert fitted(name).to_bytes() == saved.to_bytes()


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_a_model_in_json_answers_as_it_did(path):
    model = gputree.from_json(path.read_text())
    check_answers(model, path)
    saved = gputree.load(path.with_suffix(".gputree"))
    assert model.to_bytes() == saved.to_bytes()


def test_the_corpus_is_small():
    files = [path for folder in RELEASES for path in Path(folder).iterdir()]
    assert sum(path.stat().st_size for path in files) < 300_000 * len(RELEASES)
