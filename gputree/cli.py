"""The command line: `train` fits one tree, prints it and saves it; `bench` times the backends;
`doctor` says what works on this machine.

Knows options, files and what to print; must not know how tables are read nor how trees grow.
"""

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

from gputree.bench import bench
from gputree.cli_options import make_parser
from gputree.doctor import as_text, diagnose
from gputree.dtypes import HostArray
from gputree.errors import BackendUnavailable
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.tables import BUNDLED, LabelledTable, Task, load_bundled, load_file
from gputree.tree.store import write
from gputree.tree.tree import Split as SplitKind

Model: TypeAlias = DecisionTreeClassifier | DecisionTreeRegressor

# Exit statuses; those of signals are 128 and the signal's number, as in a shell.
FAILED = 1  # a device does not compute what it should
MISTAKE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

MAX_DECIMALS = 12


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; `argv` is without the program's name."""
    try:
        with _warnings_in_a_line():
            status = _run(argv)
        sys.stdout.flush()  # a closed pipe must show here, where it is handled
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # What is still in the buffer would raise again when the interpreter exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (ValueError, OSError, BackendUnavailable) as error:
        _say(f"gputree: error: {_in_a_line(error)}", sys.stderr)
        return MISTAKE
    return status


def _run(argv: Sequence[str] | None) -> int:
    parser = make_parser(train=_train, bench=_bench, doctor=_doctor)
    try:
        options = parser.parse_args(argv)
    except SystemExit:  # --help or --version, which have printed
        return 0
    if options.command is None:
        parser.print_help()
        return MISTAKE
    return int(options.run(options))


# gputree train


@dataclass(frozen=True, eq=False)
class Split:
    """The rows to train on and those held out, none or some."""

    X: HostArray
    y: HostArray
    X_test: HostArray
    y_test: HostArray
    how: str


def _train(options: argparse.Namespace) -> int:
    model_path, report_path = _places(options)  # before the work: a fit may take long
    table = _load(options.table, options.target)
    task: Task = options.task or table.task
    reason = "as --task says" if options.task else table.reason
    split = _split(table.X, table.target(task), task, options)
    model = _model(task, table, options).fit(split.X, split.y)
    # Arrays have no names, and a model that is loaded should print as well as this one.
    model.schema_ = replace(model.schema_, names=table.feature_names)
    text = "\n".join(
        [
            *_facts(table, f"{task}: {reason}", split),
            *_results(model, task, split),
            "",
            _tree(model, split.X),
        ]
    )
    # Before the printing: the end of a pipe must not cost the model.
    with _writing(model_path):
        model.save(model_path)
    with _writing(report_path):
        write(report_path, f"{text}\n".encode("utf-8", "backslashreplace"))
    if not options.quiet:
        _say(f"{text}\n\n{_fact('model', model_path)}\n{_fact('report', report_path)}", sys.stdout)
    return 0


def _bench(options: argparse.Namespace) -> int:
    backends = options.backends.split(",") if options.backends else None
    bench(
        _load(options.table, options.target),
        backends=backends,
        peers=not options.no_peers,
        repeats=options.repeats,
        max_depth=options.max_depth,
    )
    return 0


def _doctor(options: argparse.Namespace) -> int:
    """A machine without a GPU is no failure; one that computes something else is."""
    found = diagnose(options.device)
    _say(json.dumps(found, indent=2) if options.json else as_text(found), sys.stdout)
    return FAILED if found["selftest"] and not found["selftest"]["passed"] else 0


def _load(table: str, target: str | None) -> LabelledTable:
    if table in BUNDLED:
        if target is not None:
            raise ValueError(f"--target is for files; the table {table} brings its own target")
        return load_bundled(table)
    path = Path(table)
    if not path.exists():
        raise ValueError(f"{table!r} is neither a file nor a bundled table ({', '.join(BUNDLED)})")
    return load_file(path, target)


def _model(task: Task, table: LabelledTable, options: argparse.Namespace) -> Model:
    given: dict[str, Any] = {
        "max_depth": options.max_depth,
        "min_samples_leaf": options.min_samples_leaf,
        "max_bins": options.max_bins,
        "random_state": options.seed,
        "device": options.device,
        "backend": options.backend,
    }
    if table.text_columns:
        given["categorical_features"] = list(table.text_columns)
    if options.criterion is not None:
        given["criterion"] = options.criterion
    if task == "classification":
        return DecisionTreeClassifier(**given)
    return DecisionTreeRegressor(**given)


def _split(X: HostArray, y: HostArray, task: Task, options: argparse.Namespace) -> Split:
    n_rows, share = len(y), options.test_share
    n_test = math.ceil(n_rows * share)
    if not n_test:
        return Split(X, y, X[:0], y[:0], "")
    if n_test == n_rows:
        raise ValueError(
            f"--test-share {share:g} of {_count(n_rows, 'row')} leaves none to train on; use "
            "--test-share 0"
        )
    by_class = task == "classification" and _can_stratify(y, n_test)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=n_test, random_state=options.seed, stratify=y if by_class else None
    )
    how = "the same share of each class" if by_class else "drawn from all rows"
    return Split(X, y, X_test, y_test, f"{how}, seed {options.seed}")


def _can_stratify(y: HostArray, n_test: int) -> bool:
    """Whether every class can be in both parts."""
    _, count = np.unique(y, return_counts=True)
    return bool(count.min() >= 2 and len(count) <= min(n_test, len(y) - n_test))


# What is printed


def _facts(table: LabelledTable, task: str, split: Split) -> list[str]:
    n_rows, n_features = table.X.shape
    is_missing = (table.X != table.X) | (table.X == None)  # noqa: E711  (cell by cell)
    n_missing = int(is_missing.sum())
    missing = f", {_count(n_missing, 'missing cell')}" if n_missing else ""
    held_out = f", {len(split.y_test):,} held out ({split.how})" if len(split.y_test) else ""
    size = f"{_count(n_rows, 'row')}, {_count(n_features, 'feature')}{missing}"
    names = ", ".join(table.feature_names[feature] for feature in table.text_columns)
    return [
        _fact("table", f"{table.name}: {size}"),
        *([_fact("text", f"taken for categories in {names}")] if names else []),
        _fact("task", task),
        _fact("rows", f"{len(split.y):,} to train on{held_out}"),
    ]


def _results(model: Model, task: Task, split: Split) -> list[str]:
    parts = [_scores(task, split.y, model.predict(split.X), "training")]
    if len(split.y_test):
        parts.append(_scores(task, split.y_test, model.predict(split.X_test), "held-out"))
    ran = model.fit_report_
    return [
        *(_fact(name, ", ".join(part[name] for part in parts)) for name in parts[0]),
        _fact("tree", f"depth {model.get_depth():,}, leaves {model.get_n_leaves():,}"),
        _fact("ran on", f"{ran.device} with {ran.backend} ({ran.reason})"),
    ]


def _scores(task: Task, y: HostArray, predicted: HostArray, rows: str) -> dict[str, str]:
    if task == "classification":
        return {"accuracy": f"{np.mean(y == predicted):.3f} on {rows} rows"}
    error = root_mean_squared_error(y, predicted)
    # The share of the variance that is explained needs a variance.
    explained = f"{r2_score(y, predicted):.3f}" if len(np.unique(y)) > 1 else "undefined"
    return {"R²": f"{explained} on {rows} rows", "RMSE": f"{error:.4g} on {rows} rows"}


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _fact(name: str, value: object) -> str:
    return f"{name:<9} {value}"


def _tree(model: Model, X: HostArray) -> str:
    return model.export_text(decimals=_decimals(X[:, _tested(model)].astype(np.float64)))


def _tested(model: Model) -> HostArray:
    """The features that the tree compares with thresholds, each once."""
    tree = model.tree_
    return np.unique(tree.feature[tree.kind == SplitKind.THRESHOLD])


def _decimals(X: HostArray) -> int:
    """Decimals that tell apart the thresholds of the feature with the narrowest range."""
    known = [column[np.isfinite(column)] for column in X.T]
    with np.errstate(over="ignore"):
        spans = [float(np.ptp(column)) for column in known if column.size]
    narrowest = min((span for span in spans if 0.0 < span < math.inf), default=1.0)
    return min(MAX_DECIMALS, max(2, 2 + math.ceil(-math.log10(narrowest))))


# Files and streams


def _places(options: argparse.Namespace) -> tuple[Path, Path]:
    """Where the model and the report go; neither may replace the table or the other."""
    model = options.output or Path(f"{Path(options.table).stem}.gputree")
    _check_place(model, "--output", options.table)
    report = options.report or model.with_suffix(".txt")
    _check_place(report, "--report", options.table)
    if _is_one_file(model, report):
        raise ValueError(f"model and report cannot both be {model}; choose another with --report")
    return model, report


def _check_place(path: Path, option: str, table: str) -> None:
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}; create it first")
    if table not in BUNDLED and _is_one_file(path, Path(table)):
        raise ValueError(f"{path} is the table itself; choose another file with {option}")


def _is_one_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Name the file in the error; the library's own names a temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Show warnings as the user's concern, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        _say(f"gputree: warning: {_in_a_line(message)}", sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _in_a_line(message: object) -> str:
    if isinstance(message, OSError) and message.filename is not None:
        return f"{message.filename}: {message.strerror}"
    return " ".join(str(message).split())


def _say(text: str, stream: Any) -> None:
    """Print; what the stream cannot encode is escaped."""
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)
