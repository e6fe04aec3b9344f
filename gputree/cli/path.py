"""The path of a row through a tree, as a sentence.

Knows single trees and rules; must not know what else is printed.
"""

from typing import Any

import numpy as np

from gputree.cli import cells
from gputree.cli.models import is_ensemble
from gputree.cli.output import a
from gputree.tree.describe import Answers, Branches, columns_of

DECIMALS = 4


def sentences(model: Any, X: Any, numbers: list[int]) -> list[str]:
    """One sentence per row; `numbers` are the row numbers to print."""
    if is_ensemble(model):
        raise ValueError(
            f"{a(type(model).__name__)} has many trees and no single path; leave --path out"
        )
    if hasattr(model, "rules_"):
        lines = model.export_text(decimals=DECIMALS).splitlines()
        return [
            f"row {number}: {lines[at]}"
            for number, at in zip(numbers, model.apply(X).tolist(), strict=True)
        ]
    tree, schema = model.nodes_, model.schema_
    columns = columns_of(tree, schema.names, schema.categories, schema.has_missing)
    names, categories, has_missing = columns
    branches = Branches(tree, names, categories, DECIMALS, has_missing)
    classes = [str(label) for label in model.classes_] if hasattr(model, "classes_") else None
    answers = Answers(tree, classes)
    return [
        _sentence(branches, answers, X, row, leaf, number)
        for row, (number, leaf) in enumerate(zip(numbers, model.apply(X).tolist(), strict=True))
    ]


def _sentence(
    branches: Branches, answers: Answers, X: Any, row: int, leaf: int, number: int
) -> str:
    tree = branches.tree
    steps = []
    node = leaf
    while node:
        parent = int(tree.parent[node])
        slot = node - int(tree.first_child[parent])
        step = f"{branches.name(parent)} {branches.outcome(parent, slot)}"
        feature = int(tree.feature[parent])
        if tree.directions is None or feature < tree.directions.n_columns:
            step += f" (it is {_value(X, row, feature)})"
        steps.append(step)
        node = parent
    why = " and ".join(reversed(steps)) or "the tree is a single leaf"
    return f"row {number}: {answers.leaf(leaf, DECIMALS)}, because {why}"


def _value(X: Any, row: int, feature: int) -> str:
    if isinstance(X, np.ndarray):
        value = X[row, feature]
    else:
        value = cells.decoded(X.column(feature))[row].as_py()
    if value is None or value != value:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
