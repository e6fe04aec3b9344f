"""What a method of pruning is given, and what it gives back.

Knows finished trees; must not know estimators, tables or backends: where rows end in a tree is
asked of a function that comes with them.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from gputree.dtypes import HostArray
from gputree.tree.tree import Tree
from gputree.tree.walk import Ends, Read, Walk

if TYPE_CHECKING:
    from gputree.pruning.report import PruningReport


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that judge a tree.

    A class that the tree does not know has a number beyond those it knows: no leaf is right.
    """

    y: HostArray  # (rows,) numbers of classes, or (rows, outputs) of a regression
    weight: HostArray  # (rows,)
    ends: Callable[[Tree], Ends]
    read: Read  # the values or category numbers of a column, by its number
    walker: Callable[[], Walk]  # how rows walk from any node on; made where it is needed


# Trees grown without some rows, and those rows, for a number of folds or the fold of each row.
Folds: TypeAlias = Callable[[int | tuple[int, ...]], Iterator[tuple[Tree, Sample]]]


@dataclass(frozen=True, eq=False)
class Task:
    """A tree to prune, and what there is to judge it by."""

    tree: Tree
    is_classes: bool
    validation: Sample | None = None
    training: Sample | None = None
    folds: Folds | None = None


@dataclass(frozen=True, eq=False)
class Pruned:
    """The smaller tree, and how it came about."""

    tree: Tree
    report: "PruningReport"


@dataclass(frozen=True)
class Method:
    """A way to prune, with its options; `needs` says which part of a task must be there."""

    name: ClassVar[str]
    needs: ClassVar[str] = "nothing"  # or validation, training, folds

    def check(self) -> None:
        """Refuse options that cannot be right."""

    def needs_now(self) -> str:
        """What is needed with these options."""
        return self.needs

    def prune(self, task: Task) -> Pruned:
        """Prune the tree of a task."""
        raise NotImplementedError


def needed(sample: Sample | None, method: str) -> Sample:
    """The validation rows, without which some methods have nothing to go by."""
    if sample is None:
        raise ValueError(
            f"pruning by {method!r} needs validation rows: give X and y to prune, X_val and y_val "
            "to fit, or set validation_fraction"
        )
    return sample


def only_classes(task: Task, method: str) -> None:
    """Refuse a regression where a method counts wrong classes."""
    if not task.is_classes:
        raise ValueError(
            f"pruning by {method!r} counts misclassified rows, which a regression does not have; "
            "use 'cost_complexity', 'reduced_error', 'critical_value' or 'pre'"
        )


def number(name: str, value: Any, low: float) -> None:
    """Check an option that is a finite number of at least `low`."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < low:
        raise ValueError(f"{name}={value!r}: a number of at least {low} is needed")
