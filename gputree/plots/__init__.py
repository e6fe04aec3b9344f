"""Pictures of models, by matplotlib: trees, importances, pruning, boundaries, error curves.

Knows estimators and what they tell of themselves; must not know how trees grow. matplotlib is
imported when a picture needs a figure of its own, and by `axes` alone.
"""

from gputree.plots.boundary import plot_boundary
from gputree.plots.error_curve import plot_error_curve
from gputree.plots.importance import plot_importance
from gputree.plots.pruning import plot_pruning
from gputree.plots.tree import plot_tree

__all__ = [
    "plot_boundary",
    "plot_error_curve",
    "plot_importance",
    "plot_pruning",
    "plot_tree",
]
