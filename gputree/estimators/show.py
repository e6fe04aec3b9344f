"""Trees for people: as text and as a graph. Functions as those of sklearn.tree."""

from typing import Any

from gputree.estimators.base import TreeEstimator


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


def _checked(tree: Any) -> TreeEstimator:
    if not isinstance(tree, TreeEstimator):
        raise TypeError(
            f"a tree of gputree is needed, such as DecisionTreeClassifier; got {tree!r}"
        )
    return tree
