"""What the columns of a training table are: numbers, categories, ordered, or left out, and why.

Knows columns and what a user says of them; must not know estimators.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gputree.cli import cells
from gputree.cli.output import count, listed
from gputree.cli.settings import read_value
from gputree.cli.sources import Source
from gputree.dtypes import HostArray
from gputree.files.dates import as_text
from gputree.files.parts import ISO, is_date, split_column
from gputree.files.readings import PLAIN, Evidence, Origin, Reading, fits, lenient, read

NUMBER, CATEGORY, ORDERED, IGNORED = "number", "category", "ordered", "ignored"
# Names of columns that tell rows apart and nothing else, where all values differ.
ID_NAME = re.compile(r"(.*[_ -])?(id|uuid|guid|index|key|row|nr|no)|unnamed: \d+", re.IGNORECASE)
CAMEL_ID = re.compile(r".*[a-z](Id|ID|Nr|No|Key|Uuid|UUID)")
LEAST_FOR_ID = 10  # rows; few values often differ by chance
FEW_ALIKE = 0.5  # of the rows differ, where whole numbers are ids
MANY_CATEGORIES, ROWS_FOR_CATEGORY = 50, 20  # with fewer rows each, categories are told of
DASH = {"time": "times", "other": "neither numbers nor text"}


@dataclass(frozen=True)
class Wishes:
    """What a user says of the columns."""

    category: Sequence[str] = ()
    number: Sequence[str] = ()
    ordered: dict[str, list[str]] = field(default_factory=dict)
    ignore: Sequence[str] = ()

    def check(self, source: Source, taken: dict[str, str]) -> None:
        """Refuse names that are not there, and those that have two roles."""
        roles = dict(taken)
        for option, names in (
            ("--category", self.category),
            ("--number", self.number),
            ("--ordered", self.ordered),
            ("--ignore", self.ignore),
        ):
            source.check(list(names), option)
            for name in names:
                if roles.setdefault(name, option) != option:
                    raise ValueError(
                        f"{option} {name}: {roles[name]} names the same column; leave one out"
                    )


@dataclass(frozen=True)
class Told:
    """What became of a column."""

    name: str
    kind: str
    why: str
    column: Any = None  # as estimators read it; None where it is left out
    origin: Origin | None = None  # how it is read from a file, where that is not as usual
    doubt: str = ""  # what the user should look at


def read_ordered(given: Sequence[str]) -> dict[str, list[str]]:
    """COL=low,mid,high."""
    found = {}
    for each in given:
        name, sign, categories = each.partition("=")
        parts = [category.strip() for category in categories.split(",")]
        if not (sign and name and len(parts) > 1 and all(parts)):
            raise ValueError(
                f"--ordered {each}: COLUMN=LOWEST,...,HIGHEST is needed, such as size=small,large"
            )
        if len(set(parts)) < len(parts):
            raise ValueError(f"--ordered {each} names a category twice; name each once")
        found[name.strip()] = parts
    return found


def features(source: Source, others: Sequence[str], wishes: Wishes) -> list[Told]:
    """What becomes of each column that is not the target nor a weight."""
    told = [
        each
        for name in source.names
        if name not in others
        for each in told_of(source, name, wishes)
    ]
    if not any(each.column is not None for each in told):
        reasons = "; ".join(f"{each.name}: {each.why}" for each in told[:3]) or "there is none"
        raise ValueError(
            f"{source.name} has no column left to learn from ({reasons}); keep one with --number "
            "or --category"
        )
    return told


def told_of(source: Source, name: str, wishes: Wishes) -> list[Told]:
    """What becomes of one column: one feature, or several of its dates."""
    column = source.table[name]
    if name in wishes.ignore:
        return [Told(name, IGNORED, "as --ignore says")]
    if name in wishes.ordered:
        return [_ordered(source, name, wishes.ordered[name])]
    if name in wishes.category:
        return [_category(source, name, "as --category says")]
    if name in wishes.number:
        return _number(source, name)
    if source.path is None:  # what is bundled holds numbers
        return [Told(name, NUMBER, "as the bundled table says", column)]
    if is_date(column.type):
        return _dates(name, column, source.origin(name))
    return [_found(source, name, column)]


def _found(source: Source, name: str, column: Any) -> Told:
    """What a column seems to be, where nobody says it."""
    what = cells.type_name(column)
    if what in DASH:
        return Told(name, IGNORED, f"it holds {DASH[what]}")
    n_distinct = cells.n_distinct(column)
    if n_distinct == 0:
        return Told(name, IGNORED, "it is empty")
    n_missing = int(cells.missing(column).sum())
    if n_distinct == 1 and not n_missing:
        return Told(name, IGNORED, "it is constant")
    if what == "text" and source.is_inferred:
        _refuse_mixed(source, name, column)
    if n_distinct == len(column) >= LEAST_FOR_ID and _may_be_id(name, column, what):
        return Told(name, IGNORED, "all its values differ, as in an id")
    if what == "number":
        origin = source.origin(name)
        reading = PLAIN if origin is None else origin.reading
        doubt = _looks_like_id(name, column, n_distinct)
        return Told(name, NUMBER, f"it holds {reading.words()}", column, origin, doubt)
    doubt = _too_many(name, n_distinct, len(column) - n_missing)
    if what == "text":
        why = f"it holds text, {count(n_distinct, 'category')}"
        return replace(_category(source, name, why), doubt=doubt)
    if what == "truth":
        return _category(source, name, "it holds true and false")
    if column.type.ordered:
        return Told(name, ORDERED, "the file says so", column)
    return Told(name, CATEGORY, "the file says so", column, doubt=doubt)


# Ids, and too many categories


def _may_be_id(name: str, column: Any, what: str) -> bool:
    return what == "text" or (what == "number" and _is_named_id(name) and cells.is_whole(column))


def _is_named_id(name: str) -> bool:
    return ID_NAME.fullmatch(name) is not None or CAMEL_ID.fullmatch(name) is not None


def _looks_like_id(name: str, column: Any, n_distinct: int) -> str:
    """What to say of whole numbers that are named like an id and hardly repeat."""
    if not (_is_named_id(name) and cells.is_whole(column)):
        return ""
    if n_distinct < max(LEAST_FOR_ID, FEW_ALIKE * len(column)):
        return ""
    return (
        f"look here: {name!r} is named like an id and has {n_distinct:,} values in "
        f"{count(len(column), 'row')}; if it only identifies rows, give --ignore {name}"
    )


def _too_many(name: str, n_distinct: int, n_known: int) -> str:
    """What to say of categories that have few rows each."""
    if n_distinct < MANY_CATEGORIES or n_distinct * ROWS_FOR_CATEGORY < n_known:
        return ""
    return (
        f"look here: {name!r} has {n_distinct:,} categories, {n_known / n_distinct:.1f} rows each; "
        f"a model can memorize such rows; compare its score with that of --ignore {name}"
    )


# Columns of several kinds


def _refuse_mixed(source: Source, name: str, column: Any) -> None:
    """A few words among numbers are a mistake more often than not."""
    reading, fits = nearest(column)
    is_text = ~fits & ~cells.missing(column)
    n_fit, n_text = int(fits.sum()), int(is_text.sum())
    if 0 < n_text <= n_fit:
        row = int(is_text.argmax())
        what = "dates" if reading.kind == "date" else "numbers"
        raise ValueError(
            f"{source.name}: column {name!r} mixes {what} and text: {column[row].as_py()!r:.40} "
            f"{source.place(row)}, beside {count(n_fit, what[:-1])}; correct it, or give "
            f"--category {name}, --number {name} (text then counts as missing) or --ignore {name}"
        )


def nearest(column: Any) -> tuple[Reading, HostArray]:
    """The reading that most cells of a column of text allow, and which cells these are."""
    text = cells.stripped(column)
    evidence = Evidence()
    evidence.see(text)
    reading = evidence.nearest
    is_number = cells.is_number(column)
    if reading.kind == "number" and int(is_number.sum()) >= evidence.count(reading):
        return PLAIN, is_number
    return reading, fits(text, reading)


def _dates(name: str, column: Any, origin: Origin | None) -> list[Told]:
    """The parts of a column of dates, those that are all the same left out."""
    if cells.n_distinct(column) == 0:
        return [Told(name, IGNORED, "it is empty")]
    found = []
    for part, own, of_part in split_column(name, column, origin):
        if cells.n_distinct(own) == 1 and not cells.missing(own).any():
            found.append(Told(part, IGNORED, "it is constant"))
        else:
            found.append(Told(part, NUMBER, f"the {of_part.part} of dates", own, of_part))
    return found


def _category(source: Source, name: str, why: str) -> Told:
    column, origin = source.table[name], source.origin(name)
    what = cells.type_name(column)
    if is_date(column.type):
        column, origin = as_text(column), Origin(name, ISO if origin is None else origin.reading)
        what = "text"
    if what in DASH:
        raise ValueError(f"--category {name}: the column holds {DASH[what]}; use --ignore {name}")
    if what == "truth":
        column = cells.as_text(column)
    if what == "categories":
        return Told(name, CATEGORY, why, column)
    categories = cells.as_categories(column, cells.distinct(column), ordered=False)
    return Told(name, CATEGORY, why, categories, origin)


def _number(source: Source, name: str) -> list[Told]:
    column, origin = source.table[name], source.origin(name)
    if is_date(column.type):
        return _dates(name, column, origin)
    what = cells.type_name(column)
    if what in DASH:
        raise ValueError(f"--number {name}: the column holds {DASH[what]}; use --ignore {name}")
    if what != "text":
        return [Told(name, NUMBER, "as --number says", cells.as_numbers(column), origin)]
    reading, is_fit = nearest(column)
    n_lost = int((~is_fit & ~cells.missing(column)).sum())
    if not is_fit.any():
        raise ValueError(f"--number {name}: no cell of the column in {source.name} is a number")
    why = f"as --number says; {count(n_lost, 'cell')} of text treated as missing"
    reading = lenient(reading)
    found = read(cells.stripped(column), reading)
    if reading.kind == "date":
        return [replace(each, why=why) for each in _dates(name, found, Origin(name, reading))]
    return [Told(name, NUMBER, why, found, Origin(name, reading))]


def _ordered(source: Source, name: str, categories: list[str]) -> Told:
    column, origin = source.table[name], source.origin(name)
    declared: list[Any] = list(categories)
    if cells.type_name(cells.decoded(column)) == "number":
        declared = [read_value(category) for category in categories]
    else:
        column = cells.as_text(column)
    try:
        ordered = cells.as_categories(column, declared, ordered=True)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"--ordered {name}: the column does not hold {', '.join(categories)}"
        ) from error
    unknown = cells.missing(ordered) & ~cells.missing(column)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"--ordered {name}: {column[row].as_py()!r:.40} {source.place(row)} of {source.name} "
            f"is not among {', '.join(categories)}; add it where it belongs"
        )
    return Told(name, ORDERED, f"as --ordered says: {' < '.join(categories)}", ordered, origin)


# What is printed


def kinds_text(told: Sequence[Told]) -> str:
    """How many columns are of each kind; categories by name."""
    parts = []
    for kind, noun in ((NUMBER, "number"), (CATEGORY, "category"), (ORDERED, "ordered")):
        names = [each.name for each in told if each.kind == kind]
        if not names:
            continue
        plural = {"category": "categories", "ordered": "ordered"}.get(noun, f"{noun}s")
        many = f"{len(names):,} {noun if len(names) == 1 else plural}"
        parts.append(many if kind == NUMBER else f"{many} ({listed(names)})")
    return ", ".join(parts)


def ignored_text(told: Sequence[Told]) -> str:
    """The columns that are left out, and why."""
    return listed((f"{each.name} ({each.why})" for each in told if each.kind == IGNORED), most=5)
