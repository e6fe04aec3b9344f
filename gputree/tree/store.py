r"""The bytes of a model file: a JSON header and named arrays under a checksum; no code.

Layout, every number little-endian:

    magic            8 bytes    b"gputree\n"
    format version   uint32
    header length    uint64
    header           canonical JSON, padded with zeros to a multiple of 8 bytes from the start
    arrays           in the order of their names, C order, each padded to a multiple of 8 bytes
    checksum         SHA-256 of everything before it

A model has one form only: `pack(*unpack(data)) == data` for every file of this version that is
accepted. All versions have this layout; `gputree.estimators.upgrade` knows how contents differ.
Knows bytes, JSON and arrays; must not know trees, estimators, or what a header means.
"""

import hashlib
import json
import math
import os
import re
import reprlib
import secrets
import stat
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.errors import ModelFileError

MAGIC = b"gputree\n"
FORMAT_VERSION = 2  # of contents, also of those of JSON texts
PREFIX = struct.Struct("<8sIQ")  # magic, format version, header length
DIGEST_BYTES = hashlib.sha256().digest_size
ALIGN_BYTES = 8  # the widest item, so that a mapped file could be used in place
MAX_NESTING = 200  # far below Python's recursion limit, far above what parameters need
MAX_DIMENSIONS = 64  # numpy's own limit

# Half precision is here for class labels; what is missing has no fixed meaning on every machine.
DTYPES = (
    "bool",
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)

# Linear in any text: nothing is tried twice, not even a string that lacks its closing quote.
JSON_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def damaged(what: str) -> ModelFileError:
    """The error for a file that gputree cannot have written; `what` says what is wrong in it."""
    return ModelFileError(
        f"the model file is damaged: {what}; restore it from a copy or save the model again"
    )


def pack(header: Mapping[str, Any], arrays: Mapping[str, HostArray]) -> bytes:
    """The file that holds a JSON-able header and named arrays; equal inputs give equal bytes."""
    for name in arrays:
        if not isinstance(name, str):
            raise TypeError(f"array name {name!r} is a {type(name).__name__}; names must be str")
    raw = {name: to_raw(arrays[name]) for name in sorted(arrays)}
    described = [
        {"name": name, "dtype": dtype, "shape": shape} for name, (dtype, shape, _) in raw.items()
    ]
    text = header_text({"header": dict(header), "arrays": described})
    parts = [PREFIX.pack(MAGIC, FORMAT_VERSION, len(text)), text, padding(PREFIX.size + len(text))]
    for _, _, data in raw.values():
        parts += [data, padding(len(data))]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([*parts, digest.digest()])


def unpack(data: bytes | bytearray | memoryview) -> tuple[dict[str, Any], dict[str, HostArray]]:
    """The header and the read-only arrays of a packed file; ModelFileError if it is not one.

    They are those of the file's own version, which `version_of` tells.
    """
    if not isinstance(data, bytes):
        data = bytes(memoryview(data))
    header_bytes = check_frame(data)
    body = memoryview(data)[:-DIGEST_BYTES]
    text, start = section(body, PREFIX.size, header_bytes)
    header, described = parse_header(bytes(text))
    arrays: dict[str, HostArray] = {}
    for name, dtype, shape in described:
        raw, start = section(body, start, raw_bytes(dtype, shape))
        array = from_raw(dtype, shape, raw)
        array.setflags(write=False)
        arrays[name] = array
    if start != len(body):
        raise damaged(f"{len(body) - start} bytes follow its last array")
    return header, arrays


def to_raw(array: HostArray) -> tuple[str, list[int], bytes]:
    """The dtype's name, the shape and the little-endian C-order bytes of an array."""
    array = np.asarray(array)
    dtype = array.dtype.name
    if dtype not in DTYPES:
        raise TypeError(
            f"an array of dtype {array.dtype} cannot be stored; convert it to one of "
            f"{', '.join(DTYPES)}"
        )
    if dtype == "bool":
        # A view can leave any number in the byte of a True; one value must have one form.
        array = np.asarray(array.view(np.uint8) != 0)
    little = np.dtype(dtype).newbyteorder("<")
    return dtype, list(array.shape), array.astype(little, copy=False).tobytes()


def from_raw(dtype: Any, shape: Any, raw: bytes | memoryview) -> HostArray:
    """A new native array from what `to_raw` gave, with every argument checked."""
    if raw_bytes(dtype, shape) != len(raw):
        raise damaged(f"{len(raw)} bytes cannot be an array of {dtype} with shape {shown(shape)}")
    if dtype == "bool" and bytes(raw).strip(b"\0\1"):
        raise damaged("a truth value is neither 0 nor 1")
    stored: HostArray = np.ndarray(shape, np.dtype(dtype).newbyteorder("<"), buffer=raw)
    return stored.astype(dtype)


def raw_bytes(dtype: Any, shape: Any) -> int:
    """How many bytes an array takes, told from unchecked values and before any allocation."""
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise damaged(f"{shown(dtype)} is not a dtype of a model file")
    item_bytes = np.dtype(dtype).itemsize
    check_shape(shape, item_bytes)
    return int(math.prod(shape)) * item_bytes


def check_shape(shape: Any, item_bytes: int) -> None:
    """Refuse what numpy would not take as the shape of an array of such items."""
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        raise damaged(f"{shown(shape)} is not the shape of an array")
    if any(type(length) is not int or length < 0 for length in shape):
        raise damaged(f"{shown(shape)} is not the shape of an array")
    # numpy limits the other lengths even where one of them is 0.
    if math.prod(max(length, 1) for length in shape) * item_bytes > sys.maxsize:
        raise damaged(f"an array of shape {shown(shape)} is larger than any memory")


def shown(value: Any) -> str:
    """A value from a file, short enough for a message."""
    try:
        text = reprlib.repr(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def header_text(content: dict[str, Any]) -> bytes:
    """Canonical JSON; refuses what would not come back equal from a file."""
    try:
        text = canonical(content)
    except RecursionError:
        raise ValueError("the header is nested too deeply; flatten it") from None
    if nesting(text) > MAX_NESTING:
        raise ValueError(f"the header is nested deeper than {MAX_NESTING} levels; flatten it")
    if json.loads(text) != content:
        raise ValueError(
            "the header would change in JSON: use str keys, lists instead of tuples, and text "
            "without surrogates, or convert it with gputree.tree.plain.to_plain"
        )
    return text


def canonical(content: Any) -> bytes:
    text = json.dumps(
        content, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return text.encode("ascii")


def nesting(text: bytes) -> int:
    """How deep the brackets of a JSON text go; a text that is no JSON gives some number too."""
    brackets = JSON_STRING.sub(b"", text).translate(None, delete=NOT_BRACKETS)
    if not brackets:
        return 0
    code = np.frombuffer(brackets, np.uint8)
    step = np.where((code == ord("[")) | (code == ord("{")), 1, -1)
    return int(np.cumsum(step).max())


def padding(n_bytes: int) -> bytes:
    return bytes(-n_bytes % ALIGN_BYTES)


def check_frame(data: bytes) -> int:
    """Check magic, version and checksum, in this order; the length of the header."""
    if data[: len(MAGIC)] != MAGIC:
        raise ModelFileError(
            "this is not a gputree model: it does not begin with the mark of one; give a file "
            "that gputree saved, copied in binary mode"
        )
    if len(data) < PREFIX.size:
        raise damaged("it ends within its first lines")
    _, version, header_bytes = PREFIX.unpack_from(data)
    check_version(version, "the model file")
    if len(data) < PREFIX.size + DIGEST_BYTES:
        raise damaged("it ends before its checksum")
    if hashlib.sha256(memoryview(data)[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise damaged("its content does not match its checksum")
    return int(header_bytes)


def version_of(data: bytes) -> int:
    """The format version of a file that `unpack` has accepted."""
    return int(PREFIX.unpack_from(data)[1])


def check_version(version: Any, source: str) -> None:
    """Refuse what this gputree cannot know, before anything else is read."""
    if type(version) is int and 1 <= version <= FORMAT_VERSION:
        return
    is_later = type(version) is int and version > FORMAT_VERSION
    cure = "a newer gputree is needed to load it" if is_later else "no gputree has written that one"
    raise ModelFileError(
        f"{source} has format version {shown(version)}, and this gputree reads versions up to "
        f"{FORMAT_VERSION}; {cure}"
    )


def section(body: memoryview, start: int, n_bytes: int) -> tuple[memoryview, int]:
    """`n_bytes` of the body from `start`, and where the next section begins."""
    end = start + n_bytes
    after = end + -end % ALIGN_BYTES
    if after > len(body):
        raise damaged(f"{n_bytes} bytes are announced where {len(body) - start} are left")
    if any(body[end:after]):
        raise damaged("the space between its parts is not empty")
    return body[start:end], after


def parse_header(text: bytes) -> tuple[dict[str, Any], list[tuple[str, Any, Any]]]:
    """The user's header, and the name, dtype and shape of each array, the latter two unchecked."""
    if nesting(text) > MAX_NESTING:  # before the parser, which recurses
        raise damaged(f"its header is nested deeper than {MAX_NESTING} levels")
    try:
        content = json.loads(text.decode("ascii"))
        # Also rules out what JSON leaves open: repeated keys, spaces, other spellings of a number.
        is_canonical = canonical(content) == text
    except ValueError:  # no ASCII, no JSON, NaN, or an integer too long for Python
        raise damaged("its header is not JSON") from None
    if not is_canonical:
        raise damaged("its header is not in canonical form")
    if not isinstance(content, dict) or set(content) != {"arrays", "header"}:
        raise damaged("its header does not consist of 'arrays' and 'header'")
    header, described = content["header"], content["arrays"]
    if not isinstance(header, dict) or not isinstance(described, list):
        raise damaged("its header has parts of the wrong type")
    return header, parse_arrays(described)


def parse_arrays(described: list[Any]) -> list[tuple[str, Any, Any]]:
    rows = []
    for row in described:
        if not isinstance(row, dict) or set(row) != {"name", "dtype", "shape"}:
            raise damaged(f"{shown(row)} does not describe an array")
        rows.append((row["name"], row["dtype"], row["shape"]))
    names = [name for name, _, _ in rows]
    if not all(isinstance(name, str) for name in names):
        raise damaged("an array has a name that is not text")
    if names != sorted(set(names)):
        raise damaged("its arrays are not in the order of their names, each once")
    return rows


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` into the file `path`: all of it, or on any failure nothing."""
    with staged(path, data):
        pass


@contextmanager
def staged(path: str | os.PathLike[str], data: bytes) -> Iterator[None]:
    """Put `data` beside the file `path`, and in its place once what is done inside succeeds."""
    target = os.path.realpath(os.fsdecode(path))  # a link stays, and leads to the new content
    mode = mode_to_keep(target)
    # Not named after the target, whose name may already have the longest length allowed.
    temporary = os.path.join(os.path.dirname(target), f".gputree-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else a crash could leave the new name with no content
        if mode is not None:
            os.chmod(temporary, mode)
        yield
        os.replace(temporary, target)
        sync_folder(os.path.dirname(target))
    except BaseException:  # an interrupt, too, must leave no litter
        with suppress(OSError):
            os.unlink(temporary)
        raise


def sync_folder(folder: str) -> None:
    """Have a new name in a folder survive a crash, where the system can promise that."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        return
    # Some file systems refuse; the file is there all the same.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def mode_to_keep(target: str) -> int | None:
    """The permissions of the file to be replaced, None if there is none yet."""
    try:
        # Replacing needs no right to write the file itself, so ask for it as writing would.
        with open(target, "r+b", buffering=0) as file:
            mode = os.fstat(file.fileno()).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(f"{target!r} is not an ordinary file and cannot be replaced by one")
    return stat.S_IMODE(mode)


def read(path: str | os.PathLike[str]) -> bytes:
    """The bytes of the file `path`."""
    with open(os.fsdecode(path), "rb") as file:
        return file.read()
