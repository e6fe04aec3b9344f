"""Rows whose tested value is missing: divided among children, or sent on by surrogates."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputree import C45Classifier, CARTClassifier, CARTRegressor, DecisionTreeClassifier, shares
from gputree.backends import agreement
from gputree.dtypes import STAY
from gputree.shares import divided

pd = pytest.importorskip("pandas")

MELONS = Path(__file__).parents[1] / "golden" / "watermelon2a.csv"  # Zhou, Machine Learning, 4.4.2
NAN = np.nan


# Divided rows


@pytest.fixture(scope="module")
def melons():
    """The watermelon table 2.0 alpha: categories, some cells empty; ripe or not."""
    with MELONS.open() as file:
        rows = list(csv.DictReader(file))
    frame = pd.DataFrame([{name: cell or None for name, cell in row.items()} for row in rows])
    return frame.drop(columns=["id", "ripe"]).astype("category"), frame["ripe"].to_numpy()


def id3(**params):
    return DecisionTreeClassifier(
        criterion="entropy", nominal="multiway", missing="fractional", backend="numpy", **params
    )


def test_the_root_of_the_book_is_texture_with_its_gain(melons):
    tree = id3(max_depth=1).fit(*melons).nodes_
    assert melons[0].columns[tree.feature[0]] == "texture"
    assert tree.gain[0] == pytest.approx(0.424, abs=5e-4)


def test_rows_without_texture_are_divided_as_in_the_book(melons):
    """Rows 8, ripe, and 10, unripe: 7/15 to clear, 5/15 to slightly blurry, 3/15 to blurry."""
    model = id3(max_depth=1).fit(*melons)
    tree = model.nodes_
    categories = model.schema_.categories[int(tree.feature[0])]
    child = {
        category: 1 + int(slot)
        for category, slot in zip(categories, tree.slots(0, len(categories)), strict=True)
    }
    assert model.classes_.tolist() == ["false", "true"]
    for category, unripe, ripe, share in [
        ("clear", 1, 6, 7 / 15),
        ("slightly_blurry", 4, 1, 5 / 15),
        ("blurry", 3, 0, 3 / 15),
    ]:
        assert tree.value[child[category]] == pytest.approx(
            [unripe + share, ripe + share], abs=1e-12
        )
        assert tree.n_rows[child[category]] == unripe + ripe + 2
    assert tree.weight[1:].sum() == tree.weight[0] == 17.0


def test_a_melon_without_texture_is_predicted_by_all_branches(melons):
    X, y = melons
    model = id3(max_depth=1).fit(X, y)
    blind = X.iloc[[0]].assign(texture=None)
    assert model.predict_proba(blind)[0] == pytest.approx(model.nodes_.value[0] / 17)


@given(
    st.lists(st.integers(0, 2**40), min_size=2, max_size=6).filter(any),
    st.lists(st.integers(1, 2**48), min_size=1, max_size=5),
)
def test_the_parts_of_a_row_add_up_to_the_row_exactly(known, weight):
    """Below one node with so much known weight in each child."""
    group = np.zeros(len(weight), np.int64)
    row, child, part = divided(np.array(weight), group, np.array(known), np.array([len(known)]))
    assert np.bincount(row, part, minlength=len(weight)).astype(np.int64).tolist() == weight
    assert (part > 0).all()
    assert set(child.tolist()) <= {at for at, own in enumerate(known) if own}
    share = np.array(known) / sum(known)
    for each, below, own in zip(row, child, part, strict=True):
        assert abs(own - weight[each] * share[below]) <= 1.01 + weight[each] * 1e-12


@pytest.mark.parametrize("most", [1, 5, 9])
def test_how_many_weights_are_divided_at_once_changes_no_part(monkeypatch, most):
    rng = np.random.default_rng(0)
    group, n_members = rng.integers(0, 4, 30), np.array([2, 5, 3, 1])
    given_all = rng.integers(1, 99, 30), group, rng.integers(1, 9, 11), n_members
    whole = divided(*given_all)
    monkeypatch.setattr(shares, "PARTS_AT_ONCE", most)
    for one, other in zip(divided(*given_all), whole, strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.integers(0, 2**32 - 1))
def test_no_weight_is_lost_or_made_on_the_way_down(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (40, 3)).astype(float)
    X[rng.random(X.shape) < 0.3] = NAN
    y = rng.integers(0, 3, 40)
    weight = rng.integers(1, 9, 40) / 8
    model = C45Classifier(min_branch=0, categorical_features=[0], backend="numpy", pruning=None)
    tree = model.fit(X, y, weight).nodes_
    below = np.zeros((tree.n_nodes, 3))
    filled = tree.weight > 0  # an empty leaf has the classes of its parent
    np.add.at(below, tree.parent[1:][filled[1:]], tree.value[1:][filled[1:]])
    inner = ~tree.is_leaf
    np.testing.assert_array_equal(below[inner], tree.value[inner])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


# A learnt side


@pytest.mark.parametrize("missing", ["direction", "category"])
@pytest.mark.parametrize("nominal", ["subset", "multiway"])
def test_a_table_without_missing_values_sends_later_ones_to_the_largest_child(missing, nominal):
    for letters, largest in [("aaaabc", "a"), ("abbbbc", "b"), ("abcccc", "c")]:
        table = pd.DataFrame({"letter": pd.Categorical(list(letters))})
        y = (np.array(list(letters)) == largest).astype(int)
        model = DecisionTreeClassifier(missing=missing, nominal=nominal).fit(table, y)
        node = model.apply(pd.DataFrame({"letter": [None]}))[0]
        assert model.tree_.weight[node] == model.tree_.weight[1:].max() == 4.0


# Surrogates, on tables that can be checked by hand


def cart(**params):
    return CARTClassifier(pruning=None, backend="numpy", **params)


# x parts the classes, five rows of seven known ones to the left; z follows it but for one row.
X = np.array(
    [
        [0, 0],
        [1, 1],
        [2, 2],
        [3, 8],
        [4, 4],
        [7, 7],
        [9, 9],
        [NAN, 3],
        [NAN, 9],
        [NAN, NAN],
    ]
)
Y = np.array([0, 0, 0, 0, 0, 1, 1, 0, 1, 0])


def test_a_surrogate_is_the_cut_that_agrees_most():
    tree = cart(max_depth=1).fit(X, Y).nodes_
    assert (tree.feature[0], tree.threshold[0]) == (0, 5.5)
    assert tree.n_surrogates.tolist() == [1, 0, 0]
    # z <= 5.5 sends four of five with the left child and both others with the right one.
    assert (tree.surrogate_feature[0], tree.surrogate_threshold[0]) == (1, 5.5)
    assert tree.surrogate_slot[0] == 0
    assert tree.surrogate_agreement[0] == pytest.approx(6 / 7)
    assert tree.missing_slot[0] == 0


def test_rows_follow_surrogates_and_then_the_larger_child_in_training():
    tree = cart(max_depth=1).fit(X, Y).nodes_
    # z = 3 to the left, z = 9 to the right, nothing known to the left.
    assert tree.n_rows.tolist() == [10, 7, 3]
    assert tree.value.tolist() == [[7, 3], [7, 0], [0, 3]]


def test_rows_follow_surrogates_and_then_the_larger_child_in_prediction():
    model = cart(max_depth=1).fit(X, Y)
    rows = [[NAN, 5], [NAN, 6], [NAN, NAN], [0, 9], [9, 0]]
    assert model.apply(rows).tolist() == [1, 2, 1, 1, 2]
    assert model.predict(rows).tolist() == [0, 1, 0, 0, 1]


def test_a_surrogate_has_no_value_of_the_node_between_its_sides():
    """Rows without x, z = 4 and 5, have no say in the cut, but it lies below both, as in rpart.

    So these rows are on the same side in training and in prediction.
    """
    rows = np.array([[1, 1], [2, 2], [3, 3], [7, 7], [8, 8], [9, 9], [NAN, 5], [NAN, 4]])
    model = cart(max_depth=1).fit(rows, [0, 0, 0, 1, 1, 1, 0, 1])
    tree = model.nodes_
    assert (tree.threshold[0], tree.surrogate_threshold[0]) == (5.0, 3.5)
    assert tree.n_rows.tolist() == [8, 3, 5]
    assert model.apply(rows).tolist() == [1, 1, 1, 2, 2, 2, 2, 2]


def test_a_surrogate_may_be_turned_round():
    tree = cart(max_depth=1).fit(X * [1, -1], Y).nodes_
    assert tree.surrogate_threshold[0] == -5.5
    assert tree.surrogate_slot[0] == 1
    assert tree.n_rows.tolist() == [10, 7, 3]


def test_categories_go_with_most_of_their_rows():
    letters = np.array(list("aaabcccabd"), object)
    letters[-1] = None
    frame = pd.DataFrame({"x": X[:, 0], "letter": pd.Categorical(letters)})
    model = cart(max_depth=1).fit(frame, Y)
    tree = model.nodes_
    # a: 3 to the left; b: 1 to the left; c: 1 to the left, 2 to the right; d is no category here.
    assert tree.surrogate_category_start.tolist() == [0]
    assert tree.surrogate_slots(0, 4).tolist() == [0, 0, 1, STAY]
    assert tree.surrogate_agreement[0] == pytest.approx(6 / 7)
    asked = pd.DataFrame({"x": [NAN] * 4, "letter": ["a", "c", None, "new"]})
    assert model.apply(asked).tolist() == [1, 2, 1, 1]


def test_a_surrogate_no_better_than_the_larger_child_is_none():
    useless = np.array([1, 1, 2, 1, 2, 1, 2, 1, 2, 1.0])
    tree = cart(max_depth=1).fit(np.column_stack([X[:, 0], useless]), Y).nodes_
    assert tree.n_surrogates.tolist() == [0, 0, 0]
    assert tree.n_rows.tolist() == [10, 8, 2]  # all unknown rows with the larger child


def test_a_surrogate_that_knows_too_few_rows_is_none():
    """It agrees on all four rows that it knows; the larger child alone has five."""
    seldom = np.array([1, 1, NAN, NAN, NAN, 2, 2, NAN, NAN, NAN])
    tree = cart(max_depth=1).fit(np.column_stack([X[:, 0], seldom]), Y).nodes_
    assert tree.feature[0] == 0
    assert tree.n_surrogates.tolist() == [0, 0, 0]


def test_no_more_surrogates_are_kept_than_asked_for_the_best_first():
    rows = np.arange(40)
    worse, better = rows.astype(float), rows.astype(float)
    worse[[3, 5, 7]] = 39
    better[3] = 39
    table = np.column_stack([rows, worse, better])
    y = rows > 19
    tree = cart(max_depth=1).fit(table, y).nodes_
    assert tree.surrogate_feature.tolist() == [2, 1]
    assert tree.surrogate_agreement.tolist() == [39 / 40, 37 / 40]
    tree = cart(max_depth=1, max_surrogates=1).fit(table, y).nodes_
    assert tree.surrogate_feature.tolist() == [2]
    tree = cart(max_depth=1, max_surrogates=0).fit(table, y).nodes_
    assert tree.surrogate_feature.tolist() == []


def test_rows_that_nothing_knows_stay_where_both_children_weigh_the_same():
    table = np.array([[0.0], [1.0], [2.0], [3.0], [NAN]])
    model = cart(max_depth=1).fit(table, [0, 0, 1, 1, 1])
    assert model.tree_.missing_slot[0] == STAY
    assert model.tree_.n_rows.tolist() == [5, 2, 2]
    assert model.apply([[NAN]]).tolist() == [0]
    assert model.predict_proba([[NAN]]).tolist() == [[0.4, 0.6]]


def test_the_variance_of_a_node_is_that_of_all_its_rows_wherever_they_went():
    y = np.array([1.0, 2, 3, 4, 5, 60, 70, 8, 90, 10])
    model = CARTRegressor(max_depth=1, pruning=None, backend="numpy").fit(X, y)
    leaf = model.apply(X)
    assert model.tree_.impurity[0] == pytest.approx(y.var())
    for node in (1, 2):
        assert model.tree_.impurity[node] == pytest.approx(y[leaf == node].var())
        assert model.nodes_.value[node, 0] == pytest.approx(y[leaf == node].mean())


@given(st.integers(0, 2**32 - 1), st.sampled_from(["surrogate", "direction"]))
def test_training_rows_end_where_a_prediction_sends_them(seed, missing):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (60, 4)).astype(float)
    X[rng.random(X.shape) < 0.2] = NAN
    y = ((np.nan_to_num(X[:, 0]) > 2) ^ (rng.random(60) < 0.2)).astype(int)
    model = DecisionTreeClassifier(
        missing=missing, categorical_features=[1, 3], max_depth=4, backend="numpy"
    ).fit(X, y)
    tree = model.nodes_
    n_rows = np.asarray(model.decision_path(X).sum(axis=0)).ravel()
    np.testing.assert_array_equal(n_rows, tree.n_rows)


@pytest.mark.parametrize(
    ("cells_per_bin", "nodes_at_once", "rows_at_once"),
    [(0, 256, 1), (0, 1, 1), (10**9, 1, 2**17), (10**9, 1, 40), (2, 2, 100)],
)
def test_surrogates_are_the_same_by_sums_and_by_rows(
    cells_per_bin, nodes_at_once, rows_at_once, monkeypatch
):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 12, (300, 4)).astype(float)
    for column in (1, 3):
        X[:, column] = np.where(rng.random(300) < 0.8, X[:, 0], X[:, column])
    y = X[:, 0] + X[:, 2] % 3 + rng.random(300)
    X[rng.random(X.shape) < 0.2] = NAN
    weight = rng.integers(0, 3, 300) / 2

    def files():
        params = {"categorical_features": [1], "min_samples_split": 8}
        numbers = CARTRegressor(pruning=None, backend="numpy", **params).fit(X, y)
        classes = cart(**params).fit(X, np.digitize(y, [6, 9]), weight)
        for tree in (numbers.tree_, classes.tree_):
            is_nominal = tree.surrogate_category_start >= 0
            assert is_nominal.any()
            assert not is_nominal.all()
        return numbers.to_bytes(), classes.to_bytes()

    before = files()
    monkeypatch.setattr(agreement, "CELLS_PER_BIN", cells_per_bin)
    monkeypatch.setattr(agreement, "NODES_AT_ONCE", nodes_at_once)
    monkeypatch.setattr(agreement, "ROWS_AT_ONCE", rows_at_once)
    assert files() == before
