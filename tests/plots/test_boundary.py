"""What a model answers over two columns: the regions, the points, the names."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from gputree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    ID3Classifier,
    RandomForestClassifier,
    RuleSetClassifier,
    plot_boundary,
)
from gputree.tree.colours import class_colours

pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

X, Y = load_iris(return_X_y=True, as_frame=True)
PETALS = ["petal length (cm)", "petal width (cm)"]
FRUIT = pd.DataFrame(
    {
        "colour": pd.Categorical(["red", "red", "green", "green", "blue", None] * 5),
        "size": pd.Categorical(
            ["s", "m", "l", "m", "s", "l"] * 5, categories=["s", "m", "l"], ordered=True
        ),
        "weight": np.arange(30.0),
    }
)
KINDS = np.array(["apple", "apple", "lime", "melon", "plum", "plum"] * 5)


def axes():
    return Figure().subplots()


def cells(ax):
    """The middles of the cells, and what is drawn there."""
    mesh = ax.collections[0]
    corners = mesh.get_coordinates()
    x, y = (corners[0, :, 0], corners[:, 0, 1])
    return (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, np.asarray(mesh.get_array())


def nearest_class(colours, n_classes):
    """The class whose colour, mixed with white, a cell has."""
    tint = 1.0 - colours
    known = 1.0 - class_colours(n_classes) / 255.0
    tint = tint / np.linalg.norm(tint, axis=-1, keepdims=True)
    known = known / np.linalg.norm(known, axis=1, keepdims=True)
    return (tint @ known.T).argmax(axis=-1)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=3),
        RandomForestClassifier(5, random_state=0),
        GradientBoostingClassifier(5),
        RuleSetClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_colour_of_a_cell_is_that_of_the_class_predicted_there(model):
    model.fit(X, Y)
    ax = plot_boundary(model, X, Y, features=PETALS, resolution=12, ax=axes())
    x, y, colours = cells(ax)
    rows = pd.DataFrame(
        {name: np.full(144, np.sort(X[name])[75]) for name in X.columns}
    )  # what is usual
    rows[PETALS[0]], rows[PETALS[1]] = np.tile(x, 12), np.repeat(y, 12)
    expected = model.predict(rows).reshape(12, 12)
    assert (nearest_class(colours, 3) == expected).all()
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(PETALS)


def test_the_surer_the_model_the_stronger_the_colour():
    model = DecisionTreeClassifier().fit(
        [[0.0, 0], [0, 0], [0, 0], [1, 0], [1, 0]], [0, 0, 1, 1, 1]
    )
    _, _, colours = cells(plot_boundary(model, [[0.0, 0], [1, 1]], resolution=2, ax=axes()))
    unsure, sure = colours[0]
    assert unsure.min() > sure.min()  # nearer to white


def test_every_row_has_a_point_in_the_shape_and_colour_of_its_class():
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    ax = plot_boundary(model, X, Y, features=(0, 2), resolution=5, ax=axes())
    _, *points = ax.collections
    assert [each.get_label() for each in points] == ["0", "1", "2"]
    for number, each in enumerate(points):
        own = X.to_numpy()[number == Y][:, [0, 2]]
        assert each.get_offsets().tolist() == own.tolist()
        assert each.get_facecolor()[0][:3] == pytest.approx(class_colours(3)[number] / 255.0)
    shapes = [each.get_paths()[0].vertices.tolist() for each in points]
    assert shapes[0] != shapes[1] != shapes[2] != shapes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]


def test_without_a_target_there_are_no_points():
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    ax = plot_boundary(model, X, resolution=5, ax=axes())
    assert len(ax.collections) == 1
    assert ax.get_legend() is None


def test_the_two_most_important_columns_are_drawn_by_default():
    model = DecisionTreeClassifier().fit(X, Y)
    ax = plot_boundary(model, X, resolution=5, ax=axes())
    order = np.argsort(-model.feature_importances_)
    assert [ax.get_xlabel(), ax.get_ylabel()] == X.columns[order[:2]].tolist()
    two = DecisionTreeClassifier().fit(X.iloc[:, 2:], Y)
    ax = plot_boundary(two, X.iloc[:, 2:], resolution=5, ax=axes())
    assert [ax.get_xlabel(), ax.get_ylabel()] == PETALS


def test_categories_stand_side_by_side_under_their_names():
    model = DecisionTreeClassifier().fit(FRUIT, KINDS)
    ax = plot_boundary(model, FRUIT, KINDS, features=("colour", "size"), ax=axes())
    x, y, colours = cells(ax)
    assert (x.tolist(), y.tolist()) == ([0, 1, 2], [0, 1, 2])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["blue", "green", "red"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["s", "m", "l"]
    rows = pd.DataFrame(
        {
            "colour": pd.Categorical(["blue", "green", "red"] * 3),
            "size": pd.Categorical(
                np.repeat(["s", "m", "l"], 3), categories=["s", "m", "l"], ordered=True
            ),
            "weight": np.full(9, 15.0),
        }
    )
    number = np.searchsorted(model.classes_, model.predict(rows)).reshape(3, 3)
    assert (nearest_class(colours, 4) == number).all()
    # A point keeps to the room of its level, and a missing colour has none.
    points = np.concatenate([each.get_offsets() for each in ax.collections[1:]])
    assert len(points) == 25
    assert np.abs(points - np.rint(points)).max() < 0.5
    assert np.rint(points[:, 0]).astype(int).tolist().count(2) == 10  # red


def test_what_is_usual_is_the_median_and_the_most_frequent_category():
    y = np.where(FRUIT["colour"] == "red", 100.0, 0.0) + FRUIT["weight"]
    model = DecisionTreeRegressor().fit(FRUIT, y)
    frame = FRUIT.assign(colour=pd.Categorical(["red"] * 16 + ["blue"] * 14))
    ax = plot_boundary(model, frame, features=("weight", "size"), resolution=4, ax=axes())
    _, _, values = cells(ax)
    assert (values >= 100.0).all()


def test_numbers_are_drawn_by_colour_with_a_scale():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    ax = plot_boundary(model, X, y, features=("bmi", "s5"), resolution=6, ax=axes())
    horizontal, vertical, values = cells(ax)
    rows = pd.DataFrame({name: np.full(36, np.sort(X[name])[len(X) // 2]) for name in X})
    rows["bmi"], rows["s5"] = np.tile(horizontal, 6), np.repeat(vertical, 6)
    assert values.ravel().tolist() == model.predict(rows).tolist()
    mesh, points = ax.collections
    assert points.get_array().tolist() == y.tolist()
    assert points.get_clim() == mesh.get_clim() == (values.min(), values.max())
    assert len(ax.figure.axes) == 2  # the scale


def test_a_column_of_one_value_has_room():
    model = DecisionTreeClassifier().fit([[0.0, 3.0], [1.0, 3.0]], [0, 1])
    ax = plot_boundary(model, [[0.0, 3.0], [1.0, 3.0]], [0, 1], resolution=4, ax=axes())
    assert ax.get_ylim() == (2.5, 3.5)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"features": ["petal length (cm)"]}, "two columns are needed"),
        ({"features": "ab"}, "two columns are needed"),
        ({"features": (1, 1)}, "two different columns"),
        ({"features": (0, 4)}, "a number below 4"),
        ({"features": ("length", 1)}, "no column 'length'"),
        ({"y": Y[:5]}, r"y has shape \(5,\)"),
        ({"y": Y + 1}, "the label 3, which the model does not know"),
        ({"resolution": 1}, "resolution=1"),
    ],
)
def test_wrong_columns_and_targets_are_refused(given, match):
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    with pytest.raises(ValueError, match=match):
        plot_boundary(model, X, **{"y": Y, **given}, ax=axes())


def test_what_has_no_picture_is_refused():
    many = pd.DataFrame({"a": pd.Categorical(range(40)), "b": np.arange(40.0)})
    model = DecisionTreeClassifier().fit(many, np.arange(40) % 2)
    with pytest.raises(ValueError, match="'a' has 40 categories"):
        plot_boundary(model, many, ax=axes())
    two = many.assign(a=many["b"])
    model = DecisionTreeClassifier().fit(two, np.arange(40) % 2)
    with pytest.raises(ValueError, match="'b' has no finite value"):
        plot_boundary(model, two.assign(b=np.nan), ax=axes())
    outputs = DecisionTreeRegressor().fit([[0.0, 1], [1, 0]], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="2 outputs"):
        plot_boundary(outputs, [[0.0, 1], [1, 0]], ax=axes())
    one = ID3Classifier().fit(FRUIT[["size"]], KINDS)
    with pytest.raises(ValueError, match="one column"):
        plot_boundary(one, FRUIT[["size"]], ax=axes())
    rules = RuleSetClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="name the two columns"):
        plot_boundary(rules, X, ax=axes())


def test_class_colours_can_be_told_apart():
    """As grey, neighbours in the list differ; all differ as colours."""
    colours = class_colours(8)
    assert len({tuple(each) for each in colours.tolist()}) == 8
    assert to_rgb("#e69f00") == pytest.approx(tuple(colours[0] / 255.0))
