"""Values in JSON: exact types and bits come back, one form each, and no form breaks the reader."""

import json
import math
import struct
from collections import OrderedDict, namedtuple
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gputree.errors import ModelFileError
from gputree.tree import store
from gputree.tree.plain import DECODERS, MAX_DEPTH, from_plain, to_plain
from tests.thorough import examples

patient = settings(deadline=None)  # a busy machine is no failure

text = st.text(st.characters(), max_size=6)  # surrogates included
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
raw_dtypes = st.sampled_from([*store.DTYPES]).flatmap(
    lambda name: st.sampled_from([np.dtype(name).newbyteorder(order) for order in "<>"])
)
text_dtypes = hnp.unicode_string_dtypes(min_len=1, max_len=5)
numpy_scalar = raw_dtypes.flatmap(lambda dtype: hnp.from_dtype(dtype.newbyteorder("=")))
scalar = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**52, 2**54).flatmap(lambda n: st.sampled_from([n, -n])),
    st.floats(),
    text,
    st.binary(max_size=6),
    text.map(np.str_),
    numpy_scalar,
)


def object_array(items):
    array = np.empty(len(items), object)
    for at, item in enumerate(items):
        array[at] = item
    return array.reshape(2, -1) if len(items) % 2 == 0 else array


value = st.recursive(
    scalar
    | hnp.arrays(raw_dtypes, shapes)
    | hnp.arrays(text_dtypes, shapes, elements=text.map(lambda word: word[:1].strip("\0"))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(scalar, inner, max_size=3),
        st.lists(inner, max_size=4).map(object_array),
    ),
    max_leaves=8,
)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*DECODERS, "other"]), inner, max_size=2)
    ),
    max_leaves=10,
)


def through_json(plain):
    return json.loads(json.dumps(plain, allow_nan=False, ensure_ascii=True))


def told(value):
    """All that must survive: types, bits, order; nested tuples of strings and bytes compare."""
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        dtype = value.dtype.newbyteorder("=")
        if dtype.kind == "O":
            return kind, "O", value.shape, [told(item) for item in value.flat]
        return kind, dtype.str, value.shape, value.astype(dtype).tobytes()
    if isinstance(value, (list, tuple)):
        return kind, [told(item) for item in value]
    if isinstance(value, dict):
        return kind, [(told(key), told(item)) for key, item in value.items()]
    if isinstance(value, np.generic) and not isinstance(value, np.str_):
        return kind, value.tobytes()
    return kind, struct.pack("<d", value) if isinstance(value, float) else value


# ------------------------------------------------------------------------------ round trips


@settings(patient, max_examples=examples(400))
@given(value)
def test_a_value_comes_back_with_its_types_and_bits(value):
    plain = to_plain(value)
    again = through_json(plain)
    assert told(from_plain(again)) == told(value)
    assert to_plain(from_plain(again)) == plain


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        2**53 - 1,
        2**53,
        -(2**53),
        10**5000,
        -(10**5000),
        0.1,
        -0.0,
        5e-324,
        math.inf,
        -math.inf,
        math.nan,
        -math.nan,
        "",
        "é\0[",
        "\ud83d\ude00",
        "\udc80",
        b"\0\xff",
        [],
        (),
        {},
        (1, [2, (3,)]),
        {1: "a", "1": "b", None: 1, b"1": 2, 2.5: 3},
        {np.int64(3): 1, np.str_("3"): 2, (math.nan): 3},
        np.int64(3),
        np.uint8(3),
        np.bool_(True),
        np.float16(0.1),
        np.float32(0.1),
        np.float64(-0.0),
        np.str_("a\0"),
        np.str_("\ud83d\ude00"),
        np.str_(""),
        np.zeros((2, 0, 3), np.int16),
        np.array(["a", "bcd"]),
        np.array(["a"], "U9"),
        np.array([], "U7"),
        np.array("x"),
        np.array(3),
        np.array([None, 1, "a", (1,), [1, 2]], object),
        np.array([], object),
        np.array(None),
    ],
    ids=range(44),
)
def test_each_kind_of_value_comes_back(value):
    again = from_plain(through_json(to_plain(value)))
    assert told(again) == told(value)


def test_nan_payloads_of_floats_are_kept():
    (value,) = struct.unpack("<d", bytes([1, 2, 3, 0, 0, 0, 0xF8, 0xFF]))
    assert struct.pack("<d", from_plain(to_plain(value))) == struct.pack("<d", value)


def test_the_documented_forms_are_used():
    assert to_plain([None, True, 3, 0.5, "a"]) == [None, True, 3, 0.5, "a"]
    assert to_plain((2**64,)) == {"tuple": [{"int": "0x10000000000000000"}]}
    assert to_plain(math.inf) == {"float": "7ff0000000000000"}
    assert to_plain({1: b"A"}) == {"dict": [[1, {"bytes": "QQ=="}]]}
    assert to_plain(np.uint8(65)) == {"numpy": ["uint8", "QQ=="]}
    assert to_plain(np.str_("A")) == {"numpy_str": "A"}
    assert to_plain(np.array([[65]], np.uint8)) == {"array": ["uint8", [1, 1], "QQ=="]}
    assert to_plain(np.array(["A"])) == {"text_array": [1, [1], "QQAAAA=="]}
    assert to_plain(np.array([None])) == {"object_array": [[1], [None]]}
    assert to_plain("\udc80") == {"str": "7bKA"}


@patient
@given(hnp.arrays(raw_dtypes, shapes) | hnp.arrays(text_dtypes, shapes))
def test_byte_order_and_strides_leave_no_trace(array):
    other = np.repeat(array[..., None], 2, axis=-1)[..., 0]
    other = other.astype(other.dtype.newbyteorder("S"))
    assert to_plain(other) == to_plain(array)


def test_arrays_come_back_native_and_writable():
    for array in (np.array([1.5], ">f8"), np.array(["ab"], ">U2"), np.array([None])):
        again = from_plain(to_plain(array))
        assert again.dtype.isnative
        again[0] = again[0]


def test_the_deepest_value_that_is_written_is_read():
    deep = np.str_("leaf")
    for _ in range(MAX_DEPTH):
        deep = {np.str_("key"): deep}
    plain = to_plain(deep)
    assert from_plain(plain) == deep
    assert store.unpack(store.pack({"deep": plain}, {}))[0] == {"deep": plain}
    with pytest.raises(ValueError, match="nested deeper than"):
        to_plain([deep])
    with pytest.raises(ModelFileError, match="nested deeper than"):
        from_plain([plain])


def test_a_list_within_itself_is_refused():
    knot = []
    knot.append(knot)
    with pytest.raises(ValueError, match="within itself"):
        to_plain(knot)


# ------------------------------------------------------------------------- unsupported values


class Color(IntEnum):
    RED = 1


class Name(str):
    __slots__ = ()


class Real(np.float64):
    pass


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (object(), "object"),
        ({1}, "set"),
        (1j, "complex"),
        (np.complex128(1), "complex128"),
        (np.longdouble(1), "longdouble"),
        (np.datetime64("2020-01-01"), "datetime64"),
        (np.bytes_(b"a"), "bytes_"),
        (np.array([1j]), "ndarray with dtype complex128"),
        (np.array([b"a"]), r"ndarray with dtype \|S1"),
        (np.array([object()]), "object"),
        (np.ma.masked_array([1]), "MaskedArray"),
        (Color.RED, "Color"),
        (Name("a"), "Name"),
        (Real(1), "Real"),
        (OrderedDict(), "OrderedDict"),
        (namedtuple("Point", "x")(1), "Point"),
        ({(1,): 1}, "dict with a tuple as key"),
        ({frozenset(): 1}, "frozenset"),
        ([{"a": (len,)}], "builtin_function_or_method"),
    ],
    ids=range(19),
)
def test_an_unsupported_value_is_refused_by_the_name_of_its_type(value, name):
    with pytest.raises(TypeError, match=f"{name} cannot be saved; supported are None, bool"):
        to_plain(value)


# ---------------------------------------------------------------------------- malformed plain

HUGE = 10**400
DEEP = 10_000  # ten times what Python lets a function call itself


def nested(tag, depth):
    plain = "x"
    for _ in range(depth):
        plain = {tag: plain} if tag else [plain]
    return plain


MALFORMED = [
    object(),
    (1,),
    b"",
    np.float64(1),
    {},
    {"int": "0x1", "float": "0"},
    {"other": 1},
    {None: 1},
    2**53,
    math.nan,
    "\udc80",
    {"int": "0x1"},
    {"int": "0X20000000000000"},
    {"int": "0x_20000000000000"},
    {"int": ""},
    {"int": "x"},
    {"int": 2**60},
    {"int": 10**5000},
    {"float": "3ff0000000000000"},
    {"float": "7FF0000000000000"},
    {"float": "7ff0"},
    {"float": "x"},
    {"float": None},
    {"str": "QQ=="},
    {"str": "/w=="},
    {"str": 1},
    {"bytes": "QR=="},
    {"bytes": "QQ"},
    {"bytes": "QQ==\n"},
    {"bytes": "é"},
    {"bytes": None},
    {"tuple": 1},
    {"tuple": {"tuple": []}},
    {"dict": {}},
    {"dict": [1]},
    {"dict": [[1]]},
    {"dict": [[1, 2, 3]]},
    {"dict": [[1, 2], [1.0, 3]]},
    {"dict": [[True, 2], [1, 3]]},
    {"dict": [[[], 1]]},
    {"dict": [[{"tuple": []}, 1]]},
    {"dict": [[{"array": ["uint8", [1], "QQ=="]}, 1]]},
    {"dict": [[{"object_array": [[], [1]]}, 1]]},
    {"numpy": ["uint8"]},
    {"numpy": ["uint8", ""]},
    {"numpy": ["uint8", "QUE="]},
    {"numpy": ["bool", "Ag=="]},
    {"numpy": ["object", "QQ=="]},
    {"numpy": [["uint8"], "QQ=="]},
    {"numpy": "uint8"},
    {"numpy": [np.zeros(2), "QQ=="]},
    {"numpy_str": 1},
    {"numpy_str": {"str": "QQ=="}},
    {"numpy_str": {"numpy_str": "a"}},
    {"array": ["uint8", [2], "QQ=="]},
    {"array": ["uint8", [True], "QQ=="]},
    {"array": ["uint8", [1.0], "QQ=="]},
    {"array": ["uint8", [-1, -1], "QQ=="]},
    {"array": ["uint8", [HUGE, 0], ""]},
    {"array": ["uint8", [1] * 65, "QQ=="]},
    {"array": ["<u1", [1], "QQ=="]},
    {"array": []},
    {"text_array": [1, [1], "AAARAA=="]},
    {"text_array": [0, [1], ""]},
    {"text_array": [-1, [1], ""]},
    {"text_array": [True, [1], "QQAAAA=="]},
    {"text_array": [2**29 - 1, [1], ""]},
    {"text_array": [2**29, [0], ""]},
    {"text_array": [HUGE, [0], ""]},
    {"text_array": [2**20, [0, 2**50], ""]},
    {"text_array": [1, [2], "QQAAAA=="]},
    {"text_array": [1, "x", "QQAAAA=="]},
    {"object_array": [[2], [1]]},
    {"object_array": [[0, HUGE], []]},
    {"object_array": [[1], 1]},
    {"object_array": [[], []]},
    {"object_array": [1, [1]]},
    {"other": nested("", DEEP)},
    {"int": nested("", DEEP)},
    *(nested(tag, DEEP) for tag in ("", "tuple", "numpy_str", "other")),
]


@pytest.mark.parametrize("plain", MALFORMED, ids=range(len(MALFORMED)))
def test_what_no_value_becomes_is_refused(plain):
    with pytest.raises(ModelFileError, match=r"damaged: .*; restore it"):
        from_plain(plain)


def test_a_wide_text_array_without_items_takes_no_memory():
    assert from_plain({"text_array": [2**29 - 1, [0, 3], ""]}).shape == (0, 3)


@settings(patient, max_examples=examples(400))
@given(json_value)
def test_no_json_breaks_the_reader(plain):
    try:
        found = from_plain(plain)
    except ModelFileError:
        return
    assert to_plain(found) == plain


@settings(patient, max_examples=examples(200))
@given(value, st.data())
def test_no_altered_form_breaks_the_reader(value, data):
    altered = list(json.dumps(to_plain(value)))
    at = data.draw(st.integers(0, len(altered) - 1))
    altered[at] = data.draw(st.sampled_from('0129-"[]{}:,.aAeU='))
    try:
        plain = json.loads("".join(altered))
    except ValueError:
        return
    try:
        found = from_plain(plain)
    except ModelFileError:
        return
    assert to_plain(found) == plain
