"""A tree as a picture: the function of the name that sklearn.tree has."""

from typing import Any

from sklearn.tree import plot_tree as sklearn_plot

from gputree.estimators.base import TreeEstimator
from gputree.estimators.show import is_sklearn_style, twin
from gputree.plots.models import tree_of


def plot_tree(tree: TreeEstimator, *, style: str = "gputree", **options: Any) -> list[Any]:
    """Draw a fitted tree with matplotlib, which has to be installed.

    Parameters
    ----------
    tree : fitted estimator
        The tree to show.
    style : {'gputree', 'sklearn'}, default='gputree'
        The format. With 'sklearn' the options are those of `sklearn.tree.plot_tree`,
        and the tree must have thresholds only, as scikit-learn's trees do.
    **options
        Those of scikit-learn's function, or these:
    feature_names : sequence of str, optional
        Names of the columns; those of the training table by default.
    class_names : sequence of str, optional
        Names of the classes in the order of `classes_`; the labels by default.
    max_depth : int, optional
        The maximum depth to show.
    decimals : int, default=2
        The decimals of thresholds, means and impurities.
    filled : bool, default=False
        Colour nodes by class, or by value.
    impurity : bool, default=False
        Show the impurity of each node.
    ax : matplotlib Axes, optional
        Where to draw; the axes are cleared first. By default the current axes.
    fontsize : float, optional
        The size of the font; by default the largest at which nothing overlaps.

    Returns
    -------
    list of matplotlib Annotation
        One per node, by node number.

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
    if is_sklearn_style(style):
        return list(sklearn_plot(twin(tree_of(tree)), **options))
    return tree_of(tree).plot(**options)
