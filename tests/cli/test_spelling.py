"""Numbers and dates in any spelling: found in training, kept in the model, used when predicted."""

import datetime
import io
import json
import sys

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import gputree
from gputree.cli.program import main
from gputree.files import read_file

FOUND = (
    "cells are separated by semicolons",
    "read by their spelling: when (dates with the day first); price (numbers in € with a decimal "
    "comma); share (percent with a decimal comma: 12% is 12)",
)


@pytest.fixture
def lines():
    """Sales with dates, prices and shares as in German spreadsheets."""
    random = np.random.default_rng(4)
    lines = []
    for _ in range(120):
        day = datetime.date(2020, 1, 1) + datetime.timedelta(days=int(random.integers(900)))
        price = random.integers(100, 300_000) / 100
        money = f"{price:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".")
        label = "yes" if day.weekday() > 3 or price > 2000 else "no"
        word = random.choice(["red", "blue"])
        lines.append(f"{day:%d.%m.%Y};{money};{random.integers(101)}%;{word};{label}")
    return lines


@pytest.fixture
def sales(folder, lines):
    text = "\n".join(["when;price;share;word;sold", *lines])
    folder.joinpath("sales.csv").write_text(text, encoding="utf-8")


@pytest.fixture
def said(capsys):
    """Run a command that succeeds; its notes."""

    def said(*arguments):
        assert main([str(argument) for argument in arguments]) == 0
        printed = capsys.readouterr()
        return [line.removeprefix("gputree: note: ") for line in printed.err.splitlines()]

    return said


def test_spellings_are_found_kept_and_used_again(said, sales, lines, folder):
    assert said("train", "sales.csv", "--max-depth", 3) == list(FOUND)
    model = gputree.load("sales.gputree")
    parts = [f"when.{part}" for part in ("year", "month", "weekday", "days")]
    assert model.schema_.names == (*parts, "price", "share", "word")
    # A few rows alone would be read in another way: 3.000 as 3.
    rows = ["02.03.2020;3.000;5%;red", "02.03.2020;1.000;5%;red", "06.03.2020;1.000;5%;blue"]
    folder.joinpath("new.csv").write_text("when;price;share;word\n" + "\n".join(rows))
    said("predict", "sales.gputree", "new.csv", "-o", "p.csv")
    assert read_file("p.csv")["prediction"].to_pylist() == ["yes", "no", "yes"]
    assert model.predict(read_file("new.csv", like=model)).tolist() == ["yes", "no", "yes"]
    table = pyarrow.table(
        {
            "when": [datetime.date(2020, 3, day) for day in (2, 2, 6)],
            "price": [3000.0, 1000.0, 1000.0],
            "share": [5, 5, 5],
            "word": ["red", "red", "blue"],
        }
    )
    parquet.write_table(table, "new.parquet")
    said("predict", "sales.gputree", "new.parquet", "-o", "p.csv")
    assert read_file("p.csv")["prediction"].to_pylist() == ["yes", "no", "yes"]


def test_a_stream_reads_the_same(said, sales, monkeypatch):
    whole = ["train", "sales.csv", "--test-share", 0]
    assert said(*whole) == list(FOUND)
    expected = gputree.load("sales.gputree").to_bytes()
    monkeypatch.setattr("gputree.cli.streamed.CHUNK_BYTES", 1000)
    assert said("train", "sales.csv", "--stream") == list(FOUND)
    assert gputree.load("sales.gputree").to_bytes() == expected
    for more in ([], ["--stream"]):
        said("train", "sales.csv", "--category", "when", *more)
        assert "2020-01-04" in gputree.load("sales.gputree").schema_.categories[0]
        assert said("predict", "sales.gputree", "sales.csv", "-o", "p.csv") == [
            "1 column of sales.csv is not used: sold"
        ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "2020-03-02;3;5%;red",
            "column 'when' held dates with the day first in training, but holds '2020-03-02' on "
            "line 2; correct it, or leave the cell empty",
        ),
        (
            "02.03.2020;3.5;5%;red",
            "'price' held numbers in € with a decimal comma in training, but holds '3.5' on line "
            "2; correct it, or leave the cell empty; if the numbers of this file have decimal "
            "points, give --decimal .",
        ),
        ("02.03.2020;$3;5%;red", "holds '$3' on line 2"),
        ("02.03.2020;3;5;red", "'share' held percent with a decimal comma in training, but holds"),
    ],
)
def test_a_cell_that_is_spelled_otherwise_is_told(run, said, sales, fail, folder, row, message):
    said("train", "sales.csv", "-q")
    folder.joinpath("new.csv").write_text(f"when;price;share;word\n{row}\n")
    assert message in fail("predict", "sales.gputree", "new.csv")


def test_the_user_has_the_last_word(said, sales, folder, csv_file):
    said("train", "sales.csv", "-q")
    folder.joinpath("new.csv").write_text("when;price;share;word\n02.03.2020;3.5;5%;red\n")
    assert said("predict", "sales.gputree", "new.csv", "--decimal", ".") == []
    csv_file("t.csv", "d,y", [("03/04/2020", 0), ("05/06/2020", 1)])
    note = (
        "look here: column 'd': 03/04/2020 is read as 4 March 2020; --day-first reads 3 April 2020"
    )
    assert said("train", "t.csv", "--test-share", 0)[-1] == note
    said("train", "t.csv", "--test-share", 0, "--day-first")
    (origin, *_) = gputree.load("t.gputree").schema_.origins
    assert origin.reading.order == "dmy"
    folder.joinpath("t.csv").write_text("a b y\n1 2 0\n3 4 1\n")
    said("train", "t.csv", "--separator", "space", "--test-share", 0)
    assert gputree.load("t.gputree").schema_.names == ("a", "b")


def test_a_file_without_a_header_is_noticed_and_known_again(said, run, folder):
    rows = [f"{at % 7}.5,{at % 3},{'a' if at % 7 > 3 else 'b'}" for at in range(40)]
    folder.joinpath("t.csv").write_text("\n".join(rows))
    (note,) = said("train", "t.csv")
    assert note.startswith("there is no header: the first line (0.5, 0, b) holds values as the")
    assert gputree.load("t.gputree").schema_.names == ("column 1", "column 2")
    folder.joinpath("new.csv").write_text("6.5,1\n")
    assert run("predict", "t.gputree", "new.csv") == "prediction\na\n"
    assert said("train", "t.csv", "--header", "-q") == []
    assert gputree.load("t.gputree").schema_.names[0] == "0.5"


def test_columns_that_are_mostly_numbers_are_never_left_out(fail, said, csv_file):
    """Also where all cells differ, as those of an id do."""
    rows = [(f"{at}.25", at % 2) for at in range(40)]
    csv_file("t.csv", "a,y", [*rows, ("n/a", 1)])
    assert "column 'a' mixes numbers and text: 'n/a' on line 42" in fail("train", "t.csv")
    said("train", "t.csv", "--number", "a", "-q")
    (origin,) = gputree.load("t.gputree").schema_.origins
    assert origin.reading.others == "missing"
    csv_file("new.csv", "a", [(1.25,), ("gone",)])
    said("predict", "t.gputree", "new.csv")
    dates = [(f"2020-01-{at + 1:02}", at % 2) for at in range(20)]
    csv_file("t.csv", "a,y", [*dates, ("soon", 1)])
    assert "column 'a' mixes dates and text: 'soon' on line 22" in fail("train", "t.csv")
    prices = [(f"{'€$'[at % 2]}{at}", at % 2) for at in range(20)]
    csv_file("t.csv", "a,y", prices)
    assert "column 'a' mixes numbers and text: '€0' on line 2" in fail("train", "t.csv")


def test_an_id_that_repeats_is_told(said, csv_file):
    rows = [(at % 32, f"w{at % 35}", f"n{at // 2}", at % 2) for at in range(160)]
    csv_file(
        "t.csv", "customerId,few,note,y", [(at * 4 // 5, *row[1:]) for at, row in enumerate(rows)]
    )
    assert said("train", "t.csv", "--test-share", 0) == [
        "look here: 'customerId' is named like an id and has 128 values in 160 rows; if it only "
        "identifies rows, give --ignore customerId",
        "look here: 'note' has 80 categories, 2.0 rows each; a model can memorize such rows; "
        "compare its score with that of --ignore note",
    ]
    csv_file("t.csv", "PassengerId,a,y", [(at, at % 3, at % 2) for at in range(40)])
    assert said("train", "t.csv") == []
    assert gputree.load("t.gputree").schema_.names == ("a",)


def test_rows_without_a_target_can_be_left_out(said, fail, csv_file):
    rows = [(at, "" if at % 10 == 0 else at % 2) for at in range(60)]
    csv_file("t.csv", "a,y", [*rows, ("x", 1)])
    message = "is missing on line 2, and in 6 rows in all; remove them, or fill the cells, or give"
    assert f"{message} --drop-missing-target" in fail("train", "t.csv")
    # Places are still those of the file.
    assert "'x' on line 62" in fail("train", "t.csv", "--drop-missing-target")
    csv_file("t.csv", "a,y", rows)
    assert said("train", "t.csv", "--drop-missing-target") == ["6 rows without a target left out"]
    csv_file("t.csv", "a,y", [(1, ""), (2, "")])
    said_so = fail("train", "t.csv", "--drop-missing-target")
    assert "the target 'y' is missing in all rows" in said_so


def test_a_table_comes_from_standard_input(run, said, sales, folder, monkeypatch):
    content = folder.joinpath("sales.csv").read_bytes()

    class Stdin:
        buffer = io.BytesIO(content)

    monkeypatch.setattr(sys, "stdin", Stdin)
    for more in ([], ["--stream"]):
        Stdin.buffer.seek(0)
        said("train", "-", "-q", *more)
        assert folder.joinpath("stdin.gputree").exists()
    Stdin.buffer.seek(0)
    assert said("predict", "stdin.gputree", "-", "-o", "p.csv") == [
        "1 column of standard input is not used: sold"
    ]


def test_a_folder_of_csv_files_is_one_table(run, said, sales, lines, folder):
    said("train", "sales.csv", "--test-share", 0, "-q")
    expected = gputree.load("sales.gputree").to_bytes()
    parts = folder / "parts"
    parts.mkdir()
    for at in range(4):
        rows = lines[30 * at : 30 * at + 30]
        (parts / f"{at}.csv").write_text("\n".join(["when;price;share;word;sold", *rows]))
    for table, model in (("parts", "parts.gputree"), ("parts/*.csv", "csv.gputree")):
        said("train", table, "--test-share", 0, "-q", "-o", model)
        assert gputree.load(model).to_bytes() == expected


def test_info_says_how_columns_are_read(said, run, sales, capsys):
    assert main(["info", "sales.csv"]) == 0
    text = capsys.readouterr().out
    assert "date (split into when.year, when.month, when.weekday, when.days)" in text
    assert "number (it holds numbers in € with a decimal comma); " in text
    said("train", "sales.csv", "-q")
    found = json.loads(run("info", "sales.gputree", "--json"))
    by_name = {each["name"]: each for each in found["columns"]}
    assert by_name["when.year"]["origin"] == {
        "column": "when",
        "kind": "date",
        "order": "dmy",
        "part": "year",
    }
    text = run("info", "sales.gputree")
    assert "\n  when.year: number (the year of 'when', dates with the day first)\n" in text
    assert "\n  price: number (numbers in € with a decimal comma)\n" in text


def test_a_new_category_is_told(said, csv_file):
    csv_file("t.csv", "a,y", [("red", 0), ("blue", 1)] * 5)
    said("train", "t.csv", "-q")
    csv_file("new.csv", "a", [("red",), ("green",), ("pink",), ("green",)])
    assert said("predict", "t.gputree", "new.csv") == [
        "column 'a' of new.csv has 2 categories that did not occur in training (green, pink), in 3 "
        "rows; treated as missing"
    ]


def test_text_that_looks_like_a_number_is_known_again(run, csv_file):
    csv_file("t.csv", "a,y", [("01", 0), ("x", 1), ("y", 1)] * 10)
    run("train", "t.csv", "-q")
    csv_file("new.csv", "a", [("01",), ("01",)])
    assert run("predict", "t.gputree", "new.csv") == "prediction\n0\n0\n"
