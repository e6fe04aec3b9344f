"""A colour for each node of a tree: by class, or by value."""

import colorsys

import numpy as np

from gputree.dtypes import HostArray
from gputree.tree.tree import Tree

# Okabe and Ito's colours, which people who confuse red and green can tell apart.
CLASS_COLOURS = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (0, 114, 178),
    (213, 94, 0),
    (204, 121, 167),
    (153, 153, 153),
)
VALUE_COLOUR = (86, 180, 233)
WHITE = 255.0


def node_colours(tree: Tree, *, is_classes: bool) -> list[str]:
    """A colour a node, as '#rrggbb': the surer or the larger its answer, the stronger."""
    if is_classes:
        base = class_colours(tree.value.shape[1])[tree.value.argmax(axis=1)]
        strength = _lead(tree.value)
    else:
        base = np.tile(np.array(VALUE_COLOUR, float), (tree.n_nodes, 1))
        # Outputs may have any units; that a node is pure can be compared.
        strength = _between(tree.value[:, 0] if tree.value.shape[1] == 1 else -tree.impurity)
    mixed = np.rint(WHITE + strength[:, None] * (base - WHITE)).astype(np.int64)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in mixed.tolist()]


def class_colours(n_classes: int) -> HostArray:
    if n_classes <= len(CLASS_COLOURS):
        return np.array(CLASS_COLOURS[:n_classes], float)
    hues = [colorsys.hsv_to_rgb(i / n_classes, 0.7, 0.9) for i in range(n_classes)]
    return WHITE * np.array(hues)


def _lead(value: HostArray) -> HostArray:
    """How far the largest class is ahead of the next: 0 if they are equal, 1 if it is alone."""
    if value.shape[1] == 1:
        return np.ones(len(value))
    ordered = np.sort(value / value.sum(axis=1, keepdims=True), axis=1)
    first, second = ordered[:, -1], ordered[:, -2]
    return np.asarray((first - second) / (1.0 - second))


def _between(number: HostArray) -> HostArray:
    """Where numbers lie between the smallest and the largest."""
    low, high = number.min(), number.max()
    return (number - low) / (high - low) if high > low else np.zeros(len(number))
