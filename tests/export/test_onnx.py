"""onnxruntime answers as the model does."""

import numpy as np
import pytest

import gputree
from gputree.export import NotExportable
from tests.export.models import DIVIDED, MODELS, expected, fitted, rows

pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

# One tree, or none that is added to another.
EXACT = {*list(MODELS)[: list(MODELS).index("forest")], "AdaBoost of numbers"}


def session(model, **options):
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    raw = model.to_onnx(**options).SerializeToString()
    return ort.InferenceSession(raw, settings, providers=["CPUExecutionProvider"])


def feed(model, X, missing=""):
    """An input a column, or one for all if all are numbers."""
    categories = model.schema_.categories
    if all(own is None for own in categories):
        return {"X": X.to_numpy(np.float64)}
    given = {}
    for name, own in zip(X.columns, categories, strict=True):
        cells = X[name].astype(object).where(X[name].notna(), None)
        if own is not None and isinstance(own[0], str):
            texts = [[missing if cell is None else cell] for cell in cells]
            given[name] = np.array(texts, object)
        else:
            given[name] = np.array([[np.nan if cell is None else cell] for cell in cells], float)
    return given


@pytest.mark.parametrize("name", [name for name in MODELS if name not in DIVIDED])
def test_the_answers_are_those_of_the_model(name):
    model, X = fitted(name), rows(name)
    said = session(model).run(None, feed(model, X))
    assert said[0].dtype == np.float64
    found = said[0].reshape(expected(name).shape)
    if name in EXACT:
        assert (found == expected(name)).all()
    else:
        # onnxruntime adds trees in an order of its own, and has its own exponential. What is
        # near 0 comes of sums that are not.
        np.testing.assert_allclose(found, expected(name), rtol=1e-12, atol=1e-14)
    if len(said) > 1:
        assert (said[1] == model.predict(X)).all()


def test_inputs_and_outputs_have_names():
    told = session(fitted("subsets"))
    assert [each.name for each in told.get_inputs()] == list(rows("subsets").columns)
    assert [each.name for each in told.get_outputs()] == ["probabilities", "label"]
    told = session(fitted("bagging, columns"))
    assert [each.name for each in told.get_inputs()] == ["X"]
    assert [each.name for each in told.get_outputs()] == ["prediction"]


def test_a_single_row_is_answered():
    model = fitted("forest")
    said = session(model).run(None, feed(model, rows("forest")[:1]))[0]
    np.testing.assert_allclose(said, expected("forest")[:1], rtol=1e-12)


def test_another_text_may_stand_for_missing_values():
    model, X = fitted("branches"), rows("branches")[:1000]
    said = session(model, missing_text="?").run(None, feed(model, X, "?"))[0]
    assert (said == expected("branches")[:1000]).all()
    with pytest.raises(NotExportable, match="missing_text='red' is a category of column 'colour'"):
        model.to_onnx(missing_text="red")


def test_categories_that_the_model_refuses_give_nan():
    X = np.array([["a", 1], ["b", 2], ["a", 1], ["b", 2]], object)
    model = gputree.DecisionTreeClassifier(categorical_features=[0, 1], unknown_category="error")
    model.fit(X, [0, 1, 0, 1])
    given = {"x0": np.array([["a"], ["c"], [""]], object), "x1": np.array([[1.0], [1.0], [3.0]])}
    said = session(model).run(None, given)[0]
    assert said[0].tolist() == [1.0, 0.0]
    assert np.isnan(said[1:]).all()


def test_many_categories_are_told_apart():
    draw = np.random.default_rng(0)
    X = draw.integers(0, 300, (3000, 1))
    y = draw.random(300)[X[:, 0]] + draw.random(3000) * 0.1
    model = gputree.DecisionTreeRegressor(categorical_features=[0], max_depth=6).fit(X, y)
    new = np.append(np.arange(-1.0, 310.0), [0.5, np.nan])[:, None]
    said = session(model).run(None, {"x0": new})[0][:, 0]
    assert (said == model.predict(new)).all()


@pytest.mark.parametrize("name", DIVIDED)
def test_divided_rows_are_refused(name):
    with pytest.raises(NotExportable, match="missing='fractional' does; fit with"):
        fitted(name).to_onnx()


def test_names_that_are_taken_are_refused():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"label": ["a", "b"]})
    model = gputree.DecisionTreeClassifier(categorical_features=["label"]).fit(X, [0, 1])
    with pytest.raises(NotExportable, match="column 'label' cannot be an input"):
        model.to_onnx()
