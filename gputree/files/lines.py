"""Separated text read line by line, slowly: for the header, and to say where a mistake is."""

import csv
from collections.abc import Iterator
from typing import TextIO, TypeAlias

from gputree.files.content import DAMAGED, Content

Rows: TypeAlias = Iterator[tuple[int, list[str]]]  # line number and cells

SUGGESTED = "latin-1"  # reads every byte
LONGEST = 1 << 20  # characters of a line that are looked at


def opened_text(content: Content, encoding: str) -> TextIO:
    """A file as text; the signature that spreadsheets put at the start of UTF-8 is left out."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        return content.text(encoding)
    except LookupError as error:
        raise ValueError(
            f"encoding={encoding!r} is unknown; use e.g. utf-8, {SUGGESTED} or cp1252"
        ) from error


def rows_of(content: Content, encoding: str, separator: str) -> Rows:
    """The rows that are not blank, each with the number of its last line."""
    with content.telling(), opened_text(content, encoding) as file:
        reader = csv.reader(file, delimiter=separator, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except UnicodeDecodeError as error:
            raise not_decoded(content, encoding) from error
        except csv.Error as error:
            raise ValueError(
                f"{content.path}: line {reader.line_num} is not CSV: {error}; check its quotes"
            ) from error


def first_lines(content: Content, encoding: str, n: int) -> list[str]:
    """The first lines, as far as they can be read."""
    lines: list[str] = []
    with opened_text(content, encoding) as file:
        try:
            while len(lines) < n and (line := file.readline(LONGEST)):
                lines.append(line)
        except (UnicodeDecodeError, OSError, *DAMAGED):
            pass  # told where the rows are read
    return lines


def not_decoded(content: Content, encoding: str) -> ValueError:
    """The error for a file that is not in its encoding, with the first byte that is not."""
    path = content.path
    with content.opened() as file:
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
                    f"(--encoding {SUGGESTED}) or in its own encoding"
                )
    return ValueError(f"{path} is not text in {encoding}; name its encoding")
