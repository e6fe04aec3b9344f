"""What boosting makes small: a loss is one object.

`raw` is what the trees of a boosted model add up to, before any link; `y` is the target, or the
number of a row's class. The source of a loss runs on scalars (compiled kernels) and on whole arrays
(array-API code), as that of a criterion does, in +, -, /, comparisons, and the functions of
`tools_for`. Everything else is made from it: kernels for the CPU and for CUDA, array code, and what
estimators know of losses. To add a loss, write its formulas here and name it in a table below.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from gputree.kernels import exponential, logarithm

LN_2 = 0.6931471805599453
LARGEST = 1e150  # squares of larger numbers overflow
LEAST_MEAN = 2.0**-52  # of counts that are all 0, which have a logarithm then
# What a leaf adds at most to a logarithm: the way from that of 2**-52 to that of 2**52.
LARGEST_LOG_STEP = 2.0 * 52.0 * LN_2


class Formulas(NamedTuple):
    """The formulas of a loss for one target.

    Where a loss `is_of_shares`, `raw` is that of one class, `most` is the largest of a row and
    `total` what its shares are divided by; see `highest` and `volume`.
    """

    # (y, raw, constant), or of shares (y, raw, most, total, output) -> gradient and hessian
    gradient_hessian: Any
    # (y, raw, constant), or of shares (y, raws, most, total, n_outputs) -> the loss of a row
    value: Any


@dataclass(frozen=True, repr=False)
class Link:
    """How what trees add up to becomes a prediction."""

    name: str  # by which `gputree.export` knows it
    answer: Any  # (tools, raw) -> the prediction; of two classes, the share of the second
    raw: Any = None  # (tools, prediction) -> what trees add up to; None for classes
    least: float = -LARGEST  # lower predictions of other models are taken for this one
    most_step: float = LARGEST_LOG_STEP  # what a leaf adds at most


class Demand(NamedTuple):
    """What the targets of a loss must be like."""

    is_met: Any  # target -> bool
    needs: str
    has: str  # what targets have that do not meet it


@dataclass(frozen=True, repr=False)
class Loss:
    """How far off a prediction is, and what follows from that.

    Functions of `rows` take the target as `gputree.boosting.losses.Sample` tells of it.
    """

    name: str
    formulas: Any  # tools -> Formulas
    link: Link
    # (rows, constant) -> the prediction that models start with; of classes what trees add up to.
    start: Any
    constant: float = 0.0  # that formulas are given
    find_constant: Any = None  # rows -> the constant, where the target tells; None: as it is
    # (residuals, constant) -> the values of leaves, from `gputree.boosting.leaves.Residuals`; None:
    # Newton's step from sums of gradients and hessians.
    leaf: Any = None
    demand: Demand | None = None
    # Whether the hessian is 1 everywhere, so that nobody keeps it. Absolute distances have none; a
    # hessian of 1 makes trees look at the mean gradient of rows.
    is_flat: bool = False
    is_of_shares: bool = False  # whether a class looks at the predictions of all classes
    bend: Any = None  # outputs -> what hessians are multiplied by; None: 1

    def __repr__(self) -> str:
        return f"<loss {self.name}>"


def squared(tools):
    """Half the squared distance."""
    mul, jit = tools.mul, tools.jit

    @jit
    def gradient_hessian(y, raw, constant):
        return raw - y, 1.0

    @jit
    def value(y, raw, constant):
        return mul(mul(raw - y, raw - y), 0.5)

    return Formulas(gradient_hessian, value)


def absolute(tools):
    """The distance."""
    select, larger, jit = tools.select, tools.larger, tools.jit

    @jit
    def gradient_hessian(y, raw, constant):
        return select(raw > y, 1.0, select(raw < y, -1.0, 0.0)), 1.0

    @jit
    def value(y, raw, constant):
        return larger(y - raw, raw - y)

    return Formulas(gradient_hessian, value)


def huber(tools):
    """Half the squared distance up to a constant, from there on linear."""
    mul, select, larger, smaller, jit = (
        tools.mul, tools.select, tools.larger, tools.smaller, tools.jit,
    )  # fmt: skip

    @jit
    def gradient_hessian(y, raw, constant):
        apart = raw - y
        apart = select(apart > constant, constant, apart)
        return select(apart < -constant, -constant, apart), 1.0

    @jit
    def value(y, raw, constant):
        apart = larger(y - raw, raw - y)
        small = smaller(apart, constant)
        return mul(small, apart - mul(small, 0.5))

    return Formulas(gradient_hessian, value)


def quantile(tools):
    """The distance; below the target it weighs `constant`, above it the rest of 1."""
    mul, select, larger, jit = tools.mul, tools.select, tools.larger, tools.jit

    @jit
    def gradient_hessian(y, raw, constant):
        return select(raw > y, 1.0 - constant, select(raw < y, -constant, 0.0)), 1.0

    @jit
    def value(y, raw, constant):
        return larger(mul(constant, y - raw), mul(constant - 1.0, y - raw))

    return Formulas(gradient_hessian, value)


def poisson(tools):
    """Deviance of counts whose logarithm is predicted."""
    mul, exp, jit = tools.mul, tools.exp, tools.jit

    @jit
    def gradient_hessian(y, raw, constant):
        rate = exp(raw)
        return rate - y, rate

    @jit
    def value(y, raw, constant):
        return exp(raw) - mul(y, raw)

    return Formulas(gradient_hessian, value)


def gamma(tools):
    """Deviance of positive amounts whose logarithm is predicted."""
    mul, smaller, exp, jit = tools.mul, tools.smaller, tools.exp, tools.jit

    @jit
    def gradient_hessian(y, raw, constant):
        ratio = smaller(mul(y, exp(-raw)), LARGEST)
        return 1.0 - ratio, ratio

    @jit
    def value(y, raw, constant):
        return raw + smaller(mul(y, exp(-raw)), LARGEST)

    return Formulas(gradient_hessian, value)


def tweedie(tools):
    """Deviance of amounts that may be 0, whose logarithm is predicted.

    Their variance is the mean to the power `constant`, which lies between those of `poisson`, 1,
    and of `gamma`, 2.
    """
    mul, smaller, exp, jit = tools.mul, tools.smaller, tools.exp, tools.jit

    @jit
    def parts(y, raw, constant):
        falls = smaller(mul(y, exp(mul(1.0 - constant, raw))), LARGEST)
        return falls, exp(mul(2.0 - constant, raw))

    @jit
    def gradient_hessian(y, raw, constant):
        falls, rises = parts(y, raw, constant)
        return rises - falls, mul(2.0 - constant, rises) + mul(constant - 1.0, falls)

    @jit
    def value(y, raw, constant):
        falls, rises = parts(y, raw, constant)
        return rises / (2.0 - constant) + falls / (constant - 1.0)

    return Formulas(gradient_hessian, value)


def logistic(tools):
    """Deviance of two classes; the log-odds of the second are predicted."""
    mul, larger, exp, log, jit = tools.mul, tools.larger, tools.exp, tools.log, tools.jit

    @jit
    def gradient_hessian(y, raw, constant):
        share = 1.0 / (1.0 + exp(-raw))
        return share - y, mul(share, 1.0 - share)

    @jit
    def value(y, raw, constant):
        # log(1 + exp(r)) without the exponential of a large number.
        beyond = log(1.0 + exp(-larger(raw, -raw)))
        return larger(raw, 0.0) + beyond - mul(y, raw)

    return Formulas(gradient_hessian, value)


def exponential_of_short(tools):
    """The exponential of half the log-odds that a row's own class is short of."""
    mul, select, smaller, exp, jit = (
        tools.mul, tools.select, tools.smaller, tools.exp, tools.jit,
    )  # fmt: skip

    @jit
    def value(y, raw, constant):
        return smaller(exp(mul(select(y > 0.0, -0.5, 0.5), raw)), LARGEST)

    @jit
    def gradient_hessian(y, raw, constant):
        wrong = value(y, raw, constant)
        return mul(select(y > 0.0, -0.5, 0.5), wrong), mul(wrong, 0.25)

    return Formulas(gradient_hessian, value)


def softmax(tools):
    """Deviance of several classes."""
    mul, select, exp, log, jit = tools.mul, tools.select, tools.exp, tools.log, tools.jit

    @jit
    def gradient_hessian(y, raw, most, total, output):
        share = exp(raw - most) / total
        return share - select(y == output, 1.0, 0.0), mul(share, 1.0 - share)

    @jit
    def value(y, raws, most, total, n_outputs):
        own = raws[0]
        for c in range(1, n_outputs):
            own = select(y == c, raws[c], own)
        return log(total) + most - own

    return Formulas(gradient_hessian, value)


def at_mean(rows, constant):
    return rows.mean()


def at_median(rows, constant):
    return rows.quantile(0.5)


def at_log_odds(rows, constant):
    return rows.log_odds()


IDENTITY = Link(
    "identity", lambda tools, raw: raw, lambda tools, mean: mean, most_step=LARGEST
)  # fmt: skip
LOG = Link(
    "exponential",
    lambda tools, raw: tools.exp(raw),
    lambda tools, mean: tools.log(tools.select(mean > 0.0, mean, LEAST_MEAN)),
    least=LEAST_MEAN,
)
LOGIT = Link("logistic", lambda tools, raw: 1.0 / (1.0 + tools.exp(-raw)))
LOGITS = Link("softmax", None)  # whose answer is the shares of all classes

SQUARED = Loss("squared", squared, IDENTITY, at_mean, is_flat=True)
ABSOLUTE = Loss(
    "absolute",
    absolute,
    IDENTITY,
    at_median,
    leaf=lambda residuals, constant: residuals.quantile(0.5),
    is_flat=True,
)
HUBER = Loss(
    "huber",
    huber,
    IDENTITY,
    at_median,
    find_constant=lambda rows: rows.spread(rows.alpha),
    leaf=lambda residuals, constant: residuals.clipped_mean(constant),
    is_flat=True,
)
QUANTILE = Loss(
    "quantile",
    quantile,
    IDENTITY,
    lambda rows, constant: rows.quantile(constant),
    find_constant=lambda rows: rows.alpha,
    leaf=lambda residuals, constant: residuals.quantile(constant),
    is_flat=True,
)
OF_COUNTS = Demand(
    lambda y: not (y < 0).any() and y.any(),
    "non-negative y and sum(y) > 0",
    "negative values, or is 0 everywhere",
)
POISSON = Loss("poisson", poisson, LOG, at_mean, demand=OF_COUNTS)
GAMMA = Loss(
    "gamma",
    gamma,
    LOG,
    at_mean,
    demand=Demand(lambda y: (y > 0).all(), "strictly positive y", "values that are not above 0"),
)
TWEEDIE = Loss(
    "tweedie", tweedie, LOG, at_mean, find_constant=lambda rows: rows.power, demand=OF_COUNTS
)
LOGISTIC = Loss("logistic", logistic, LOGIT, at_log_odds)
EXPONENTIAL = Loss("exponential", exponential_of_short, LOGIT, at_log_odds)
# Only differences of logits count, so the steps of all of them sum to 0: along such steps the
# deviance is curved more than along one logit. With two classes this is the logistic loss.
SOFTMAX = Loss(
    "softmax",
    softmax,
    LOGITS,
    lambda rows, constant: rows.log_shares(),
    is_of_shares=True,
    bend=lambda n_outputs: n_outputs / (n_outputs - 1.0),
)

# What users call them.
FOR_VALUES = {
    "squared_error": SQUARED,
    "absolute_error": ABSOLUTE,
    "huber": HUBER,
    "quantile": QUANTILE,
    "poisson": POISSON,
    "gamma": GAMMA,
    "tweedie": TWEEDIE,
}
FOR_TWO_CLASSES = {"log_loss": LOGISTIC, "exponential": EXPONENTIAL}
FOR_CLASSES = {"log_loss": SOFTMAX}


def every_loss():
    """All losses, those that are alike to kernels side by side."""
    found = (*FOR_VALUES.values(), *FOR_TWO_CLASSES.values(), *FOR_CLASSES.values())
    return sorted(dict.fromkeys(found), key=lambda loss: (loss.is_of_shares, not loss.is_flat))


def tools_for(jit, ops):
    """What formulas are made of; see `exponential.compile_for` for `jit` and `ops`."""
    mul, select = ops.mul, ops.select
    exp = exponential.compile_for(jit, ops).exp
    log2 = logarithm.compile_for(jit, ops).log2

    @jit
    def log(x):
        return mul(log2(x), LN_2)

    @jit
    def larger(a, b):
        return select(a > b, a, b)

    @jit
    def smaller(a, b):
        return select(a < b, a, b)

    @jit
    def highest(raw, n_outputs):
        """The largest prediction of a row."""
        most = raw[0]
        for c in range(1, n_outputs):
            most = larger(raw[c], most)
        return most

    @jit
    def volume(raw, most, n_outputs):
        """What the shares of several classes are divided by."""
        total = exp(raw[0] - most)
        for c in range(1, n_outputs):
            total = total + exp(raw[c] - most)
        return total

    @jit
    def newton(gradient, hessian, ridge):
        """The step to where gradients of such a sum vanish; none where nothing tells how far."""
        divisor = hessian + ridge
        is_curved = divisor > 0.0
        return select(is_curved, -(gradient / select(is_curved, divisor, 1.0)), 0.0)

    return SimpleNamespace(
        jit=jit,
        mul=mul,
        select=select,
        exp=exp,
        log=log,
        larger=larger,
        smaller=smaller,
        highest=highest,
        volume=volume,
        newton=newton,
    )
