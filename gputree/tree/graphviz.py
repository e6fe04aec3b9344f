"""A tree in the DOT language, from which Graphviz draws pictures."""

from collections.abc import Sequence

from gputree.tree.describe import Boxes

HEAD = """\
digraph Tree {
node [shape=box, style="filled, rounded", fillcolor="white", fontname="helvetica"] ;
edge [fontname="helvetica"] ;
"""


def tree_dot(boxes: Boxes, colours: Sequence[str] | None = None) -> str:
    """DOT source: all nodes, then all edges, both by number."""
    tree = boxes.branches.tree
    lines = []
    for node in range(boxes.n_nodes):
        fill = "" if colours is None else f', fillcolor="{colours[node]}"'
        lines.append(f"{node} [label={quoted(boxes.lines(node))}{fill}] ;\n")
    for node, n_children in enumerate(boxes.n_children.tolist()):
        for slot in range(n_children):
            child = int(tree.first_child[node]) + slot
            label = quoted([boxes.branches.outcome(node, slot)])
            lines.append(f"{node} -> {child} [label={label}] ;\n")
    return HEAD + "".join(lines) + "}\n"


def quoted(lines: Sequence[str]) -> str:
    """Lines as one string of DOT."""
    return '"' + "\\n".join(map(_escaped, lines)) + '"'


def _escaped(text: str) -> str:
    # Graphviz reads entities in labels, and \N and the like as names.
    for plain, written in (
        ("\\", "\\\\"),
        ('"', '\\"'),
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\n", "\\n"),
    ):
        text = text.replace(plain, written)
    return text
