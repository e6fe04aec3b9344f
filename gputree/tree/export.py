"""A tree as text for people."""

from collections.abc import Callable, Sequence
from typing import Any

from gputree.tree.describe import Branches
from gputree.tree.tree import Tree

INDENT = "|   "
ASIDE = "    "  # no bar: the line is about the branch above it, not below that


def tree_text(
    tree: Tree,
    names: Sequence[str],
    categories: Sequence[tuple[Any, ...] | None],
    leaf_text: Callable[[int, int], str],
    *,
    max_depth: int | None,
    decimals: int,
    has_missing: Sequence[bool] = (),
    show_surrogates: bool = False,
) -> str:
    """Indented text, one line per branch; a leaf's text follows the branch that leads to it.

    `has_missing` tells which columns had missing values in training; for them the branch that
    takes those is marked. Surrogates are listed below the first branch of their node.
    """
    if tree.is_leaf[0]:
        return leaf_text(0, decimals)
    branches = Branches(tree, names, categories, decimals, has_missing)
    # Python's own numbers: those of an array are slow one by one.
    depth, first_child, n_children = (
        part.tolist() for part in (tree.depth, tree.first_child, tree.n_children)
    )
    lines = []
    stack = _slots(0, n_children[0])  # branches to come; recursion has a limit
    while stack:
        parent, slot = stack.pop()
        child = first_child[parent] + slot
        indent = INDENT * depth[parent]
        line = indent + branches.text(parent, slot)
        if not n_children[child]:
            line += ": " + leaf_text(child, decimals)
        elif max_depth is not None and depth[child] >= max_depth:
            line += ": ... " + leaf_text(child, decimals)
        else:
            stack += _slots(child, n_children[child])
        lines.append(line)
        if show_surrogates and slot == 0:
            lines += [indent + ASIDE + each for each in branches.surrogates(parent)]
    return "\n".join(lines)


def _slots(node: int, n_children: int) -> list[tuple[int, int]]:
    """The branches of a node, the first one last."""
    return [(node, slot) for slot in reversed(range(n_children))]
