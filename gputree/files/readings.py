"""How the text of a column is read: as plain numbers, as numbers in other spellings, as dates.

A reading is found once, by all cells of a column, and then stays with the column: it is kept in the
metadata of its field, in the schema of a model and in the model's file, so that whatever is
predicted later is read in the same way.
"""

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.files import dates

POINT, COMMA = ".", ","
DECIMALS = (POINT, COMMA)
PERCENT = "%"
# What may stand beside each number of a column: a percent sign, a currency or its code.
CODES = (
    *("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK"),
    *("PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "TRY", "KRW", "SGD", "HKD"),
)
UNIT = rf"(?:%|\p{{Sc}}|{'|'.join(CODES)})"
SPACES = r" \t\x{a0}\x{202f}\x{2009}"  # also those that do not break a line
GAP = f"[{SPACES}]*"
APOSTROPHES = "'\u2019"
METADATA = b"gputree"  # the key in the metadata of a field


@dataclass(frozen=True)
class Reading:
    """How the cells of a column are read."""

    kind: str = "number"  # or date, or text
    decimal: str = POINT
    unit: str = ""  # what stands beside the numbers
    order: str = ""  # of the parts of dates
    others: str = "refused"  # what becomes of cells that cannot be read so: refused, or missing

    @property
    def is_plain(self) -> bool:
        """Whether numbers are read as every program reads them."""
        return self == PLAIN

    def words(self) -> str:
        """What a column of such cells holds, in words."""
        if self.kind == "date":
            return f"dates with the {dates.WORDS[self.order]}"
        if self.kind == "text":
            return "text"
        what = f"numbers in {self.unit}" if self.unit else "numbers"
        if self.unit == PERCENT:
            what = "percent"
        return f"{what} with a decimal comma" if self.decimal == COMMA else what


PLAIN, TEXT = Reading(), Reading("text")


@dataclass(frozen=True)
class Origin:
    """Where the values of a feature come from: a column of a file, its reading, a part of it."""

    column: str
    reading: Reading = PLAIN
    part: str = ""  # of a date, such as "year"

    def to_plain(self) -> dict[str, Any]:
        """What JSON can hold; only what is not as usual."""
        usual = asdict(PLAIN)
        reading = {
            name: value for name, value in asdict(self.reading).items() if value != usual[name]
        }
        return {"column": self.column, **reading, **({"part": self.part} if self.part else {})}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Origin":
        """The origin that `to_plain` has described; a ValueError where it makes no sense."""
        rest = dict(plain)
        column, part = rest.pop("column"), rest.pop("part", "")
        reading = Reading(**rest)
        is_date = reading.kind == "date"
        if not (
            isinstance(column, str)
            and reading.kind in ("number", "date")
            and reading.decimal in DECIMALS
            and isinstance(reading.unit, str)
            and reading.others in ("refused", "missing")
            and (reading.order in dates.ORDERS if is_date else reading.order == "")
            and part in ("", *(dates.PARTS if is_date else ()))
        ):
            raise ValueError(f"{plain} is no way to read a column")
        return cls(column, reading, part)


def tagged(field: Any, origin: Origin | None) -> Any:
    """A field of pyarrow that says where its values come from."""
    if origin is None:
        return field
    text = json.dumps(origin.to_plain(), sort_keys=True)
    return field.with_metadata({**(field.metadata or {}), METADATA: text.encode()})


def origin_of(field: Any) -> Origin | None:
    """Where the values of a field come from, if it says so."""
    text = (field.metadata or {}).get(METADATA)
    return None if text is None else Origin.from_plain(json.loads(text))


# Cells


@cache
def number_pattern(decimal: str) -> str:
    """What a number with such a decimal mark looks like, digits in groups or not."""
    point = rf"\{decimal}"
    group = rf"\{COMMA if decimal == POINT else POINT}"
    marks = (group, *APOSTROPHES, f"[{SPACES}]")
    groups = "|".join(rf"(?:{mark}\d{{3}})+" for mark in marks)
    digits = rf"(?:[1-9]\d{{0,2}}(?:{groups})|\d+)(?:{point}\d*)?|{point}\d+"
    number = rf"(?:(?:{digits})(?:[eE][+-]?\d+)?|(?i:inf|infinity))"
    sign = r"[+\-\x{2212}]"
    signed = rf"(?:{sign}?{GAP}{UNIT}?{GAP}{number}|{UNIT}{GAP}{sign}{GAP}{number}){GAP}{UNIT}?"
    owed = rf"\({GAP}{UNIT}{GAP}{number}{GAP}\)|\({GAP}{number}{GAP}{UNIT}{GAP}\)"
    return rf"^(?:{signed}|{owed})$"


def are_numbers(cells: Any, decimal: str) -> HostArray:
    """Which cells are numbers with such a decimal mark; missing ones are not."""
    from pyarrow import compute

    found = compute.match_substring_regex(cells, number_pattern(decimal))
    return np.asarray(compute.fill_null(found, False))


def units_of(cells: Any) -> Any:
    """What stands beside each number: text, empty where nothing does."""
    from pyarrow import compute

    found = compute.struct_field(compute.extract_regex(cells, f"(?P<unit>{UNIT})"), "unit")
    return compute.fill_null(found, "")


def fits(cells: Any, reading: Reading) -> HostArray:
    """Which cells can be read so; missing ones cannot."""
    if reading.kind == "text":
        return np.asarray(cells.is_valid())
    if reading.kind == "date":
        return dates.are_dates(cells, reading.order)
    units = np.asarray(units_of(cells).to_numpy(zero_copy_only=False), dtype=object)
    is_unit = units == reading.unit
    if reading.unit != PERCENT:
        is_unit |= units == ""
    return are_numbers(cells, reading.decimal) & is_unit


def read(cells: Any, reading: Reading) -> Any:
    """Stripped text as what it is read as, null where it cannot be; each distinct cell once."""
    import pyarrow
    from pyarrow import compute

    if reading.kind == "text":
        return cells
    encoded = cells.dictionary_encode()
    values = encoded.dictionary
    known = compute.if_else(
        pyarrow.array(fits(values, reading)), values, pyarrow.scalar(None, values.type)
    )
    if reading.kind == "date":
        return dates.read(known, reading.order).take(encoded.indices)
    return _numbers(known, reading.decimal).take(encoded.indices)


def _numbers(cells: Any, decimal: str) -> Any:
    """Cells that are known to be numbers, without their decoration."""
    from pyarrow import compute

    group = COMMA if decimal == POINT else POINT
    is_owed = compute.starts_with(cells, "(")
    bare = compute.replace_substring_regex(cells, rf"{UNIT}|[()\{group}{APOSTROPHES}{SPACES}]", "")
    bare = compute.replace_substring(bare, "\u2212", "-")
    if decimal != POINT:
        bare = compute.replace_substring(bare, decimal, POINT)
    owed = compute.binary_join_element_wise("-", bare, "")
    return compute.if_else(is_owed, owed, bare).cast("float64")


# What is found out


@dataclass
class Evidence:
    """How many cells of a column can be read in which way, over all rows that were seen."""

    n_cells: int = 0
    # By decimal mark and what stands beside the number, such as ",€", or by the order of a date.
    n_read: Counter[str] = field(default_factory=Counter)
    has_clock: bool = False  # whether some dates have a time of day
    example: str = ""  # of a cell that can be read in several ways

    def see(self, cells: Any) -> None:
        """Take in some stripped cells."""
        counted = cells.drop_null().value_counts()
        values, times = counted.field("values"), np.asarray(counted.field("counts"))
        numbers = {decimal: are_numbers(values, decimal) for decimal in DECIMALS}
        is_number = numbers[POINT] | numbers[COMMA]
        days = {order: np.zeros(len(values), bool) for order in dates.ORDERS}
        if not is_number.all():
            days = {order: dates.are_dates(values, order) for order in dates.ORDERS}
        own = Evidence(int(times.sum()), example=_unsure(values, numbers | days))
        units = units_of(values).to_pylist()
        for decimal, fit in numbers.items():
            for unit, n in zip(units, (times * fit).tolist(), strict=True):
                own.n_read[decimal + unit] += n
        own.n_read.update({order: int(times[fit].sum()) for order, fit in days.items()})
        own.has_clock = dates.have_clock(values, np.logical_or.reduce(list(days.values())))
        self.add(own)

    def add(self, other: "Evidence") -> None:
        """Take in what was found in other rows."""
        self.n_cells += other.n_cells
        self.n_read.update(other.n_read)
        self.has_clock |= other.has_clock
        self.example = self.example or other.example

    def count(self, reading: Reading) -> int:
        """How many cells can be read so."""
        if reading.kind == "date":
            return self.n_read[reading.order]
        n_read = self.n_read[reading.decimal + reading.unit]
        if reading.unit in ("", PERCENT):  # 3 and $3 are one spelling; 0.12 and 12% are not
            return n_read
        return n_read + self.n_read[reading.decimal]

    @property
    def ways(self) -> tuple[Reading, ...]:
        """The readings by which every cell can be read, those of numbers first."""
        return tuple(each for each in self._possible() if self.count(each) == self.n_cells)

    @property
    def asks_others(self) -> bool:
        """Whether plain numbers beside these have to be looked at: decimal commas are likely."""
        marks = {way.decimal for way in self.ways if way.kind == "number"}
        return marks == {COMMA} or (len(marks) == 2 and self.example != "")

    @property
    def nearest(self) -> Reading:
        """The reading by which most cells can be read."""
        return max(self._possible(), key=self.count)

    def _possible(self) -> list[Reading]:
        units = {name[1:] for name in self.n_read if name[0] in DECIMALS and self.n_read[name]}
        return [
            *(
                Reading(decimal=each, unit=unit)
                for unit in sorted({"", *units})
                for each in DECIMALS
            ),
            *(Reading("date", order=each) for each in dates.ORDERS),
        ]


def _unsure(values: Any, found: dict[str, HostArray]) -> str:
    """A cell that means one thing by one reading, and another by another."""
    from pyarrow import compute

    has_mark = np.asarray(compute.match_substring_regex(values, "[.,]"))
    numbers = found[POINT] & found[COMMA] & has_mark
    days = found["dmy"] & found["mdy"] & ~dates.are_same(values)
    for unsure in (numbers, days):
        if unsure.any():
            return str(values[int(unsure.argmax())].as_py())
    return ""


def lenient(reading: Reading) -> Reading:
    """The same, but what cannot be read is missing."""
    return replace(reading, others="missing")
