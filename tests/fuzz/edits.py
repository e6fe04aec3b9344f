"""Edits of model files that can be written down: what a mutation did, and what a find was.

An edit is a JSON list: the name of a function here and its arguments. Files are packed anew after
it, with a right checksum, so that what lies behind the checksum is tried and not the checksum.
"""

import copy
import hashlib
import json
import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gputree.tree import store

FILES = Path(__file__).parents[1] / "corpus" / "0.1.0"
Parts = tuple[dict[str, Any], dict[str, Any]]  # the header and the arrays


@cache
def content_of(name: str) -> bytes:
    """A file of the corpus."""
    return (FILES / name).read_bytes()


@cache
def parts_of(name: str) -> Parts:
    """The file as it lies there, of whichever version.

    Nothing in it is ever changed: edits make copies of what they change.
    """
    data = content_of(name)
    _, _, n = store.PREFIX.unpack_from(data)
    content = json.loads(data[store.PREFIX.size : store.PREFIX.size + n])
    at, arrays = store.PREFIX.size + n + -(store.PREFIX.size + n) % 8, {}
    for row in content["arrays"]:
        n = store.raw_bytes(row["dtype"], row["shape"])
        arrays[row["name"]] = store.from_raw(row["dtype"], row["shape"], data[at : at + n])
        at += n + -n % 8
    return content["header"], arrays


def packed(parts: Parts, version: int = 1) -> bytes:
    """The file of a header and arrays, in the format of a version."""
    data = bytearray(store.pack(*parts))
    data[len(store.MAGIC) : len(store.MAGIC) + 4] = struct.pack("<I", version)
    return with_checksum(bytes(data))


def with_checksum(data: bytes) -> bytes:
    body = data[: -store.DIGEST_BYTES]
    return body + hashlib.sha256(body).digest()


def edited(name: str, edits: list[list[Any]]) -> bytes:
    """A file of the corpus after some edits."""
    if name.endswith(".json"):
        said = json.loads(content_of(name))
        for edit in edits:
            said = change(said, *edit[1:])
        return json.dumps(said).encode()
    parts = parts_of(name)
    in_bytes = []
    for edit in edits:
        if edit[0] == "bytes":
            in_bytes.append(edit[1])
        else:
            parts = EDITS[edit[0]](parts, *edit[1:])
    data = bytearray(packed(parts))
    for places in in_bytes:
        for at, byte in places:
            data[at % (len(data) - store.DIGEST_BYTES)] = byte
    return with_checksum(bytes(data))


def change(content: Any, path: list[Any], what: str, value: Any = None) -> Any:
    """Set, delete or repeat what is at a path of JSON."""
    if not path:
        return value
    content = copy.copy(content)
    here = content
    for key in path[:-1]:
        here[key] = copy.copy(here[key])
        here = here[key]
    if what == "set":
        here[path[-1]] = value
    elif what == "delete":
        del here[path[-1]]
    elif what == "repeat":
        here[path[-1]] = here[path[-1]] * value
    else:
        raise ValueError(what)
    return content


def in_header(parts: Parts, path: list[Any], what: str, value: Any = None) -> Parts:
    return change(parts[0], path, what, value), parts[1]


def item(parts: Parts, name: str, at: int, value: Any) -> Parts:
    """Set one item of an array; numbers that JSON does not hold are given as texts."""
    array = parts[1][name].copy()
    if array.size:
        with np.errstate(all="ignore"):
            number = np.float64(value) if isinstance(value, str) else np.array(value)
            array.flat[at % array.size] = number.astype(array.dtype)
    return _with(parts, name, array)


def bit(parts: Parts, name: str, at: int) -> Parts:
    array = parts[1][name].copy()
    raw = array.reshape(-1).view(np.uint8)
    if raw.size and array.dtype != bool:
        raw[at // 8 % raw.size] ^= 1 << at % 8
    return _with(parts, name, array)


def swap(parts: Parts, name: str, one: int, other: int) -> Parts:
    array = parts[1][name].copy()
    if len(array):
        one, other = one % len(array), other % len(array)
        array[[one, other]] = array[[other, one]]
    return _with(parts, name, array)


def repeat(parts: Parts, name: str, n: int, axis: int) -> Parts:
    array = parts[1][name]
    return _with(parts, name, np.repeat(array, n, axis=axis % max(1, array.ndim)))


def truncate(parts: Parts, name: str, n: int) -> Parts:
    array = parts[1][name]
    return _with(parts, name, array[: n % (len(array) + 1)])


def roll(parts: Parts, name: str, n: int) -> Parts:
    return _with(parts, name, np.roll(parts[1][name], n, axis=0))


def cast(parts: Parts, name: str, dtype: str) -> Parts:
    with np.errstate(all="ignore"):
        return _with(parts, name, parts[1][name].astype(dtype))


def reshape(parts: Parts, name: str, shape: list[int]) -> Parts:
    array = parts[1][name]
    fits = int(np.prod(shape)) == array.size
    return _with(parts, name, array.reshape(shape if fits else (1, *array.shape)))


def rename(parts: Parts, name: str, other: str) -> Parts:
    arrays = dict(parts[1])
    arrays[other] = arrays.pop(name)
    return parts[0], arrays


def splice(parts: Parts, source: str, name: str) -> Parts:
    """An array, or a part of the header, of another model."""
    header, arrays = parts_of(source)
    if name in arrays:
        return _with(parts, name, arrays[name])
    return ({**parts[0], name: header[name]} if name in header else parts[0]), parts[1]


def every_array(parts: Parts, source: str) -> Parts:
    return parts[0], parts_of(source)[1]


def _with(parts: Parts, name: str, array: Any) -> Parts:
    return parts[0], {**parts[1], name: np.ascontiguousarray(array)}


EDITS = {
    each.__name__: each
    for each in (
        *(in_header, item, bit, swap, repeat, truncate, roll, cast, reshape),
        *(rename, splice, every_array),
    )
}
