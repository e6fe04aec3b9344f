"""The core of the contract is enough: every estimator works on it, and gives the same model."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gputree
from gputree.backends import registry
from gputree.backends.contract import Backend, Core
from gputree.data.cuts import bin_table
from gputree.data.inputs import read_table
from gputree.data.target import Target, value_target
from tests.corpus import digests, models
from tests.minimal_backend import MinimalBackend


@pytest.fixture(autouse=True)
def added(monkeypatch):
    """The backend is known by its name, as one of another library would be."""
    monkeypatch.setattr(registry, "_added", {})
    registry.add("minimal", lambda device, n_threads: MinimalBackend())


def verbs(protocol):
    return {name for name, found in vars(protocol).items() if callable(found) and name[0] != "_"}


def test_the_core_is_small():
    assert Core.__abstractmethods__ == verbs(Core)
    assert len(verbs(Core)) <= 13 < len(verbs(Backend))


def test_it_writes_the_core_and_nothing_else():
    assert verbs(MinimalBackend) == verbs(Core)


def test_a_backend_that_lacks_a_verb_of_the_core_cannot_be_made(monkeypatch):
    lacking = type("Lacking", (MinimalBackend,), {"tally": Core.tally})
    with pytest.raises(TypeError, match="tally"):
        lacking()


@pytest.mark.parametrize("name", sorted(digests.cases()))
def test_every_estimator_gives_the_same_model_on_it(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, expected = (digests.fitted(name, where) for where in ("minimal", "numpy"))
        assert digests.digest(model) == digests.digest(expected)
        X = models.table(30, 2, has_missing=name != "id3")[list(model.feature_names_in_)]
        assert_array_equal(model.predict(X), expected.predict(X))


def test_tables_of_many_values_are_binned_alike():
    rng = np.random.default_rng(0)
    X = np.stack(
        [rng.normal(size=40_000), rng.integers(0, 9, 40_000), rng.exponential(1e-9, 40_000)]
    )
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, 40_000)
    own, expected = (
        gputree.DecisionTreeClassifier(max_depth=3, max_bins=64, backend=name).fit(X.T, y)
        for name in ("minimal", "numpy")
    )
    assert own.to_bytes() == expected.to_bytes()


def test_shapley_values_are_the_same():
    model = digests.fitted("forest", "numpy")
    X = models.table(20, 3)
    expected = model.shap_values(X)
    assert_array_equal(model.set_params(backend="minimal").shap_values(X), expected)


def test_names_of_our_own_backends_are_taken():
    with pytest.raises(ValueError, match="another name"):
        registry.add("numba", lambda device, n_threads: MinimalBackend())


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(ValueError, match="array_api_strict, minimal"):
        gputree.DecisionTreeClassifier(backend="maximal").fit([[0.0], [1.0]], [0, 1])


# Sums of parts.


@pytest.mark.parametrize("name", ["numpy", "numba", "array_api_strict", "cuda", "minimal"])
@pytest.mark.parametrize("n_rows", [60, 3000])
def test_sums_of_parts_of_the_rows_add_up(name, n_rows):
    """Both where nodes have histograms, and where they are so small that rows are listed."""
    if name == "cuda" and n_rows > 100:
        pytest.skip("the simulator is slow")
    rng = np.random.default_rng(1)
    X = rng.integers(0, 20, (n_rows, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    target = value_target(rng.normal(size=(n_rows, 1)), rng.integers(0, 4, n_rows).astype(float))
    backend = registry.choose(backend=name).backend
    bins, data = bin_table(backend, read_table(X), None, 255)
    part = rng.random(n_rows) < 0.3
    parts = [
        sums_of(backend, backend.take_rows(data, np.flatnonzero(rows)), bins, some(target, rows))
        for rows in (part, ~part)
    ]
    whole = sums_of(backend, data, bins, target)
    assert_array_equal((parts[0] + parts[1]).array, whole.array)
    assert_array_equal(whole.array[0, :, : bins.n_codes[0]].sum(axis=1), target.totals)


def sums_of(backend, data, bins, target):
    rows = backend.begin(data, bins, target)
    return backend.dense(backend.tally(rows, np.zeros(1, np.int64)))


def some(target, rows):
    """A part of the rows, in the units of all."""
    return Target(
        target.channels, target.weight[rows], None, target.point[:, rows], target.value[:, rows]
    )
