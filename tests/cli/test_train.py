"""`gputree train`: what is fitted, scored, printed and written."""

import errno
import json
import os
import re
import warnings

import numpy as np
import pyarrow
import pytest
from sklearn import metrics
from sklearn.model_selection import StratifiedKFold, train_test_split

import gputree
from gputree import DecisionTreeClassifier
from gputree.cli.models import BASES, MODELS
from gputree.cli.options import BUNDLED
from gputree.cli.output import Output
from gputree.cli.program import main
from gputree.diagnostics.tables import BUNDLED as TABLES
from gputree.progress import Waiting


def test_the_bundled_tables_are_those_of_the_library():
    assert tuple(TABLES) == BUNDLED


# The floors and ceilings lie around what other trees of depth 5 reach on these rows.
@pytest.mark.parametrize(
    ("name", "n_held_out", "training", "held_out"),
    [
        ("iris", 38, 0.99, 0.92),
        ("wine", 45, 0.99, 0.85),
        ("breast_cancer", 143, 0.98, 0.90),
        ("digits", 450, 0.65, 0.62),
    ],
)
def test_a_bundled_table_gives_an_accurate_tree(
    run, files, bundled, numbers, name, n_held_out, training, held_out
):
    text = run("train", name)
    assert files() == [f"{name}.gputree", f"{name}.html"]
    X, y = bundled(name)
    n_rows = X.num_rows
    assert f"{name}: {n_rows:,} rows, {X.num_columns} features\n" in text
    assert "task      classification: as the bundled table says\n" in text
    assert numbers(text, "rows") == [n_rows - n_held_out, n_held_out, 0]
    accuracy = numbers(text, "accuracy")
    assert accuracy[0] >= training
    assert 0.99 >= accuracy[1] >= held_out
    n_right = np.count_nonzero(gputree.load(f"{name}.gputree").predict(X) == y)
    expected = accuracy[0] * (n_rows - n_held_out) + accuracy[1] * n_held_out
    assert n_right == pytest.approx(expected, abs=0.0005 * n_rows)


def test_a_bundled_regression_gives_its_errors(run, files, bundled, numbers):
    text = run("train", "diabetes", "--min-samples-leaf", 15)
    assert files() == ["diabetes.gputree", "diabetes.html"]
    X, y = bundled("diabetes")
    explained, error = numbers(text, "R²"), numbers(text, "RMSE")
    assert 0.5 < explained[0] < 0.7
    assert 0.1 < explained[1] < 0.5
    squares = error[0] ** 2 * 331 + error[1] ** 2 * 111
    predicted = gputree.load("diabetes.gputree").predict(X)
    assert ((predicted - y) ** 2).sum() == pytest.approx(squares, rel=0.001)


def test_the_saved_model_is_the_one_that_was_printed(run, bundled, numbers):
    text = run("train", "wine", "--test-share", 0, "--max-depth", 3)
    X, y = bundled("wine")
    expected = DecisionTreeClassifier(max_depth=3).fit(X, y)
    model = gputree.load("wine.gputree")
    assert model.to_bytes() == expected.to_bytes()
    assert any(
        f"\n\n{expected.export_text(decimals=decimals)}\n\n" in text for decimals in (2, 3, 4)
    )
    assert numbers(text, "fitted") == [model.get_depth(), model.get_n_leaves()]


def test_the_tree_reads_in_names(run):
    text = run("train", "iris", "--max-depth", 1, "--test-share", 0)
    assert "\npetal length (cm) <= 2.45: class setosa (50 rows, 100.0%)\n" in text


def test_small_numbers_are_printed_with_more_decimals(run, csv_file):
    csv_file("t.csv", "a,y", [("1e-5", "no"), ("2e-5", "no"), ("3e-5", "yes"), ("4e-5", "yes")])
    text = run("train", "t.csv", "--test-share", 0)
    assert "\na <= 0.0000250: class no (2 rows, 100.0%)\n" in text


def test_the_report_is_the_printed_text_and_the_same_every_time(run, folder):
    text = run("train", "wine", "--report", "wine.txt")
    report = folder.joinpath("wine.txt").read_text(encoding="utf-8")
    seconds = r"reading [\d.]+, training [\d.]+, scoring [\d.]+"
    end = rf"\nseconds   {seconds}\nmodel     wine\.gputree\nreport    wine\.txt\n"
    assert re.fullmatch(end, text.removeprefix(report))
    model = folder.joinpath("wine.gputree").read_bytes()
    run("train", "wine", "--report", "wine.txt")
    assert folder.joinpath("wine.txt").read_text(encoding="utf-8") == report
    assert folder.joinpath("wine.gputree").read_bytes() == model


def test_the_report_is_a_page_by_default_and_by_its_suffix(run, fail, folder, files):
    text = run("train", "wine")
    assert "\nreport    wine.html; open it in a browser\n" in text
    page = folder.joinpath("wine.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>wine: target, 45 held-out rows</title>" in page
    run("train", "wine", "--report", "other.html", "--test-share", 0, "-q")
    assert "wine: target, 178 training rows</title>" in folder.joinpath("other.html").read_text()
    found = json.loads(run("train", "iris", "--no-report", "--json"))
    assert found["files"] == {"model": "iris.gputree", "report": None}
    run("train", "iris", "--model", "rules", "-q")  # which no page can show
    assert files() == ["iris.gputree", "iris.txt", "other.html", "wine.gputree", "wine.html"]
    message = "a page shows trees, and rules are none; let its name end in .txt"
    assert message in fail("train", "iris", "--model", "rules", "--report", "r.html")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("notes.html", []),
        ("notes.gputree", []),
        ("other.txt", ["--report", "other.txt"]),
        ("other", ["--output", "other"]),
    ],
)
def test_no_file_of_the_user_is_replaced(run, fail, folder, csv_file, name, more):
    csv_file("notes.csv", "a,y", [(at % 5, at % 2) for at in range(40)])
    folder.joinpath(name).write_text("what I have written\n")
    message = f"{name} is there and was not written by gputree; choose another place with"
    assert message in fail("train", "notes.csv", *more)
    assert folder.joinpath(name).read_text() == "what I have written\n"
    folder.joinpath(name).write_text("")  # an empty file has nothing to lose
    for _ in range(2):
        assert main(["train", "notes.csv", "-q", *more]) == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_decides_which_rows_are_held_out_of_each_class(run, bundled, seed):
    text = run("train", "wine", "--seed", seed, "--test-share", 0.5)
    assert f"89 to train on, 89 held out (stratified by class, seed {seed})\n" in text
    X, y = bundled("wine")
    rows, _ = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
    expected = DecisionTreeClassifier(max_depth=5).fit(X.take(rows), y[rows])
    model = gputree.load("wine.gputree")
    assert model.to_bytes() == expected.to_bytes()
    assert model.random_state == seed


def test_quiet_prints_nothing_and_writes_both_files(run, files):
    assert run("train", "iris", "--quiet") == ""
    assert files() == ["iris.gputree", "iris.html"]


def test_files_go_where_they_are_asked_to(run, files, folder):
    folder.joinpath("sub").mkdir()
    text = run("train", "iris", "--output", "sub/one.model")
    assert "\nreport    " + os.path.join("sub", "one.html") in text
    run("train", "iris", "-o", "two", "--report", "three")
    assert files() == ["sub", "three", "two"]
    assert sorted(os.listdir("sub")) == ["one.html", "one.model"]


# Estimators and parameters


def test_every_estimator_of_the_library_can_be_trained():
    reachable = {kind for kinds in MODELS.values() for kind in kinds if kind}
    there = {name for name in gputree.__all__ if hasattr(getattr(gputree, name), "get_params")}
    assert reachable == there


@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_any_kind_is_trained_saved_and_the_one_of_the_library(run, csv_file, model):
    """Columns of categories, which all kinds can split."""
    random = np.random.default_rng(3)
    cells = random.choice(["a", "b", "c"], (60, 3))
    label = np.where((cells[:, 0] == "a") ^ (cells[:, 1] == "b"), "yes", "no")
    csv_file("t.csv", "x,z,w,y", np.column_stack([cells, label]))
    few = ["--n-estimators", 5] if "n_estimators" in _params(model) else []
    found = json.loads(run("train", "t.csv", "--model", model, "--json", *few))
    assert found["estimator"] == MODELS[model][0]
    assert found["scores"]["training"]["accuracy"] > 0.75
    columns = [pyarrow.array(column).dictionary_encode() for column in cells.T]
    loaded = gputree.load("t.gputree")
    assert type(loaded).__name__ == MODELS[model][0]
    predicted = loaded.predict(pyarrow.table(columns, names=["x", "z", "w"]))
    scores = (
        found["scores"]["training"]["accuracy"] * 45 + found["scores"]["held_out"]["accuracy"] * 15
    )
    assert (predicted == label).sum() == pytest.approx(scores)


def _params(model):
    return getattr(gputree, MODELS[model][0])().get_params(deep=False)


@pytest.mark.parametrize("model", [name for name, kinds in MODELS.items() if kinds[1]])
def test_a_regression_of_any_kind_is_trained(run, model):
    few = ["--n-estimators", 5] if "n_estimators" in _params(model) else []
    found = json.loads(run("train", "diabetes", "--model", model, "--json", *few))
    assert found["estimator"] == MODELS[model][1]
    assert 0.2 < found["scores"]["training"]["r2"] <= 1


def test_options_reach_the_tree(run):
    options = {"max_depth": 2, "min_samples_leaf": 0.1, "max_bins": 16, "criterion": "entropy"}
    arguments = [
        part for name, value in options.items() for part in ("--" + name.replace("_", "-"), value)
    ]
    text = run("train", "wine", *arguments, "--device", "cpu", "--backend", "numpy")
    params = gputree.load("wine.gputree").get_params()
    assert {name: params[name] for name in options} == options
    assert "ran on    cpu with numpy (backend='numpy' was requested)\n" in text


def test_any_parameter_can_be_set(run):
    settings = {
        "criterion": "gain_ratio",
        "max_depth": None,
        "class_weight": {"class_0": 2.0},
        "min_impurity_decrease": 1e-3,
        "missing": "category",
    }
    given = ["gain_ratio", "none", "{'class_0': 2.0}", "1e-3", "category"]
    pairs = [f"{name}={value}" for name, value in zip(settings, given, strict=True)]
    run("train", "wine", *(part for pair in pairs for part in ("--set", pair)))
    params = gputree.load("wine.gputree").get_params()
    assert {name: params[name] for name in settings} == settings


def test_a_method_of_pruning_may_bring_its_options(run):
    run("train", "wine", "--set", "pruning={'method': 'cost_complexity', 'cv': 4}")
    assert gputree.load("wine.gputree").pruning.cv == 4


def test_the_trees_inside_have_parameters_too(run):
    run("train", "wine", "--model", "adaboost", "--set", "estimator__criterion=entropy", "-q")
    inside = gputree.load("wine.gputree").estimator
    assert (inside.criterion, inside.max_depth) == ("entropy", 1)  # a stump stays one
    run("train", "wine", "--model", "bagging", "--set", "estimator=c45", "--max-depth", 2, "-q")
    inside = gputree.load("wine.gputree").estimator
    assert (type(inside).__name__, inside.max_depth) == ("C45Classifier", 2)
    run("train", "wine", "--model", "rules", "--set", "tree__min_branch=5", "-q")
    inside = gputree.load("wine.gputree").tree
    assert (inside.min_branch, inside.pruning) == (5, None)


@pytest.mark.parametrize("model", BASES)
def test_the_trees_inside_are_by_default_those_of_the_library(run, model):
    """Setting a parameter to its default makes the tree inside, and changes nothing."""
    inside = f"{BASES[model][0]}__max_bins=255"
    run("train", "wine", "--model", model, "-q", "-o", "a.gputree")
    run("train", "wine", "--model", model, "-q", "-o", "b.gputree", "--set", inside)
    assert gputree.load("a.gputree").to_bytes() == gputree.load("b.gputree").to_bytes()


def test_no_depth_limit_gives_pure_leaves(run, numbers):
    text = run("train", "digits", "--max-depth", "none", "--test-share", 0)
    assert numbers(text, "accuracy") == [1.0]
    assert numbers(text, "fitted")[0] > 5
    assert "held out" not in text


def test_an_ensemble_shows_its_features_by_importance(run):
    text = run("train", "wine", "--model", "forest", "--n-estimators", 7)
    model = gputree.load("wine.gputree")
    best = model.schema_.names[model.feature_importances_.argmax()]
    assert re.search(rf"\nfeatures by importance\n  {re.escape(best)} +[\d.]+%\n", text)
    assert "fitted    RandomForestClassifier: trees 7, depth " in text


# Scores


def test_folds_give_a_mean_and_its_standard_error(run, bundled):
    found = json.loads(run("train", "iris", "--folds", 4, "--seed", 5, "--json"))
    X, y = bundled("iris")
    each = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=5).split(y, y):
        model = DecisionTreeClassifier(max_depth=5).fit(X.take(train), y[train])
        each.append(np.mean(model.predict(X.take(test)) == y[test]))
    told = found["scores"]["folds"]["accuracy"]
    assert told["each"] == pytest.approx(each)
    assert told["mean"] == pytest.approx(np.mean(each))
    assert told["standard_error"] == pytest.approx(np.std(each, ddof=1) / 2)
    # The model itself has seen all rows.
    assert found["rows"] == {"training": 150, "held_out": 0}
    expected = DecisionTreeClassifier(max_depth=5).fit(X, y)
    assert gputree.load("iris.gputree").to_bytes() == expected.to_bytes()
    text = run("train", "iris", "--folds", 4, "--seed", 5)
    assert re.search(r"^accuracy  0\.\d{3} ± 0\.\d{3} on 4 folds \(mean and", text, re.MULTILINE)


def test_weights_count_in_the_fit_and_in_the_scores(run, csv_file, numbers):
    rows = [(0, "a", 3), (0, "b", 1), (1, "b", 1), (1, "b", 1)]
    csv_file("t.csv", "x,y,w", rows)
    text = run("train", "t.csv", "--target", "y", "--weight", "w", "--test-share", 0)
    assert gputree.load("t.gputree").schema_.names == ("x",)
    assert gputree.load("t.gputree").nodes_.value[0].tolist() == [3, 3]
    assert numbers(text, "accuracy") == [0.833]


def test_rare_classes_are_held_out_without_regard_to_class(run, csv_file):
    csv_file("t.csv", "a,y", [(at, "rare" if at == 3 else "x") for at in range(20)])
    assert "15 to train on, 5 held out (drawn at random, seed 0)" in run("train", "t.csv")
    csv_file("t.csv", "a,y", [(at, "yx"[at < 10]) for at in range(20)])
    text = run("train", "t.csv")
    assert "15 to train on, 5 held out (stratified by class, seed 0)" in text


def test_scores_are_those_of_scikit_learn_beside_a_baseline(run, bundled):
    found = json.loads(run("train", "breast_cancer", "--seed", 3, "--json"))
    X, y = bundled("breast_cancer")
    _, others = train_test_split(np.arange(len(y)), test_size=0.25, random_state=3, stratify=y)
    model = gputree.load("breast_cancer.gputree")
    share, predicted = model.predict_proba(X.take(others)), model.predict(X.take(others))
    true = y[others]
    expected = {
        "accuracy": metrics.accuracy_score(true, predicted),
        "auc": metrics.roc_auc_score(true, share[:, 1]),
        "log_loss": metrics.log_loss(true, share),
    }
    assert found["scores"]["held_out"] == pytest.approx(expected)
    assert found["confusion"]["counts"] == metrics.confusion_matrix(true, predicted).tolist()
    assert found["scores"]["baseline"] == {
        "on": "held_out",
        "prediction": "benign",
        "accuracy": pytest.approx(np.mean(true == "benign")),
    }
    found = json.loads(run("train", "wine", "--test-share", 0, "--max-depth", 1, "--json"))
    X, y = bundled("wine")
    share = gputree.load("wine.gputree").predict_proba(X)
    area = metrics.roc_auc_score(y, share, multi_class="ovr")
    assert found["scores"]["training"]["auc"] == pytest.approx(area)
    found = json.loads(run("train", "diabetes", "--test-share", 0, "--json"))
    _, y = bundled("diabetes")
    assert found["scores"]["baseline"]["rmse"] == pytest.approx(np.std(y))
    assert found["scores"]["baseline"]["prediction"] == pytest.approx(y.mean())


def test_a_model_that_is_no_better_than_a_guess_is_told(csv_file, capsys):
    random = np.random.default_rng(5)
    rows = [(f"{a:.3f}", "yes" if b > 0.8 else "no") for a, b in random.random((300, 2))]
    csv_file("t.csv", "a,y", rows)
    assert main(["train", "t.csv"]) == 0
    said = capsys.readouterr().err
    assert re.search(
        r"look here: the model is no better than a guess: accuracy 0\.\d+ on held-out rows, and "
        r"0\.\d+ by always predicting 'no'\n",
        said,
    )
    csv_file("t.csv", "a,y", [(at, "no") for at in range(30)])
    assert main(["train", "t.csv"]) == 0
    said = capsys.readouterr().err
    assert "the target 'y' is 'no' in all rows of the training, so that nothing can be" in said


def test_whole_numbers_that_hardly_repeat_are_told_where_they_count_most(csv_file, capsys):
    rows = [(1000 + at * 4 // 5, "no" if at < 100 else "yes") for at in range(200)]
    csv_file("t.csv", "account,y", rows)
    assert main(["train", "t.csv"]) == 0
    said = capsys.readouterr().err
    assert "look here: 'account' counts most, and has 160 whole numbers in 200 rows; if" in said


def test_the_limit_of_depth_is_told_where_it_counts(run):
    assert "\ndepth     5 at most, to be readable; --max-depth none lifts" in run("train", "digits")
    assert "\ndepth     " not in run("train", "digits", "--max-depth", 5)
    assert "\ndepth     " not in run("train", "digits", "--max-depth", "none")


def test_one_held_out_row_has_no_variance_to_explain(run, csv_file):
    csv_file("t.csv", "a,y", [(at, at / 2) for at in range(4)])
    text = run("train", "t.csv")
    assert re.search(r"R² +1\.000 on training rows, undefined on held-out rows\n", text)
    assert json.loads(run("train", "t.csv", "--json"))["scores"]["held_out"]["r2"] is None


def test_huge_numbers_print(run, csv_file, numbers):
    csv_file("t.csv", "a,y", [("1e308", 1), ("-1e308", 2), ("inf", 3), ("", 4)])
    assert numbers(run("train", "t.csv", "--test-share", 0), "fitted") == [3, 4]


# JSON


def test_json_is_one_object_with_what_the_text_says(run):
    found = json.loads(run("train", "wine", "--json", "--ignore", "hue"))
    assert set(found) == {
        *("command", "table", "target", "task", "task_reason", "columns", "rows", "scores"),
        *("estimator", "parameters", "shape", "ran_on", "files", "notes", "seconds", "confusion"),
    }
    assert found["table"] == {"name": "wine", "n_rows": 178, "n_features": 12, "n_missing": 0}
    assert found["confusion"]["classes"] == ["class_0", "class_1", "class_2"]
    assert np.sum(found["confusion"]["counts"]) == found["rows"]["held_out"]
    assert set(found["seconds"]) == {"reading", "training", "scoring"}
    assert found["files"] == {"model": "wine.gputree", "report": "wine.html"}
    assert [each["name"] for each in found["columns"] if each["kind"] == "ignored"] == ["hue"]
    assert found["parameters"]["max_depth"] == 5
    assert found["shape"]["leaves"] == gputree.load("wine.gputree").get_n_leaves()


# Ends


@pytest.mark.filterwarnings("default")
def test_a_warning_takes_one_line(monkeypatch, capsys):
    fit = DecisionTreeClassifier.fit

    def warning(self, *arguments):
        warnings.warn("something\nis odd", stacklevel=2)
        return fit(self, *arguments)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", warning)
    assert main(["train", "iris", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "gputree: warning: something is odd\n")


def test_a_full_disk_leaves_the_old_model_and_no_litter(fail, run, folder, files, monkeypatch):
    run("train", "iris")
    old = folder.joinpath("iris.gputree").read_bytes()

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = fail("train", "iris", "--max-depth", 1)
    assert message == "gputree: error: cannot write iris.html: No space left on device\n"
    assert files() == ["iris.gputree", "iris.html"]
    assert folder.joinpath("iris.gputree").read_bytes() == old


def test_a_model_that_cannot_be_written_leaves_no_text_either(fail, files, monkeypatch):
    """The text comes first, and waits for the model."""
    written, sync = [], os.fsync

    def full(number):
        written.append(number)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    message = fail("train", "iris")
    assert message == "gputree: error: cannot write iris.gputree: No space left on device\n"
    assert files() == []


def test_an_interrupt_ends_quietly(monkeypatch, capsys, files):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DecisionTreeClassifier, "fit", interrupted)
    assert main(["train", "iris"]) == 130
    assert capsys.readouterr() == ("", "")
    assert files() == []


@pytest.mark.filterwarnings("default")
def test_an_interrupted_ensemble_is_not_saved(monkeypatch, capsys, files):
    """In Python it would keep the trees that are done."""
    from gputree.ensembles import base

    class Stopping(base.Progress):
        def step(self):
            super().step()
            if self.n_done == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(base, "Progress", Stopping)
    assert main(["train", "iris", "--model", "forest"]) == 130
    assert capsys.readouterr() == ("", "")
    assert files() == []


def test_a_bug_is_not_taken_for_a_mistake(monkeypatch):
    def broken(*_):
        raise TypeError("a bug")

    monkeypatch.setattr(DecisionTreeClassifier, "fit", broken)
    with pytest.raises(TypeError, match="a bug"):
        main(["train", "iris"])


def test_too_little_memory_is_told_in_a_line(monkeypatch, capsys, files):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(DecisionTreeClassifier, "fit", full)
    assert main(["train", "iris"]) == 1
    assert capsys.readouterr().err == "gputree: error: not enough memory\n"
    assert files() == []


def test_all_that_may_take_long_has_a_line_on_a_terminal(run, monkeypatch):
    told = []

    def waiting(self, what, *_):
        told.append(what)
        return Waiting(what, is_shown=False)

    monkeypatch.setattr(Output, "waiting", waiting)
    run("train", "iris", "--folds", 2, "-q")
    fold = [f"{what}fold {at} of 2" for at in (1, 2) for what in ("", "scoring ")]
    assert told == ["reading iris", *fold, "training", "scoring", "writing the report"]
