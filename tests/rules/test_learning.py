"""The steps from leaves to a list of rules, each against counting everything."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from gputree.pruning.confidence import error_limit
from gputree.rules import coding, ranked, select, simplify
from gputree.rules.condition import Condition, Sign
from gputree.rules.simplify import Shortening, needed


@st.composite
def cases(draw, most_rules=6):
    """Which rules cover which rows, classes and weights."""
    n_rules, n_rows = draw(st.integers(1, most_rules)), draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cover = rng.random((n_rules, n_rows)) < rng.choice([0.2, 0.5, 0.8])
    return cover, rng.integers(0, 3, n_rows), rng.integers(1, 4, n_rows).astype(float)


def sparse(cover):
    return csr_matrix(cover.astype(np.int32))


# Shorter rules.


def kept_alone(unmet, is_wrong, weight):
    (kept,) = needed([Shortening(unmet, is_wrong, weight)], 0.25)
    return kept


def limit_of(unmet, kept, is_wrong, weight):
    covered = ~unmet[list(kept)].any(axis=0)
    return error_limit(weight[covered].sum(), weight[covered & is_wrong].sum(), 0.25)


@settings(deadline=None)
@given(cases())
def test_conditions_go_one_by_one_as_long_as_the_limit_does_not_rise(case):
    unmet, number, weight = case
    is_wrong = number != 0
    kept = list(range(len(unmet)))
    limit = limit_of(unmet, kept, is_wrong, weight)
    while kept:
        without = [[each for each in kept if each != one] for one in kept]
        limits = [limit_of(unmet, rest, is_wrong, weight) for rest in without]
        if min(limits) > limit:
            break
        limit, kept = min(limits), without[int(np.argmin(limits))]
    found = kept_alone(unmet, is_wrong, weight)
    assert found == kept
    everything = range(len(unmet))
    assert limit_of(unmet, found, is_wrong, weight) <= limit_of(unmet, everything, is_wrong, weight)


def test_a_condition_that_changes_nothing_goes():
    unmet = np.array([[False, False, True, True], [False, False, False, True]])
    assert kept_alone(unmet, np.array([False, False, True, True]), np.ones(4)) == [0]


@pytest.mark.parametrize("at_once", [1, 100, 2**24])
def test_rules_are_shortened_together_as_each_alone(at_once, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(simplify, "CELLS_AT_ONCE", at_once)
    cases = [(rng.random((n, 20)) < 0.4, rng.random(20) < 0.3, rng.random(20)) for n in range(1, 9)]
    together = list(needed((Shortening(*case) for case in cases), 0.25))
    assert together == [kept_alone(*case) for case in cases]
    assert len({len(kept) for kept in together}) > 1


# Fewer rules.


def length_of(chosen, cover, bits, is_class, weight):
    """The bits of a set of rules, with binomial coefficients of whole numbers."""
    covered = cover[list(chosen)].any(axis=0)
    n_covered, n_left = int(weight[covered].sum()), int(weight[~covered].sum())
    wrong, left_out = int(weight[covered & ~is_class].sum()), int(weight[~covered & is_class].sum())
    theory = sum(bits[each] for each in chosen) - math.log2(math.factorial(len(chosen)))
    return (
        0.5 * theory
        + math.log2(math.comb(n_covered, wrong))
        + math.log2(math.comb(n_left, left_out))
    )


@settings(deadline=None)
@given(cases(), st.integers(0, 2**32 - 1))
def test_the_set_of_the_fewest_bits_is_chosen(case, seed):
    cover, number, weight = case
    bits = np.random.default_rng(seed).uniform(0.5, 6.0, len(cover))
    is_class = number == 0
    sets = [
        chosen
        for count in range(len(cover) + 1)
        for chosen in itertools.combinations(range(len(cover)), count)
    ]
    least = min(length_of(chosen, cover, bits, is_class, weight) for chosen in sets)
    kept = np.flatnonzero(select.by_description_length(sparse(cover), bits, is_class, weight))
    assert length_of(kept, cover, bits, is_class, weight) == pytest.approx(least, abs=1e-9)


def climbed(kept, length):
    """Add or drop the rule that saves the most bits, while one saves any; the bits in the end."""
    toggled = [kept ^ {each} for each in range(13)]
    best = min(toggled, key=length)
    return climbed(best, length) if length(best) < length(kept) - 1e-6 else length(kept)


@pytest.mark.parametrize("seed", range(30))
def test_of_many_rules_the_better_of_two_climbs_is_chosen(seed):
    rng = np.random.default_rng(seed)
    cover, is_class = rng.random((13, 20)) < 0.3, rng.random(20) < 0.5
    bits, weight = rng.uniform(0.5, 6.0, 13), np.ones(20)
    assert len(bits) > select.MOST_EXACT

    def length(chosen):
        return length_of(chosen, cover, bits, is_class, weight)

    kept = select.by_description_length(sparse(cover), bits, is_class, weight)
    ends = [climbed(set(start), length) for start in (range(13), ())]
    assert length(np.flatnonzero(kept)) == pytest.approx(min(ends), abs=1e-9)


def test_greedy_takes_what_is_more_often_right_on_rows_not_covered_yet():
    cover = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], bool)
    is_class = np.array([True, True, True, True, False])
    kept = select.greedily(sparse(cover), is_class, np.ones(5))
    # The second has nothing left to add; the third gets as many right as wrong then.
    assert kept.tolist() == [True, False, False]
    # A row that weighs three makes the third right by two.
    kept = select.greedily(sparse(cover), is_class, np.array([1.0, 1, 1, 3, 1]))
    assert kept.tolist() == [True, False, True]


def test_bits_of_a_rule_by_hand():
    """Three of four conditions are on column 0, two of them different."""
    low, high = Condition(0, Sign.UP_TO, 1.0), Condition(0, Sign.ABOVE, 2.0)
    other = Condition(1, Sign.AMONG, categories=(1,))
    bits = coding.rule_bits([(low, other), (low,), (high,)])
    first = math.log2(4 / 3) + 1.0
    assert bits == pytest.approx([first + 2.0 - 1.0, first, first])


# Rules in a row.


def errors_of(kept, cover, answer, default, number, weight):
    wrong = 0.0
    for row, label in enumerate(number):
        fired = [at for at in np.flatnonzero(kept) if cover[at, row]]
        told = answer[fired[0]] if fired else default
        wrong += weight[row] * (told != label)
    return wrong


def default_of(kept, cover, number, weight):
    is_open = ~cover[kept].any(axis=0)
    some = is_open if is_open.any() else np.ones(len(number), bool)
    return int(np.bincount(number[some], weight[some]).argmax())


def toggled(kept, each):
    return kept ^ (np.arange(len(kept)) == each)


@settings(deadline=None)
@given(cases(), st.integers(0, 63))
def test_what_is_wrong_and_what_a_rule_changes_are_counted(case, chosen):
    cover, number, weight = case
    answer = np.arange(len(cover)) % 3
    kept = (chosen >> np.arange(len(cover)) & 1) == 1
    rules = ranked.Ranked(sparse(cover), answer, number, weight)
    default = rules.default(kept)
    assert default == default_of(kept, cover, number, weight)
    wrong, more = rules.wrong(kept, default)
    assert wrong == errors_of(kept, cover, answer, default, number, weight)
    for each in range(len(cover)):
        then = errors_of(toggled(kept, each), cover, answer, default, number, weight)
        assert wrong + more[each] == then


@settings(deadline=None)
@given(cases())
def test_no_rule_is_kept_without_which_fewer_rows_would_be_wrong(case):
    cover, number, weight = case
    answer = np.arange(len(cover)) % 3
    every = np.ones(len(cover), bool)
    kept = ranked.without_harmful(ranked.Ranked(sparse(cover), answer, number, weight), every)
    default = default_of(every, cover, number, weight)
    own = errors_of(kept, cover, answer, default, number, weight)
    for each in np.flatnonzero(kept):
        assert errors_of(toggled(kept, each), cover, answer, default, number, weight) >= own
    assert own <= errors_of(every, cover, answer, default, number, weight)


@settings(deadline=None)
@given(cases(), st.integers(0, 2**32 - 1))
def test_no_rule_more_or_less_makes_a_list_shorter(case, seed):
    cover, number, weight = case
    answer = np.arange(len(cover)) % 3
    bits = np.random.default_rng(seed).uniform(0.5, 6.0, len(cover))
    total = int(weight.sum())

    def length(kept, default):
        wrong = int(errors_of(kept, cover, answer, default, number, weight))
        theory = bits[kept].sum() - math.log2(math.factorial(int(kept.sum())))
        return 0.5 * theory + math.log2(math.comb(total, wrong)) + wrong * math.log2(2)

    starts = [np.ones(len(cover), bool), np.zeros(len(cover), bool)]
    rules = ranked.Ranked(sparse(cover), answer, number, weight)
    kept = ranked.shortest(rules, bits, float(total), 3, starts)
    # With one of the classes as the default.
    assert any(
        all(
            length(toggled(kept, at), default) > length(kept, default) - 1e-5
            for at in range(len(cover))
        )
        and all(
            length(kept, default) <= length(start, default_of(start, cover, number, weight)) + 1e-5
            for start in starts
        )
        for default in range(3)
    )
