"""Samples of rows and columns, and their mean."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import gputree
from gputree import (
    BaggingClassifier,
    BaggingRegressor,
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from gputree.ensembles.draws import ContentOrder, Draws

X, Y = load_iris(return_X_y=True)


@pytest.fixture
def samples(monkeypatch):
    """Lets each tree draw the given rows."""

    def fix(*rows):
        monkeypatch.setattr(
            Draws, "counts", lambda self, tree: np.bincount(rows[tree], minlength=self.n_rows)
        )

    return fix


def test_three_trees_of_numbers_by_hand(samples):
    """Rows 0, 1, 2, 3 with targets 0, 0, 6, 12, and stumps.

    All rows: cut at 1.5, means 0 and 9 (what is left, 18, is less than the 24 of a cut at 2.5).
    Rows 0, 0, 2, 2: cut at 1, means 0 and 6. Rows 1, 1, 1, 3: cut at 2, means 0 and 12. So row 2
    hears 9, 6, 0 and row 3 hears 9, 6, 12. Out of the bag, rows 0 and 2 hear tree 3 only (0, 0),
    rows 1 and 3 tree 2 (0, 6): squared errors 0, 0, 36, 36 of a total of 99 about the mean 4.5.
    """
    samples([0, 1, 2, 3], [0, 0, 2, 2], [1, 1, 1, 3])
    X, y = np.arange(4.0)[:, None], [0.0, 0.0, 6.0, 12.0]
    tree = DecisionTreeRegressor(max_depth=1)
    bag = BaggingRegressor(tree, n_estimators=3, oob_score=True).fit(X, y)
    assert [each.nodes_.threshold[0] for each in bag.estimators_] == [1.5, 1.0, 2.0]
    assert bag.predict(X).tolist() == [0.0, 0.0, 5.0, 9.0]
    assert bag.oob_prediction_.tolist() == [0.0, 0.0, 0.0, 6.0]
    assert bag.oob_score_ == pytest.approx(1 - 72 / 99, rel=1e-12)
    # Nobody is out of the first bag; then rows 1 and 3 are known, then all.
    assert bag.oob_error_curve_[1:].tolist() == [18.0, 18.0]
    assert np.isnan(bag.oob_error_curve_[0])


def test_three_trees_of_classes_by_hand(samples):
    """Rows 0, 1, 2, 3 of classes a, a, b, b, and stumps.

    All rows: cut at 1.5, pure. Rows 0, 1, 1, 1: a everywhere. Rows 0, 2, 2, 2: cut at 1, pure. Row
    3 is a for one tree of three. Out of the bag, rows 2 and 3 hear a from tree 2, row 3 also b from
    tree 3, and row 1 a from tree 3; every tree has seen row 0.
    """
    samples([0, 1, 2, 3], [0, 1, 1, 1], [0, 2, 2, 2])
    X, y = np.arange(4.0)[:, None], list("aabb")
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=1), 3, oob_score=True)
    with pytest.warns(UserWarning, match="1 rows were drawn for every tree"):
        bag.fit(X, y)
    assert bag.predict_proba(X)[3] == pytest.approx([1 / 3, 2 / 3])
    np.testing.assert_array_equal(
        bag.oob_decision_function_, [[np.nan, np.nan], [1, 0], [1, 0], [0.5, 0.5]]
    )
    assert bag.oob_score_ == pytest.approx(
        1 / 3
    )  # of rows 1, 2, 3; a comes first where both have half
    stages = [shares[3].tolist() for shares in bag.staged_predict_proba(X)]
    assert stages == [[0.0, 1.0], [0.5, 0.5], pytest.approx([1 / 3, 2 / 3])]


def test_four_rows_by_hand():
    """Rows 0, 1, 2, 3 with targets 0, 0, 6, 6; the samples are read from the model.

    Each tree splits its sample between the values it has, halfway, and the answer is the mean: so
    we can redo every tree from its rows alone.
    """
    values, y = np.arange(4.0), np.array([0.0, 0.0, 6.0, 6.0])
    bag = BaggingRegressor(n_estimators=5, random_state=1).fit(values[:, None], y)
    asked = 1.9  # between rows 1 and 2
    said = []
    for rows in bag.estimators_samples_:
        low, high = values[rows][y[rows] == 0], values[rows][y[rows] == 6]
        if not low.size or not high.size:
            said.append(float(y[rows][0]))
        else:
            said.append(0.0 if asked <= (low.max() + high.min()) / 2 else 6.0)
    assert len(set(said)) > 1
    assert bag.predict([[asked]])[0] == pytest.approx(np.mean(said))


def test_members_are_the_trees_of_their_samples():
    """A tree on a sample is the tree of the rows repeated as often as they were drawn."""
    bag = BaggingClassifier(n_estimators=3, random_state=0).fit(X, Y)
    for member, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        alone = DecisionTreeClassifier().fit(X, Y, np.bincount(rows, minlength=len(X)))
        np.testing.assert_array_equal(member.nodes_.threshold, alone.nodes_.threshold)
        np.testing.assert_array_equal(member.nodes_.value, alone.nodes_.value)


def test_probabilities_are_the_mean_of_the_members():
    bag = BaggingClassifier(C45Classifier(), n_estimators=4, random_state=0).fit(X, Y)
    mean = np.mean([tree.predict_proba(X) for tree in bag.estimators_], axis=0)
    np.testing.assert_allclose(bag.predict_proba(X), mean, rtol=1e-12)
    assert all(isinstance(tree, C45Classifier) for tree in bag.estimators_)


def test_a_member_is_an_estimator_of_its_own():
    bag = BaggingClassifier(n_estimators=3, random_state=0).fit(X, Y)
    tree = bag.estimators_[1]
    assert tree.prune("pessimistic").get_n_leaves() <= tree.get_n_leaves()
    assert "x2" in bag.estimators_[0].export_text()
    assert len(bag.estimators_[1:]) == 2
    assert [each.get_depth() for each in bag.estimators_]


@pytest.mark.filterwarnings("ignore:.*use more trees")
@pytest.mark.parametrize("bootstrap_features", [False, True])
def test_trees_on_some_columns_know_only_these(bootstrap_features):
    table, y = load_diabetes(return_X_y=True)
    bag = BaggingRegressor(
        n_estimators=4,
        max_features=0.3,
        bootstrap_features=bootstrap_features,
        random_state=0,
        oob_score=True,
    ).fit(table, y)
    assert all(len(columns) == 3 for columns in bag.estimators_features_)
    assert len({tuple(columns) for columns in bag.estimators_features_}) > 1
    said = [
        tree.predict(table[:, columns])
        for tree, columns in zip(bag.estimators_, bag.estimators_features_, strict=True)
    ]
    np.testing.assert_allclose(bag.predict(table), np.mean(said, axis=0), rtol=1e-12)
    used = np.unique(np.concatenate(bag.estimators_features_))
    assert set(np.flatnonzero(bag.feature_importances_)) <= set(used.tolist())
    assert bag.apply(table).shape == (442, 4)


def test_rows_are_drawn_as_often_as_chance_has_it():
    bag = BaggingRegressor(n_estimators=20, random_state=0).fit(
        np.arange(400.0)[:, None], range(400)
    )
    counts = np.array([np.bincount(rows, minlength=400) for rows in bag.estimators_samples_])
    assert (counts.sum(axis=1) == 400).all()
    # (1 - 1/400) ** 400 = 0.3674; the share of 8,000 has a standard error of about 0.003.
    assert np.mean(counts == 0) == pytest.approx(0.3674, abs=0.015)
    assert len({row.tobytes() for row in counts}) == 20


def test_without_replacement_a_row_is_there_once():
    bag = BaggingClassifier(n_estimators=3, bootstrap=False, max_samples=0.4, random_state=0)
    for rows in bag.fit(X, Y).estimators_samples_:
        assert len(rows) == len(set(rows.tolist())) == 60


@settings(max_examples=20)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(0, 99))
def test_a_row_of_weight_two_is_drawn_like_two_rows(weights, tree):
    weight = np.array([*weights, 1])
    n, total = len(weight), int(weight.sum())
    some = np.flatnonzero(weight)
    order = ContentOrder.alone(some)
    weighed = Draws(5, total, True, order, weight[some], n).counts(tree)
    row = np.repeat(np.arange(n), weight)
    order = ContentOrder.alone(np.arange(total))
    repeated = Draws(5, total, True, order, None, total).counts(tree)
    assert weighed.tolist() == np.bincount(row, repeated, minlength=n).tolist()


def test_whole_weights_count_rows_and_others_do_not():
    weight = np.repeat([1.0, 3.0], 75)
    n_drawn = {
        kind: len(BaggingClassifier(n_estimators=1).fit(X, Y, own).estimators_samples_[0])
        for kind, own in {"whole": weight, "real": weight / 7, "none": None}.items()
    }
    assert n_drawn == {"whole": 300, "real": 150, "none": 150}


def test_pruning_is_judged_by_rows_that_a_tree_has_not_seen():
    table, y = load_breast_cancer(return_X_y=True)
    plain = BaggingClassifier(n_estimators=2, random_state=0).fit(table, y)
    tree = DecisionTreeClassifier(pruning="reduced_error")
    pruned = BaggingClassifier(tree, n_estimators=2, random_state=0).fit(table, y)
    for before, after, rows in zip(
        plain.estimators_, pruned.estimators_, plain.estimators_samples_, strict=True
    ):
        outside = np.setdiff1d(np.arange(len(y)), rows)
        by_hand = before.prune("reduced_error", table[outside], y[outside])
        np.testing.assert_array_equal(after.nodes_.threshold, by_hand.nodes_.threshold)
        assert after.pruning_report_ is not None


@pytest.mark.filterwarnings("ignore:.*use more trees")
def test_the_mean_of_several_outputs():
    table, y = load_diabetes(return_X_y=True)
    both = np.stack([y, -y], axis=1)
    tree = DecisionTreeRegressor(max_depth=2)
    bag = BaggingRegressor(tree, n_estimators=3, random_state=0, oob_score=True).fit(table, both)
    assert bag.predict(table).shape == bag.oob_prediction_.shape == (442, 2)
    np.testing.assert_allclose(bag.predict(table)[:, 0], -bag.predict(table)[:, 1])


def test_columns_that_are_drawn_twice_are_read_from_a_file(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
    y = (X[:, 0] > 0).astype(np.int64)
    path = tmp_path / "table.csv"
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    bag = gputree.BaggingClassifier(n_estimators=4, bootstrap_features=True, random_state=0)
    bag.fit(gputree.Dataset.from_file(path, target="y"))
    assert any(len(set(own.tolist())) < len(own) for own in bag.estimators_features_)
    assert bag.predict(bag_rows(X)).shape == (60,)


def bag_rows(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=list("abc"))
