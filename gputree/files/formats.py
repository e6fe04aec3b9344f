"""Which format a file has: its name says it, its first and last bytes confirm it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

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
GZIP = b"\x1f\x8b"
# Files that are often taken for tables, by their first bytes.
REFUSED = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; save the table as CSV or Parquet",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV or Parquet",
    b"FEA1": "Feather of version 1; write it anew as Arrow or Parquet",
    b"BZh": "compressed with bzip2; decompress it, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it, or use gzip",
    b"\xfd7zXZ": "compressed with xz; decompress it, or use gzip",
    b"SQLite format 3": "an SQLite database; export the table as CSV or Parquet",
    b"\x89HDF": "HDF5; save the table as Parquet",
}


@dataclass(frozen=True)
class Found:
    """What a file turned out to be."""

    format: Format
    is_gzip: bool


def format_of(path: Path) -> Found:
    """The format of a file that can be read; an error says what is wrong with any other."""
    _check_readable(path)
    head, tail = _ends(path)
    if not head:
        raise ValueError(f"{path} is empty; a header and rows are needed")
    for magic, what in REFUSED.items():
        if head.startswith(magic):
            raise ValueError(f"{path} is {what}")
    is_gzip = head.startswith(GZIP)
    named = _named(path, is_gzip)
    inside = _inside(head, tail, path)
    if is_gzip:
        return Found(named or "csv", True)
    if path.suffix.lower() == ".gz":
        raise ValueError(f"{path} is not compressed with gzip; take .gz off its name")
    if inside is not None and named not in (None, inside):
        raise ValueError(f"{path} holds {inside.capitalize()}; let its name end in .{inside}")
    if inside is None and named in ("parquet", "arrow"):
        raise ValueError(
            f"{path} does not begin as {named.capitalize()} files do; give it the suffix of what "
            "it is, or write it again"
        )
    return Found(inside or named or "csv", False)


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; check the path")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} may not be read; give yourself the permission to read it")


def _ends(path: Path) -> tuple[bytes, bytes]:
    with open(path, "rb") as file:
        head = file.read(16)
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 8))
        return head, file.read()


def _named(path: Path, is_gzip: bool) -> Format | None:
    name = path.name.lower()
    if is_gzip:
        name = name.removesuffix(".gz")
    return SUFFIXES.get(Path(name).suffix)


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
