"""Steps that cost what they change choose the rules of climbs that count everything anew."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from gputree.rules import coding, ranked, select
from tests.rules import slow_climbs


def covers(seed, is_whole):
    """Rules with the rows that they cover, and weights whose sums are exact."""
    rng = np.random.default_rng(seed)
    n_rules, n_rows = int(rng.integers(13, 30)), int(rng.integers(5, 60))
    cover = rng.random((n_rules, n_rows)) < rng.choice([0.1, 0.3, 0.7])
    bits = rng.choice([1.5, 2.25, 4.0], n_rules) if seed % 2 else rng.uniform(0.5, 6.0, n_rules)
    weight = rng.integers(1, 4, n_rows).astype(float)
    return rng, cover, bits, weight if is_whole else weight / 8


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_climbs_for_a_class_are_those_that_count_everything_anew(seed, is_whole):
    rng, cover, bits, weight = covers(seed, is_whole)
    is_class = rng.random(cover.shape[1]) < 0.6
    kept = select.by_description_length(csr_matrix(cover, dtype=np.int32), bits, is_class, weight)
    ends = [slow_climbs.climbed(cover, bits, is_class, weight, start) for start in (True, False)]
    assert kept.tolist() == min(ends, key=lambda end: end[0])[1].tolist()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_lists_are_those_that_count_everything_anew(seed, is_whole):
    rng, cover, bits, weight = covers(seed, is_whole)
    number, answer = rng.integers(0, 3, cover.shape[1]), rng.integers(0, 3, cover.shape[0])
    starts = [np.ones(len(bits), bool), rng.random(len(bits)) < 0.3]
    rules = ranked.Ranked(csr_matrix(cover, dtype=np.int32), answer, number, weight)
    kept = ranked.shortest(rules, bits, float(weight.sum()), 3, starts)
    expected = slow_climbs.shortest(cover, answer, number, weight, bits, 3, starts)
    assert kept.tolist() == expected.tolist()


def test_bits_that_are_looked_up_are_those_that_are_computed():
    items = np.arange(501.0)
    whole, parts = np.full(100, 5.0), np.full(100, 2.5)
    found, computed = (coding.swaps_of(weight, 7)(items) for weight in (whole, parts))
    assert found.tobytes() == computed.tobytes()
