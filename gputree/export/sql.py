"""Models as a SELECT: a CASE for each tree and answer.

A flat CASE lists leaves with the conditions of their branches. The branch that takes missing values
comes last and has no condition: whatever has not gone elsewhere goes there, NULL too. So a leaf
needs the conditions of the other branches on its way alone. Knows plans.
"""

from collections.abc import Iterable, Iterator

from gputree.dtypes import STAY, HostArray
from gputree.export import plan as plans
from gputree.export.plan import NotExportable, Plan, surrogates_at, test_at
from gputree.export.sql_words import DIALECTS, Columns, named, number
from gputree.tree.tree import Tree

MOST_CHAINED = 400  # sums in the order of the trees; data bases take expressions some 1000 deep
RAW = "gputree_raw_"


def to_sql(plan: Plan, table: str, dialect: str, keep: Iterable[str]) -> str:
    """A SELECT of what is kept and of the answers."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is unknown; choose from {sorted(DIALECTS)}")
    if isinstance(keep, str):
        raise ValueError(f"keep={keep!r} is one text; give a list of names")
    plan.refuse_median("SQL")
    if plan.combine == plans.VOTES:
        raise NotExportable(
            "SQL cannot count the votes of trees that divide rows; fit the estimator of "
            f"{plan.estimator} with missing='direction', or use to_python, to_c or to_json"
        )
    columns = Columns(plan, DIALECTS[dialect])
    raw = [_checked(columns, _sum(columns, output)) for output in range(plan.n_outputs)]
    kept = [named(name) for name in keep]
    answers = [named(name) for name in plan.answer_names]
    source = f"FROM {named(table)} AS t"
    if plan.link == plans.IDENTITY:
        return _select([f"t.{name}" for name in kept], raw, answers, source)
    if any(name.strip('"').lower().startswith(RAW) for name in kept):
        raise ValueError(
            f"keep: names that begin with {RAW} are reserved for the SELECT itself; rename"
        )
    # Not indented: a name or a category may hold a line break, which is part of it.
    inner = _select([f"t.{name}" for name in kept], raw, _raw_names(plan), source)
    return _select(kept, _linked(plan), answers, f"FROM (\n{inner}) AS raw")


def _select(kept: list[str], expressions: list[str], names: list[str], source: str) -> str:
    entries = [
        *kept,
        *(f"{each} AS {name}" for each, name in zip(expressions, names, strict=True)),
    ]
    return "SELECT\n  " + ",\n  ".join(entries) + f"\n{source}\n"


def _raw_names(plan: Plan) -> list[str]:
    return [f"{RAW}{output}" for output in range(plan.n_outputs)]


def _linked(plan: Plan) -> list[str]:
    raw, one = _raw_names(plan), number(1.0)
    if plan.link == plans.EXPONENTIAL:
        return [f"exp({raw[0]})"]
    if plan.link == plans.LOGISTIC:
        return [f"{one} - {one} / ({one} + exp(-{raw[0]}))", f"{one} / ({one} + exp(-{raw[0]}))"]
    # With the differences to the class itself, no exponential of a large number hides the others.
    scale = "" if plan.link == plans.SOFTMAX else f" / {number(max(1, len(raw) - 1))}"
    return [
        f"{one} / ({' + '.join(f'exp(({each} - {own}){scale})' for each in raw)})" for own in raw
    ]


def _checked(columns: Columns, expression: str) -> str:
    """NULL where a category is refused that was not seen at fit."""
    plan = columns.plan
    with_categories = [
        at for at, categories in enumerate(plan.schema.categories) if categories is not None
    ]
    if plan.schema.unknown != "error" or not with_categories:
        return expression
    unknown = " OR ".join(columns.is_unknown(at) for at in with_categories)
    return f"CASE WHEN {unknown} THEN NULL ELSE {expression} END"


def _sum(columns: Columns, output: int) -> str:
    """What the trees add up to for an output."""
    plan = columns.plan
    terms = [number(plan.start[output])] if plan.start[output] else []
    for tree, value, first in zip(plan.trees, plan.values, plan.column, strict=True):
        if first <= output < first + value.shape[1]:
            said = value[:, output - first]
            terms.append(
                _divided(columns, tree, said) if plan.is_divided else _case(columns, tree, said)
            )
    total = " +\n    ".join(terms) if len(terms) <= MOST_CHAINED else _balanced(terms)
    if plan.divisor == 1.0:
        return total
    return f"({total}) / {number(plan.divisor)}"


def _balanced(terms: list[str]) -> str:
    """A sum that is not deep."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return f"({_balanced(terms[:middle])} + {_balanced(terms[middle:])})"


def _case(columns: Columns, tree: Tree, said: HostArray) -> str:
    if columns.dialect.nests:
        return _nested(columns, tree, said)
    *leaves, (_, last) = _leaves(columns, tree)
    if not leaves:
        return number(said[last])
    lines = [f"WHEN {' AND '.join(way)} THEN {number(said[node])}" for way, node in leaves]
    lines.append(f"ELSE {number(said[last])}")
    return "CASE\n      " + "\n      ".join(lines) + " END"


def _nested(columns: Columns, tree: Tree, said: HostArray) -> str:
    """A CASE within a CASE: shorter, where the data base takes it."""
    expression = [number(value) for value in said.tolist()]
    for node in reversed(range(tree.n_nodes)):  # children are numbered after their parents
        if tree.is_leaf[node]:
            continue
        first = int(tree.first_child[node])
        others, last = _branches(columns, tree, node)
        whens = " ".join(f"WHEN {is_so} THEN {expression[first + slot]}" for is_so, slot in others)
        rest = expression[node if last is None else first + last]
        expression[node] = f"CASE {whens} ELSE {rest} END"
    return expression[0]


def _leaves(columns: Columns, tree: Tree) -> Iterator[tuple[tuple[str, ...], int]]:
    """Where rows end, each with the conditions that tell it from those after it."""
    pending: list[tuple[tuple[str, ...], int, bool]] = [((), 0, False)]
    while pending:
        way, node, is_end = pending.pop()
        if is_end or tree.is_leaf[node]:
            yield way, node
            continue
        first = int(tree.first_child[node])
        others, last = _branches(columns, tree, node)
        # The first branch is to come out of the stack first.
        pending.append((way, node if last is None else first + last, last is None))
        pending += [((*way, is_so), first + slot, False) for is_so, slot in reversed(others)]


def _branches(columns: Columns, tree: Tree, node: int) -> tuple[list[tuple[str, int]], int | None]:
    """The children with conditions, and who takes the rest, None for the node itself."""
    missing = int(tree.missing_slot[node])
    test = test_at(columns.plan, tree, node)
    rest = None if missing == STAY else missing
    slots = [slot for slot in range(int(tree.n_children[node])) if slot != rest]
    surrogates = list(surrogates_at(columns.plan, tree, node))
    if not surrogates and rest is not None and test.unknown not in (None, rest):
        # Those who were not seen at fit go elsewhere than missing values: they are the rest.
        slots = [slot for slot in (*slots, rest) if slot != test.unknown]
        is_so = [
            columns.leads_or_missing(test, slot) if slot == rest else columns.leads(test, slot)
            for slot in slots
        ]
        return list(zip(is_so, slots, strict=True)), test.unknown
    if not surrogates:
        return [(columns.leads(test, slot), slot) for slot in slots], rest
    outcomes = " ".join(
        f"WHEN {columns.leads(each, slot)} THEN {slot}"
        for each in (test, *surrogates)
        for slot in (0, 1)
    )
    decided = f"CASE {outcomes} ELSE {-1 if rest is None else rest} END"
    return [(f"{decided} = {slot}", slot) for slot in slots], rest


def _divided(columns: Columns, tree: Tree, said: HostArray) -> str:
    """The sum over all leaves of their values by the share of the row that gets there."""
    share = tree.share
    expression = [number(value) for value in said.tolist()]
    for node in reversed(range(tree.n_nodes)):  # children are numbered after their parents
        if tree.is_leaf[node]:
            continue
        first, n = int(tree.first_child[node]), int(tree.n_children[node])
        test = test_at(columns.plan, tree, node)
        parts = [
            f"CASE WHEN {columns.leads(test, slot)} THEN {number(1.0)} "
            f"WHEN {columns.elsewhere(test, slot, n)} THEN {number(0.0)} "
            f"ELSE {number(share[first + slot])} END * {expression[first + slot]}"
            for slot in range(n)
        ]
        expression[node] = _balanced(parts)
    return expression[0]
