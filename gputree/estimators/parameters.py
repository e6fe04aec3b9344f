"""Checking parameters, with errors that say what would be right."""

import math
import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gputree.kernels.criteria import Criterion

# What min_samples_category="auto" means: in columns of many categories, those of fewer rows in a
# node are one together.
FEWEST_ROWS = 10
MOST_WHOLE = 32

OLD_NAMES = {"friedman_mse": "squared_error"}  # of criteria, that scikit-learn gives up

# Ways to split, and to deal with values that are missing or were not seen at fit.
DIRECTIONS = ("lda", "logistic", "cart-lc", "sparse")  # of combinations of columns
WAYS = {
    "nominal": ("subset", "multiway"),
    "subset_search": ("auto", "exact", "ordered", "principal", "greedy"),
    "missing": ("direction", "category", "fractional", "surrogate"),
    "unknown_category": ("missing", "majority", "error"),
    "thresholds": ("midpoint", "value"),
    "surrogate_style": ("cart", "rpart"),
    "splitter": ("best", "random"),
}


def keep(estimator: Any, given: dict[str, Any]) -> None:
    """Set what `__init__` was given, as scikit-learn wants it: under its name, and as it is."""
    for name, value in given.items():
        if name != "self":
            setattr(estimator, name, value)


def whole(name: str, value: Any, low: int, *, or_none: bool = False) -> None:
    """Check an integer with a lower bound."""
    if or_none and value is None:
        return
    if not is_whole(value) or value < low:
        also = " or None" if or_none else ""
        raise ValueError(f"{name}={value!r}: an integer of at least {low}{also} is needed")


def real(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """Check a real number between bounds."""
    if not (is_whole(value) or is_fraction(value)) or not low <= value <= high:
        most = f" and at most {high}" if math.isfinite(high) else ""
        raise ValueError(f"{name}={value!r}: a number of at least {low}{most} is needed")
    return float(value)


def open_share(name: str, value: Any) -> None:
    """Check a share between 0 and 1 that leaves something on either side."""
    if not is_fraction(value) or not 0.0 < value < 1.0:
        raise ValueError(f"{name}={value!r}: a share between 0 and 1, or None, is needed")


def between(name: str, value: Any, low: float, high: float) -> float:
    """Check a number that lies between two others."""
    if not (is_whole(value) or is_fraction(value)) or not low < value < high:
        raise ValueError(f"{name}={value!r}: a number above {low:g} and below {high:g} is needed")
    return float(value)


def share_above_zero(name: str, value: Any) -> float:
    """Check a share of the rows, which may be more than all of them."""
    if not is_fraction(value) or not 0.0 < value < math.inf:
        raise ValueError(f"{name}={value!r}: an integer of at least 1, or a share above 0, or None")
    return float(value)


def share(name: str, value: Any) -> float:
    """Check a share of something, all of it at most."""
    if not (is_whole(value) or is_fraction(value)) or not 0.0 < value <= 1.0:
        raise ValueError(f"{name}={value!r}: a share above 0 and at most 1 is needed")
    return float(value)


def positive(name: str, value: Any) -> float:
    """Check a finite number above 0."""
    found = real(name, value, 0.0)
    if not 0.0 < found < math.inf:
        raise ValueError(f"{name}={value!r}: a number above 0 is needed")
    return found


def truth(name: str, value: Any) -> None:
    """Check a switch."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r}: True or False is needed")


def truth_or(name: str, value: Any, word: str) -> None:
    """Check a switch that may also be left to a rule."""
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == word)):
        raise ValueError(f"{name}={value!r}: True, False or {word!r} is needed")


def count_or_share(name: str, value: Any, low: int, n_rows: int) -> int:
    """A number of rows: an integer, or a share of all rows."""
    if is_whole(value) and value >= low:
        return int(value)
    if is_fraction(value) and 0.0 < value <= 1.0:
        return max(low, math.ceil(value * n_rows))
    raise ValueError(
        f"The {name!r} parameter must be an int in the range [{low}, inf) or a float in the range "
        f"(0.0, 1.0], which is a share of the rows; {name}={value!r} is neither"
    )


def rare_categories(value: Any) -> tuple[int, int]:
    """The least rows of a category, and up to how many of a column none is too rare."""
    if isinstance(value, str) and value == "auto":
        return FEWEST_ROWS, MOST_WHOLE
    if not is_whole(value) or value < 1:
        raise ValueError(
            f"min_samples_category={value!r}: an integer of at least 1, or 'auto', is needed"
        )
    return int(value), 0


def combinations(estimator: Any) -> None:
    """Check which combinations of columns are to be tried, whether or not any will be."""
    one_of("directions", estimator.directions, dict.fromkeys(DIRECTIONS))
    whole("max_projections", estimator.max_projections, 1, or_none=True)
    positive("projection_density", estimator.projection_density)


def are_oblique(estimator: Any) -> bool:
    """Whether the nodes of an ensemble's trees may test combinations of columns."""
    one_of("splits", estimator.splits, dict.fromkeys(("axis", "oblique")))
    combinations(estimator)
    if estimator.splits == "axis":
        return False
    for name, needed in (("missing", "direction"), ("nominal", "subset"), ("monotonic_cst", None)):
        value = getattr(estimator, name, needed)
        if not (value is needed or (isinstance(value, str) and value == needed)):
            raise ValueError(
                f"{name}={value!r} does not go with splits='oblique', whose nodes test several "
                f"columns at once; use {name}={needed!r}, or splits='axis'"
            )
    return True


def n_drawn(value: Any, n_features: int) -> int:
    """How many features to try at a node."""
    if value is None:
        return n_features
    if value == "sqrt":
        return max(1, int(math.sqrt(n_features)))
    if value == "log2":
        return max(1, int(math.log2(n_features)))
    if is_whole(value) and value >= 1:
        return min(int(value), n_features)
    if is_fraction(value) and 0.0 < value <= 1.0:
        return max(1, int(value * n_features))
    raise ValueError(
        f"max_features={value!r}: an integer of at least 1, a share in (0.0, 1.0], 'sqrt', 'log2' "
        "or None is needed"
    )


def criterion(value: Any, choices: dict[str, Criterion]) -> Criterion:
    """A criterion by its name, or one that the user made."""
    if isinstance(value, Criterion) and value.user is not None:
        return value
    if isinstance(value, str) and value in choices:
        return choices[value]
    raise ValueError(
        f"criterion={value!r} is unknown; choose from {', '.join(sorted(choices))}, or make one "
        "with gputree.make_criterion. A model file keeps only the name of such a criterion: give "
        "the criterion itself to fit anew"
    )


def warn_of_old_name(criterion: Any) -> None:
    """Tell who makes an estimator that scikit-learn gives up the name of a criterion."""
    if isinstance(criterion, str) and criterion in OLD_NAMES:
        now = OLD_NAMES[criterion]
        warnings.warn(
            f"criterion={criterion!r} chooses the same splits as {now!r} and is deprecated in "
            f"scikit-learn; use criterion={now!r}",
            FutureWarning,
            stacklevel=3,
        )


class TreeSeed(int):
    """The seed by which a tree of an ensemble was drawn; as `random_state` it draws it again."""


def seed(random_state: Any) -> int:
    """A seed by scikit-learn's rules: the next number of a generator, where one is given."""
    if isinstance(random_state, TreeSeed):
        return int(random_state)
    try:
        generator = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state={random_state!r}: an integer from 0 to 2**32 - 1, a RandomState or None "
            "is needed"
        ) from error
    return int(generator.randint(2**31 - 1))


def budget(value: Any) -> int | None:
    """Bytes that histograms may take; None where memory decides."""
    whole("histogram_budget", value, 1, or_none=True)
    return None if value is None else int(value)


def one_of(name: str, value: Any, choices: Any) -> Any:
    """Check a choice by name."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; choose from {', '.join(sorted(choices))}")
    return choices[value]


def names(name: str, value: Any, default: Any, what: str) -> tuple[str, ...]:
    """Names for what a tree has, one each."""
    chosen = tuple(str(each) for each in (default if value is None else value))
    if len(chosen) != len(default):
        raise ValueError(f"{name} has {len(chosen)} names; the tree has {len(default)} {what}")
    return chosen


def is_whole(value: Any) -> bool:
    """Whether a parameter is an integer."""
    return not isinstance(value, bool) and isinstance(value, numbers.Integral)


def is_fraction(value: Any) -> bool:
    """Whether a parameter is a real number that is not an integer by its type."""
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
