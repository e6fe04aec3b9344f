"""Who is better by more than noise, and the page that tells.

Differences are paired: both models saw the same rows. The parts that seeds draw overlap, so that
their spread says too little of what other rows would give; the standard error is the corrected one
of Nadeau and Bengio (Inference for the generalization error, 2003). A difference counts if its 95%
interval by Student's t leaves out 0.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

HELD_OUT = 0.2  # the share of the rows
CONFIDENCE = 0.95
OURS = "gputree"
SMALLER_IS_BETTER = ("log loss", "Brier score")
# What each contest is judged by; tables of numbers have R² only.
MEASURES = {
    "forest": ("Brier score", "accuracy", "R²"),
    "leaf-wise": ("log loss", "accuracy", "R²"),
    "depth-wise": ("log loss", "accuracy", "R²"),
}
TITLES = {
    "forest": "Random forests of 100 trees",
    "leaf-wise": "Boosting, 200 rounds, rate 0.1, 31 leaves",
    "depth-wise": "Boosting, 200 rounds, rate 0.1, depth 6",
}

BY_HAND = "## Where gputree is behind\n"

INTRODUCTION = """\
# Held-out quality

How well forests and boosting predict rows they have not seen, on {n_tables} real tables, beside
other libraries ({libraries}). This page is written by

```sh
pip install -e ".[bench]"
python benchmarks/quality.py --seeds {seeds} --out quality.json
python benchmarks/quality.py --markdown quality.json --page docs/quality.md
```

from a folder of Parquet files (`--data`).

## How it is measured

- **The same budget for all**: the number of trees, the rate, and leaves or depth. All else is each
  library's own default, gputree's too. Two of gputree's were set after a first look at some of
  these tables, both to what LightGBM does: the hessian of more than two classes, and no added
  ridge for up to four categories.
- **The same rows for all**: each of {seeds} seeds holds out another fifth of the rows. Tables with
  more than {rows:,} rows are cut to so many, drawn once.
- **Categories and missing values** go to every library as it takes them: gputree, LightGBM and
  XGBoost get both as they are. scikit-learn's forest gets NaN, and categories by their numbers or,
  for columns of up to 16 categories, a column per category.
- **Measures**: log loss and accuracy of classes, R² of numbers. A forest of full trees often rules
  a class out, which makes its log loss infinite; its shares are judged by the Brier score, summed
  over classes.
- **Difference** is to the best of the others, chosen by its mean *after* all were measured, which
  favours them a little. Above 0 gputree is better, whichever way the measure goes. Behind ± is the
  standard error of the mean of paired differences, corrected for parts that overlap (Nadeau and
  Bengio 2003). *Better* and *worse* are outside of 95% by Student's t; all else is *even*. Of
  comparisons of equals about 1 in 40 is called worse all the same."""


@dataclass(frozen=True)
class Verdict:
    """gputree beside the best of the others by one measure."""

    measure: str
    means: dict[str, float]  # of all contestants
    who: str  # the best of the others
    ahead: float  # how much better gputree is, in the mean
    error: float  # its standard error
    word: str  # 'better', 'worse' or 'even'


def verdict(measure: str, scores: dict[str, dict[str, list[float]]]) -> Verdict:
    """`scores` has those of each contestant by measure and seed."""
    sign = -1.0 if measure in SMALLER_IS_BETTER else 1.0
    mean = {name: float(np.mean(each[measure])) for name, each in scores.items()}
    who = max((name for name in mean if name != OURS), key=lambda name: sign * mean[name])
    apart = sign * (np.array(scores[OURS][measure]) - np.array(scores[who][measure]))
    ahead, error = float(apart.mean()), standard_error(apart)
    bound = error * float(student.ppf(0.5 + CONFIDENCE / 2.0, len(apart) - 1))
    word = "better" if ahead > bound else "worse" if ahead < -bound else "even"
    return Verdict(measure, mean, who, ahead, error, word)


def standard_error(apart: Any) -> float:
    """Of the mean of paired differences on overlapping parts of one table."""
    n = len(apart)
    if n < 2:
        return float("nan")
    return float(np.sqrt((1.0 / n + HELD_OUT / (1.0 - HELD_OUT)) * np.var(apart, ddof=1)))


def verdicts(
    contest: str, table: dict[str, Any], others: Iterable[str] | None = None
) -> list[Verdict]:
    """One for each measure that a table has, beside some of the others or all."""
    scores = table["scores"].get(contest, {})
    if others is not None:
        scores = {name: scores[name] for name in (OURS, *others) if name in scores}
    if OURS not in scores or len(scores) < 2:
        return []
    measures = [measure for measure in MEASURES[contest] if measure in scores[OURS]]
    return [verdict(measure, scores) for measure in measures]


def lines(name: str, table: dict[str, Any]) -> list[str]:
    """A table in plain text."""
    return [
        f"{name:20}{contest:12}{each.measure:12} {each.means[OURS]:.4f}  "
        f"{each.who} {each.means[each.who]:.4f}  "
        f"{each.ahead:+.4f} ± {each.error:.4f}  {each.word}"
        for contest in table["scores"]
        for each in verdicts(contest, table)
    ]


def read(paths: Iterable[Path]) -> dict[str, Any]:
    """Several files as one; contests of a table may be in files of their own."""
    merged: dict[str, Any] = {"tables": {}}
    for path in paths:
        found = json.loads(path.read_text(encoding="utf-8"))
        merged["setting"], merged["libraries"] = found["setting"], found["libraries"]
        for name, table in found["tables"].items():
            known = merged["tables"].setdefault(name, table | {"scores": {}})
            known["scores"] |= table["scores"]
    return merged


def write(results: dict[str, Any], page: Path) -> None:
    """The page with these results; what was written below its last heading by hand stays."""
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    _, heading, by_hand = old.partition(BY_HAND)
    kept = "\n" + heading + by_hand if heading else ""
    page.write_text(text(results) + kept, encoding="utf-8")


def text(results: dict[str, Any]) -> str:
    """All of the page that can be told from results."""
    tables = results["tables"]
    known = {name: version for name, version in results["libraries"].items() if version}
    parts = [
        INTRODUCTION.format(
            n_tables=len(tables),
            libraries=", ".join(f"{name} {known[name]}" for name in known),
            **results["setting"],
        ),
        "## The tables",
        table_of_tables(tables),
    ]
    for contest, title in TITLES.items():
        rows = [(name, each) for name in tables for each in verdicts(contest, tables[name])]
        if rows:
            parts += [f"## {title}", summary(rows), against_each(contest, tables)]
            parts.append(contest_table(contest, tables))
    return "\n\n".join(parts) + "\n"


def table_of_tables(tables: dict[str, Any]) -> str:
    head = ["table", "classes", "rows", "features", "nominal", "missing cells"]
    rows = [head, ["---"] * len(head)]
    for name, table in tables.items():
        numbers = [f"{table[each]:,}" for each in ("rows", "features", "nominal", "missing")]
        rows.append([name, str(table["classes"] or "numbers"), *numbers])
    return as_markdown(rows)


def as_markdown(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def summary(rows: list[tuple[str, Verdict]]) -> str:
    """How often gputree is better, and where it is worse."""
    words = Counter(each.word for _, each in rows)
    worse = [f"{name} ({each.measure})" for name, each in rows if each.word == "worse"]
    higher = sum(each.ahead > 0 for _, each in rows)
    told = (
        f"Beside the best of the others gputree is better in {words['better']} of {len(rows)} "
        f"comparisons, even in {words['even']} and worse in {words['worse']}; its mean is the "
        f"higher one in {higher}."
    )
    return told + (f" Worse: {', '.join(worse)}." if worse else "")


def against_each(contest: str, tables: dict[str, Any]) -> str:
    """The same beside one library at a time, which favours none."""
    told = []
    for peer in peers(contest, tables):
        words = Counter(
            each.word for table in tables.values() for each in verdicts(contest, table, (peer,))
        )
        told.append(
            f"{peer}: {words['better']} better, {words['even']} even, {words['worse']} worse"
        )
    return "One at a time: " + "; ".join(told) + "."


def peers(contest: str, tables: dict[str, Any]) -> list[str]:
    """All who take part in a contest but gputree."""
    found = {name: None for table in tables.values() for name in table["scores"].get(contest, ())}
    return [name for name in found if name != OURS]


def contest_table(contest: str, tables: dict[str, Any]) -> str:
    names = [OURS, *peers(contest, tables)]
    head = ["table", "measure", *names, "difference", ""]
    rows = [head, ["---"] * len(head)]
    for name, table in tables.items():
        for each in verdicts(contest, table):
            means = [f"{each.means[who]:.4f}" if who in each.means else "" for who in names]
            apart = f"{each.ahead:+.4f} ± {each.error:.4f}"
            rows.append([name, each.measure, *means, apart, each.word])
    return as_markdown(rows)
