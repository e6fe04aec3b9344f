"""What columns of a file are taken for, and how a user overrides it."""

import datetime
import json

import numpy as np
import pyarrow
import pytest
from pyarrow import feather, parquet

import gputree
from gputree.data.table import Kind


@pytest.fixture
def kinds(run):
    """What each column became in a training, by name."""

    def kinds(*arguments):
        found = json.loads(run("train", *arguments, "--json", "--test-share", 0))
        return {each["name"]: (each["kind"], each["why"]) for each in found["columns"]}

    return kinds


@pytest.fixture
def houses(csv_file):
    """A table with a column of each kind."""
    rows = [
        (at, 100 + at % 7, ["red", "blue", "", "green"][at % 4], "", "x", f"n{at}", at % 3, at % 2)
        for at in range(40)
    ]
    return csv_file("t.csv", "id,size,colour,none,same,note,level,y", rows)


def test_each_kind_is_found_and_shown(kinds, houses, run):
    assert kinds(houses) == {
        "id": ("ignored", "all its values differ, as in an id"),
        "size": ("number", "it holds numbers"),
        "colour": ("category", "it holds text, 3 categories"),
        "none": ("ignored", "it is empty"),
        "same": ("ignored", "it is constant"),
        "note": ("ignored", "all its values differ, as in an id"),
        "level": ("number", "it holds numbers"),
    }
    text = run("train", houses, "--test-share", 0)
    assert "\ncolumns   2 numbers, 1 category (colour)\n" in text
    assert "\nignored   id (all its values differ, as in an id), none (it is empty), " in text
    assert "table     t: 40 rows, 3 features, 10 missing cells\n" in text
    schema = gputree.load("t.gputree").schema_
    assert schema.names == ("size", "colour", "level")
    assert schema.categories == (None, ("blue", "green", "red"), None)


def test_each_kind_can_be_overridden(kinds, houses):
    found = kinds(
        *(houses, "--number", "id", "--category", "level", "--category", "note"),
        *("--ignore", "size", "--ordered", "colour=red,green,blue", "--category", "same"),
    )
    assert {name: kind for name, (kind, _) in found.items()} == {
        "id": "number",
        "size": "ignored",
        "colour": "ordered",
        "none": "ignored",
        "same": "category",
        "note": "category",
        "level": "category",
    }
    schema = gputree.load("t.gputree").schema_
    assert schema.names == ("id", "colour", "same", "note", "level")
    assert schema.kinds[1] is Kind.ORDINAL
    assert schema.categories[1] == ("red", "green", "blue")
    assert schema.categories[4] == (0, 1, 2)


def test_text_among_numbers_is_missing_where_the_column_is_said_to_be_numbers(kinds, csv_file):
    csv_file("t.csv", "a,y", [(1, 0), (2, 1), ("x", 0), (" 4e0 ", 1)])
    kind, why = kinds("t.csv", "--number", "a")["a"]
    assert (kind, why) == ("number", "as --number says; 1 cell of text treated as missing")
    assert gputree.load("t.gputree").schema_.has_missing == (True,)


def test_whole_numbers_of_an_id_are_known_however_they_are_stored(kinds, folder):
    rows = [f"{at},{at % 4},{'no' if at % 3 else 'yes'}" for at in range(30)]
    head = "@relation t\n@attribute id numeric\n@attribute a numeric\n@attribute y {no,yes}\n"
    folder.joinpath("t.arff").write_text(head + "@data\n" + "\n".join(rows))
    assert kinds("t.arff")["id"] == ("ignored", "all its values differ, as in an id")
    halves = "\n".join(row.replace(",", ".5,", 1) for row in rows)
    folder.joinpath("t.arff").write_text(head + "@data\n" + halves)
    assert kinds("t.arff")["id"] == ("number", "it holds numbers")


def test_a_few_numbers_among_words_are_categories(kinds, csv_file):
    csv_file("t.csv", "a,y", [("x", 0), ("z", 1), ("x", 0), (4, 1)])
    assert kinds("t.csv")["a"][0] == "category"


def test_the_order_of_the_rows_does_not_matter_to_the_levels(run, csv_file):
    rows = [("b", 1), ("a", 0), ("c", 1), ("a", 0)]
    models = []
    for order in (rows, rows[::-1]):
        csv_file("t.csv", "a,y", order)
        run("train", "t.csv", "--test-share", 0, "-q")
        models.append(gputree.load("t.gputree").to_bytes())
    assert models[0] == models[1]


def test_a_parquet_file_says_what_its_columns_are(kinds, folder):
    n = 12
    table = pyarrow.table(
        {
            "when": [datetime.date(2020, 1, 1 + at) for at in range(n)],
            "truth": [at % 3 == 0 for at in range(n)],
            "code": [str(at % 3) for at in range(n)],
            "level": pyarrow.DictionaryArray.from_arrays(
                [at % 2 for at in range(n)], ["low", "high"], ordered=True
            ),
            "part": np.arange(n) / 7,
            "y": [at % 2 for at in range(n)],
        }
    )
    parquet.write_table(table, "t.parquet")
    feather.write_feather(table, "t.feather")
    expected = {
        "when.year": ("ignored", "it is constant"),
        "when.month": ("ignored", "it is constant"),
        "when.weekday": ("number", "the weekday of dates"),
        "when.days": ("number", "the days of dates"),
        "truth": ("category", "it holds true and false"),
        "code": ("category", "it holds text, 3 categories"),
        "level": ("ordered", "the file says so"),
        "part": ("number", "it holds numbers"),
    }
    assert kinds("t.parquet") == expected
    model = gputree.load("t.gputree").to_bytes()
    assert kinds("t.feather") == expected
    assert gputree.load("t.gputree").to_bytes() == model


def test_the_same_table_gives_the_same_model_in_every_format(run, folder):
    import gzip

    rows = [(f"{at * 37 % 11 / 4}", "abc"[at % 3], "no" if at % 3 else "yes") for at in range(30)]
    lines = ["a,b,y", *(",".join(row) for row in rows)]
    folder.joinpath("t.csv").write_text("\n".join(lines))
    folder.joinpath("t.tsv").write_text("\n".join(lines).replace(",", "\t"))
    head = "@relation t\n@attribute a numeric\n@attribute b {a,b,c}\n@attribute y {no,yes}\n@data\n"
    folder.joinpath("t.arff").write_text(head + "\n".join(lines[1:]))
    columns = zip(*rows, strict=True)
    table = pyarrow.table(dict(zip("aby", map(list, columns), strict=True)))
    table = table.set_column(0, "a", table["a"].cast("float64"))
    parquet.write_table(table, "t.parquet")
    feather.write_feather(table, "t.feather")
    names = ["t.csv", "t.tsv", "t.arff", "t.parquet", "t.feather"]
    for name in names:
        folder.joinpath(f"{name}.gz").write_bytes(gzip.compress(folder.joinpath(name).read_bytes()))
    models = {}
    for name in (*names, *(f"{name}.gz" for name in names)):
        run("train", name, "-q", "-o", "m.gputree")
        run("predict", "m.gputree", name, "-q", "-o", "p.csv")
        models[name] = gputree.load("m.gputree").to_bytes() + folder.joinpath("p.csv").read_bytes()
    assert len(set(models.values())) == 1


def test_the_task_of_a_file_can_be_overridden(run, csv_file):
    csv_file("t.csv", "y,a", [(at // 10, at) for at in range(40)])
    text = run("train", "t.csv", "--target", "y")
    assert "task      classification: the target 'y' holds whole numbers, 4 distinct" in text
    assert isinstance(gputree.load("t.gputree"), gputree.DecisionTreeClassifier)
    text = run("train", "t.csv", "--target", "y", "--task", "regression")
    assert "task      regression: as --task says\n" in text
    assert isinstance(gputree.load("t.gputree"), gputree.DecisionTreeRegressor)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["1", "b", "1"], "classification"),
        (["1", "1.5", "2"], "regression"),
        (["1.0", "-2e0", "1"], "classification"),
        ([str(at) for at in range(20)], "classification"),
        ([str(at) for at in range(21)], "regression"),
    ],
)
def test_the_task_is_told_from_the_target(run, csv_file, values, task):
    csv_file("t.csv", "a,y", [(at % 2, value) for at, value in enumerate(values)])
    assert json.loads(run("train", "t.csv", "--test-share", 0, "--json"))["task"] == task


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ignore", "colr"], "--ignore: t.csv has no column 'colr'; did you mean colour?"),
        (["--target", "Y2"], "--target: t.csv has no column 'Y2'; did you mean y?"),
        (["--target", "zebra"], "t.csv has no column 'zebra'; choose from id, size, colour, none"),
        (["--weight", "size", "--ignore", "size"], "--weight names the same column"),
        (["--category", "y"], "--category y: --target names the same column"),
        (["--number", "size", "--category", "size"], "--category names the same column"),
        (["--weight", "y"], "--weight y is the target"),
        (["--weight", "colour"], "--weight colour: the column does not hold numbers"),
        (["--number", "colour"], "--number colour: no cell of the column in t.csv is a number"),
        (["--ordered", "colour"], "COLUMN=LOWEST,...,HIGHEST is needed"),
        (["--ordered", "colour=red,red"], "names a category twice"),
        (["--ordered", "colour=red,blue"], "'green' on line 5 of t.csv is not among red, blue"),
        (["--ordered", "level=low,high"], "--ordered level: the column does not hold low, high"),
        (
            ["--task", "regression", "--target", "colour"],
            "the target 'colour' is missing on line 4",
        ),
        (["--task", "regression", "--target", "same"], "regression needs numbers, but the target"),
        (
            [part for name in ("size", "colour", "level") for part in ("--ignore", name)],
            "t.csv has no column left to learn from",
        ),
    ],
)
def test_a_mistake_about_columns_is_told_in_a_line(fail, files, houses, arguments, message):
    assert message in fail("train", houses, *arguments)
    assert files() == ["t.csv"]


def test_a_negative_weight_is_told_with_its_line(fail, csv_file):
    csv_file("t.csv", "a,w,y", [(1, 1, 0), (2, -3, 1)])
    message = "--weight w is -3 on line 3 of t.csv; weights are finite and at least 0"
    assert message in fail("train", "t.csv", "--weight", "w")
    csv_file("t.csv", "a,w,y", [(1, 0, 0), (2, 0, 1)])
    assert "--weight w is 0 in all rows" in fail("train", "t.csv", "--weight", "w")
