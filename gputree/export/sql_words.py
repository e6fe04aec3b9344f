"""Words of SQL: quoted names, literals of numbers and categories, tests of one column.

Knows dialects and tests; must not know trees.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any

from gputree.dtypes import STAY
from gputree.export.plan import NotExportable, Plan, Test

NEVER = "1 = 0"
LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Dialect:
    """How a data base writes what not all write alike."""

    name: str
    true: str = "TRUE"
    false: str = "FALSE"
    # A test for NaN, where that is a value of its own and larger than all others.
    is_nan: str | None = None
    # Whether CASE may stand within CASE many times over: SQLite's parser takes some 20.
    nests: bool = False
    # Whether to write IN as comparisons: DuckDB may make a join of each IN.
    compares: bool = False


DIALECTS = {
    "ansi": Dialect("ansi"),
    "sqlite": Dialect("sqlite", "1", "0"),  # it turns NaN into NULL when it is stored
    "duckdb": Dialect("duckdb", is_nan="isnan({})", nests=True, compares=True),
}


def is_text(text: str) -> bool:
    """Whether SQL can hold it: no NUL, and characters that UTF-8 can write."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def named(name: str) -> str:
    """A quoted identifier."""
    if not is_text(name):
        raise NotExportable(
            f"the name {name!r} has a NUL or half a character, which SQL cannot hold; rename it"
        )
    return '"' + name.replace('"', '""') + '"'


def number(value: float) -> str:
    """A literal of double precision; without an exponent it would be a decimal to some."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


class Columns:
    """The columns of a plan in SQL, and tests of them."""

    def __init__(self, plan: Plan, dialect: Dialect) -> None:
        self.plan, self.dialect = plan, dialect
        # Through an alias: SQLite takes a quoted name that it does not know for a string.
        self.column = [f"t.{named(name)}" for name in plan.schema.names]
        self.literals = [self._literals(at) for at in range(len(self.column))]
        self.column += self._combinations()

    def _combinations(self) -> list[str]:
        """Combinations of columns, which are tested as columns are."""
        directions = self.plan.directions
        if directions is None:
            return []
        if any(self.plan.categories_of(at) for at in directions.column.tolist()):
            raise NotExportable(
                "a combination has a column of ordered categories, whose numbers SQL does not "
                "know; give numbers to the fit, or use to_python, to_c or to_json"
            )
        found = []
        for each in range(len(directions)):
            terms = zip(*(part.tolist() for part in directions.terms(each)), strict=True)
            said = [f"{self.column[at]} * {number(weight)}" for at, weight in terms]
            found.append(f"({' + '.join(said)})")
        return found

    def leads(self, test: Test, slot: int) -> str:
        """The condition that a test leads to a child; not true where the value is missing."""
        if test.slots is None:
            return self._up_to(test) if slot == test.low else self._above(test)
        return self._among(test.feature, test.categories_to(slot), test.unknown == slot)

    def leads_or_missing(self, test: Test, slot: int) -> str:
        """The same, and true where the value is missing, or as good as missing to the node."""
        categories = sorted(test.categories_to(slot) + test.categories_to(STAY))
        if not categories:
            return f"{self.column[test.feature]} IS NULL"
        return f"coalesce({self._among(test.feature, categories, False)}, {self.dialect.true})"

    def elsewhere(self, test: Test, slot: int, n_children: int) -> str:
        """The condition that it leads to any other child."""
        if test.slots is None:
            return self.leads(test, 1 - slot)
        others = [
            category
            for each in range(n_children)
            if each != slot
            for category in test.categories_to(each)
        ]
        is_unknown = test.unknown is not None and test.unknown != slot
        return self._among(test.feature, others, is_unknown)

    def is_unknown(self, feature: int) -> str:
        """The condition that a category was not seen at fit."""
        return self._among(feature, [], is_unknown=True)

    def _up_to(self, test: Test) -> str:
        column, threshold = self.column[test.feature], test.threshold
        if threshold == math.inf:
            return self._known(f"{column} IS NOT NULL", column)
        if threshold == -math.inf:
            return f"{column} < {number(-LARGEST)}"
        return f"{column} <= {number(threshold)}"

    def _above(self, test: Test) -> str:
        column, threshold = self.column[test.feature], test.threshold
        if threshold == math.inf:
            return NEVER
        if threshold == -math.inf:
            return self._known(f"{column} >= {number(-LARGEST)}", column)
        return self._known(f"{column} > {number(threshold)}", column)

    def _known(self, condition: str, column: str) -> str:
        is_nan = self.dialect.is_nan
        return condition if is_nan is None else f"{condition} AND NOT {is_nan.format(column)}"

    def _among(self, feature: int, categories: list[int], is_unknown: bool) -> str:
        """One of some categories, or with `is_unknown` none of the others: an OR would be slow."""
        column, literals = self.column[feature], self.literals[feature]
        own = [each for at, each in enumerate(literals) if (at in set(categories)) != is_unknown]
        if not own:
            return f"{column} IS NOT NULL" if is_unknown else NEVER
        if self.dialect.compares:
            sign, joint = ("<>", " AND ") if is_unknown else ("=", " OR ")
            return f"({joint.join(f'{column} {sign} {each}' for each in own)})"
        return f"{column} {'NOT ' * is_unknown}IN ({', '.join(own)})"

    def _literals(self, feature: int) -> list[str]:
        name, categories = self.plan.schema.names[feature], self.plan.categories_of(feature)
        if len({type(category) is str for category in categories}) > 1:
            raise NotExportable(
                f"column {name!r} has categories that are text and others that are not, and a "
                "column of SQL has one type; convert it to text before the fit, or use to_python "
                "or to_json"
            )
        return [self._literal(category, name) for category in categories]

    def _literal(self, category: Any, name: str) -> str:
        if type(category) is bool:
            return self.dialect.true if category else self.dialect.false
        if type(category) is int:
            return str(category)
        if type(category) is float and math.isfinite(category):
            return number(category)
        if type(category) is str and is_text(category):
            return "'" + category.replace("'", "''") + "'"
        raise NotExportable(
            f"column {name!r} has the category {category!r}, which SQL cannot write; rename it "
            "before the fit, or use to_python or to_json"
        )
