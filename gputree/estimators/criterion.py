"""Criteria that users make."""

from collections.abc import Callable

from gputree.kernels.criteria import FOR_CLASSES, FOR_VALUES, Criterion
from gputree.user_score import UserScore

IMPURITIES = "gini", "entropy", "error"


def make_criterion(
    score: Callable[..., float] | None = None,
    *,
    impurity: Callable[..., float] | str = "gini",
    name: str | None = None,
    multiway: bool = True,
    needs_gain: bool = True,
) -> Criterion:
    """Make a criterion of a function that says what a split is worth.

    The criterion is for the parameter `criterion` of decision trees, CART, forests and extra trees.
    numba compiles the function, so it is written in the part of Python and NumPy that numba knows.
    A model has the same bytes on every backend: the sums of a node are made where its rows are, and
    the function runs on the CPU.

    Parameters
    ----------
    score : function, optional
        `score(sums, weights)` gives what a split is worth. `weights[k]` is the weight of the rows
        of child k, and `sums[k, c]` is the weight of those of class c; for a regression it is the
        sum of output c times weights. Every child has a weight above 0. A split that is
        worth more is better; a negative or infinite number, or NaN, refuses the split. If scores
        grow in proportion to weights, those of different nodes compare, which `max_leaf_nodes`,
        `min_impurity_decrease` and importances ask for.
    impurity : function or {'gini', 'entropy', 'error'}, default='gini'
        How impure a node is: `impurity(sums, weight)`, where `sums[c]` and `weight` are those of
        the node. A classifier reports it, and `ccp_alpha` prunes by it. Without a `score`, a split
        is worth the weight times the impurity of the node less the same of its children.
    name : str, optional
        What the criterion is called, in model files too. By default the name of the function.
    multiway : bool, default=True
        Whether the function may be given more than two children, as with `nominal='multiway'`.
    needs_gain : bool, default=True
        Whether a split that is worth 0 is refused.

    Returns
    -------
    Criterion
        To be given as `criterion`. A model file keeps its name only: a loaded model predicts, and
        is fitted anew with the criterion given again.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gputree
    >>> def corrected(sums, weights):
    ...     worth = -sums.sum(axis=0).max()
    ...     for child in range(len(weights)):
    ...         worth += sums[child].max()
    ...     return worth
    >>> X, y = load_iris(return_X_y=True)
    >>> criterion = gputree.make_criterion(corrected)
    >>> tree = gputree.DecisionTreeClassifier(criterion=criterion, max_depth=2).fit(X, y)
    >>> tree.score(X, y)
    0.96
    """
    if score is None and isinstance(impurity, str):
        raise ValueError("a criterion needs a function: give score, or impurity, or both")
    for what, function in (("score", score), ("impurity", impurity)):
        if function is not None and not isinstance(function, str) and not callable(function):
            raise TypeError(f"{what} is a {type(function).__name__}; a function is needed")
    if isinstance(impurity, str) and impurity not in IMPURITIES:
        raise ValueError(
            f"impurity={impurity!r} is unknown; choose from {', '.join(IMPURITIES)}, or give a "
            "function"
        )
    function = impurity if score is None else score
    called = str(name or getattr(function, "__name__", "own"))
    if called in {**FOR_CLASSES, **FOR_VALUES}:
        raise ValueError(f"{called!r} is a criterion of gputree; give another name")
    return Criterion(
        name=called,
        formulas=None,
        impurity=impurity if isinstance(impurity, str) else None,
        is_concave=False,
        has_branches=multiway,
        needs_gain=needs_gain,
        user=UserScore(score, None if isinstance(impurity, str) else impurity),
    )
