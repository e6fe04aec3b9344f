"""The boxes of a tree and the lines between them, in a font that fits."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gputree.dtypes import HostArray
from gputree.plots.axes import current_axes
from gputree.runs import begins
from gputree.tree.describe import Boxes

LARGEST_FONT = 12.0  # points, where there is room
SMALLEST_FONT = 1.0  # FreeType has none below
WIDTH = 22  # characters before a line is broken
MOST_NAMED = 4  # categories of a condition: long lists would make all boxes small
POINTS = 72  # an inch
PADDING = 0.4  # around the text of a box, in font sizes
FILLED_SHARE = 0.9  # of the room between boxes that they may take


def draw(
    boxes: Boxes,
    colours: Sequence[str] | None = None,
    *,
    ax: Any = None,
    fontsize: float | None = None,
) -> list[Any]:
    """Draw a tree into `ax`, by default the current one; the annotations, one a node."""
    if ax is None:
        ax = current_axes()
    x, y = positions(boxes)
    ax.clear()
    ax.set_axis_off()
    ax.set_xlim(0.0, float(boxes.n_children.size - np.count_nonzero(boxes.n_children)))
    ax.set_ylim(float(y.min()) - 0.5, 0.5)
    style = {"ha": "center", "va": "center", "parse_math": False, "fontsize": LARGEST_FONT}
    nodes = [
        ax.annotate(
            _folded(boxes.lines(node)),
            (x[node], y[node]),
            bbox={
                "boxstyle": f"round, pad={PADDING}",
                "fc": colours[node] if colours else "white",
                "ec": "black",
            },
            zorder=3,
            **style,
        )
        for node in range(boxes.n_nodes)
    ]
    branches = _draw_branches(boxes, x, y, ax, style)
    if fontsize is None:
        fontsize = _fitting(nodes, branches, x, y, ax)
    for each in [*nodes, *branches]:
        each.set_fontsize(fontsize)
    return nodes


def positions(boxes: Boxes) -> tuple[HostArray, HostArray]:
    """Where the middles of the boxes are: leaves side by side, parents centred above children.

    Boxes of one depth are at least 1 apart, as the leaves below them are.
    """
    first_child, n_children = boxes.branches.tree.first_child, boxes.n_children
    inner = np.flatnonzero(n_children).tolist()
    n_leaves = np.where(n_children > 0, 0, 1)
    for node in reversed(inner):  # children have higher numbers than their parent
        n_leaves[node] = n_leaves[_children(first_child, n_children, node)].sum()
    left, y = np.zeros(boxes.n_nodes), np.zeros(boxes.n_nodes)
    for node in inner:
        own = _children(first_child, n_children, node)
        left[own] = left[node] + begins(n_leaves[own])
        y[own] = y[node] - 1.0
    x = left + 0.5
    for node in reversed(inner):
        own = _children(first_child, n_children, node)
        x[node] = (x[own.start] + x[own.stop - 1]) / 2.0
    return x, y


def _children(first_child: HostArray, n_children: HostArray, node: int) -> slice:
    return slice(int(first_child[node]), int(first_child[node] + n_children[node]))


def _draw_branches(
    boxes: Boxes, x: HostArray, y: HostArray, ax: Any, style: dict[str, Any]
) -> list[Any]:
    """Lines, slanted first and then straight down; the condition is above the child."""
    branches = replace(boxes.branches, most_named=MOST_NAMED)
    labels = []
    for node in np.flatnonzero(boxes.n_children).tolist():
        own = _children(branches.tree.first_child, boxes.n_children, node)
        for slot, child in enumerate(range(own.start, own.stop)):
            middle = y[node] - 0.5
            ax.plot([x[node], x[child], x[child]], [y[node], middle, y[child]], "0.6", lw=1)
            labels.append(
                ax.annotate(
                    _folded([branches.outcome(node, slot)]),
                    (x[child], middle),
                    bbox={"boxstyle": "square, pad=0.1", "fc": "white", "ec": "none"},
                    zorder=2,  # above lines
                    **style,
                )
            )
    return labels


def _folded(lines: Sequence[str]) -> str:
    """Lines that are not too long; words that fit into one are kept whole."""
    folded = []
    for line in lines:
        for part in textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False):
            folded += [part[at : at + WIDTH] for at in range(0, len(part), WIDTH)]
    return "\n".join(folded)


def _fitting(
    nodes: Sequence[Any], branches: Sequence[Any], x: HostArray, y: HostArray, ax: Any
) -> float:
    """The largest font in which boxes do not touch each other, nor the words between them."""
    node_size, branch_size = (_sizes(each, ax.figure.dpi) for each in (nodes, branches))
    area = ax.get_window_extent()
    step_x, step_y = area.width / ax.viewLim.width, area.height / ax.viewLim.height
    scale = step_y / (node_size[:, 1].max() + branch_size[:, 1].max(initial=0.0))
    # The condition that leads to a node is above it and may be the wider of the two.
    width = node_size[:, 0].copy()
    width[1:] = np.maximum(width[1:], branch_size[:, 0])
    begins = np.flatnonzero(np.diff(y, prepend=1.0))  # the first node of each depth
    gap = np.diff(x) * step_x / ((width[:-1] + width[1:]) / 2.0)
    gap = np.delete(gap, begins[1:] - 1)  # the last of a depth and the first of the next
    to_edge = np.minimum(x, ax.viewLim.width - x) * step_x / (width / 2.0)
    scale = FILLED_SHARE * min(scale, gap.min(initial=np.inf), to_edge.min())
    return float(np.clip(LARGEST_FONT * scale, SMALLEST_FONT, LARGEST_FONT))


def _sizes(annotations: Sequence[Any], dpi: float) -> HostArray:
    """Width and height of annotations in the largest font, with their padding, in pixels."""
    extents = [each.get_window_extent() for each in annotations]
    sizes = np.array([(each.width, each.height) for each in extents]).reshape(-1, 2)
    return np.asarray(sizes + 2 * PADDING * LARGEST_FONT * dpi / POINTS)
