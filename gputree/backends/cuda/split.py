"""What the kernels that search for splits have found, as the contract tells it."""

import numpy as np

from gputree.backends.contract import Rates, Splits
from gputree.dtypes import FEATURE, SLOT, HostArray
from gputree.kernels.cuda import split


def splits_of(found: HostArray) -> Splits:
    """The best split of each node, from a row of words each."""
    return Splits(
        score=found[:, split.SCORE].copy().view(np.float64),
        feature=found[:, split.FEATURE].astype(FEATURE),
        code=found[:, split.CODE],
        next_code=found[:, split.NEXT],
        missing_slot=found[:, split.SLOT].astype(SLOT),
        left=found[:, split.LEFT :],
    )


def rates_of(found: HostArray) -> Rates:
    """The best threshold of each feature of each node, from a row of words each."""
    return Rates(
        score=found[..., split.RATE_SCORE].copy().view(np.float64),
        code=found[..., split.RATE_CODE],
        next_code=found[..., split.RATE_NEXT],
        left_weight=found[..., split.RATE_LEFT],
        known_weight=found[..., split.RATE_KNOWN],
        n_cuts=found[..., split.RATE_CUTS],
    )
