"""Models are what they were: no change of the code alters one unseen."""

import json
import warnings

import pytest

from tests.corpus import digests

KEPT = json.loads(digests.PLACE.read_text())


def test_every_kind_of_model_has_a_digest():
    assert set(KEPT) == set(digests.cases())
    assert len(set(KEPT.values())) > 0.9 * len(KEPT)  # they tell models apart


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_model_is_what_it_was(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [digests.digest(digests.fitted(name, where)) for where in ("numpy", "numba")]
    assert found == [KEPT[name]] * 2
