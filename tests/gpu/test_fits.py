"""A tree grown by CUDA kernels is NumPy's tree, byte for byte, whatever the sizes of blocks."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import gputree
from gputree.backends import registry
from gputree.backends.cuda import binning as cuda_binning
from gputree.backends.cuda import predict as cuda_predict
from gputree.backends.cuda import rows as cuda_rows
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import NumbaDevice
from gputree.backends.cuda.plan import AUTOMATIC
from gputree.backends.defaults import Defaults
from gputree.data.inputs import read_table
from gputree.data.target import class_target, value_target
from gputree.kernels import losses
from gputree.kernels.criteria import ENTROPY, ERROR, GINI, POISSON, TWOING
from gputree.kernels.cuda import histogram
from gputree.kernels.cuda.gpu import SIMULATED, WARP
from gputree.tree.stack import Stack
from gputree.tree.tree import Tree

N_ROWS = 60 if SIMULATED else 1500


def targets(label, values, weight):
    """Every kind of target."""
    n_classes = int(label.max()) + 1
    return {
        "classes": class_target(label, n_classes, None),
        "weighted classes": class_target(label, n_classes, weight),
        "numbers": value_target(values[:, :1], None),
        "two outputs": value_target(values, None),
        "weighted numbers": value_target(values[:, :1], weight),
    }


KINDS = ["classes", "weighted classes", "numbers", "two outputs", "weighted numbers"]


@pytest.mark.quick("weighted classes", "two outputs")
@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_is_that_of_numpy(on_device, on_numpy, example, kind):
    X, label, values, weight = example(N_ROWS)
    target = targets(label, values, weight)[kind]
    assert on_device(X, target, max_depth=3) == on_numpy(X, target, max_depth=3)


@pytest.mark.parametrize("criterion", [GINI, ENTROPY, ERROR, TWOING])
def test_seven_classes_by_every_formula(on_device, on_numpy, example, criterion):
    X, label, _, _ = example(N_ROWS, n_classes=7)
    target = class_target(label, 7, None)
    options = {"criterion": criterion, "max_depth": 2}
    assert on_device(X, target, **options) == on_numpy(X, target, **options)


def test_counts_by_their_deviance(on_device, on_numpy, example):
    X, label, values, _ = example(N_ROWS)
    counts = np.maximum(np.rint(values * 2), 0.0) + label[:, None]
    target = value_target(counts, None, is_counts=True)
    options = {"criterion": POISSON, "max_depth": 3}
    assert on_device(X, target, **options) == on_numpy(X, target, **options)


@pytest.mark.quick("weighted")
@pytest.mark.parametrize("kind", ["classes", "weighted numbers"])
def test_codes_of_sixteen_bits(on_device, on_numpy, kind):
    rng = np.random.default_rng(0)
    X = rng.permutation(320).astype(np.float64)[:, None]
    label = (X[:, 0] > 100).astype(np.int64) ^ (rng.random(320) < 0.1)
    weight = rng.integers(1, 4, 320) * 0.5
    target = targets(label, X.repeat(2, axis=1) % 7, weight)[kind]
    options = {"max_bins": 400, "max_depth": 2}
    assert on_device(X, target, **options) == on_numpy(X, target, **options)


def test_nodes_that_test_combinations_of_columns(example):
    X, label, _, weight = example(N_ROWS)
    tree = gputree.ObliqueTreeClassifier(max_depth=2, backend="cuda").fit(X, label, weight)
    host = gputree.ObliqueTreeClassifier(max_depth=2, backend="numpy").fit(X, label, weight)
    assert len(host.nodes_.directions)
    assert tree.to_bytes() == host.to_bytes()
    assert np.array_equal(tree.apply(X), host.apply(X))


def test_forests_whose_nodes_test_random_combinations(example):
    X, label, _, _ = example(N_ROWS)
    how = {"n_estimators": 1, "splits": "oblique", "max_depth": 2, "random_state": 0}
    how["max_projections"] = 2
    forest = gputree.RandomForestClassifier(**how, backend="cuda").fit(X, label)
    host = gputree.RandomForestClassifier(**how, backend="numpy").fit(X, label)
    assert any(len(tree.nodes_.directions) for tree in host.estimators_)
    assert forest.to_bytes() == host.to_bytes()
    assert np.array_equal(forest.predict_proba(X), host.predict_proba(X))
    with pytest.raises(ValueError, match="device='cpu'"):
        gputree.GradientBoostingClassifier(1, splits="oblique", backend="cuda").fit(X, label)


def test_features_drawn_at_every_node(on_device, on_numpy, example):
    X, label, _, _ = example(N_ROWS, n_features=5)
    target = class_target(label, 2, None)
    options = {"n_drawn": 2, "max_depth": 3}
    assert on_device(X, target, **options) == on_numpy(X, target, **options)


@pytest.mark.quick("3000")
@pytest.mark.parametrize("budget", [1, 3000])
def test_frontiers_in_several_batches(on_device, on_numpy, example, budget):
    X, label, _, _ = example(N_ROWS)
    target = class_target(label, 2, None)
    right = on_numpy(X, target, max_depth=3)
    assert on_device(X, target, max_depth=3, budget=budget) == right


def test_leaves_in_the_order_of_their_worth(on_device, on_numpy, example):
    X, label, _, _ = example(N_ROWS)
    target = class_target(label, 2, None)
    assert on_device(X, target, max_leaves=5) == on_numpy(X, target, max_leaves=5)


@pytest.mark.quick("weighted", "classes-sizes0")
@pytest.mark.parametrize(
    "sizes",
    [
        {"sum_threads": WARP, "tile_rows": 5, "direct_rows": 0},
        {"direct_rows": 10**9},  # every node is added to its histogram directly
        {"route_threads": WARP, "route_rows": WARP, "add_up_threads": 1},
        {"route_rows": 32 * WARP, "add_up_threads": 8, "threads": 3},
    ],
)
@pytest.mark.parametrize("kind", ["classes", "weighted numbers"])
def test_sizes_of_blocks_and_tiles_change_nothing(on_device, on_numpy, example, sizes, kind):
    X, label, values, weight = example(N_ROWS)
    target = targets(label, values, weight)[kind]
    other = replace(AUTOMATIC, **sizes)
    assert on_device(X, target, other, max_depth=2) == on_numpy(X, target, max_depth=2)


@pytest.mark.quick("weighted")
@pytest.mark.parametrize("shared_words", [60, 30, 12, 0])
@pytest.mark.parametrize("kind", ["classes", "weighted classes"])
def test_sums_too_wide_for_shared_memory(
    monkeypatch, on_device, on_numpy, example, shared_words, kind
):
    """Groups shrink to a word, to a feature, and to nothing: then all is added directly."""
    plan = partial(cuda_rows.plan_groups, shared_words=shared_words)
    monkeypatch.setattr(cuda_rows, "plan_groups", plan)
    X, label, values, weight = example(N_ROWS, n_features=6)
    X[:, 1] %= 2
    target = targets(label, values, weight)[kind]
    assert on_device(X, target, max_depth=2) == on_numpy(X, target, max_depth=2)


def test_codes_without_a_copy_by_columns(monkeypatch, on_device, on_numpy, example):
    """Too little memory for the copy: rows are routed by the codes that lie row by row."""
    monkeypatch.setattr(cuda_binning, "has_room_by_column", lambda *_: False)
    X, label, _, _ = example(N_ROWS, n_features=6)
    target = class_target(label, 2, None)
    assert on_device(X, target, max_depth=3) == on_numpy(X, target, max_depth=3)


def test_the_order_of_rows_changes_nothing(on_device, on_numpy, example):
    X, label, _, _ = example(N_ROWS)
    shuffled = np.random.default_rng(1).permutation(N_ROWS)
    found = on_device(X[shuffled], class_target(label[shuffled], 2, None), max_depth=3)
    assert found[:-1] == on_numpy(X, class_target(label, 2, None), max_depth=3)[:-1]


Classifier = gputree.DecisionTreeClassifier
CLASSIC = {
    "multiway": partial(Classifier, nominal="multiway"),
    "multiway, fractional": partial(Classifier, nominal="multiway", missing="fractional"),
    "subset": partial(Classifier, nominal="subset"),
    "subset, fractional": partial(Classifier, nominal="subset", missing="fractional"),
    "subset, surrogate": partial(Classifier, nominal="subset", missing="surrogate"),
    "subset, category": partial(Classifier, nominal="subset", missing="category"),
    "C4.5": gputree.C45Classifier,
    "CART": partial(gputree.CARTClassifier, pruning=None),
    "CART, twoing": partial(gputree.CARTClassifier, criterion="twoing", pruning=None),
    "CART, regression": partial(gputree.CARTRegressor, pruning=None),
}


@pytest.mark.quick("multiway, fractional", "subset, surrogate", "C4.5", "regression")
@pytest.mark.parametrize("kind", CLASSIC)
def test_classic_trees_are_those_of_numpy(weather, kind):
    """Many children, rows that stay, copies of rows, surrogates; then rows that nobody has seen."""
    table, target = weather(80 if SIMULATED else 300)
    unseen, _ = weather(60, seed=1)
    unseen["sky"] = unseen["sky"].cat.rename_categories({"e": "none has seen it"})
    found, right = (
        CLASSIC[kind](max_depth=2, backend=backend).fit(table, target)
        for backend in ("cuda", "numpy")
    )
    assert right.tree_.n_nodes > 5
    for name in Tree.DTYPES:
        assert getattr(found.nodes_, name).tobytes() == getattr(right.nodes_, name).tobytes(), name
    assert found.predict(unseen).tobytes() == right.predict(unseen).tobytes()


LOGISTIC = {"loss": losses.LOGISTIC}
BOOSTED = {
    "squared": {"loss": losses.SQUARED, "ridge": 0.5},
    "huber": {"loss": replace(losses.HUBER, constant=1.5), "weighs": True},
    "logistic": LOGISTIC,
    "logistic, some rows": {**LOGISTIC, "row_share": 0.6, "ridge": 1.0, "category_ridge": 2.0},
    "logistic, weights": {**LOGISTIC, "weighs": True},
    "logistic, weights, rows counted": {**LOGISTIC, "weighs": True, "min_rows_leaf": 5},
    "logistic, leaves by worth": {**LOGISTIC, "max_leaves": 4, "n_drawn": 2},
    "softmax": {"loss": losses.SOFTMAX, "n_outputs": 3},
    "softmax, some rows": {"loss": losses.SOFTMAX, "n_outputs": 3, "row_share": 0.6},
}


def boosting_case(weather, kind):
    """Numbers and categories, some of them missing; a target for the loss; weights, some 0."""
    n_rows = 60 if SIMULATED else 600
    options = dict(BOOSTED[kind])
    table, target = weather(n_rows)
    y = target.astype(np.float64)
    if options["loss"] is losses.LOGISTIC:
        y = (y > 2).astype(np.float64)
    elif options["loss"] is losses.SOFTMAX:
        y = np.minimum(y // 2, 2.0)
    if options.pop("weighs", False):
        options["weight"] = np.random.default_rng(1).integers(0, 4, n_rows) * 0.3
    return table, y, options.pop("loss"), options


@pytest.mark.quick("rows counted", "by worth")
@pytest.mark.parametrize("kind", BOOSTED)
def test_boosted_trees_are_those_of_numpy(boosted_on_device, boosted_on_numpy, weather, kind):
    table, y, loss, options = boosting_case(weather, kind)
    found, right = (
        boost(table, y, loss, 2, **options) for boost in (boosted_on_device, boosted_on_numpy)
    )
    assert found == right


@pytest.mark.quick("sizes1", "sizes3")
@pytest.mark.parametrize(
    "sizes",
    [
        {"gradient_threads": WARP, "gradient_blocks": 1},
        {"gradient_threads": 4 * WARP, "gradient_blocks": 100, "few_rows": 100},
        {"sum_threads": WARP, "tile_rows": 5, "few_rows": 0},
        {"route_threads": WARP, "route_rows": 2 * WARP},
    ],
)
def test_sizes_of_blocks_change_nothing_in_boosting(
    boosted_on_device, boosted_on_numpy, weather, sizes
):
    table, y, loss, options = boosting_case(weather, "logistic, some rows")
    tuning = replace(AUTOMATIC, **sizes)
    found = boosted_on_device(table, y, loss, 1, tuning=tuning, **options)
    assert found == boosted_on_numpy(table, y, loss, 1, **options)


def test_many_trees_are_walked_at_once(weather):
    """Each by its own categories."""
    table, target = weather(40)
    trees = [
        gputree.CARTClassifier(max_depth=depth, pruning=None, backend="numpy")
        .fit(table, target)
        .nodes_
        for depth in (1, 3)
    ]
    read = read_table(table)
    found = CudaBackend(NumbaDevice()).leaves_of(Stack.of(trees), read)
    numpy = registry.choose(backend="numpy").backend
    assert found.T.tolist() == [numpy.apply(tree, read).tolist() for tree in trees]


def test_rows_are_predicted_as_many_at_a_time_as_there_is_memory_for(weather, monkeypatch):
    table, target = weather(40)
    model = gputree.GradientBoostingRegressor(2, max_depth=2, backend="numpy").fit(table, target)
    expected, n_launches = model.predict(table), []
    monkeypatch.setattr(cuda_predict, "LEAST_ROWS", 1)
    monkeypatch.setattr(NumbaDevice, "free_bytes", lambda _: 2 * 16 * (8 + 8))  # of one column
    usual = NumbaDevice.launch
    monkeypatch.setattr(
        NumbaDevice, "launch", lambda *args, **more: n_launches.append(usual(*args, **more))
    )
    model.set_params(backend="cuda")
    assert model.predict(table).tobytes() == expected.tobytes()
    assert len(n_launches) == 3  # of 16, 16 and 8 rows
    monkeypatch.setattr(cuda_predict, "LEAST_ROWS", 17)
    with pytest.raises(MemoryError, match=r"17 rows need .* MiB are free"):
        model.predict(table)


def test_a_small_fit_needs_little_memory(monkeypatch):
    """What histograms may take where there is plenty is not what they need."""
    monkeypatch.setattr(NumbaDevice, "free_bytes", lambda _: 40_000_000)
    CudaBackend(NumbaDevice()).reserve(6, 6_000, 255)


def test_more_channels_than_shared_memory_holds_are_searched_on_the_host(
    on_device, on_numpy, monkeypatch
):
    n_classes, shared, usual = 3_100, [], NumbaDevice.launch

    def note(*args, **more):
        shared.append(more.get("shared", 0))
        usual(*args, **more)

    monkeypatch.setattr(NumbaDevice, "launch", note)
    X = np.arange(12, dtype=np.float32).reshape(-1, 1) % 4
    target = class_target(np.arange(12) * 280, n_classes, None)
    assert on_device(X, target, max_depth=2) == on_numpy(X, target, max_depth=2)
    assert max(shared) <= 4 * histogram.SHARED_WORDS


def test_categories_without_a_kernel_are_divided_by_compiled_code(weather, monkeypatch):
    """NumPy would take a hundred times as long."""
    monkeypatch.delattr(Defaults, "split_categories")
    table, target = weather(40)
    tree = gputree.CARTClassifier(max_depth=2, pruning=None, backend="cuda").fit(table, target)
    assert (tree.nodes_.category_start >= 0).any()


def test_too_little_memory_is_said_before_anything_is_allocated(monkeypatch):
    monkeypatch.setattr(NumbaDevice, "free_bytes", lambda _: 2**30)
    backend = CudaBackend(NumbaDevice())
    with pytest.raises(MemoryError, match=r"10,000,000 rows x 100 features need about .* GiB on"):
        backend.reserve(100, 10_000_000, 256)
    assert backend.room_for_hists() == 2**29
