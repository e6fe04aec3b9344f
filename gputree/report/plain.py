"""Numbers and names as JSON, short enough for a page and safe inside one.

Knows values; must not know models, nor what a page looks like.
"""

import json
import math
from typing import Any

import numpy as np

from gputree.dtypes import HostArray

DIGITS = 6  # significant ones, where nothing is compared with the number
# A browser ends a script at the first "</script>", whatever the text around it means.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def number(value: Any, digits: int = DIGITS) -> int | float | None:
    """A number with few digits; None where it is not finite."""
    value = float(value)
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def numbers(values: Any, digits: int = DIGITS) -> list[int | float | None]:
    """A list of such numbers."""
    return [number(value, digits) for value in np.asarray(values).ravel().tolist()]


def exact(value: float) -> int | float | str | None:
    """A number with all its bits; None for NaN, and infinities as JavaScript names them."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def label(value: Any) -> str:
    """A name or category as people write it."""
    return str(value)


def thinned(*columns: HostArray, most: int = 240) -> list[HostArray]:
    """The same points of some columns, at most so many, the ends among them."""
    n = len(columns[0])
    if n <= most:
        return [np.asarray(column) for column in columns]
    at = np.unique(np.linspace(0, n - 1, most).round().astype(np.int64))
    return [np.asarray(column)[at] for column in columns]


def script_json(data: Any) -> str:
    """JSON that may stand inside a script element."""
    # All of it ASCII: halves of characters would not survive UTF-8.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character, written in UNSAFE.items():
        text = text.replace(character, written)
    return text
