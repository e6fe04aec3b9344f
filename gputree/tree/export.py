"""A tree as text for people."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from gputree.tree.tree import Tree

INDENT = "|   "


def tree_text(
    tree: Tree,
    names: Sequence[str],
    levels: Sequence[tuple[Any, ...] | None],
    leaf_text: Callable[[int, int], str],
    *,
    max_depth: int | None,
    decimals: int,
    has_missing: Sequence[bool] = (),
) -> str:
    """Indented text, a line a branch; a leaf's text follows the branch that leads to it.

    `has_missing` tells which columns had missing values in training; for them the branch that
    takes those is marked.
    """
    is_leaf, depth = tree.is_leaf, tree.depth
    if is_leaf[0]:
        return leaf_text(0, decimals)
    lines = []
    stack = [(0, 1), (0, 0)]  # parent and slot of the branches to come; recursion has a limit
    while stack:
        parent, slot = stack.pop()
        child = int(tree.first_child[parent]) + slot
        line = INDENT * int(depth[parent]) + _branch(tree, parent, slot, names, levels, decimals)
        takes_missing = slot == tree.missing_slot[parent] and math.isfinite(tree.threshold[parent])
        if has_missing and has_missing[tree.feature[parent]] and takes_missing:
            line += " or missing"
        if is_leaf[child]:
            line += ": " + leaf_text(child, decimals)
        elif max_depth is not None and depth[child] >= max_depth:
            line += ": ... " + leaf_text(child, decimals)
        else:
            stack += [(child, 1), (child, 0)]
        lines.append(line)
    return "\n".join(lines)


def _branch(
    tree: Tree,
    node: int,
    slot: int,
    names: Sequence[str],
    levels: Sequence[tuple[Any, ...] | None],
    decimals: int,
) -> str:
    """The condition of the branch from a node to its child `slot`."""
    feature = int(tree.feature[node])
    name = names[feature]
    threshold = float(tree.threshold[node])
    if threshold == math.inf:
        return f"{name} is missing" if slot else f"{name} is known"
    known = levels[feature]
    if known is None:
        return f"{name} {'>' if slot else '<=':<2} {number_text(threshold, decimals)}"
    chosen = [str(level) for i, level in enumerate(known) if (i > threshold) == bool(slot)]
    return f"{name} in {{{', '.join(chosen)}}}"


def number_text(number: float, decimals: int) -> str:
    """A number with so many decimals, or in scientific notation where that would mislead."""
    if number != 0 and not 10.0**-decimals <= abs(number) < 1e15:
        return f"{number:.{max(decimals, 1)}e}"
    return f"{number:.{decimals}f}"


def rows_text(n_rows: int) -> str:
    """A count of rows."""
    return "1 row" if n_rows == 1 else f"{n_rows} rows"
