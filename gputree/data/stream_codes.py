"""From a file to bins, codes and a target, in sweeps over its rows.

Only codes, the target and the weights are held, and a chunk of values at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gputree.comm import ALONE, Comm, total
from gputree.data.bins import Bins, FeatureBins
from gputree.data.cuts import category_bins, most_codes
from gputree.data.kinds import CategoricalFeatures
from gputree.data.schema import Schema
from gputree.data.stream import Answers, Features, Stream
from gputree.data.stream_cuts import Counts, by_blocks, neighbours_of
from gputree.data.table import Kind, Table
from gputree.data.weightless import Weightless
from gputree.dtypes import HostArray
from gputree.progress import Progress

if TYPE_CHECKING:
    from gputree.backends.contract import Backend, Data, Values


@dataclass(frozen=True, eq=False)
class CodedFile:
    """What is left of a file."""

    schema: Schema
    bins: Bins
    data: "Data"
    y: Any


class StreamReader:
    """Sweeps over a stream, shown to the user if wanted."""

    def __init__(self, stream: Stream, n_rows: int, *, verbose: bool) -> None:
        self.stream, self.n_rows, self._verbose = stream, n_rows, verbose
        self.n_sweeps = 0

    def _progress(self, what: str) -> Progress:
        self.n_sweeps += 1
        name = self.stream.file.path.name
        title = f"{name}, sweep {self.n_sweeps} ({what})"
        return Progress(title, self.n_rows, is_shown=self._verbose, unit="rows")

    def batches(self, names: Sequence[str], what: str) -> Iterator[tuple[int, Any]]:
        """Columns as they are in the file."""
        progress = self._progress(what)
        for first, batch in self.stream.batches(names):
            yield first, batch
            progress.step(batch.num_rows)
        progress.end()

    def tables(
        self, schema: Schema, features: Sequence[int] | None, what: str
    ) -> Iterator[tuple[int, Table]]:
        """Features as they were learnt."""
        progress = self._progress(what)
        for first, table in self.stream.tables(schema, features):
            yield first, table
            progress.step(table.n_rows)
        progress.end()


def code_stream(
    backend: "Backend",
    reader: StreamReader,
    categorical_features: CategoricalFeatures,
    weight: HostArray | None,
    max_bins: int,
    folder: Path | None,
    comm: Comm = ALONE,
) -> CodedFile:
    """Cut and code the features of a file; `weight` is in whole units.

    Where others have further rows, all cut alike; the backend is asked about the rows here alone.
    """
    stream, n_rows = reader.stream, reader.n_rows
    features, answers = Features(stream, categorical_features), Answers(stream, n_rows)
    counts = Counts(len(features.numeric))
    n_features = len(stream.features)
    for first, batch in reader.batches([*stream.features, *stream.targets], "counting"):
        table = features.learn(batch, stream.file.number_of(first))
        if table.n_features:
            own = None if weight is None else weight[first : first + table.n_rows]
            counts.add(backend, table, own)
        answers.learn(first, batch.columns[n_features:])
    features.unite(comm)
    schema = features.schema(total(comm, counts.n_missing))

    def sweep(some: Sequence[int]) -> Iterator[tuple[int, Table]]:
        return reader.tables(schema, some, "cutting")

    plans = counts.plans(max_bins, comm)
    asked = backend, sweep, features.numeric, plans, weight, comm
    found = iter(neighbours_of(*asked) if plans else ())
    bins = Bins(tuple(_bins_of(schema, at, found) for at in range(n_features)))
    data = backend.reserve(n_features, n_rows, most_codes(schema.categories, max_bins), folder)
    weightless = Weightless(schema.categories, weight, comm)
    encode(backend, _looked_at(reader.tables(schema, None, "coding"), weightless), bins, data)
    return CodedFile(schema, weightless.numbered(bins), data, answers.all())


def _bins_of(schema: Schema, at: int, found: Iterator[tuple[HostArray, HostArray]]) -> FeatureBins:
    name, kind, categories = schema.names[at], schema.kinds[at], schema.categories[at]
    if categories is not None:
        return category_bins(name, kind, categories, schema.has_missing[at])
    below, above = next(found)
    return FeatureBins(name, Kind.NUMERIC, None, below, above, schema.has_missing[at])


def _looked_at(
    tables: Iterator[tuple[int, Table]], weightless: Weightless
) -> Iterator[tuple[int, Table]]:
    for first, table in tables:
        weightless.look(table, first)
        yield first, table


def encode(
    backend: "Backend", tables: Iterator[tuple[int, Table]], bins: Bins, data: "Data"
) -> None:
    """Write the codes of all rows."""
    for first, table in tables:

        def code(values: "Values", block: range, first: int = first) -> None:
            own = bins.features[block.start : block.stop]
            backend.encode(data, block.start, values, own, first)

        by_blocks(backend, table, code)
