"""The summary of a training: text for people, data for machines.

Knows what was done; must not do any of it.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.cli import cells, columns
from gputree.cli.models import (
    CLASSIFICATION,
    READABLE_DEPTH,
    is_ensemble,
    shape_of,
    shape_text,
)
from gputree.cli.outcome import Baseline, Confusion
from gputree.cli.output import count, fact
from gputree.cli.scoring import Rows, mean_and_error, score_lines, score_text, scores
from gputree.cli.sources import Source
from gputree.dtypes import HostArray

NAMES = {"R²": "r2", "RMSE": "rmse", "AUC": "auc", "log loss": "log_loss"}  # easy to type
LEAST_VALUES, MANY_VALUES = 100, 0.5  # and of the rows, where whole numbers may be ids
MAX_DECIMALS = 12
MOST_FEATURES = 10  # of an ensemble, with their importances


def table_of(told: list[columns.Told]) -> Any:
    """The columns to learn from; where they come from goes with them into the model."""
    import pyarrow

    from gputree.files.readings import tagged

    kept = [each for each in told if each.column is not None]
    fields = [tagged(pyarrow.field(each.name, each.column.type), each.origin) for each in kept]
    return pyarrow.table([each.column for each in kept], schema=pyarrow.schema(fields))


@dataclass
class Training:
    """One training and all that came of it."""

    source: Source
    target: str
    told: list[columns.Told]
    task: str
    reason: str
    train: Rows
    test: Rows | None
    how: str
    folds: dict[str, list[float]] | None
    model: Any
    is_depth_default: bool = False  # whether the depth was limited without being asked for

    def __post_init__(self) -> None:
        self._parts = {"training rows": scores(self.model, self.train, self.task)}
        if self.test is not None:
            self._parts["held-out rows"] = scores(self.model, self.test, self.task)
        judged = self.train if self.test is None else self.test
        self.judged_on = "training rows" if self.test is None else "held-out rows"
        self._confusion = None
        if self.task == CLASSIFICATION:
            predicted = self.model.predict(judged.X)
            self._confusion = Confusion.of(judged.y, predicted, judged.weight)
        trained = self.train.y, self.train.weight
        self._baseline = Baseline.of(self.task, trained, (judged.y, judged.weight))
        X = self.train.X
        self._n_rows = len(self.train) + (0 if self.test is None else len(self.test))
        tables = [X] if self.test is None else [X, self.test.X]
        self._n_missing = sum(
            int(cells.missing(column).sum()) for table in tables for column in table.columns
        )

    def text(self) -> str:
        """What is printed and put into the report."""
        confusion = self._confusion.lines(self.judged_on) if self._confusion else []
        tree = model_text(self.model, self.train)
        lines = [*self._facts(), *self._results(), *([""] if confusion else []), *confusion]
        return "\n".join([*lines, "", tree])

    def doubts(self) -> list[str]:
        """What the user should look at before the model is believed."""
        if len(np.unique(self.train.y)) == 1:
            value = str(self.train.y[0])
            return [
                f"look here: the target {self.target!r} is {value!r} in all rows of the training, "
                "so that nothing can be learnt"
            ]
        n_rows = len(self.train if self.test is None else self.test)
        scored, on = self._parts[self.judged_on], self.judged_on
        if self.folds is not None:
            scored = {name: mean_and_error(values)[0] for name, values in self.folds.items()}
            on, n_rows = "folds", len(self.train)
        return [self._baseline.doubt(scored, on, n_rows), self._doubtful_root()]

    def _doubtful_root(self) -> str:
        """Whole numbers that hardly repeat, and that count most, though they may be an id's."""
        shares = importances(self.model) if not hasattr(self.model, "rules_") else np.zeros(0)
        if not shares.any() or self.source.path is None:
            return ""
        kept = [each for each in self.told if each.column is not None]
        first = kept[int(shares.argmax())]
        if first.doubt or first.kind != columns.NUMBER or first.origin is not None:
            return ""
        n_rows, n_distinct = len(first.column), cells.n_distinct(first.column)
        is_many = n_distinct >= max(LEAST_VALUES, MANY_VALUES * n_rows)
        if not (is_many and cells.is_whole(first.column)):
            return ""
        return (
            f"look here: {first.name!r} counts most, and has {n_distinct:,} whole numbers in "
            f"{count(n_rows, 'row')}; if these are ids, give --ignore {first.name}"
        )

    def _facts(self) -> list[str]:
        lacks = f", {count(self._n_missing, 'missing cell')}" if self._n_missing else ""
        n_features = self.train.X.num_columns
        size = f"{count(self._n_rows, 'row')}, {count(n_features, 'feature')}{lacks}"
        lines = [fact("table", f"{self.source.stem}: {size}")]
        if self.source.path is not None:
            lines.append(fact("columns", columns.kinds_text(self.told)))
        if ignored := columns.ignored_text(self.told):
            lines.append(fact("ignored", ignored))
        out = f", {len(self.test):,} held out ({self.how})" if self.test is not None else ""
        return [
            *lines,
            fact("task", f"{self.task}: {self.reason}"),
            fact("rows", f"{len(self.train):,} to train on{out}"),
        ]

    def _results(self) -> list[str]:
        lines = score_facts(self._parts, self._baseline, self.judged_on)
        for name, values in (self.folds or {}).items():
            mean, error = mean_and_error(values)
            lines.append(
                fact(
                    name,
                    f"{score_text(name, mean)} ± {score_text(name, error)} on {len(values)} folds "
                    "(mean and standard error)",
                )
            )
        lines += fitted_lines(self.model)
        if self.is_depth_default and shape_of(self.model)["depth"] == READABLE_DEPTH:
            limit = f"{READABLE_DEPTH} at most, to be readable; --max-depth none lifts the limit"
            lines.append(fact("depth", limit))
        return lines

    def data(self) -> dict[str, Any]:
        """The same for machines."""
        found: dict[str, Any] = {
            "table": {
                "name": self.source.name,
                "n_rows": self._n_rows,
                "n_features": self.train.X.num_columns,
                "n_missing": self._n_missing,
            },
            "target": self.target,
            "task": self.task,
            "task_reason": self.reason,
            "columns": [
                {"name": each.name, "kind": each.kind, "why": each.why} for each in self.told
            ],
            "rows": {
                "training": len(self.train),
                "held_out": 0 if self.test is None else len(self.test),
            },
            "scores": {
                on.split()[0].replace("-", "_"): named(part) for on, part in self._parts.items()
            },
            **fitted_data(self.model),
        }
        found["scores"]["baseline"] = baseline_data(self._baseline, self.judged_on)
        if self._confusion is not None:
            found["confusion"] = self._confusion.data()
        if self.folds is not None:
            found["scores"]["folds"] = {
                key: {
                    "mean": mean_and_error(values)[0],
                    "standard_error": mean_and_error(values)[1],
                    "each": values,
                }
                for key, values in named(self.folds).items()
            }
        return found


def score_facts(parts: dict[str, dict[str, float]], baseline: Baseline, on: str) -> list[str]:
    """A line per score, and one of what a guess would reach."""
    lines = [fact(name, text) for name, text in score_lines(parts)]
    ((name, reached),) = baseline.scores.items()
    told = f"{name} {score_text(name, reached)} on {on}, {baseline.text()}"
    return [*lines, fact("baseline", told)]


def baseline_data(baseline: Baseline, on: str) -> dict[str, Any]:
    """The same for machines."""
    of = on.split()[0].replace("-", "_")
    return {"on": of, "prediction": baseline.guess, **named(baseline.scores)}


def named(part: dict[str, Any]) -> dict[str, Any]:
    """Scores by names that are easy to type."""
    return {NAMES.get(name, name): value for name, value in part.items()}


def fitted_lines(model: Any) -> list[str]:
    """What was fitted, and where."""
    ran = report_of(model)
    return [
        fact("fitted", f"{type(model).__name__}: {shape_text(model)}"),
        fact("ran on", f"{ran.device} with {ran.backend} ({ran.reason})"),
        *(fact("note", note) for note in ran.notes),
    ]


def fitted_data(model: Any) -> dict[str, Any]:
    """The same for machines."""
    ran = report_of(model)
    return {
        "estimator": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "shape": shape_of(model),
        "ran_on": {"device": ran.device, "backend": ran.backend, "reason": ran.reason},
    }


def report_of(model: Any) -> Any:
    """Where a model was fitted."""
    return model.estimator_.fit_report_ if hasattr(model, "rules_") else model.fit_report_


# The model in words


def model_text(model: Any, rows: Rows | None) -> str:
    """A tree or rules as text; for an ensemble the most important features."""
    if is_ensemble(model):
        return importances_text(model)
    tree = (model.estimator_ if hasattr(model, "rules_") else model).nodes_
    decimals = 2 if rows is None else _decimals(_tested(tree, rows.X))
    return str(model.export_text(decimals=decimals))


def importances_text(model: Any) -> str:
    """The most important features of an ensemble."""
    names, shares = model.schema_.names, importances(model)
    order = np.argsort(-shares, kind="stable")[:MOST_FEATURES]
    width = max(len(names[at]) for at in order)
    lines = [f"  {names[at]:<{width}} {shares[at]:6.1%}" for at in order.tolist()]
    more = len(names) - len(lines)
    return "\n".join(["features by importance", *lines, *([f"  ... {more} more"] if more else [])])


def importances(model: Any) -> HostArray:
    """The share of each feature in the total gain of a model's splits."""
    if hasattr(model, "feature_importances_"):
        return np.asarray(model.feature_importances_)
    each = [member.feature_importances_ for member in model.estimators_]
    return np.asarray(np.mean(each, axis=0))


def _tested(tree: Any, X: Any) -> list[HostArray]:
    """The columns of numbers that a tree compares with thresholds."""
    from gputree.tree.tree import Split

    tested = np.unique(tree.feature[tree.kind == Split.THRESHOLD])
    own = tested[tested < X.num_columns].tolist()  # combinations of columns come after these
    chosen = [X.column(at) for at in own if cells.type_name(X.column(at)) == "number"]
    return [np.asarray(column.to_numpy(), np.float64) for column in chosen]


def _decimals(tested: list[HostArray]) -> int:
    """Decimals that tell apart the thresholds of the feature with the narrowest range."""
    known = [column[np.isfinite(column)] for column in tested]
    with np.errstate(over="ignore"):
        spans = [float(np.ptp(column)) for column in known if column.size]
    narrowest = min((span for span in spans if 0.0 < span < math.inf), default=1.0)
    return min(MAX_DECIMALS, max(2, 2 + math.ceil(-math.log10(narrowest))))
