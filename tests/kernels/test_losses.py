"""Gradients and hessians are the derivatives of what the losses are said to be."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_pinball_loss

from gputree.boosting import losses
from gputree.formulas import LOSSES

RNG = np.random.default_rng(0)
RAW = RNG.normal(size=200) * 2.0
STEP = 1e-5


def derivatives(mean, y, raw):
    """Gradients and hessians of a mean loss by differences, one row at a time."""
    one = np.ones(1)

    def at(i, shift):
        return mean(y[i : i + 1], one, raw[None, i : i + 1] + shift)

    points = [[at(i, shift) for shift in (-STEP, 0.0, STEP)] for i in range(len(y))]
    below, here, above = np.array(points).T
    return (above - below) / (2.0 * STEP), (above - 2.0 * here + below) / STEP**2


@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "huber", "quantile"])
def test_losses_of_residuals_have_their_gradients(name):
    y = RNG.normal(size=200)
    named = losses.for_numbers(name, y, np.ones(200), 0.7)
    gradient, _ = named.loss.formulas(LOSSES).gradient_hessian(y, RAW, named.loss.constant)
    assert gradient == pytest.approx(derivatives(named.mean, y, RAW)[0], abs=1e-4)


@pytest.mark.parametrize(
    ("named", "y"),
    [
        (losses.for_numbers("poisson", np.ones(1), np.ones(1), 0.5), RNG.poisson(2.0, 200)),
        (losses.for_numbers("gamma", np.ones(1), np.ones(1), 0.5), RNG.gamma(2.0, 0.02, 200)),
        (
            losses.for_numbers("tweedie", np.ones(1), np.ones(1), 0.5, power=1.3),
            RNG.gamma(2.0, 0.5, 200) * RNG.integers(0, 2, 200),
        ),
        (losses.for_classes(2), RNG.integers(0, 2, 200)),
        (losses.for_classes(2, "exponential"), RNG.integers(0, 2, 200)),
    ],
    ids=["poisson", "gamma", "tweedie", "logistic", "exponential"],
)
def test_curved_losses_have_their_gradients_and_hessians(named, y):
    y = y.astype(np.float64)
    gradient_hessian = named.loss.formulas(LOSSES).gradient_hessian
    gradient, hessian = gradient_hessian(y, RAW, named.loss.constant)
    expected = derivatives(named.mean, y, RAW)
    assert gradient == pytest.approx(expected[0], abs=1e-6)
    assert hessian == pytest.approx(expected[1], abs=2e-3)
    far = np.full(200, -2000.0)
    assert np.isfinite(gradient_hessian(y, far, named.loss.constant)).all()


def test_softmax_has_its_gradients_and_hessians():
    raw, y = RNG.normal(size=(3, 50)), RNG.integers(0, 3, 50).astype(np.float64)
    share = losses.shares(raw)
    most = LOSSES.highest(raw, 3)
    total = LOSSES.volume(raw, most, 3)
    gradient_hessian = losses.for_classes(3).loss.formulas(LOSSES).gradient_hessian
    for output in range(3):
        gradient, hessian = gradient_hessian(y, raw[output], most, total, float(output))
        assert gradient == pytest.approx(share[:, output] - (y == output))
        assert hessian == pytest.approx(share[:, output] * (1.0 - share[:, output]))


def test_means_are_those_of_scikit_learn():
    y, weight = RNG.integers(0, 3, 200), RNG.random(200)
    raw = RNG.normal(size=(3, 200))
    named = losses.for_classes(3)
    expected = log_loss(y, losses.shares(raw), sample_weight=weight)
    assert named.mean(y.astype(float), weight, raw) == pytest.approx(expected)
    numbers = RNG.normal(size=200)
    named = losses.for_numbers("quantile", numbers, weight, 0.3)
    expected = mean_pinball_loss(numbers, raw[0], sample_weight=weight, alpha=0.3)
    assert named.mean(numbers, weight, raw[:1]) == pytest.approx(expected)


def test_models_start_at_the_best_constant():
    y, weight = RNG.integers(0, 2, 400).astype(np.float64), RNG.random(400)
    for named, target in (
        (losses.for_classes(2), y),
        (losses.for_classes(2, "exponential"), y),
        (losses.for_numbers("poisson", y, weight, 0.5), y),
        (losses.for_numbers("squared_error", RAW, weight[:200], 0.5), RAW),
        (losses.for_numbers("absolute_error", RAW, weight[:200], 0.5), RAW),
    ):
        own = weight[: len(target)]
        start = named.start(target, own)[0]
        here, *others = (
            named.mean(target, own, np.full((1, len(target)), start + shift))
            for shift in (0.0, -0.01, 0.01)
        )
        assert here <= min(others)


def test_a_single_class_starts_at_finite_odds():
    assert np.isfinite(losses.for_classes(2).start(np.zeros(5), np.ones(5))).all()
    assert np.isfinite(losses.for_classes(3).start(np.zeros(5), np.ones(5))).all()


def test_a_mean_does_not_depend_on_the_order():
    values, weight = RNG.normal(size=1000) * 1e6, RNG.random(1000)
    order = RNG.permutation(1000)
    assert losses.average(values, weight) == losses.average(values[order], weight[order])
    assert losses.average(values, weight) == pytest.approx(np.average(values, weights=weight))
