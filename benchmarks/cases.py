"""The cases: which table, how deep, how many threads; and the suites they make up.

A case is known by its name, and any case can be asked for by a name made like these:
`200kx28-10c-d8` (rows x features, classes, depth), `1Mx28-reg-full` (regression, unlimited depth),
`1Mx28-2c-d8-t1` (one thread), `adult-d8` (a real table).
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tables import REAL_TABLES, Table, generated, real

TEST_ROWS = 100_000
MANY_TEST_ROWS = 1_000_000  # for tables of as many rows
TEST_CELLS = 28_000_000  # wide tables have fewer rows to predict

GENERATED = re.compile(
    r"(?P<rows>\d+[kM]?)x(?P<features>\d+)-(?:(?P<classes>\d+)c|reg)"
    r"-(?:d(?P<depth>\d+)|full)(?:-t(?P<threads>\d+))?"
)
REAL = re.compile(r"(?P<table>\w+)-(?:d(?P<depth>\d+)|full)(?:-t(?P<threads>\d+))?")


@dataclass(frozen=True)
class Case:
    """One table and what to grow on it."""

    name: str
    rows: int  # 0 for a real table, which has its own; so for the next two
    features: int
    classes: int  # 0 for a regression
    depth: int | None  # None for unlimited
    threads: int | None  # None for as many as the run has
    table: str | None  # name of a real table

    def load(self, folder: Path = REAL_TABLES) -> Table:
        """Make or read the table."""
        if self.table is not None:
            return real(self.table, folder)
        return generated(self.rows, self.features, self.classes, self.test_rows)

    @property
    def test_rows(self) -> int:
        n_rows = MANY_TEST_ROWS if self.rows >= MANY_TEST_ROWS else TEST_ROWS
        return min(n_rows, TEST_CELLS // self.features)


def read_case(name: str) -> Case:
    """The case of a name."""
    found = GENERATED.fullmatch(name)
    if found is not None:
        rows, features = whole(found["rows"]), int(found["features"])
        if rows and features and found["classes"] not in ("0", "1"):
            case = Case(name, rows, features, int(found["classes"] or 0), None, None, None)
            return _grown(case, found)
    found = REAL.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is neither a suite nor a case; see --list")
    return _grown(Case(name, 0, 0, 0, None, None, found["table"]), found)


def _grown(case: Case, found: re.Match[str]) -> Case:
    depth = int(found["depth"]) if found["depth"] else None
    return replace(case, depth=depth, threads=int(found["threads"]) if found["threads"] else None)


def whole(text: str) -> int:
    """1M is a million, 10k ten thousand."""
    factor = {"k": 1_000, "M": 1_000_000}.get(text[-1])
    return int(text) if factor is None else int(text[:-1]) * factor


def _cases(*names: str) -> tuple[Case, ...]:
    return tuple(read_case(name) for name in names)


def _sweep(pattern: str, values: str) -> tuple[Case, ...]:
    return _cases(*(pattern.replace("*", each) for each in values.split()))


SUITES = {
    "quick": _cases("10kx20-2c-d8", "10kx20-2c-full", "100kx28-2c-d8", "100kx28-reg-d8"),
    "headline": _cases(
        "1Mx28-2c-d8",
        "1Mx28-10c-d8",
        "1Mx28-reg-d8",
        "200kx28-2c-full",
        "100kx1000-2c-d8",
        "10kx20-2c-d8",
        "10kx20-2c-full",
        "1Mx28-2c-d8-t1",
        "1Mx28-2c-d8-t2",
    ),
    "rows": _sweep("*x28-2c-d8", "10k 30k 100k 300k 1M 3M 5M"),
    "features": _sweep("100kx*-2c-d8", "10 28 100 300 1000"),
    "classes": _sweep("200kx28-*c-d8", "2 5 10 20 50"),
    "depth": _sweep("200kx28-2c-*", "d4 d6 d8 d12 d16 full"),
    "threads": _sweep("1Mx28-2c-d8-t*", "1 2 4 8"),
    "regression": _cases("1Mx28-reg-d8", "200kx28-reg-full"),
    "real": _cases(
        "flights3m-d8",
        "kddcup99_10pct-d8",
        "cover_2v4-d8",
        "skin-d8",
        "hflights-d8",
        "diabetes130-d8",
        "covertype93k-d8",
        "covertype93k-full",
        "diamonds-d8",
        "adult-d8",
        "california_housing-d8",
    ),
}
SUITES["full"] = tuple(dict.fromkeys(case for cases in SUITES.values() for case in cases))


def read_suite(text: str) -> list[Case]:
    """The cases of names of suites and cases, separated by commas; each once."""
    cases: dict[str, Case] = {}
    for name in text.split(","):
        for case in SUITES[name] if name in SUITES else (read_case(name),):
            cases[case.name] = case
    return list(cases.values())
