"""Models as Python source that needs nothing but Python.

The trees are tables that a few functions walk, so that a module of many trees is read as fast as
one of few. Numbers are added in the order of gputree, and exponentials are those of gputree, so
the answers are the same bits. Knows plans and tables.
"""

from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.export import plan as plans
from gputree.export.plan import NotExportable, Plan
from gputree.export.tables import Tables, tables_of, wrapped
from gputree.kernels import exponential
from gputree.tree.directions import Directions

PLAIN = (str, bytes, int, float, bool)  # what Python writes as it reads it

HEAD = '''"""A {estimator}, written by gputree.

`predict(row)` takes the values of one row, in the order of COLUMNS or as a dict; None and NaN are
missing values.{classes}
"""

import math

COLUMNS = {columns}
'''

OUTCOME = '''

def _place(category, start):
    """The entry of a category in a list, whose first is that of all it does not name."""
    low, n = start, CATEGORY[start] + 1
    while n > 1:
        half = n // 2
        if CATEGORY[low + half] <= category:
            low += half
        n -= half
    return low if CATEGORY[low] == category else start


def _outcome(value, threshold, low, start):
    """The child that a test leads to, -1 where it cannot tell."""
    if value is None:
        return -1
    if start >= 0:
        return CATEGORY_SLOT[_place(value, start)]
    return low if value <= threshold else 1 - low


def _slot(x, node):
    """The child of a row, -1 where the node cannot tell."""
    slot = _outcome(x[FEATURE[node]], THRESHOLD[node], 0, CATEGORY_START[node])
'''

SURROGATES = """    if slot < 0:
        for at in range(FIRST_SURROGATE[node], FIRST_SURROGATE[node + 1]):
            value = x[SURROGATE_FEATURE[at]]
            threshold, low = SURROGATE_THRESHOLD[at], SURROGATE_SLOT[at]
            slot = _outcome(value, threshold, low, SURROGATE_CATEGORY_START[at])
            if slot >= 0:
                break
"""

WALK = '''    return MISSING[node] if slot < 0 else slot


def _said(x, node):
    """What a tree says of a row."""
    while CHILD[node] >= 0:
        slot = _slot(x, node)
        if slot < 0:
            return VALUE[STOP[node]]
        node = CHILD[node] + slot
    return VALUE[-1 - CHILD[node]]
'''

DIVIDED = '''    return MISSING[node] if slot < 0 else slot


def _said(x, node):
    """What a tree says of a row: where a node cannot tell, all branches by their shares."""
    said = [0.0] * len(VALUE[0])
    places = [(node, 1.0)]
    while places:
        known, branches = [], []
        for node, share in places:
            child = CHILD[node]
            if child < 0:
                for output, value in enumerate(VALUE[-1 - child]):
                    said[output] += share * value
                continue
            slot = _slot(x, node)
            if slot >= 0:
                known.append((child + slot, share))
                continue
            for each in range(child, child + N_CHILDREN[node]):
                if SHARE[each] > 0.0:
                    branches.append((each, share * SHARE[each]))
        places = known + branches
    return said
'''

CODED = '''

def _coded(row):
    """The values of a row: numbers, and the numbers of categories; None where there is none."""
    if isinstance(row, dict):
        row = [row[name] for name in COLUMNS]
    if len(row) != len(COLUMNS):
        raise ValueError(f"the row has {{len(row)}} values; {{len(COLUMNS)}} are needed")
    x = []
    for name, value, categories, unknown in zip(COLUMNS, row, CATEGORIES, UNKNOWN):
        if value is None or value != value:
            x.append(None)
        elif categories is None:
            x.append(float(value))
        elif value in categories:
            x.append(categories[value])
        elif unknown == "error":
            raise ValueError(f"column {{name!r}} holds {{value!r}}, which was not seen at fit")
        else:
            x.append(unknown)
    return x
'''

COMBINED = '''

def _combined(x):
    """The values of a row, and behind them its combinations of columns."""
    found = list(x)
    for terms in COMBINATIONS:
        total = 0.0
        for column, weight in terms:
            total = math.nan if x[column] is None else total + x[column] * weight
            if total != total:
                break
        found.append(total if total == total else None)
    return found
'''

EXP = '''

def _exp(x):
    """The exponential of gputree, whose bits are the same everywhere."""
    x = min(max(x, {low!r}), {high!r})
    rounded = x * {log2_e!r} + {rounder!r}
    k = rounded - {rounder!r}
    r = (x - k * {ln2_high!r}) - k * {ln2_low!r}
    series = {last!r}
    for term in EXP_TERMS:
        series = r * series + term
    return series * math.ldexp(1.0, int(k))
'''

SUMMED = '''

def _total(x):
    """What the trees add up to."""
    total = list(START)
    for root, column in zip(ROOT, OUTPUT):
        for output, value in enumerate(_said(x, root), column):
            total[output] += value
    return {divided}
'''

VOTED = '''

def _total(x):
    """The mean say for each class."""
    total = list(START)
    others = -1.0 / max(1, len(total) - 1)
    for root, say in zip(ROOT, SAY):
        said = _said(x, root)
        best = said.index(max(said))
        for output in range(len(total)):
            total[output] += say if output == best else others * say
    return {divided}
'''

MEDIAN = '''

def _total(x):
    """The median of the trees by their say."""
    said = [_said(x, root)[0] for root in ROOT]
    order = sorted(range(len(said)), key=said.__getitem__)
    reached, total = [], 0.0
    for tree in order:
        total += SAY[tree]
        reached.append(total)
    return [next(said[tree] for tree, r in zip(order, reached) if r >= 0.5 * total)]
'''

ANSWERS = {
    plans.IDENTITY: "    return total\n",
    plans.EXPONENTIAL: "    return [_exp(total[0])]\n",
    plans.LOGISTIC: """    second = 1.0 / (1.0 + _exp(-total[0]))
    return [1.0 - second, second]
""",
    plans.SOFTMAX: """    most = max(total)
    each = [_exp(value - most) for value in total]
    volume = each[0]
    for value in each[1:]:
        volume += value
    return [value / volume for value in each]
""",
    plans.SAMME: """    if len(total) == 1:
        return [1.0]
    if len(total) == 2:
        decision = (total[1] - total[0]) / 2
        total = [-decision, decision]
    else:
        total = [value / (len(total) - 1) for value in total]
    most = max(total)
    each = [_exp(value - most) for value in total]
    return [value / sum(each) for value in each]
""",
}

ANSWER = '''

def {name}(row):
    """{doc}"""
    total = _total({x})
'''

LABEL = '''

def predict(row):
    """The most probable class of a row."""
    shares = predict_proba(row)
    return CLASSES[shares.index(max(shares))]
'''


def to_python(plan: Plan) -> str:
    """The source of a module."""
    tables = tables_of(plan)
    is_classes = plan.classes is not None
    said = "\n`predict_proba(row)` gives the probability of each of CLASSES." if is_classes else ""
    columns = _listed([repr(name) for name in plan.schema.names])
    parts = [HEAD.format(estimator=plan.estimator, classes=said, columns=columns)]
    parts += [_constants(plan, tables), CODED.format()]
    if plan.directions is not None:
        parts.append(COMBINED)
    if plan.link != plans.IDENTITY:
        parts.append(_exp_source())
    parts += [_walk_source(plan), _total_source(plan), _answer_source(plan)]
    return "".join(parts)


def _constants(plan: Plan, tables: Tables) -> str:
    lines = []
    if plan.classes is not None:
        labels = plan.classes.tolist()
        lines.append(f"CLASSES = {_listed([_literal(label, 'a class label') for label in labels])}")
    lines.append(
        f"CATEGORIES = {_listed([_categories(plan, at) for at in range(len(plan.schema.names))])}"
    )
    unknown = [repr(_unknown(plan, at)) for at in range(len(plan.schema.names))]
    lines.append(
        f"UNKNOWN = {_listed(unknown)}  # what categories become that were not seen at fit"
    )
    if plan.combine != plans.MEDIAN:
        lines.append(f"START = {_floats(plan.start)}")
    if plan.combine == plans.SUM:
        lines.append(f"OUTPUT = {_whole(np.array(plan.column))}")
    else:
        assert plan.say is not None
        lines.append(f"SAY = {_floats(plan.say)}")
    names = ["root", "feature", "child", "missing", "category_start", "category"]
    names += ["category_slot", "n_children" if plan.is_divided else "stop"]
    if plan.has_surrogates:
        names += ["first_surrogate", "surrogate_feature", "surrogate_slot"]
        names += ["surrogate_category_start"]
    lines += [f"{name.upper()} = {_whole(getattr(tables, name))}" for name in names]
    lines.append(f"THRESHOLD = {_floats(tables.threshold)}")
    if plan.is_divided:
        lines.append(f"SHARE = {_floats(tables.share)}")
    if plan.has_surrogates:
        lines.append(f"SURROGATE_THRESHOLD = {_floats(tables.surrogate_threshold)}")
    lines.append(f"VALUE = {_listed([_floats(row) for row in tables.value])}")
    if plan.directions is not None:
        lines.append(f"COMBINATIONS = {_listed(_combinations(plan.directions))}")
    if plan.link != plans.IDENTITY:
        lines.append(f"EXP_TERMS = {_floats(np.array(exponential.TERMS[1:]))}")
    return "\n".join(lines) + "\n"


def _walk_source(plan: Plan) -> str:
    surrogates = SURROGATES if plan.has_surrogates else ""
    return OUTCOME + surrogates + (DIVIDED if plan.is_divided else WALK)


def _total_source(plan: Plan) -> str:
    divided = "total"
    if plan.divisor != 1.0:
        divided = f"[value / {plan.divisor!r} for value in total]"
    if plan.combine == plans.MEDIAN:
        return MEDIAN
    return (VOTED if plan.combine == plans.VOTES else SUMMED).format(divided=divided)


def _answer_source(plan: Plan) -> str:
    x = "_coded(row)" if plan.directions is None else "_combined(_coded(row))"
    if plan.classes is not None:
        doc = "The probability of each class of a row."
        return ANSWER.format(name="predict_proba", doc=doc, x=x) + ANSWERS[plan.link] + LABEL
    if plan.n_answers == 1:
        body = ANSWERS[plan.link].replace("return total", "return total[0]")
        body = body.replace("return [_exp(total[0])]", "return _exp(total[0])")
        return ANSWER.format(name="predict", doc="The prediction of a row.", x=x) + body
    doc = "The predictions of a row."
    return ANSWER.format(name="predict", doc=doc, x=x) + ANSWERS[plan.link]


def _exp_source() -> str:
    return EXP.format(
        low=exponential.LOWEST,
        high=exponential.HIGHEST,
        log2_e=exponential.LOG2_E,
        rounder=exponential.ROUNDER,
        ln2_high=exponential.LN_2_HIGH,
        ln2_low=exponential.LN_2_LOW,
        last=exponential.TERMS[0],
    )


def _combinations(directions: Directions) -> list[str]:
    """Columns and weights of each combination."""
    found = []
    for number in range(len(directions)):
        column, weight = (part.tolist() for part in directions.terms(number))
        pairs = zip(column, weight, strict=True)
        found.append(_listed([f"({at}, {_float(factor)})" for at, factor in pairs]))
    return found


def _categories(plan: Plan, feature: int) -> str:
    categories = plan.schema.categories[feature]
    if categories is None:
        return "None"
    what = f"a category of column {plan.schema.names[feature]!r}"
    entries = [
        f"{_literal(category, what)}: {number}" for number, category in enumerate(categories)
    ]
    return "{\n" + wrapped(entries, indent=" " * 8) + "\n    }" if entries else "{}"


def _unknown(plan: Plan, feature: int) -> Any:
    if plan.schema.categories[feature] is None:
        return None
    unknown = plan.unknown_of(feature)
    categories = plan.categories_of(feature)
    return {"error": "error", "missing": None, "majority": len(categories)}[unknown]


def _literal(value: Any, what: str) -> str:
    if type(value) not in PLAIN:
        raise NotExportable(
            f"{what} is a {type(value).__name__}, which Python source cannot hold; convert it to "
            "text or a number before the fit, or use to_json"
        )
    return _float(value) if isinstance(value, float) else repr(value)


def _float(value: float) -> str:
    if np.isfinite(value):
        return repr(float(value))
    return "math.inf" if value > 0 else "-math.inf" if value < 0 else "math.nan"


def _floats(values: HostArray) -> str:
    return _listed([_float(value) for value in values.tolist()])


def _whole(values: HostArray) -> str:
    return _listed([str(value) for value in values.tolist()])


def _listed(items: list[str]) -> str:
    """A tuple; in several lines, if it is long."""
    if not items:
        return "()"
    short = f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return short if len(short) < 80 and "\n" not in short else f"(\n{wrapped(items)}\n)"
