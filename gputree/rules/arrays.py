"""Rules as flat arrays, for files, and back with everything checked."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeVar

import numpy as np

from gputree.data.schema import Schema
from gputree.dtypes import HostArray
from gputree.errors import ModelFileError
from gputree.rules.condition import Condition, Sign
from gputree.rules.rule_set import Rule, RuleSet

Item = TypeVar("Item")

# By rule, the default last; then by condition, rule after rule; then by category.
DTYPES = {
    "rule_answer": "int32",
    "rule_n_rows": "float64",
    "rule_value": "float64",  # (rules, classes)
    "rule_n_conditions": "int32",
    "condition_feature": "int32",
    "condition_sign": "uint8",
    "condition_threshold": "float64",
    "condition_n_levels": "int32",
    "condition_level": "int32",
}


def to_arrays(rules: RuleSet) -> dict[str, HostArray]:
    """The rules of a classifier, which has a default."""
    assert rules.default is not None
    every = [*rules, rules.default]
    conditions = [condition for rule in every for condition in rule.conditions]
    lists = {
        "rule_answer": [rule.answer for rule in every],
        "rule_n_rows": [rule.n_rows for rule in every],
        "rule_value": [rule.value for rule in every],
        "rule_n_conditions": [len(rule.conditions) for rule in every],
        "condition_feature": [condition.feature for condition in conditions],
        "condition_sign": [int(condition.sign) for condition in conditions],
        "condition_threshold": [condition.threshold for condition in conditions],
        "condition_n_levels": [len(condition.categories) for condition in conditions],
        "condition_level": [
            category for condition in conditions for category in condition.categories
        ],
    }
    return {name: np.array(lists[name], dtype) for name, dtype in DTYPES.items()}


def from_arrays(arrays: Mapping[str, HostArray], schema: Schema, classes: HostArray) -> RuleSet:
    """The rules that `to_arrays` turned into arrays; ModelFileError if there are none."""
    _check_shapes(arrays, len(classes))
    category = _cut_up(arrays["condition_level"].tolist(), arrays["condition_n_levels"])
    fields = ("condition_feature", "condition_sign", "condition_threshold")
    listed = zip(*(arrays[name].tolist() for name in fields), category, strict=True)
    conditions = [_condition(schema, *each) for each in listed]
    by_rule = _cut_up(conditions, arrays["rule_n_conditions"])
    numbers = [arrays[name].tolist() for name in ("rule_answer", "rule_n_rows", "rule_value")]
    *rules, default = (
        Rule(tuple(own), answer, n_rows, tuple(value))
        for own, answer, n_rows, value in zip(by_rule, *numbers, strict=True)
    )
    if default.conditions:
        raise ModelFileError("the default of the rules has conditions")
    return RuleSet(tuple(rules), schema, classes, default)


def _check_shapes(arrays: Mapping[str, HostArray], n_classes: int) -> None:
    if set(arrays) != set(DTYPES):
        raise ModelFileError("the file does not hold the arrays of rules")
    for name, dtype in DTYPES.items():
        n_axes = 2 if name == "rule_value" else 1
        if arrays[name].dtype != np.dtype(dtype) or arrays[name].ndim != n_axes:
            raise ModelFileError(f"array {name!r} is not of {n_axes} axes of {dtype}")
    for unit in ("rule", "condition"):
        of_unit = [name for name in DTYPES if name.startswith(unit) and name != "condition_level"]
        if len({len(arrays[name]) for name in of_unit}) > 1:
            raise ModelFileError(f"the arrays of a {unit} are not of one length")
    answer, value = arrays["rule_answer"], arrays["rule_value"]
    if not len(answer):
        raise ModelFileError("the rules have no default")
    if answer.min() < 0 or answer.max() >= n_classes or value.shape[1] != n_classes:
        raise ModelFileError("a rule predicts a class that does not exist")
    for amount in (arrays["rule_n_rows"], value):
        if not (np.isfinite(amount).all() and (amount >= 0).all()):
            raise ModelFileError("a rule has an impossible number of rows")


def _cut_up(items: list[Item], n: HostArray) -> list[list[Item]]:
    """A list in pieces of so many items."""
    if (n < 0).any() or int(n.sum(dtype=np.int64)) != len(items):
        raise ModelFileError("the parts of the rules do not fit together")
    ends = np.cumsum([0, *n.tolist()]).tolist()
    return [items[begin:end] for begin, end in pairwise(ends)]


def _condition(
    schema: Schema, feature: int, sign: int, threshold: float, category: list[int]
) -> Condition:
    if not 0 <= feature < schema.n_features:
        raise ModelFileError(f"a rule tests column {feature} of {schema.n_features}")
    if sign not in list(Sign):
        raise ModelFileError("a rule compares in an unknown way")
    known = schema.categories[feature]
    name = schema.names[feature]
    if sign == Sign.AMONG:
        is_listed = all(low < high for low, high in pairwise([-1, *category]))
        if not category or not is_listed or known is None or category[-1] >= len(known):
            raise ModelFileError(f"a rule tests categories that column {name!r} does not have")
    elif category:
        raise ModelFileError(f"a rule names categories of column {name!r} but does not test them")
    if sign in (Sign.AMONG, Sign.MISSING):
        is_right = threshold == 0.0 and not math.copysign(1.0, threshold) < 0
    elif sign == Sign.UP_TO and threshold == math.inf:
        is_right = True  # it asks for a known value
    else:
        # A category is named by the whole number below the threshold.
        is_right = threshold < math.inf and (known is None or 0 <= threshold < len(known))
    if not is_right:
        raise ModelFileError(f"a rule compares column {name!r} with {threshold}")
    return Condition(feature, Sign(sign), threshold, tuple(category))
