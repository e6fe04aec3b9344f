"""Open a file by its format."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from gputree.files.arff import ArffFile
from gputree.files.columnar import ArrowFile, ParquetFile
from gputree.files.formats import format_of
from gputree.files.separated import SeparatedFile
from gputree.files.table_file import TableFile

SEPARATOR = {"csv": ",", "tsv": "\t"}


def read_file(
    path: str | PathLike[str], *, columns: Sequence[str] | None = None, encoding: str = "utf-8"
) -> Any:
    """Read a whole table.

    Parameters
    ----------
    path : path
        A file of CSV (.csv), tab-separated values (.tsv), Parquet (.parquet), Arrow (.arrow,
        .feather) or ARFF (.arff), each also compressed with gzip (.csv.gz).
    columns : sequence of str, optional
        The columns to read, in this order; all by default.
    encoding : str, default='utf-8'
        How text is encoded.

    Returns
    -------
    pyarrow.Table
        In text files, empty cells, NA, NaN and ? are missing; a column of CSV holds whole numbers
        (int64), numbers (float64) or, with a cell that is none, text. Nominal attributes of ARFF
        are dictionary columns with their declared categories.
    """
    return open_file(path, columns=columns, encoding=encoding).read()


def open_file(
    path: str | PathLike[str], *, columns: Sequence[str] | None = None, encoding: str = "utf-8"
) -> TableFile:
    """Open a table to read it in chunks, as often as needed; parameters as for `read_file`."""
    path = Path(path)
    found = format_of(path)
    if found.format == "parquet":
        return ParquetFile(path, columns, is_gzip=found.is_gzip)
    if found.format == "arrow":
        return ArrowFile(path, columns, is_gzip=found.is_gzip)
    if found.format == "arff":
        return ArffFile(path, columns, encoding, is_gzip=found.is_gzip)
    separator = SEPARATOR[found.format]
    return SeparatedFile(path, columns, encoding, separator, is_gzip=found.is_gzip)
