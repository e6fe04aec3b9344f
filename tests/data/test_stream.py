"""A table read from a file in chunks gives the model of the table in memory, byte for byte."""

import gzip
import io
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gputree
from gputree import (
    AdaBoostClassifier,
    BaggingRegressor,
    C45Classifier,
    CARTClassifier,
    Dataset,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gputree.data import stream_cuts
from gputree.data.number_line import fine_bucket_of
from gputree.data.selection import Selection, first_key, key_of, value_of
from gputree.files import read_file
from gputree.files.many import ManyFiles, open_files

N_ROWS = 700
TEXT = ["colour"]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    n = N_ROWS
    x = random.normal(size=n)
    gaps = pa.array(random.normal(size=n), mask=random.random(n) < 0.2)
    size = pa.DictionaryArray.from_arrays(
        random.integers(0, 3, n), ["small", "middle", "large"], ordered=True
    )
    shape = pa.DictionaryArray.from_arrays(
        pa.array(random.integers(0, 3, n), mask=random.random(n) < 0.1), ["z", "a", "m"]
    )
    colour = pa.array(random.choice(["red", "blue", "green"], n), mask=random.random(n) < 0.1)
    kind = np.where(x + random.normal(size=n) > 0.5, "yes", np.where(x > -1, "no", "maybe"))
    return pa.table(
        {
            "x": x,
            "short": random.normal(size=n).astype(np.float32),
            "count": pa.array(random.integers(-5, 5, n), mask=random.random(n) < 0.1),
            "gaps": gaps,
            "size": size,
            "shape": shape,
            "colour": colour,
            "kind": kind,
            "number": x * 3 + random.normal(size=n),
            "other": random.normal(size=n),
            "label": random.integers(0, 3, n).astype(np.int8),
            "weight": random.integers(0, 4, n) / 2,
        }
    )


@pytest.fixture(scope="module", params=["csv", "parquet", "arrow"])
def path(request, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / f"t.{request.param}"
    write(table, path)
    return path


@pytest.fixture(scope="module")
def parquet(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "t.parquet"
    write(table, path)
    return path


def write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=97)
    elif path.suffix == ".csv":
        names = [name for name in table.column_names if name in ("size", "shape")]
        for name in names:
            at = table.column_names.index(name)
            table = table.set_column(at, name, table[name].cast(pa.string()))
        pyarrow.csv.write_csv(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=89)


OTHERS = ("kind", "number", "other", "label", "weight")


def in_memory(path, target, weight=None, columns=None, **options):
    """What a user does with a table that fits into memory."""
    whole = read_file(path)
    names = columns or [name for name in whole.column_names if name not in OTHERS]
    X = whole.select(names)
    texts = [field.name for field in X.schema if field.type == pa.string()]
    declared = [field.name for field in X.schema if pa.types.is_dictionary(field.type)]
    y = whole.select([target] if isinstance(target, str) else target)
    y = np.column_stack([column.to_numpy(zero_copy_only=False) for column in y.columns])
    y = y[:, 0] if isinstance(target, str) else y
    if y.dtype == object:
        y = y.astype(str)
    options.setdefault("categorical_features", [*texts, *declared] if texts else "from_dtype")
    given = None if weight is None else whole[weight].to_numpy()
    return Dataset(X, y, sample_weight=given, **options)


def streamed(path, target, weight=None, columns=None, max_bytes=3000, **options):
    columns = columns or [
        name for name in gputree.files.open_file(path).names if name not in OTHERS
    ]
    return Dataset.from_file(
        path, target, weight=weight, columns=columns, max_bytes=max_bytes, **options
    )


def same(model, path, target, backend="numpy", **options):
    """The bytes of a model fitted on chunks, checked to be those of one fitted in memory."""
    expected = model.fit(in_memory(path, target, backend=backend, **options)).to_bytes()
    data = streamed(path, target, backend=backend, **options)
    assert model.fit(data).to_bytes() == expected
    return data


CASES = [
    (DecisionTreeClassifier(max_depth=6), "kind"),
    (DecisionTreeClassifier(max_depth=6, nominal="multiway", missing="category"), "label"),
    (DecisionTreeRegressor(max_depth=6), "number"),
    (DecisionTreeRegressor(max_depth=4), ["number", "other"]),
    (RandomForestClassifier(3, max_depth=4, random_state=0, oob_score=True), "kind"),
    (GradientBoostingClassifier(n_estimators=3, max_depth=3), "kind"),
    (GradientBoostingRegressor(n_estimators=3, max_depth=3), "number"),
]


@pytest.mark.cover
@pytest.mark.filterwarnings("ignore:.*were drawn for every tree")
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("model", "target"), CASES)
def test_a_file_gives_the_model_of_the_table(model, target, backend, path):
    same(model, path, target, backend)


@pytest.mark.cover
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(
    ("model", "target"),
    [(DecisionTreeClassifier(max_depth=5), "kind"), (DecisionTreeRegressor(max_depth=5), "number")],
)
def test_weights_columns_and_bins(model, target, backend, path):
    data = same(model, path, target, backend, weight="weight", max_bins=9)
    assert max(data.bins.n_values) == 9
    same(model, path, target, backend, columns=["gaps", "colour", "x"])
    same(model, path, target, backend, columns=["count", "x"], categorical_features=["count"])
    same(model, path, target, backend, max_bins=300)


@pytest.mark.filterwarnings("ignore:.*were drawn for every tree")
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (AdaBoostClassifier(n_estimators=3), "kind"),
        (BaggingRegressor(n_estimators=3, max_features=0.5, random_state=0), "number"),
        (RandomForestRegressor(3, keep_targets=True, oob_score=True, random_state=0), "number"),
        (RandomForestClassifier(3, pruning="reduced_error", random_state=0), "kind"),
        (CARTClassifier(max_depth=4), "kind"),
        (C45Classifier(pruning="pessimistic"), "kind"),
        (DecisionTreeClassifier(ccp_alpha=0.01), "kind"),
        (
            DecisionTreeClassifier(
                pruning="reduced_error", validation_fraction=0.3, random_state=0
            ),
            "kind",
        ),
    ],
)
def test_what_asks_where_rows_end_reads_the_file_again(model, target, parquet):
    same(model, parquet, target)


def test_boosting_goes_on_from_a_file(parquet):
    def bytes_of(data):
        model = GradientBoostingRegressor(n_estimators=2, warm_start=True).fit(data)
        return model.set_params(n_estimators=4).fit(data).to_bytes()

    assert bytes_of(streamed(parquet, "number")) == bytes_of(in_memory(parquet, "number"))


def test_error_based_pruning_says_what_to_do(parquet):
    with pytest.raises(ValueError, match=r"holds bins only; set pruning=None, .*read_file gives"):
        C45Classifier().fit(streamed(parquet, "kind"))


def test_the_target_may_be_given_to_fit(parquet, table):
    data = streamed(parquet, None)
    assert data.y is None
    model = DecisionTreeRegressor(max_depth=3).fit(data, table["number"].to_numpy())
    assert model.to_bytes() == model.fit(in_memory(parquet, "number")).to_bytes()


def test_chunks_of_any_size_give_the_same_bins(parquet):
    expected = DecisionTreeClassifier().fit(in_memory(parquet, "kind")).to_bytes()
    for max_bytes in (700, 2**25):
        data = streamed(parquet, "kind", max_bytes=max_bytes)
        assert DecisionTreeClassifier().fit(data).to_bytes() == expected


def test_predictions_and_names_are_those_of_the_table(parquet, table):
    data = streamed(parquet, "kind")
    model = DecisionTreeClassifier(max_depth=4).fit(data)
    names = [name for name in table.column_names if name not in OTHERS]
    assert model.feature_names_in_.tolist() == names
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert set(model.predict(table.select(names)).tolist()) <= {"maybe", "no", "yes"}
    assert np.asarray(data.y).tolist() == table["kind"].to_pylist()
    assert repr(data).startswith(f"Dataset({N_ROWS} rows, 7 features")


# Cuts that need more than counts


NUMBERS = hnp.arrays(
    np.float64,
    st.integers(1, 60),
    elements=st.one_of(
        st.sampled_from([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e-320, 1e300]),
        st.floats(width=64),
        st.integers(0, 30).map(lambda at: 1.0 + at * 2.0**-50),
        st.integers(0, 30).map(lambda at: 1.7e9 + at * 2.0**-20),
    ),
)


@settings(max_examples=30)
@given(NUMBERS, st.integers(2, 9), st.integers(50, 400), st.integers(1, 12), st.booleans())
def test_any_numbers_in_any_chunks_have_the_cuts_of_the_whole(
    tmp_path_factory, x, max_bins, max_bytes, most_listed, is_weighted
):
    path = tmp_path_factory.mktemp("drawn") / "t.parquet"
    weight = np.arange(len(x)) % 3 + (len(x) < 3)
    pq.write_table(pa.table({"x": x, "w": weight, "y": np.zeros(len(x))}), path)
    given = {"weight": "w"} if is_weighted else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_cuts, "MOST_LISTED", most_listed)
        found = Dataset.from_file(
            path,
            "y",
            columns=["x"],
            max_bins=max_bins,
            max_bytes=max_bytes,
            backend="numpy",
            **given,
        )
    weights = weight if is_weighted else None
    expected = Dataset(x[:, None], sample_weight=weights, max_bins=max_bins, backend="numpy")
    (own,), (other,) = found.bins.features, expected.bins.features
    assert own.below.tobytes() == other.below.tobytes()
    assert own.above.tobytes() == other.above.tobytes()
    assert own.has_missing == other.has_missing
    assert np.array_equal(found.data, expected.data)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_values_that_share_fine_buckets_are_selected_bit_by_bit(tmp_path, monkeypatch, backend):
    monkeypatch.setattr(stream_cuts, "MOST_LISTED", 100)
    random = np.random.default_rng(0)
    n = 5000
    x = {
        "time": 1.7e9 + random.random(n),
        "normal": random.normal(size=n),
        "tiny": random.random(n) * 1e-300,
        "few": random.integers(0, 5, n).astype(float),
        "huge": random.random(n) * 1e300,
    }
    y = random.random(n)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(x | {"y": y}), path)
    called = []
    select = stream_cuts._select
    monkeypatch.setattr(
        stream_cuts, "_select", lambda *args: called.append(args[1]) or select(*args)
    )
    found = Dataset.from_file(path, "y", max_bytes=20_000, max_bins=60, backend=backend)
    expected = Dataset(np.column_stack(list(x.values())), y, max_bins=60, backend=backend)
    assert 0 in called[0]  # seconds since 1970 need it
    assert 3 not in called[0]
    assert np.array_equal(found.data, expected.data)
    for own, other in zip(found.bins.features, expected.bins.features, strict=True):
        assert own.cut.tobytes() == other.cut.tobytes()


def test_a_table_is_swept_a_few_times_only(parquet, capsys):
    streamed(parquet, "kind", verbose=True)
    sweeps = set(re.findall(r"sweep (\d) \((\w+)\): ", capsys.readouterr().err))
    assert sweeps == {("1", "counting"), ("2", "cutting"), ("3", "coding")}


@given(hnp.arrays(np.float64, 20, elements=st.floats(allow_nan=False)))
def test_keys_are_in_the_order_of_values(value):
    key = key_of(value)
    assert np.array_equal(value_of(key), value)
    order = np.argsort(value, kind="stable")
    assert (key[order][1:] >= key[order][:-1]).all()
    bucket = fine_bucket_of(value)
    first = first_key(bucket)
    assert (first <= key).all()
    assert np.array_equal(fine_bucket_of(value_of(first)), bucket)
    is_not_first = first > key_of(np.array([-np.inf]))
    below = value_of(first[is_not_first] - 1)
    assert (fine_bucket_of(below) < bucket[is_not_first]).all()


def test_a_selection_finds_ranks_and_what_follows_them():
    value = np.array([3.0, 1.0, 2.0, 2.0, np.nan, 5.0])
    weight = np.array([1, 2, 1, 1, 7, 0])
    low, high = (np.full(3, key) for key in key_of(np.array([0.5, 9.0])))
    selection = Selection(low, high, np.array([2, 3, 5]))
    n_sweeps = 0
    while True:
        n_sweeps += 1
        for part in (slice(0, 2), slice(2, 6)):
            selection.see(value[part], weight[part])
        if selection.end_sweep():
            break
    below, above = selection.neighbours()
    assert (below.tolist(), above.tolist()) == ([1.0, 2.0], [2.0, 3.0])
    assert n_sweeps <= 10


# Several files


@pytest.fixture
def folder(table, tmp_path):
    for at, first in enumerate(range(0, N_ROWS, 250)):
        pq.write_table(table.slice(first, 250), tmp_path / f"part-{at}.parquet")
    return tmp_path


def test_a_folder_a_list_and_a_pattern_are_one_table(folder, parquet):
    expected = DecisionTreeClassifier().fit(in_memory(parquet, "kind")).to_bytes()
    columns = [name for name in gputree.files.open_file(parquet).names if name not in OTHERS]
    for path in (folder, sorted(folder.glob("*")), f"{folder}/part-*.parquet"):
        data = Dataset.from_parquet(path, "kind", columns=columns, max_bytes=3000)
        assert DecisionTreeClassifier().fit(data).to_bytes() == expected


def test_files_that_do_not_go_together_are_told(tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "y": [0, 1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [1.5], "y": [1]}), tmp_path / "2.parquet")
    whole = open_files(tmp_path)
    assert isinstance(whole, ManyFiles)
    assert whole.read()["a"].to_pylist() == [1.0, 2.0, 1.5]
    assert whole.n_rows == 3
    assert whole.place(2) == f"in row 1 of {tmp_path / '2.parquet'}"
    pq.write_table(pa.table({"a": ["x"], "y": [1]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet and .*1\.parquet do not go together"):
        Dataset.from_parquet(tmp_path, "y")
    pq.write_table(pa.table({"b": [1], "y": [1]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"has other columns than .*: a, b; give all files"):
        Dataset.from_parquet(tmp_path, "y")


# Codes on disk


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_codes_may_be_in_a_file(parquet, tmp_path, backend):
    model = DecisionTreeClassifier()
    expected = model.fit(in_memory(parquet, "kind", backend=backend)).to_bytes()
    data = streamed(parquet, "kind", codes=tmp_path, backend=backend)
    assert model.fit(data).to_bytes() == expected
    base = data.data
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)
    assert os.listdir(tmp_path) == []  # the file has no name and goes with the codes


def test_codes_in_a_file_are_for_the_host(parquet, tmp_path):
    with pytest.raises(ValueError, match="by the backends 'numba' and 'numpy' only"):
        streamed(parquet, "kind", codes=tmp_path, backend="array_api_strict")
    with pytest.raises(ValueError, match=r"is not a folder; create it, or use 'memory'"):
        streamed(parquet, "kind", codes=tmp_path / "none")


# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "knid"}, "no column 'knid' to be the target; did you mean 'kind'?"),
        ({"target": "kind", "weight": "heavy"}, "no column 'heavy' to be the weight"),
        ({"target": "kind", "weight": "colour"}, "the weight 'colour' is of type string"),
        ({"target": "kind", "weight": "number"}, "column 'number': Negative values in data"),
        ({"target": "kind", "columns": ["xx"]}, "has no column 'xx'"),
        ({"target": "kind", "columns": ["kind"]}, "columns names 'kind', which is the target"),
        ({"target": "kind", "columns": []}, "no column left to be a feature"),
        ({"target": "count"}, "the target 'count' is missing in row"),
        ({"target": "gaps"}, "the target 'gaps' is missing in row"),
        ({"target": "colour"}, "the target 'colour' is missing in row"),
        ({"target": ["kind", "number"]}, "'kind' is of type string; a target is of numbers, or"),
        ({"target": "kind", "max_bins": 1}, "max_bins=1: an integer from 2"),
        ({"target": "kind", "max_bytes": 0}, "max_bytes=0: at least 1"),
        ({"target": "kind", "categorical_features": None}, "Column 'size' (position 4) has dtype"),
    ],
)
def test_a_mistake_is_told(parquet, options, message):
    with pytest.raises(ValueError) as told:
        Dataset.from_file(parquet, **options)
    assert message in str(told.value)


def test_the_format_is_checked(parquet, tmp_path):
    with pytest.raises(ValueError, match=r"t\.parquet is PARQUET, not for from_csv; use from_file"):
        Dataset.from_csv(parquet, "kind")
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n1,no\n2,yes\n"))
    assert Dataset.from_csv(path, "y").n_rows == 2
    with pytest.raises(ValueError, match="is CSV, not for from_parquet"):
        Dataset.from_parquet(path, "y")
    with pytest.raises(ValueError, match="is CSV, not for from_parquet; use from_file"):
        Dataset.from_parquet(tmp_path, "y")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        Dataset.from_parquet(tmp_path / "*.parquet", "y")


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,2\n2,3\n3,4\n")
    data = Dataset.from_csv(path, "y")
    assert [part.n_rows for part in data.parts()] == [3]
    path.write_text("a,y\n1,2\n2,3\n3,4\n5,6\n")
    with pytest.raises(ValueError, match="has changed since it was opened"):
        list(data.parts())


def test_categories_in_different_orders_are_refused_as_in_memory(tmp_path):
    def part(categories):
        size = pa.DictionaryArray.from_arrays([0, 1], categories, ordered=True)
        return pa.record_batch({"size": size, "y": [0, 1]})

    path = tmp_path / "t.arrows"
    parts = [part(["small", "large"]), part(["large", "small"])]
    with pa.ipc.new_stream(path, parts[0].schema) as writer:
        for each in parts:
            writer.write_batch(each)
    with pytest.raises(ValueError, match="its chunks declare different categories"):
        Dataset.from_file(path, "y")


def test_an_arff_file_is_streamed(tmp_path):
    random = np.random.default_rng(0)
    rows = [
        f"{x:.3f},{random.choice(['b', 'a'])},{'no' if x < 0 else 'yes'}"
        for x in random.normal(size=50)
    ]
    path = tmp_path / "t.arff"
    head = (
        "@relation t\n@attribute x real\n@attribute c {b,a,unused}\n@attribute y {no,yes}\n@data\n"
    )
    path.write_text(head + "\n".join(rows))
    data = Dataset.from_file(path, "y", max_bytes=100)
    assert data.schema.categories == (None, ("b", "a", "unused"))
    whole = read_file(path)
    model = DecisionTreeClassifier()
    y = np.array(whole["y"].to_pylist())
    expected = model.fit(whole.select(["x", "c"]), y).to_bytes()
    assert model.fit(data).to_bytes() == expected


def test_nothing_is_shown_unless_it_is_asked_for(parquet, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    streamed(parquet, "kind")
    assert stream.getvalue() == ""
