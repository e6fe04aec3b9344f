"""Separated text read line by line, slowly: for the header, and to say where a mistake is."""

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO, TypeAlias

Rows: TypeAlias = Iterator[tuple[int, list[str]]]  # line number and cells

SUGGESTED = "latin-1"  # reads every byte


def opened_text(path: Path, encoding: str, *, is_gzip: bool) -> TextIO:
    """A file as text; the signature that spreadsheets put at the start of UTF-8 is left out."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        if is_gzip:
            return gzip.open(path, "rt", newline="", encoding=encoding)
        return open(path, newline="", encoding=encoding)
    except LookupError as error:
        raise ValueError(
            f"encoding={encoding!r} is unknown; use e.g. utf-8, {SUGGESTED} or cp1252"
        ) from error


def rows_of(path: Path, encoding: str, separator: str, *, is_gzip: bool) -> Rows:
    """The rows that are not blank, each with the number of its last line."""
    with opened_text(path, encoding, is_gzip=is_gzip) as file:
        reader = csv.reader(file, delimiter=separator, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except UnicodeDecodeError as error:
            raise not_decoded(path, encoding, is_gzip=is_gzip) from error
        except csv.Error as error:
            raise ValueError(
                f"{path}: line {reader.line_num} is not CSV: {error}; check its quotes"
            ) from error
        except (EOFError, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} is cut off or damaged; copy or compress it again") from error


def not_decoded(path: Path, encoding: str, *, is_gzip: bool) -> ValueError:
    """The error for a file that is not in its encoding, with the first byte that is not."""
    with gzip.open(path) if is_gzip else open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                return ValueError(
                    f"{path} is not text in {encoding} but in UTF-16; read it with "
                    "encoding='utf-16' (--encoding utf-16)"
                )
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                return ValueError(
                    f"{path} is not text in {encoding}: byte 0x{line[error.start]:02x} on line "
                    f"{number}; save it in UTF-8, or read it with encoding={SUGGESTED!r} "
                    f"(--encoding {SUGGESTED}) or whatever it is in"
                )
    return ValueError(f"{path} is not text in {encoding}; name its encoding")
