"""How much each column matters to a model, as bars."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gputree.data.schema import Schema
from gputree.dtypes import HostArray
from gputree.ensembles.adaboost_rounds import AdaBoost
from gputree.ensembles.averaging import Averaging
from gputree.estimators import parameters
from gputree.plots.axes import BLUE, SMALL, new_axes, tidy
from gputree.plots.models import fitted, schema_of

KINDS = ("impurity", "permutation", "oob", "shap")
LINE = 0.28  # inches of a bar
MARGIN = 1.2  # inches around the bars
LONGEST_NAME = 32  # characters


@dataclass(frozen=True, eq=False)
class Importances:
    """One number per column, perhaps with its spread, and the meaning of the numbers."""

    value: HostArray
    what: str
    spread: HostArray | None = None  # standard deviations
    of_what: str = ""  # the spread
    least: float = -np.inf  # no value can be below

    def ends(self, at: HostArray) -> HostArray | None:
        """How far the spread of some columns reaches down and up, (2, columns)."""
        if self.spread is None:
            return None
        value, spread = self.value[at], self.spread[at]
        return np.stack([np.minimum(spread, value - self.least), spread])


def plot_importance(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    kind: str = "impurity",
    max_features: int | None = 20,
    n_repeats: int = 5,
    random_state: Any = 0,
    ax: Any = None,
) -> Any:
    """Draw the importance of each column, the largest first.

    Impurity importances come from the training alone: they favour columns with many values and say
    nothing about new rows. The other kinds are measured on rows. Thin lines show one standard
    deviation over the trees of an ensemble, or over repetitions; impurity importances are never
    below 0.

    Parameters
    ----------
    model : fitted estimator
        Any model of gputree.
    X, y : table and target, optional
        The rows to measure on; not for 'impurity'. For 'oob' the training rows, in the same order;
        'shap' needs no y.
    kind : {'impurity', 'permutation', 'oob', 'shap'}, default='impurity'
        'impurity' is `feature_importances_`. 'permutation' is the fall of the score when a column
        is shuffled. 'oob', for forests and bagging, is the rise of each tree's error on the rows it
        was not grown on. 'shap' is the mean absolute Shapley value, added up over classes.
    max_features : int or None, default=20
        The maximum number of columns to show.
    n_repeats : int, default=5
        How often 'permutation' shuffles each column; 'oob' shuffles once per tree.
    random_state : int, RandomState or None, default=0
        The seed of 'permutation'.
    ax : matplotlib Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from gputree import RandomForestClassifier, plot_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> ax = plot_importance(forest, max_features=2, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['petal length (cm)', 'petal width (cm)']
    """
    fitted(model)
    parameters.one_of("kind", kind, dict.fromkeys(KINDS))
    parameters.whole("max_features", max_features, 1, or_none=True)
    found = _importances(model, X, y, kind, n_repeats, random_state)
    return _draw(found, schema_of(model), max_features, ax)


def _importances(
    model: Any, X: Any, y: Any, kind: str, n_repeats: int, random_state: Any
) -> Importances:
    if kind == "impurity":
        if X is not None or y is not None:
            raise ValueError(
                "kind='impurity' comes from the training and uses no rows; leave out X and y, "
                "or use kind='permutation'"
            )
        return _by_impurity(model)
    if X is None or (y is None and kind != "shap"):
        needed = "X" if kind == "shap" else "X and y"
        raise ValueError(f"kind={kind!r} is measured on rows; give {needed}")
    if kind == "shap":
        return _by_shapley(model, X)
    if kind == "oob":
        if not isinstance(model, Averaging):
            raise ValueError(
                f"kind='oob' needs trees grown on samples of the rows; {type(model).__name__} has "
                "none: use kind='permutation'"
            )
        rise = model.permutation_importances_oob(X, y)
        return Importances(
            rise.importances_mean,
            "rise of the out-of-bag error when shuffled",
            rise.importances_std,
            "over trees",
        )
    from sklearn.inspection import permutation_importance  # it loads all of sklearn.ensemble

    parameters.whole("n_repeats", n_repeats, 1)
    fall = permutation_importance(model, X, y, n_repeats=n_repeats, random_state=random_state)
    score = "accuracy" if hasattr(model, "classes_") else "R²"
    return Importances(
        fall.importances_mean,
        f"fall of the {score} when shuffled",
        fall.importances_std if n_repeats > 1 else None,
        "over repeats",
    )


def _by_impurity(model: Any) -> Importances:
    if not hasattr(model, "feature_importances_"):
        raise ValueError(
            f"{type(model).__name__} has no impurity importances; give X and y, and "
            "kind='permutation'"
        )
    value, what = model.feature_importances_, "share of the total gain of all splits"
    if not isinstance(model, Averaging | AdaBoost):
        # Trees of gradient boosting gain less and less: their shares have no common mean.
        return Importances(value, what)
    own = np.stack([member.importances(model.n_features_in_) for member in model._members])
    say = model.estimator_weights_ if isinstance(model, AdaBoost) else np.ones(len(own))
    spread = np.sqrt(np.average((own - value) ** 2, axis=0, weights=say))
    return Importances(value, what, spread, "over trees", least=0.0)


def _by_shapley(model: Any, X: Any) -> Importances:
    if not hasattr(model, "shap_values"):
        raise ValueError(
            f"{type(model).__name__} has no Shapley values; use kind='permutation', or another "
            "model"
        )
    size = np.abs(np.asarray(model.shap_values(X)))
    size = size.sum(axis=2) if size.ndim == 3 else size
    return Importances(size.mean(axis=0), "mean absolute Shapley value")


def _draw(found: Importances, schema: Schema, max_features: int | None, ax: Any) -> Any:
    order = np.argsort(-found.value, kind="stable")[:max_features]
    ax = new_axes(ax, height=MARGIN + LINE * len(order))
    place = np.arange(len(order))
    ax.barh(
        place,
        found.value[order],
        xerr=found.ends(order),
        height=0.7,
        color=BLUE,
        error_kw={"ecolor": "0.25", "lw": 1.2, "capsize": 2},
    )
    ax.set_yticks(place, [_short(schema.names[at]) for at in order.tolist()], parse_math=False)
    ax.set_ylim(len(order) - 0.4, -0.6)  # the first at the top
    ax.axvline(0.0, color="0.25", lw=0.8)
    spread = "" if found.spread is None else f" (± 1 sd {found.of_what})"
    ax.set_xlabel(found.what + spread)
    if len(order) < schema.n_features:
        of = f"the first {len(order)} of {schema.n_features} columns"
        ax.set_title(of, loc="left", fontsize=SMALL)
    tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    return ax


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
