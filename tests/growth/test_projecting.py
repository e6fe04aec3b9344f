"""Random combinations: which columns are drawn, how many, and their weights.

That compiled code draws the same, `tests/estimators/test_one_result.py` tells.
"""

import numpy as np
import pytest

from gputree.backends.projections import drawn_terms
from gputree.data.bins import Bins, FeatureBins
from gputree.data.table import Kind
from gputree.growth.directions import Sought
from gputree.growth.projecting import projections_of

KEYS = np.arange(4000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def plan(n_columns=6, density=3.0, most_terms=8, spread=1.0):
    """What nodes draw from columns whose spreads are given."""
    ends = np.broadcast_to(spread, n_columns)
    features = [
        FeatureBins("", Kind.NUMERIC, None, np.array([0.0, end]), np.array([0.5 * end, end]), False)
        for end in ends
    ]
    sought = Sought("sparse", most_terms, 4, density, 0.0)
    values = np.zeros((n_columns, 3))
    return projections_of(
        Bins(tuple(features)), np.arange(n_columns), values, sought, is_random=False
    )


def test_weights_are_powers_of_two_in_units_of_the_spread():
    own = plan(4, spread=np.array([1.0, 3.0, 1000.0, 1e-3]))
    assert own.power.tolist() == [1.0, 0.25, 2.0**-10, 2.0**10]
    column, weight = drawn_terms(own, KEYS)
    is_term = weight != 0.0
    assert (weight[:, 0] == 1.0).all()
    in_spreads = np.abs(weight) * own.power[column[:, :1]] / own.power[column]
    assert (in_spreads[is_term] == 1.0).all()


def test_columns_without_a_spread_are_not_drawn():
    assert plan(3, spread=np.array([1.0, 0.0, np.inf])).column.tolist() == [0]


@pytest.mark.parametrize(("density", "mean"), [(3.0, 3.0), (6.0, 6.0), (0.01, 2.0)])
def test_as_many_columns_are_drawn_as_the_density_says(density, mean):
    _, weight = drawn_terms(plan(40, density, 40), KEYS)
    n_terms = np.count_nonzero(weight, axis=1)
    assert n_terms.min() == 2
    assert n_terms.mean() == pytest.approx(mean, rel=0.1)
    assert np.count_nonzero(drawn_terms(plan(40, density, 3), KEYS)[1], axis=1).max() <= 3


def test_every_pair_of_columns_and_every_sign_is_as_likely():
    column, weight = drawn_terms(plan(5, 1e-9), KEYS)
    pairs = np.bincount(5 * column[:, 0] + column[:, 1], minlength=25).reshape(5, 5)
    drawn = pairs[np.triu_indices(5, 1)]
    assert drawn.sum() == len(KEYS)
    assert drawn.min() > 330
    assert drawn.max() < 470
    assert 0.45 < (weight[:, 1] > 0).mean() < 0.55
