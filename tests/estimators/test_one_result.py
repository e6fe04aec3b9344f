"""The same data and parameters give the same model, byte for byte, however they are computed."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gputree import (
    C45Classifier,
    CARTClassifier,
    Dataset,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from gputree.tree import store
from tests.thorough import examples

BACKENDS = ["numba", "array_api_strict", "torch"]  # NumPy is what they are compared with
EVERY_BUDGET = [1, 60_000, 2**45]


@dataclass
class Case:
    """What is fitted, in float32 so that both widths can hold it."""

    kind: type = DecisionTreeClassifier
    params: dict = field(default_factory=dict)
    n_rows: int = 120
    n_outputs: int = 1
    n_values: int = 40  # distinct values of a feature, some more than there are rows
    is_weighted: bool = False
    has_missing: bool = False

    def table(self):
        rng = np.random.default_rng(7)
        n_rows = self.n_rows
        X = rng.integers(0, self.n_values, (n_rows, 6)).astype(np.float32) / 8
        X[:, 4] = 2.5  # a constant
        X[:, 5] = X[:, 0]  # ties everywhere
        signal = X[:, 0] * X[:, 1] - X[:, 2] ** 2 / 2
        y = np.digitize(signal + rng.normal(size=n_rows), [0.0, 4.0])
        if issubclass(self.kind, DecisionTreeRegressor):
            y = signal[:, None] + rng.normal(size=(n_rows, self.n_outputs))
            y = y[:, 0] if self.n_outputs == 1 else y * [1.0, 1e4]
            if self.params.get("criterion") == "poisson":
                y = np.maximum(np.rint(y), 0.0)
        if self.has_missing:
            X[rng.random(X.shape) < 0.2] = np.nan
        weight = rng.choice([0.0, 0.3, 1.0, 7.25], n_rows) if self.is_weighted else None
        return X, y, weight

    def fit(self, X=None, y=None, weight=None, **where):
        if X is None:
            X, y, weight = self.table()
        return self.kind(**self.params, **where).fit(X, y, weight)


def regression(**case):
    return Case(DecisionTreeRegressor, **case)


WIDE = {"max_bins": 1000, "max_depth": 5}  # more codes than a byte can tell apart
CATEGORIES = {"categorical_features": [1, 2]}
CASES = {
    "gini": Case(),
    "entropy": Case(params={"criterion": "entropy"}),
    "error": Case(params={"criterion": "error"}),
    "weights": Case(is_weighted=True),
    "weights-entropy": Case(params={"criterion": "entropy"}, is_weighted=True),
    "class-weight": Case(params={"class_weight": "balanced"}),
    "missing": Case(has_missing=True),
    "missing-weights": Case(has_missing=True, is_weighted=True, params={"max_depth": 6}),
    "draws": Case(params={"max_features": 2, "random_state": 3}),
    "draws-missing": Case(params={"max_features": "sqrt", "random_state": 1}, has_missing=True),
    "best-first": Case(params={"max_leaf_nodes": 17}),
    "best-first-draws": Case(params={"max_leaf_nodes": 9, "max_features": 1, "random_state": 5}),
    "few-bins": Case(params={"max_bins": 5}, n_values=1000),
    "wide-codes": Case(params=WIDE, n_rows=300, n_values=100_000),
    "rules": Case(params={"min_samples_leaf": 6, "min_impurity_decrease": 0.003}),
    "regression": regression(),
    "regression-weights": regression(is_weighted=True, has_missing=True),
    "regression-best-first": regression(params={"max_leaf_nodes": 12}),
    "regression-wide-codes": regression(params=WIDE, n_rows=300, n_values=100_000),
    "poisson": regression(params={"criterion": "poisson"}, is_weighted=True, has_missing=True),
    "poisson-outputs": regression(params={"criterion": "poisson"}, n_outputs=2),
    "poisson-categories": regression(
        params={**CATEGORIES, "criterion": "poisson"}, has_missing=True
    ),
    "poisson-surrogates": regression(
        params={"criterion": "poisson", "missing": "surrogate"}, has_missing=True
    ),
    "poisson-random": regression(
        params={"criterion": "poisson", "splitter": "random", "random_state": 3}
    ),
    "monotonic": regression(params={"monotonic_cst": [1, 1, 0, 0, 0, 0]}, has_missing=True),
    "monotonic, drawn": regression(
        params={"monotonic_cst": [1, -1, 0, 0, 0, 0], "splitter": "random", "random_state": 0},
        has_missing=True,
    ),
    "outputs": regression(n_outputs=2),
    "levels": Case(params=CATEGORIES, has_missing=True),
    "categories-few": Case(params=CATEGORIES, n_values=8, is_weighted=True),
    "categories-multiway": Case(
        params={**CATEGORIES, "nominal": "multiway", "missing": "category"}
    ),
    "categories-draws": Case(params={**CATEGORIES, "max_features": 2, "random_state": 3}),
    "categories-best-first": Case(params={**CATEGORIES, "max_leaf_nodes": 15}, has_missing=True),
    "categories-regression": regression(params=CATEGORIES, has_missing=True),
    "categories-rare": Case(params={**CATEGORIES, "min_samples_category": 9}, has_missing=True),
    "categories-rare-classes": Case(
        params={**CATEGORIES, "min_samples_category": 6}, is_weighted=True, n_values=12
    ),
    "categories-rare-regression": regression(params={**CATEGORIES, "min_samples_category": 9}),
    "fractions": Case(params={**CATEGORIES, "missing": "fractional"}, has_missing=True),
    "surrogates": Case(params={**CATEGORIES, "missing": "surrogate"}, has_missing=True),
    "surrogates-regression": regression(params={"missing": "surrogate"}, has_missing=True),
    "twoing": Case(
        CARTClassifier, params={"criterion": "twoing", "pruning": None}, has_missing=True
    ),
    "c45": Case(C45Classifier, params=CATEGORIES, has_missing=True, is_weighted=True, n_values=12),
    "oblique": Case(ObliqueTreeClassifier, has_missing=True, is_weighted=True),
    "oblique, cart-lc": Case(
        ObliqueTreeClassifier, params={**CATEGORIES, "directions": "cart-lc", "max_depth": 4}
    ),
    "oblique, logistic": Case(
        ObliqueTreeClassifier,
        params={**CATEGORIES, "directions": "logistic", "max_depth": 4},
        has_missing=True,
        is_weighted=True,
    ),
    "oblique, sparse": Case(
        ObliqueTreeRegressor,
        params={"directions": "sparse", "max_depth": 5, "random_state": 2},
        n_outputs=2,
        has_missing=True,
    ),
    "oblique, drawn": Case(
        ObliqueTreeClassifier,
        params={
            **CATEGORIES,
            "directions": "sparse",
            "splitter": "random",
            "max_projections": 4,
            "random_state": 3,
        },
        has_missing=True,
        is_weighted=True,
    ),
    "outputs-weights": regression(n_outputs=2, is_weighted=True, params={"max_depth": 5}),
}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def expected(case):
    """What NumPy makes of the case in one go."""
    model = case.fit(backend="numpy")
    assert model.get_n_leaves() >= 3  # else there is nothing to agree on
    return model.to_bytes()


def open_backend(name):
    pytest.importorskip(name)
    return {"backend": name}


def without_names(data):
    """A model as bytes, except for the names of its columns."""
    header, arrays = store.unpack(data)
    return store.pack({**header, "names": [], "named": False}, arrays)


# How it is computed


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_array_library_gives_the_bytes_of_numpy(case, expected, backend):
    assert case.fit(**open_backend(backend), histogram_budget=200_000).to_bytes() == expected


@pytest.mark.cover
@pytest.mark.parametrize("budget", EVERY_BUDGET)
def test_the_memory_for_histograms_does_not_change_the_model(case, expected, budget):
    assert case.fit(histogram_budget=budget).to_bytes() == expected


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_number_of_threads_does_not_change_the_model(case, expected, n_jobs):
    assert case.fit(backend="numba", n_jobs=n_jobs).to_bytes() == expected


def test_a_dataset_cut_beforehand_gives_the_same_model(case, expected):
    X, y, weight = case.table()
    names = {"max_bins", "categorical_features"} & set(case.params)
    data = Dataset(X, y, sample_weight=weight, **{name: case.params[name] for name in names})
    assert case.kind(**case.params).fit(data).to_bytes() == expected


# How the rows come


def test_the_order_of_the_rows_does_not_change_the_model(case, expected):
    X, y, weight = case.table()
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = case.fit(X[order], y[order], None if weight is None else weight[order])
    assert shuffled.to_bytes() == expected


@pytest.mark.parametrize("name", ["gini", "weights", "missing", "regression", "outputs-weights"])
def test_rows_without_weight_leave_no_trace(name):
    case = CASES[name]
    X, y, weight = case.table()
    weight = np.ones(len(X)) if weight is None else weight
    weight[::3] = 0.0
    X[::3], y[::3] = 1e9, 77
    full, short = case.fit(X, y, weight), case.fit(*(part[weight > 0] for part in (X, y, weight)))
    assert full.get_n_leaves() > 5
    for array in ("feature", "threshold", "missing_slot", "n_rows"):
        np.testing.assert_array_equal(getattr(full.nodes_, array), getattr(short.nodes_, array))


# How the table comes

TABLES = {
    "float64": lambda X: X.astype(np.float64),
    "columns-first": np.asfortranarray,
    "every-second-row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "big-endian": lambda X: X.astype(">f4"),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "strict": lambda X: pytest.importorskip("array_api_strict").asarray(X),
    "torch": lambda X: pytest.importorskip("torch").from_numpy(X),
    "torch-float64": lambda X: pytest.importorskip("torch").from_numpy(X.astype(np.float64)),
}
NUMBERS_ONLY = ("strict", "torch", "torch-float64")
READ = ("weights", "missing", "wide-codes", "outputs", "levels", "c45")  # cases, read in all ways
FRAMES = {
    "pandas": lambda columns: pytest.importorskip("pandas").DataFrame(columns),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "pyarrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
}


@pytest.mark.parametrize("case", READ, indirect=True)
@pytest.mark.parametrize("table", TABLES)
def test_the_kind_of_array_does_not_change_the_model(case, expected, table):
    if "categorical_features" in case.params and table in NUMBERS_ONLY:
        pytest.skip("arrays of other libraries hold numbers only")
    X, y, weight = case.table()
    assert case.fit(TABLES[table](X), y, weight).to_bytes() == expected


@pytest.mark.parametrize("case", READ, indirect=True)
@pytest.mark.parametrize("frame", FRAMES)
def test_a_data_frame_adds_nothing_but_names(case, expected, frame):
    X, y, weight = case.table()
    model = case.fit(FRAMES[frame]({f"c{at}": X[:, at] for at in range(6)}), y, weight)
    assert model.feature_names_in_.tolist() == ["c0", "c1", "c2", "c3", "c4", "c5"]
    assert without_names(model.to_bytes()) == without_names(expected)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_targets_and_weights_may_be_arrays_of_any_library(library):
    xp = pytest.importorskip(library)
    for case in (CASES["weights"], CASES["outputs-weights"]):
        X, y, weight = case.table()
        expected = case.fit(X, y, weight).to_bytes()
        assert case.fit(X, xp.asarray(y), xp.asarray(weight)).to_bytes() == expected


# What is part of the model and what is not


def test_the_bytes_do_not_tell_where_the_model_was_computed():
    model = CASES["gini"].fit(device="cpu", histogram_budget=10**6)
    assert b"histogram_budget" not in model.to_bytes()
    assert b"device" not in model.to_bytes()


def test_other_data_give_other_bytes():
    case = CASES["gini"]
    X, y, _ = case.table()
    y[0] = 2 - y[0]
    assert case.fit(X, y).to_bytes() != case.fit().to_bytes()


def test_another_seed_gives_another_tree_where_features_are_drawn():
    drawn = [Case(params={"max_features": 1, "random_state": s}).fit() for s in range(4)]
    assert len({model.to_bytes() for model in drawn}) == 4
    fixed = [Case(params={"random_state": s}).fit() for s in range(4)]
    assert len({model.to_bytes() for model in fixed}) == 1


# Tables nobody would make by hand

odd_number = st.sampled_from(
    [
        *(0.0, -0.0, 1.0, 1.5, -2.0, np.nextafter(1.0, 2.0), 1 + 2**-20, np.nan, np.inf, -np.inf),
        *(1e300, -1e300, 3.4e38, 3.5e38, np.finfo(float).max),
        *(1e-300, 5e-324, -5e-324, 1e-45, 1e-40),
    ]
)
cell = odd_number | st.floats(width=64) | st.integers(-3, 3).map(float)
weight_cell = st.sampled_from([0.0, 1.0, 2.0, 0.5, 1 / 3, 1e-9, 1e12, 5e-324, 1e300])
target_cell = st.sampled_from([0.0, -1.0, 2.5, 1e-200, 1e149, -1e149]) | st.floats(-1e6, 1e6)


@st.composite
def problems(draw):
    """An estimator with parameters, a table, a target and perhaps weights."""
    n_rows, n_features = draw(st.integers(1, 24)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(np.float64, (n_rows, n_features), elements=cell))
    if draw(st.booleans()):
        X = X[draw(hnp.arrays(np.int64, n_rows, elements=st.integers(0, n_rows - 1)))]
    params = {
        "max_depth": draw(st.sampled_from([None, 1, 3])),
        "max_bins": draw(st.sampled_from([2, 3, 255, 300])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2])),
        "max_features": draw(st.sampled_from([None, 1])),
        "max_leaf_nodes": draw(st.sampled_from([None, 4])),
        "random_state": draw(st.integers(0, 3)),
    }
    weight = draw(st.none() | hnp.arrays(np.float64, n_rows, elements=weight_cell))
    if draw(st.booleans()):
        params["criterion"] = draw(st.sampled_from(["gini", "entropy", "error"]))
        y = draw(hnp.arrays(np.int64, n_rows, elements=st.integers(0, 2)))
        return DecisionTreeClassifier(**params), X, y, weight
    y = draw(hnp.arrays(np.float64, (n_rows, draw(st.integers(1, 2))), elements=target_cell))
    return DecisionTreeRegressor(**params), X, y, weight


def outcome(model, X, y, weight, **where):
    """The bytes of the model and the leaf of each row, or the error."""
    model = type(model)(**{**model.get_params(), **where})
    try:
        model.fit(X, y, weight)
    except ValueError as error:
        return str(error)
    return model.to_bytes(), model.apply(X).tolist()


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=examples(60), deadline=None)
@given(problem=problems())
def test_odd_tables_give_one_result_on_every_array_library(backend, problem):
    pytest.importorskip(backend)
    expected = outcome(*problem)
    assert outcome(*problem, backend=backend, histogram_budget=1) == expected


@settings(max_examples=examples(60), deadline=None)
@given(problems(), st.integers(0, 9))
def test_odd_tables_give_one_result_for_any_order_of_rows_and_budget(problem, seed):
    model, X, y, weight = problem
    expected = outcome(*problem)
    assert outcome(*problem, histogram_budget=1) == expected
    assert outcome(*problem, histogram_budget=4_000) == expected
    order = np.random.default_rng(seed).permutation(len(X))
    shuffled = outcome(model, X[order], y[order], None if weight is None else weight[order])
    if isinstance(expected, str):
        assert shuffled == expected
    else:
        assert shuffled[0] == expected[0]


@settings(max_examples=examples(60), deadline=None)
@given(problems())
def test_every_training_row_of_an_odd_table_is_in_a_leaf_that_counts_it(problem):
    model, X, y, weight = problem
    weight = np.ones(len(X)) if weight is None else weight
    known_weight = weight[weight > 0]
    assume(known_weight.size and known_weight.max() / 2**40 < known_weight.min())
    assume(not isinstance(outcome(model, X, y, weight), str))
    model.fit(X, y, weight)
    leaf = model.apply(X)
    is_leaf = model.tree_.is_leaf
    assert is_leaf[leaf].all()
    n_rows = np.bincount(leaf, weight > 0, minlength=len(is_leaf))
    np.testing.assert_array_equal(n_rows[is_leaf], model.tree_.n_rows[is_leaf])
