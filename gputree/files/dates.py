"""Dates and times: which cells are some, what they are, and the numbers that trees split.

A date is split by its parts: the year, the month (1 to 12), the weekday (1 is Monday), the hour
where there are times of day, and the days since 1970-01-01.
"""

import re
from functools import cache
from typing import Any

import numpy as np

from gputree.dtypes import HostArray

ORDERS = ("ymd", "dmy", "mdy", "d month y", "month d y")
WORDS = {
    "ymd": "year first",
    "dmy": "day first",
    "mdy": "month first",
    "d month y": "month by its name",
    "month d y": "month by its name",
}
PARTS = ("year", "month", "weekday", "hour", "days")
DATE_PARTS = ("year", "month", "weekday", "days")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LAST_OF_CENTURY = 68  # two digits up to here are a year from 2000 on, as POSIX has it

YEAR, SHORT = r"(?P<y>[12]\d{3})", r"(?P<y>[12]\d{3}|\d{2})"
MONTH, DAY = r"(?P<m>0?[1-9]|1[0-2])", r"(?P<d>0?[1-9]|[12]\d|3[01])"
NAME = rf"(?i:(?P<m>{'|'.join(MONTHS)})[a-z]*)\.?"
SECOND_NAME = re.compile(r"\?P<(\w)>")  # a group may be named once in a pattern
CLOCK = (
    r"(?:(?:T|,?\s+)(?P<H>[01]?\d|2[0-3]):(?P<M>[0-5]\d)(?::(?P<S>[0-5]\d)(?:[.,](?P<f>\d+))?)?"
    r"\s*(?P<half>(?i:am|pm))?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?)?"
)


@cache
def pattern(order: str) -> str:
    """What a date in such an order looks like."""
    if order == "d month y":
        return rf"^{DAY}\.?[\s-]{NAME}[\s-]{YEAR}{CLOCK}$"
    if order == "month d y":
        return rf"^{NAME}\s{DAY},?\s{YEAR}{CLOCK}$"
    if order == "ymd":
        return rf"^{YEAR}[-/.]{MONTH}[-/.]{DAY}{CLOCK}$"
    first, second = (DAY, MONTH) if order == "dmy" else (MONTH, DAY)
    # Nobody writes the month first before a point. Two digits are a year behind slashes only, since
    # 1.2.10 may be a version.
    mark = "[-.]" if order == "dmy" else "-"
    short = SECOND_NAME.sub(r"?P<\1_>", f"/{second}/{SHORT}")
    return rf"^{first}(?:{mark}{second}{mark}{YEAR}|{short}){CLOCK}$"


def _fields(cells: Any, order: str) -> dict[str, list[str]]:
    """The groups of the pattern, by name; empty where a cell is no date."""
    from pyarrow import compute

    found = compute.extract_regex(cells, pattern(order))
    names = [found.type.field(at).name for at in range(found.type.num_fields)]
    return {
        name: compute.fill_null(compute.struct_field(found, name), "").to_pylist() for name in names
    }


def _whole(fields: dict[str, list[str]], name: str) -> HostArray:
    """A group as whole numbers, 0 where it is empty."""
    return np.array([int(each or 0) for each in fields[name]], np.int64)


def _days(fields: dict[str, list[str]], order: str) -> tuple[HostArray, HostArray]:
    """The days since 1970-01-01, and which of them are days of the calendar."""
    if "month" in order:
        month = np.array([MONTHS.index(each.lower()) + 1 if each else 0 for each in fields["m"]])
        year, day = _whole(fields, "y"), _whole(fields, "d")
    else:
        year, month, day = (_whole(fields, name) for name in "ymd")
        if "y_" in fields:
            short = np.array([0 < len(each) < 3 for each in fields["y_"]], bool)
            other = _whole(fields, "y_")
            other[short] += np.where(other[short] > LAST_OF_CENTURY, 1900, 2000)
            year = year + other
            # One of the two halves of the pattern has matched, the other is empty.
            month = month + (_whole(fields, "m_") if "m_" in fields else 0)
            day = day + (_whole(fields, "d_") if "d_" in fields else 0)
    is_there = (year > 0) & (month > 0) & (day > 0)
    months = (year - 1970) * 12 + month - 1
    start = months.astype("datetime64[M]")
    days = start.astype("datetime64[D]") + np.where(is_there, day - 1, 0)
    return days.astype(np.int64), is_there & (days.astype("datetime64[M]") == start)


def are_dates(cells: Any, order: str) -> HostArray:
    """Which cells are dates in such an order; missing ones are not."""
    from pyarrow import compute

    matches = compute.match_substring_regex(cells, pattern(order))
    found = np.array(compute.fill_null(matches, False))
    if found.any():
        _, is_day = _days(_fields(cells, order), order)
        found &= is_day
    return found


def have_clock(cells: Any, is_date: HostArray) -> bool:
    """Whether some of the dates have a time of day."""
    from pyarrow import compute

    has_colon = compute.fill_null(compute.match_substring(cells, ":"), False)
    return bool((np.asarray(has_colon) & is_date).any())


def are_same(cells: Any) -> HostArray:
    """Which dates have equal numbers for day and month, such as 03/03/2020."""
    fields = _fields(cells, "dmy")
    day, month = _whole(fields, "d"), _whole(fields, "m") + _whole(fields, "m_")
    return np.asarray(day == month)


def read(cells: Any, order: str) -> Any:
    """Cells that are known to be dates, or null, as timestamps; zones of time are left out."""
    import pyarrow

    fields = _fields(cells, order)
    days, _ = _days(fields, order)
    hour = _whole(fields, "H")
    half = np.array([each.lower() for each in fields["half"]])
    hour = np.where(half == "am", hour % 12, np.where(half == "pm", hour % 12 + 12, hour))
    fraction = np.array([int(each.ljust(6, "0")[:6] or 0) for each in fields["f"]], np.int64)
    seconds = ((days * 24 + hour) * 60 + _whole(fields, "M")) * 60 + _whole(fields, "S")
    values = (seconds * 10**6 + fraction).astype("datetime64[us]")
    return pyarrow.array(values, mask=np.asarray(cells.is_null()))


# Parts


def parts_of(dtype: Any) -> tuple[str, ...]:
    """The parts that a column of dates of some type is split by."""
    from pyarrow import types

    return DATE_PARTS if types.is_date(dtype) else PARTS


def as_text(column: Any) -> Any:
    """Dates as categories: text, the year first."""
    import pyarrow

    return column.cast(pyarrow.string())


def part(column: Any, name: str) -> Any:
    """A part of a column of dates, as numbers."""
    from pyarrow import compute

    moments = _local(column)
    if name == "weekday":
        return compute.day_of_week(moments, count_from_zero=False, week_start=1).cast("int64")
    if name != "days":
        return getattr(compute, name)(moments).cast("int64")
    return compute.divide(moments.cast("int64").cast("float64"), 86_400e6)


def _local(column: Any) -> Any:
    """Dates and times of any type as microseconds, in the time of their zone."""
    from pyarrow import compute, types

    if types.is_timestamp(column.type) and column.type.tz is not None:
        column = compute.local_timestamp(column)
    return column.cast("timestamp[us]", safe=False)
