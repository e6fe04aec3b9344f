"""A tree as a picture: the function of the name that sklearn.tree has."""

from typing import Any

from gputree.estimators.base import TreeEstimator
from gputree.plots.models import tree_of


def plot_tree(
    tree: TreeEstimator,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int | None = None,
    decimals: int = 2,
    filled: bool = False,
    impurity: bool = False,
    ax: Any = None,
    fontsize: float | None = None,
) -> list[Any]:
    """Draw a fitted tree with matplotlib, which has to be installed.

    Parameters
    ----------
    tree : fitted estimator
        The tree to show.
    feature_names : sequence of str, optional
        Names of the columns; those of the training table by default.
    class_names : sequence of str, optional
        Names of the classes in the order of `classes_`; the labels by default.
    max_depth : int, optional
        Show no more than so many splits above a node.
    decimals : int, default=2
        The decimals of thresholds, means and impurities.
    filled : bool, default=False
        Colour nodes by class, or by value.
    impurity : bool, default=False
        Show the impurity of each node.
    ax : matplotlib Axes, optional
        Where to draw, after what is there has been cleared; the current axes by default.
    fontsize : float, optional
        The size of the font; by default such that nothing overlaps.

    Returns
    -------
    list of matplotlib Annotation
        One a node, by number.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from gputree import DecisionTreeClassifier, plot_tree
    >>> tree = DecisionTreeClassifier().fit([[1], [2], [3]], ["a", "b", "b"])
    >>> figure = Figure()
    >>> boxes = plot_tree(tree, feature_names=["length"], filled=True, ax=figure.subplots())
    >>> print(boxes[0].get_text())
    length
    class b
    3 rows, 66.7%
    counts [1, 2]
    >>> figure.savefig("tree.png")  # doctest: +SKIP
    """
    return tree_of(tree).plot(
        feature_names=feature_names,
        class_names=class_names,
        max_depth=max_depth,
        decimals=decimals,
        filled=filled,
        impurity=impurity,
        ax=ax,
        fontsize=fontsize,
    )
