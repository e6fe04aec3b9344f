"""Files of other formats: chosen by suffix, whole or not there."""

import os

import pytest
from sklearn.exceptions import NotFittedError

import gputree
from gputree.export import FORMATS, NotExportable, export
from tests.export.models import fitted

NEEDS = {"onnx": "onnx", "treelite": "treelite"}


@pytest.mark.parametrize("name", FORMATS)
def test_the_suffix_tells_the_format(name, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    path = tmp_path / f"2 model{FORMATS[name].upper()}"
    export(fitted("regression"), path)
    by_name = tmp_path / "other"
    export(fitted("regression"), by_name, format=name)
    assert sorted(os.listdir(tmp_path)) == sorted(["other", path.name])
    assert len(path.read_bytes()) > 100
    if name == "json":
        assert gputree.from_json(path.read_bytes()).to_bytes() == fitted("regression").to_bytes()
    if name == "c":
        assert "int model_2_model_predict(const double *x" in path.read_text()
        assert "int other_predict(const double *x" in by_name.read_text()


def test_a_file_stays_as_it_was_where_a_model_cannot_be_exported(tmp_path):
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    path.write_text("old")
    with pytest.raises(NotExportable, match="ONNX cannot send a row"):
        export(fitted("C4.5"), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"suffix names no format.*\.onnx \(onnx\)"):
        export(fitted("regression"), tmp_path / "model.pickle")
    with pytest.raises(ValueError, match="format='pickle' is unknown"):
        export(fitted("regression"), tmp_path / "model", format="pickle")
    assert not os.listdir(tmp_path)


def test_what_is_no_fitted_model_is_refused(tmp_path):
    with pytest.raises(TypeError, match="a dict cannot be exported"):
        export({}, tmp_path / "model.json")
    for name in ("json", "python", "c", "sql"):
        with pytest.raises(NotFittedError):
            export(gputree.RandomForestClassifier(), tmp_path / "model", format=name)


@pytest.mark.parametrize("format", ["python", "c", "sql"])
def test_a_model_of_one_class_that_tells_nothing_apart_is_refused(format):
    model = gputree.GradientBoostingClassifier(n_estimators=1).fit([[0], [1]], [1, 1])
    with pytest.raises(NotExportable, match="one class only"):
        getattr(model, f"to_{format}")()
    assert gputree.from_json(model.to_json()).to_bytes() == model.to_bytes()
