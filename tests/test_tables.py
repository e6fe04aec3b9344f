"""Bundled tables and files: what is read, and how each mistake in a file is told."""

import datetime
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import datasets

from gputree.diagnostics.tables import BUNDLED, MAX_CLASSES, load_bundled, load_file


@pytest.fixture
def csv_file(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_table_is_scikit_learns(name):
    bunch = getattr(datasets, f"load_{name}")()
    table = load_bundled(name)
    assert table.name == name
    assert np.array_equal(table.X, bunch.data)
    assert np.array_equal(table.y, bunch.target)
    assert table.feature_names == tuple(bunch.feature_names)
    assert table.task == ("regression" if name == "diabetes" else "classification")


def test_classes_have_their_names_and_digits_are_numbers():
    iris = load_bundled("iris")
    assert iris.target_names == ("setosa", "versicolor", "virginica")
    assert iris.target("classification")[[0, 50, 100]].tolist() == list(iris.target_names)
    assert iris.target("regression")[[0, 50, 100]].tolist() == [0, 1, 2]
    digits = load_bundled("digits")
    assert digits.target_names is None
    assert digits.target("classification")[:4].tolist() == [0, 1, 2, 3]


def test_an_unknown_bundled_table_is_told_with_the_known_ones():
    with pytest.raises(ValueError, match="'irises' is not a bundled table; choose from iris, wine"):
        load_bundled("irises")


def test_a_table_cannot_be_changed():
    with pytest.raises(AttributeError):
        load_bundled("iris").name = "other"


def test_a_file_is_read_with_its_missing_cells(csv_file):
    table = load_file(csv_file("a, b ,y\n1,-2.5e1,no\n, NA ,yes\nNaN,?,no\n\n inf ,nan,yes\n"))
    assert table.name == "table"
    assert table.feature_names == ("a", "b")
    nan = np.nan
    expected = [[1, -25], [nan, nan], [nan, nan], [np.inf, nan]]
    assert np.array_equal(table.X, expected, equal_nan=True)
    assert table.y.tolist() == ["no", "yes", "no", "yes"]
    assert table.target_names is None


def test_quotes_a_signature_and_windows_line_ends_are_understood(csv_file):
    path = csv_file('"a,b",y\r\n"1","x, y"\r\n2,"z"\r\n', "utf-8-sig")
    table = load_file(path)
    assert table.feature_names == ("a,b",)
    assert table.X.tolist() == [[1], [2]]
    assert table.y.tolist() == ["x, y", "z"]


def test_a_column_with_a_cell_that_is_no_number_holds_text_as_it_is_written(csv_file):
    table = load_file(csv_file("y,a,b\n1,01,2\n\n0, red ,3\n1,?,\n0,1_0,5\n"), "y")
    assert table.text_columns == (0,)
    assert table.X[:, 0].tolist() == ["01", "red", None, "1_0"]
    assert table.X[[0, 1, 3], 1].tolist() == [2.0, 3.0, 5.0]
    assert np.isnan(table.X[2, 1])
    assert load_file(csv_file("a,y\n1,2\n")).text_columns == ()


def test_any_column_can_be_the_target(csv_file):
    table = load_file(csv_file("y,a,b\nred,1,2\nblue,3,4\n"), "y")
    assert table.feature_names == ("a", "b")
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.y.tolist() == ["red", "blue"]


def whole(n_distinct):
    return "a,y\n" + "".join(f"0,{value}\n" for value in range(n_distinct))


@pytest.mark.parametrize(
    ("text", "task", "reason", "dtype"),
    [
        ("a,y\n1,1\n2,b\n", "classification", "holds text: 'b' on line 3", "U"),
        ("a,y\n1,1_0\n2,2\n", "classification", "holds text: '1_0' on line 2", "U"),
        ("a,y\n1,1\n2,1.5\n", "regression", "holds fractions: 1.5", "f"),
        ("a,y\n1,1.0\n2,-2e0\n", "classification", "holds whole numbers, 2 distinct", "i"),
        (whole(MAX_CLASSES), "classification", "20 distinct, at most 20", "i"),
        (whole(MAX_CLASSES + 1), "regression", "21 distinct, more than 20", "i"),
        ("a,y\n1,1e300\n2,0\n", "classification", "2 distinct", "f"),
    ],
)
def test_the_task_is_told_from_the_target(csv_file, text, task, reason, dtype):
    table = load_file(csv_file(text))
    assert table.task == task
    assert reason in table.reason
    assert table.y.dtype.kind == dtype


def test_text_is_no_target_of_a_regression(csv_file):
    table = load_file(csv_file("a,y\n1,low\n2,high\n"))
    with pytest.raises(ValueError, match=r"regression needs numbers.*'low' on line 2"):
        table.target("regression")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table.csv is empty"),
        ("\n\n", "table.csv is empty"),
        ("a,y\n", "has a header but no rows"),
        ("a,y,a\n1,2,3\n", "several columns named 'a'"),
        ("a, a,y\n1,2,3\n", "several columns named 'a'"),
        ("a,,y\n0,1,2\n", "column 2 has no name in the header"),
        ("a;y\n1;2\n3\n4\n", "the first line is one cell with semicolons in it; give every row"),
        ("a,y\n1,2\n1,2,3\n", "line 3 has 3 cells, the header has 2"),
        ("a,b,y\n1,2\n", "line 2 has 2 cells, the header has 3"),
        (f"a,{'x' * 99},{'x' * 99}\n1,2,3\n", r"several columns named 'x{37}\.\.\.'"),
        ("a,y\n1,2\n1,\n", "the target 'y' is missing on line 3"),
        ("a,y\n1,no\n1, NA \n", "the target 'y' is missing on line 3"),
        ("a,y\n1,2\n1,nan\n", "the target 'y' is missing on line 3"),
        ("a,y\n1,2\n1,-inf\n", "the target 'y' is -inf on line 3"),
        ('a,y\n1,"2\n', "line 2 is not CSV: unexpected end of data; check its quotes"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_place(csv_file, text, message):
    with pytest.raises(ValueError, match=message):
        load_file(csv_file(text))


def test_a_file_in_another_encoding_is_refused(csv_file):
    with pytest.raises(ValueError, match="is not text in utf-8: byte 0xf6 on line 1"):
        load_file(csv_file("größe,y\n1,2\n", "latin-1"))


def test_a_missing_target_column_is_told_with_the_columns_there_are(csv_file):
    with pytest.raises(ValueError, match=r"no column 'z' to be the target; its columns are a, y$"):
        load_file(csv_file("a,y\n1,2\n"), "z")
    wide = ",".join(f"c{at}" for at in range(30))
    with pytest.raises(ValueError, match=r"c18, c19, \.\.\.$"):
        load_file(csv_file(f"{wide}\n"), "z")


def test_categories_of_other_formats_are_categories(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(
        "@relation t\n@attribute a {x, y}\n@attribute b numeric\n@attribute y {no, yes}\n"
        "@data\ny, 1, yes\nx, ?, no\n"
    )
    table = load_file(path)
    assert table.text_columns == (0,)
    assert table.X[:, 0].tolist() == ["y", "x"]
    assert table.y.tolist() == ["yes", "no"]
    assert table.reason == "the target 'y' holds text: 'yes' on line 6"


def test_the_name_of_a_compressed_file_has_no_suffix(tmp_path):
    path = tmp_path / "my.table.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n1,2\n3,4\n"))
    assert load_file(path).name == "my.table"


def test_dates_are_split_and_no_target(tmp_path):
    path = tmp_path / "t.parquet"
    day = pa.array([datetime.date(2020, 1, 1)])
    pq.write_table(pa.table({"day": day, "y": [1]}), path)
    table = load_file(path)
    assert table.feature_names == ("day.year", "day.month", "day.weekday", "day.days")
    assert table.X.tolist() == [[2020, 1, 3, 18262]]
    span = pa.array([datetime.timedelta(1)])
    pq.write_table(pa.table({"span": span, "y": [1]}), tmp_path / "s.parquet")
    with pytest.raises(ValueError, match=r"column 'span' is of type duration.*derive numbers"):
        load_file(tmp_path / "s.parquet")
    with pytest.raises(ValueError, match="the target 'day' is of type date32"):
        load_file(path, "day")
