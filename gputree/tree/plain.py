"""Parameters, class labels and categories as JSON values, and back with their exact types.

None, bool, str, lists, finite floats and integers that every JSON reader holds exactly stand for
themselves. Everything else is an object with one key, its tag:

    {"int": hexadecimal}              an integer of 54 bits or more
    {"float": hexadecimal}            the 64 bits of an infinity or a NaN
    {"str": base64 of UTF-8}          text with surrogates
    {"bytes": base64}
    {"tuple": [item, ...]}
    {"dict": [[key, item], ...]}
    {"numpy": [dtype, base64]}        a scalar, as little-endian bytes
    {"numpy_str": text}
    {"array": [dtype, shape, base64]}
    {"text_array": [width, shape, base64 of UTF-32]}
    {"object_array": [shape, [item, ...]]}

A value has one form only: `to_plain(from_plain(plain)) == plain` for all that is accepted.
Knows values; must not know files, trees, or what a value is for.
"""

import base64
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.tree.store import DTYPES, check_shape, damaged, from_raw, raw_bytes, shown, to_raw

EXACT_BITS = 53  # integers below 2**53 survive readers that know only double precision
MAX_DEPTH = 32  # levels of lists in lists; also ends a list that contains itself
MAX_WIDTH = (2**31 - 1) // 4  # characters of a numpy string: numpy counts its bytes in 32 bits
LAST_CHARACTER = 0x10FFFF

SUPPORTED = (
    "None, bool, int, float, str, bytes, list, tuple, dict with scalar keys, and numpy scalars "
    "and arrays of bool, integers, float16 to float64, text or such objects"
)


def to_plain(value: Any) -> Any:
    """A JSON-able form of `value` from which `from_plain` makes it again."""
    return encode(value, MAX_DEPTH)


def from_plain(plain: Any) -> Any:
    """The value that `to_plain` turned into `plain`; ModelFileError if there is none."""
    value = decode(plain, MAX_DEPTH)
    # One comparison rules out every second spelling: spare zeros, loose bits, equal keys.
    if to_plain(value) != plain:
        raise damaged(f"{shown(plain)} is not the canonical form of a value")
    return value


def encode(value: Any, depth: int) -> Any:
    if depth < 0:
        raise ValueError(
            f"a value nested deeper than {MAX_DEPTH} levels, or within itself, cannot be saved"
        )
    # The exact type decides: an instance of a subclass would come back as something else.
    encoder = ENCODERS.get(type(value))
    if encoder is not None:
        return encoder(value, depth)
    if isinstance(value, np.generic) and type(value) is value.dtype.type:
        return encode_numpy(value)
    raise unsupported(type(value).__qualname__)


def decode(plain: Any, depth: int) -> Any:
    if depth < 0:
        raise damaged(f"a value is nested deeper than {MAX_DEPTH} levels")
    if plain is None or type(plain) in (bool, int, float, str):
        return plain
    if type(plain) is list:
        return [decode(item, depth - 1) for item in plain]
    if type(plain) is dict and len(plain) == 1:
        [(tag, content)] = plain.items()
        if tag in DECODERS:
            return DECODERS[tag](content, depth)
    raise damaged(f"{shown(plain)} does not stand for a value")


def unsupported(name: str) -> TypeError:
    return TypeError(f"a value of type {name} cannot be saved; supported are {SUPPORTED}")


def to_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def from_base64(text: Any) -> bytes:
    if type(text) is not str:
        raise damaged(f"{shown(text)} is not base64")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise damaged(f"{shown(text)} is not base64") from None


def parts(content: Any, n_parts: int) -> list[Any]:
    if type(content) is not list or len(content) != n_parts:
        raise damaged(f"{shown(content)} is not a list of {n_parts} parts")
    return content


def encode_itself(value: Any, depth: int) -> Any:
    return value


def encode_int(value: int, depth: int) -> Any:
    # Hexadecimal has no limit of digits, and takes time in proportion to them.
    return value if value.bit_length() <= EXACT_BITS else {"int": hex(value)}


def decode_int(content: Any, depth: int) -> int:
    if type(content) is not str:
        raise damaged(f"{shown(content)} is not a hexadecimal integer")
    try:
        return int(content, 16)
    except ValueError:
        raise damaged(f"{shown(content)} is not a hexadecimal integer") from None


def encode_float(value: float, depth: int) -> Any:
    # JSON has no infinities, and there is more than one NaN.
    return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}


def decode_float(content: Any, depth: int) -> float:
    try:
        (value,) = struct.unpack(">d", bytes.fromhex(content))
    except (TypeError, ValueError, struct.error):
        raise damaged(f"{shown(content)} is not 64 bits in hexadecimal") from None
    return float(value)


def encode_str(value: str, depth: int) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        # JSON would read two surrogates side by side as one character.
        return {"str": to_base64(value.encode("utf-8", "surrogatepass"))}
    return value


def decode_str(content: Any, depth: int) -> str:
    try:
        return from_base64(content).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise damaged(f"{shown(content)} is not text") from None


def encode_numpy_str(value: np.str_, depth: int) -> Any:
    # Not str(value): numpy's version drops zeros at the end.
    return {"numpy_str": encode_str(str.__str__(value), depth)}


def decode_numpy_str(content: Any, depth: int) -> np.str_:
    # Not by `decode`, which would follow a chain of these tags without end.
    has_tag = type(content) is dict and list(content) == ["str"]
    text = decode_str(content["str"], depth) if has_tag else content
    if type(text) is not str:
        raise damaged(f"{shown(content)} is not text")
    return np.str_(text)


def encode_bytes(value: bytes, depth: int) -> Any:
    return {"bytes": to_base64(value)}


def decode_bytes(content: Any, depth: int) -> bytes:
    return from_base64(content)


def encode_list(value: list[Any], depth: int) -> Any:
    return [encode(item, depth - 1) for item in value]


def decode_list(content: Any, depth: int) -> list[Any]:
    if type(content) is not list:
        raise damaged(f"{shown(content)} is not a list")
    return [decode(item, depth - 1) for item in content]


def encode_tuple(value: tuple[Any, ...], depth: int) -> Any:
    return {"tuple": [encode(item, depth - 1) for item in value]}


def decode_tuple(content: Any, depth: int) -> tuple[Any, ...]:
    return tuple(decode_list(content, depth))


def is_scalar(value: Any) -> bool:
    return type(value) not in (list, tuple, dict, np.ndarray)


def encode_dict(value: dict[Any, Any], depth: int) -> Any:
    for key in value:
        if not is_scalar(key):
            raise unsupported(f"dict with a {type(key).__qualname__} as key")
    return {
        "dict": [[encode(key, depth - 1), encode(item, depth - 1)] for key, item in value.items()]
    }


def decode_dict(content: Any, depth: int) -> dict[Any, Any]:
    if type(content) is not list:
        raise damaged(f"{shown(content)} is not a list of pairs")
    value = {}
    for pair in content:
        plain_key, item = parts(pair, 2)
        key = decode(plain_key, depth - 1)
        if not is_scalar(key):
            raise damaged(f"{shown(plain_key)} is not the key of a dict")
        value[key] = decode(item, depth - 1)
    return value


def encode_numpy(value: np.generic) -> Any:
    if value.dtype.name not in DTYPES:
        raise unsupported(type(value).__qualname__)
    dtype, _, raw = to_raw(np.asarray(value))
    return {"numpy": [dtype, to_base64(raw)]}


def decode_numpy(content: Any, depth: int) -> Any:
    dtype, text = parts(content, 2)
    return from_raw(dtype, [], from_base64(text))[()]


def encode_array(value: HostArray, depth: int) -> Any:
    if value.dtype.kind == "O":
        return {"object_array": [list(value.shape), encode_list(list(value.flat), depth)]}
    if value.dtype.kind == "U":
        width = value.dtype.itemsize // 4
        raw = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
        return {"text_array": [width, list(value.shape), to_base64(raw)]}
    if value.dtype.name not in DTYPES:
        raise unsupported(f"numpy.ndarray with dtype {value.dtype}")
    dtype, shape, raw = to_raw(value)
    return {"array": [dtype, shape, to_base64(raw)]}


def decode_array(content: Any, depth: int) -> HostArray:
    dtype, shape, text = parts(content, 3)
    return from_raw(dtype, shape, from_base64(text))


def decode_text_array(content: Any, depth: int) -> HostArray:
    width, shape, text = parts(content, 3)
    if type(width) is not int or not 1 <= width <= MAX_WIDTH:
        raise damaged(f"{shown(width)} is not the width of a text array")
    check_shape(shape, width * raw_bytes("uint32", []))
    character = from_raw("uint32", [math.prod(shape) * width], from_base64(text))
    if (character > LAST_CHARACTER).any():  # numpy would fail later, when the item is read
        raise damaged("a text array has a character that does not exist")
    return character.view(f"U{width}").reshape(shape)


def decode_object_array(content: Any, depth: int) -> HostArray:
    shape, plain_items = parts(content, 2)
    check_shape(shape, np.dtype(object).itemsize)
    items = decode_list(plain_items, depth)
    if math.prod(shape) != len(items):
        raise damaged(f"{len(items)} items cannot have the shape {shown(shape)}")
    array = np.empty(len(items), object)
    for at, item in enumerate(items):  # one by one: numpy would look into items that are lists
        array[at] = item
    return array.reshape(shape)


ENCODERS: dict[type, Callable[[Any, int], Any]] = {
    type(None): encode_itself,
    bool: encode_itself,
    int: encode_int,
    float: encode_float,
    str: encode_str,
    bytes: encode_bytes,
    list: encode_list,
    tuple: encode_tuple,
    dict: encode_dict,
    np.str_: encode_numpy_str,
    np.ndarray: encode_array,
}

DECODERS: dict[str, Callable[[Any, int], Any]] = {
    "int": decode_int,
    "float": decode_float,
    "str": decode_str,
    "bytes": decode_bytes,
    "tuple": decode_tuple,
    "dict": decode_dict,
    "numpy": decode_numpy,
    "numpy_str": decode_numpy_str,
    "array": decode_array,
    "text_array": decode_text_array,
    "object_array": decode_object_array,
}
