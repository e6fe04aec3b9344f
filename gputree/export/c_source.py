"""Models as C99 source that needs nothing but the standard headers.

The trees are tables that a few functions walk, so that compiling takes no longer for deep trees.
Numbers are added in the order of gputree, and exponentials are those of gputree, so the answers
are the same bits, unless a compiler fuses multiplications with additions. Knows plans and tables.
"""

import re
from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.export import plan as plans
from gputree.export.c_templates import (
    ANSWERS,
    CATEGORY_OF_NUMBER,
    CATEGORY_OF_TEXT,
    CHECKED,
    COMBINE,
    COMBINED,
    DIVIDED,
    EXP,
    HEAD,
    OUTCOME,
    PREDICT,
    SURROGATES,
    WALK,
)
from gputree.export.plan import NotExportable, Plan
from gputree.export.tables import Tables, tables_of, wrapped
from gputree.kernels import exponential
from gputree.tree.directions import Directions

UNKNOWN = {"error": 0, "missing": 1, "majority": 2}  # as in CHECKED


def to_c(plan: Plan, name: str) -> str:
    """The source of functions whose names begin with `name`."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"name={name!r} is not an identifier of C; use letters, digits and _")
    tables = tables_of(plan)
    parts = [_head(plan, name), _constants(plan, tables, name), _categories(plan, name)]
    parts.append(CHECKED)
    if plan.link != plans.IDENTITY:
        parts.append(_exp())
    parts.append(OUTCOME.replace("@SURROGATES@", SURROGATES if plan.has_surrogates else ""))
    parts += [DIVIDED if plan.is_divided else WALK, COMBINED[plan.combine]]
    predict = PREDICT.replace("@ANSWER@", ANSWERS[plan.link]).replace("@NAME@", name)
    if plan.directions is not None:
        parts += [_combinations(plan.directions), COMBINE]
        predict = predict.replace("row[N_COLUMNS]", "row[N_COLUMNS + N_COMBINATIONS]")
        predict = predict.replace("    combine(", "    add_up(row);\n    combine(")
    parts.append(predict)
    return "".join(parts)


def _combinations(directions: Directions) -> str:
    return "\n".join(
        [
            f"\n#define N_COMBINATIONS {len(directions)}",
            _whole("N_TERMS", directions.n_terms),
            _whole("TERM_COLUMN", directions.column),
            _floats("TERM_WEIGHT", directions.weight),
            "",
        ]
    )


def _head(plan: Plan, name: str) -> str:
    columns = "\n".join(
        f" *   x[{at}]: {_comment(column)}{_said_of(plan, at, name)}"
        for at, column in enumerate(plan.schema.names)
    )
    answers = "\n".join(
        f" *   answer[{at}]: {_comment(each)}" for at, each in enumerate(plan.answer_names)
    )
    filled = {"ESTIMATOR": plan.estimator, "COLUMNS": columns, "ANSWERS": answers, "NAME": name}
    # All at once, so that nothing in a name is taken for something to fill in.
    return re.sub("@([A-Z]+)@", lambda found: filled[found[1]], HEAD)


def _comment(text: str) -> str:
    """Text that cannot begin or end a comment, nor continue a line."""
    plain = text.encode("ascii", "backslashreplace").decode().replace("\\", "|")
    plain = "".join(each if each.isprintable() else " " for each in plain)
    # A lookahead, so that of three in a row no two stay together.
    return re.sub(r"\?(?=\?)|\*(?=/)|/(?=\*)|/(?=/)", r"\g<0> ", plain)


def _said_of(plan: Plan, feature: int, name: str) -> str:
    categories = plan.schema.categories[feature]
    if categories is None:
        return ""
    kind = "text" if any(type(category) is str for category in categories) else "number"
    return f" (the number of a category: {name}_level_of_{kind})"


def _constants(plan: Plan, tables: Tables, name: str) -> str:
    width = tables.value.shape[1]
    leaves = max(tree.n_leaves for tree in plan.trees)
    lines = [
        f"#define N_COLUMNS {len(plan.schema.names)}",
        f"#define N_TREES {len(plan.trees)}",
        f"#define N_OUTPUTS {plan.n_outputs}",
        f"#define WIDTH {width}",
        f"#define DIVISOR {_float(plan.divisor)}",
        f"const int {name}_n_answers = {plan.n_answers};",
    ]
    if plan.combine != plans.MEDIAN:
        lines.append(_floats("START", plan.start))
    if plan.combine == plans.SUM:
        lines.append(_whole("OUTPUT", np.array(plan.column)))
    else:
        assert plan.say is not None
        lines.append(_floats("SAY", plan.say))
    if plan.classes is not None:
        labels = [_text(str(label), "a class label") for label in plan.classes.tolist()]
        lines.append(
            f"const char *const {name}_classes[] = {{\n{wrapped(labels)}\n}};",
        )
    names = ["root", "feature", "child", "missing", "category_start", "category"]
    names += ["category_slot", "n_children" if plan.is_divided else "stop"]
    if plan.has_surrogates:
        names += ["first_surrogate", "surrogate_feature", "surrogate_slot"]
        names += ["surrogate_category_start"]
    lines += [_whole(each.upper(), getattr(tables, each)) for each in names]
    lines.append(_floats("THRESHOLD", tables.threshold))
    if plan.is_divided:
        lines += [f"#define MOST_PLACES {leaves}", _floats("SHARE", tables.share)]
    if plan.has_surrogates:
        lines.append(_floats("SURROGATE_THRESHOLD", tables.surrogate_threshold))
    lines.append(_floats("VALUE", tables.value.ravel()))
    n_categories = [
        -1 if categories is None else len(categories) for categories in plan.schema.categories
    ]
    lines.append(_whole("N_CATEGORIES", np.array(n_categories)))
    unknown = [UNKNOWN[plan.unknown_of(at)] for at in range(len(n_categories))]
    lines.append(_whole("UNKNOWN", np.array(unknown)))
    return "\n".join(lines) + "\n"


def _categories(plan: Plan, name: str) -> str:
    """Functions that look categories up, for the kinds of categories that there are."""
    texts: dict[int, list[tuple[bytes, int]]] = {}
    numbers: dict[int, list[tuple[float, int]]] = {}
    for at, categories in enumerate(plan.schema.categories):
        for number, category in enumerate(categories or ()):
            if type(category) is str:
                texts.setdefault(at, []).append((_bytes(category, _what(plan, at)), number))
            else:
                numbers.setdefault(at, []).append((_number(category, _what(plan, at)), number))
    parts = []
    if texts:
        order = {at: sorted(own) for at, own in texts.items()}  # as strcmp does
        parts.append(_lookup(order, "TEXT", _quoted, len(plan.schema.names)))
        parts.append(CATEGORY_OF_TEXT.replace("@NAME@", name))
    if numbers:
        ranked = {at: sorted(own) for at, own in numbers.items()}
        parts.append(_lookup(ranked, "NUMBER", _float, len(plan.schema.names)))
        parts.append(CATEGORY_OF_NUMBER.replace("@NAME@", name))
    return "".join(parts)


def _lookup(order: dict[int, list[tuple[Any, int]]], what: str, write: Any, n_columns: int) -> str:
    """Sorted categories of all columns one after another, with their numbers."""
    begin = np.cumsum([0, *(len(order.get(at, ())) for at in range(n_columns))])
    every = [pair for at in sorted(order) for pair in order[at]]
    written = "const char *const" if what == "TEXT" else "const double"
    entries = [write(category) for category, _ in every]
    return "\n".join(
        [
            "",
            _whole(f"FIRST_{what}", begin),
            f"static {written} {what}[] = {{\n{wrapped(entries)}\n}};",
            _whole(f"CATEGORY_OF_{what}", np.array([number for _, number in every])),
            "",
        ]
    )


def _what(plan: Plan, feature: int) -> str:
    return f"a category of column {plan.schema.names[feature]!r}"


def _bytes(text: str, what: str) -> bytes:
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = b"\0"
    if b"\0" in raw:
        raise NotExportable(
            f"{what} is {text!r}, which a string of C cannot hold; rename it, or use to_json"
        )
    return raw


def _number(category: Any, what: str) -> float:
    if type(category) not in (bool, int, float) or float(category) != category:
        raise NotExportable(
            f"{what} is {category!r}, which C holds neither as text nor as a double; convert it to "
            "text before the fit, or use to_json"
        )
    return float(category)


def _text(text: str, what: str) -> str:
    return _quoted(_bytes(text, what))


def _quoted(raw: bytes) -> str:
    """A string of C; octal escapes have three digits, so that nothing runs into them."""
    plain = set(range(32, 127)) - {ord('"'), ord("\\"), ord("?")}
    return '"' + "".join(chr(each) if each in plain else f"\\{each:03o}" for each in raw) + '"'


def _float(value: float) -> str:
    if np.isfinite(value):
        return repr(float(value))
    return "INFINITY" if value > 0 else "-INFINITY"


def _floats(name: str, values: HostArray) -> str:
    return _array(name, "double", [_float(value) for value in values.tolist()])


def _whole(name: str, values: HostArray) -> str:
    """Whole numbers in the narrowest type, as some tables are long."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    kind = "int"
    if low >= -128 and high < 128:
        kind = "signed char"
    elif low >= -(2**15) and high < 2**15:
        kind = "short"
    elif low < -(2**31) or high >= 2**31:
        kind = "long long"
    return _array(name, kind, [str(value) for value in values.tolist()])


def _array(name: str, kind: str, items: list[str]) -> str:
    return f"static const {kind} {name}[] = {{\n{wrapped(items or ['0'])}\n}};"


def _exp() -> str:
    terms = ", ".join(repr(term) for term in exponential.TERMS[1:])
    source = EXP
    for name, value in (
        ("LOWEST", exponential.LOWEST),
        ("HIGHEST", exponential.HIGHEST),
        ("LOG2_E", exponential.LOG2_E),
        ("ROUNDER", exponential.ROUNDER),
        ("LN_2_HIGH", exponential.LN_2_HIGH),
        ("LN_2_LOW", exponential.LN_2_LOW),
        ("LAST", exponential.TERMS[0]),
    ):
        source = source.replace(f"@{name}@", repr(value))
    return source.replace("@TERMS@", terms).replace("@N_TERMS@", str(len(exponential.TERMS) - 1))
