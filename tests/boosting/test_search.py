"""A random search for two ways to one boosted model that differ, or lead to none that is finite.

`GPUTREE_SEARCH_CASES=2000 python -m pytest tests/boosting/test_search.py` looks at more of them.
"""

import os

import numpy as np
import pytest

from tests.boosting.cases import random_case, reloaded

N_CASES = int(os.environ.get("GPUTREE_SEARCH_CASES", "24"))
WAYS = {
    "one thread": {"backend": "numba", "n_jobs": 1},
    "two threads": {"backend": "numba", "n_jobs": 2},
    "little memory": {"backend": "numba", "histogram_budget": 1},
}
SLOW_WAYS = {"strict": {"backend": "array_api_strict"}, "cuda": {"backend": "cuda"}}


def outcome(case, order=None, **where):
    """The bytes of the model; None where there are too few rows to hold some out."""
    try:
        return case.fitted(order, **where).to_bytes()
    except ValueError as error:
        if "leaves no rows" not in str(error):
            raise
        return None


@pytest.mark.parametrize("seed", range(N_CASES))
def test_every_way_leads_to_one_finite_model(seed):
    case = random_case(seed)
    expected = outcome(case, backend="numpy")
    order = np.random.default_rng(seed).permutation(len(case.y))
    found = {name: outcome(case, **where) for name, where in WAYS.items()}
    found["other order"] = outcome(case, order, backend="numpy")
    assert [name for name, own in found.items() if own != expected] == [], case
    if expected is not None:
        model = reloaded(case.fitted(backend="numpy"))
        name = "predict_proba" if hasattr(model, "predict_proba") else "predict"
        assert np.isfinite(getattr(model, name)(case.X)).all(), case


@pytest.mark.parametrize("seed", range(0, N_CASES, 4))
def test_slow_backends_give_the_model_of_numpy(seed):
    case = random_case(seed)
    expected = outcome(case, backend="numpy")
    ways = dict(SLOW_WAYS)
    if len(case.y) > 10:
        del ways["cuda"]  # the simulator takes a second a row
    found = {name: outcome(case, **where) for name, where in ways.items()}
    assert [name for name, own in found.items() if own != expected] == [], case
