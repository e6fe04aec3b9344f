"""The command line: what it prints and writes, and how it ends."""

import errno
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

import gputree
from gputree import DecisionTreeClassifier, DecisionTreeRegressor, cli
from gputree.cli import main
from gputree.tables import BUNDLED, load_bundled

COMMAND = (sys.executable, "-m", "gputree")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def files(folder):
    return lambda: sorted(path.name for path in folder.iterdir())


@pytest.fixture
def run(capsys):
    """Run a command that succeeds; what it prints."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert (status, printed.err) == (0, "")
        return printed.out

    return run


@pytest.fixture
def fail(capsys):
    """Run a command that fails; its message, checked to be all that is said."""

    def fail(*arguments):
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert (status, printed.out) == (2, "")
        assert re.fullmatch(r"gputree: error: [^\n]+\n", printed.err)
        return printed.err

    return fail


def numbers(text, name):
    """The numbers in the line of a fact."""
    (line,) = re.findall(rf"^{name} +(.*)$", text, re.MULTILINE)
    return [float(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*\.?\d*", line)]


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
def test_a_bundled_table_gives_an_accurate_tree(run, files, name, n_held_out, training, held_out):
    text = run("train", name)
    assert files() == [f"{name}.gputree", f"{name}.txt"]
    table = load_bundled(name)
    n_rows, n_features = table.X.shape
    assert f"{name}: {n_rows:,} rows, {n_features} features\n" in text
    assert "task      classification: as the bundled table says\n" in text
    assert numbers(text, "rows") == [n_rows - n_held_out, n_held_out, 0]
    accuracy = numbers(text, "accuracy")
    assert accuracy[0] >= training
    assert 0.99 >= accuracy[1] >= held_out
    model = gputree.load(f"{name}.gputree")
    n_right = np.count_nonzero(model.predict(table.X) == table.target("classification"))
    expected = accuracy[0] * (n_rows - n_held_out) + accuracy[1] * n_held_out
    assert n_right == pytest.approx(expected, abs=0.0005 * n_rows)


def test_a_bundled_regression_gives_its_errors(run, files):
    text = run("train", "diabetes", "--min-samples-leaf", 15)
    assert files() == ["diabetes.gputree", "diabetes.txt"]
    table = load_bundled("diabetes")
    explained, error = numbers(text, "R²"), numbers(text, "RMSE")
    assert 0.5 < explained[0] < 0.7
    assert 0.1 < explained[1] < 0.5
    squares = error[0] ** 2 * 331 + error[1] ** 2 * 111
    predicted = gputree.load("diabetes.gputree").predict(table.X)
    assert ((predicted - table.y) ** 2).sum() == pytest.approx(squares, rel=0.001)


@pytest.mark.parametrize("name", BUNDLED)
def test_the_saved_model_is_the_one_that_was_printed(run, name):
    text = run("train", name, "--test-share", 0, "--max-depth", 3)
    table = load_bundled(name)
    kinds = {"classification": DecisionTreeClassifier, "regression": DecisionTreeRegressor}
    expected = kinds[table.task](max_depth=3).fit(table.X, table.target(table.task))
    model = gputree.load(f"{name}.gputree")
    assert np.array_equal(model.predict(table.X), expected.predict(table.X))
    names = table.feature_names
    assert any(
        expected.export_text(feature_names=names, decimals=decimals)
        == model.export_text(decimals=decimals)
        and f"\n\n{model.export_text(decimals=decimals)}\n\n" in text
        for decimals in (2, 3, 4)
    )
    assert numbers(text, "tree") == [model.get_depth(), model.get_n_leaves()]


def test_the_tree_reads_in_names(run):
    text = run("train", "iris", "--max-depth", 1, "--test-share", 0)
    assert "\npetal length (cm) <= 2.45: class setosa (50 rows, 100.0%)\n" in text


def test_small_numbers_are_printed_with_more_decimals(run, folder):
    folder.joinpath("t.csv").write_text("a,y\n1e-5,no\n2e-5,no\n3e-5,yes\n4e-5,yes\n")
    text = run("train", "t.csv", "--test-share", 0)
    assert "\na <= 0.0000250: class no (2 rows, 100.0%)\n" in text


def test_the_report_is_the_printed_text_and_the_same_every_time(run, folder):
    text = run("train", "wine")
    report = folder.joinpath("wine.txt").read_text(encoding="utf-8")
    assert text == report + "\nmodel     wine.gputree\nreport    wine.txt\n"
    model = folder.joinpath("wine.gputree").read_bytes()
    assert run("train", "wine") == text
    assert folder.joinpath("wine.gputree").read_bytes() == model


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_decides_which_rows_are_held_out_of_each_class(run, seed):
    text = run("train", "wine", "--seed", seed, "--test-share", 0.5)
    assert f"89 to train on, 89 held out (the same share of each class, seed {seed})\n" in text
    table = load_bundled("wine")
    y = table.target("classification")
    rows, _ = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
    expected = DecisionTreeClassifier(max_depth=5).fit(table.X[rows], y[rows])
    model = gputree.load("wine.gputree")
    assert model.export_text() == expected.export_text(feature_names=table.feature_names)
    assert model.random_state == seed


def test_quiet_prints_nothing_and_writes_both_files(run, files):
    assert run("train", "iris", "--quiet") == ""
    assert files() == ["iris.gputree", "iris.txt"]


def test_files_go_where_they_are_asked_to(run, files, folder):
    folder.joinpath("sub").mkdir()
    text = run("train", "iris", "--output", "sub/one.model")
    assert "\nreport    " + os.path.join("sub", "one.txt") in text
    run("train", "iris", "--output", "two", "--report", "three")
    assert files() == ["sub", "three", "two"]
    assert sorted(os.listdir("sub")) == ["one.model", "one.txt"]


def test_options_reach_the_tree(run):
    options = {"max_depth": 2, "min_samples_leaf": 0.1, "max_bins": 16, "criterion": "entropy"}
    arguments = [
        part for name, value in options.items() for part in ("--" + name.replace("_", "-"), value)
    ]
    text = run("train", "wine", *arguments, "--device", "cpu", "--backend", "numpy")
    params = gputree.load("wine.gputree").get_params()
    assert {name: params[name] for name in options} == options
    assert "ran on    cpu with numpy (backend='numpy' was asked for)\n" in text


def test_no_depth_limit_gives_pure_leaves(run):
    text = run("train", "digits", "--max-depth", "none", "--test-share", 0)
    assert numbers(text, "accuracy") == [1.0]
    assert numbers(text, "tree")[0] > 5
    assert "held out" not in text


# CSV files


def write_csv(path, header, rows):
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_csv_file_with_missing_cells_trains(run, folder, files):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2)).round(3)
    label = np.where(X[:, 0] > 0.1, "high", "low")
    cells = X.astype(str)
    cells[random.random(X.shape) < 0.1] = "NA"
    cells[5] = ["", "?"]
    folder.joinpath("in").mkdir()
    write_csv(folder / "in" / "my.data.csv", ["größe", "b", "y"], np.column_stack([cells, label]))
    text = run("train", "in/my.data.csv")
    assert files() == ["in", "my.data.gputree", "my.data.txt"]
    n_missing = np.isin(cells, ["NA", "", "?"]).sum()
    assert f"table     my.data: 200 rows, 2 features, {n_missing} missing cells\n" in text
    assert re.search(r"task +classification: the target 'y' holds text: '(low|high)' on line", text)
    assert numbers(text, "accuracy")[1] > 0.85
    assert "größe <= 0.1" in text
    assert gputree.load("my.data.gputree").predict([[-3, np.nan], [3, 0]]).tolist() == [
        "low",
        "high",
    ]


def test_the_task_of_a_csv_file_can_be_overridden(run, folder):
    write_csv(folder / "t.csv", ["y", "a"], [(at // 10, at) for at in range(40)])
    text = run("train", "t.csv", "--target", "y")
    assert "task      classification: the target 'y' holds whole numbers, 4 distinct" in text
    assert isinstance(gputree.load("t.gputree"), DecisionTreeClassifier)
    assert gputree.load("t.gputree").predict([[35]]).tolist() == [3]
    text = run("train", "t.csv", "--target", "y", "--task", "regression")
    assert "task      regression: as --task says\n" in text
    assert isinstance(gputree.load("t.gputree"), DecisionTreeRegressor)


def test_rare_classes_are_held_out_without_regard_to_class(run, folder):
    write_csv(folder / "t.csv", ["a", "y"], [(at, "rare" if at == 3 else "x") for at in range(20)])
    assert "15 to train on, 5 held out (drawn from all rows, seed 0)" in run("train", "t.csv")
    write_csv(folder / "t.csv", ["a", "y"], [(at, "yx"[at < 10]) for at in range(20)])
    text = run("train", "t.csv")
    assert "15 to train on, 5 held out (the same share of each class, seed 0)" in text


def test_one_held_out_row_has_no_variance_to_explain(run, folder):
    write_csv(folder / "t.csv", ["a", "y"], [(at, at / 2) for at in range(4)])
    text = run("train", "t.csv")
    assert re.search(r"R² +1\.000 on training rows, undefined on held-out rows\n", text)


def test_a_table_of_one_row_and_huge_numbers_prints(run, folder):
    write_csv(folder / "t.csv", ["a", "y"], [(1, 1)])
    text = run("train", "t.csv", "--test-share", 0)
    assert "t: 1 row, 1 feature\n" in text
    assert "tree      depth 0, leaves 1\n" in text
    write_csv(folder / "t.csv", ["a", "y"], [("1e308", 1), ("-1e308", 2), ("inf", 3), ("", 4)])
    assert numbers(run("train", "t.csv", "--test-share", 0), "tree") == [3, 4]


@pytest.mark.filterwarnings("default")
def test_a_warning_takes_one_line(capsys):
    assert main(["train", "diabetes", "--task", "classification", "--quiet"]) == 0
    assert re.fullmatch(r"gputree: warning: [^\n]*unique classes[^\n]*\n", capsys.readouterr().err)


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "required: TABLE; see gputree train --help"),
        (["grow"], "invalid choice: 'grow'"),
        (["train", "iris", "--depth", "3"], "unrecognized arguments: --depth 3"),
        (["train", "irises"], "'irises' is neither a file nor a bundled table (iris, wine,"),
        (["train", "nowhere/t.csv"], "'nowhere/t.csv' is neither a file"),
        (["train", "."], ". is a folder; name a file in it"),
        (["train", "iris", "--target", "y"], "--target is for files"),
        (["train", "iris", "--task", "ranking"], "invalid choice: 'ranking'"),
        (["train", "iris", "--criterion", "mse"], "criterion='mse' is unknown; choose from"),
        (["train", "diabetes", "--criterion", "gini"], "criterion='gini' is unknown"),
        (["train", "iris", "--max-depth", "deep"], "'deep' is not an integer or none"),
        (["train", "iris", "--max-depth", "0"], "max_depth=0: an integer of at least 1"),
        (["train", "iris", "--min-samples-leaf", "few"], "'few' is not an integer, or a share"),
        (["train", "iris", "--min-samples-leaf", "1.5"], "min_samples_leaf=1.5"),
        (["train", "iris", "--max-bins", "1"], "max_bins=1"),
        (["train", "iris", "--max-bins", "x"], "--max-bins: invalid int value: 'x'"),
        (["train", "iris", "--test-share", "1"], "1 is outside 0 <= SHARE < 1"),
        (["train", "iris", "--test-share", "nan"], "nan is outside 0 <= SHARE < 1"),
        (["train", "iris", "--test-share", "half"], "'half' is not a number from 0"),
        (["train", "iris", "--test-share", "0.999"], "leaves none to train on"),
        (["train", "iris", "--seed", "-1"], "-1 is outside 0..4294967295"),
        (["train", "iris", "--seed", "x"], "'x' is not an integer"),
        (["train", "iris", "--device", "gpu"], "device='gpu' is unknown"),
        (["train", "iris", "--device", "cuda:9999"], "device='cuda:9999'"),
        (["train", "iris", "--backend", "jax"], "backend='jax' is unknown"),
        (["train", "iris", "--output", "no/x"], "--output no/x: there is no folder no"),
        (["train", "iris", "--report", "no/x"], "--report no/x: there is no folder no"),
        (["train", "iris", "--output", "."], "--output . is a folder"),
        (["train", "iris", "--output", "x.txt"], "model and report cannot both be x.txt"),
        (["doctor", "--device", "cpu"], "--device: 'cpu' is not cuda or cuda:N"),
        (["doctor", "iris"], "unrecognized arguments: iris"),
    ],
)
def test_a_mistake_is_told_in_a_line_and_leaves_no_file(fail, files, arguments, message):
    assert message.replace("/", os.sep) in fail(*arguments).replace("/", os.sep)
    assert files() == []


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a,y\n1\n", [], "t.csv: line 2 has 1 cells, the header has 2"),
        ("", [], "t.csv is empty"),
        ("a,a\n1,2\n", [], "several columns named 'a'"),
        ("a,y\n1,2\n", ["--target", "z"], "t.csv has no column 'z'"),
        ("a,y\n1,2\n", [], "--test-share 0.25 of 1 row leaves none to train on"),
        ("a,y\n1,x\n2,y\n", ["--task", "regression"], "regression needs numbers"),
        ("a,y\n1,.5\n2,1\n3,1\n", ["--task", "classification"], "Unknown label type: continuous"),
        ("a,y\n1,2\n", ["--output", "t.csv"], "t.csv is the table itself"),
        ("a,y\n1,2\n", ["--report", "./t.csv"], "t.csv is the table itself"),
    ],
)
def test_a_mistake_in_a_csv_file_leaves_it_alone(fail, files, folder, text, arguments, message):
    path = folder / "t.csv"
    path.write_text(text)
    assert message in fail("train", "t.csv", *arguments)
    assert files() == ["t.csv"]
    assert path.read_text() == text


def test_columns_of_text_are_categories_and_empty_ones_are_never_tested(run, folder):
    rows = ["red,1,,a", "red,2,,a", "blue,3,,b", "green,NA,,b", "?,4,,b", "red,5,,a", "blue,6,,b"]
    folder.joinpath("t.csv").write_text("\n".join(["colour,size,none,y", *rows]))
    text = run("train", "t.csv", "--test-share", 0)
    assert "\ntext      taken for categories in colour\n" in text
    assert ": 7 rows, 3 features, 9 missing cells\n" in text
    model = gputree.load(folder / "t.gputree")
    assert model.schema_.levels == (("blue", "green", "red"), None, None)
    assert model.tree_.feature[~model.tree_.is_leaf].tolist() == [0]
    assert model.predict([["red", 9.0, None], ["green", 0.0, None]]).tolist() == ["a", "b"]


def test_a_default_name_never_replaces_the_table(fail, folder, files):
    folder.joinpath("t.txt").write_text("a,y\n1,2\n3,4\n")
    assert "t.txt is the table itself; choose another file with --report" in fail("train", "t.txt")
    folder.joinpath("link.csv").symlink_to("t.txt")
    assert "t.txt is the table itself" in fail("train", "link.csv", "--output", "t.txt")
    assert files() == ["link.csv", "t.txt"]


def test_a_full_disk_leaves_the_old_model_and_no_litter(fail, run, folder, files, monkeypatch):
    run("train", "iris")
    old = folder.joinpath("iris.gputree").read_bytes()

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = fail("train", "iris", "--max-depth", 1)
    assert message == "gputree: error: cannot write iris.gputree: No space left on device\n"
    assert files() == ["iris.gputree", "iris.txt"]
    assert folder.joinpath("iris.gputree").read_bytes() == old


def test_an_interrupt_ends_quietly(monkeypatch, capsys, files):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DecisionTreeClassifier, "fit", interrupted)
    assert main(["train", "iris"]) == 130
    assert capsys.readouterr() == ("", "")
    assert files() == []


def test_a_bug_is_not_taken_for_a_mistake(monkeypatch):
    def broken(*_):
        raise TypeError("a bug")

    monkeypatch.setattr(DecisionTreeClassifier, "fit", broken)
    with pytest.raises(TypeError, match="a bug"):
        main(["train", "iris"])


def test_what_a_stream_cannot_encode_is_escaped(monkeypatch, folder):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["train", "diabetes", "--max-depth", "1"]) == 0
    assert b"\nR\\xb2 " in raw.getvalue()
    assert "\nR² " in folder.joinpath("diabetes.txt").read_text(encoding="utf-8")


# The program


def test_alone_it_prints_help_and_fails(capsys):
    assert main([]) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith("usage: gputree ")
    assert printed.err == ""


def test_help_has_examples_that_run(run):
    for arguments in (["--help"], ["train", "--help"]):
        assert "  gputree train iris\n" in run(*arguments)
    examples = re.findall(r"^  gputree (train (?:iris|diabetes).*)$", run("--help"), re.MULTILINE)
    assert len(examples) == 2
    for example in examples:
        run(*example.split())


def test_version_is_the_packages(run):
    assert run("--version") == f"gputree {gputree.__version__}\n"


def test_it_runs_as_a_module(folder, files):
    done = subprocess.run([*COMMAND, "train", "iris"], capture_output=True, cwd=folder, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"table     iris: 150 rows, 4 features")
    assert files() == ["iris.gputree", "iris.txt"]
    done = subprocess.run([*COMMAND, "train", "no"], capture_output=True, cwd=folder, timeout=300)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gputree: error: 'no' is neither")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a closed pipe is another error elsewhere")
@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [(["train", "iris"], ""), (["train", "iris"], "1"), (["train", "--help"], "")],
)
def test_a_closed_pipe_ends_quietly_and_keeps_the_model(folder, files, arguments, unbuffered):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        timeout=300,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
    assert files() == (["iris.gputree", "iris.txt"] if "iris" in arguments else [])


def test_bench_times_backends_and_peers_on_a_table(capsys):
    assert main(["bench", "iris", "--backends", "numpy,numba", "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert all(
        name in out for name in ("gputree-numpy", "gputree-numba", "sklearn-exact", "sklearn-hist")
    )


def test_bench_refuses_an_unknown_backend_in_a_line(capsys):
    assert main(["bench", "iris", "--backends", "abacus", "--repeats", "1"]) == 2
    assert "abacus" in capsys.readouterr().err


# gputree doctor


def test_the_doctor_says_what_is_there_and_what_is_missing(run, files):
    text = run("doctor")
    for name in ("gputree", "Python", "numpy", "numba", "numba-cuda", "CuPy", "torch", "driver"):
        assert re.search(rf"^{name} +\S", text, re.MULTILINE), name
    assert re.search(r"^auto +1,000 rows x 10 features: numpy on cpu \(", text, re.MULTILINE)
    assert re.search(r"^auto +10,000,000 rows x 28 features: ", text, re.MULTILINE)
    assert "\nself-test  not run\n" in text
    assert "\nkernels    not measured: CUDA is simulated" in text
    assert files() == []


def test_the_doctor_says_the_same_as_json(run):
    found = json.loads(run("doctor", "--json"))
    assert f"{cli.as_text(found)}\n" == run("doctor")
    assert found["versions"]["gputree"] == gputree.__version__
    assert (found["selftest"], found["kernels"]) == (None, None)


@pytest.mark.parametrize(("passed", "status"), [(True, 0), (False, 1)])
def test_the_doctor_fails_where_a_device_computes_something_else(
    monkeypatch, capsys, passed, status
):
    found = cli.diagnose()
    check = {"name": "histogram", "passed": passed, "detail": "7 instead of 5"}
    found["selftest"] = {"device": "cuda:0", "passed": passed, "checks": [check]}
    monkeypatch.setattr(cli, "diagnose", lambda device: found)
    assert main(["doctor"]) == status
    assert ("FAILED, 1 of 1 checks" in capsys.readouterr().out) == (not passed)


def test_the_doctor_explains_a_machine_without_a_gpu(folder):
    """In a process of its own, where nothing is simulated."""
    done = subprocess.run(
        [*COMMAND, "doctor"],
        capture_output=True,
        cwd=folder,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "0", "CUDA_VISIBLE_DEVICES": ""},
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\ncards      none: " in done.stdout
    assert b"\nself-test  not run\nkernels    not measured: " in done.stdout
