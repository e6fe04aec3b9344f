"""The bytes of a model file: one form, nothing lost, and no input that breaks the reader."""

import errno
import hashlib
import json
import os
import stat
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gputree.errors import ModelFileError
from gputree.tree import store
from tests.fuzz.edits import packed
from tests.thorough import examples

patient = settings(deadline=None)  # a busy machine is no failure
HEADER = {"b": [1, -0.0, None, True], "a": {"é": "x"}}
ARRAYS = {"node": np.arange(3, dtype=np.int32), "flag": np.array([[True, False]])}

json_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | json_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(json_text, inner, max_size=4),
    max_leaves=12,
)
array = st.sampled_from([*store.DTYPES]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))
)
arrays = st.dictionaries(st.text(max_size=6), array, max_size=4)


def signed(body):
    return body + hashlib.sha256(body).digest()


def framed(text, raw=b"", version=store.FORMAT_VERSION, n_bytes=None):
    """A file with a right checksum and whatever header."""
    body = store.PREFIX.pack(store.MAGIC, version, len(text) if n_bytes is None else n_bytes)
    body += text
    return signed(body + bytes(-len(body) % 8) + raw)


def canonical(content):
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def described(*rows):
    return {
        "arrays": [dict(zip(("name", "dtype", "shape"), row, strict=True)) for row in rows],
        "header": {},
    }


def bits(value):
    return value.dtype, value.shape, value.tobytes()


def opens_or_is_refused(data):
    """A reader may accept an altered file only if it is what gputree itself would write."""
    try:
        header, found = store.unpack(data)
    except ModelFileError:
        return
    assert packed((header, found), store.version_of(data)) == data


# ------------------------------------------------------------------------------ round trips


@patient
@given(st.dictionaries(json_text, json_value, max_size=4), arrays)
def test_what_is_packed_comes_back_bit_for_bit(header, given_arrays):
    data = store.pack(header, given_arrays)
    found_header, found = store.unpack(data)
    assert repr(sorted(found_header.items())) == repr(sorted(json_sorted(header).items()))
    assert {name: bits(a) for name, a in found.items()} == {
        name: bits(a) for name, a in given_arrays.items()
    }
    assert store.pack(found_header, found) == data


def json_sorted(value):
    """`value` with its keys in order: repr tells what == does not, -0.0 and types."""
    if isinstance(value, dict):
        return {key: json_sorted(value[key]) for key in sorted(value)}
    return [json_sorted(item) for item in value] if isinstance(value, list) else value


def test_the_layout_is_the_documented_one():
    data = store.pack({"k": 1}, {"x": np.array([1, 2, 3], ">u2")})
    text = b'{"arrays":[{"dtype":"uint16","name":"x","shape":[3]}],"header":{"k":1}}'
    body = b"gputree\n" + struct.pack("<IQ", 2, len(text)) + text
    body += bytes(-len(body) % 8) + b"\1\0\2\0\3\0\0\0"
    assert data == body + hashlib.sha256(body).digest()


@patient
@given(array)
def test_byte_order_strides_and_writability_leave_no_trace(value):
    wide = np.repeat(value[..., None], 2, axis=-1)
    fixed = value.copy()
    fixed.setflags(write=False)
    same = [
        value.astype(value.dtype.newbyteorder(">")),
        value.astype(value.dtype.newbyteorder("<")),
        np.asfortranarray(value) if value.ndim else value,
        wide[..., 0],
        fixed,
    ]
    assert {store.pack({}, {"x": other}) for other in same} == {store.pack({}, {"x": value})}


def test_the_order_of_mappings_leaves_no_trace():
    turned = {"a": HEADER["a"], "b": HEADER["b"]}
    assert list(turned) != list(HEADER)
    assert store.pack(turned, dict(reversed(ARRAYS.items()))) == store.pack(HEADER, ARRAYS)


def test_nan_payloads_and_negative_zeros_are_kept_in_either_byte_order():
    pattern = np.array([0x7FF0000000000001, 0xFFF8000000000123, 1 << 63], np.uint64)
    for value in (pattern.view(np.float64), pattern.view(np.float64).astype(">f8")):
        found = store.unpack(store.pack({}, {"x": value}))[1]["x"]
        assert found.view(np.uint64).tolist() == pattern.tolist()


def test_every_true_is_the_same_byte():
    odd = np.array([0, 1, 2, 255], np.uint8).view(bool)
    assert store.pack({}, {"x": odd}) == store.pack({}, {"x": np.array([0, 1, 1, 1], bool)})


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_arrays_are_read_only_native_aligned_and_share_nothing_with_the_input(kind):
    data = bytearray(store.pack(HEADER, ARRAYS))
    found = store.unpack(kind(data))[1]
    data[:] = bytes(len(data))
    assert found["node"].tolist() == [0, 1, 2]
    for value in found.values():
        assert not value.flags.writeable
        assert value.flags.aligned
        assert value.dtype.isnative


def test_a_shape_without_items_is_kept():
    for shape in [(0,), (0, 5), (3, 0, 2**50), ()]:
        value = np.ones(shape, np.int8) if 0 not in shape else np.empty(shape, np.int8)
        assert store.unpack(store.pack({}, {"x": value}))[1]["x"].shape == shape


# ------------------------------------------------------------------------ what cannot be packed


@pytest.mark.parametrize(
    "value",
    [
        np.array([1j]),
        np.array(["a"]),
        np.array([b"a"]),
        np.array([None]),
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(2, [("a", "i4")]),
    ],
)
def test_an_array_outside_the_list_is_refused_by_its_dtype(value):
    with pytest.raises(TypeError, match="cannot be stored; convert it to one of bool, int8"):
        store.pack({}, {"x": value})


def test_array_names_are_text():
    with pytest.raises(TypeError, match="names must be str"):
        store.pack({}, {1: np.zeros(1)})


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, {"a": {None: 1}}, "\ud83d\ude00"])
def test_a_header_that_json_would_change_is_refused(value):
    with pytest.raises(ValueError, match="would change in JSON"):
        store.pack({"k": value}, {})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**5000], ids=range(3))
def test_a_header_that_json_cannot_hold_is_refused(value):
    with pytest.raises(ValueError):
        store.pack({"k": value}, {})


@pytest.mark.parametrize("depth", [store.MAX_NESTING, 100_000])
def test_a_header_too_deep_to_be_read_again_is_refused(depth):
    with pytest.raises(ValueError, match="nested"):
        store.pack({"k": nested(depth)}, {})


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_the_deepest_header_that_is_written_is_read():
    value = nested(store.MAX_NESTING - 2)  # the frame and the user's header take one level each
    assert store.unpack(store.pack({"k": value}, {})) == ({"k": value}, {})
    with pytest.raises(ValueError, match="nested"):
        store.pack({"k": [value]}, {})


def test_brackets_within_text_are_not_nesting():
    header = {'[{"\\' * 300: '\\"[' * 300}
    assert store.unpack(store.pack(header, {}))[0] == header


# ------------------------------------------------------------------------------- damaged files


def test_every_flipped_bit_is_noticed():
    data = store.pack(HEADER, ARRAYS)
    for at in range(len(data)):
        for bit in range(8):
            altered = bytearray(data)
            altered[at] ^= 1 << bit
            with pytest.raises(ModelFileError):
                store.unpack(altered)


def test_every_flipped_bit_under_a_new_checksum_is_refused_or_another_model():
    body = store.pack(HEADER, ARRAYS)[: -store.DIGEST_BYTES]
    for at in range(len(body)):
        for bit in range(8):
            altered = bytearray(body)
            altered[at] ^= 1 << bit
            opens_or_is_refused(signed(bytes(altered)))


def test_every_truncation_is_noticed():
    data = store.pack(HEADER, ARRAYS)
    for size in range(len(data)):
        with pytest.raises(ModelFileError):
            store.unpack(data[:size])
    for size in range(len(data) - store.DIGEST_BYTES):
        with pytest.raises(ModelFileError):
            store.unpack(signed(data[:size]))


@pytest.mark.parametrize("extra", [b"\0", b"\0" * 8, b"x" * 32, store.pack({}, {})])
def test_every_extension_is_noticed(extra):
    data = store.pack(HEADER, ARRAYS)
    with pytest.raises(ModelFileError):
        store.unpack(data + extra)
    with pytest.raises(ModelFileError):
        store.unpack(signed(data[: -store.DIGEST_BYTES] + extra))


@pytest.mark.parametrize("data", [b"", b"gputree", b"\x80\x04K\x01.", b"gputree\r\n" + bytes(60)])
def test_a_foreign_file_is_told_from_a_damaged_one(data):
    with pytest.raises(ModelFileError, match=r"not a gputree model.*give a file"):
        store.unpack(data)


def test_a_damaged_file_says_what_to_do():
    data = bytearray(store.pack(HEADER, ARRAYS))
    data[-40] ^= 1
    with pytest.raises(ModelFileError, match="does not match its checksum; restore it"):
        store.unpack(data)


def test_a_file_cut_short_says_where():
    data = store.pack(HEADER, ARRAYS)
    with pytest.raises(ModelFileError, match="ends before its checksum"):
        store.unpack(data[: store.PREFIX.size + 5])
    with pytest.raises(ModelFileError, match="12 bytes are announced where 8 are left"):
        store.unpack(signed(data[: -store.DIGEST_BYTES - 8]))


def test_a_newer_format_asks_for_a_newer_gputree_before_anything_else():
    later = store.FORMAT_VERSION + 1
    for data in (framed(b"?", version=later), store.PREFIX.pack(store.MAGIC, 2**32 - 1, 0)):
        with pytest.raises(ModelFileError, match="a newer gputree is needed"):
            store.unpack(data)


def test_format_zero_was_never_written():
    with pytest.raises(ModelFileError, match=r"format version 0, .* no gputree has written"):
        store.unpack(framed(canonical(described()), version=0))


@pytest.mark.parametrize("data", [5, None, "gputree\n"])
def test_only_bytes_are_unpacked(data):
    with pytest.raises(TypeError):
        store.unpack(data)


# ------------------------------------------------------------- hostile files, checksum in order


def test_the_frame_of_the_hostile_files_is_right():
    data = framed(canonical(described(("x", "int8", [2]))), b"\1\2" + bytes(6))
    assert store.unpack(data)[1]["x"].tolist() == [1, 2]


@pytest.mark.parametrize("n_bytes", [0, 1, 2**31, 2**63, 2**64 - 1])
def test_a_wrong_header_length_is_refused(n_bytes):
    with pytest.raises(ModelFileError):
        store.unpack(framed(canonical(described()), n_bytes=n_bytes))


HUGE = 10**400
SHAPES = [
    [-1],
    [-1, -1],
    [2**63],
    [HUGE],
    [0, HUGE],
    [0, 2**62],
    [2**32, 2**32],
    [1] * 65,
    [HUGE] * 10_000,
    [True],
    [1.0],
    ["1"],
    [None],
    [[1]],
    [2],
    [0],
    None,
    1,
    "1",
    {"0": 1},
]


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_a_shape_that_does_not_fit_is_refused(shape):
    with pytest.raises(ModelFileError):
        store.unpack(framed(canonical(described(("x", "float64", shape))), bytes(8)))


@pytest.mark.parametrize(
    "dtype", ["object", "O", "<f8", "f8", "datetime64", "complex128", "U1", "", None, 1, ["int8"]]
)
def test_a_dtype_outside_the_list_is_refused(dtype):
    with pytest.raises(ModelFileError, match="is not a dtype of a model file"):
        store.unpack(framed(canonical(described(("x", dtype, [1]))), bytes(8)))


ROW = ("x", "int8", [1])


@pytest.mark.parametrize(
    "rows",
    [[ROW, ROW], [("y", "int8", [1]), ROW], [(1, "int8", [1])], [(None, "int8", [1]), ROW]],
)
def test_array_names_are_text_in_order_each_once(rows):
    with pytest.raises(ModelFileError, match="name"):
        store.unpack(framed(canonical(described(*rows)), bytes(8 * len(rows))))


def test_space_between_arrays_must_be_empty():
    text = canonical(described(ROW))
    with pytest.raises(ModelFileError, match="not empty"):
        store.unpack(framed(text, b"\1\0\0\0\0\0\0\1"))


def test_a_truth_value_other_than_0_and_1_is_refused():
    text = canonical(described(("x", "bool", [3])))
    with pytest.raises(ModelFileError, match="truth value"):
        store.unpack(framed(text, b"\0\2\1" + bytes(5)))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"arrays":[]}',
        b'{"arrays":[],"header":[]}',
        b'{"arrays":{},"header":{}}',
        b'{"arrays":[],"extra":1,"header":{}}',
        b'{"arrays":[1],"header":{}}',
        b'{"arrays":[{"dtype":"int8","name":"x"}],"header":{}}',
        b'{"header":{},"arrays":[]}',
        b'{"arrays": [],"header":{}}',
        b'{"arrays":[],"header":{"a":1,"a":2}}',
        b'{"arrays":[],"header":{"a":NaN}}',
        b'{"arrays":[],"header":{"a":1e999}}',
        b'{"arrays":[],"header":{"a":1.50}}',
        b'{"arrays":[],"header":{"a":' + b"9" * 5000 + b"}}",
        '{"arrays":[],"header":{"a":"é"}}'.encode(),
        b"\xff\xfe\x00",
        '{"arrays":[],"header":{}}'.encode("utf-16"),
        b'"' + b'\\"' * 200_000,
        b"[" * 200_000,
        b'{"arrays":[],"header":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b'{"arrays":[],"header":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    ],
    ids=range(24),
)
def test_a_header_in_any_other_form_is_refused(text):
    with pytest.raises(ModelFileError, match=r"damaged: .*; restore it"):
        store.unpack(framed(text))


@patient
@given(st.one_of(json_value, st.fixed_dictionaries({"arrays": json_value, "header": json_value})))
def test_no_json_header_breaks_the_reader(content):
    opens_or_is_refused(framed(canonical(content)))


hostile_number = st.integers(-2, 5) | st.integers() | st.floats() | st.none() | st.booleans()
hostile_row = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["x", "y", ""]) | json_value,
        "dtype": st.sampled_from([*store.DTYPES]) | json_text | json_value,
        "shape": st.lists(hostile_number, max_size=4) | json_value,
    }
)


@settings(patient, max_examples=examples(300))
@given(st.lists(hostile_row, max_size=3), st.binary(max_size=64))
def test_no_description_of_arrays_breaks_the_reader(rows, raw):
    content = {"arrays": rows, "header": {}}
    opens_or_is_refused(framed(canonical(content), raw))


@patient
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(text):
    opens_or_is_refused(text)
    opens_or_is_refused(framed(text))
    opens_or_is_refused(signed(store.MAGIC + text))


@patient
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=6))
def test_no_overwritten_part_breaks_the_reader(at, patch):
    body = bytearray(store.pack(HEADER, ARRAYS)[: -store.DIGEST_BYTES])
    at %= len(body)
    body[at : at + len(patch)] = patch
    opens_or_is_refused(signed(bytes(body)))


# --------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_file_holds_what_was_written(tmp_path, kind):
    path = kind(tmp_path / "model.gputree")
    store.write(path, b"old and longer")
    store.write(path, b"new")
    assert Path(path).read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["model.gputree"]


def raise_error(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize("call", ["replace", "fsync", "chmod"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call, error):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, raise_error(error))
        with pytest.raises(type(error)):
            store.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_a_write_of_something_else_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        store.write(tmp_path / "model", "text")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows opens no folders")
def test_the_content_reaches_the_disk_before_the_name_and_the_name_does_too(tmp_path, monkeypatch):
    said = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        said.append("folder" if is_folder else "content")
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda a, b: (said.append("replace"), real_replace(a, b)))
    store.write(tmp_path / "model", b"x")
    assert said == ["content", "replace", "folder"]


def test_a_folder_that_cannot_be_synced_does_not_fail_a_save(tmp_path, monkeypatch):
    real_fsync = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError("not here")
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    store.write(tmp_path / "model", b"x")
    assert (tmp_path / "model").read_bytes() == b"x"


@pytest.mark.skipif(os.name == "nt", reason="permissions are POSIX")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_an_ordinary_open(tmp_path, umask):
    old = os.umask(umask)
    try:
        store.write(tmp_path / "new", b"x")
        (tmp_path / "shared").write_bytes(b"old")
        os.chmod(tmp_path / "shared", 0o664)
        store.write(tmp_path / "shared", b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o664


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_stays_and_leads_to_the_new_content(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "model")
    store.write(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "model").read_bytes() == b"x"


def test_a_name_of_the_longest_length_can_be_written(tmp_path):
    path = tmp_path / ("n" * 255)
    try:
        path.write_bytes(b"")
    except OSError:
        pytest.skip("shorter names only")
    store.write(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_missing_folder_and_a_folder_raise_the_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        store.write(tmp_path / "none" / "model", b"x")
    with pytest.raises(OSError):
        store.write(tmp_path, b"x")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_write_protected_file_is_not_replaced(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        store.write(path, b"new")
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_what_is_not_an_ordinary_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not an ordinary file"):
        store.write(tmp_path / "pipe", b"x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]
