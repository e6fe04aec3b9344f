"""Which format a file has: its name says it, its first and last bytes confirm it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from gputree.files.content import SUFFIXES as COMPRESSED
from gputree.files.content import Content, content_of

Format: TypeAlias = Literal["csv", "tsv", "parquet", "arrow", "arff"]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arff": "arff",
}
PARQUET = b"PAR1"
ARROW = b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"
# Files that are often taken for tables, by their first bytes.
REFUSED = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV or Parquet",
    b"FEA1": "Feather of version 1; write it again as Arrow or Parquet",
    b"\xfd7zXZ": "compressed with xz; decompress it, or use gzip or zstd",
    b"SQLite format 3": "an SQLite database; export the table as CSV or Parquet",
    b"\x89HDF": "HDF5; save the table as Parquet",
    b"\x93NUMPY": "a NumPy array; save the table as CSV or Parquet, with column names",
    b"\x80\x04": "a Python pickle, which is not read; save the table as Parquet",
    b"\x80\x05": "a Python pickle, which is not read; save the table as Parquet",
    b"%PDF": "a PDF document; export the table as CSV",
    b"gputree\n": "a model of gputree; name a table",
}
# The same by their suffixes, where the first bytes could be those of CSV.
REFUSED_SUFFIXES = {
    ".json": "JSON",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".html": "an HTML page",
    ".xml": "XML",
}


@dataclass(frozen=True, eq=False)
class Found:
    """What a file turned out to be."""

    format: Format
    content: Content


def format_of(path: Path) -> Found:
    """The format of a file that can be read; an error says what is wrong with any other."""
    content = content_of(path)
    head, tail = _ends(content.place)
    if not head:
        raise ValueError(f"{content.path} is empty; a header and rows are needed")
    _check_not_refused(content, head)
    named = SUFFIXES.get(Path(content.name.lower()).suffix)
    if content.compression is not None:
        return Found(named or "csv", content)
    claimed = COMPRESSED.get(content.place.suffix.lower())
    if claimed is not None:
        suffix = content.place.suffix
        raise ValueError(f"{path} is not compressed with {claimed}; take {suffix} off its name")
    inside = _inside(head, tail, content.path)
    if inside is not None and named not in (None, inside):
        raise ValueError(f"{path} holds {inside.capitalize()}; rename it to end in .{inside}")
    if inside is None and named in ("parquet", "arrow"):
        raise ValueError(
            f"{path} does not begin like a {named.capitalize()} file; give it the suffix of its "
            "format, or write it again"
        )
    return Found(inside or named or "csv", content)


def _check_not_refused(content: Content, head: bytes) -> None:
    for magic, what in REFUSED.items():
        if head.startswith(magic):
            raise ValueError(f"{content.path} is {what}")
    what = REFUSED_SUFFIXES.get(Path(content.name.lower()).suffix, "")
    if what or head.lstrip()[:2] in (b"[{", b'{"'):
        raise ValueError(
            f"{content.path} is {what or 'JSON'}, which is not read; save the table as CSV or "
            "Parquet"
        )


def _ends(path: Path) -> tuple[bytes, bytes]:
    with open(path, "rb") as file:
        head = file.read(16)
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 8))
        return head, file.read()


def _inside(head: bytes, tail: bytes, path: Path) -> Format | None:
    """The format that the bytes tell, None for text."""
    if head.startswith(PARQUET):
        if not tail.endswith(PARQUET):
            raise ValueError(
                f"{path} is cut off: the end of a Parquet file is missing; copy or write it again"
            )
        return "parquet"
    if head.startswith(ARROW):
        if not tail.endswith(ARROW):
            raise ValueError(
                f"{path} is cut off: the end of an Arrow file is missing; copy or write it again"
            )
        return "arrow"
    return "arrow" if head.startswith(ARROW_STREAM) else None
