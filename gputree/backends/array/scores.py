"""What splits are worth, as a function of the arrays of a library."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from gputree.backends.array.libraries import Library
from gputree.dtypes import Array
from gputree.kernels.criteria import Criterion, score_by_arrays


def score_of(lib: Library, formulas: SimpleNamespace, criterion: Criterion) -> Callable[..., Any]:
    """The score of a criterion; see `criteria.score_by_arrays`.

    The function of a user is machine code of the host.
    """
    user = criterion.user
    if user is None:
        return score_by_arrays(formulas, criterion)

    def score(
        left: Sequence[Array], total: Sequence[Array], left_weight: Array, weight: Array, n: int
    ) -> Array:
        lefts, totals = ([lib.to_host(own) for own in sums[:n]] for sums in (left, total))
        return lib.from_host(
            user.of_two(lefts, totals, lib.to_host(left_weight), lib.to_host(weight))
        )

    return score
