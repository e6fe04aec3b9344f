"""Every table a user may pass becomes the same columns, or an error that tells the cure."""

import datetime
import os
import subprocess
import sys
from decimal import Decimal
from types import SimpleNamespace

import array_api_strict
import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gputree.arrays import to_numpy
from gputree.data.cells import real_dtype
from gputree.data.inputs import check_size, read_table
from gputree.data.schema import Schema
from gputree.data.sparse import SparseValues
from gputree.data.table import Kind
from gputree.dtypes import CATEGORY_NUMBER, MAX_BINS, MAX_FEATURES, MAX_ROWS, MISSING_CATEGORY

NAN = np.nan
LIBRARIES = ["pandas", "pandas-arrow", "polars", "pyarrow", "pyarrow-batch"]


def frame_of(library, columns):
    """The same pyarrow columns as a table of `library`."""
    table = pa.table(columns)
    if library == "pandas":
        return table.to_pandas()
    if library == "pandas-arrow":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if library == "polars":
        return pl.from_arrow(table)
    return table.to_batches()[0] if library == "pyarrow-batch" else table


def only_column(X, **options):
    """The single column of X."""
    (column,) = read_table(X, **options).columns
    return column


def fitted(X, **options):
    return Schema.of(read_table(X, **options))


def arrow_ordered(values, categories):
    index = pa.array([None if value is None else categories.index(value) for value in values])
    return pa.DictionaryArray.from_arrays(index, pa.array(categories), ordered=True)


# Numbers

FLOAT32 = ["bool", "int8", "uint8", "int16", "uint16", "float16", "float32"]
FLOAT64 = ["int32", "uint32", "int64", "uint64", "float64", "longdouble"]


@pytest.mark.parametrize("dtype", FLOAT32 + FLOAT64)
@pytest.mark.parametrize("byteorder", ["=", ">"])
def test_numpy_dtypes_become_the_smallest_exact_float(dtype, byteorder):
    X = np.array([[0, 1], [1, 0]], dtype=np.dtype(dtype).newbyteorder(byteorder))
    for position, column in enumerate(read_table(X).columns):
        assert column.kind is Kind.NUMERIC
        assert column.categories is None
        assert_array_equal(column.values, X[:, position])
        assert column.values.dtype == (np.float32 if dtype in FLOAT32 else np.float64)
        assert column.values.dtype.isnative


@given(
    st.sampled_from([d for d in FLOAT32 + FLOAT64 if d != "longdouble"]).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=2, max_side=4))
    )
)
def test_any_numeric_array_keeps_its_values(X):
    table = read_table(X)
    assert (table.n_rows, table.n_features) == X.shape
    for position, column in enumerate(table.columns):
        assert column.name == f"x{position}"
        assert_array_equal(column.values.astype(np.float64), X[:, position].astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_float_columns_are_views(dtype, order):
    X = np.asarray([[1, NAN], [np.inf, -np.inf]], dtype=dtype, order=order)
    for position, column in enumerate(read_table(X).columns):
        assert np.shares_memory(column.values, X)
        assert_array_equal(column.values, X[:, position])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", LIBRARIES)
def test_float_columns_of_frames_are_not_copied(library, dtype):
    X = frame_of(library, {"a": pa.array(np.array([1, 2, 3], dtype))})
    first, second = only_column(X).values, only_column(X).values
    assert first.dtype == dtype
    assert np.shares_memory(first, second)


@pytest.mark.parametrize("X", [[[1, None], [2.5, 3]], ((1, NAN), (2.5, 3))])
def test_lists_are_read_by_numpy(X):
    left, right = read_table(X).columns
    assert_array_equal(left.values, [1, 2.5])
    assert_array_equal(right.values, [NAN, 3])


def test_objects_that_know_how_to_become_an_array_are_read():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0, 2.0]])

    assert read_table(Wrapped()).n_features == 2


@pytest.mark.parametrize("missing", [None, NAN, np.float32(NAN), pd.NA, Decimal("nan")])
def test_object_arrays_of_numbers_become_float64(missing):
    X = np.array([[1, True], [missing, Decimal("0.5")], [2.5, np.int8(3)]], dtype=object)
    left, right = read_table(X).columns
    assert left.values.dtype == right.values.dtype == np.float64
    assert_array_equal(left.values, [1, NAN, 2.5])
    assert_array_equal(right.values, [1, 0.5, 3])


def test_masked_cells_are_missing():
    X = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]], dtype=np.int8)
    left, right = read_table(X).columns
    assert_array_equal(left.values, [1, 3])
    assert_array_equal(right.values, np.array([NAN, 4], np.float32), strict=True)
    nominal = read_table(X, categorical_features=[1]).columns[1]
    assert nominal.categories == (4,)
    assert_array_equal(nominal.values, [MISSING_CATEGORY, 0])


def test_masked_arrays_without_masked_cells_are_views():
    X = np.ma.array([[1.0, 2.0]])
    assert np.shares_memory(read_table(X).columns[0].values, X)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("Int8", np.float32),
        ("UInt16", np.float32),
        ("Int32", np.float64),
        ("Int64", np.float64),
        ("boolean", np.float32),
        ("Float32", np.float32),
        ("Float64", np.float64),
        ("int16[pyarrow]", np.float32),
        ("int64[pyarrow]", np.float64),
        ("bool[pyarrow]", np.float32),
        ("float[pyarrow]", np.float32),
        ("double[pyarrow]", np.float64),
        ("object", np.float64),
    ],
)
@pytest.mark.parametrize("missing", [True, False])
def test_nullable_pandas_dtypes_are_numbers(dtype, expected, missing):
    X = pd.DataFrame({"a": pd.array([1, None if missing else 1, 0], dtype=dtype)})
    assert_array_equal(
        only_column(X).values, np.array([1, NAN if missing else 1, 0], expected), strict=True
    )


def test_sparse_pandas_columns_are_read_densely():
    X = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 7])})
    assert_array_equal(only_column(X).values, [0.0, 0.0, 7.0])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (pl.Int8, np.float32),
        (pl.UInt16, np.float32),
        (pl.UInt32, np.float64),
        (pl.Int64, np.float64),
        (pl.Int128, np.float64),
        (pl.Decimal(10, 2), np.float64),
        (pl.Boolean, np.float32),
        (pl.Float32, np.float32),
        (pl.Float64, np.float64),
        (pl.Object, np.float64),
    ],
)
@pytest.mark.parametrize("missing", [True, False])
def test_polars_dtypes_are_numbers(dtype, expected, missing):
    X = pl.DataFrame({"a": pl.Series([1, None if missing else 1, 0], dtype=dtype, strict=False)})
    assert_array_equal(
        only_column(X).values, np.array([1, NAN if missing else 1, 0], expected), strict=True
    )


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (pa.int8(), np.float32),
        (pa.uint16(), np.float32),
        (pa.int32(), np.float64),
        (pa.uint64(), np.float64),
        (pa.decimal128(10, 2), np.float64),
        (pa.bool_(), np.float32),
        (pa.float16(), np.float32),
        (pa.float32(), np.float32),
        (pa.float64(), np.float64),
    ],
)
@pytest.mark.parametrize("missing", [True, False])
def test_pyarrow_dtypes_are_numbers(dtype, expected, missing):
    values = [np.float16(1), None if missing else np.float16(1), np.float16(0)]
    if not pa.types.is_float16(dtype):
        values = [None if value is None else int(value) for value in values]
    if pa.types.is_boolean(dtype):
        values = [None if value is None else bool(value) for value in values]
    X = pa.table({"a": pa.array(values, dtype)})
    assert_array_equal(
        only_column(X).values, np.array([1, NAN if missing else 1, 0], expected), strict=True
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_without_any_value_are_numeric(library):
    column = only_column(frame_of(library, {"a": pa.nulls(2)}))
    assert column.kind is Kind.NUMERIC
    assert_array_equal(column.values, [NAN, NAN])


@pytest.mark.parametrize("X", [pl.DataFrame({"a": [1.0, 2.0]}), pa.table({"a": [1.0, 2.0]})])
def test_columns_in_several_chunks_are_joined(X):
    both = (
        pl.concat([X, X], rechunk=False)
        if isinstance(X, pl.DataFrame)
        else pa.concat_tables([X, X])
    )
    assert_array_equal(only_column(both).values, [1, 2, 1, 2])


FRAME_COLUMNS = {
    "tiny": (pa.int8(), st.integers(-128, 127)),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "single": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "truth": (pa.bool_(), st.booleans()),
}


@given(
    st.lists(
        st.tuples(*(st.none() | values for _, values in FRAME_COLUMNS.values())),
        min_size=1,
        max_size=6,
    )
)
def test_all_libraries_give_the_same_numbers(rows):
    cells = dict(zip(FRAME_COLUMNS, zip(*rows, strict=True), strict=True))
    columns = {name: pa.array(cells[name], dtype) for name, (dtype, _) in FRAME_COLUMNS.items()}
    expected = read_table(np.array(rows, dtype=object))
    for library in LIBRARIES:
        table = read_table(frame_of(library, columns))
        for found, wanted, name in zip(table.columns, expected.columns, cells, strict=True):
            assert found.name == name
            assert_array_equal(found.values.astype(np.float64), wanted.values)


# Arrays of other libraries


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bool", "float32"),
        ("int8", "float32"),
        ("uint16", "float32"),
        ("int32", "float64"),
        ("uint64", "float64"),
        ("float32", "float32"),
        ("float64", "float64"),
    ],
)
def test_array_api_columns_stay_in_their_library(dtype, expected):
    xp = array_api_strict
    X = xp.asarray([[0, 1], [1, 1]], dtype=getattr(xp, dtype))
    table = read_table(X)
    assert [column.name for column in table.columns] == ["x0", "x1"]
    for position, column in enumerate(table.columns):
        assert type(column.values) is type(X)
        assert column.values.dtype == getattr(xp, expected)
        assert_array_equal(np.asarray(column.values), np.asarray(X)[:, position])


def test_array_api_arrays_stay_on_their_device():
    device = array_api_strict.Device("device1")
    X = array_api_strict.asarray([[0, 1]], dtype=array_api_strict.int64, device=device)
    assert all(column.values.device == device for column in read_table(X).columns)


def test_torch_columns_are_views_without_gradient():
    torch = pytest.importorskip("torch")
    X = torch.tensor([[1.0, NAN], [2.0, 3.0]], requires_grad=True)
    for position, column in enumerate(read_table(X).columns):
        assert isinstance(column.values, torch.Tensor)
        assert not column.values.requires_grad
        assert column.values.data_ptr() == X[:, position].data_ptr()


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bool", "float32"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("uint16", "float32"),
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
    ],
)
def test_torch_dtypes_become_the_smallest_exact_float(dtype, expected):
    torch = pytest.importorskip("torch")
    X = torch.tensor([[0, 1], [1, 1]]).to(getattr(torch, dtype))
    for position, column in enumerate(read_table(X).columns):
        assert column.values.dtype == getattr(torch, expected)
        assert column.values.tolist() == [float(value) for value in X[:, position].tolist()]


def test_sparse_tensors_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"Sparse data was passed.*X\.to_dense\(\)"):
        read_table(torch.eye(3).to_sparse())


def test_torch_arrays_hold_no_categories():
    torch = pytest.importorskip("torch")
    X = np.array([[0, 1], [1, 2]])
    match = r"Column 'x1' \(position 1\) is categorical.*torch.*NumPy array or a data frame"
    with pytest.raises(ValueError, match=match):
        read_table(torch.asarray(X), categorical_features=[1])
    with pytest.raises(ValueError, match=match):
        read_table(torch.asarray(X), like=fitted(X, categorical_features=[1]))


# Shapes


def strict_array(X):
    return array_api_strict.asarray(X)


@pytest.mark.parametrize("make", [np.asarray, strict_array])
@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.zeros(3), r"Expected 2D array, got 1D array(.|\n)*Reshape your data"),
        (np.zeros(()), r"(.|\n)*Reshape your data"),
        (np.zeros((2, 2, 2)), "Found array with dim 3, while dim <= 2 is required"),
        (np.zeros((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.zeros((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
    ],
)
def test_bad_shapes_get_the_words_of_scikit_learn(make, X, match):
    with pytest.raises(ValueError, match=match):
        read_table(make(X))


@pytest.mark.parametrize(
    "X", [pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), pa.table({"a": pa.array([], "f8")})]
)
def test_frames_without_rows_are_refused(X):
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 1\)\) while a minimum of 1"):
        read_table(X)


def test_frames_without_columns_are_refused():
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1"):
        read_table(pd.DataFrame(index=[0, 1]))


@pytest.mark.parametrize("X", [pd.Series([1.0]), pl.Series([1.0]), pa.array([1.0])])
def test_a_single_column_is_not_a_table(X):
    with pytest.raises(ValueError, match=r"Expected (2D array|a 2-dimensional container)"):
        read_table(X)


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, bool])
def test_sparse_matrices_are_read_column_by_column(make, dtype):
    X = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0]]).astype(dtype)
    table = read_table(make(X))
    assert [column.name for column in table.columns] == ["x0", "x1", "x2"]
    for column, expected in zip(table.columns, X.T, strict=True):
        assert isinstance(column.values, SparseValues)
        assert column.values.shape == (3,)
        assert np.asarray(column.values).dtype == real_dtype(np.dtype(dtype))
        assert np.array_equal(column.values, expected)
        assert np.array_equal(column.values[[2, 0]], expected[[2, 0]])


def test_cells_of_a_sparse_matrix_may_be_missing_or_given_twice():
    cells = ([1.0, 2.0, np.nan], ([0, 0, 1], [0, 0, 1]))
    X = scipy.sparse.coo_array(cells, shape=(2, 2))
    columns = [np.asarray(column.values) for column in read_table(X).columns]
    assert np.array_equal(columns, [[3.0, 0.0], [0.0, np.nan]], equal_nan=True)
    by_column = scipy.sparse.csc_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(2, 1))
    assert np.asarray(read_table(by_column).columns[0].values).tolist() == [3.0, 0.0]
    assert by_column.nnz == 2  # the user's is left alone


def test_sparse_categories_and_what_is_no_number():
    X = scipy.sparse.csr_array(np.array([[0.0, 5.0], [2.0, 0.0]]))
    table = read_table(X, categorical_features=[1])
    assert table.columns[1].categories == (0.0, 5.0)
    assert table.columns[1].values.tolist() == [1, 0]
    schema = Schema.of(table)
    again = read_table(X[:1], like=schema)
    assert again.columns[1].values.tolist() == [1]
    with pytest.raises(ValueError, match=r"sparse and has dtype complex128: convert it"):
        read_table(X * 1j)
    with pytest.raises(ValueError, match="expecting 2 features"):
        read_table(X[:, :1], like=schema)


# Copies


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_read_where_they_are(order, dtype):
    X = np.asarray(np.random.default_rng(0).normal(size=(50, 3)), dtype, order)
    frames = [
        X,
        pd.DataFrame(X, columns=list("abc")),
        pl.DataFrame({name: np.ascontiguousarray(X[:, at]) for at, name in enumerate("abc")}),
        pa.table({name: np.ascontiguousarray(X[:, at]) for at, name in enumerate("abc")}),
    ]
    for frame in frames:
        first, again = (to_numpy(read_table(frame).columns[1].values) for _ in range(2))
        assert np.shares_memory(first, again), type(frame)
    assert np.shares_memory(read_table(X).columns[2].values, X)


def test_arrays_of_other_libraries_are_read_where_they_are():
    strict = pytest.importorskip("array_api_strict")
    X = strict.asarray(np.random.default_rng(0).normal(size=(50, 3)))
    first, again = (to_numpy(read_table(X).columns[1].values) for _ in range(2))
    assert np.shares_memory(first, again)


def test_numpy_matrix_is_refused():
    with pytest.warns(PendingDeprecationWarning):
        X = np.matrix([[1.0]])
    with pytest.raises(TypeError, match=r"np\.matrix is not supported"):
        read_table(X)


def test_lazy_frames_are_refused():
    with pytest.raises(TypeError, match=r"LazyFrame.*X\.collect\(\)"):
        read_table(pl.LazyFrame({"a": [1]}))


@pytest.mark.parametrize("shape", [(3_000_000, 1_000), (MAX_ROWS, MAX_FEATURES), (1, 1)])
def test_the_number_of_cells_is_not_limited(shape):
    check_size(*shape)


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ((MAX_ROWS + 1, 1), "2,147,483,648 rows, but at most 2,147,483,647"),
        ((1, MAX_FEATURES + 1), "2,147,483,648 features, but at most 2,147,483,647"),
    ],
)
def test_rows_and_features_are_numbered_in_32_bits(shape, match):
    with pytest.raises(ValueError, match=match):
        check_size(*shape)


def test_tables_with_too_many_rows_are_refused_before_they_are_read():
    X = np.broadcast_to(np.float32(0), (MAX_ROWS + 1, 1))
    with pytest.raises(ValueError, match="2,147,483,648 rows"):
        read_table(X)


# Names


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_keep_their_names(library):
    table = read_table(frame_of(library, {"b": [1], "a": [2]}))
    assert [column.name for column in table.columns] == ["b", "a"]


def test_names_that_are_no_strings_are_written_as_such():
    X = pd.DataFrame([[1, 2, 3]], columns=[0, ("a", 1), 2.5])
    assert fitted(X).names == ("0", "('a', 1)", "2.5")


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame([[1, 2, 3, 4]], columns=["b", "a", "b", "c"]),
        pa.table([[1], [2], [3]], names=["b", "a", "b"]),
        pd.DataFrame([[1, 2]], columns=pd.Index([1, "1"], dtype=object)),
    ],
)
def test_repeated_names_are_refused(X):
    with pytest.raises(ValueError, match=r"same name: \['[b1]'\].*Rename"):
        read_table(X)


# Categories from the dtype

UNORDERED = [
    pd.DataFrame({"a": pd.Categorical(["y", None, "x", "y"], categories=["y", "x", "z"])}),
    pl.DataFrame({"a": pl.Series(["y", None, "x", "y"], dtype=pl.Categorical)}),
    pa.table({"a": pa.array(["y", None, "x", "y"]).dictionary_encode()}),
    pa.table({"a": pa.array(["y", None, "x", "y"]).dictionary_encode()}).to_batches()[0],
    pa.table({"a": pa.array(["y", None, "x", "y"]).dictionary_encode()}).to_pandas(
        types_mapper=pd.ArrowDtype
    ),
]
ORDERED = [
    pd.DataFrame(
        {"a": pd.Categorical(["y", None, "x", "y"], categories=["y", "x", "z"], ordered=True)}
    ),
    pl.DataFrame({"a": pl.Series(["y", None, "x", "y"], dtype=pl.Enum(["y", "x", "z"]))}),
    pa.table({"a": arrow_ordered(["y", None, "x", "y"], ["y", "x", "z"])}),
]


@pytest.mark.parametrize("options", [{}, {"categorical_features": [0]}])
@pytest.mark.parametrize("X", UNORDERED)
def test_unordered_category_dtypes_are_nominal(X, options):
    column = only_column(X, **options)
    assert column.kind is Kind.NOMINAL
    assert type(column.values) is np.ndarray
    assert column.values.dtype == CATEGORY_NUMBER
    values = [
        None if category == MISSING_CATEGORY else column.categories[category]
        for category in column.values
    ]
    assert values == ["y", None, "x", "y"]


@pytest.mark.parametrize("options", [{}, {"categorical_features": [True]}])
@pytest.mark.parametrize("X", ORDERED)
def test_ordered_category_dtypes_are_ordinal(X, options):
    column = only_column(X, **options)
    assert column.kind is Kind.ORDINAL
    assert column.categories == ("y", "x", "z")
    assert_array_equal(
        column.values, np.array([0, MISSING_CATEGORY, 1, 0], CATEGORY_NUMBER), strict=True
    )


def test_declared_categories_keep_their_order():
    assert only_column(UNORDERED[0]).categories == ("y", "x", "z")


def test_categories_of_a_polars_categorical_are_those_present_in_sorted_order():
    everything = pl.Series(["w", "c", "b", "a"], dtype=pl.Categorical)
    column = only_column(pl.DataFrame({"a": everything[[1, 3, 1]]}))
    assert column.categories == ("a", "c")
    assert_array_equal(column.values, [1, 0, 1])


@pytest.mark.parametrize(
    ("values", "categories", "scalar"),
    [
        ([2, 1, None], (1, 2), int),
        ([2.5, 1.5, None], (1.5, 2.5), float),
        ([True, False, None], (False, True), bool),
        (["b", "a", None], ("a", "b"), str),
    ],
)
def test_categories_are_plain_python_values(values, categories, scalar):
    column = only_column(pd.DataFrame({"a": pd.Categorical(values)}))
    assert column.categories == categories
    assert {type(category) for category in column.categories} == {scalar}


def test_intervals_of_cut_are_ordinal_categories():
    column = only_column(pd.DataFrame({"a": pd.cut([1.0, 2.0, 5.0], [0, 2, 6])}))
    assert column.kind is Kind.ORDINAL
    assert column.categories == (pd.Interval(0, 2), pd.Interval(2, 6))
    assert_array_equal(column.values, [0, 0, 1])


@pytest.mark.parametrize(
    "dtype", [pd.CategoricalDtype(), pl.Categorical, pa.dictionary(pa.int8(), pa.string())]
)
def test_categories_without_any_value_have_no_categories(dtype):
    if isinstance(dtype, pd.CategoricalDtype):
        X = pd.DataFrame({"a": pd.Series([None, None], dtype=dtype)})
    elif isinstance(dtype, pa.DataType):
        X = pa.table({"a": pa.array([None, None], dtype)})
    else:
        X = pl.DataFrame({"a": pl.Series([None, None], dtype=dtype)})
    column = only_column(X)
    assert column.categories == ()
    assert_array_equal(column.values, [MISSING_CATEGORY, MISSING_CATEGORY])


def test_arrow_dictionaries_may_repeat_values_and_hold_nulls():
    index = pa.array([0, 1, 2, 3, None], pa.uint8())
    X = pa.table({"a": pa.DictionaryArray.from_arrays(index, ["b", None, "b", "a"])})
    column = only_column(X)
    assert column.categories == ("b", "a")
    assert_array_equal(column.values, [0, MISSING_CATEGORY, 0, 1, MISSING_CATEGORY])


def test_arrow_chunks_with_their_own_dictionaries_are_unified():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    column = only_column(pa.table({"a": pa.chunked_array(chunks)}))
    assert [column.categories[category] for category in column.values] == ["b", "a", "c", "a"]


def test_arrow_chunks_that_disagree_on_the_order_are_refused():
    chunks = [arrow_ordered(["a"], ["a", "b"]), arrow_ordered(["a"], ["b", "a"])]
    X = pa.table({"size": pa.chunked_array(chunks)})
    with pytest.raises(ValueError, match=r"'size' \(position 0\).*order is unknown: build all"):
        read_table(X)


@pytest.mark.parametrize("options", [None, [False], [], ["b"], [1]])
@pytest.mark.parametrize("X", UNORDERED[:3])
def test_category_columns_left_out_are_refused(X, options):
    if isinstance(X, pd.DataFrame):
        X = X.assign(b=1.0)
    elif isinstance(X, pl.DataFrame):
        X = X.with_columns(b=pl.lit(1.0))
    else:
        X = X.append_column("b", pa.array([1.0] * len(X)))
    if options == [False]:
        options = [False, True]
    with pytest.raises(ValueError, match=r"Column 'a' \(position 0\) has dtype .*leaves it out"):
        read_table(X, categorical_features=options)


# Categories by choice


@pytest.mark.parametrize("flagged", [[1], [False, True], ["b"], np.array([1], np.uint8)])
def test_columns_are_flagged_by_index_mask_or_name(flagged):
    X = pd.DataFrame({"a": [1, 2], "b": [20, 10]})
    left, right = read_table(X, categorical_features=flagged).columns
    assert left.kind is Kind.NUMERIC
    assert right.kind is Kind.NOMINAL
    assert right.categories == (10, 20)
    assert_array_equal(right.values, np.array([1, 0], CATEGORY_NUMBER), strict=True)


@pytest.mark.parametrize(
    ("values", "categories", "numbers"),
    [
        ([3, 1, 3], (1, 3), [1, 0, 1]),
        ([2**63 - 1, 2**63 - 2], (2**63 - 2, 2**63 - 1), [1, 0]),
        ([0.5, NAN, -np.inf], (-np.inf, 0.5), [1, -1, 0]),
        ([True, False, None], (False, True), [1, 0, -1]),
        (["b", None, "a"], ("a", "b"), [1, -1, 0]),
        ([2, None, 1], (1, 2), [1, -1, 0]),
        ([None, None], (), [-1, -1]),
    ],
)
@pytest.mark.parametrize("library", ["numpy", *LIBRARIES])
def test_flagged_columns_get_their_sorted_values_as_categories(
    library, values, categories, numbers
):
    if library == "numpy":
        X = np.array([[value] for value in values])
    else:
        X = frame_of(library, {"a": pa.array(values)})
    column = only_column(X, categorical_features=[0])
    assert column.kind is Kind.NOMINAL
    assert column.categories == categories
    assert_array_equal(column.values, np.array(numbers, CATEGORY_NUMBER), strict=True)


@pytest.mark.parametrize("dtype", ["U1", "S1", np.dtypes.StringDType(), object])
def test_flagged_string_arrays_are_nominal(dtype):
    column = only_column(np.array([["b"], ["a"]], dtype=dtype), categorical_features=[0])
    assert column.categories in (("a", "b"), (b"a", b"b"))
    assert all(type(category) in (str, bytes) for category in column.categories)
    assert_array_equal(column.values, [1, 0])


@pytest.mark.parametrize(
    ("flagged", "match"),
    [
        ([True], r"boolean mask must have shape \(n_features,\) = \(2,\), got: \(1,\)"),
        ([0, 2], r"integer indices must be in \[0, n_features - 1\] = \[0, 1\], got: \[2\]"),
        ([-1], r"must be in \[0, n_features - 1\] = \[0, 1\], got: \[-1\]"),
        (["a", "c"], r"item value 'c' which is not.*Observed feature names: \['a', 'b'\]"),
        ([0.5], "array-like of bool, int or str, got: float64"),
        (np.array([None, "a"], object), "array-like of bool, int or str, got: NoneType"),
        ([[0]], r"1-dimensional, got an array of shape \(1, 1\)"),
        ("a", "categorical_features='a' is unknown: pass 'from_dtype'"),
    ],
)
def test_wrong_choices_are_refused(flagged, match):
    with pytest.raises(ValueError, match=match):
        read_table(pd.DataFrame({"a": [1], "b": [2]}), categorical_features=flagged)


@pytest.mark.parametrize("X", [np.zeros((1, 2)), array_api_strict.zeros((1, 2))])
def test_names_need_a_frame(X):
    with pytest.raises(ValueError, match="boolean mask when the model is fitted on data without"):
        read_table(X, categorical_features=["x0"])


@pytest.mark.parametrize("flagged", ["from_dtype", None, [], [False]])
def test_nothing_flagged_means_numbers(flagged):
    assert only_column([[1], [2]], categorical_features=flagged).kind is Kind.NUMERIC


def test_categories_without_a_common_order_are_refused():
    X = pd.DataFrame({"n": [1.0, 2.0], "a": pd.Series([1, "b"], dtype=object)})
    match = r"Column 'a' \(position 1\) mixes values of types int, str.*\.astype\(str\)"
    with pytest.raises(ValueError, match=match):
        read_table(X, categorical_features=["a"])


def test_values_that_cannot_be_categories_are_refused():
    X = pd.DataFrame({"a": pd.Series([[1], [2]], dtype=object)})
    with pytest.raises(
        ValueError, match=r"Column 'a' .*cannot be a category \(.*unhashable.*: conv"
    ):
        read_table(X, categorical_features=["a"])


@pytest.mark.parametrize("n_categories", [MAX_BINS, MAX_BINS + 1])
@pytest.mark.parametrize("declared", [True, False])
def test_categories_are_limited_by_the_codes(n_categories, declared):
    values = np.arange(n_categories)
    X = pd.DataFrame({"a": pd.Categorical(values) if declared else values})
    if n_categories == MAX_BINS:
        assert len(only_column(X, categorical_features=["a"]).categories) == MAX_BINS
        return
    with pytest.raises(
        ValueError, match=r"Column 'a' .* has 65,536 categories.* most 65,535: merge"
    ):
        read_table(X, categorical_features=["a"])


# Columns that cannot be read

STRINGS = [
    np.array([[1, "b"]], dtype=object),
    np.array([["a", "b"]]),
    np.array([["a", "b"]], dtype="S1"),
    np.array([["a", "b"]], dtype=np.dtypes.StringDType()),
    [[1, "b"]],
]


@pytest.mark.parametrize("X", STRINGS)
def test_strings_in_arrays_are_refused(X):
    match = r"Column 'x[01]' \(position [01]\) of dtype .* holds strings .*category.*OrdinalEncoder"
    with pytest.raises(ValueError, match=match):
        read_table(X)


@pytest.mark.parametrize("dtype", [object, "str", "string"])
def test_strings_in_pandas_are_refused(dtype):
    X = pd.DataFrame({"n": [1, 2], "color": pd.Series(["a", None], dtype=dtype)})
    match = r"Column 'color' \(position 1\) of dtype \w+ holds strings .*category.*OrdinalEncoder"
    with pytest.raises(ValueError, match=match):
        read_table(X)


@pytest.mark.parametrize("flagged", ["from_dtype", None, [0]])
@pytest.mark.parametrize("library", LIBRARIES)
def test_strings_not_flagged_are_refused(library, flagged):
    X = frame_of(library, {"n": [1, 2], "color": ["a", None]})
    match = r"Column 'color' \(position 1\) of dtype \S+ holds strings .*category.*OrdinalEncoder"
    with pytest.raises(ValueError, match=match):
        read_table(X, categorical_features=flagged)


NUMBERS_AS_TEXT = [
    pd.DataFrame({"a": pd.Series(["1", None, "-2.5e3"], dtype=object)}),
    pd.DataFrame({"a": pd.Series(["1", None, "-2.5e3"], dtype="str")}),
    pd.DataFrame({"a": pd.Series(["1", None, "-2.5e3"], dtype="string")}),
    pl.DataFrame({"a": ["1", None, "-2.5e3"]}),
    pa.table({"a": ["1", None, "-2.5e3"]}),
    np.array([[1.0], [None], ["-2.5e3"]], dtype=object),
    np.array([["1"], ["nan"], ["-2.5e3"]]),
    np.array([["1"], ["nan"], ["-2.5e3"]], dtype="S6"),
]


@pytest.mark.parametrize("X", NUMBERS_AS_TEXT)
def test_text_that_is_numbers_becomes_numbers_with_a_warning_at_fit(X):
    with pytest.warns(UserWarning, match=r"Column '\w+' \(position 0\): text .* is treated as num"):
        column = only_column(X)
    assert column.kind is Kind.NUMERIC
    assert_array_equal(column.values, np.array([1.0, NAN, -2500.0]), strict=True)
    schema = fitted(pd.DataFrame({"a": [1.0]}))
    assert_array_equal(only_column(X, like=schema).values, column.values, strict=True)


def test_text_that_is_numbers_stays_text_where_it_is_listed_as_categories():
    assert only_column([["10"], ["9"]], categorical_features=[0]).categories == ("10", "9")


def test_one_warning_tells_of_all_columns_of_numbers_as_text():
    with pytest.warns(UserWarning, match=r"^Column 'x0' \(position 0\) and 2 more: text") as told:
        read_table([["1", "2", "3"]])
    assert len(told) == 1


DAY = datetime.datetime(2020, 1, 1)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pa.array([DAY]), "atetime|timestamp"),
        (pa.array([DAY], pa.timestamp("ns", "UTC")), "atetime|timestamp"),
        (pa.array([datetime.timedelta(1)]), "timedelta|uration"),
        (pa.array([DAY.date()]), "object|date|Date"),
        (pa.array([datetime.time(1)]), "object|time|Time"),
    ],
)
@pytest.mark.parametrize("flagged", ["from_dtype", [1]])
@pytest.mark.parametrize("library", LIBRARIES)
def test_times_in_frames_are_refused(library, values, dtype, flagged):
    X = frame_of(library, {"n": [1], "when": values})
    match = rf"Column 'when' \(position 1\) has dtype \S*({dtype}).* is a time: derive numbers"
    with pytest.raises(ValueError, match=match):
        read_table(X, categorical_features=flagged)


@pytest.mark.parametrize("values", [pa.array([{"a": 1}]), pa.array([[1]])])
@pytest.mark.parametrize("library", ["pandas-arrow", "polars", "pyarrow", "pyarrow-batch"])
def test_nested_columns_are_refused(library, values):
    X = frame_of(library, {"n": [1], "deep": values})
    match = r"'deep' \(position 1\) has dtype (?i:struct|list).*neither numeric nor categorical: "
    with pytest.raises(ValueError, match=match):
        read_table(X)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pd.period_range("2020", periods=1, freq="D"), r"period\[D\], which is a time"),
        (pd.arrays.IntervalArray.from_breaks([0, 1]), "interval.*neither numeric nor"),
        ([1j], "complex128, which is neither numeric nor"),
    ],
)
def test_other_pandas_dtypes_are_refused(values, dtype):
    with pytest.raises(ValueError, match=rf"Column 'a' \(position 0\) has dtype {dtype}"):
        read_table(pd.DataFrame({"a": values}))


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.array([["2020"]], "datetime64[s]"), r"'x0'.* dtype datetime64\[s\].*derive numbers"),
        (np.array([[1]], "timedelta64[s]"), r"'x0'.* dtype timedelta64\[s\].*derive numbers"),
        (np.array([[np.timedelta64(1, "s")]], object), "'x0'.* dtype object, which is a time"),
        (np.zeros(2, [("a", "f8")]), r"structured array of dtype \[\('a', '<f8'\)\].*convert it"),
        (np.zeros((2, 2), "V4"), r"'x0'.* dtype \|V4, which is neither numeric nor categorical"),
        ([[10**400]], "'x0'.*not a number .*too large.*: convert the column"),
    ],
)
def test_other_numpy_dtypes_are_refused(X, match):
    with pytest.raises(ValueError, match=match):
        read_table(X)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
def test_a_cell_that_is_no_number_is_a_type_error_as_scikit_learn_demands(make):
    X = np.ones((3, 2), dtype=object)
    X[0, 0] = {"foo": "bar"}
    with pytest.raises(TypeError, match=r"position 0.*argument must be .* string.* number.*'dict'"):
        read_table(make(X))


# Tables after fit


def test_a_schema_describes_the_columns():
    X = pd.DataFrame({"n": [1.5], "c": pd.Categorical(["a"]), "d": [3]})
    assert fitted(X, categorical_features=["c", "d"]) == Schema(
        names=("n", "c", "d"),
        kinds=(Kind.NUMERIC, Kind.NOMINAL, Kind.NOMINAL),
        categories=(None, ("a",), (3,)),
    )


def test_an_array_is_read_with_the_names_and_kinds_of_the_schema():
    schema = fitted(pd.DataFrame({"n": [1.5, 2], "d": [3, 7]}), categorical_features=["d"])
    table = read_table(np.array([[0.5, 7.0], [NAN, NAN]]), like=schema)
    assert Schema.of(table) == schema
    assert_array_equal(table.columns[0].values, [0.5, NAN])
    assert_array_equal(
        table.columns[1].values, np.array([1, MISSING_CATEGORY], CATEGORY_NUMBER), strict=True
    )


@pytest.mark.parametrize("make", [np.asarray, strict_array])
def test_numeric_arrays_are_read_with_the_names_of_the_schema(make):
    table = read_table(make([[1.0, 2.0]]), like=fitted(pd.DataFrame({"a": [1], "b": [2]})))
    assert [column.name for column in table.columns] == ["a", "b"]


LATER = [
    pd.DataFrame({"a": pd.Categorical(["x", "y", None], categories=["unused", "x", "y"])}),
    pd.DataFrame({"a": ["x", "y", None]}),
    pd.DataFrame({"a": pd.Series(["x", "y", None], dtype=object)}),
    pl.DataFrame({"a": ["x", "y", None]}),
    pl.DataFrame({"a": pl.Series(["x", "y", None], dtype=pl.Categorical)}),
    pl.DataFrame({"a": pl.Series(["x", "y", None], dtype=pl.Enum(["x", "y"]))}),
    pa.table({"a": ["x", "y", None]}),
    pa.table({"a": pa.array(["x", "y", None]).dictionary_encode()}),
    [["x"], ["y"], [None]],
]


@pytest.mark.parametrize("fit", ORDERED)
@pytest.mark.parametrize("X", LATER)
def test_categories_are_matched_by_value_whatever_the_dtype(fit, X):
    schema = fitted(fit)
    column = only_column(X, like=schema)
    assert column.kind is Kind.ORDINAL
    assert column.categories == schema.categories[0]
    assert_array_equal(
        column.values, np.array([1, 0, MISSING_CATEGORY], CATEGORY_NUMBER), strict=True
    )


@pytest.mark.parametrize(
    "values", [[2, 1], [2.0, 1.0], np.array([2, 1], np.int8), [Decimal(2), 1], [2, True]]
)
def test_numeric_categories_are_matched_by_value(values):
    schema = fitted([[1], [2]], categorical_features=[0])
    assert_array_equal(only_column(np.reshape(values, (2, 1)), like=schema).values, [1, 0])


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pd.DataFrame({"a": values}),
        lambda values: pd.DataFrame({"a": pd.Categorical(values)}),
        lambda values: pl.DataFrame({"a": values}),
        lambda values: [[value] for value in values],
    ],
)
def test_values_not_seen_at_fit_are_refused(make):
    schema = fitted(ORDERED[0])
    with pytest.raises(ValueError, match=r"Column 'a' \(position 0\) holds 1 .*at fit: 'v'\. Take"):
        read_table(make(["x", "v", None, "v"]), like=schema)
    match = r"holds 7 value\(s\) not seen at fit: ('\d', ){4}'\d', \.\.\.\. Take them as missing"
    with pytest.raises(ValueError, match=match):
        read_table(make(list("y1234567")), like=schema)


@pytest.mark.parametrize(
    ("kind", "unknown", "other"),
    [
        (Kind.NOMINAL, "missing", MISSING_CATEGORY),
        (Kind.NOMINAL, "majority", 2),
        (Kind.ORDINAL, "missing", MISSING_CATEGORY),
        (Kind.ORDINAL, "majority", MISSING_CATEGORY),  # no place in the order is known
    ],
)
def test_values_not_seen_at_fit_become_missing_or_get_the_number_after_the_last(
    kind, unknown, other
):
    schema = Schema(("a",), (kind,), (("x", "y"),), (False,), unknown)
    column = only_column(pd.DataFrame({"a": ["y", "v", None, "x"]}), like=schema)
    expected = np.array([1, other, MISSING_CATEGORY, 0], CATEGORY_NUMBER)
    assert_array_equal(column.values, expected, strict=True)


def test_mixed_values_at_predict_are_reported_as_unknown():
    X = pd.DataFrame({"a": pd.Series(["x", 3], dtype=object)})
    with pytest.raises(ValueError, match="not seen at fit: 3"):
        read_table(X, like=fitted(ORDERED[0]))


@pytest.mark.parametrize("X", [*UNORDERED, *LATER])
def test_a_numeric_column_must_stay_numeric(X):
    schema = fitted(pd.DataFrame({"a": [1.0]}))
    match = r"Column 'a' \(position 0\) was numeric at fit and now has dtype .*: convert it"
    with pytest.raises(ValueError, match=match):
        read_table(X, like=schema)


def test_categories_of_numbers_are_numbers_where_the_column_had_them():
    schema = fitted(pd.DataFrame({"a": [1.0]}))
    column = only_column(pd.DataFrame({"a": pd.Categorical([3, None, 1])}), like=schema)
    assert_array_equal(column.values, np.array([3.0, np.nan, 1.0]), strict=True)


@pytest.mark.parametrize("categories", [True, False])
def test_times_are_refused_after_fit(categories):
    schema = fitted([[1]], categorical_features=[categories])
    with pytest.raises(ValueError, match=r"'x0' \(position 0\) has dtype datetime64.* is a time"):
        read_table(np.array([["2020"]], "datetime64[s]"), like=schema)


@pytest.mark.parametrize(
    "make",
    [np.asarray, strict_array, pd.DataFrame, lambda X: pl.DataFrame(X, schema=["a", "b", "c"])],
)
def test_another_number_of_columns_is_refused(make):
    schema = fitted(np.zeros((2, 4)))
    with pytest.raises(
        ValueError, match="X has 3 features, but gputree is expecting 4 features as input"
    ):
        read_table(make(np.zeros((2, 3))), like=schema)


# Imports


def run_apart(code):
    """Run Python code in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_arrays_are_read_where_no_frame_library_is_installed():
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow']))\n"
        "from gputree.data.inputs import read_table\n"
        "assert read_table([[1, None]], categorical_features=[0]).n_features == 2\n"
    )
    run_apart(code)


def test_only_libraries_in_use_are_loaded():
    code = (
        "import sys, sklearn.utils\n"  # which loads pandas where it is installed
        "before = set(sys.modules)\n"
        "from gputree.data.inputs import read_table\n"
        "read_table([[1, None]], categorical_features=[0])\n"
        "loaded = {'pandas', 'polars', 'pyarrow', 'torch', 'cupy'} & (set(sys.modules) - before)\n"
        "assert not loaded, loaded\n"
    )
    run_apart(code)


# cuDF, which needs a GPU: a stand-in that answers what is asked of it.


class CudfSeries:
    def __init__(self, values, nulls=()):
        self._values = np.asarray(values)
        self._nulls = list(nulls)
        self.dtype = self._values.dtype
        self.has_nulls = bool(self._nulls)

    @property
    def values(self):
        assert not self.has_nulls  # cuDF refuses
        return self._values

    def astype(self, dtype):
        return CudfSeries(self._values.astype(dtype), self._nulls)

    def to_cupy(self, na_value):
        filled = self._values.copy()
        filled[self._nulls] = na_value
        return filled

    def to_pandas(self):
        return pd.Series(self._values)


class CudfFrame(dict):
    @property
    def columns(self):
        return list(self)

    def __len__(self):
        return 3


def test_columns_of_cudf_stay_on_the_device_and_others_come_by_way_of_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "cudf", SimpleNamespace(DataFrame=CudfFrame))
    single, whole = np.array([1.5, 2.5, 3.5], np.float32), np.array([1, 2, 3])
    frame = CudfFrame(
        a=CudfSeries(single), b=CudfSeries(whole, nulls=[1]), c=CudfSeries(["x", "y", "x"])
    )
    table = read_table(frame, categorical_features=["c"])
    assert table.columns[0].values is single
    assert_array_equal(table.columns[1].values, [1.0, np.nan, 3.0])
    assert table.columns[2].categories == ("x", "y")


def test_a_table_that_has_been_read_is_taken_as_it_is():
    table = read_table([[0.0, 1.0], [2.0, NAN]])
    assert read_table(table, like=Schema.of(table)) is table
    narrow = read_table([[0.0]])
    with pytest.raises(ValueError, match="X has 1 features, but gputree is expecting 2"):
        read_table(narrow, like=Schema.of(table))


class OnlyDLPack:
    """Offers memory and nothing else."""

    def __init__(self, array, *, is_far=False):
        self._array, self._is_far = array, is_far

    def __dlpack__(self, **options):
        if self._is_far:
            raise BufferError("it is on a GPU")
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_memory_offered_by_dlpack_is_read_where_it_is():
    X = np.arange(12.0).reshape(4, 3)
    table = read_table(OnlyDLPack(X))
    assert table.n_features == 3
    assert all(np.shares_memory(column.values, X) for column in table.columns)


def test_memory_that_numpy_cannot_read_says_what_to_pass():
    with pytest.raises(ValueError, match="pass an array of CuPy or torch"):
        read_table(OnlyDLPack(np.zeros((2, 2)), is_far=True))
