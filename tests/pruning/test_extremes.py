"""Weights and targets near the limits of a float64: nothing hangs, and nothing overflows."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from gputree import C45Classifier, CARTRegressor, DecisionTreeClassifier, DecisionTreeRegressor
from gputree.pruning import CostComplexity
from gputree.pruning.errors import by_impurity
from gputree.pruning.weakest_link import weakest_links

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = X[:, 0] + 0.3 * RNG.normal(size=90)

MODELS = {
    "least error": CARTRegressor(pruning=CostComplexity(cv=3)),
    "one standard error": CARTRegressor(pruning=CostComplexity(cv=3, rule="one_se")),
    "reduced error": DecisionTreeRegressor(
        pruning="reduced_error", validation_fraction=0.3, random_state=0
    ),
    "pre": DecisionTreeRegressor(pruning="pre", validation_fraction=0.3, random_state=0),
}


def shape_of(name, target_exponent, weight_exponent):
    """The pruned tree's features, of targets and weights times powers of two."""
    model = MODELS[name].set_params(backend="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, weight = np.ldexp(Y, target_exponent), np.full(90, np.ldexp(1.0, weight_exponent))
        return model.fit(X, y, weight).nodes_.feature.tolist()


@pytest.mark.parametrize("name", MODELS)
def test_the_units_of_targets_and_weights_do_not_change_what_is_pruned(name):
    expected = shape_of(name, 0, 0)
    assert len(expected) > 1
    for exponents in [(60, 930), (330, 0), (250, 660), (0, -1_000), (-200, 1_000)]:
        if name != "one standard error" or exponents[1] == 0:  # more weight makes surer
            assert shape_of(name, *exponents) == expected


@pytest.mark.parametrize(("exponent", "expected"), [(1_000, "least error"), (-1_000, None)])
def test_a_standard_error_shrinks_with_the_weight_of_the_rows(exponent, expected):
    found = shape_of("one standard error", 0, exponent)
    assert found == ([-1] if expected is None else shape_of(expected, 0, 0))


def test_risks_that_are_no_numbers_are_refused():
    tree = DecisionTreeRegressor(max_depth=2, backend="numpy").fit(X, Y).nodes_
    account = by_impurity(tree)
    for bad in (np.inf, np.nan):
        risk = account.as_leaf.copy()
        risk[1] = bad
        with pytest.raises(ValueError, match="divide the targets by a constant"):
            weakest_links(tree, replace(account, as_leaf=risk))


@pytest.mark.parametrize("model", [C45Classifier(), DecisionTreeClassifier(missing="fractional")])
@pytest.mark.parametrize("weight", [1e300, 1e-300, 5e-324])
def test_divided_rows_may_have_any_weight(model, weight):
    table = X.copy()
    table[::5, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = model.set_params(backend="numpy").fit(table, Y > 0, np.full(90, weight)).nodes_
    assert np.isfinite(tree.value).all()
    assert tree.weight[0] == pytest.approx(90 * weight)
