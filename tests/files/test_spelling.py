"""Text files of any layout and spelling are read as the table that was written."""

import bz2
import csv
import datetime
import gzip
import io
import os
import threading
import zipfile
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputree.files import open_file, read_file, separated
from gputree.files.layout import Layout
from gputree.files.many import open_files
from gputree.files.readings import METADATA, Origin, Reading, lenient, origin_of


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# Whatever is written is read


@dataclass(frozen=True)
class Dialect:
    """How a table is spelled."""

    separator: str
    decimal: str
    group: str
    unit: str
    is_unit_first: bool
    date: str
    clock: str
    has_header: bool

    def number(self, value):
        text = f"{abs(value):,.2f}".replace(",", "_").replace(".", self.decimal)
        text = text.replace("_", self.group)
        sign = "-" if value < 0 else ""
        if self.unit == "%":
            return f"{sign}{text}%"
        return f"{sign}{self.unit}{text}" if self.is_unit_first else f"{sign}{text} {self.unit}"

    def moment(self, value):
        return value.strftime(self.date + self.clock)


@st.composite
def dialects(draw):
    decimal = draw(st.sampled_from(".,"))
    return Dialect(
        draw(st.sampled_from(",;\t|")),
        decimal,
        draw(st.sampled_from(["", " ", "'", "\xa0", {".": ",", ",": "."}[decimal]])),
        draw(st.sampled_from(["", "%", "€", "$", "CHF"])),
        draw(st.booleans()),
        draw(st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %B %Y"])),
        draw(st.sampled_from(["", " %H:%M", " %H:%M:%S"])),
        draw(st.booleans()),
    )


NUMBERS = st.integers(-(10**9), 10**9).map(lambda cents: cents / 100)
MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2099, 12, 31))
ROWS = st.lists(
    st.tuples(
        st.none() | NUMBERS,
        NUMBERS,
        st.none() | MOMENTS,
        st.sampled_from(["x, y", "a;b", "plain", "n|m"]),
    ),
    min_size=1,
    max_size=12,
)
# One of each cell that means one thing only.
CERTAIN = (1234567.25, 0.75, datetime.datetime(2020, 12, 31, 23, 59, 58), "x")


@settings(max_examples=40, deadline=None)
@given(dialects(), ROWS)
def test_a_table_in_any_dialect_is_read_back(tmp_path_factory, dialect, rows):
    rows = [CERTAIN, *rows]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=dialect.separator, lineterminator="\n")
    names = ["cost", "share", "when", "word"]
    if dialect.has_header:
        writer.writerow(names)
    else:
        names = [f"column {at}" for at in (1, 2, 3, 4)]
    for cost, share, when, word in rows:
        writer.writerow(
            [
                "" if cost is None else dialect.number(cost),
                dialect.number(share),
                "" if when is None else dialect.moment(when),
                word,
            ]
        )
    path = tmp_path_factory.mktemp("drawn") / "t.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    step = {"": "days", " %H:%M": "minutes", " %H:%M:%S": "seconds"}[dialect.clock]
    expected = [
        (cost, share, None if when is None else _floor(when, step), word)
        for cost, share, when, word in rows
    ]
    for table in (read_file(path), pa.Table.from_batches(list(open_file(path).chunks(99)))):
        assert table.column_names == names
        found = [tuple(row[name] for name in names) for row in table.to_pylist()]
        assert found == expected


def _floor(when, step):
    if step == "days":
        return when.date()
    return when.replace(microsecond=0, second=0 if step == "minutes" else when.second)


# Numbers and dates


def cells_of(path, **options):
    """A column of a file, its reading, and its notes."""
    file = open_file(path, **options)
    table = file.read()
    return table["a"].to_pylist(), origin_of(table.schema.field("a")), file.notes


@pytest.mark.parametrize(
    ("cells", "expected", "reading"),
    [
        (["1,5", "2", "NA"], [1.5, 2.0, None], Reading(decimal=",")),
        (["1.234,5", "-2"], [1234.5, -2.0], Reading(decimal=",")),
        (["12%", "-3.5 %"], [12.0, -3.5], Reading(unit="%")),
        (["$3.4", "5", "-$1,200"], [3.4, 5.0, -1200.0], Reading(unit="$")),
        (["(€ 3,5)", "4,25 €"], [-3.5, 4.25], Reading(decimal=",", unit="€")),
        (["1 234,5", "2"], [1234.5, 2.0], Reading(decimal=",")),
        (["−1.5", "1'000.5"], [-1.5, 1000.5], Reading()),
        (["31.12.2020", "1.2.2021"], ["2020-12-31", "2021-02-01"], Reading("date", order="dmy")),
        (["12/31/99", "1/2/05"], ["1999-12-31", "2005-01-02"], Reading("date", order="mdy")),
        (["Mar 3, 2020", "May 12 2021"], ["2020-03-03", "2021-05-12"], None),
        (["3 March 2020", "12-Oct-2021"], ["2020-03-03", "2021-10-12"], None),
        (["12/31/2020 11:30 PM"], ["2020-12-31 23:30:00"], Reading("date", order="mdy")),
        (["2020-02-29T10:00:00.5Z"], ["2020-02-29 10:00:00.500000"], None),
        # What is close to numbers and dates, but is none.
        (["12%", "0.12"], ["12%", "0.12"], None),
        (["$3", "€4"], ["$3", "€4"], None),
        (["1,5", "1.5"], ["1,5", "1.5"], None),
        (["1,23,456", "1"], ["1,23,456", "1"], None),
        (["31.02.2020"], ["31.02.2020"], None),
        (["31/12/2020", "12/31/2020"], ["31/12/2020", "12/31/2020"], None),
        (["1.2.10", "1.3.4"], ["1.2.10", "1.3.4"], None),
        (["5 km", "6 km"], ["5 km", "6 km"], None),
    ],
)
def test_numbers_and_dates_in_other_spellings(write, cells, expected, reading):
    path = write("a;b\n" + "".join(f'"{cell}";x\n' for cell in cells))
    found, origin, _ = cells_of(path)
    assert [str(each) if isinstance(each, datetime.date) else each for each in found] == expected
    if reading is not None:
        assert origin == Origin("a", reading)
        assert Origin.from_plain(origin.to_plain()) == origin


@pytest.mark.parametrize(
    ("content", "options", "expected", "note"),
    [
        ("a;b\n1,234;1\n", {}, [1.234], "1,234 is read as 1.234; --decimal . reads 1234"),
        ("a;b\n1,234;1.5\n", {}, [1234.0], "1,234 is read as 1234; --decimal , reads 1.234"),
        ("a;b\n1.234;1,5\n", {}, [1234.0], "1.234 is read as 1234; --decimal . reads 1.234"),
        ("a;b\n1.234;1,5\n", {"decimal": "."}, [1.234], ""),
        ("a;b\n1.234;2\n", {}, [1.234], ""),
        ("a;b\n1.234;2\n", {"decimal": ","}, [1234.0], ""),
        ('a,b\n"1,234",1\n', {}, [1234.0], "1,234 is read as 1234; --decimal , reads 1.234"),
        (
            "a;b\n03/04/2020;1\n",
            {},
            [datetime.date(2020, 3, 4)],
            "03/04/2020 is read as 4 March 2020; --day-first reads 3 April 2020",
        ),
        ("a;b\n03/04/2020;1\n", {"day_first": True}, [datetime.date(2020, 4, 3)], ""),
        ("a;b\n03/04/2020;13/04/2020\n", {}, [datetime.date(2020, 4, 3)], "--month-first reads"),
        ("a;b\n03/03/2020;1\n", {}, [datetime.date(2020, 3, 3)], ""),
    ],
)
def test_what_may_mean_two_things_is_told(write, content, options, expected, note):
    found, _, notes = cells_of(write(content), layout=Layout(**options))
    assert found == expected
    looked = [each for each in notes if each.startswith("look here: column 'a'")]
    assert (note in "".join(looked)) if note else not looked


def test_a_late_cell_decides(write, monkeypatch):
    monkeypatch.setattr(separated, "SMALLEST_BLOCK", 64)
    many = "".join(f"{at};{at}\n" for at in range(100))
    assert read_file(write(f"a;b\n{many}1,5;x\n"))["a"].to_pylist()[-1] == 1.5
    early = "".join(f"{at},5;1\n" for at in range(100))
    table = read_file(write(f"a;b\n{early}x;1\n"))
    assert table["a"].to_pylist()[-2:] == ["99,5", "x"]


# Layout


@pytest.mark.parametrize(
    ("content", "names", "note"),
    [
        ("5.1,3.5,x\n4.9,3.0,x\n", ["column 1", "column 2", "column 3"], "there is no header"),
        ("1.5\n2.5\n", ["column 1"], "there is no header"),
        ("2020-01-01,x\n2020-01-02,y\n", ["column 1", "column 2"], "there is no header"),
        ("a,b\nx,y\n", ["a", "b"], ""),
        ("a,2\n1,2\n", ["a", "2"], ""),
        ("0,1,2\n1.5,3.5,4.5\n", ["0", "1", "2"], "is used as the column names"),
        ("c,2019,2020\nx,3.5,4\n", ["c", "2019", "2020"], "is used as the column names"),
        (",a\n0,1\n1,2\n", ["Unnamed: 0", "a"], ""),
        ("a;b\n1;2\n", ["a", "b"], "cells are separated by semicolons"),
        ("a\tb\n1,5\t2,5\n", ["a", "b"], "cells are separated by tabs"),
        ("a;b, c\n1;2, 3\n2;3, 4\n", ["a", "b, c"], "cells are separated by semicolons"),
        ('a,"b;c"\n1,"2;3"\n', ["a", "b;c"], ""),
    ],
)
def test_separator_and_header_are_found_out(write, content, names, note):
    file = open_file(write(content))
    assert list(file.names) == names
    assert note in "; ".join(file.notes) if note else not file.notes
    assert file.read().num_rows == content.count("\n") - (note != "there is no header")


def test_what_the_user_says_of_the_layout_counts(write):
    path = write("1,2\n3,4\n")
    assert read_file(path, layout=Layout(has_header=False)).num_rows == 2
    assert read_file(path, layout=Layout(has_header=True)).column_names == ["1", "2"]
    assert open_file(path, layout=Layout(has_header=False)).place(1) == "on line 2"
    path = write("a b\n1 2\n")
    assert read_file(path, layout=Layout("space")).to_pydict() == {"a": [1], "b": [2]}
    with pytest.raises(ValueError, match="separator='::': one character is needed"):
        Layout("::")
    with pytest.raises(ValueError, match="decimal='x': a point or a comma"):
        Layout(decimal="x")


# As a model knows it


def test_columns_are_read_as_they_are_known(write):
    path = write("a;b\n1.234;x\n2;y\n")
    known = {"a": Reading(decimal=",")}
    assert read_file(path, known=known)["a"].to_pylist() == [1234.0, 2.0]
    assert read_file(path, known={"a": Reading("text")})["a"].to_pylist() == ["1.234", "2"]
    # What does not go by the known reading is left as text, so that it can be told.
    for text, reading in (("12", Reading(unit="%")), ("1,5", Reading()), ("1", Reading("date"))):
        known = {"a": reading}
        assert read_file(write(f"a;b\n{text};x\n"), known=known)["a"].to_pylist() == [text]
    known = {"a": lenient(Reading(decimal=","))}
    path = write("a;b\n1,5;x\nn/a;x\n")
    assert read_file(path, known=known)["a"].to_pylist() == [1.5, None]


@pytest.mark.parametrize(
    "plain",
    [
        {"column": 1},
        {"column": "a", "decimal": ";"},
        {"column": "a", "kind": "date"},
        {"column": "a", "part": "year"},
        {"column": "a", "kind": "date", "order": "ymd", "part": "century"},
        {"column": "a", "others": "kept"},
    ],
)
def test_an_origin_that_makes_no_sense_is_refused(plain):
    with pytest.raises(ValueError, match="is no way to read a column"):
        Origin.from_plain(plain)


# Several files, and packed ones


def test_files_of_a_folder_are_read_alike(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,5;3\n")
    (tmp_path / "b.csv").write_text("a;b\n1;7,5\n")
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"a;b\n1.200;2,5\n"))
    (tmp_path / "d.csv").write_text("a;b\n7;8\n")  # which says nothing of decimal marks
    (tmp_path / ".hidden.csv").write_text("x\n1\n")
    file = open_files(tmp_path)
    table = file.read()
    assert table.to_pydict() == {"a": [1.5, 1.0, 1200.0, 7.0], "b": [3.0, 7.5, 2.5, 8.0]}
    assert METADATA in table.schema.field("a").metadata
    assert "read by their spelling: a, b (numbers with a decimal comma)" in file.notes
    (tmp_path / "d.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match="files of several formats"):
        open_files(tmp_path)


def zipped(members):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # at no time
    return sink.getvalue()


TEXT = b"a,b\n1,x\n2,y\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv.bz2", bz2.compress(TEXT)),
        ("t.csv.zst", pa.compress(TEXT, codec="zstd", asbytes=True)),
        ("t.csv.gz", gzip.compress(TEXT, mtime=0)),
        ("t.zip", zipped({"__MACOSX/t.csv": b"", "folder/t.csv": TEXT})),
        ("t.zip", zipped({"t.csv.gz": gzip.compress(TEXT, mtime=0)})),
    ],
)
def test_packed_files_are_unpacked(write, name, content):
    path = write(content, name)
    file = open_file(path)
    assert file.path == path
    assert file.read().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    assert file.place(1) == "on line 3"
    assert file.state() == file.state()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv.zst", TEXT, "is not compressed with zstd; take .zst off its name"),
        (
            "t.csv.zst",
            pa.compress(TEXT * 99, codec="zstd", asbytes=True)[:-9],
            "is cut off or damaged",
        ),
        ("t.csv.bz2", bz2.compress(TEXT * 99)[:-9], "is cut off or damaged"),
        ("t.zip", zipped({"a.csv": TEXT, "b.csv": TEXT}), "is a zip archive of 2 files; unpack it"),
        ("t.zip", zipped({"a.csv": TEXT})[:-20], "is cut off or damaged"),
    ],
    ids=["other text", "cut zstd", "cut bzip2", "two files", "cut zip"],
)
def test_packed_files_that_cannot_be_unpacked_are_told(write, name, content, message):
    path = write(content, name)
    with pytest.raises(ValueError) as told:
        read_file(path)
    assert message in str(told.value)
    assert str(path) in str(told.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_read_though_it_can_be_read_once_only(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=(TEXT,))
    thread.start()
    file = open_file(path)
    thread.join()
    assert file.read().to_pydict() == file.read().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    assert file.path == path
