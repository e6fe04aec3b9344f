"""What a split is worth and how impure a node is: a criterion is one object.

A score is the impurity decrease of a binary split times the weight of its node, so scores of
different nodes compare. Each formula avoids cancellation: it is exactly 0 when both children look
like their node, and errors stay small beside small scores.

The source of a criterion runs on scalars (compiled kernels) and on whole arrays (array-API code).
So it is written in a few operations, each of which rounds once: +, -, /, comparisons, and the
functions of `Tools`. Everything else is made from it: kernels for the CPU and for CUDA, and array
code. To add a criterion, write its formulas here and name it in `CRITERIA`. A criterion that a user
made has a function instead of formulas.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from gputree.kernels import logarithm

# Scores are compared after rounding to 36 significant bits. Splits of mathematically equal worth
# differ by rounding errors of some 2**-50; this makes nearly all of them tie, so that the lower
# feature wins. The few that straddle a rounding boundary are decided alike on every backend.
# (2**17 + 1: multiplying by it and subtracting back drops the lowest 17 of 53 bits.)
TRIMMER = 131073.0

NATS = math.log(2.0)  # of a bit

# What a split is worth that would leave a child without any counts: less than none.
REFUSED = -1.0
OUT_OF_QUESTION = -1e300  # stands for such a child in sums over channels


class Formulas(NamedTuple):
    """The formulas of a criterion for one target.

    `left` and `total` are the sums of one channel over the left child and over the node, as
    float64; `left_weight` and `weight` are the weights of both. A state of three numbers, all 0 at
    first, goes from channel to channel.
    """

    # (x, y, z, left, total, left_weight, weight) -> the state with one channel more
    step: Any
    # (x, y, z, left_weight, weight) -> the score
    score: Any
    # (x, y, z, left_weight, weight, floor) -> whether the score is below a floor for sure, where
    # that is cheaper to tell than the score
    falls_short: Any
    # What each of many children adds, or None: then there are no splits into many children. If
    # `sums_by_branch`, (x, sums) -> x goes from channel to channel, and what the children add up
    # to is compared with what the node has. Otherwise (sums, total, part, weight) -> the term of
    # one channel and one child of weight `part`.
    branch: Any = None


@dataclass(frozen=True, repr=False)
class Criterion:
    """How splits are scored, and what follows from that."""

    name: str
    formulas: Any  # tools -> Formulas; None where a user made the criterion
    impurity: str | None  # the formula of a node's impurity; None: it follows from its rows
    is_counts: bool = False  # whether targets are counts, none of them negative
    # Whether the best division of categories is a cut of their order by share or mean, where one
    # number says what rows are like: so it is if the impurity is strictly concave.
    is_concave: bool = True
    has_branches: bool = True  # whether `Formulas.branch` is there
    sums_by_branch: bool = False
    needs_gain: bool = False  # whether a split that gains nothing is refused
    user: Any = None  # a `gputree.user_score.UserScore`

    def __repr__(self) -> str:
        return f"<criterion {self.name}>"


def between(tools):
    """Squared distance of the children's means: Gini (class shares) and variance (targets)."""
    mul, apart, room, jit = tools.mul, tools.apart, tools.room, tools.jit

    @jit
    def step(x, y, z, left, total, left_weight, weight):
        distance = apart(left, total, left_weight, weight)
        return x + mul(distance, distance), y, z

    @jit
    def score(x, y, z, left_weight, weight):
        return x / room(left_weight, weight)

    @jit
    def falls_short(x, y, z, left_weight, weight, floor):
        return x < mul(floor, room(left_weight, weight))

    @jit
    def branch(sums, total, part, weight):
        distance = apart(sums, total, part, weight)
        return mul(distance, distance) / mul(part, weight) / weight

    return Formulas(step, score, falls_short, branch)


def information(tools):
    """Entropy decrease in bits, as the mutual information of child and class."""
    larger, told, jit = tools.larger, tools.told, tools.jit

    @jit
    def step(x, y, z, left, total, left_weight, weight):
        x = x + told(left, total, left_weight, weight)
        return x + told(total - left, total, weight - left_weight, weight), y, z

    @jit
    def score(x, y, z, left_weight, weight):
        return larger(x, 0.0)

    return Formulas(step, score, tools.never, told)


def deviance(tools):
    """Half the decrease of the Poisson deviance, in bits: the channels are sums of counts.

    With y the counts and w the weights of a child, Y and W those of its node, a child adds
    y log(y / w) - y log(Y / W), which has the form of the mutual information. Both children must
    have some counts.
    """
    larger, told, select, jit = tools.larger, tools.told, tools.select, tools.jit

    @jit
    def step(x, y, z, left, total, left_weight, weight):
        more = x + told(left, total, left_weight, weight)
        more = more + told(total - left, total, weight - left_weight, weight)
        more = select(left > 0.0, more, OUT_OF_QUESTION)
        return select(total - left > 0.0, more, OUT_OF_QUESTION), y, z

    @jit
    def score(x, y, z, left_weight, weight):
        return select(x > OUT_OF_QUESTION, larger(x, 0.0), REFUSED)

    return Formulas(step, score, tools.never)


def twoing(tools):
    """How far apart the class shares of the children are: a quarter of the squared sum."""
    mul, larger, apart, room = tools.mul, tools.larger, tools.apart, tools.room
    jit = tools.jit

    @jit
    def step(x, y, z, left, total, left_weight, weight):
        distance = apart(left, total, left_weight, weight)
        return x + larger(distance, -distance), y, z

    @jit
    def score(x, y, z, left_weight, weight):
        return mul(mul(x, x), 0.25) / room(left_weight, weight)

    return Formulas(step, score, tools.never)


def corrected(tools):
    """Weight of the rows that the children's majorities label right and the node's does not."""
    larger, jit = tools.larger, tools.jit

    @jit
    def step(x, y, z, left, total, left_weight, weight):
        return larger(left, x), larger(total - left, y), larger(total, z)

    @jit
    def score(x, y, z, left_weight, weight):
        return x + y - z

    @jit
    def branch(x, sums):
        return larger(sums, x)

    return Formulas(step, score, tools.never, branch)


GINI = Criterion("gini", between, "gini")
ENTROPY = Criterion("entropy", information, "entropy")
ERROR = Criterion(
    "error", corrected, "error", is_concave=False, sums_by_branch=True, needs_gain=True
)
# For two classes twoing chooses as Gini does.
TWOING = Criterion("twoing", twoing, "gini", has_branches=False)
SQUARED_ERROR = Criterion("squared_error", between, None)
POISSON = Criterion("poisson", deviance, None, is_counts=True, has_branches=False)

# What users call them.
FOR_CLASSES = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "gain_ratio": ENTROPY,
    "error": ERROR,
    "twoing": TWOING,
}
FOR_VALUES = {
    "squared_error": SQUARED_ERROR,
    "variance": SQUARED_ERROR,
    "friedman_mse": SQUARED_ERROR,
    "poisson": POISSON,
}
CRITERIA = tuple({**FOR_CLASSES, **FOR_VALUES}.values())
# Criteria that score alike share what is compiled.
SOURCES = tuple(dict.fromkeys(criterion.formulas for criterion in CRITERIA))


def tools_for(jit, ops):
    """What formulas are made of; see `logarithm.compile_for` for `jit` and `ops`."""
    mul, select = ops.mul, ops.select
    log2 = logarithm.compile_for(jit, ops).log2

    @jit
    def larger(a, b):
        return select(a > b, a, b)

    @jit
    def apart(left, total, left_weight, weight):
        """The distance of the children's means in one channel, times `room` / `weight`."""
        return mul(left, weight) - mul(total, left_weight)

    @jit
    def room(left_weight, weight):
        """What the square of `apart` is divided by to give a score."""
        return mul(mul(left_weight, weight - left_weight), weight)

    @jit
    def told(part, whole, share, weight):
        """Bits that belonging to a child of weight `share` tells about one class."""
        some = part > 0.0
        ratio = select(some, mul(part, weight), 1.0) / select(some, mul(whole, share), 1.0)
        return mul(part, log2(ratio))

    @jit
    def never(x, y, z, left_weight, weight, floor):
        return False

    return SimpleNamespace(
        jit=jit,
        mul=mul,
        select=select,
        log2=log2,
        larger=larger,
        apart=apart,
        room=room,
        told=told,
        never=never,
    )


def compile_for(jit, ops):
    """The formulas of all criteria, and what belongs to them, for one target."""
    tools = tools_for(jit, ops)
    mul, larger, told = tools.mul, tools.larger, tools.told

    @jit
    def trim(score):
        """The score as it is compared."""
        spread = mul(score, TRIMMER)
        return spread - (spread - score)

    @jit
    def penalty(gradient, weight, ridge):
        """What a ridge takes from the gain of any split of a node of such a gradient and weight.

        With a ridge r a child of gradient g and weight h is worth g**2 / (h + r). The score of two
        is what they are worth less G**2 / (H + 2 r), as if the node had the ridge twice; it has it
        once.
        """
        twice = weight + mul(ridge, 2.0)
        return mul(mul(gradient, gradient), ridge) / mul(twice, weight + ridge)

    @jit
    def apart_values(value, mean):
        """How far a value is from a mean: the square."""
        apart = value - mean
        return mul(apart, apart)

    @jit
    def apart_counts(value, mean):
        """What a count tells against a mean, in bits."""
        return larger(told(value, mean, 1.0, 1.0) - (value - mean) / NATS, 0.0)

    by_source = {source: source(tools) for source in SOURCES}
    return SimpleNamespace(
        apart_values=apart_values,
        apart_counts=apart_counts,
        trim=trim,
        penalty=penalty,
        larger=larger,
        told=told,
        log2=tools.log2,
        apart=tools.apart,
        room=tools.room,
        by_source=by_source,
        **vars(impurities(tools)),
    )


def impurities(tools):
    """How impure a node is, by the sums of its channels and its weight."""
    mul, select, log2, larger, jit = tools.mul, tools.select, tools.log2, tools.larger, tools.jit

    @jit
    def gini(total, weight, n_channels):
        """Chance that two rows drawn from the node differ in class."""
        chance = mul(weight, 0.0)
        for c in range(n_channels):
            share = total[c] / weight
            chance = chance + mul(share, (weight - total[c]) / weight)
        return chance

    @jit
    def entropy(total, weight, n_channels):
        """Bits needed to tell the class of a row of the node."""
        bits = mul(weight, 0.0)
        for c in range(n_channels):
            some = total[c] > 0.0
            ratio = select(some, weight, 1.0) / select(some, total[c], 1.0)
            bits = bits + mul(total[c] / weight, log2(ratio))
        return bits

    @jit
    def error(total, weight, n_channels):
        """Share of the node's rows outside its largest class."""
        most = mul(weight, 0.0)
        for c in range(n_channels):
            most = larger(total[c], most)
        return (weight - most) / weight

    return SimpleNamespace(gini=gini, entropy=entropy, error=error)


def score_by_arrays(forms, criterion):
    """The score of a criterion that has formulas, as a function of whole arrays.

    It takes the sums of the left children and of their nodes, each by channel, the weights of both,
    and how many channels there are.
    """
    formulas = forms.by_source[criterion.formulas]

    def score(left, total, left_weight, weight, n_channels):
        x = y = z = left_weight * 0.0
        for c in range(n_channels):
            x, y, z = formulas.step(x, y, z, left[c], total[c], left_weight, weight)
        return formulas.score(x, y, z, left_weight, weight)

    return score
