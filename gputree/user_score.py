"""A score that a user wrote: a function of the sums of children, in the units of the user's table.

Sums are integers in units of a target's choice (see `gputree.data.target`). A function of a user
gets weights as they were given, counts of classes in these weights, and sums of targets times
weights. The function is compiled once, for the CPU, and every backend calls that machine code. So
a model has the same bytes everywhere, whatever the function computes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class UserScore:
    """A function, and how sums and scores are brought to its units.

    Those of sums are powers of two, which round nothing.
    """

    score: Callable[..., float] | None  # (sums, weights) of children -> what the split is worth
    impurity: Callable[..., float] | None = None  # (sums, weight) of a node -> how impure it is
    weight_scale: float = 1.0  # of a whole number, gives the weight
    value_scale: float = 1.0  # the same for sums that are scored
    score_scale: float = 1.0  # of a score, gives the number that is compared
    origin: tuple[float, ...] = ()  # what was subtracted from each scored channel

    @cached_property
    def compiled(self) -> Any:
        """The machine code and its scales, as kernels know them."""
        from gputree.kernels.cpu import user_score  # the compiler is asked for when it is needed

        return user_score.Compiled(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "compiled"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def of_two(self, left: Any, total: Any, left_weight: Any, weight: Any) -> Any:
        """Scores of splits into two, from arrays of one shape, or of shapes that broadcast."""
        n = len(total)
        every = np.broadcast_arrays(*left, *total, left_weight, weight)
        flat = [np.ascontiguousarray(part, np.float64).reshape(-1) for part in every]
        lefts, totals = np.array(flat[:n]), np.array(flat[n : 2 * n])
        children = np.stack([lefts, totals - lefts]).transpose(2, 0, 1)
        weights = np.stack([flat[-2], flat[-1] - flat[-2]], axis=1)
        return self.of_children(children, weights).reshape(every[0].shape)

    def of_children(self, sums: Any, weights: Any) -> Any:
        """Scores of splits, from (splits, children, channels) and (splits, children).

        Children without weight are none; where fewer than two are left, nothing is split.
        """
        return self.compiled.scores(np.ascontiguousarray(sums), np.ascontiguousarray(weights))

    def of_nodes(self, sums: Any, weight: Any) -> Any:
        """Impurities of nodes, from (nodes, channels) and (nodes,) in the user's units."""
        return self.compiled.impurities(np.ascontiguousarray(sums), weight)
