"""Training on a file that memory cannot hold: it is read in chunks, and only codes are kept.

Knows what a stream can do; must not know how it is read.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gputree.cli import columns
from gputree.cli.answers import target_name, task_of_numbers
from gputree.cli.cells import NUMBER
from gputree.cli.models import CLASSIFICATION, REGRESSION, Wanted
from gputree.cli.output import Output, count, fact
from gputree.cli.rows import known_rows
from gputree.cli.scoring import fit_on, score_lines
from gputree.cli.sources import Source, opened, path_of, source_of
from gputree.cli.summary import fitted_data, fitted_lines, model_text, named
from gputree.files.parts import is_date, split_column

CHUNK_BYTES = 2**25
KINDS = {"numeric": columns.NUMBER, "ordinal": columns.ORDERED}
# Parameters that decide how the columns of the file are binned.
OF_DATASET = ("max_bins", "device", "backend", "n_jobs")


def train_streamed(
    options: dict[str, Any], wish: Wanted, output: Output
) -> tuple[str, dict[str, Any], Any]:
    """What is printed, the same as data, and the model."""
    source = _source(options)
    target = target_name(source, options["target"])
    told = _told(source, target, options)
    with output.waiting(f"reading {source.name}"):
        data = _dataset(source, target, told, options, wish)
    _refuse_mixed(source, data, options["category"])
    output.look(source.notes)
    task, reason = _task(target, data.y, options["task"])
    model = fit_on(wish.make(task), (data,), output, "training")
    _note_ids(told, data, output)
    with output.waiting("scoring"):
        part = _scores(model, source, target, options["weight"], task)
    n_features = len(data.schema.names)
    ignored = columns.ignored_text(told)
    lines = [
        fact(
            "table", f"{source.stem}: {count(data.n_rows, 'row')}, {count(n_features, 'feature')}"
        ),
        fact("columns", columns.kinds_text(told)),
        *([fact("ignored", ignored)] if ignored else []),
        fact("task", f"{task}: {reason}"),
        fact("rows", f"{data.n_rows:,} to train on, read in chunks"),
        *(fact(name, text) for name, text in score_lines({"training rows": part})),
        *fitted_lines(model),
    ]
    found = {
        "table": {
            "name": source.name,
            "n_rows": data.n_rows,
            "n_features": n_features,
            "n_missing": None,
        },
        "target": target,
        "task": task,
        "task_reason": reason,
        "columns": [{"name": each.name, "kind": each.kind, "why": each.why} for each in told],
        "rows": {"training": data.n_rows, "held_out": 0},
        "scores": {"training": named(part)},
        **fitted_data(model),
    }
    return "\n".join([*lines, "", model_text(model, None)]), found, model


def _source(options: dict[str, Any]) -> Source:
    """The file, opened and not read."""
    if path_of(options["table"]) is None:
        raise ValueError(f"--stream is for files; the table {options['table']} fits into memory")
    if options["model"] == "rules":
        raise ValueError("--stream: rules are learnt from all values at once; choose another model")
    if options["folds"] or options["test_share"]:
        raise ValueError(
            "--stream trains on all rows; leave --folds and --test-share out, and predict another "
            "file to score"
        )
    if options["ordered"]:
        raise ValueError("--stream cannot order categories; leave --ordered out, or write Parquet")
    if options["drop_missing_target"]:
        raise ValueError("--stream trains on all rows; leave --drop-missing-target out")
    file = opened(options)
    return source_of(options["table"], file, file.schema.empty_table())


def _told(source: Source, target: str, options: dict[str, Any]) -> list[columns.Told]:
    """What each column is taken for, by its type alone: no value has been seen yet."""
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
        elif is_date(source.table.schema.field(name).type):
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


def _dataset(
    source: Source, target: str, told: list[columns.Told], options: dict[str, Any], wish: Wanted
) -> Any:
    from gputree.files.parts import WithParts
    from gputree.fit.dataset import Dataset

    asked = {**wish.given, **wish.settings}
    kept = [each for each in told if each.kind != columns.IGNORED]
    if not kept:
        raise ValueError(f"{source.name} has no column left to learn from; ignore fewer")
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


def _task(target: str, y: Any, asked: str | None) -> tuple[str, str]:
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


def _scores(
    model: Any, source: Source, target: str, weight: str | None, task: str
) -> dict[str, float]:
    """The scores of the training rows, chunk by chunk."""
    total = hits = squares = moment = mean = 0.0
    for y, predicted, weights in _chunks(model, source, target, weight):
        total += weights.sum()
        if task == CLASSIFICATION:
            hits += weights[y == predicted].sum()
            continue
        squares += (weights * (y - predicted) ** 2).sum()
        # Chunks put together as Chan, Golub and LeVeque do: no difference of large squares.
        own = np.average(y, weights=weights) if weights.any() else mean
        moment += (weights * (y - own) ** 2).sum()
        moment += (own - mean) ** 2 * weights.sum() * (total - weights.sum()) / max(total, 1e-300)
        mean += (own - mean) * weights.sum() / max(total, 1e-300)
    if task == CLASSIFICATION:
        return {"accuracy": float(hits / total)}
    explained = 1.0 - squares / moment if moment > 0 else np.nan
    return {"R²": float(explained), "RMSE": float(np.sqrt(squares / total))}


def _chunks(
    model: Any, source: Source, target: str, weight: str | None
) -> Iterator[tuple[Any, Any, Any]]:
    """Answers, predictions and weights."""
    import pyarrow

    for batch in source.file.chunks(CHUNK_BYTES):
        part = Source(source.name, source.stem, pyarrow.Table.from_batches([batch]), source.path)
        known = known_rows(model, part, Output(is_quiet=True))
        n_rows = batch.num_rows
        weights = np.ones(n_rows) if weight is None else np.asarray(part.table[weight], float)
        yield known.answers(target), model.predict(known.X), weights
