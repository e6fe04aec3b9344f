"""Oblique trees: what they find, what they show, and what they refuse."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import gputree
from gputree import DecisionTreeClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from gputree.errors import ModelFileError
from gputree.export import NotExportable
from gputree.tree import store

pd = pytest.importorskip("pandas")

IRIS = load_iris(return_X_y=True)
DIRECTIONS = ["lda", "logistic", "cart-lc", "sparse"]


def melons():
    """Table 3.0 alpha of Zhou's Machine learning: density and sugar of seventeen melons."""
    table = pd.read_csv(Path(__file__).parents[1] / "golden" / "watermelon3.csv")
    return table[["density", "sugar"]], table["ripe"].to_numpy()


def bands(n=400, seed=0):
    """Slanted bands of two classes."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 2))
    return X, (np.floor(2.0 * (X[:, 0] + X[:, 1])) % 2).astype(int)


@pytest.mark.parametrize("directions", ["lda", "cart-lc"])
def test_melons_need_two_tests_instead_of_four(directions):
    X, y = melons()
    along = DecisionTreeClassifier().fit(X, y)
    tree = ObliqueTreeClassifier(directions=directions).fit(X, y)
    assert tree.score(X, y) == along.score(X, y) == 1.0
    assert (tree.nodes_.n_nodes, along.nodes_.n_nodes) == (5, 9)
    # Melons 7 and 14 are next to the line: 0.149 - 0.29 * 0.481 and 0.198 - 0.29 * 0.657.
    assert tree.nodes_.threshold[0] == pytest.approx((0.149 - 0.13949 + 0.198 - 0.19053) / 2)


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_slanted_bands_need_a_third_of_the_nodes(directions):
    X, y = bands()
    along = DecisionTreeClassifier().fit(X, y)
    tree = ObliqueTreeClassifier(directions=directions, random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.nodes_.n_nodes * 3 <= along.nodes_.n_nodes
    other = bands(seed=1)
    assert tree.score(*other) > along.score(*other)


def test_a_tree_of_single_columns_stays_where_it_is_as_good():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.digitize(X[:, 2], [-0.5, 0.3])
    tree = ObliqueTreeClassifier(directions="cart-lc").fit(X, y)
    assert not len(tree.nodes_.directions)
    plain = DecisionTreeClassifier().fit(X, y)
    assert tree.nodes_.threshold.tobytes() == plain.nodes_.threshold.tobytes()


def test_the_charge_for_terms_decides_between_one_column_and_two():
    X, y = bands()
    n = [
        len(ObliqueTreeClassifier(term_cost=cost, max_depth=4).fit(X, y).nodes_.directions)
        for cost in (0.0, 0.05, 1e9)
    ]
    assert n[0] >= n[1] > n[2] == 0


def test_few_rows_have_no_combinations_of_many_columns():
    """Five columns divide any six rows of distinct values."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 8)), rng.integers(0, 2, 9)
    n_terms = ObliqueTreeClassifier(term_cost=0.0).fit(X, y).nodes_.directions.n_terms
    assert n_terms.max(initial=0) <= 3


def test_unordered_categories_are_divided_in_the_same_tree():
    X, y = bands()
    table = pd.DataFrame(X, columns=["u", "v"])
    table["w"] = pd.Categorical(np.where(np.arange(len(X)) % 3, "on", "off"))
    y = np.where(table["w"] == "on", y, 2)
    tree = ObliqueTreeClassifier(directions="cart-lc").fit(table, y)
    text = tree.export_text()
    assert "w in {off}" in text
    assert " + v <= " in text
    assert set(tree.nodes_.directions.column.tolist()) == {0, 1}
    assert tree.score(table, y) == 1.0


def test_ordered_categories_count_by_their_numbers():
    rng = np.random.default_rng(0)
    size, width = rng.integers(0, 5, 300), rng.normal(2.0, 2.0, 300)
    grade = pd.Categorical.from_codes(size, list("abcde"), ordered=True)
    table = pd.DataFrame({"grade": grade, "width": width})
    tree = ObliqueTreeClassifier(directions="cart-lc", max_depth=1).fit(table, size + width > 4.0)
    assert tree.score(table, size + width > 4.0) > 0.98
    column, weight = tree.nodes_.directions.terms(0)
    assert column.tolist() == [0, 1]
    assert weight[0] == pytest.approx(weight[1], rel=0.1)


def test_a_missing_value_makes_a_combination_missing_and_a_side_is_learned():
    X, y = bands()
    X = X.copy()
    is_out = np.random.default_rng(1).random(len(X)) < 0.2
    X[is_out, 0], y = np.nan, np.where(is_out, 1, y)
    tree = ObliqueTreeClassifier(directions="cart-lc").fit(X, y)
    assert (tree.predict(X[is_out]) == 1).all()
    assert " or missing" in tree.export_text()


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_a_regression_follows_a_slope(directions):
    X, y = load_diabetes(return_X_y=True)
    how = {"directions": directions, "max_leaf_nodes": 8, "random_state": 0}
    tree = ObliqueTreeRegressor(**how).fit(X, y)
    plain = gputree.DecisionTreeRegressor(max_leaf_nodes=8).fit(X, y)
    assert tree.score(X, y) > plain.score(X, y)
    assert tree.get_n_leaves() == 8


def test_weights_are_rows_that_come_again():
    X, y = bands()
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    again = np.repeat(np.arange(len(X)), weight)
    tree = ObliqueTreeClassifier(max_bins=7, max_depth=4)  # cut by quantiles of the weights
    one = tree.fit(X, y, sample_weight=weight).nodes_
    other = tree.fit(X[again], y[again]).nodes_
    assert one.threshold.tobytes() == other.threshold.tobytes()
    assert one.directions.weight.tobytes() == other.directions.weight.tobytes()


def test_a_large_weight_total_leaves_room_for_exact_sums():
    X, y = bands()
    weight = np.random.default_rng(0).random(len(X)) * 1e-3  # some fifty bits each, as integers
    fits = [
        ObliqueTreeClassifier(backend=backend).fit(X[order], y[order], weight[order])
        for backend, order in (("numpy", slice(None)), ("numba", slice(None, None, -1)))
    ]
    assert fits[0].to_bytes() == fits[1].to_bytes()
    assert len(fits[0].nodes_.directions)


def test_predictions_of_many_blocks_are_those_of_one(monkeypatch):
    tree = ObliqueTreeClassifier(directions="cart-lc").fit(*bands())
    X, _ = bands(1000, seed=1)
    whole = tree.apply(X)
    monkeypatch.setattr(gputree.prediction, "CELLS_AT_ONCE", 100)
    assert np.array_equal(tree.apply(X), whole)


def test_a_file_and_json_bring_it_back(tmp_path):
    tree = ObliqueTreeClassifier(directions="cart-lc").fit(*IRIS)
    tree.save(tmp_path / "tree.gputree")
    for back in (gputree.load(tmp_path / "tree.gputree"), gputree.from_json(tree.to_json())):
        assert back.to_bytes() == tree.to_bytes()
        assert back.get_params() == tree.get_params()
        assert np.array_equal(back.predict_proba(IRIS[0]), tree.predict_proba(IRIS[0]))


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "ObliqueTreeClassifier"])
def test_a_file_of_one_kind_is_not_one_of_the_other(kind):
    tree = getattr(gputree, kind)().fit(*IRIS)
    header, arrays = store.unpack(store.pack(*tree._file_parts()))
    other = {"DecisionTreeClassifier", "ObliqueTreeClassifier"} - {kind}
    header = {**header, "estimator": other.pop(), "params": {"dict": []}}
    from gputree.estimators.model_file import from_bytes

    with pytest.raises(ModelFileError, match="not of the kind"):
        from_bytes(store.pack(header, arrays), "it")


@pytest.mark.parametrize(
    ("method", "how"),
    [
        ("pessimistic", {}),
        ("minimum_error", {}),
        ("cost_complexity", {}),
        ("pre", {"validation_fraction": 0.3}),
    ],
)
def test_pruning_keeps_the_combinations_that_are_left(method, how):
    X, y = bands(200)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.1, 1 - y, y)
    kept = {"random_state": 0, **how}
    tree = ObliqueTreeClassifier(random_state=0).fit(X, y)
    small = ObliqueTreeClassifier(pruning=method, **kept).fit(X, y)
    assert 1 < small.get_n_leaves() < tree.get_n_leaves()
    tested = small.nodes_.feature >= 2
    assert tested.sum() == len(small.nodes_.directions) > 0
    assert gputree.from_json(small.to_json()).to_bytes() == small.to_bytes()


def test_other_rows_prune_it_and_nodes_are_cut_by_hand():
    X, y = bands()
    tree = ObliqueTreeClassifier(directions="cart-lc").fit(X[:200], y[:200])
    pruned = tree.prune("reduced_error", X[200:], y[200:])
    assert pruned.score(X[200:], y[200:]) >= tree.score(X[200:], y[200:])
    assert tree.prune(nodes=[0]).get_n_leaves() == 1


def test_text_graph_and_picture_spell_the_test_out():
    X, y = melons()
    tree = ObliqueTreeClassifier(directions="cart-lc").fit(X, y)
    assert "-0.29 density + sugar <= " in tree.export_text()
    assert "-0.29 density + sugar" in tree.export_graphviz()
    assert "-0.29 'my a' + b" in tree.export_text(feature_names=["my a ", "b"]).replace("a '", "a'")
    figure = pytest.importorskip("matplotlib.figure").Figure()
    boxes = gputree.plot_tree(tree, ax=figure.subplots())
    assert boxes[0].get_text().startswith("-0.29 density + sugar")
    gputree.plot_boundary(tree, X, y, ax=figure.subplots(), resolution=10)
    assert "-0.29 density + sugar" in tree._repr_mimebundle_()["text/html"]


def test_the_form_of_scikit_learn_is_refused():
    tree = ObliqueTreeClassifier().fit(*IRIS)
    with pytest.raises(NotExportable, match="to_json"):
        gputree.export_text(tree, style="sklearn")


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda tree: tree.to_rules(), "export_text shows the tree"),
        (lambda tree: gputree.RuleSetClassifier(tree).fit(*IRIS), "has rules"),
    ],
)
def test_what_is_about_single_columns_is_refused(ask, what):
    with pytest.raises(ValueError, match=what):
        ask(ObliqueTreeClassifier().fit(*IRIS))


@pytest.mark.parametrize("ensemble", [gputree.BaggingClassifier, gputree.AdaBoostClassifier])
def test_ensembles_refuse_oblique_trees(ensemble):
    with pytest.raises(TypeError, match="give for example DecisionTreeClassifier"):
        ensemble(ObliqueTreeClassifier()).fit(*IRIS)


def test_the_names_of_scikit_learn_are_not_there():
    tree = ObliqueTreeClassifier().fit(*IRIS)
    assert not hasattr(tree, "tree_")
    with pytest.raises(AttributeError, match="nodes_"):
        tree.tree_  # noqa: B018


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"directions": "ridge"}, "choose from cart-lc, lda, logistic, sparse"),
        ({"max_terms": 1}, "max_terms=1"),
        ({"max_projections": 0}, "max_projections=0"),
        ({"projection_density": 0.0}, "projection_density=0"),
        ({"term_cost": -0.1}, "term_cost=-0.1"),
        ({"criterion": "gain_ratio"}, "gain_ratio"),
        ({"pruning": "error_based"}, "minimum_error"),
        ({"pruning": gputree.pruning.ReducedError(row_shares="validation")}, "row_shares"),
    ],
)
def test_parameters_that_cannot_be_are_refused(wrong, what):
    with pytest.raises(ValueError, match=what):
        ObliqueTreeClassifier(**wrong).fit(*IRIS)


@pytest.mark.parametrize(
    "X",
    [
        [[0.0], [1.0], [2.0], [3.0]],
        [[1.0, 2.0]] * 4,
        [[np.nan, 1.0], [np.nan, 2.0], [np.nan, np.nan], [np.nan, 4.0]],
        [[np.inf, -np.inf], [-np.inf, np.inf], [1.0, np.inf], [1e308, -1e308]],
    ],
    ids=["one column", "constants", "nothing known", "the ends of floats"],
)
@pytest.mark.parametrize("directions", DIRECTIONS)
def test_tables_without_a_combination_are_fitted_all_the_same(X, directions):
    tree = ObliqueTreeClassifier(directions=directions).fit(X, [0, 1, 0, 1])
    plain = DecisionTreeClassifier().fit(X, [0, 1, 0, 1])
    assert tree.score(X, [0, 1, 0, 1]) >= plain.score(X, [0, 1, 0, 1])
