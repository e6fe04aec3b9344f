"""Training on a file that memory cannot hold: it is read in chunks, and only codes are kept.

Knows what a stream can do; must not know how it is read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.cli import columns
from gputree.cli.answers import target_name, task_of_numbers
from gputree.cli.cells import NUMBER
from gputree.cli.models import CLASSIFICATION, REGRESSION, Wanted
from gputree.cli.output import Output, count, fact
from gputree.cli.results import Clock, Result
from gputree.cli.rows import known_rows
from gputree.cli.scoring import fit_on
from gputree.cli.sources import Source, opened, path_of, source_of
from gputree.cli.summary import (
    baseline_data,
    fitted_data,
    fitted_lines,
    model_text,
    named,
    score_facts,
)
from gputree.cli.tally import Scored, Tally, joined
from gputree.files.parts import is_date, split_column

CHUNK_BYTES = 2**25
ON = "training rows"
KINDS = {"numeric": columns.NUMBER, "ordinal": columns.ORDERED}
# Parameters that decide how the columns of the file are binned.
OF_DATASET = ("max_bins", "device", "backend", "n_jobs")


def train_streamed(options: dict[str, Any], wish: Wanted, output: Output) -> Result:
    """A model of a file, and what there is to say of it."""
    clock = Clock()
    source = source_for(options, "--stream")
    target = target_name(source, options["target"])
    told = told_of(source, target, options)
    with output.waiting(f"reading {source.name}"):
        data = _dataset(source, target, told, options, wish)
    _refuse_mixed(source, data, options["category"])
    output.look(source.notes)
    task, reason = task_of(target, data.y, options["task"])
    clock.lap("reading")
    model = fit_on(wish.make(task), (data,), output, "training")
    clock.lap("training")
    _note_ids(told, data, output)
    with output.waiting("scoring"):
        scored = tally_of(model, source, target, options["weight"], task).scored(task)
    clock.lap("scoring")
    size = data.n_rows, len(data.schema.names)
    trained = Trained(source, target, told, task, reason, *size, "read in chunks", scored, model)
    return trained.result(clock, output)


@dataclass(frozen=True, eq=False)
class Trained:
    """All that is told of a training on a file that nobody has held."""

    source: Source
    target: str
    told: list[columns.Told]
    task: str
    reason: str
    n_rows: int
    n_features: int
    how: str  # the rows were read
    scored: Scored  # the training rows
    model: Any

    def result(self, clock: Clock, output: Output) -> Result:
        """All of it, and what the user should look at."""
        output.look([self.scored.baseline.doubt(self.scored.scores, ON, self.n_rows)])
        return Result(self.model, self.text(), self.data(), clock)

    def text(self) -> str:
        """What is printed."""
        ignored = columns.ignored_text(self.told)
        size = f"{count(self.n_rows, 'row')}, {count(self.n_features, 'feature')}"
        lines = [
            fact("table", f"{self.source.stem}: {size}"),
            fact("columns", columns.kinds_text(self.told)),
            *([fact("ignored", ignored)] if ignored else []),
            fact("task", f"{self.task}: {self.reason}"),
            fact("rows", f"{self.n_rows:,} to train on, {self.how}"),
            *score_facts({ON: self.scored.scores}, self.scored.baseline, ON),
            *fitted_lines(self.model),
        ]
        confusion = self.scored.confusion
        table = [] if confusion is None else confusion.lines(ON)
        return "\n".join(
            [*lines, *([""] if table else []), *table, "", model_text(self.model, None)]
        )

    def data(self) -> dict[str, Any]:
        """The same as data."""
        confusion = self.scored.confusion
        return {
            "table": {
                "name": self.source.name,
                "n_rows": self.n_rows,
                "n_features": self.n_features,
                "n_missing": None,
            },
            "target": self.target,
            "task": self.task,
            "task_reason": self.reason,
            "columns": [
                {"name": each.name, "kind": each.kind, "why": each.why} for each in self.told
            ],
            "rows": {"training": self.n_rows, "held_out": 0},
            "scores": {
                "training": named(self.scored.scores),
                "baseline": baseline_data(self.scored.baseline, ON),
            },
            **({} if confusion is None else {"confusion": confusion.data()}),
            **fitted_data(self.model),
        }


def source_for(options: dict[str, Any], how: str) -> Source:
    """The file, opened and not read; `how` says what is to be done with it."""
    if path_of(options["table"]) is None:
        raise ValueError(f"{how} is for files; the table {options['table']} fits into memory")
    if options["model"] == "rules":
        raise ValueError(f"{how}: rules are learnt from all values at once; choose another model")
    if options["folds"] or options["test_share"]:
        raise ValueError(
            f"{how} trains on all rows; leave --folds and --test-share out, and predict another "
            "file to score"
        )
    if options["ordered"]:
        raise ValueError(f"{how} cannot order categories; leave --ordered out, or write Parquet")
    if options["drop_missing_target"]:
        raise ValueError(f"{how} trains on all rows; leave --drop-missing-target out")
    file = opened(options)
    return source_of(options["table"], file, file.schema.empty_table())


def told_of(
    source: Source, target: str, options: dict[str, Any], *, has_parts: bool = True
) -> list[columns.Told]:
    """What each column is taken for, by its type alone: no value has been seen yet.

    Without `has_parts`, dates are left out instead of being split.
    """
    taken = {target: "--target"}
    if options["weight"] is not None:
        source.check([options["weight"]], "--weight")
        taken[options["weight"]] = "--weight"
    wishes = columns.Wishes(options["category"], options["number"], {}, options["ignore"])
    wishes.check(source, taken)
    found = []
    for name, kind in zip(source.file.names, source.file.kinds, strict=True):
        if name in taken:
            continue
        if name in wishes.ignore:
            found.append(columns.Told(name, columns.IGNORED, "as --ignore says"))
        elif name in wishes.category:
            found.append(columns.Told(name, columns.CATEGORY, "as --category says"))
        elif name in wishes.number:
            if kind != "numeric":
                raise ValueError(
                    f"--number {name}: with --stream, a text column cannot be read as numbers"
                )
            found.append(columns.Told(name, columns.NUMBER, "as --number says"))
        elif has_parts and is_date(source.table.schema.field(name).type):
            parts = split_column(name, source.table[name], source.origin(name))
            found += [
                columns.Told(part, columns.NUMBER, f"the {origin.part} of dates")
                for part, _, origin in parts
            ]
        elif kind == "other":
            found.append(columns.Told(name, columns.IGNORED, "it holds times or other types"))
        else:
            found.append(columns.Told(name, KINDS.get(kind, columns.CATEGORY), "by its type"))
    return found


def kept_of(source: Source, told: list[columns.Told]) -> list[columns.Told]:
    """The columns that are features."""
    kept = [each for each in told if each.kind != columns.IGNORED]
    if not kept:
        raise ValueError(f"{source.name} has no column left to learn from; ignore fewer")
    return kept


def _dataset(
    source: Source, target: str, told: list[columns.Told], options: dict[str, Any], wish: Wanted
) -> Any:
    from gputree.files.parts import WithParts
    from gputree.fit.dataset import Dataset

    asked = {**wish.given, **wish.settings}
    kept = kept_of(source, told)
    categories = [each.name for each in kept if each.kind != columns.NUMBER]
    file = WithParts(source.file, whole=(target, options["weight"]), as_text=categories)
    return Dataset.from_file(
        file,
        target,
        weight=options["weight"],
        columns=[each.name for each in kept],
        categorical_features=categories,
        max_bytes=CHUNK_BYTES,
        **{name: asked[name] for name in OF_DATASET if name in asked},
    )


def task_of(target: str, y: Any, asked: str | None) -> tuple[str, str]:
    if isinstance(y, np.ndarray) and y.dtype.kind in "iuf":
        found = task_of_numbers(target, y)
    else:
        found = CLASSIFICATION, f"the target {target!r} holds classes"
        if asked == REGRESSION:
            raise ValueError(f"regression needs numbers, but {found[1]}; use another target")
    return found if asked is None else (asked, "as --task says")


def _refuse_mixed(source: Source, data: Any, wished: Sequence[str]) -> None:
    """The same as for a whole table, inferred from the distinct values of a column."""
    if not source.is_inferred:
        return
    for name, categories in zip(data.schema.names, data.schema.categories, strict=True):
        if categories is None or name in wished:
            continue
        words = [
            category
            for category in categories
            if not re.match(NUMBER, str(category), re.IGNORECASE)
        ]
        if 0 < len(words) <= len(categories) - len(words):
            raise ValueError(
                f"{source.name}: column {name!r} mixes numbers and text: {words[0]!r:.40}, beside "
                f"{count(len(categories) - len(words), 'number')}; correct it, or give --category "
                f"{name} or --ignore {name}"
            )


def _note_ids(told: list[columns.Told], data: Any, output: Output) -> None:
    """Too late to leave a column out, but not to point it out."""
    for name, categories in zip(data.schema.names, data.schema.categories, strict=True):
        if categories is not None and len(categories) == data.n_rows:
            output.note(f"all values of {name} differ, as in an id; --ignore leaves the column out")


def tally_of(model: Any, source: Source, target: str, weight: str | None, task: str) -> Tally:
    """The sums over the rows of a file, chunk by chunk."""
    chunks = _chunks(model, source, target, weight)
    return joined([Tally.of(model, *chunk, task) for chunk in chunks])


def _chunks(
    model: Any, source: Source, target: str, weight: str | None
) -> Iterator[tuple[Any, Any, Any]]:
    """Features, answers and weights, where there are some."""
    import pyarrow

    for batch in source.file.chunks(CHUNK_BYTES):
        part = Source(source.name, source.stem, pyarrow.Table.from_batches([batch]), source.path)
        known = known_rows(model, part, Output(is_quiet=True))
        weights = None if weight is None else np.asarray(part.table[weight], float)
        yield known.X, known.answers(target), weights
