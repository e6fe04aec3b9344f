"""What a model answers over two columns, all others held at what is usual."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gputree.arrays import to_numpy
from gputree.data.inputs import read_table
from gputree.data.schema import Schema
from gputree.data.table import Column, Kind, Table
from gputree.dtypes import CATEGORY_NUMBER, HostArray
from gputree.estimators import parameters
from gputree.plots.axes import CLASS_MARKERS, SMALL, hexed, new_axes
from gputree.plots.models import fitted, schema_of
from gputree.tree.colours import WHITE, class_colours

EDGE = 0.05  # of the range, around it
MOST_CATEGORIES = 30  # more could not be read
SHAKEN = 0.3  # how far points of a category are moved apart, of half the room that it has
STRONGEST = 0.55  # of a class's colour in its region: points must stand out


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two columns: where cells of the grid begin and end, and what they ask for."""

    column: Column  # of the rows
    edges: HostArray  # (cells + 1,)
    asked: HostArray  # (cells,) values

    @property
    def categories(self) -> tuple[Any, ...] | None:
        return self.column.categories


def plot_boundary(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: Any = None,
    resolution: int = 200,
    ax: Any = None,
) -> Any:
    """Draw predictions over two columns of a table: regions of classes, or values by colour.

    All other columns are fixed at the median of X, or at the most frequent category. The more
    certain the class, the stronger the colour of a region. Categories are drawn side by side, with
    randomly jittered points; rows in which one of the two values is missing have no point.

    Parameters
    ----------
    model : fitted estimator
        Any model of gputree with one output.
    X : table
        Rows that determine the range of the plot and the fixed values of the other columns.
    y : array-like, optional
        Their targets; without them no points are drawn.
    features : pair of names or numbers of columns, optional
        The columns of the horizontal and the vertical axis; by default the only two, or the two
        most important ones.
    resolution : int, default=200
        The number of grid points along a numeric column.
    ax : matplotlib Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from gputree import DecisionTreeClassifier, plot_boundary
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    >>> names = ["petal length (cm)", "petal width (cm)"]
    >>> ax = plot_boundary(tree, X, y, features=names, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('petal length (cm)', 'petal width (cm)')
    """
    fitted(model)
    parameters.whole("resolution", resolution, 2)
    if getattr(model, "n_outputs_", 1) > 1:
        raise ValueError(f"the model has {model.n_outputs_} outputs; a boundary shows a single one")
    schema = schema_of(model)
    chosen = _chosen(features, model, schema)
    table = read_table(X, like=schema)
    right, up = (_side(table.columns[at], resolution) for at in chosen)
    grid = _grid(table, chosen, right.asked, up.asked)
    shape = len(up.asked), len(right.asked)
    points = None if y is None else _target(y, model, table.n_rows)
    if hasattr(model, "classes_"):
        colours = _colours(model, grid).reshape(*shape, 3)
        ax = new_axes(ax)
        ax.pcolormesh(right.edges, up.edges, colours, rasterized=True)
        if points is not None:
            _scatter_classes(ax, right, up, points, model.classes_)
    else:
        answer = to_numpy(model.predict(grid)).reshape(shape)
        ax = new_axes(ax)
        _draw_numbers(ax, right, up, answer, points)
    _label(ax.xaxis, right)
    _label(ax.yaxis, up)
    return ax


# The two columns


def _chosen(features: Any, model: Any, schema: Schema) -> tuple[int, int]:
    """The numbers of the two columns."""
    if features is None:
        return _default(model, schema)
    if isinstance(features, str) or np.ndim(features) != 1 or len(features) != 2:
        raise ValueError(f"features={features!r}: names or numbers of two columns are needed")
    first, second = (_number(each, schema) for each in features)
    if first == second:
        raise ValueError(f"features={features!r}: two different columns are needed")
    return first, second


def _default(model: Any, schema: Schema) -> tuple[int, int]:
    if schema.n_features == 2:
        return 0, 1
    if schema.n_features < 2:
        raise ValueError("the model has one column; a boundary is drawn over two")
    if not hasattr(model, "feature_importances_"):
        raise ValueError("features: name the two columns to draw")
    first, second = np.argsort(-model.feature_importances_, kind="stable")[:2].tolist()
    return first, second


def _number(feature: Any, schema: Schema) -> int:
    if isinstance(feature, str):
        if feature not in schema.names:
            raise ValueError(f"features: there is no column {feature!r}")
        return schema.names.index(feature)
    if not parameters.is_whole(feature) or not 0 <= feature < schema.n_features:
        raise ValueError(
            f"features: {feature!r} is neither a name nor a number below {schema.n_features}"
        )
    return int(feature)


def _side(column: Column, resolution: int) -> Side:
    if column.categories is not None:
        n_categories = len(column.categories)
        if n_categories > MOST_CATEGORIES:
            raise ValueError(
                f"column {column.name!r} has {n_categories} categories, but a plot has room for "
                f"{MOST_CATEGORIES}; choose other features"
            )
        return Side(
            column,
            np.arange(n_categories + 1) - 0.5,
            np.arange(n_categories).astype(CATEGORY_NUMBER),
        )
    values = to_numpy(column.values)
    known = values[np.isfinite(values)].astype(np.float64)
    if not known.size:
        raise ValueError(f"column {column.name!r} has no finite value in X; choose other features")
    low, high = float(known.min()), float(known.max())
    edge = EDGE * (high - low) or 0.5
    edges = np.linspace(low - edge, high + edge, resolution + 1)
    return Side(column, edges, ((edges[:-1] + edges[1:]) / 2.0).astype(values.dtype))


def _grid(table: Table, chosen: tuple[int, int], right: HostArray, up: HostArray) -> Table:
    """A row for each cell, from left to right and then upwards."""
    n_rows = len(right) * len(up)
    asked = {chosen[0]: np.tile(right, len(up)), chosen[1]: np.repeat(up, len(right))}
    columns = (
        replace(each, values=asked[at] if at in asked else _usual(each, n_rows))
        for at, each in enumerate(table.columns)
    )
    return Table(tuple(columns), n_rows)


def _usual(column: Column, n_rows: int) -> HostArray:
    """The median of a column, or its most frequent category; what is missing stays out of it."""
    values = to_numpy(column.values)
    if column.kind is Kind.NUMERIC:
        known = values[~np.isnan(values)]
        # Not between two values: a median that is none of them would be no usual one.
        usual = np.sort(known)[len(known) // 2] if known.size else np.nan
    else:
        known = values[(values >= 0) & (values < len(column.categories or ()))]
        usual = np.bincount(known).argmax() if known.size else -1
    return np.full(n_rows, usual, values.dtype)


# Classes


def _target(y: Any, model: Any, n_rows: int) -> HostArray:
    target = to_numpy(y)
    if target.shape != (n_rows,):
        raise ValueError(
            f"y has shape {target.shape}; one value per row of X is needed: ({n_rows},)"
        )
    if not hasattr(model, "classes_"):
        return target.astype(np.float64)
    number = np.searchsorted(model.classes_, target).clip(max=len(model.classes_) - 1)
    unknown = model.classes_[number] != target
    if unknown.any():
        raise ValueError(
            f"y has the label {target[unknown].tolist()[0]!r}, which the model does not know"
        )
    return number


def _colours(model: Any, grid: Table) -> HostArray:
    """Red, green and blue of each cell, between 0 and 1."""
    share = to_numpy(model.predict_proba(grid))
    share = share / np.maximum(share.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    lead = share.max(axis=1)
    least = 1.0 / max(share.shape[1], 2)
    strength = STRONGEST * (0.35 + 0.65 * np.clip((lead - least) / (1.0 - least), 0.0, 1.0))
    colour = class_colours(share.shape[1])[share.argmax(axis=1)]
    mixed = WHITE + strength[:, None] * (colour - WHITE)
    return np.asarray(mixed / WHITE)


def _scatter_classes(ax: Any, right: Side, up: Side, number: HostArray, classes: HostArray) -> None:
    x, y = (_placed(side, seed) for seed, side in enumerate((right, up)))
    is_shown = np.isfinite(x) & np.isfinite(y)
    for at, colour in enumerate(class_colours(len(classes))):
        own = is_shown & (number == at)
        marker = CLASS_MARKERS[at % len(CLASS_MARKERS)]
        ax.scatter(
            x[own],
            y[own],
            s=22,
            marker=marker,
            color=hexed(colour),
            edgecolors="0.15",
            linewidths=0.5,
            label=str(classes[at]),
        )
    ax.legend(fontsize=SMALL)


# Numbers


def _draw_numbers(
    ax: Any, right: Side, up: Side, answer: HostArray, target: HostArray | None
) -> None:
    """Values by colour, with those of the points on the same scale."""
    low, high = float(answer.min()), float(answer.max())
    scale = {"vmin": low, "vmax": high if high > low else low + 1.0, "cmap": "cividis"}
    mesh = ax.pcolormesh(right.edges, up.edges, answer, rasterized=True, **scale)
    ax.figure.colorbar(
        mesh, ax=ax, label="prediction", extend="neither" if target is None else "both"
    )
    if target is not None:
        x, y = (_placed(side, seed) for seed, side in enumerate((right, up)))
        own = np.isfinite(x) & np.isfinite(y)
        ax.scatter(x[own], y[own], c=target[own], s=22, edgecolors="white", linewidths=0.6, **scale)


# Both


def _placed(side: Side, seed: int) -> HostArray:
    """Where the rows are along a side; NaN where their value is missing."""
    values = to_numpy(side.column.values).astype(np.float64)
    if side.categories is None:
        return values
    values[(values < 0) | (values >= len(side.categories))] = np.nan
    shake = np.random.default_rng(seed).uniform(-SHAKEN, SHAKEN, len(values))
    return np.asarray(values + shake)


def _label(axis: Any, side: Side) -> None:
    axis.set_label_text(side.column.name, parse_math=False)
    axis.axes.set(**{f"{axis.axis_name}lim": (side.edges[0], side.edges[-1])})
    if side.categories is not None:
        axis.set_ticks(range(len(side.categories)), [str(each) for each in side.categories])
