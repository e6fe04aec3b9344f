"""The bytes of a file as they are once unpacked, wherever they come from.

Files compressed as a whole are unpacked while they are read. What can be read once only, such as a
pipe, and what lies in a zip archive is copied into a temporary folder, which goes with the content.
"""

import codecs
import gzip
import io
import os
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO, TypeAlias

if TYPE_CHECKING:
    from zipfile import ZipFile

Compression: TypeAlias = Literal["gzip", "zstd", "bz2"]

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
COMPRESSIONS: dict[bytes, Compression] = {
    GZIP: "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
}
SUFFIXES: dict[str, Compression] = {
    ".gz": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".bz2": "bz2",
}
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".ods")
STDIN = "-"
BUFFER = 1 << 20
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


@dataclass(frozen=True, eq=False)
class Content:
    """The bytes of a file."""

    path: Path  # as messages call it
    place: Path  # where the bytes are
    compression: Compression | None = None
    folder: object = None  # a temporary one, which is kept for as long as this

    @property
    def name(self) -> str:
        """The name of the file without that of its compression."""
        name = self.place.name
        return Path(name).stem if Path(name).suffix.lower() in SUFFIXES else name

    def opened(self) -> BinaryIO:
        """The bytes, for Python."""
        if self.compression is None:
            return open(self.place, "rb")
        if self.compression == "gzip":
            return gzip.open(self.place)  # type: ignore[return-value]
        return io.BufferedReader(self.native(), BUFFER)

    def native(self) -> Any:
        """The bytes, read without Python.

        A thread of pyarrow reads ahead and is not waited for when parsing fails. If it called
        Python it could do so at the end of the process, which aborts the process.
        """
        import pyarrow

        return pyarrow.input_stream(str(self.place), compression=self.compression)

    def text(self, encoding: str) -> TextIO:
        """The content as text, its line ends as they are; a LookupError for an unknown encoding."""
        codecs.lookup(encoding)
        return io.TextIOWrapper(self.opened(), encoding=encoding, newline="")

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Name the file where its compression turns out to be damaged."""
        try:
            yield
        except DAMAGED as error:
            raise self.damaged() from error
        except OSError as error:
            if self.compression is None or error.filename is not None:
                raise
            raise self.damaged() from error

    def damaged(self) -> ValueError:
        """The error for a file that cannot be unpacked."""
        return ValueError(f"{self.path} is cut off or damaged; copy or compress it again")


class _Folder:
    """A temporary folder that goes with the last object that holds it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="gputree-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def content_of(path: Path) -> Content:
    """The bytes of a file, a pipe, or standard input."""
    if str(path) == STDIN:
        return _unzipped(_copied(Path("stdin"), sys.stdin.buffer))
    check_readable(path)
    if path.is_file():
        return _unzipped(Content(path, path))
    with open(path, "rb") as pipe:
        return _unzipped(_copied(path, pipe))


def check_readable(path: Path) -> None:
    """Refuse what is no file, or may not be read."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; check the path")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} may not be read; give yourself the permission to read it")


def _copied(path: Path, source: BinaryIO) -> Content:
    """A copy of what can be read once only."""
    folder = _Folder()
    place = folder.path / path.name
    with open(place, "wb") as file:
        shutil.copyfileobj(source, file, BUFFER)
    return Content(path, place, folder=folder)


def _unzipped(content: Content) -> Content:
    """The same with its compression known; the only file of a zip archive is taken out of it."""
    with open(content.place, "rb") as file:
        head = file.read(len(ZIP))
    for magic, compression in COMPRESSIONS.items():
        if head.startswith(magic):
            return Content(content.path, content.place, compression, content.folder)
    if head != ZIP:
        return content
    if content.place.suffix.lower() in WORKBOOKS:
        raise ValueError(f"{content.path} is an Excel workbook; save the table as CSV or Parquet")
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(content.place) as archive:
            return _only_member(content, archive)
    except BadZipFile as error:
        raise content.damaged() from error


def _only_member(content: Content, archive: "ZipFile") -> Content:
    members = [each for each in archive.namelist() if _is_of_user(each)]
    if len(members) != 1:
        raise ValueError(
            f"{content.path} is a zip archive of {len(members)} files; unpack it, and name one of "
            "them, or their folder"
        )
    with archive.open(members[0]) as member:
        copy = _copied(Path(members[0]), member)  # type: ignore[arg-type]
    return _unzipped(Content(content.path, copy.place, folder=copy.folder))


def _is_of_user(member: str) -> bool:
    """Whether a name in an archive is not that of a folder, nor of what a desktop adds."""
    return not (member.endswith("/") or member.startswith("__MACOSX/") or ".DS_Store" in member)
