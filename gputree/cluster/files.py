"""Parquet files that every rank reads a part of, and that nobody sends.

A rank has some row groups. It reads them in chunks, several times: to count, to cut and to code;
values are dropped, and only codes, target and weights stay.
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from os.path import abspath
from typing import Any

import numpy as np

from gputree.cluster.comm import Ranks
from gputree.cluster.rows import RankDataset, agreed_answers, of_all, own_backend, reader_of
from gputree.comm import Comm, total
from gputree.data.cuts import checked_bins
from gputree.data.inputs import check_shape
from gputree.data.stream_codes import StreamReader, code_stream
from gputree.data.table import Table
from gputree.data.target import whole_weights
from gputree.data.united import joined_table
from gputree.files.row_groups import RowGroupFile, RowGroups
from gputree.fit.dataset import CHUNK_BYTES, Dataset, stream_of


@dataclass(frozen=True)
class Wanted:
    """What a fit takes of files."""

    path: Any
    target: str | Sequence[str]
    weight: str | None = None
    columns: Sequence[str] | None = None
    max_bytes: int = CHUNK_BYTES

    def with_whole_paths(self) -> "Wanted":
        """The same by names that do not depend on where one stands."""
        if isinstance(self.path, str | PathLike):
            return replace(self, path=abspath(self.path))
        return replace(self, path=[abspath(each) for each in self.path])

    def shared_out(self, n: int) -> list["FileRows"]:
        """The row groups of all files in so many parts of about as many rows."""
        rows = RowGroups.of(self.path)
        return [FileRows(replace(self, path=None), part) for part in rows.shared_out(n)]

    def own_share(self, comm: Comm) -> "FileRows":
        """The part of a rank; the first one looks for files, and tells the others."""
        shares = self.shared_out(comm.size) if comm.rank == 0 else None
        found: list[FileRows] = pickle.loads(comm.gather(pickle.dumps(shares))[0])
        return found[comm.rank]


@dataclass(frozen=True)
class FileRows:
    """The part of some files that one reads."""

    wanted: Wanted
    rows: RowGroups


def parts_on_workers(client: Any, wanted: Wanted) -> list[tuple[FileRows, None]]:
    """As many parts as the workers have threads, so that each gets as many as it has."""
    n_threads = sum(client.nthreads().values())
    shares = client.submit(wanted.shared_out, n_threads, pure=False).result()
    return [(share, None) for share in shares]


def dataset_of(comm: Ranks, estimator: Any, parts: Sequence[Sequence[Any]]) -> Dataset:
    """The rows of a rank: tables that are there, or those that it reads from files."""
    first = parts[0][0] if parts else None
    if isinstance(first, Wanted):
        return FileDataset(comm, estimator, [first.own_share(comm)])
    if isinstance(first, FileRows):
        return FileDataset(comm, estimator, [part[0] for part in parts])
    return RankDataset(comm, estimator, parts)


def is_path(parts: Any) -> bool:
    """Whether parts are given as the names of files."""
    if isinstance(parts, str | PathLike):
        return True
    return bool(parts) and all(isinstance(each, str | PathLike) for each in parts)


class FileDataset(Dataset):
    """The row groups of one rank, cut and coded with those of the others."""

    def __init__(self, comm: Ranks, estimator: Any, parts: Sequence[FileRows]) -> None:
        how, wanted = reader_of(estimator), parts[0].wanted
        max_bins = checked_bins(how.max_bins)
        rows = parts[0].rows.with_those_of([part.rows for part in parts[1:]])
        given = wanted.target, wanted.weight, wanted.columns, wanted.max_bytes
        stream = stream_of(RowGroupFile(rows), *given, how.categorical_features)
        n_rows, n_features = stream.file.count_rows(), len(stream.features)
        self.comm, self._table, self._stream = comm, None, stream
        self.n_everywhere = int(total(comm, n_rows))
        check_shape(self.n_everywhere, n_features, None)
        self.feature_names = np.asarray(stream.features, dtype=object)
        self.sample_weight = stream.read_weights(n_rows, comm)
        whole, _ = whole_weights(self.sample_weight, comm)
        n_weighted = n_rows if whole is None else np.count_nonzero(whole)
        self.n_weighted = int(total(comm, n_weighted))
        choice = own_backend(comm, how, n_rows * n_features)
        with self._timed(n_rows, choice) as timed:
            reader = StreamReader(stream, n_rows, verbose=False)
            categorical = how.categorical_features
            coded = code_stream(timed, reader, categorical, whole, max_bins, None, comm)
        self.schema, self.bins, self.data = coded.schema, coded.bins, coded.data
        self.y = agreed_answers(comm, estimator, [] if coded.y is None else [coded.y])
        everyone = of_all(choice, comm, self.n_everywhere, n_rows)
        self.backend, self.reason = everyone.backend, everyone.reason

    def parts(self) -> Iterator[Table]:
        if self.n_rows:
            yield from super().parts()
        else:
            yield joined_table([], self.schema)
