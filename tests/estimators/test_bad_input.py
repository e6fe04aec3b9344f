"""Bad input is an error that says what came and what would be right; and nothing is half-done."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from gputree import (
    BackendUnavailable,
    Dataset,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
)
from gputree.data.inputs import check_size

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAN, INF = np.nan, np.inf
X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 8.0], [3.0, 1.0], [4.0, 9.0], [5.0, 2.0]])
Y = np.array([0, 1, 0, 1, 0, 1])
FRAME = pd.DataFrame({"size": X[:, 0], "colour": list("rgbrgb")})


def with_entry(array, at, value):
    changed = np.array(array, dtype=np.result_type(array, value))
    changed[at] = value
    return changed


@dataclass(frozen=True)
class Bad:
    """A fit that must fail, and what the error must say."""

    match: str
    X: Any = field(default=None, repr=False)
    y: Any = field(default=None, repr=False)
    weight: Any = None
    params: dict = field(default_factory=dict)
    kind: type = DecisionTreeClassifier
    error: type = ValueError

    def fit(self, model):
        model.set_params(**self.params)
        model.fit(X if self.X is None else self.X, Y if self.y is None else self.y, self.weight)


def table(match, X, **more):
    return Bad(match, X=X, **more)


def classes(match, y, **more):
    return Bad(match, y=y, **more)


def numbers(match, y, **more):
    return Bad(match, y=y, kind=DecisionTreeRegressor, **more)


def weights(match, weight, **more):
    return Bad(match, weight=weight, **more)


def colours(dtype):
    return FRAME.astype({"colour": dtype})


TABLES = {
    "1-D": table(r"Expected 2D array.*Reshape", X[:, 0]),
    "3-D": table(r"dim 3.*dim <= 2", X[:, :, None]),
    "scalar": table(r"Expected 2D array", 5.0),
    "no-rows": table(r"0 sample\(s\).*minimum of 1", X[:0], y=Y[:0]),
    "no-rows-frame": table(r"0 sample\(s\).*minimum of 1", pd.DataFrame({"a": []}), y=Y[:0]),
    "no-columns": table(r"0 feature\(s\).*minimum of 1", X[:, :0]),
    "ragged": table(r"inhomogeneous|sequence", [[1, 2], [3], [4, 5], [6, 7], [8, 9], [1, 2]]),
    "complex": table(r"[Cc]omplex data not supported", X + 1j),
    "sparse": table(r"sparse and has dtype complex128", scipy.sparse.csr_matrix(X + 1j)),
    "lazy": table(r"LazyFrame.*collect", pl.LazyFrame(X), error=TypeError),
    "text": table(r"'colour'.*strings.*`category`.*OrdinalEncoder", FRAME),
    "text-object": table(r"'x1'.*strings.*categorical_features", FRAME.to_numpy(object)),
    "text-polars": table(r"'colour'.*strings.*`category`", pl.from_pandas(FRAME)),
    "text-pyarrow": table(r"'colour'.*strings", pa.Table.from_pandas(FRAME)),
    "time": table(
        r"'colour'.*time.*elapsed", FRAME.assign(colour=pd.date_range("2020", periods=6))
    ),
    "repeated-names": table(r"same name: \['a'\]", pd.DataFrame(X, columns=["a", "a"])),
}
TARGETS = {
    "short": classes(r"X has 6 rows, y has 5", Y[:5]),
    "short-numbers": numbers(r"X has 6 rows, y has 5", Y[:5]),
    "empty": classes(r"X has 6 rows, y has 0", Y[:0]),
    "scalar": classes(r"y", np.float64(1.0)),
    "two-columns": classes(r"y should be a 1d array.*\(6, 2\)", X.astype(int)),
    "three-dimensions": numbers(r"dim 3", np.zeros((6, 2, 2))),
    "no-outputs": numbers(r"0 feature|no column", np.zeros((6, 0))),
    "continuous": classes(r"[Cc]ontinuous", X[:, 0] + 0.5),
    "nan": classes(r"y contains NaN", [0, 1, NAN, 1, 0, 1]),
    "nan-numbers": numbers(r"y contains NaN", [0, 1, NAN, 1, 0, 1]),
    "infinite": numbers(r"y contains infinity", [0, 1, INF, 1, 0, 1]),
    "huge": numbers(r"beyond ±1e\+150.*divide y", [0, 1, 1e151, 1, 0, 1]),
    "none-in-text": classes(r"y.*(missing|None|NaN)", ["a", None, "a", "b", "a", "b"]),
    "none-in-numbers": classes(r"y.*(missing|None|NaN)", np.array([0, None, 1, 0, 1, 1], object)),
    "na-in-text": classes(
        r"y.*(missing|NA|NaN)", pd.Series(["a", None, "b", "a", "b", "a"], dtype="string")
    ),
    "na-in-integers": classes(r"y contains NaN", pd.array([0, 1, None, 1, 0, 1], dtype="Int64")),
    "text-numbers": numbers(r"could not convert|y .*numbers", list("abcdef")),
    "mixed": classes(r"label type|y.*types", np.array([1, "a", 2, "b", 1, "a"], object)),
    "complex": numbers(r"[Cc]omplex", Y * 1j),
    "sparse": classes(r"[Ss]parse", scipy.sparse.csr_matrix(Y), error=(TypeError, ValueError)),
    "time": numbers(r"y.*time", np.arange(6).astype("datetime64[D]")),
}
WEIGHTS = {
    "short": weights(r"shape == \(5,\).*\(6,\)", np.ones(5)),
    "two-columns": weights(r"shape == \(6, 2\).*\(6,\)", X),
    "negative": weights(r"sample_weight\[2\] is negative.*at least 0", [1, 1, -1, 1, 1, 1]),
    "nan": weights(r"sample_weight\[1\] is NaN", [1, NAN, 1, 1, 1, 1]),
    "infinite": weights(r"sample_weight\[0\] is NaN or infinite", [INF, 1, 1, 1, 1, 1]),
    "none": weights(r"sample_weight\[3\]", [1, 1, 1, None, 1, 1]),
    "zero": weights(r"sample_weight is zero everywhere", np.zeros(6)),
    "text": weights(r"sample_weight has dtype.*numbers", list("abcdef")),
    "complex": weights(r"sample_weight has dtype.*numbers", np.ones(6) + 1j),
    "sum-overflows": weights(r"sum of sample_weight overflows.*divide", np.full(6, 1e308)),
    "no-row-of-a-class": weights(
        r"priors: class 1 has no row", [1, 0, 1, 0, 1, 0], params={"priors": "uniform"}
    ),
}


def flat(**groups):
    return [
        pytest.param(bad, id=f"{group}-{name}")
        for group, bads in groups.items()
        for name, bad in bads.items()
    ]


BAD_FITS = flat(X=TABLES, y=TARGETS, weight=WEIGHTS)


@pytest.mark.parametrize("bad", BAD_FITS)
def test_a_bad_table_target_or_weight_is_refused_with_the_reason(bad):
    with pytest.raises(bad.error, match=f"(?s){bad.match}"):
        bad.fit(bad.kind())


@pytest.mark.parametrize("missing", ["direction", "category", "fractional", "surrogate"])
@pytest.mark.parametrize(
    ("table", "weight"),
    [
        (with_entry(X, np.s_[:, 0], NAN), None),
        (with_entry(X, np.s_[1:, 0], NAN), [0, 1, 1, 1, 1, 1]),
        (FRAME[["size"]].assign(more=FRAME["size"] * NAN)[["more", "size"]], None),
        (colours("category").assign(colour=None).astype({"colour": "category"}), None),
    ],
    ids=["array", "missing-where-it-counts", "frame", "category"],
)
def test_a_column_without_a_known_value_is_accepted_and_never_split(table, weight, missing):
    model = DecisionTreeClassifier(missing=missing).fit(table, Y, weight)
    tree = model.nodes_
    empty = 1 if "colour" in getattr(table, "columns", ()) else 0
    assert tree.n_leaves > 1
    assert (tree.feature[~tree.is_leaf] != empty).all()


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
@pytest.mark.parametrize("nominal", ["subset", "multiway"])
def test_a_nominal_column_is_split(kind, nominal):
    table = colours("category")[["colour"]]
    y = (table["colour"] == table["colour"][0]).to_numpy().astype(int)
    model = kind(nominal=nominal).fit(table, y)
    assert model.get_depth() == 1
    assert model.predict(table).tolist() == y.tolist()


def test_ways_that_do_not_go_together_are_refused_with_what_does():
    for params, match in [
        ({"nominal": "multiway", "criterion": "twoing"}, r"twoing.*nominal='subset'"),
        ({"nominal": "multiway", "missing": "surrogate"}, r"surrogates.*missing='fractional'"),
    ]:
        with pytest.raises(ValueError, match=match):
            DecisionTreeClassifier(**params).fit(X, Y)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_a_target_must_be_given(kind):
    with pytest.raises(ValueError, match=r"requires y .*target y is None.*Dataset"):
        kind().fit(X)
    with pytest.raises(ValueError, match=r"requires y .*target y is None"):
        kind().fit(Dataset(X))


# Parameters

EITHER = {
    "criterion": ["foo", None, 3, ["gini"], "Gini"],
    "max_depth": [0, -1, 1.5, "3", True],
    "min_samples_leaf": [0, 0.0, 1.5, "a", None, True, NAN],
    "min_samples_split": [1, 0.0, 1.5, "a", None, True],
    "min_weight_fraction_leaf": [-0.1, 0.6, "a", None, NAN],
    "min_impurity_decrease": [-0.1, "a", None, NAN],
    "max_features": [0, -1, 0.0, 1.5, "foo", True, [1]],
    "max_leaf_nodes": [1, 0, 2.5, "a"],
    "max_bins": [1, 0, 65_536, 70_000, 2.5, "a", None],
    "histogram_budget": [0, -1, 1.5, "a", True],
    "categorical_features": ["foo", [0.5], [7], [True], [[1]], 3],
    "device": ["gpu", "cuda:x", "CUDA", None, 0],
    "backend": ["foo", 3, ["numpy"]],
    "n_jobs": [0, 1.5, "a", True],
    "nominal": ["foo", None, 1],
    "subset_search": ["foo", None],
    "max_exact_levels": [1, 21, 2.5, "a"],
    "missing": ["foo", None, NAN],
    "max_surrogates": [-1, 1.5, None],
    "unknown_category": ["foo", None, -1],
}
CLASSES_ONLY = {
    "criterion": ["squared_error"],
    "greedy_length": [0, 1.5, "a"],
    "class_weight": ["foo", [1, 2], 3, {0: -1.0}, {0: NAN}, {5: 1.0}, {0: 0.0, 1: 0.0}],
    "priors": [
        *("foo", None, 3, ["a", "b"]),
        *([0.5, 0.6], [0.5], [1.0, 0.0], [-0.5, 1.5], [[0.5, 0.5]]),
        *({0: 0.5}, {0: 0.5, 7: 0.5}, {0: 0.2, 1: 0.9}),
    ],
}
BAD_PARAMS = [
    pytest.param(kind, name, value, id=f"{kind.__name__[12:]}-{name}={value}")
    for kind, params in [
        (DecisionTreeClassifier, EITHER),
        (DecisionTreeRegressor, EITHER),
        (DecisionTreeClassifier, CLASSES_ONLY),
        (DecisionTreeRegressor, {"criterion": ["gini", "twoing"]}),
        (DecisionTreeRegressor, {"missing": ["fractional"], "subset_search": ["greedy"]}),
    ]
    for name, values in params.items()
    for value in values
]


@pytest.mark.parametrize(("kind", "name", "value"), BAD_PARAMS)
def test_a_parameter_out_of_range_is_refused_by_name(kind, name, value):
    with pytest.raises(ValueError, match=name):
        kind(**{name: value}).fit(X, Y)


def test_the_error_for_a_parameter_says_what_would_be_right():
    for params, match in [
        (
            {"criterion": "foo"},
            r"='foo' is unknown; choose from entropy, error, gain_ratio, gini",
        ),
        ({"max_depth": 0}, r"max_depth=0: an integer of at least 1 or None is needed"),
        ({"max_features": 0}, r"an integer of at least 1, a share in \(0.0, 1.0\], 'sqrt', 'log2'"),
        ({"max_bins": 70_000}, r"max_bins=70000.* 2.*65535"),
        ({"device": "gpu"}, r"choose 'auto', 'cpu', 'cuda' or 'cuda:N'"),
        ({"backend": "foo"}, r"choose from numpy"),
        ({"priors": [0.5, 0.6]}, r"2 positive numbers that sum to 1"),
        ({"priors": {0: 0.5, 7: 0.5}}, r"priors has labels \[0, 7\]; the classes are \[0, 1\]"),
        (
            {"class_weight": {1: 1.0}, "priors": "uniform"},
            r"class_weight and priors both.*give one",
        ),
    ]:
        with pytest.raises(ValueError, match=match):
            DecisionTreeClassifier(**params).fit(X, Y)


def has_cuda():
    if find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


@pytest.mark.skipif(has_cuda(), reason="this machine has a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_gpu_that_is_not_there_is_an_error_and_not_a_slow_fit(device):
    with pytest.raises(BackendUnavailable, match=rf"{device}.*NVIDIA GPU.*device='auto'"):
        DecisionTreeClassifier(device=device).fit(X, Y)


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_a_library_that_is_not_there_is_an_error_with_the_command_that_brings_it():
    with pytest.raises(BackendUnavailable, match=r"backend='cupy' is not installed: pip install"):
        DecisionTreeClassifier(backend="cupy").fit(X, Y)


@pytest.mark.parametrize("backend", ["numpy", "numba", "array_api_strict"])
def test_a_backend_of_the_cpu_refuses_a_gpu(backend):
    pytest.importorskip(backend)
    with pytest.raises(ValueError, match=rf"backend='{backend}' runs on the CPU.*device='cuda'"):
        DecisionTreeClassifier(backend=backend, device="cuda").fit(X, Y)


# A failed fit


BAD_PARAM_FITS = [
    pytest.param(Bad("", params=params, error=(ValueError, ImportError)), id=str(params))
    for params in [
        {"criterion": "foo"},
        {"max_depth": 0},
        {"max_features": 0},
        {"max_bins": 1},
        {"device": "gpu"},
        {"random_state": "a"},
        {"class_weight": {9: 1.0}},
        {"priors": "foo"},
    ]
]


@pytest.mark.parametrize("bad", BAD_FITS + BAD_PARAM_FITS)
def test_a_failed_fit_leaves_the_old_model_whole(bad):
    names = pd.DataFrame(np.repeat(X, 2, axis=1), columns=list("abcd"))
    model = bad.kind().fit(names, np.array([7, 7, 8, 8, 9, 9]))
    params, before, fitted = model.get_params(), model.to_bytes(), dict(vars(model))
    with pytest.raises(Exception):  # noqa: B017  (which one is tested above)
        bad.fit(model)
    model.set_params(**params)
    assert model.to_bytes() == before
    assert vars(model).keys() == fitted.keys()
    assert all(vars(model)[name] is value for name, value in fitted.items())
    assert model.predict(names).tolist() == [7, 7, 8, 8, 9, 9]


def test_a_failed_first_fit_leaves_no_model():
    model = DecisionTreeClassifier()
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(X, [0, 1, NAN, 1, 0, 1])
    with pytest.raises(NotFittedError):
        model.predict(X)


# Predicting

NAMED = pd.DataFrame(X, columns=["a", "b"])
PREDICTIONS = {
    "reordered": (NAMED[["b", "a"]], ValueError, r"same order"),
    "reordered-polars": (pl.from_pandas(NAMED[["b", "a"]]), ValueError, r"same order"),
    "reordered-pyarrow": (pa.Table.from_pandas(NAMED[["b", "a"]]), ValueError, r"same order"),
    "missing": (NAMED[["a"]], ValueError, r"now missing:\n- b"),
    "unknown": (NAMED.rename(columns={"b": "c"}), ValueError, r"unseen at fit time:\n- c"),
    "too-many": (NAMED.assign(c=1), ValueError, r"unseen at fit time:\n- c"),
    "too-few-in-a-list": ([[1.0], [2.0]], ValueError, r"X has 1 features.*expecting 2"),
    "too-many-in-a-list": ([[1, 2, 3]], ValueError, r"X has 3 features.*expecting 2"),
    "1-D": (X[0].tolist(), ValueError, r"Expected 2D array.*Reshape"),
    "no-rows": (NAMED[:0], ValueError, r"0 sample\(s\)"),
    "text": (NAMED.assign(b="x"), ValueError, r"'b'.*numeric at fit and now has dtype"),
    "sparse": (scipy.sparse.csr_matrix(X[:, :1]), ValueError, r"X has 1 features.*expecting 2"),
    "dataset": (Dataset(NAMED), TypeError, r"Dataset"),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
@pytest.mark.parametrize(("X", "error", "match"), PREDICTIONS.values(), ids=PREDICTIONS)
def test_a_table_unlike_the_one_at_fit_is_refused(method, X, error, match):
    model = DecisionTreeClassifier().fit(NAMED, Y)
    with pytest.raises(error, match=f"(?s){match}"):
        getattr(model, method)(X)


def test_an_array_of_another_width_is_refused():
    model = DecisionTreeClassifier().fit(X, Y)
    with pytest.raises(
        ValueError, match="X has 1 features, but DecisionTreeClassifier is expecting"
    ):
        model.predict(X[:, :1])


def test_an_unknown_category_is_refused_by_column_and_value_where_that_is_asked_for():
    sizes = pd.CategoricalDtype(["s", "m", "l"], ordered=True)
    model = DecisionTreeClassifier(unknown_category="error")
    model.fit(pd.DataFrame({"size": list("smlsml")}, dtype=sizes), Y)
    with pytest.raises(ValueError, match=r"'size'.*not seen at fit: 'xl'"):
        model.predict(pd.DataFrame({"size": ["s", "xl"]}))


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.predict(X),
        lambda model: model.predict_proba(X),
        lambda model: model.apply(X),
        lambda model: model.get_depth(),
        lambda model: model.get_n_leaves(),
        lambda model: model.feature_importances_,
        lambda model: model.export_text(),
        lambda model: model.export_graphviz(),
        lambda model: model.plot(),
        lambda model: model.to_bytes(),
        lambda model: model.save("never-written"),
    ],
)
def test_a_model_that_was_not_fitted_says_so(ask):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ask(DecisionTreeClassifier())


# Size


def test_more_rows_than_can_be_numbered_are_refused():
    with pytest.raises(ValueError, match=r"2,147,483,648 rows.*sample of the rows"):
        check_size(2**31, 1)
    check_size(2**31 - 1, 1)


def test_the_number_of_cells_is_not_limited():
    check_size(3_000_000, 1_000)
    check_size(2**31 - 1, 2**31 - 1)


# Ways that do not go together.


def categories(n_categories, n_rows=50):
    return pd.DataFrame(
        {"town": pd.Categorical(np.arange(n_rows) % n_categories, range(n_categories))}
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nominal": "multiway", "criterion": "twoing"}, "two children.*nominal='subset'"),
        ({"nominal": "multiway", "missing": "surrogate"}, "split in two.*missing='fractional'"),
        ({"missing": "nothing"}, "missing='nothing' is unknown; choose from category, direction"),
        ({"nominal": "both"}, "nominal='both' is unknown"),
        ({"subset_search": "best"}, "subset_search='best' is unknown"),
        ({"unknown_category": "new"}, "unknown_category='new' is unknown"),
        ({"max_exact_levels": 40}, "max_exact_levels=40.*never end"),
        ({"greedy_length": 0}, "greedy_length=0: an integer of at least 1"),
        ({"max_surrogates": -1}, "max_surrogates=-1: an integer of at least 0"),
        ({"subset_search": "exact"}, "column 'town' has 30 categories.*use 'auto'"),
    ],
)
def test_ways_that_do_not_go_together_are_refused(options, message):
    model = DecisionTreeClassifier(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(categories(30), np.arange(50) % 3)
    assert not hasattr(model, "tree_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "fractional"}, "a regression has missing='direction'"),
        ({"criterion": "twoing"}, "criterion='twoing' is unknown"),
    ],
)
def test_ways_of_class_trees_are_refused_for_numbers(options, message):
    with pytest.raises(ValueError, match=message):
        DecisionTreeRegressor(**options).fit(categories(5), np.arange(50.0))


def test_more_branches_than_a_node_can_have_are_refused():
    with pytest.raises(ValueError, match=r"'town' has 65,535 categories.*65,534 branches"):
        DecisionTreeClassifier(nominal="multiway").fit(categories(65_535, 70_000), [0, 1] * 35_000)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, 2.0], "column 'x' is numeric.*C45Classifier"),
        (pd.Categorical(["a", None]), "column 'x' has missing values.*C45Classifier"),
    ],
)
def test_id3_names_the_column_that_it_cannot_split(column, message):
    with pytest.raises(ValueError, match=message):
        ID3Classifier().fit(pd.DataFrame({"x": column}), [0, 1])


def test_a_category_that_was_not_seen_is_named_if_that_is_wanted():
    X = categories(3)
    model = DecisionTreeClassifier(unknown_category="error").fit(X, X["town"].cat.codes)
    with pytest.raises(
        ValueError, match=r"'town'.*not seen at fit: 'x'.*unknown_category='missing'"
    ):
        model.predict(pd.DataFrame({"town": ["x"]}, dtype="category"))
