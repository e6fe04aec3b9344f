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
    """Make a criterion from a function that scores splits.

    The result is for the parameter `criterion` of decision trees, CART, forests and extra trees.
    numba compiles the function, so it can use the part of Python and NumPy that numba supports.
    A model has the same bytes on every backend: the sums of a node are computed where its rows are,
    and the function runs on the CPU.

    Parameters
    ----------
    score : function, optional
        `score(sums, weights)` returns the score of a split, the higher the better. `weights[k]` is
        the total weight of the rows of child k, always above 0, and `sums[k, c]` is the weight of
        those of class c; for a regression it is the sum of output c times weights. A negative or
        infinite number, or NaN, rejects the split. Scores should be proportional to weights, so
        that different nodes can be compared, as for `max_leaf_nodes`, `min_impurity_decrease` and
        importances.
    impurity : function or {'gini', 'entropy', 'error'}, default='gini'
        The impurity of a node: `impurity(sums, weight)`, where `sums[c]` and `weight` are those of
        the node. A classifier reports it, and `ccp_alpha` prunes by it. Without a `score`, the
        score of a split is the decrease of weight times impurity.
    name : str, optional
        The name of the criterion, also in model files; by default that of the function.
    multiway : bool, default=True
        Whether the function takes more than two children, as with `nominal='multiway'`.
    needs_gain : bool, default=True
        Whether a split with a score of 0 is rejected.

    Returns
    -------
    Criterion
        A value for `criterion`. A model file stores only its name: a loaded model can predict; to
        fit it again, set the criterion again.

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
