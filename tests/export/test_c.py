"""C source compiles without a warning, and answers as the model does."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import gputree
from tests.export.models import MODELS, expected, fitted, numbered, pd, rows

GCC = shutil.which("gcc")
pytestmark = pytest.mark.skipif(GCC is None, reason="needs gcc")
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC")
DOUBLES = ctypes.POINTER(ctypes.c_double)


def compiled(model, folder, name="model"):
    source, library = folder / "model.c", folder / "model.so"
    source.write_text(model.to_c(name=name))
    run = subprocess.run(
        [GCC, *STRICT, str(source), "-o", str(library)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return ctypes.CDLL(str(library))


def answers(library, matrix, name="model"):
    predict = getattr(library, f"{name}_predict")
    n_answers = ctypes.c_int.in_dll(library, f"{name}_n_answers").value
    found = np.full((len(matrix), n_answers), -1.0)
    codes = [
        predict(x.ctypes.data_as(DOUBLES), own.ctypes.data_as(DOUBLES))
        for x, own in zip(np.ascontiguousarray(matrix), found, strict=True)
    ]
    return found, codes


@pytest.mark.parametrize("name", MODELS)
def test_the_function_answers_with_the_bits_of_the_model(name, tmp_path):
    library = compiled(fitted(name), tmp_path)
    found, codes = answers(library, numbered(fitted(name), rows(name)))
    assert not any(codes)
    if name.startswith("AdaBoost") and "numbers" not in name:
        # The model takes SciPy's softmax here, and the source the exponential of gputree.
        np.testing.assert_allclose(found, expected(name), rtol=4e-15)
    else:
        assert (found == expected(name)).all()


def test_categories_are_looked_up(tmp_path):
    model = fitted("branches, majority")
    library = compiled(model, tmp_path)
    X = rows("branches, majority")[:2000]
    matrix = X[["width", 'a "b']].to_numpy()
    text, number = library.model_level_of_text, library.model_level_of_number
    text.restype = number.restype = ctypes.c_double
    for at, column in ((2, "colour"), (3, "size")):
        cells = [None if pd.isna(value) else value.encode() for value in X[column]]
        categories = [text(at, cell) for cell in cells]
        matrix = np.column_stack([matrix, categories])
    cells = [np.nan if value is None else float(value) for value in X["code"]]
    matrix = np.column_stack([matrix, [number(4, ctypes.c_double(cell)) for cell in cells]])
    found, _ = answers(library, matrix)
    assert (found == expected("branches, majority")[:2000]).all()


def test_labels_are_there_and_names_are_as_wished(tmp_path):
    library = compiled(fitted("subsets"), tmp_path, name="iris")
    labels = (ctypes.c_char_p * 3).in_dll(library, "iris_classes")
    assert [label.decode() for label in labels] == fitted("subsets").classes_.tolist()


def test_categories_that_the_model_refuses_are_told(tmp_path):
    X = np.array([["a", 1], ["b", 2], ["a", 1], ["b", 2]], object)
    model = gputree.DecisionTreeClassifier(categorical_features=[0, 1], unknown_category="error")
    library = compiled(model.fit(X, [0, 1, 0, 1]), tmp_path)
    matrix = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.5], [np.nan, -1.0]])
    assert answers(library, matrix)[1] == [0, 1, 2, 2]


def test_text_that_ends_comments_and_strings_is_harmless(tmp_path):
    names = ["*/ int x; /*", "\\", 'a"b\n??/', "é"]
    X = pd.DataFrame({name: ["x*/", 'y"\\', "z\n"] for name in names})
    X["*\\/*/??/"] = [1.0, 2.0, 3.0]
    model = gputree.DecisionTreeClassifier(categorical_features=names).fit(X, ["*/", '"', "??/"])
    found, _ = answers(compiled(model, tmp_path), numbered(model, X))
    assert (found == model.predict_proba(X)).all()


def test_a_name_must_be_one_in_c():
    with pytest.raises(ValueError, match="not an identifier"):
        fitted("subsets").to_c(name="a-b")
