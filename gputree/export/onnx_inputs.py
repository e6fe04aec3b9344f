"""The inputs of an ONNX model, and how they become a table of numbers.

Categories become their numbers. Where they are unordered, a missing value is MISSING, since sets
know no NaN. Knows plans.
"""

from typing import Any

import numpy as np

from gputree.data.table import Kind
from gputree.export.onnx_graph import ML, Graph
from gputree.export.plan import NotExportable, Plan

MISSING = -1.0  # the number of an unordered category that is missing
RESERVED = ("probabilities", "label", "prediction")


def read_inputs(graph: Graph, plan: Plan, missing_text: str) -> tuple[str, str | None]:
    """The table, (rows, columns); and which rows are refused, (rows, 1), where some may be."""
    names, kinds = plan.schema.names, graph.onnx.TensorProto
    if all(kind is Kind.NUMERIC for kind in plan.schema.kinds):
        return graph.input("X", kinds.DOUBLE, [None, len(names)]), None
    columns, refused = [], None
    for feature, name in enumerate(names):
        if not name or name in RESERVED or name.startswith("gputree."):
            raise NotExportable(
                f"column {name!r} cannot be an input of ONNX, whose names are taken; rename it"
            )
        categories = plan.schema.categories[feature]
        if categories is None:
            columns.append(graph.input(name, kinds.DOUBLE, [None, 1]))
            continue
        number = _numbered(graph, plan, feature, missing_text)
        columns.append(number)
        if plan.unknown_of(feature) == "error":
            unknown = graph.constant(np.array(float(len(categories))))
            own = graph.add("Equal", number, unknown)
            refused = own if refused is None else graph.add("Or", refused, own)
    return graph.add("Concat", *columns, axis=1), refused


def with_combinations(graph: Graph, plan: Plan, table: str) -> str:
    """The table with a column for each combination of columns that is tested.

    One operation for each place of a term: products and sums are rounded one by one, as the model
    has them, and a matrix product would make combinations missing for columns that they lack.
    """
    directions = plan.directions
    if directions is None:
        return table
    terms = [directions.terms(number) for number in range(len(directions))]
    total = ""
    for place in range(int(directions.n_terms.max())):
        has_term = np.array([place < len(column) for column, _ in terms])
        column = [own[place] if place < len(own) else 0 for own, _ in terms]
        weight = [own[place] if place < len(own) else 0.0 for _, own in terms]
        value = graph.add("Gather", table, graph.constant(np.array(column, np.int64)), axis=1)
        value = graph.add("Mul", value, graph.constant(np.array(weight, np.float64)))
        if not place:
            total = value
            continue
        more = graph.add("Add", total, value)
        total = graph.add("Where", graph.constant(has_term), more, total)
    joined: str = graph.add("Concat", table, total, axis=1)
    return joined


def _numbered(graph: Graph, plan: Plan, feature: int, missing_text: str) -> str:
    """The numbers of the categories of a column."""
    name, categories = plan.schema.names[feature], plan.categories_of(feature)
    missing = np.nan if plan.schema.kinds[feature] is Kind.ORDINAL else MISSING
    unknown = missing if plan.unknown_of(feature) == "missing" else float(len(categories))
    numbers = np.arange(float(len(categories)))
    kinds = graph.onnx.TensorProto
    if categories and all(type(category) is str for category in categories):
        if missing_text in categories:
            raise NotExportable(
                f"missing_text={missing_text!r} is a category of column {name!r}; give another "
                "text that stands for missing values"
            )
        keys = np.array([*categories, missing_text], object)
        column = graph.input(name, kinds.STRING, [None, 1])
        return _encoded(graph, column, keys, np.append(numbers, missing), unknown)
    keys = np.array([_number(category, name) for category in categories], np.float64)
    column = graph.input(name, kinds.DOUBLE, [None, 1])
    if not categories:  # whatever there is, it was not seen
        keys, numbers = np.zeros(1), np.array([unknown])
    number = _encoded(graph, column, keys, numbers, unknown)
    return graph.add("Where", graph.add("IsNaN", column), graph.constant(np.array(missing)), number)


def _encoded(graph: Graph, column: str, keys: Any, numbers: Any, unknown: float) -> str:
    encoded: str = graph.add(
        "LabelEncoder",
        column,
        domain=ML,
        keys_tensor=graph.tensor(keys),
        values_tensor=graph.tensor(numbers),
        default_tensor=graph.tensor(np.array([unknown])),
    )
    return encoded


def _number(category: Any, name: str) -> float:
    if type(category) not in (bool, int, float) or float(category) != category:
        raise NotExportable(
            f"column {name!r} has the category {category!r}; categories for ONNX are all text, or "
            "all numbers that a double holds; convert them before the fit, or use to_json"
        )
    return float(category)
