"""Files of every format: what is read, whole and in chunks, and how each mistake is told."""

import datetime
import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree.files import open_file, read_file, separated


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def in_chunks(path, max_bytes=1, **options):
    """The table, put together from chunks."""
    file = open_file(path, **options)
    return pa.Table.from_batches(list(file.chunks(max_bytes)), file.schema)


TABLE = pa.table(
    {
        "n": pa.array([1.5, None, -2.0, 1e300]),
        "i": pa.array([1, 2, None, 4], pa.int64()),
        "s": pa.array(["x", "y", None, "x"]),
    }
)


def write_arrow(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


WRITERS = {
    "t.csv": pyarrow.csv.write_csv,
    "t.tsv": lambda table, path: pyarrow.csv.write_csv(
        table, path, pyarrow.csv.WriteOptions(delimiter="\t")
    ),
    "t.parquet": lambda table, path: pq.write_table(table, path, row_group_size=3),
    "t.feather": lambda table, path: pyarrow.feather.write_feather(table, str(path)),
    "t.arrow": write_arrow,
    "t.arrows": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table_whole_and_in_chunks(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](TABLE, path)
    assert read_file(path).equals(TABLE)
    assert in_chunks(path).equals(TABLE)
    file = open_file(path)
    assert file.names == ("n", "i", "s")
    assert file.kinds == ("numeric", "numeric", "text")
    assert file.n_rows in (4, None)
    assert [chunk.num_rows for chunk in file.chunks(1)] == [1, 1, 1, 1]
    assert [chunk.num_rows for chunk in file.chunks(1)] == [1, 1, 1, 1]  # from the start again


@pytest.mark.parametrize("name", WRITERS)
def test_columns_come_in_the_order_asked_for(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](TABLE, path)
    assert read_file(path, columns=["s", "n"]).equals(TABLE.select(["s", "n"]))
    assert in_chunks(path, columns=["s", "n"]).equals(TABLE.select(["s", "n"]))
    with pytest.raises(ValueError, match=r"has no column 'S'; did you mean|has no column 'S'; its"):
        read_file(path, columns=["S"])


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_may_be_compressed(tmp_path, name):
    WRITERS[name](TABLE, tmp_path / name)
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert read_file(path).equals(TABLE)
    assert in_chunks(path, columns=["s", "n"]).equals(TABLE.select(["s", "n"]))


def test_text_may_be_compressed(write):
    content = gzip.compress(b"a,b\n1,x\n")
    assert read_file(write(content, "t.csv.gz")).to_pydict() == {"a": [1], "b": ["x"]}
    assert in_chunks(write(content, "t.CSV.GZ")).to_pydict() == {"a": [1], "b": ["x"]}
    assert read_file(write(content, "t.csv")).to_pydict() == {"a": [1], "b": ["x"]}


def test_categories_of_a_dictionary_stay(tmp_path):
    size = pa.DictionaryArray.from_arrays([1, 0, None], ["small", "large"], ordered=True)
    table = pa.table({"size": size})
    for name, is_ordered in (("t.parquet", True), ("t.arrow", True)):
        path = tmp_path / name
        WRITERS[name](table, path)
        assert open_file(path).kinds == (("nominal", "ordinal")[is_ordered],)
        assert read_file(path)["size"].to_pylist() == ["large", "small", None]


# CSV


def test_missing_cells_and_white_space(write):
    path = write("a, b ,c\n1, NA ,x\n?, 2.5, y \n\n,nan,NA\nNaN,-inf,?\n")
    for table in (read_file(path), in_chunks(path)):
        assert table.to_pydict() == {
            "a": [1, None, None, None],
            "b": [None, 2.5, None, -np.inf],
            "c": ["x", "y", None, None],
        }


@pytest.mark.parametrize(
    ("cells", "dtype", "expected"),
    [
        (["1", "02", "-3"], "int64", [1, 2, -3]),
        (["1", "+2"], "double", [1.0, 2.0]),
        (["1", "2e0", ".5"], "double", [1.0, 2.0, 0.5]),
        (["1e400", "1"], "double", [np.inf, 1.0]),
        (["9223372036854775808", "1"], "double", [2.0**63, 1.0]),
        (["0x10", "1"], "string", ["0x10", "1"]),
        (["1_0", " 1 "], "string", ["1_0", "1"]),
        (["true", "false"], "string", ["true", "false"]),
        (["2020-01-01"], "date32[day]", [datetime.date(2020, 1, 1)]),
        (["?", "NA"], "double", [None, None]),
    ],
)
def test_the_kind_of_a_column_follows_from_all_its_cells(write, cells, dtype, expected):
    path = write("a,b\n" + "".join(f"{cell},0\n" for cell in cells))
    for table in (read_file(path, columns=["a"]), in_chunks(path, columns=["a"])):
        assert str(table.schema.field("a").type) == dtype
        assert table["a"].to_pylist() == expected


def test_a_column_that_turns_to_text_late_is_text_from_the_start(write, monkeypatch):
    monkeypatch.setattr(separated, "SMALLEST_BLOCK", 64)
    n = 200
    a = [*(f"0{at}" for at in range(n)), "late"]
    b = [*map(str, range(n)), "0.5"]
    path = write("a,b\n" + "".join(f"{x},{y}\n" for x, y in zip(a, b, strict=True)))
    for table in (read_file(path), in_chunks(path, 100)):
        assert table["a"].to_pylist() == a
        assert table["b"].to_pylist() == [float(cell) for cell in b]
    assert open_file(path).kinds == ("text", "numeric")


def test_a_row_longer_than_a_block_is_read(write, monkeypatch):
    monkeypatch.setattr(separated, "SMALLEST_BLOCK", 64)
    path = write(f"a,b\n1,x\n2,{'y' * 1000}\n")
    assert in_chunks(path)["b"].to_pylist() == ["x", "y" * 1000]
    assert read_file(path)["b"].to_pylist() == ["x", "y" * 1000]


def test_quotes_line_ends_signature_and_encodings(write):
    path = write('"a,b","c"\r\n"1","x\ny"\r\n2,"say ""z"""\r\n'.encode("utf-8-sig"))
    expected = {"a,b": [1, 2], "c": ["x\ny", 'say "z"']}
    assert read_file(path).to_pydict() == in_chunks(path).to_pydict() == expected
    path = write(b'a\n5" pipe\n')
    assert read_file(path).to_pydict() == {"a": ['5" pipe']}
    path = write("größe,b\nä,2\n".encode("latin-1"))
    for table in (read_file(path, encoding="latin-1"), in_chunks(path, encoding="latin-1")):
        assert table.to_pydict() == {"größe": ["ä"], "b": [2]}
    path = write("größe,b\nä,2\n".encode("utf-16"))
    assert read_file(path, encoding="utf-16").to_pydict() == {"größe": ["ä"], "b": [2]}


def test_a_row_is_told_by_its_line(write):
    path = write('a,b\n1,"x\ny"\n\n2,z\n')
    assert [open_file(path).place(row) for row in (0, 1)] == ["on line 3", "on line 5"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "NA", "1", " 2", "3.5", "-1e3", "x", "nan", "0x1", "+4"]),
            st.sampled_from(["1", "2", "", "0.25"]),
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 400),
)
def test_chunks_are_the_whole_table(tmp_path_factory, rows, max_bytes):
    path = tmp_path_factory.mktemp("drawn") / "t.csv"
    path.write_text("a,b,c\n" + "".join(f"{a},{b},0\n" for a, b in rows))
    assert in_chunks(path, max_bytes).equals(read_file(path))


# ARFF

ARFF = """% a comment
@RELATION 'weather report'

@attribute 'wind speed' REAL
@attribute sky {sunny, 'partly cloudy', "it\\'s raining"}
@attribute note string
@DATA
% another
1, sunny, 'hello, you'

?, 'partly cloudy', ?
2.5e0,"it's raining",'?'
"""


def test_an_arff_file(write):
    path = write(ARFF, "t.arff")
    for table in (read_file(path), in_chunks(path)):
        assert table.to_pydict() == {
            "wind speed": [1.0, None, 2.5],
            "sky": ["sunny", "partly cloudy", "it's raining"],
            "note": ["hello, you", None, "?"],
        }
        categories = table["sky"].chunk(0).dictionary.to_pylist()
        assert categories == ["sunny", "partly cloudy", "it's raining"]
    assert open_file(path).kinds == ("numeric", "nominal", "text")
    assert open_file(path).place(1) == "on line 11"
    assert read_file(write(gzip.compress(ARFF.encode()), "t.arff.gz")).num_rows == 3
    assert read_file(path, columns=["sky"]).column_names == ["sky"]


HEAD = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "{0 1}\n", "line 5 is a sparse row, which is not read"),
        (HEAD + "1,x,{5}\n", "line 5 has a weight, {5}; make it a column"),
        (HEAD + "1\n", "line 5 has 1 values, but 2 attributes are declared"),
        (HEAD + "1,x\n2,z\n", "line 6: 'z' is not among the declared categories of 'b'"),
        (HEAD + "1,x\none,y\n", "line 6: 'one' is not a number, but 'a' is declared numeric"),
        (HEAD + "1,'x\n", "line 5 has a quote that is not closed"),
        (HEAD, "has a header but no rows; add rows below @data"),
        ("@relation r\n@attribute a date 'yyyy'\n@data\n", "'a' is a date, which is not read"),
        ("@relation r\n@attribute a relational\n@data\n", "'a' is of type 'relational'"),
        ("@relation r\n@attribute a {x,x}\n@data\n", "'a' declares a category twice"),
        ("@relation r\n@attribute a {x\n@data\n", "the categories of 'a' need a }"),
        ("@relation r\n@attribute a\n@data\n", "line 2 declares no name and type"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n", "columns named 'a'"),
        ("@relation r\n@data\n", "declares no attributes"),
        ("@relation r\n@attribute a real\n", "has no line @data"),
        ("a,b\n1,2\n", "line 1 is 'a,b'; above @data"),
    ],
)
def test_a_mistake_in_an_arff_file_is_told_with_its_place(write, text, message):
    with pytest.raises(ValueError) as told:
        read_file(write(text, "t.arff"))
    assert message in str(told.value)
    assert "t.arff" in str(told.value)


# Mistakes


def parquet_bytes():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": np.arange(1000.0)}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "t.csv", "is empty; a header and rows are needed"),
        (b"", "t.parquet", "is empty"),
        (b"a,b\n", "t.csv", "has a header but no rows; add rows below it"),
        (b"a,b,a\n1,2,3\n", "t.csv", "several columns named 'a'; give each a name of its own"),
        (b"a,\n1,2\n", "t.csv", "column 2 has no name in the header"),
        (b"a,b\n1,2\n1,2,3\n", "t.csv", "line 3 has 3 cells, the header has 2"),
        (b'a,b\n1,"2\n', "t.csv", "line 2 is not CSV: unexpected end of data; check its quotes"),
        (b"a,b\n1,2\n\xe4,3\n", "t.csv", "byte 0xe4 on line 3; save it in UTF-8, or read it with"),
        ("a,b\n1,2\n".encode("utf-16"), "t.csv", "but in UTF-16; read it with encoding='utf-16'"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], "t.csv.gz", "is cut off or damaged"),
        (b"a,b\n1,2\n", "t.csv.gz", "is not compressed with gzip; take .gz off its name"),
        (b"a,b\n1,2\n", "t.parquet", "does not begin like a Parquet file"),
        (parquet_bytes()[:-20], "t.parquet", "is cut off: the end of a Parquet file is missing"),
        (parquet_bytes()[:200] + b"PAR1", "t.parquet", "cannot be read as Parquet"),
        (parquet_bytes(), "t.csv", "holds Parquet; rename it to end in .parquet"),
        (gzip.compress(parquet_bytes(), mtime=0)[:-30], "t.parquet.gz", "is cut off or damaged"),
        (gzip.compress(parquet_bytes()[:-9], mtime=0), "t.parquet.gz", "cannot be read as Parquet"),
        (gzip.compress(b"", mtime=0), "t.arrow.gz", "is empty"),
        (b"a;b\n1;2\n3\n4\n", "t.csv", "the first line is one cell with semicolons in it; give"),
        (b'{"a": [1, 2]}', "t.txt", "is JSON, which is not read; save the table as CSV or Parquet"),
        (b"[1]", "t.json", "is JSON, which is not read"),
        (b"ARROW1\0\0" + b"0" * 50, "t.arrow", "is cut off: the end of an Arrow file is missing"),
        (b"ARROW1\0\0" + b"0" * 50 + b"ARROW1", "t.arrow", "cannot be read as Arrow"),
        (b"PK\x03\x04" + b"0" * 50, "t.xlsx", "an Excel workbook; save the table as CSV"),
    ],
)
def test_a_mistake_is_told_in_a_line_with_the_file(write, content, name, message):
    path = write(content, name)
    with pytest.raises(ValueError) as told:
        read_file(path)
    assert message in str(told.value)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)
    with pytest.raises(ValueError) as again:
        list(open_file(path).chunks(1 << 20))
    assert str(again.value) == str(told.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_too_little_memory_is_no_damage(tmp_path, monkeypatch, name):
    WRITERS[name](TABLE, tmp_path / name)
    file = open_file(tmp_path / name)

    def full(*_):
        raise pa.ArrowMemoryError("malloc of size 524288 failed")

    monkeypatch.setattr("gputree.files.columnar.sliced", full)
    with pytest.raises(MemoryError, match="malloc of size"):
        list(file.chunks(1 << 20))


def test_a_file_that_cannot_be_opened(tmp_path, write, monkeypatch):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        read_file(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.csv; check the path"):
        read_file(tmp_path / "none.csv")
    path = write("a,b\n1,2\n")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    with pytest.raises(PermissionError, match=r"t\.csv may not be read"):
        read_file(path)


def test_a_wrong_name_is_told_with_the_nearest(write):
    path = write("length,width\n1,2\n")
    with pytest.raises(ValueError, match=r"no column 'lenght'; did you mean 'length'\? its col"):
        read_file(path, columns=["lenght"])
    with pytest.raises(ValueError, match="columns='length' is one name; pass a list"):
        read_file(path, columns="length")
    with pytest.raises(ValueError, match="columns names 'length' several times"):
        read_file(path, columns=["length", "length"])
    with pytest.raises(ValueError, match="columns is empty"):
        read_file(path, columns=[])
    with pytest.raises(ValueError, match="encoding='latin-x' is unknown"):
        read_file(path, encoding="latin-x")


def test_a_parquet_file_without_rows_or_with_repeated_names(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), path)
    with pytest.raises(ValueError, match="has columns but no rows"):
        read_file(path)
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    with pytest.raises(ValueError, match="several columns named 'a'"):
        read_file(path)


def test_a_time_is_another_kind(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [datetime.date(2020, 1, 1)], "b": [True]}), path)
    assert open_file(path).kinds == ("other", "numeric")
