"""Who takes part: each entry fits one tree and returns something that predicts."""

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import gputree

Fit = Callable[[Any, Any], Any]


def gputree_with(backend: str, depth: int | None, is_classes: bool) -> Fit:
    cls = gputree.DecisionTreeClassifier if is_classes else gputree.DecisionTreeRegressor
    return lambda X, y: cls(max_depth=depth, backend=backend).fit(X, y)


def sklearn_exact(depth: int | None, is_classes: bool) -> Fit:
    cls = DecisionTreeClassifier if is_classes else DecisionTreeRegressor
    return lambda X, y: cls(max_depth=depth, random_state=0).fit(X, y)


def sklearn_hist(depth: int | None, is_classes: bool) -> Fit:
    """Histogram gradient boosting stopped after one tree."""
    cls = HistGradientBoostingClassifier if is_classes else HistGradientBoostingRegressor
    return lambda X, y: cls(
        max_iter=1, learning_rate=1.0, max_depth=depth, max_leaf_nodes=None, early_stopping=False
    ).fit(X, y)


PEERS: dict[str, Callable[[int | None, bool], Fit]] = {
    "sklearn-exact": sklearn_exact,
    "sklearn-hist": sklearn_hist,
}
