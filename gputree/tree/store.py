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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from gputree import runs
from gputree.dtypes import HostArray
from gputree.errors import ModelFileError

MAGIC = b"gputree\n"
FORMAT_VERSION = 2  # of contents, also of those of JSON texts
PREFIX = struct.Struct("<8sIQ")  # magic, format version, header length
DIGEST_BYTES = hashlib.sha256().digest_size
ALIGN_BYTES = 8  # the widest item, so that a mapped file could be used in place
MAX_NESTING = 200  # far below Python's recursion limit, far above what parameters need
MAX_DIMENSIONS = 64  # numpy's own limit
PIECE_BYTES = 2**20  # of a file, that are read or written at a time; a single array may have more

Piece: TypeAlias = bytes | memoryview
ArrayOrParts: TypeAlias = HostArray | list[HostArray]  # parts follow one another

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


def pack(header: Mapping[str, Any], arrays: Mapping[str, ArrayOrParts]) -> bytes:
    """The file that holds a JSON-able header and named arrays; equal inputs give equal bytes."""
    file = BytesIO()
    file.writelines(pieces(header, arrays))
    return file.getvalue()


def pieces(header: Mapping[str, Any], arrays: Mapping[str, ArrayOrParts]) -> Iterator[Piece]:
    """The same file piece by piece, so that nobody has to hold it as a whole."""
    for name in arrays:
        if not isinstance(name, str):
            raise TypeError(f"array name {name!r} is a {type(name).__name__}; names must be str")
    parts = {name: parts_of(arrays[name]) for name in sorted(arrays)}
    described = [
        {"name": name, "dtype": dtype_of(own[0]), "shape": shape_of(own)}
        for name, own in parts.items()
    ]
    text = header_text({"header": dict(header), "arrays": described})
    first = PREFIX.pack(MAGIC, FORMAT_VERSION, len(text)) + text
    digest = hashlib.sha256()
    for piece in chain([first, padding(len(first))], *map(padded, parts.values())):
        digest.update(piece)
        yield piece
    yield digest.digest()


def padded(parts: Sequence[HostArray]) -> Iterator[Piece]:
    """The bytes of an array that is given in parts; few small ones make a piece together."""
    size = np.array([part.nbytes for part in parts])
    for own in runs.pieces(size, PIECE_BYTES):
        yield raw_of(whole(parts[own]))
    yield padding(int(size.sum()))


def parts_of(array: ArrayOrParts) -> Sequence[HostArray]:
    """The parts of an array that may have been given in parts."""
    return array if isinstance(array, list) else [np.asarray(array)]


def whole(parts: Sequence[HostArray]) -> HostArray:
    """An array that is given in parts."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def shape_of(parts: Sequence[HostArray]) -> list[int]:
    """Its shape."""
    return [sum(map(len, parts)), *parts[0].shape[1:]] if parts[0].ndim else []


def dtype_of(array: HostArray) -> str:
    """The name of the dtype of an array, which is one of those that are stored."""
    if array.dtype.name not in DTYPES:
        raise TypeError(
            f"an array of dtype {array.dtype} cannot be stored; convert it to one of "
            f"{', '.join(DTYPES)}"
        )
    return array.dtype.name


def raw_of(array: HostArray) -> memoryview:
    """The little-endian C-order bytes of an array, which are its own where they can be."""
    if array.dtype == bool:
        # A view can leave any number in the byte of a True; one value must have one form.
        array = array.view(np.uint8) != 0
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return little.reshape(-1).view(np.uint8).data


def unpack(data: bytes | bytearray | memoryview) -> tuple[dict[str, Any], dict[str, HostArray]]:
    """The header and the read-only arrays of a packed file; ModelFileError if it is not one.

    They are those of the file's own version, which `version_of` tells.
    """
    return read(BytesIO(data if isinstance(data, bytes) else memoryview(data)))


def read(file: BinaryIO) -> tuple[dict[str, Any], dict[str, HostArray]]:
    """The same of an open file at its beginning.

    It is read twice, so that nothing is made of it before its checksum has been compared.
    """
    header_bytes, end = check_frame(file)
    header, described = parse_header(section(file, header_bytes, end).tobytes())
    arrays: dict[str, HostArray] = {}
    for name, dtype, shape in described:
        arrays[name] = array_on(dtype, shape, section(file, raw_bytes(dtype, shape), end))
        arrays[name].setflags(write=False)
    if file.tell() != end:
        raise damaged(f"{end - file.tell()} bytes follow its last array")
    return header, arrays


def to_raw(array: HostArray) -> tuple[str, list[int], bytes]:
    """The dtype's name, the shape and the little-endian C-order bytes of an array."""
    array = np.asarray(array)
    return dtype_of(array), list(array.shape), bytes(raw_of(array))


def from_raw(dtype: Any, shape: Any, raw: bytes) -> HostArray:
    """A new native array from what `to_raw` gave, with every argument checked."""
    return array_on(dtype, shape, raw).copy()


def array_on(dtype: Any, shape: Any, raw: bytes | HostArray) -> HostArray:
    """The same as an array of these bytes, where they are native."""
    if raw_bytes(dtype, shape) != len(raw):
        raise damaged(f"{len(raw)} bytes cannot be an array of {dtype} with shape {shown(shape)}")
    if dtype == "bool" and bytes(raw).strip(b"\0\1"):
        raise damaged("a truth value is neither 0 nor 1")
    stored: HostArray = np.ndarray(shape, np.dtype(dtype).newbyteorder("<"), buffer=raw)
    return stored.astype(dtype, copy=False)


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


def check_frame(file: BinaryIO) -> tuple[int, int]:
    """Check magic, version and checksum, in this order; the length of the header, and the end.

    The file is then at its header.
    """
    prefix = file.read(PREFIX.size)
    if prefix[: len(MAGIC)] != MAGIC:
        raise ModelFileError(
            "this is not a gputree model: it does not begin with the mark of one; give a file "
            "that gputree saved, copied in binary mode"
        )
    if len(prefix) < PREFIX.size:
        raise damaged("it ends within its first lines")
    _, version, header_bytes = PREFIX.unpack(prefix)
    check_version(version, "the model file")
    end = file.seek(0, os.SEEK_END) - DIGEST_BYTES
    if end < PREFIX.size:
        raise damaged("it ends before its checksum")
    file.seek(0)
    digest, n_left = hashlib.sha256(), end
    while n_left and (piece := file.read(min(n_left, PIECE_BYTES))):
        digest.update(piece)
        n_left -= len(piece)
    if digest.digest() != file.read():
        raise damaged("its content does not match its checksum")
    file.seek(PREFIX.size)
    return int(header_bytes), end


def version_of(data: bytes) -> int:
    """The format version of a file that has been accepted, by its first bytes."""
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


def section(file: BinaryIO, n_bytes: int, end: int) -> HostArray:
    """The next bytes of a file whose sections end somewhere; what follows them is next."""
    after = file.tell() + n_bytes
    after += -after % ALIGN_BYTES
    if after > end:
        raise damaged(f"{n_bytes} bytes are announced where {end - file.tell()} are left")
    raw = np.empty(n_bytes, np.uint8)
    if file.readinto(raw) != n_bytes:  # type: ignore[attr-defined]
        raise damaged("it became shorter while it was read")
    if any(file.read(after - file.tell())):
        raise damaged("the space between its parts is not empty")
    raw.setflags(write=False)
    return raw


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


def write(path: str | os.PathLike[str], data: bytes | Iterable[Piece]) -> None:
    """Put `data`, perhaps in pieces, into the file `path`: all, or on any failure nothing."""
    with staged(path, data):
        pass


@contextmanager
def staged(path: str | os.PathLike[str], data: bytes | Iterable[Piece]) -> Iterator[None]:
    """Put `data` beside the file `path`, and in its place once what is done inside succeeds."""
    target = os.path.realpath(os.fsdecode(path))  # a link stays, and leads to the new content
    mode = mode_to_keep(target)
    # Not named after the target, whose name may already have the longest length allowed.
    temporary = os.path.join(os.path.dirname(target), f".gputree-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            parts: Iterable[Piece] = [data] if isinstance(data, bytes) else data
            file.writelines(parts)
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
