"""The pictures of README and site, made anew: `python docs/make_images.py` (needs matplotlib).

They show small tables that come with scikit-learn, so that anyone can make the same ones.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import train_test_split

from gputree import (
    CARTClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ObliqueTreeClassifier,
    RandomForestClassifier,
    plot_boundary,
    plot_error_curve,
    plot_importance,
    plot_pruning,
    plot_tree,
)

IMAGES = Path(__file__).parent / "images"
DPI = 100
IRIS = load_iris(as_frame=True)
CANCER = load_breast_cancer(return_X_y=True, as_frame=True)


def tree(figure: Figure) -> None:
    """The tree at the top of README."""
    model = DecisionTreeClassifier(criterion="entropy", max_depth=3)
    model.fit(IRIS.data, IRIS.target_names[IRIS.target])
    plot_tree(model, filled=True, ax=figure.subplots())


def importance(figure: Figure) -> None:
    """The same forest asked in two ways."""
    forest = RandomForestClassifier(100, random_state=0).fit(*CANCER)
    left, right = figure.subplots(1, 2)
    plot_importance(forest, max_features=10, ax=left)
    plot_importance(forest, *CANCER, kind="oob", max_features=10, ax=right)


def pruning(figure: Figure) -> None:
    """Cross-validation of the price of a leaf."""
    plot_pruning(CARTClassifier().fit(*CANCER), ax=figure.subplots())


def boundary(figure: Figure) -> None:
    """Classes and numbers over two columns."""
    left, right = figure.subplots(1, 2)
    y = IRIS.target_names[IRIS.target]
    forest = RandomForestClassifier(50, random_state=0).fit(IRIS.data, y)
    plot_boundary(forest, IRIS.data, y, ax=left)
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    plot_boundary(GradientBoostingRegressor(50).fit(X, y), X, y, features=("bmi", "s5"), ax=right)


def error_curve(figure: Figure) -> None:
    """Rows that were seen, and others."""
    X, X_val, y, y_val = train_test_split(*CANCER, random_state=0)
    model = GradientBoostingClassifier(150, max_depth=3).fit(X, y, X_val=X_val, y_val=y_val)
    ax = plot_error_curve(model, ax=figure.subplots())
    plot_error_curve(model, X, y, label="training rows", ax=ax)


def oblique(figure: Figure) -> None:
    """Watermelons by density and sugar, divided along the axes and across them."""
    density = [0.697, 0.774, 0.634, 0.608, 0.556, 0.403, 0.481, 0.437]
    density += [0.666, 0.243, 0.245, 0.343, 0.639, 0.657, 0.360, 0.593, 0.719]
    sugar = [0.460, 0.376, 0.264, 0.318, 0.215, 0.237, 0.149, 0.211]
    sugar += [0.091, 0.267, 0.057, 0.099, 0.161, 0.198, 0.370, 0.042, 0.103]
    X, y = pd.DataFrame({"density": density, "sugar": sugar}), ["good"] * 8 + ["bad"] * 9
    models = DecisionTreeClassifier(), ObliqueTreeClassifier()
    for model, ax in zip(models, figure.subplots(1, 2), strict=True):
        plot_boundary(model.fit(X, y), X, y, resolution=400, ax=ax)
        ax.set_title(f"{type(model).__name__}, {model.nodes_.n_nodes} nodes")


PICTURES: dict[str, tuple[Callable[[Figure], None], float, float]] = {
    "tree": (tree, 9.0, 4.2),
    "importance": (importance, 11.0, 3.8),
    "pruning": (pruning, 7.0, 4.0),
    "boundary": (boundary, 11.0, 4.2),
    "oblique": (oblique, 11.0, 4.2),
    "error-curve": (error_curve, 7.0, 4.0),
}


def main() -> None:
    """Write all pictures."""
    IMAGES.mkdir(exist_ok=True)
    for name, (draw, width, height) in PICTURES.items():
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        # Without versions and dates the same picture has the same bytes.
        options: dict[str, Any] = {"dpi": DPI, "metadata": {"Software": None}}
        figure.savefig(IMAGES / f"{name}.png", **options)


if __name__ == "__main__":
    main()
