"""Trees for people: as text, as a graph, as a picture. Functions as those of sklearn.tree."""

from typing import Any

from gputree.estimators.base import TreeEstimator
from gputree.pruning.path import Path
from gputree.pruning.plot import draw_path, draw_report


def export_text(
    tree: TreeEstimator,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int | None = None,
    decimals: int = 2,
    show_surrogates: bool = False,
) -> str:
    """A fitted tree as indented text, a line a branch.

    `or missing` marks where missing values go, if the column had some in training; nothing is
    marked where surrogates decide that, or where a row goes down every branch. `or other` marks
    where levels go that the node has not seen. Rows that were divided are shown by their weight.

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
        The decimals of thresholds and means.
    show_surrogates : bool, default=False
        List the surrogates of each node below its first branch. Left is that branch.

    Returns
    -------
    str

    Examples
    --------
    >>> import pandas as pd
    >>> from gputree import CARTClassifier, export_text
    >>> fruit = pd.DataFrame({
    ...     "colour": ["red", "green", "yellow", "yellow"], "weight": [150, 170, 120, 60]
    ... }).astype({"colour": "category"})
    >>> tree = CARTClassifier(pruning=None)
    >>> tree = tree.fit(fruit, ["apple", "apple", "banana", "lemon"])
    >>> print(export_text(tree, decimals=0))
    colour in {green, red}: class apple (2 rows, 100.0%)
    colour in {yellow}
    |   weight <= 90: class lemon (1 row, 100.0%)
    |   weight >  90: class banana (1 row, 100.0%)
    """
    return _checked(tree).export_text(
        feature_names=feature_names,
        class_names=class_names,
        max_depth=max_depth,
        decimals=decimals,
        show_surrogates=show_surrogates,
    )


def export_graphviz(
    tree: TreeEstimator,
    out_file: Any = None,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int | None = None,
    decimals: int = 2,
    filled: bool = False,
    impurity: bool = False,
) -> str | None:
    r"""A fitted tree in the DOT language, which Graphviz draws: `dot -Tsvg tree.dot`.

    A node has its feature, answer and rows; an edge has what leads along it.

    Parameters
    ----------
    tree : fitted estimator
        The tree to show.
    out_file : path or file, optional
        Where to write to; by default the text is returned.
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

    Returns
    -------
    str, or None if there is a file

    Examples
    --------
    >>> from gputree import DecisionTreeClassifier, export_graphviz
    >>> tree = DecisionTreeClassifier().fit([[1], [2], [3]], ["a", "b", "b"])
    >>> print(export_graphviz(tree, feature_names=["length"]))
    digraph Tree {
    node [shape=box, style="filled, rounded", fillcolor="white", fontname="helvetica"] ;
    edge [fontname="helvetica"] ;
    0 [label="length\nclass b\n3 rows, 66.7%\ncounts [1, 2]"] ;
    1 [label="class a\n1 row, 100.0%\ncounts [1, 0]"] ;
    2 [label="class b\n2 rows, 100.0%\ncounts [0, 2]"] ;
    0 -> 1 [label="&lt;= 1.50"] ;
    0 -> 2 [label="&gt; 1.50"] ;
    }
    <BLANKLINE>
    """
    return _checked(tree).export_graphviz(
        out_file,
        feature_names=feature_names,
        class_names=class_names,
        max_depth=max_depth,
        decimals=decimals,
        filled=filled,
        impurity=impurity,
    )


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
    return _checked(tree).plot(
        feature_names=feature_names,
        class_names=class_names,
        max_depth=max_depth,
        decimals=decimals,
        filled=filled,
        impurity=impurity,
        ax=ax,
        fontsize=fontsize,
    )


def plot_pruning(what: Any, ax: Any = None) -> Any:
    """Draw error against leaves with matplotlib, and mark the tree that was chosen.

    Parameters
    ----------
    what : pruned estimator, or path
        An estimator that pruned its tree, or what `cost_complexity_pruning_path` returns.
    ax : matplotlib Axes, optional
        Where to draw; the current axes by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from gputree import CARTClassifier, plot_pruning
    >>> tree = CARTClassifier().fit(*load_iris(return_X_y=True))
    >>> ax = plot_pruning(tree, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('leaves', 'error')
    """
    if isinstance(what, Path):
        return draw_path(what, ax)
    if isinstance(what, TreeEstimator):
        report = getattr(what, "pruning_report_", None)
        if report is None:
            raise ValueError("the tree was not pruned, so there is nothing to show of it")
        return draw_report(report, ax)
    if not hasattr(what, "ccp_alphas"):
        raise TypeError(f"a pruned tree of gputree or a path of pruning is needed; got {what!r}")
    return draw_path(Path(what.ccp_alphas, what.n_leaves, what.impurities), ax)


def _checked(tree: Any) -> TreeEstimator:
    if not isinstance(tree, TreeEstimator):
        raise TypeError(
            f"a tree of gputree is needed, such as DecisionTreeClassifier; got {tree!r}"
        )
    return tree
