"""Which reading the columns of a text file get, by what all their cells allow.

Where the cells of a column allow several, the other columns of the file decide, and a note says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gputree.files.cells import CellKind
from gputree.files.layout import Layout
from gputree.files.readings import COMMA, PERCENT, POINT, Evidence, Reading, read

MOST_NAMES = 5  # in a note


@dataclass(frozen=True)
class Decided:
    """How a column is read."""

    reading: Reading
    has_clock: bool = False  # whether some dates have a time of day
    doubt: str = ""  # what might have been meant otherwise
    was_known: bool = False  # as a model was trained

    @property
    def date_type(self) -> Any:
        """The pyarrow type of dates."""
        import pyarrow

        return pyarrow.timestamp("us") if self.has_clock else pyarrow.date32()


def decide(
    evidence: Mapping[str, Evidence],
    kinds: dict[str, CellKind],
    layout: Layout,
    separator: str,
    known: Mapping[str, Reading],
) -> dict[str, Decided]:
    """The reading of each column that is neither plain numbers nor text.

    A column that a model knows in a way that its cells do not allow becomes text.
    """
    house = _house_style(evidence, layout, separator)
    found = {}
    for name, each in evidence.items():
        if name in known:
            reading = _by_layout(known[name], layout)
            if each.count(reading) == each.n_cells or reading.others == "missing":
                found[name] = Decided(reading, each.has_clock, was_known=True)
            else:
                kinds[name] = CellKind.TEXT
            continue
        decided = _of_column(each, kinds[name], house)
        if decided is not None:
            found[name] = decided
    return found


@dataclass(frozen=True)
class HouseStyle:
    """What columns that allow several readings are read as."""

    decimal: str
    is_decimal_known: bool  # by what the user says
    is_comma_likely: bool
    day_first: bool | None
    is_order_known: bool


def _house_style(evidence: Mapping[str, Evidence], layout: Layout, separator: str) -> HouseStyle:
    needs = {_only_decimal(each) for each in evidence.values()}
    if layout.decimal is not None:
        decimal = layout.decimal
    elif COMMA in needs:
        decimal = COMMA
    else:
        decimal = POINT
    orders = {_only_order(each) for each in evidence.values()}
    day_first = layout.day_first
    if day_first is None and ("dmy" in orders) != ("mdy" in orders):
        day_first = "dmy" in orders
    return HouseStyle(
        decimal,
        layout.decimal is not None,
        POINT not in needs and separator != ",",
        day_first,
        layout.day_first is not None,
    )


def _only_decimal(evidence: Evidence) -> str:
    """The decimal mark that the numbers of a column need; none where both would do."""
    marks = {way.decimal for way in evidence.ways if way.kind == "number"}
    return marks.pop() if len(marks) == 1 and evidence.n_cells else ""


def _only_order(evidence: Evidence) -> str:
    orders = {way.order for way in evidence.ways if way.kind == "date"}
    return orders.pop() if len(orders) == 1 else ""


def _by_layout(reading: Reading, layout: Layout) -> Reading:
    """A known reading, for a file of which the user says how its numbers are written."""
    if reading.kind == "number" and layout.decimal is not None:
        return replace(reading, decimal=layout.decimal)
    if reading.order in ("dmy", "mdy") and layout.day_first is not None:
        return replace(reading, order="dmy" if layout.day_first else "mdy")
    return reading


def _of_column(evidence: Evidence, kind: CellKind, house: HouseStyle) -> Decided | None:
    """The reading of a column of which nothing is known; None for plain numbers and text."""
    ways = evidence.ways if evidence.n_cells else ()
    numbers = {way.decimal: way for way in ways if way.kind == "number"}
    if house.is_decimal_known and kind is CellKind.TEXT:
        numbers = {mark: way for mark, way in numbers.items() if mark == house.decimal}
    if numbers:
        is_plain = kind is not CellKind.TEXT
        likely = house.decimal
        if house.is_comma_likely and not is_plain and not house.is_decimal_known:
            likely = COMMA
        reading = numbers.get(likely) or next(iter(numbers.values()))
        doubt = ""
        if len(numbers) == 2 and evidence.example and not house.is_decimal_known:
            doubt = _doubt(evidence.example, numbers, reading)
        if is_plain and reading.decimal == POINT:
            return None
        return Decided(reading, doubt=doubt)
    days = {way.order: way for way in ways if way.kind == "date"}
    if not days:
        return None
    order = next(iter(days))
    doubt = ""
    if len(days) > 1:  # days and months that are all 12 at most
        order = "dmy" if house.day_first else "mdy"
        if evidence.example and not house.is_order_known:
            doubt = _doubt(evidence.example, days, days[order])
    return Decided(days[order], evidence.has_clock, doubt)


def _doubt(example: str, ways: Mapping[str, Reading], chosen: Reading) -> str:
    """What a cell is read as, and how to have it read in the other way."""
    (other,) = (way for way in ways.values() if way != chosen)
    values = [_shown(example, way) for way in (chosen, other)]
    if chosen.kind == "date":
        cure = "--day-first" if other.order == "dmy" else "--month-first"
    else:
        cure = f"--decimal {other.decimal}"
    return f"{example} is read as {values[0]}; {cure} reads {values[1]}"


def _shown(cell: str, reading: Reading) -> str:
    import pyarrow

    value = read(pyarrow.array([cell]), reading)[0].as_py()
    return f"{value:%-d %B %Y}" if reading.kind == "date" else f"{value:.12g}"


def notes_of(decided: Mapping[str, Decided]) -> Iterator[str]:
    """What is to be said of how columns are read."""
    found = {name: each for name, each in decided.items() if not each.was_known}
    ways: dict[str, list[str]] = {}
    for name, each in found.items():
        ways.setdefault(_way(each.reading), []).append(name)
    if ways:
        parts = []
        for way, names in ways.items():
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            parts.append(f"{', '.join(names[:MOST_NAMES])}{more} ({way})")
        yield f"read by their spelling: {'; '.join(parts)}"
    for name, each in found.items():
        if each.doubt:
            yield f"look here: column {name!r}: {each.doubt}"


def _way(reading: Reading) -> str:
    """A reading in the words of a note."""
    if reading.unit == PERCENT:
        return f"{reading.words()}: 12% is 12"
    return "numbers with thousands" if reading.is_plain else reading.words()
