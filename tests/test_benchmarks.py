"""The suite in benchmarks/: cases by name, rules, curves, and one small run from end to end."""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = [path.stem for path in sorted(FOLDER.glob("*.py"))]

pytestmark = pytest.mark.skipif(not MODULES, reason="needs the benchmarks/ of a checkout")


@pytest.fixture(scope="module")
def suite():
    """The modules of the suite, which import one another by their bare names."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(FOLDER))
        for name in MODULES:
            sys.modules.pop(name, None)


def outcome(suite, out):
    """Two small cases, with two backends and one peer."""
    status = suite.run.main(
        [
            *("--suite", "500x5-3c-d3,500x5-reg-full,500x5-2c-d3-t4096"),
            *("--contestants", "gputree-numpy,gputree-array_api_strict,sklearn-exact"),
            *("--repeats", "1", "--out", str(out), "--date", "2001-02-03"),
        ]
    )
    report = (out / "report.md").read_text(encoding="utf-8")
    return status, json.loads((out / "results.json").read_text(encoding="utf-8")), report


# Cases


def test_a_case_is_told_by_its_name(suite):
    case = suite.cases.read_case("30kx28-10c-d8-t2")
    assert (case.rows, case.features, case.classes) == (30_000, 28, 10)
    assert (case.depth, case.threads, case.table) == (8, 2, None)
    case = suite.cases.read_case("2Mx7-reg-full")
    assert (case.rows, case.classes, case.depth, case.threads) == (2_000_000, 0, None, None)
    assert suite.cases.read_case("adult-d8").table == "adult"


@pytest.mark.parametrize("name", ["fast", "10kx20", "10kx20-1c-d8", "0x20-2c-d8", "10kx0-2c-d8"])
def test_a_name_that_means_nothing_is_an_error(suite, name):
    with pytest.raises(ValueError, match="neither a suite nor a case"):
        suite.cases.read_case(name)


def test_suites_name_each_case_once(suite):
    cases = suite.cases.read_suite("quick,10kx20-2c-d8,rows")
    names = [case.name for case in cases]
    assert len(names) == len(set(names))
    assert {"10kx20-2c-full", "5Mx28-2c-d8"} <= set(names)
    everything = {case.name for case in suite.cases.SUITES["full"]}
    assert all({case.name for case in each} <= everything for each in suite.cases.SUITES.values())


def test_a_table_is_the_same_every_time_and_holds_rows_out(suite):
    one, other = (suite.tables.generated(300, 4, 3, 50) for _ in range(2))
    assert np.array_equal(one.X, other.X)
    assert np.array_equal(one.y_test, other.y_test)
    assert one.X.dtype == np.float32
    assert (one.X.shape, one.X_test.shape) == ((300, 4), (50, 4))
    assert np.unique(one.y).tolist() == [0, 1, 2]


def test_a_real_table_that_is_not_there_is_told(suite, tmp_path):
    with pytest.raises(suite.tables.NoTable, match=r"no file adult\.parquet"):
        suite.tables.real("adult", tmp_path)


def test_a_real_table_becomes_numbers(suite, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "a": [1.5, None, 3.0, 4.0, 5.0],
        "b": pyarrow.array(["x", "y", None, "x", "y"]).dictionary_encode(),
        "nothing": pyarrow.array([None] * 5, pyarrow.float64()),
        "target": pyarrow.array(["no", "yes", "no", "yes", "no"]).dictionary_encode(),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    table = suite.tables.real("t", tmp_path)
    X = np.vstack([table.X, table.X_test])
    assert X.shape == (5, 2)
    assert np.isnan(X).sum(axis=0).tolist() == [1, 1]
    assert sorted(X[:, 0][~np.isnan(X[:, 0])]) == [1.5, 3.0, 4.0, 5.0]
    assert set(X[:, 1][~np.isnan(X[:, 1])]) == {0.0, 1.0}
    assert (table.n_classes, len(table.y), len(table.y_test)) == (2, 4, 1)


# Rules


def test_who_sits_out_has_a_reason(suite):
    contestants = suite.contestants
    job = contestants.Job(1_000_000, 28, 2, 8, 1)
    exact = contestants.find("sklearn-exact")
    assert "--slow" in exact.reason_to_skip(job, allow_slow=False)
    assert exact.reason_to_skip(job, allow_slow=True) is None
    alone = contestants.find("gputree-numba-1").reason_to_skip(job, allow_slow=False)
    assert alone == "the same as gputree-numba here"
    absent = contestants.Contestant("other", "no-such-distribution", lambda job: None)
    assert "pip install no-such-distribution" in absent.reason_to_skip(job, allow_slow=False)


def test_an_unknown_contestant_is_an_error(suite):
    with pytest.raises(ValueError, match="'catboost' is no contestant"):
        suite.contestants.find("catboost")
    assert suite.contestants.find("gputree-torch@cuda").on_gpu
    assert suite.contestants.find("gputree-numba-4").threads == 4
    assert not suite.contestants.find("gputree-numba").on_gpu


# Curves


def test_the_slope_of_a_power_law_is_its_exponent(suite):
    curve = [(size, 3.0 * size**1.5) for size in (10, 100, 1000)]
    assert suite.curves.slope(curve) == pytest.approx(1.5)
    assert suite.curves.slope(curve[:1]) is None


def test_curves_cross_where_one_falls_below_the_other_for_good(suite):
    crossing = suite.curves.crossing
    slow = [(size, size / 1000) for size in (10, 100, 1000, 10_000)]
    flat = [(size, 0.5) for size, _ in slow]
    assert crossing(slow, flat) == pytest.approx(500)
    assert crossing(flat, slow) is None
    assert crossing(flat, [(size, 0.1) for size, _ in slow]) == 10
    assert crossing(slow, []) is None


# A whole run


def test_a_small_run_from_end_to_end(suite, tmp_path):
    """One test, so that it runs once, however many processes test."""
    pytest.importorskip("array_api_strict")
    status, results, report = outcome(suite, tmp_path)
    assert status == 0
    models_agree(results)
    every_contestant_has_figures(results)
    the_report_shows_them(results, report)
    models_that_differ_are_a_problem(suite, results)
    sweeps_and_crossings_are_read_off(suite, results)


def models_agree(results):
    assert results["date"] == "2001-02-03"
    assert results["machine"]["libraries"]["scikit-learn"]
    classes, values, skipped = results["cases"]
    assert (classes["name"], classes["classes"], classes["depth"]) == ("500x5-3c-d3", 3, 3)
    assert (values["classes"], values["depth"]) == (0, None)
    assert "4096 threads" in skipped["skipped"]
    for case in (classes, values):
        both = ["gputree-numpy", "gputree-array_api_strict"]
        assert case["bytes"] == {"equal": True, "compared": both}


def every_contestant_has_figures(results):
    for case in results["cases"][:2]:
        assert list(case["contestants"]) == [
            "gputree-numpy",
            "gputree-array_api_strict",
            "sklearn-exact",
        ]
        for each in case["contestants"].values():
            assert each["status"] == "measured"
            for verb in ("import", "first", "fit", "predict"):
                times = each["seconds"][verb]
                assert 0 < times["min"] <= times["median"] <= times["max"]
            assert each["bytes"] >= 0
            assert 0.0 < each["score"] < 1.0
            assert each["leaves"] > 4


def the_report_shows_them(results, report):
    assert report.startswith("# Benchmark of 2001-02-03\n")
    for case in results["cases"]:
        assert f"### {case['name']}\n" in report
    (line,) = [line for line in report.splitlines() if line.startswith("| 500x5-3c-d3 |")]
    assert "| sklearn-exact |" in line
    assert line.endswith("| yes |")
    assert report.count("| **gputree-numpy** | 1 |") == 2


def models_that_differ_are_a_problem(suite, results):
    results = json.loads(json.dumps(results))
    case = results["cases"][0]
    case["contestants"]["gputree-array_api_strict"]["sha256"] = "0"
    case["bytes"] = suite.figures.same_bytes(case["contestants"])
    assert suite.figures.problems(results) == [
        "500x5-3c-d3: gputree-numpy, gputree-array_api_strict differ in bytes"
    ]
    assert "**NO**" in suite.report.text(results)


def sweeps_and_crossings_are_read_off(suite, results):
    results = json.loads(json.dumps(results))
    first = results["cases"][0]
    first["contestants"]["gputree-array_api_strict"]["on_gpu"] = True  # as if it were
    results["cases"] = [with_rows(first, rows) for rows in (100, 1000, 10_000)]
    (sweep,) = suite.figures.sweeps(results)
    assert (sweep.axis, list(sweep.cases)) == ("rows", [100, 1000, 10_000])
    assert sweep.curve("gputree-numpy") == [(100, 0.1), (1000, 1.0), (10_000, 10.0)]
    text = suite.report.text(results)
    assert "gputree-array_api_strict is faster than gputree-numpy from about 500 rows" in text
    assert "| gputree-numpy | 0.100 | 1.00 | 10.0 | 1.00 |" in text


def with_rows(case, rows):
    """The case as if it had so many rows: the seconds of all but one contestant grow with them."""
    changed = json.loads(json.dumps(case)) | {"rows": rows, "name": f"{rows}x5-3c-d3"}
    for name, each in changed["contestants"].items():
        each["seconds"]["fit"]["median"] = (
            0.5 if name == "gputree-array_api_strict" else rows / 1000
        )
    return changed


def test_a_contestant_over_its_limit_is_stopped_and_the_others_go_on(suite, tmp_path):
    table = suite.tables.generated(100, 3, 2, 10)
    job = suite.contestants.Job(100, 3, 2, 4, 1)
    everyone = [suite.contestants.find(name) for name in ("gputree-numpy", "sklearn-exact")]
    plan = suite.measure.Plan(repeats=1, limit=0.01)
    found = suite.measure.measure(table, job, everyone, plan, tmp_path, lambda what: None)
    assert [each["status"] for each in found.values()] == ["stopped", "stopped"]
    assert found["sklearn-exact"]["reason"] == "over the limit of 0.01 s in the first fit"
    assert not found["sklearn-exact"]["seconds"]


# Held-out quality


def scores(measure, **by_name):
    return {name: {measure: values} for name, values in by_name.items()}


def test_a_difference_counts_when_it_is_larger_than_its_noise(suite):
    judge = suite.quality_report.verdict
    others = [0.80, 0.82, 0.81, 0.83, 0.84]
    steady = [value - 0.01 for value in others]
    found = judge("accuracy", scores("accuracy", gputree=[*steady[:4], 0.831], other=others))
    assert (found.word, found.who) == ("worse", "other")
    assert found.ahead == pytest.approx(-0.0098)
    noisy = [0.75, 0.86, 0.80, 0.85, 0.79]
    assert judge("accuracy", scores("accuracy", gputree=noisy, other=others)).word == "even"


def test_the_best_of_the_others_follows_the_way_of_the_measure(suite):
    judge = suite.quality_report.verdict
    values = {"gputree": [0.2, 0.21], "low": [0.3, 0.32], "high": [0.5, 0.52]}
    loss, share = (
        judge("log loss", scores("log loss", **values)),
        judge("R²", scores("R²", **values)),
    )
    assert (loss.who, share.who) == ("low", "high")
    assert loss.ahead > 0 > share.ahead


def test_the_standard_error_counts_that_parts_overlap(suite):
    apart = np.array([1.0, 2.0, 3.0, 4.0])  # of variance 5/3; 1/4 held out for each that trains
    expected = np.sqrt((1 / 4 + 1 / 4) * 5 / 3)
    assert suite.quality_report.standard_error(apart) == pytest.approx(expected)


def test_categories_become_numbers_or_columns(suite):
    pandas = pytest.importorskip("pandas")
    category = pandas.Categorical(["b", None, "a"], categories=["a", "b"])
    X = pandas.DataFrame({"x": [1.5, None, 2.0], "level": category})
    numbered, spread = suite.quality_models.numbered(X), suite.quality_models.spread(X)
    np.testing.assert_array_equal(numbered, [[1.5, 1], [np.nan, np.nan], [2, 0]])
    np.testing.assert_array_equal(spread, [[1.5, 0, 1, 0], [np.nan, 0, 0, 1], [2, 1, 0, 0]])


def test_quality_is_measured_and_written_to_a_page(suite, tmp_path, monkeypatch, capsys):
    pandas = pytest.importorskip("pandas")
    for constant in ("FOREST_TREES", "ROUNDS"):
        monkeypatch.setattr(suite.quality_models, constant, 2)
    rng = np.random.default_rng(0)
    number = rng.normal(size=200)
    frame = pandas.DataFrame({"x": number, "z": pandas.Categorical(rng.choice(["u", "v"], 200))})
    frame.assign(target=number).to_parquet(tmp_path / "numbers.parquet")
    label = pandas.Categorical(np.where(number > 0, "yes", "no"))
    frame.assign(target=label).to_parquet(tmp_path / "labels.parquet")
    out, page = tmp_path / "quality.json", tmp_path / "quality.md"
    suite.quality.main(
        [
            *("--tables", "labels,numbers,absent", "--contests", "forest", "--seeds", "2"),
            *("--rows", "150", "--threads", "1", "--data", str(tmp_path), "--out", str(out)),
        ]
    )
    assert "numbers             forest      R²" in capsys.readouterr().out
    results = json.loads(out.read_text(encoding="utf-8"))
    assert list(results["tables"]) == ["labels", "numbers"]
    assert [results["tables"][name]["rows"] for name in results["tables"]] == [150, 150]
    page.write_text("what was there\n\n## Where gputree is behind\n\nNowhere.\n", encoding="utf-8")
    suite.quality.main(["--markdown", str(out), "--page", str(page)])
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Held-out quality\n")
    assert text.endswith("\n\n## Where gputree is behind\n\nNowhere.\n")
    assert "| labels | Brier score |" in text
    assert "| numbers | R² |" in text
    assert "what was there" not in text
