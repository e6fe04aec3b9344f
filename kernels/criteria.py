"""What a split is worth and how impure a node is, written once for every backend.

A score is the impurity decrease of a binary split times the weight of its node, so scores of
different nodes compare. Each formula avoids cancellation: it is exactly 0 when both children look
like their node, and errors stay small beside small scores. The same source runs on scalars
(compiled kernels) and on whole arrays (array-API code): `left[c]` and `total[c]` are the sums of
channel `c` of the left child and of the node, as float64. Kernels that keep no arrays of floats use
the steps, one channel at a time.
"""

from types import SimpleNamespace

from gputree.kernels import logarithm

# Scores are compared after rounding to 36 significant bits. Splits of mathematically equal worth
# differ by rounding errors of some 2**-50; this makes nearly all of them tie, so that the lower
# feature wins. The few that straddle a rounding boundary are decided alike on every backend.
# (2**17 + 1: multiplying by it and subtracting back drops the lowest 17 of 53 bits.)
TRIMMER = 131073.0

# What a split is worth that would leave a child without any counts: less than none.
REFUSED = -1.0
OUT_OF_QUESTION = -1e300  # stands for such a child in sums over channels


def compile_for(jit, ops):
    """Return the formulas for one target; see `logarithm.compile_for` for `jit` and `ops`."""
    mul, select = ops.mul, ops.select
    log2 = logarithm.compile_for(jit, ops).log2

    @jit
    def trim(score):
        """The score as it is compared."""
        spread = mul(score, TRIMMER)
        return spread - (spread - score)

    @jit
    def apart_step(square, left, total, left_weight, weight):
        """Add the squared distance of the children's means in one channel, times `room`."""
        distance = mul(left, weight) - mul(total, left_weight)
        return square + mul(distance, distance)

    @jit
    def room(left_weight, weight):
        """What the sum of `apart_step` is divided by to give a score."""
        return mul(mul(left_weight, weight - left_weight), weight)

    @jit
    def penalty(slope, weight, ridge):
        """What a ridge takes from the gain of any split of a node of such a slope and weight.

        With a ridge r a child of slope g and weight h is worth g**2 / (h + r). The score of two is
        what they are worth less G**2 / (H + 2 r), as if the node had the ridge twice; it has it
        once.
        """
        twice = weight + mul(ridge, 2.0)
        return mul(mul(slope, slope), ridge) / mul(twice, weight + ridge)

    @jit
    def told(part, whole, share, weight):
        """Bits that belonging to a child of weight `share` tells about one class."""
        some = part > 0.0
        ratio = select(some, mul(part, weight), 1.0) / select(some, mul(whole, share), 1.0)
        return mul(part, log2(ratio))

    @jit
    def told_step(bits, left, total, left_weight, weight):
        """Add what both children tell about one class."""
        bits = bits + told(left, total, left_weight, weight)
        return bits + told(total - left, total, weight - left_weight, weight)

    @jit
    def counts_step(bits, left, total, left_weight, weight):
        """Add what both children tell about the counts of one output; both must have some."""
        more = told_step(bits, left, total, left_weight, weight)
        more = select(left > 0.0, more, OUT_OF_QUESTION)
        return select(total - left > 0.0, more, OUT_OF_QUESTION)

    @jit
    def larger(a, b):
        return select(a > b, a, b)

    @jit
    def counts_score(bits):
        """The score that the sum of `counts_step` stands for."""
        return select(bits > OUT_OF_QUESTION, larger(bits, 0.0), REFUSED)

    @jit
    def apart(sum_apart, left, total, left_weight, weight):
        """Add how far the children's means are apart in one channel, times `room` / `weight`."""
        distance = mul(left, weight) - mul(total, left_weight)
        return sum_apart + larger(distance, -distance)

    @jit
    def between(left, total, left_weight, weight, n_channels):
        """Squared distance of the children's means: Gini (class shares) and variance (targets)."""
        square = mul(left_weight, 0.0)
        for c in range(n_channels):
            square = apart_step(square, left[c], total[c], left_weight, weight)
        return square / room(left_weight, weight)

    @jit
    def information(left, total, left_weight, weight, n_channels):
        """Entropy decrease in bits, as the mutual information of child and class."""
        bits = mul(left_weight, 0.0)
        for c in range(n_channels):
            bits = told_step(bits, left[c], total[c], left_weight, weight)
        return larger(bits, 0.0)

    @jit
    def deviance(left, total, left_weight, weight, n_channels):
        """Half the decrease of the Poisson deviance, in bits: the channels are sums of counts.

        With y the counts and w the weights of a child, Y and W those of its node, a child adds
        y log(y / w) - y log(Y / W), which has the form of the mutual information.
        """
        bits = mul(left_weight, 0.0)
        for c in range(n_channels):
            bits = counts_step(bits, left[c], total[c], left_weight, weight)
        return counts_score(bits)

    @jit
    def twoing(left, total, left_weight, weight, n_channels):
        """How far apart the class shares of the children are: a quarter of the squared sum."""
        sum_apart = mul(left_weight, 0.0)
        for c in range(n_channels):
            sum_apart = apart(sum_apart, left[c], total[c], left_weight, weight)
        return mul(mul(sum_apart, sum_apart), 0.25) / room(left_weight, weight)

    @jit
    def corrected(left, total, left_weight, weight, n_channels):
        """Weight of the rows that the children's majorities label right and the node's does not."""
        left_most = mul(left_weight, 0.0)
        right_most = left_most
        node_most = left_most
        for c in range(n_channels):
            left_most = larger(left[c], left_most)
            right_most = larger(total[c] - left[c], right_most)
            node_most = larger(total[c], node_most)
        return left_most + right_most - node_most

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

    return SimpleNamespace(
        trim=trim,
        apart_step=apart_step,
        room=room,
        penalty=penalty,
        told_step=told_step,
        counts_step=counts_step,
        counts_score=counts_score,
        larger=larger,
        told=told,
        log2=log2,
        apart=apart,
        twoing=twoing,
        between=between,
        information=information,
        deviance=deviance,
        corrected=corrected,
        gini=gini,
        entropy=entropy,
        error=error,
    )
