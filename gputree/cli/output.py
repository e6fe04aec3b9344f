"""What commands print and write: facts, JSON, notes, warnings, files.

Knows streams and files; must not know tables nor models.
"""

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gputree.progress import Waiting

# By which a model and a page of ours are known, and a report as text.
MARKS = (b"gputree\n", b'<meta name="generator" content="gputree">')
TEXT_MARK = b"table     "
HEAD = 4096  # bytes in which they are


@dataclass
class Output:
    """How the results of one command are shown."""

    is_quiet: bool = False
    is_json: bool = False
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Add a note to the results: on stderr, or among the keys of JSON."""
        self.notes.append(text)
        if not (self.is_quiet or self.is_json):
            say(f"gputree: note: {in_a_line(text)}", sys.stderr)

    def look(self, notes: Iterable[str]) -> None:
        """Tell what was found out, and what the user should look at."""
        for text in notes:
            if text:
                self.note(text)

    def waiting(self, what: str, note: Callable[[], str] = str) -> Waiting:
        """A line while something takes long; `note` tells what else goes on."""
        return Waiting(what, is_shown=not self.is_quiet, note=note)

    def show(self, text: str, data: dict[str, Any]) -> None:
        """Print the results: as text, as one JSON object, or not at all."""
        if self.is_json:
            say(json.dumps(plain({**data, "notes": self.notes}), indent=2), sys.stdout)
        elif not self.is_quiet:
            say(text, sys.stdout)


def plain(value: Any) -> Any:
    """A value as JSON holds it; what is no number there, such as NaN, is null."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str | None) else str(value)


def fact(name: str, value: object) -> str:
    """A line of results."""
    return f"{name:<9} {value}"


def count(n: int, noun: str) -> str:
    """So many of something."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else many}"


def a(noun: object) -> str:
    """A noun with its article."""
    return f"{'an' if str(noun)[:1].lower() in 'aeiou' else 'a'} {noun}"


def listed(names: Any, most: int = 10) -> str:
    """Names in a row; only the first ones where there are many."""
    names = [str(name) for name in names]
    more = f", ... {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# Streams


@contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """Show warnings as the user's concern, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"gputree: warning: {in_a_line(message)}", sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def in_a_line(message: object) -> str:
    """A message without line breaks; of an error of the system the file and the reason."""
    if isinstance(message, OSError) and message.filename is not None:
        return f"{message.filename}: {message.strerror}"
    return " ".join(str(message).split())


def say(text: str, stream: Any) -> None:
    """Print; what the stream cannot encode is escaped."""
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


# Files


def check_place(path: Path, option: str, *inputs: str | Path) -> None:
    """Refuse a place for a result that cannot be written, or that is one of the inputs."""
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise ValueError(f"{option} {path} is not a regular file; choose another place")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}; create it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option} {path} cannot be written; choose another place")
    for each in inputs:
        if is_one_file(path, Path(each)):
            raise ValueError(f"{path} is an input of the command; choose another with {option}")


def check_own(path: Path, option: str) -> None:
    """Refuse to replace a file that gputree has not written."""
    if not path.is_file():
        return
    with open(path, "rb") as file:
        head = file.read(HEAD)
    if head and not any(mark in head for mark in MARKS) and not head.startswith(TEXT_MARK):
        raise ValueError(
            f"{path} is there and was not written by gputree; choose another place with {option}"
        )


def is_one_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, there or not."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


class NotWrittenError(OSError):
    """A result that cannot be written, with its name."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in the error; the library's own names a temporary one."""
    try:
        yield
    except NotWrittenError:  # another file, written while this one waited
        raise
    except OSError as error:
        raise NotWrittenError(f"cannot write {path}: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Put text into a file, all of it or nothing."""
    from gputree.tree.store import write

    with writing(path):
        write(path, encoded(text))


def encoded(text: str) -> bytes:
    """A text as files hold it; what UTF-8 cannot hold is escaped."""
    return text.encode("utf-8", "backslashreplace")
