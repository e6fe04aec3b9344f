"""Scores that users wrote, compiled: kernels call them by their address.

So kernels are compiled once, and kept on disk, whatever functions there will be. In the place of
the number of a criterion a kernel is given the address of a block of numbers: the address of the
function, the scales of `gputree.user_score`, and an origin a channel.
"""

from functools import lru_cache

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic, is_jitted
from numba.np.numpy_support import carray

from gputree.kernels.cpu.jit import kernel
from gputree.kernels.criteria import REFUSED
from gputree.kernels.undisturbed import undisturbed

# The block: the function's address, three scales, and the origins behind them.
FUNCTION, WEIGHT, VALUE, SCORE, ORIGIN = 0, 1, 2, 3, 4
MOST = 1e290  # scores are trimmed, which must not overflow

_FLOATS = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
_IN_C = types.float64(_FLOATS, _FLOATS, types.intp, types.intp)


@intrinsic
def _floats_at(typing, address):
    """A pointer to the float64 numbers at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())

    return _FLOATS(types.int64), generate


@intrinsic
def _call(typing, address, sums, weights):
    """What the C function at an address says of (children, channels) and (children,)."""

    def generate(context, builder, signature, arguments):
        pointer, word = ir.DoubleType().as_pointer(), ir.IntType(64)
        kind = ir.FunctionType(ir.DoubleType(), [pointer, pointer, word, word])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        given = [
            context.make_array(own)(context, builder, value)
            for own, value in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        shape = cgutils.unpack_tuple(builder, given[0].shape)
        return builder.call(function, [given[0].data, given[1].data, *shape])

    return types.float64(types.int64, sums, weights), generate


@njit(error_model="numpy")
def score_children(address, sums, weights):
    """What a split is worth; brings `sums` and `weights` to the units of the function."""
    block = carray(_floats_at(address), (ORIGIN + sums.shape[1],))
    for child in range(len(weights)):
        weights[child] = weights[child] * block[WEIGHT]
        for c in range(sums.shape[1]):
            scaled = sums[child, c] * block[VALUE]
            sums[child, c] = scaled + block[ORIGIN + c] * weights[child]
    score = _call(np.float64(block[FUNCTION]).view(np.int64), sums, weights) * block[SCORE]
    return score if 0.0 <= score < MOST else REFUSED


@njit(error_model="numpy", _nrt=True)  # type: ignore[call-overload]
def two_way(address, sums, first, unit, total, part, whole):
    """The score of child 0 with sums from sums[first] on, times `unit`, and of the others."""
    n = total.shape[0]
    children, weights = np.empty((2, n)), np.empty(2)
    for c in range(n):
        children[0, c] = np.float64(sums[first + c]) * unit[c]
        children[1, c] = total[c] - children[0, c]
    weights[0], weights[1] = part, whole - part
    return score_children(address, children, weights)


@njit(error_model="numpy", _nrt=True)  # type: ignore[call-overload]
def many_way(address, cells, base, stride, weights, n_branches, unit, total):
    """The score of the children that have a weight; their sums are `stride` apart."""
    n, n_children = total.shape[0], 0
    children, own_weights = np.empty((n_branches, n)), np.empty(n_branches)
    for branch in range(n_branches):
        if weights[branch] > 0.0:
            for c in range(n):
                children[n_children, c] = np.float64(cells[base + branch * stride + c]) * unit[c]
            own_weights[n_children] = weights[branch]
            n_children += 1
    return score_children(address, children[:n_children], own_weights[:n_children])


@kernel
def score_all(address, sums, weights, score):
    """Score many splits, from (splits, children, channels) and (splits, children)."""
    n_most, n = sums.shape[1:]
    children, own_weights = np.empty((n_most, n)), np.empty(n_most)
    for i in range(len(score)):
        n_children = 0
        for child in range(n_most):
            if weights[i, child] > 0.0:
                for c in range(n):
                    children[n_children, c] = sums[i, child, c]
                own_weights[n_children] = weights[i, child]
                n_children += 1
        score[i] = REFUSED
        if n_children > 1:
            score[i] = score_children(address, children[:n_children], own_weights[:n_children])


class Compiled:
    """A function of a user as machine code, with its scales."""

    def __init__(self, user):
        self._function, self._impurity = _machine_code(user.score, user.impurity)
        scales = user.weight_scale, user.value_scale, user.score_scale
        self._block = np.array([0.0, *scales, *user.origin])
        self._block[:1].view(np.int64)[0] = self._function.address

    @property
    def address(self):
        """Where kernels find all of this, as long as this object lives."""
        return self._block.ctypes.data

    def scores(self, sums, weights):
        """Scores of splits, from (splits, children, channels) and (splits, children)."""
        score = np.empty(len(sums))
        score_all(self.address, sums, weights, score)
        return score

    def impurities(self, sums, weight):
        """Impurities of nodes, from (nodes, channels) and (nodes,)."""
        pairs = zip(sums, weight.tolist(), strict=True)
        return np.array([self._impurity(own, its_weight) for own, its_weight in pairs])


@lru_cache(maxsize=128)  # every tree of a forest asks for it
def _machine_code(score, impurity):
    """The score as a C function, and the impurity as a function of arrays."""
    named = impurity if score is None else score
    of_node = None if impurity is None else _jitted(impurity)
    of_split = _gain(of_node) if score is None else _jitted(score)

    def called(sums, weights, n_children, n_channels):
        of_children = carray(sums, (n_children, n_channels))
        return np.float64(of_split(of_children, carray(weights, (n_children,))))

    try:
        return undisturbed(cfunc(_IN_C, nopython=True, error_model="numpy"))(called), of_node
    except NumbaError as error:
        name = getattr(named, "__name__", "the function")
        raise TypeError(
            f"numba cannot compile {name}, of which a criterion is made. A score takes "
            "sums[child, class] and weights[child], an impurity takes sums[class] and weight, and "
            f"both return a number. {error}"
        ) from error


def _jitted(function):
    return function if is_jitted(function) else njit(error_model="numpy")(function)


def _gain(impurity):
    """How far a split lowers the impurity of its node, times the weight of the node."""

    def score(sums, weights):
        total, weight, below = np.zeros(sums.shape[1]), 0.0, 0.0
        for child in range(len(weights)):
            total += sums[child]
            weight += weights[child]
            below += weights[child] * impurity(sums[child], weights[child])
        return weight * impurity(total, weight) - below

    return njit(error_model="numpy")(score)
