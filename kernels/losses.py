"""The slope and the curvature of a loss at a prediction, written once for every backend.

`raw` is what the trees of a boosted model add up to, before any link; `y` is the target, or the
number of a row's class. The same source runs on scalars and on whole arrays. A loss of several
outputs looks at `raw[c]` of each of them.
"""

from types import SimpleNamespace

from gputree.kernels import exponential

# Losses whose curvature is 1 wherever they are. Those of the absolute distances have none; a
# curvature of 1 makes trees look at the mean slope of rows.
FLAT = ("squared", "absolute", "huber", "quantile")


def compile_for(jit, ops):
    """Return the losses for one target; see `exponential.compile_for` for `jit` and `ops`."""
    mul, select = ops.mul, ops.select
    exp = exponential.compile_for(jit, ops).exp

    @jit
    def squared(y, raw, constant):
        """Half the squared distance."""
        return raw - y

    @jit
    def absolute(y, raw, constant):
        """The distance."""
        return select(raw > y, 1.0, select(raw < y, -1.0, 0.0))

    @jit
    def huber(y, raw, constant):
        """Half the squared distance up to a constant, from there on linear."""
        apart = raw - y
        apart = select(apart > constant, constant, apart)
        return select(apart < -constant, -constant, apart)

    @jit
    def quantile(y, raw, constant):
        """The distance; below the target it weighs `constant`, above it the rest of 1."""
        return select(raw > y, 1.0 - constant, select(raw < y, -constant, 0.0))

    @jit
    def poisson(y, raw, constant):
        """Deviance of counts whose logarithm is predicted."""
        rate = exp(raw)
        return rate - y, rate

    @jit
    def logistic(y, raw, constant):
        """Deviance of two classes; the log-odds of the second are predicted."""
        share = 1.0 / (1.0 + exp(-raw))
        return share - y, mul(share, 1.0 - share)

    @jit
    def higher(most, raw):
        """The larger of two predictions."""
        return select(raw > most, raw, most)

    @jit
    def highest(raw, n_outputs):
        """The largest prediction of a row."""
        most = raw[0]
        for c in range(1, n_outputs):
            most = higher(most, raw[c])
        return most

    @jit
    def volume(raw, most, n_outputs):
        """What the shares of several classes are divided by."""
        total = exp(raw[0] - most)
        for c in range(1, n_outputs):
            total = total + exp(raw[c] - most)
        return total

    @jit
    def softmax(y, raw, most, total, output):
        """Deviance of several classes, for the prediction of one of them."""
        share = exp(raw - most) / total
        return share - select(y == output, 1.0, 0.0), mul(share, 1.0 - share)

    @jit
    def newton(slope, curvature, ridge):
        """The step to where slopes of such a sum vanish; none where nothing tells how far to go."""
        divisor = curvature + ridge
        is_curved = divisor > 0.0
        return select(is_curved, -(slope / select(is_curved, divisor, 1.0)), 0.0)

    return SimpleNamespace(
        exp=exp,
        squared=squared,
        absolute=absolute,
        huber=huber,
        quantile=quantile,
        poisson=poisson,
        logistic=logistic,
        higher=higher,
        highest=highest,
        volume=volume,
        softmax=softmax,
        newton=newton,
    )
