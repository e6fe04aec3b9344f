"""A tree as text for people."""

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
) -> str:
    """Indented text, a line a branch; a leaf's text follows the branch that leads to it."""
    if tree.is_leaf[0]:
        return leaf_text(0, decimals)
    lines = []
    stack = [(0, 1), (0, 0)]  # parent and slot of the branches to come; recursion has a limit
    depth = tree.depth
    while stack:
        parent, slot = stack.pop()
        child = int(tree.first_child[parent]) + slot
        test = _branch(tree, parent, slot, names, levels, decimals)
        line = INDENT * int(depth[parent]) + test
        if tree.is_leaf[child]:
            line += ": " + leaf_text(child, decimals)
        elif max_depth is not None and depth[child] >= max_depth:
            line += f": ... {leaf_text(child, decimals)}"
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
    threshold = float(tree.threshold[node])
    known = levels[feature]
    sign = ">" if slot else "<="
    if known is None:
        return f"{names[feature]} {sign:<2} {threshold:.{decimals}f}"
    chosen = [str(level) for i, level in enumerate(known) if (i > threshold) == bool(slot)]
    return f"{names[feature]} in {{{', '.join(chosen)}}}"
