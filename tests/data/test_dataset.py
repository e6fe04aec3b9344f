"""A Dataset is cut and coded once, and models fitted on it are those fitted on its table."""

import numpy as np
import pandas as pd
import pytest

from gputree import Dataset, DecisionTreeClassifier, DecisionTreeRegressor
from gputree.backends.registry import choose
from gputree.data.table import Kind
from gputree.data.weights import read_weights

NAN = np.nan


def example(n_rows=80, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.1] = NAN
    y = rng.integers(0, 3, n_rows)
    return X, y, rng.random(n_rows) * (rng.random(n_rows) < 0.8)


# Weights.


def test_no_weights_are_none():
    assert read_weights(None, 3) is None


@pytest.mark.parametrize(
    "given",
    [
        [1, 2, 0],
        (1.0, 2.0, 0.0),
        np.array([1, 2, 0], np.uint8),
        np.array([1, 2, 0], np.float32),
        np.array([1, 2, 0], object),
        pd.Series([1.0, 2.0, 0.0], index=[7, 8, 9]),
    ],
    ids=["list", "tuple", "uint8", "float32", "object", "series"],
)
def test_weights_may_be_any_vector_of_numbers(given):
    weight = read_weights(given, 3)
    assert weight.dtype == np.float64
    assert weight.tolist() == [1.0, 2.0, 0.0]


def test_truth_values_choose_rows():
    assert read_weights([True, False], 2).tolist() == [1.0, 0.0]


def test_a_single_number_is_the_weight_of_every_row():
    assert read_weights(2.5, 3).tolist() == [2.5, 2.5, 2.5]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a", "b", "c"], "sample_weight has dtype <U1; pass numbers"),
        ([None, {}, 1], "sample_weight has dtype object; pass numbers"),
        ([1.0, 2.0], r"sample_weight.shape == \(2,\), expected \(3,\): one weight per row"),
        ([[1.0], [2.0], [3.0]], r"sample_weight.shape == \(3, 1\)"),
        ([1.0, NAN, NAN], r"sample_weight\[1\] is NaN or infinite; weights are finite"),
        ([1.0, 2.0, np.inf], r"sample_weight\[2\] is NaN or infinite"),
        ([1.0, 0.0, -1e-9], r"sample_weight\[2\] is negative"),
        ([0.0, 0.0, 0.0], "sample_weight is zero everywhere"),
        (0.0, "sample_weight is zero everywhere"),
        ([1e308, 1e308, 1.0], "the sum of sample_weight overflows; divide"),
    ],
)
def test_bad_weights_are_refused_with_the_cure(given, message):
    with pytest.raises(ValueError, match=message):
        read_weights(given, 3)


@pytest.mark.parametrize(
    "given", [np.array([1j, 1.0]), np.array(["2020", "2021"], "M8[Y]")], ids=["complex", "dates"]
)
def test_weights_that_are_no_real_numbers_are_refused(given):
    with pytest.raises(ValueError, match=r"sample_weight has dtype .*; pass numbers"):
        read_weights(given, 2)


# The set itself.


def test_a_dataset_tells_what_it_holds():
    X = np.array([[1.0, 5.0], [2.0, NAN], [3.0, 5.0]])
    data = Dataset(X, [0, 1, 0], backend="numpy")
    assert repr(data) == "Dataset(3 rows, 2 features, 5 bins, backend='numpy')"
    assert (data.n_rows, data.n_features) == (3, 2)
    assert data.schema.names == ("x0", "x1")
    assert {"hold", "refine", "encode"} <= set(data.seconds)


def test_a_dataset_computes_where_it_was_asked_to():
    assert Dataset([[1.0], [2.0]]).reason == choose(n_cells=2).reason
    data = Dataset([[1.0], [2.0]], backend="array_api_strict")
    assert data.backend.name == "array_api_strict"
    assert data.reason == "backend='array_api_strict' was requested"


def test_a_nominal_column_has_a_code_a_category():
    frame = pd.DataFrame({"size": [1.0, 2.0], "colour": pd.Categorical(["red", None])})
    data = Dataset(frame.astype({"colour": pd.CategoricalDtype(["red", "blue", "green"])}))
    colour = data.bins.features[1]
    assert colour.kind is Kind.NOMINAL
    assert colour.categories == ("red", "blue", "green")
    assert (colour.n_values, colour.n_codes) == (3, 4)


def test_an_ordered_category_is_welcome():
    categories = pd.Categorical(["M", "S", "L"], categories=["S", "M", "L"], ordered=True)
    data = Dataset(pd.DataFrame({"size": categories}))
    assert data.bins.features[0].categories == ("S", "M", "L")


@pytest.mark.parametrize("max_bins", [2.5, "64", None])
def test_a_number_of_bins_that_is_not_whole_is_refused(max_bins):
    with pytest.raises((ValueError, TypeError), match=f"max_bins={max_bins!r}"):
        Dataset([[1.0], [2.0], [3.0], [4.0]], max_bins=max_bins)


# Models.


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("estimator", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_a_model_fitted_on_a_dataset_is_the_one_fitted_on_its_table(estimator, is_weighted):
    X, y, weight = example()
    weight = weight if is_weighted else None
    direct = estimator(max_bins=16, max_depth=4).fit(X, y, weight)
    reused = estimator(max_depth=4).fit(Dataset(X, y, sample_weight=weight, max_bins=16))
    assert reused.to_bytes() == direct.to_bytes()
    assert direct.get_n_leaves() > 4


def test_a_dataset_fits_many_models():
    X, y, weight = example()
    data = Dataset(X, sample_weight=weight)
    for depth in (1, 2, 3, 2):
        found = DecisionTreeClassifier(max_depth=depth).fit(data, y)
        direct = DecisionTreeClassifier(max_depth=depth).fit(X, y, weight)
        assert found.to_bytes() == direct.to_bytes()


def test_a_target_given_to_fit_takes_the_place_of_the_dataset_s():
    X, y, _ = example()
    data = Dataset(X, y)
    found = DecisionTreeClassifier(max_depth=2).fit(data, 2 - y)
    assert found.to_bytes() == DecisionTreeClassifier(max_depth=2).fit(X, 2 - y).to_bytes()


def test_weights_given_to_fit_take_the_place_of_the_dataset_s():
    X, y, weight = example()
    X = np.nan_to_num(X)
    data = Dataset(X, y, sample_weight=np.ones(len(y)))
    found = DecisionTreeClassifier(max_depth=2).fit(data, sample_weight=weight)
    direct = DecisionTreeClassifier(max_depth=2).fit(X, y, weight)
    assert found.to_bytes() == direct.to_bytes()


def test_a_missing_value_stays_missing_when_its_row_is_given_a_weight_later():
    X, y = np.array([[NAN], [1.0], [2.0], [3.0]]), np.array([1, 0, 0, 0])
    data = Dataset(X, y, sample_weight=[0, 1, 1, 1])
    found = DecisionTreeClassifier().fit(data, sample_weight=[1, 1, 1, 1])
    assert found.predict(X).tolist() == [1, 0, 0, 0]
