"""Open a file by its format."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from gputree.files.arff import ArffFile
from gputree.files.columnar import ArrowFile, ParquetFile
from gputree.files.formats import format_of
from gputree.files.layout import Layout
from gputree.files.like import numbered, readings_of, table_like
from gputree.files.readings import Reading
from gputree.files.separated import SeparatedFile
from gputree.files.table_file import TableFile

SEPARATOR = {"csv": ",", "tsv": "\t"}


def read_file(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
    layout: Layout | None = None,
    known: Mapping[str, Reading] | None = None,
    like: Any = None,
) -> Any:
    """Read a whole table.

    Parameters
    ----------
    path : path
        A file of CSV (.csv), tab-separated values (.tsv), Parquet (.parquet), Arrow (.arrow,
        .feather) or ARFF (.arff), each also compressed with gzip, zstd or bzip2 (.csv.gz), or
        alone in a zip archive. "-" is standard input.
    columns : sequence of str, optional
        The columns to read, in this order; all by default.
    encoding : str, default='utf-8'
        The encoding of text files.
    layout : Layout, optional
        The separator of CSV files, whether there is a header, the decimal mark, and whether days
        come first in dates. Whatever is not given is detected.
    known : mapping of str to Reading, optional
        How to read some columns, instead of by their cells.
    like : model, optional
        A fitted model: its columns are read as in its training, with dates split into the same
        parts, and returned in its order, ready for predictions.

    Returns
    -------
    pyarrow.Table
        In text files, empty cells, NA, NaN and ? are missing; a column of CSV holds whole numbers
        (int64), numbers (float64), dates (date32, timestamp) or, with a cell that is none, text.
        Nominal attributes of ARFF are dictionary columns with their declared categories.
    """
    if like is not None:
        schema = like.schema_
        layout = layout or Layout(has_header=numbered(schema.names))
        file = open_file(path, encoding=encoding, layout=layout, known=readings_of(schema))
        return table_like(file.read(), schema)
    file = open_file(path, columns=columns, encoding=encoding, layout=layout, known=known)
    return file.read()


def open_file(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
    layout: Layout | None = None,
    known: Mapping[str, Reading] | None = None,
) -> TableFile:
    """Open a table to read it in chunks, as often as needed; parameters as for `read_file`."""
    found = format_of(Path(path))
    content = found.content
    if found.format == "parquet":
        return ParquetFile(content, columns)
    if found.format == "arrow":
        return ArrowFile(content, columns)
    if found.format == "arff":
        return ArffFile(content, columns, encoding)
    usual, layout = SEPARATOR[found.format], layout or Layout()
    return SeparatedFile(content, columns, encoding, usual, layout, known or {})
