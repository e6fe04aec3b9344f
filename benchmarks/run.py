"""Run gputree's backends beside their peers; write figures, a report and plots.

python benchmarks/run.py --suite quick --repeats 5 --out benchmarks/results
"""

import argparse
import datetime
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import figures
import machine
import plots
import report
from cases import SUITES, Case, read_suite
from contestants import OURS, PEERS, Contestant, Job, available_cores, find, gputree_with
from measure import Plan, measure
from progress import Progress
from tables import REAL_TABLES, NoTable, Table


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 1 where models differ in bytes or gputree failed."""
    options = read_options(argv)
    if options.list:
        list_suites()
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    results = run(options) if options.render is None else figures.load(options.render)
    drawn = plots.draw(results, options.out)
    report.write(results, drawn, options.out / "report.md")
    print(report.summary(results))
    print(*report.backends(results)[1:], sep="\n")
    print(f"written to {options.out}: {', '.join(sorted(p.name for p in options.out.iterdir()))}")
    found = figures.problems(results)
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if found else 0


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--suite", default="quick", help="suites or cases, separated by commas")
    parser.add_argument("--list", action="store_true", help="list suites and cases, and end")
    parser.add_argument("--repeats", type=int, default=5, help="warm rounds (default: 5)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--threads", type=int, default=available_cores(), help="default: all cores")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds a contestant and case")
    parser.add_argument("--slow", action="store_true", help="let slow contestants run on anything")
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--backends", help="only gputree, by these backends: numpy, numba, cuda, ...")
    who.add_argument("--contestants", help="only these, by name")
    parser.add_argument(
        "--compile-each",
        action="store_true",
        help="time compiling in every case, not only in the first of classes and of a regression",
    )
    parser.add_argument("--data", type=Path, default=REAL_TABLES, help="folder of Parquet files")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--render", type=Path, help="write the report of these results again")
    options = parser.parse_args(argv)
    try:
        options.cases, options.who = read_suite(options.suite), contestants(options)
    except ValueError as error:
        parser.error(str(error))
    for name in ("repeats", "threads"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1")
    return options


def contestants(options: argparse.Namespace) -> list[Contestant]:
    """Who takes part, as the options say."""
    if options.backends is not None:
        return [gputree_with(backend) for backend in options.backends.split(",")]
    if options.contestants is not None:
        return [find(name) for name in options.contestants.split(",")]
    return [*OURS, *PEERS]


def list_suites() -> None:
    for name, cases in SUITES.items():
        print(f"{name}: {', '.join(case.name for case in cases)}")
    print(f"contestants: {', '.join(each.name for each in (*OURS, *PEERS))}")


def run(options: argparse.Namespace) -> figures.Results:
    """Measure every case; what is known is on disk after each."""
    results: figures.Results = {
        "date": options.date,
        "machine": machine.describe(each.distribution for each in options.who),
        "options": {
            name: getattr(options, name)
            for name in ("suite", "repeats", "threads", "limit", "slow", "backends", "contestants")
        },
        "cases": [],
    }
    progress = Progress(len(options.cases))
    with tempfile.TemporaryDirectory(prefix="gputree-cache-") as caches:
        for case in options.cases:
            progress.begin(case.name)
            results["cases"].append(run_case(case, options, Path(caches), progress))
            figures.save(results, options.out / "results.json")
            progress.end()
    return results


def run_case(
    case: Case, options: argparse.Namespace, caches: Path, progress: Progress
) -> figures.CaseResult:
    threads = case.threads or options.threads
    if threads > available_cores():
        reason = f"{threads} threads are more than the {available_cores()} cores"
        return {"name": case.name, "skipped": reason}
    try:
        table = case.load(options.data)
    except NoTable as error:
        return {"name": case.name, "skipped": str(error)}
    n_rows, n_features = table.X.shape
    job = Job(n_rows, n_features, table.n_classes, case.depth, threads)
    plan = Plan(options.repeats, limit=options.limit, allow_slow=options.slow)
    cache = cache_of(case, job, options, caches)
    others = machine.Others()
    found = measure(table, job, options.who, plan, cache, progress.tell)
    return {
        **about(case, job, table),
        "others_share": others.share(),
        "bytes": figures.same_bytes(found),
        "contestants": found,
    }


def cache_of(case: Case, job: Job, options: argparse.Namespace, caches: Path) -> Path:
    """A folder for machine code: one for classes and one for values, or one a case."""
    shared = "classes" if job.n_classes else "values"
    folder = caches / (case.name if options.compile_each else shared)
    folder.mkdir(exist_ok=True)
    return folder


def about(case: Case, job: Job, table: Table) -> dict[str, Any]:
    return {
        "name": case.name,
        "table": case.table,
        "rows": job.n_rows,
        "features": job.n_features,
        "classes": job.n_classes,
        "depth": case.depth,
        "threads": case.threads,
        "test_rows": len(table.y_test),
    }


if __name__ == "__main__":
    sys.exit(main())
