"""Trees for people: as text and as a graph. Functions as those of sklearn.tree."""

from typing import Any

from sklearn.tree import export_graphviz as sklearn_graphviz
from sklearn.tree import export_text as sklearn_text

from gputree.estimators import parameters
from gputree.estimators.base import TreeEstimator


def export_text(tree: TreeEstimator, *, style: str = "gputree", **options: Any) -> str:
    """A fitted tree as indented text, with one line per branch.

    `or missing` marks the branch of missing values, if the column had some in training; there is no
    mark where surrogates decide or a row goes down every branch. `or other` marks the branch of
    categories that did not occur in the node. Divided rows are counted by their weight.

    Parameters
    ----------
    tree : fitted estimator
        The tree to show.
    style : {'gputree', 'sklearn'}, default='gputree'
        The format. With 'sklearn' the options are those of `sklearn.tree.export_text`,
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
    if is_sklearn_style(style):
        return str(sklearn_text(twin(_checked(tree)), **options))
    return _checked(tree).export_text(**options)


def export_graphviz(
    tree: TreeEstimator, out_file: Any = None, *, style: str = "gputree", **options: Any
) -> str | None:
    r"""A fitted tree in the DOT language, which Graphviz draws: `dot -Tsvg tree.dot`.

    Nodes show the feature, the prediction and the rows; edges show the conditions.

    Parameters
    ----------
    tree : fitted estimator
        The tree to show.
    out_file : path or file, optional
        The file to write; by default the text is returned.
    style : {'gputree', 'sklearn'}, default='gputree'
        The format. With 'sklearn' the options are those of `sklearn.tree.export_graphviz`,
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
    if is_sklearn_style(style):
        source = sklearn_graphviz(twin(_checked(tree)), out_file, **options)
        return None if source is None else str(source)
    return _checked(tree).export_graphviz(out_file, **options)


def is_sklearn_style(style: str) -> bool:
    """Whether scikit-learn's form is asked for."""
    return bool(parameters.one_of("style", style, {"gputree": False, "sklearn": True}))


def twin(tree: TreeEstimator) -> Any:
    """The same tree as one of scikit-learn, which shows it."""
    made = tree.to_sklearn()
    made.criterion = tree.criterion  # what impurities are called
    return made


def _checked(tree: Any) -> TreeEstimator:
    if not isinstance(tree, TreeEstimator):
        raise TypeError(
            f"{tree!r} is not an estimator instance: a tree of gputree is needed, such as "
            "DecisionTreeClassifier"
        )
    return tree
