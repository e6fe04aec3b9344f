"""The methods by name, and as data that a model file can hold."""

from dataclasses import asdict, fields
from typing import Any

from gputree.pruning.cost_complexity import CostComplexity
from gputree.pruning.critical_value import CriticalValue
from gputree.pruning.error_based import ErrorBased
from gputree.pruning.minimum_error import MinimumError
from gputree.pruning.pessimistic import Pessimistic
from gputree.pruning.prepruning import Prepruning
from gputree.pruning.reduced_error import ReducedError
from gputree.pruning.task import Method

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        *(CostComplexity, CriticalValue, ErrorBased, MinimumError),
        *(Pessimistic, Prepruning, ReducedError),
    )
}


def method_of(given: Any, **options: Any) -> Method:
    """The method that a user means: by name, with options, or an object that has them."""
    if isinstance(given, Method):
        if options:
            raise ValueError(
                f"{given!r} has its options already; leave out {', '.join(sorted(options))}"
            )
        method = given
    elif isinstance(given, str) and given in METHODS:
        known = {each.name for each in fields(METHODS[given])}
        if unknown := sorted(set(options) - known):
            raise ValueError(
                f"pruning by {given!r} has no option {', '.join(unknown)}; it has "
                f"{', '.join(sorted(known)) or 'none'}"
            )
        method = METHODS[given](**options)
    else:
        raise ValueError(
            f"pruning={given!r} is unknown; choose from {', '.join(sorted(METHODS))}, or an object "
            "of gputree.pruning"
        )
    method.check()
    return method


def to_data(given: Any) -> Any:
    """A method as a dict; names and None stand for themselves."""
    return {"method": given.name, **asdict(given)} if isinstance(given, Method) else given


def from_data(data: Any) -> Any:
    """What `to_data` was given."""
    if not isinstance(data, dict):
        return data
    options = dict(data)
    return method_of(options.pop("method"), **options)
