"""Quantiles of values that several ranks have, the same as of one that has them all."""

import pickle

import numpy as np

from gputree.comm import Comm, total
from gputree.data.selection import key_of, value_of
from gputree.data.target import whole_weights
from gputree.dtypes import HostArray

ALMOST = 1.0 - 1e-12  # of a share: one that is missed by rounding only is reached
FEW_ROWS = 2**14  # of all ranks: telling them all takes less time than counting
MOST_BITS = 8  # of a value that are settled at once
CELLS = 2**17  # that are counted at once
SIGN = np.uint64(1 << 63)


def rows_of_all(comm: Comm, *columns: HostArray | None) -> list[HostArray | None]:
    """Arrays with an entry a row, of all ranks; None for columns that no rank has."""
    told = map(pickle.loads, comm.gather(pickle.dumps(columns)))
    found: list[HostArray | None] = []
    for parts in zip(*told, strict=True):
        some = [part for part in parts if part is not None]  # who has no rows may have no weights
        found.append(np.concatenate(some) if some else None)
    return found


def counted_weights(
    n_rows: int, weight: HostArray | None, comm: Comm
) -> tuple[HostArray | None, bool]:
    """Weights as integers, or None for 1; and whether their sums can be counted.

    That is so where few bits are enough for every sum: sums of other floats follow from the order
    in which they are taken, for which somebody must have them all.
    """
    if int(total(comm, n_rows)) <= FEW_ROWS:
        return None, False
    if not total(comm, weight is not None):
        return None, True
    own = np.empty(0) if weight is None else weight
    whole, shift = whole_weights(own, comm)
    if whole is None:
        return None, True
    is_rounded = total(comm, np.count_nonzero(np.ldexp(own, shift) != whole))
    return whole, not is_rounded


def agreed_quantiles(
    n_nodes: int,
    node: HostArray,
    value: HostArray,
    weight: HostArray | None,
    share: float,
    comm: Comm,
) -> HostArray:
    """The least value of each node up to which there is a share of the weight, 0 without rows.

    Bits of the values are settled from the first ones on: ranks add up how much weight has which
    bits next.
    """
    own = None if weight is None else weight.astype(np.float64)
    held = total(comm, np.bincount(node, own, n_nodes).astype(np.int64))
    place = np.cumsum(held > 0) - 1  # among nodes with rows
    n = int(np.count_nonzero(held))
    wanted, below = share * held[held > 0] * ALMOST, np.zeros(n, np.int64)
    at, key = place[node], key_of(value).view(np.uint64) ^ SIGN
    prefix, n_left = np.zeros(n, np.uint64), 64
    while n_left:
        n_bits = max(1, min(MOST_BITS, (CELLS // max(n, 1)).bit_length() - 1, n_left))
        n_left -= n_bits
        digit = (key >> np.uint64(n_left)).astype(np.int64) & ((1 << n_bits) - 1)
        counts = np.bincount((at << n_bits) + digit, own, n << n_bits).astype(np.int64)
        comm.add(counts)
        reached = below[:, None] + np.cumsum(counts.reshape(n, -1), axis=1)
        chosen = (reached >= wanted[:, None]).argmax(axis=1)
        before = np.maximum(chosen - 1, 0)
        below = np.where(chosen > 0, reached[np.arange(n), before], below)
        prefix = (prefix << np.uint64(n_bits)) | chosen.astype(np.uint64)
        stays = digit == chosen[at]
        at, key, own = at[stays], key[stays], None if own is None else own[stays]
    quantile = np.zeros(n_nodes)
    quantile[held > 0] = value_of((prefix ^ SIGN).view(np.int64))
    return quantile
