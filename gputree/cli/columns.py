"""What the columns of a training table are: numbers, categories, ordered, or left out, and why.

Knows columns and what a user says of them; must not know estimators.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gputree.cli import cells
from gputree.cli.output import count, listed
from gputree.cli.settings import read_value
from gputree.cli.sources import Source

NUMBER, CATEGORY, ORDERED, IGNORED = "number", "category", "ordered", "ignored"
# Names of columns that tell rows apart and nothing else, where all values differ.
ID_NAME = re.compile(r"(.*[_ -])?(id|uuid|guid|index|key|row|nr|no)|unnamed: \d+", re.IGNORECASE)
LEAST_FOR_ID = 10  # rows; few values often differ by chance
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
    told = [told_of(source, name, wishes) for name in source.names if name not in others]
    if not any(each.column is not None for each in told):
        reasons = "; ".join(f"{each.name}: {each.why}" for each in told[:3]) or "there is none"
        raise ValueError(
            f"{source.name} has no column left to learn from ({reasons}); keep one with --number "
            "or --category"
        )
    return told


def told_of(source: Source, name: str, wishes: Wishes) -> Told:
    """What becomes of one column."""
    column = source.table[name]
    if name in wishes.ignore:
        return Told(name, IGNORED, "as --ignore says")
    if name in wishes.ordered:
        return _ordered(source, name, wishes.ordered[name])
    if name in wishes.category:
        return _category(name, column, "as --category says")
    if name in wishes.number:
        return _number(source, name, column)
    if source.path is None:  # what is bundled holds numbers
        return Told(name, NUMBER, "as the bundled table says", column)
    return _found(source, name, column)


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
    if n_distinct == len(column) >= LEAST_FOR_ID and _may_be_id(name, column, what):
        return Told(name, IGNORED, "all its values differ, as in an id")
    if what == "number":
        return Told(name, NUMBER, "it holds numbers", column)
    if what == "text":
        if source.is_inferred:
            _refuse_mixed(source, name, column)
        return _category(name, column, f"it holds text, {count(n_distinct, 'category')}")
    if what == "truth":
        return _category(name, cells.as_text(column), "it holds true and false")
    if column.type.ordered:
        return Told(name, ORDERED, "the file says so", column)
    return Told(name, CATEGORY, "the file says so", column)


def _may_be_id(name: str, column: Any, what: str) -> bool:
    if what == "text":
        return True
    return what == "number" and ID_NAME.fullmatch(name) is not None and cells.is_whole(column)


def _refuse_mixed(source: Source, name: str, column: Any) -> None:
    """A few words among numbers are a mistake more often than not."""
    is_number = cells.is_number(column)
    is_text = ~is_number & ~cells.missing(column)
    n_numbers, n_text = int(is_number.sum()), int(is_text.sum())
    if 0 < n_text <= n_numbers:
        row = int(is_text.argmax())
        raise ValueError(
            f"{source.name}: column {name!r} mixes numbers and text: {column[row].as_py()!r:.40} "
            f"{source.place(row)}, beside {count(n_numbers, 'number')}; correct it, or give "
            f"--category {name}, --number {name} (text then counts as missing) or --ignore {name}"
        )


def _category(name: str, column: Any, why: str) -> Told:
    what = cells.type_name(column)
    if what in DASH:
        raise ValueError(f"--category {name}: the column holds {DASH[what]}; use --ignore {name}")
    if what == "truth":
        column = cells.as_text(column)
    if what == "categories":
        return Told(name, CATEGORY, why, column)
    return Told(
        name, CATEGORY, why, cells.as_categories(column, cells.distinct(column), ordered=False)
    )


def _number(source: Source, name: str, column: Any) -> Told:
    what = cells.type_name(column)
    if what in DASH:
        raise ValueError(f"--number {name}: the column holds {DASH[what]}; use --ignore {name}")
    numbers = cells.as_numbers(column)
    n_lost = int(cells.missing(numbers).sum() - cells.missing(column).sum())
    why = "as --number says"
    if n_lost:
        why += f"; {count(n_lost, 'cell')} of text treated as missing"
    if n_lost and cells.missing(numbers).all():
        raise ValueError(f"--number {name}: no cell of the column in {source.name} is a number")
    return Told(name, NUMBER, why, numbers)


def _ordered(source: Source, name: str, categories: list[str]) -> Told:
    column = source.table[name]
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
    return Told(name, ORDERED, f"as --ordered says: {' < '.join(categories)}", ordered)


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
