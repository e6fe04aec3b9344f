"""Boosted models at the ends of arithmetic: right, finite, and the same on every backend."""

import numpy as np
import pytest

from gputree import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor
from gputree.kernels.losses import LARGEST_LOG_STEP
from tests.boosting.cases import reloaded

BACKENDS = ["numpy", "numba", "array_api_strict"]
CPU = BACKENDS[:2]


def table(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)).round(1)
    return X, X[:, 0] + rng.normal(size=n_rows)


def one_model(kind, X, y, weight=None, backends=BACKENDS, **parameters):
    """The model of every backend, which has to be one, finite, and worth a file."""
    models = [kind(backend=backend, **parameters).fit(X, y, weight) for backend in backends]
    assert {model.to_bytes() for model in models} == {models[0].to_bytes()}
    return reloaded(models[0])


# Vanishing hessians.


def test_two_rows_without_a_ridge_have_finite_log_odds():
    model = one_model(
        GradientBoostingClassifier,
        [[0.0], [1.0]],
        [0, 1],
        n_estimators=4,
        l2_regularization=0.0,
        learning_rate=0.5,
        subsample=0.6,
        random_state=2,
    )
    assert np.isfinite(model.decision_function([[0.0], [1.0]])).all()


def test_leaves_without_a_hessian_add_nothing():
    """Log-odds end where a float64 cannot tell the probability from 0 or 1."""
    X, y = np.array([[0.0], [1.0]] * 4), np.array([0, 1] * 4)
    model = one_model(
        GradientBoostingClassifier,
        X,
        y,
        backends=CPU,
        n_estimators=80,
        l2_regularization=0.0,
        min_child_weight=0.0,
        learning_rate=1.0,
    )
    log_odds = model.decision_function(X[:2])
    assert log_odds[0] < -30
    assert 30 < log_odds[1] < 40
    assert model.predict(X[:2]).tolist() == [0, 1]
    last = model.estimators_[-1].nodes_
    assert last.value[last.is_leaf].max() == 0.0  # the second class has no hessian any more


def test_a_leaf_goes_no_further_than_shares_tell_apart():
    """Start at odds of 1 to 199, and a leaf of that one: a gradient of nearly 1, little hessian."""
    y = (np.arange(200) == 0).astype(int)
    X = y[:, None].astype(float)
    model = one_model(
        GradientBoostingClassifier,
        X,
        y,
        backends=CPU,
        n_estimators=1,
        learning_rate=1.0,
        l2_regularization=0.0,
        min_child_weight=0.0,
    )
    p = 1 / 200
    assert (1 - p) / (p * (1 - p)) > LARGEST_LOG_STEP
    assert model.estimators_[0].nodes_.value.max() == LARGEST_LOG_STEP


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_steps_that_go_too_far_stay_finite(loss):
    X, y = table()
    model = one_model(
        GradientBoostingRegressor,
        X,
        np.abs(y),
        backends=CPU,
        loss=loss,
        n_estimators=300,
        learning_rate=10.0,
        l2_regularization=0.0,
        min_child_weight=0.0,
        max_depth=1,
    )
    assert np.isfinite(model.predict(X)).all()


def test_a_round_that_draws_no_row_sees_all():
    model = GradientBoostingRegressor(5, subsample=1e-9, min_child_weight=0.0)
    whole = GradientBoostingRegressor(5, min_child_weight=0.0)
    X, y = table(10)
    assert model.fit(X, y).predict(X).tolist() == whole.fit(X, y).predict(X).tolist()


# Weights.


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-1074, 2.0**960])
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_weights_near_the_ends_of_float64(kind, scale):
    """Without a ridge nothing but the shares of the weights counts."""
    X, y = table()
    y = y > 0 if kind is GradientBoostingClassifier else y
    weight = np.random.default_rng(1).integers(1, 5, len(X)) * 1.0
    options = {"n_estimators": 3, "l2_regularization": 0.0, "min_child_weight": 0.0}
    model = one_model(kind, X, y, weight * scale, **options)
    plain = kind(**options).fit(X, y, weight)
    assert model.predict(X).tolist() == plain.predict(X).tolist()


@pytest.mark.parametrize("backend", ["numpy", "numba", "array_api_strict", "cuda"])
def test_one_weighted_row(backend):
    model = GradientBoostingRegressor(2, backend=backend).fit([[1.0]], [3.0], [2.5])
    assert model.predict([[7.0]]).tolist() == [3.0]


@pytest.mark.parametrize("backend", ["numpy", "numba", "array_api_strict", "cuda"])
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], r"sample_weight\[1\] is negative"),
        ([np.nan, 1.0], r"sample_weight\[0\] is NaN or infinite"),
        ([1.0, np.inf], r"sample_weight\[1\] is NaN or infinite"),
        ([0.0, -0.0], "sample_weight is zero everywhere"),
        ([1e308, 1e308], "the sum of sample_weight overflows"),
    ],
)
def test_bad_weights_are_told_alike_everywhere(backend, weight, message):
    with pytest.raises(ValueError, match=message):
        GradientBoostingClassifier(1, backend=backend).fit([[0.0], [1.0]], [0, 1], weight)


def test_weights_of_classes_that_overflow_are_told():
    with pytest.raises(ValueError, match="the product of sample_weight and class_weight"):
        GradientBoostingClassifier(1, class_weight={0: 1e200, 1: 1.0}).fit(
            [[0.0], [1.0]], [0, 1], [1e200, 1.0]
        )


def test_rows_that_weigh_nothing_beside_the_others_are_left_out():
    X, y = table()
    weight = np.ones(len(X))
    weight[::2] = 1e-30
    options = {"n_estimators": 3, "subsample": 0.7, "random_state": 1, "min_child_weight": 0.0}
    light = GradientBoostingRegressor(**options).fit(X, y, weight)
    weight[::2] = 0.0
    assert light.to_bytes() == GradientBoostingRegressor(**options).fit(X, y, weight).to_bytes()


def test_importances_of_huge_weights_and_targets_are_shares():
    X, y = table()
    model = GradientBoostingRegressor(3).fit(X, y * 1e149, np.full(len(X), 1e300))
    plain = GradientBoostingRegressor(3, l2_regularization=0.0).fit(X, y, np.full(len(X), 64.0))
    np.testing.assert_allclose(model.feature_importances_, plain.feature_importances_, rtol=1e-6)


# Parameters and targets that leave nothing to split.


def test_more_child_weight_than_there_is():
    X, y = table()
    for kind, target in [(GradientBoostingClassifier, y > 0), (GradientBoostingRegressor, y)]:
        model = one_model(kind, X, target, n_estimators=2, min_child_weight=1e30)
        assert all(tree.tree_.n_nodes == 1 for tree in model.estimators_)


def test_one_class():
    X, _ = table()
    model = one_model(GradientBoostingClassifier, X, ["only"] * len(X), n_estimators=2)
    assert set(model.predict(X)) == {"only"}
    assert (model.predict_proba(X) == 1.0).all()


def test_classes_of_one_row_each():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 40
    options = {"n_estimators": 2, "l2_regularization": 0.0, "min_child_weight": 0.0}
    model = one_model(GradientBoostingClassifier, X, y, backends=CPU, **options)
    assert model.score(X, y) > 0.9


def test_counts_of_0_wherever_there_is_weight():
    model = GradientBoostingRegressor(2, loss="poisson")
    X = [[0.0], [1.0], [2.0]]
    assert (model.fit(X, [0, 0, 5], [1.0, 1.0, 0.0]).predict(X) < 1e-15).all()


@pytest.mark.parametrize("scale", [1e-300, 1e150])
def test_targets_near_the_ends(scale):
    X, y = table()
    y = y / np.abs(y).max()
    options = {"n_estimators": 3, "min_child_weight": 1.0}
    model = one_model(GradientBoostingRegressor, X, y * scale, **options)
    plain = GradientBoostingRegressor(**options).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / scale, plain.predict(X), atol=1e-6)


# The order of rows.


def test_rows_of_nearly_equal_weights_may_come_in_any_order():
    """Weights that are one integer beside the largest, and differ all the same."""
    rng = np.random.default_rng(0)
    X, y = np.zeros((60, 1)), np.zeros(60)
    y[40:], X[40:, 0] = 1.0, 1.0
    weight = np.concatenate([rng.uniform(1.0, 2.0, 59) * 1e-13, [1.0]])
    options = {"n_estimators": 5, "early_stopping": True, "random_state": 0}
    models = set()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(60)
        model = GradientBoostingRegressor(l2_regularization=0.0, min_child_weight=0.0, **options)
        models.add(model.fit(X[order], y[order], weight[order]).to_bytes())
    assert len(models) == 1


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "squared_error"])
def test_zeros_of_both_signs_are_one_target(loss):
    X, y = [[0.0], [1.0], [2.0], [3.0]], np.array([0.0, -0.0, -0.0, 0.0])
    model = GradientBoostingRegressor(2, loss=loss)
    assert len({model.fit(X, own).to_bytes() for own in (y, y[::-1], -y)}) == 1


def test_forests_that_keep_targets_have_one_zero():
    X, y = [[0.0], [1.0], [2.0], [3.0]], np.array([0.0, -0.0, -0.0, 0.0])
    forest = RandomForestRegressor(2, keep_targets=True, random_state=0)
    assert len({forest.fit(X, own).to_bytes() for own in (y, -y)}) == 1


def test_zeros_of_both_signs_are_one_label():
    X = [[0.0], [1.0], [2.0]]
    for y in ([0.0, -0.0, 1.0], [-0.0, 0.0, 1.0]):
        model = GradientBoostingClassifier(1).fit(X, y)
        assert not np.signbit(model.classes_).any()


# Rows listed by compiled loops.


def test_each_round_reads_the_codes_of_its_own_rows():
    """Rows are counted, drawn anew in each round, and searched leaf by leaf."""
    X, y = table(200)
    options = {"n_estimators": 5, "subsample": 0.5, "max_leaf_nodes": 4, "min_samples_leaf": 2}
    model = one_model(
        GradientBoostingClassifier, X, y > 0, max_depth=None, random_state=0, **options
    )
    assert model.score(X, y > 0) > 0.7


# Losses of one's own.


@pytest.mark.parametrize(
    ("gradient", "hessian", "message"),
    [
        (np.nan, 1.0, "loss bad returned a gradient that is not finite"),
        (1.0, np.inf, "loss bad returned a hessian that is not finite"),
        (1.0, -1.0, "loss bad returned a hessian below 0"),
        (1e200, 1.0, "loss bad returned a gradient beyond 1e\\+150"),
        (1.0, 0.0, "loss bad returned a hessian of 0 for every row"),
    ],
)
def test_a_bad_loss_is_told_by_its_name(gradient, hessian, message):
    def bad(y, raw):
        return np.full_like(raw, gradient), np.full_like(raw, hessian)

    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(1, loss=bad, l2_regularization=0.0).fit([[0.0], [1.0]], [0, 1])


def test_a_loss_whose_hessians_vanish_for_some_rows():
    def hinge(y, raw):
        sign = 2 * y - 1
        return np.where(sign * raw < 1, -sign, 0.0), (raw == 0).astype(float)

    X, y = table()
    options = {"n_estimators": 6, "l2_regularization": 0.0, "min_child_weight": 0.0}
    with_ridge = {**options, "l2_regularization": 1.0}
    with pytest.raises(ValueError, match="loss hinge returned a hessian of 0 for every row"):
        GradientBoostingClassifier(loss=hinge, **options).fit(X, y > 0)
    model = GradientBoostingClassifier(loss=hinge, **with_ridge).fit(X, y > 0)
    assert np.isfinite(model.decision_function(X)).all()
