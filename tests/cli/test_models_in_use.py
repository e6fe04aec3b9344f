"""`predict`, `prune`, `explain`, `info`: what is done with saved models."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import feather, parquet

import gputree
from gputree.cli.info import MODEL_MAGIC
from gputree.cli.program import main
from gputree.cli.prune import METHODS
from gputree.pruning import methods
from gputree.tree import store


def read(text):
    rows = list(csv.reader(io.StringIO(text)))
    return dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))


@pytest.fixture
def fruit(csv_file, run):
    """A model with numbers, categories and an order, and the table it was trained on."""
    random = np.random.default_rng(0)
    size = random.normal(size=80).round(3)
    colour = random.choice(["red", "green", "blue"], 80)
    grade = random.choice(["low", "mid", "high"], 80)
    label = np.where((size > 0) & (colour != "red") | (grade == "high"), "ripe", "raw")
    rows = np.column_stack([np.arange(80), size, colour, grade, label])
    csv_file("fruit.csv", "id,size,colour,grade,state", rows)
    run("train", "fruit.csv", "--ordered", "grade=low,mid,high", "--test-share", 0, "-q")
    columns = {
        "size": size,
        "colour": pyarrow.array(colour).dictionary_encode(),
        "grade": pyarrow.array(grade),
    }
    return gputree.load("fruit.gputree"), pyarrow.table(columns), label


UNUSED = "2 columns of fruit.csv are not used: id, state"


# predict


def test_predictions_are_printed_as_csv(run, fruit):
    model, X, _ = fruit
    found = read(run("predict", "fruit.gputree", "fruit.csv", "--proba", notes=UNUSED))
    assert list(found) == ["prediction", "P(raw)", "P(ripe)"]
    assert list(found["prediction"]) == model.predict(X).tolist()
    shares = np.column_stack([found["P(raw)"], found["P(ripe)"]]).astype(float)
    assert np.array_equal(shares, model.predict_proba(X))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow"])
def test_predictions_go_to_files_of_any_format(run, fruit, files, suffix):
    model, X, _ = fruit
    name = f"out{suffix}"
    arguments = ["predict", "fruit.gputree", "fruit.csv", "-o", name, "--keep", "id", "-q"]
    assert run(*arguments) == ""
    from gputree.files import read_file

    table = read_file(name)
    assert table.column_names == ["id", "prediction"]
    assert table["id"].to_pylist() == list(range(80))
    assert table["prediction"].to_pylist() == model.predict(X).tolist()
    assert files() == ["fruit.csv", "fruit.gputree", "fruit.html", name]


def test_predictions_as_json(run, fruit):
    model, X, _ = fruit
    found = json.loads(run("predict", "fruit.gputree", "fruit.csv", "--json", "--proba"))
    assert found["columns"]["prediction"] == model.predict(X).tolist()
    assert found["n_rows"] == 80
    assert found["notes"] == [UNUSED]
    assert set(found) == {"command", "model", "table", "n_rows", "file", "columns", "notes"}


def test_columns_are_found_by_name_in_any_order_and_any_type(run, fruit):
    model, X, _ = fruit
    expected = model.predict(X).tolist()
    mixed = X.select(["grade", "size", "colour"])
    mixed = mixed.set_column(1, "size", mixed["size"].cast("string"))
    parquet.write_table(mixed, "new.parquet")
    feather.write_feather(mixed, "new.feather")
    for name in ("new.parquet", "new.feather"):
        assert list(read(run("predict", "fruit.gputree", name))["prediction"]) == expected


def test_a_category_of_numbers_is_known_again_beside_a_word(run, csv_file):
    csv_file("t.csv", "code,y", [(at % 4, "no" if at % 2 else "yes") for at in range(20)])
    run("train", "t.csv", "--category", "code", "--test-share", 0, "-q")
    csv_file("new.csv", "code", [(0,), (1,), ("x",), (3.0,)])
    found = read(run("predict", "t.gputree", "new.csv"))["prediction"]
    assert [found[0], found[1], found[3]] == ["yes", "no", "no"]


def test_a_regression_prints_numbers_that_read_back_exactly(run, bundled):
    run("train", "diabetes", "-q")
    X, _ = bundled("diabetes")
    found = read(
        run(
            "predict",
            "diabetes.gputree",
            "diabetes",
            notes="1 column of diabetes is not used: target",
        )
    )
    assert [float(each) for each in found["prediction"]] == gputree.load(
        "diabetes.gputree"
    ).predict(X).tolist()


def test_a_model_without_names_takes_columns_by_name_or_by_their_order(run, csv_file):
    X = np.arange(12.0).reshape(6, 2) % 5
    gputree.DecisionTreeClassifier().fit(X, [0, 1, 0, 1, 0, 1]).save("m.gputree")
    expected = [str(each) for each in gputree.load("m.gputree").predict(X)]
    csv_file("named.csv", "x1,x0", X[:, ::-1])
    assert list(read(run("predict", "m.gputree", "named.csv"))["prediction"]) == expected
    csv_file("other.csv", "p,q", X)
    note = "the model was fitted without column names; columns are taken in order"
    found = read(run("predict", "m.gputree", "other.csv", notes=note))["prediction"]
    assert list(found) == expected


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("size,color,grade", (1, "red", "low"), "lacks 1 column that the model needs: colour; did"),
        ("a,b", (1, 2), "lacks 3 columns that the model needs: size, colour, grade"),
        (
            "size,colour,grade",
            ("big", "red", "low"),
            "column 'size' held numbers in training, but holds 'big' on line 2",
        ),
    ],
)
def test_a_table_that_does_not_fit_the_model_is_told(fail, fruit, csv_file, header, row, message):
    csv_file("new.csv", header, [row])
    assert message in fail("predict", "fruit.gputree", "new.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out.xlsx"], "the name must end in .csv, .tsv, .parquet"),
        (["-o", "no/out.csv"], "there is no folder no"),
        (["--keep", "idd"], "--keep: fruit.csv has no column 'idd'; did you mean id?"),
        (["-o", "/dev/null"], "--output /dev/null"),
    ],
)
def test_a_mistake_in_predict_is_told(fail, fruit, files, arguments, message):
    before = files()
    assert message in fail("predict", "fruit.gputree", "fruit.csv", *arguments)
    assert files() == before


def test_a_column_to_be_kept_must_not_have_the_name_of_a_result(fail, fruit, csv_file):
    names = "prediction,P(ripe),size,colour,grade"
    csv_file("new.csv", names, [("x", 0.5, 1.0, "red", "low")])
    for name, more in (("prediction", []), ("P(ripe)", ["--proba"])):
        said = fail("predict", "fruit.gputree", "new.csv", "--keep", name, *more)
        assert (
            f"--keep {name}: a column of the result has this name; rename it in the table" in said
        )


def test_a_regression_has_no_probabilities(fail, run):
    run("train", "diabetes", "-q")
    assert "--proba: a regression has no classes" in fail(
        "predict", "diabetes.gputree", "diabetes", "--proba"
    )


# prune


def test_the_methods_are_those_of_the_library():
    assert set(METHODS) == set(methods.METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_prunes_as_the_library_does(run, bundled, csv_file, method):
    X, y = bundled("breast_cancer")
    odd, even = np.arange(1, 569, 2), np.arange(0, 569, 2)
    for name, rows in (("odd", odd), ("even", even)):
        parquet.write_table(
            X.take(rows).append_column("y", pyarrow.array(y[rows])), f"{name}.parquet"
        )
    run("train", "odd.parquet", "--test-share", 0, "--max-depth", "none", "-q")
    tree = gputree.load("odd.gputree")
    chosen = methods.method_of(method)
    judges = {"validation": even, "nothing": None}.get(chosen.needs_now(), odd)
    expected = (
        tree.prune(method) if judges is None else tree.prune(method, X.take(judges), y[judges])
    )
    table = {"nothing": []}.get(
        chosen.needs_now(), ["even.parquet" if judges is even else "odd.parquet"]
    )
    text = run("prune", "odd.gputree", *table, "--method", method)
    assert gputree.load("odd-pruned.gputree").to_bytes() == expected.to_bytes()
    assert text.startswith(str(expected.pruning_report_))
    assert gputree.load("odd.gputree").to_bytes() == tree.to_bytes()


def test_pruning_tells_scores_where_there_are_rows(run, fruit, bundled):
    arguments = ["--method", "cost_complexity", "--set", "alpha=0.2", "-o", "small.gputree"]
    note = "1 column of fruit.csv is not used: id"
    text = run("prune", "fruit.gputree", "fruit.csv", *arguments, notes=note)
    model, X, label = fruit
    small = gputree.load("small.gputree")
    assert small.get_n_leaves() < model.get_n_leaves()
    after = np.mean(small.predict(X) == label)
    assert f"\naccuracy  1 before, {after:.4g} after\n" in text
    found = json.loads(run("prune", "fruit.gputree", "fruit.csv", *arguments, "--json"))
    assert found["scores"]["after"]["accuracy"] == after
    assert found["shape"]["after"]["leaves"] == small.get_n_leaves()
    assert found["alpha"] == 0.2


def test_a_mistake_in_prune_is_told(fail, run, fruit, files):
    for arguments, message in (
        (
            ["--method", "reduced_error"],
            "needs rows that were not used in training: give TABLE after MODEL",
        ),
        (["--method", "cost_complexity"], "needs the training rows: give TABLE"),
        (["--method", "pessimistic", "--set", "alpha=1"], "has no option alpha"),
        (["fruit.csv", "--method", "pre", "--target", "stat"], "did you mean state?"),
    ):
        assert message in fail("prune", "fruit.gputree", *arguments)
    run("train", "iris", "--model", "forest", "--n-estimators", 3, "-q")
    assert "holds a RandomForestClassifier; only single trees can be pruned" in fail(
        "prune", "iris.gputree", "--method", "pessimistic"
    )
    assert "fruit-pruned.gputree" not in files()


# explain


@pytest.mark.parametrize(
    "model", ["tree", "c45", "cart", "forest", "extra-trees", "bagging", "adaboost", "boosting"]
)
def test_shapley_values_add_up_to_predictions(run, bundled, model):
    few = ["--n-estimators", 6] if model not in ("tree", "c45", "cart") else []
    run("train", "wine", "--model", model, *few, "-q")
    fitted = gputree.load("wine.gputree")
    X, _ = bundled("wine")
    note = "1 column of wine is not used: target"
    text = run("explain", "wine.gputree", "wine", "--row", 3, "--row", 80, notes=note)
    found = json.loads(
        run("explain", "wine.gputree", "wine", "--row", 3, "--row", 80, "--json", "--top", 13)
    )
    raw = getattr(fitted, "decision_function", fitted.predict_proba)(X)
    for row, told in zip((2, 79), found["rows"], strict=True):
        at = fitted.classes_.tolist().index(told["prediction"])
        assert told["total"] == pytest.approx(raw[row, at])
        assert sum(told["features"].values()) + told["expected"] == pytest.approx(raw[row, at])
        assert f"row {row + 1}: predicted {told['prediction']}; " in text


def test_combinations_of_columns_are_told_on_a_path_and_by_shapley_values(run, bundled):
    run("train", "wine", "--model", "oblique", "--max-depth", 2, "-q")
    fitted = gputree.load("wine.gputree")
    X, _ = bundled("wine")
    note = "1 column of wine is not used: target"
    text = run("explain", "wine.gputree", "wine", "--path", "--row", 3, notes=note)
    first = fitted.export_text().splitlines()[0]
    assert first.partition(" <= ")[0] in text
    assert f"class {fitted.predict(X)[2]} " in text
    (told,) = json.loads(run("explain", "wine.gputree", "wine", "--row", 3, "--json"))["rows"]
    assert told["total"] == pytest.approx(fitted.predict_proba(X)[2].max())
    run("report", "wine.gputree", "wine", "-o", "wine.html")
    assert first.partition(" <= ")[0] in Path("wine.html").read_text("utf-8")
    n = len(fitted.nodes_.directions)
    assert f"leaves {fitted.get_n_leaves()}, combinations {n}" in run("info", "wine.gputree")


def test_bags_of_columns_add_up_too(run, bundled):
    few = ["--n-estimators", 2, "--set", "max_features=0.2", "--seed", 1]
    run("train", "wine", "--model", "bagging", *few, "-q")
    model = gputree.load("wine.gputree")
    X, _ = bundled("wine")
    (told,) = json.loads(run("explain", "wine.gputree", "wine", "--row", 9, "--json"))["rows"]
    assert told["total"] == pytest.approx(model.predict_proba(X)[8].max())
    tested = {
        tree.schema_.names[at]
        for tree in model.estimators_
        for at in tree.nodes_.feature[~tree.tree_.is_leaf]
    }
    assert len(tested) < 5
    assert set(told["features"]) <= tested


def test_features_are_put_in_order_by_what_they_add(run, fruit):
    model, X, _ = fruit
    found = json.loads(run("explain", "fruit.gputree", "fruit.csv", "--class", "ripe", "--json"))
    size = abs(model.shap_values(X)[:, :, 1]).mean(axis=0)
    expected = dict(zip(("size", "colour", "grade"), size, strict=True))
    assert {each["name"]: each["mean_size"] for each in found["features"]} == pytest.approx(
        expected
    )
    sizes = [each["mean_size"] for each in found["features"]]
    assert sizes == sorted(sizes, reverse=True)


def test_all_values_go_to_a_file(run, fruit, folder):
    model, X, _ = fruit
    run("explain", "fruit.gputree", "fruit.csv", "--class", "ripe", "-o", "s.csv", notes=UNUSED)
    found = read(folder.joinpath("s.csv").read_text())
    assert list(found) == ["row", "size", "colour", "grade"]
    values = np.column_stack([found[name] for name in ("size", "colour", "grade")]).astype(float)
    assert np.array_equal(values, model.shap_values(X)[:, :, 1])


def test_many_rows_are_sampled_and_said_to_be(run, fruit):
    notes = json.loads(run("explain", "fruit.gputree", "fruit.csv", "--sample", 10, "--json"))[
        "notes"
    ]
    assert "explaining 10 of 80 rows, evenly spaced; --sample changes how many" in notes


def test_all_rows_go_to_a_file_however_many(run, fruit, folder, monkeypatch):
    monkeypatch.setattr("gputree.cli.explain.FEW_ROWS", 7)
    run("explain", "fruit.gputree", "fruit.csv", "-o", "shap.csv", "-q")
    assert len(folder.joinpath("shap.csv").read_text().splitlines()) == 81
    run("explain", "fruit.gputree", "fruit.csv", "-o", "shap.csv", "-q", "--sample", 5)
    assert len(folder.joinpath("shap.csv").read_text().splitlines()) == 6
    notes = json.loads(run("explain", "fruit.gputree", "fruit.csv", "--json"))["notes"]
    assert "explaining 7 of 80 rows, evenly spaced; --sample changes how many" in notes


def test_the_path_of_a_row_is_a_sentence_that_is_true(run, fruit):
    model, X, _ = fruit
    text = run("explain", "fruit.gputree", "fruit.csv", "--row", 5, "--path", notes=UNUSED)
    (said,) = re.findall(r"row 5: class (\w+) \(", text)
    assert said == model.predict(X)[4]
    leaf = model.apply(X)[4]
    assert text.count("(it is ") == model.tree_.depth[leaf]
    for name, condition, value in re.findall(r"(\w+) (<=|>) \S+ \(it is (\S+)\)", text):
        threshold = float(re.search(rf"{name} {condition} (\S+) \(it is {value}\)", text).group(1))
        assert (float(value) <= threshold) == (condition == "<=")


def test_the_path_of_rules_is_the_rule_that_answers(run):
    run("train", "iris", "--model", "rules", "--test-share", 0, "-q")
    note = "1 column of iris is not used: target"
    text = run("explain", "iris.gputree", "iris", "--row", 1, "--path", notes=note)
    assert text.startswith(("row 1: IF ", "row 1: OTHERWISE setosa"))


def test_a_mistake_in_explain_is_told(fail, run, fruit, capsys):
    for arguments, message in (
        (["--row", 81], "--row 81: the table has 80 rows"),
        (["--path"], "choose it with --row"),
    ):
        assert main(["explain", "fruit.gputree", "fruit.csv", *map(str, arguments)]) == 2
        assert message in capsys.readouterr().err
    assert main(["explain", "fruit.gputree", "fruit.csv", "--class", "rip", "-q"]) == 2
    assert "--class rip is none of the classes; did you mean ripe?" in capsys.readouterr().err
    run("train", "diabetes", "--model", "adaboost", "-q")
    said = fail("explain", "diabetes.gputree", "diabetes", "-q")
    assert (
        "an AdaBoostRegressor has no Shapley values: its predictions are not a sum over trees; use "
        in said
    )
    run("train", "diabetes", "-q")
    said = fail("explain", "diabetes.gputree", "diabetes", "--class", "high", "-q")
    assert "--class high: a regression has no classes; leave it out" in said


# info


def test_the_mark_of_a_model_file_is_that_of_the_library():
    assert MODEL_MAGIC == store.MAGIC


def test_info_tells_what_a_model_holds(run, fruit):
    text = run("info", "fruit.gputree")
    for line in (
        "model     DecisionTreeClassifier: depth ",
        "task      classification\n",
        "classes   raw, ripe\n",
        "  colour: category of 3 categories (blue, green, red)\n",
        "  grade: ordered of 3 categories (low < mid < high)\n",
        "  size: number\n",
    ):
        assert line in text
    found = json.loads(run("info", "fruit.gputree", "--json"))
    assert found["kind"] == "model"
    assert found["classes"] == ["raw", "ripe"]
    assert [each["levels"] for each in found["columns"]] == [
        None,
        ["blue", "green", "red"],
        ["low", "mid", "high"],
    ]


@pytest.mark.parametrize("model", ["forest", "boosting", "rules"])
def test_info_knows_models_of_every_kind(run, model):
    run("train", "iris", "--model", model, "-q")
    assert json.loads(run("info", "iris.gputree", "--json"))["classes"] == [
        *("setosa", "versicolor", "virginica"),
    ]


def test_info_tells_what_a_table_holds(run, fruit):
    text = run("info", "fruit.csv")
    assert "table     fruit.csv: 80 rows, 5 columns\n" in text
    assert re.search(r"\n  id +ignored \(all its values differ", text)
    assert re.search(
        r"\n  colour +category \(it holds text, 3 categories\); blue, green, red\n", text
    )
    found = json.loads(run("info", "fruit.csv", "--json"))
    assert [each["kind"] for each in found["columns"]] == [
        *("ignored", "number", "category", "category", "category"),
    ]
    _, X, _ = fruit
    assert found["columns"][1]["max"] == max(X["size"].to_pylist())


def test_info_counts_the_categories_that_it_does_not_show(run, csv_file):
    csv_file("t.csv", "a,y", [(f"category {at % 30:02}", at % 2) for at in range(90)])
    assert "category 00, category 01, category 02, category 03, category 04, ... 25 more" in run(
        "info", "t.csv"
    )
