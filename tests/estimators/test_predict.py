"""What a fitted tree says: predictions, paths, importances, and a report of the fit."""

import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris

import gputree
from gputree import Dataset, DecisionTreeClassifier, DecisionTreeRegressor

NAN, INF = np.nan, np.inf
X, Y = load_iris(return_X_y=True)
XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


@pytest.fixture(scope="module")
def tree():
    return DecisionTreeClassifier(max_depth=3).fit(X, Y)


# Predictions agree with one another


def test_probabilities_sum_to_one_and_the_largest_is_predicted(tree):
    proba = tree.predict_proba(X)
    assert proba.shape == (150, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(tree.classes_[proba.argmax(axis=1)], tree.predict(X))


def test_log_probabilities_are_the_logarithms_and_minus_infinity_is_no_warning(tree):
    proba, log_proba = tree.predict_proba(X), tree.predict_log_proba(X)
    np.testing.assert_allclose(np.exp(log_proba), proba)
    assert np.isneginf(log_proba[proba == 0]).all()
    assert (proba == 0).any()


def test_the_probabilities_of_a_leaf_are_the_class_shares_of_its_rows(tree):
    leaf, proba = tree.apply(X), tree.predict_proba(X)
    for node in np.unique(leaf):
        shares = np.bincount(Y[leaf == node], minlength=3) / (leaf == node).sum()
        np.testing.assert_allclose(proba[leaf == node], np.tile(shares, ((leaf == node).sum(), 1)))


def test_weights_count_in_the_probabilities():
    model = DecisionTreeClassifier().fit([[0], [0]], ["a", "b"], sample_weight=[3, 1])
    assert model.predict_proba([[0]]).tolist() == [[0.75, 0.25]]


def test_the_first_class_wins_a_draw():
    model = DecisionTreeClassifier().fit([[0], [0]], ["b", "a"])
    assert model.predict([[0]]).tolist() == ["a"]


def test_a_regression_predicts_the_mean_of_the_leaf():
    data, target = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=3).fit(data, target)
    leaf = model.apply(data)
    means = np.bincount(leaf, target) / np.maximum(np.bincount(leaf), 1)
    np.testing.assert_allclose(model.predict(data), means[leaf], rtol=1e-12)


def test_the_score_is_accuracy_or_r2(tree):
    assert tree.score(X, Y) == (tree.predict(X) == Y).mean()
    model = DecisionTreeRegressor(max_depth=3).fit(X[:, :3], X[:, 3])
    error = ((model.predict(X[:, :3]) - X[:, 3]) ** 2).sum()
    assert model.score(X[:, :3], X[:, 3]) == pytest.approx(1 - error / (150 * X[:, 3].var()))


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_shape_of_predictions_is_that_of_the_target(n_outputs):
    target = X[:, :n_outputs] if n_outputs > 1 else X[:, 0]
    model = DecisionTreeRegressor().fit(X, target)
    assert model.n_outputs_ == n_outputs
    assert model.predict(X).shape == target.shape
    np.testing.assert_allclose(model.predict(X), target, rtol=1e-12)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-7, 9], [0.0, 1.0]])
def test_predictions_are_the_labels_of_fit(labels):
    y = np.array(labels)[[0, 1, 1, 0]]
    model = DecisionTreeClassifier().fit(XOR, y)
    assert model.predict(XOR).dtype == y.dtype
    np.testing.assert_array_equal(model.predict(XOR), y)


# Nodes


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-128, 127, 0, 127], np.int8),
        np.array([-30000, 30000, 0, 30000], np.int16),
        np.array([2**64 - 1, 2**64 - 9, 2**64 - 9, 2**64 - 1], np.uint64),
        np.array([-(2**63), -(2**63) + 7, -(2**63), -(2**63) + 7]),
        np.array([-(2**63), 2**63 - 1, 0, 0]),
    ],
    ids=lambda labels: labels.dtype.name,
)
def test_integer_labels_may_be_as_far_apart_as_their_type_allows(labels, monkeypatch):
    monkeypatch.setattr("gputree.estimators.targets.SOME_ROWS", 3)
    X = np.arange(len(labels), dtype=float)[:, None]
    tree = DecisionTreeClassifier().fit(X, labels)
    assert tree.classes_.tolist() == sorted(set(labels.tolist()))
    assert tree.classes_.dtype == labels.dtype
    assert np.array_equal(tree.predict(X), labels)


def test_apply_gives_leaves_that_hold_as_many_rows_as_they_say(tree):
    leaf = tree.apply(X)
    assert tree.tree_.is_leaf[leaf].all()
    np.testing.assert_array_equal(
        np.bincount(leaf, minlength=tree.tree_.n_nodes)[tree.tree_.is_leaf],
        tree.tree_.n_rows[tree.tree_.is_leaf],
    )


def test_a_path_leads_from_the_root_to_the_leaf_that_apply_gives(tree):
    path, leaf = tree.decision_path(X), tree.apply(X)
    assert path.shape == (150, tree.tree_.n_nodes)
    assert set(path.data) == {1}
    for row in range(0, 150, 7):
        nodes = path[row].indices
        assert nodes.min() == 0
        assert nodes.max() == leaf[row]
        assert len(nodes) == tree.tree_.depth[leaf[row]] + 1
        assert set(tree.tree_.parent[nodes]) == {-1, *nodes} - {leaf[row]}
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0))[0], tree.tree_.n_rows)


def test_the_path_in_a_single_leaf_is_the_root():
    path = DecisionTreeClassifier().fit(X, np.zeros(150)).decision_path(X[:4])
    assert path.toarray().tolist() == [[1]] * 4


def test_depth_and_leaves_are_counted_as_in_scikit_learn():
    for depth in (1, 2, 5):
        ours = DecisionTreeClassifier(max_depth=depth).fit(X, Y)
        theirs = sklearn.tree.DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, Y)
        assert ours.get_depth() == theirs.get_depth()
        assert ours.get_n_leaves() == theirs.get_n_leaves()


def test_one_class_or_one_row_is_a_single_leaf():
    for model in (
        DecisionTreeClassifier().fit(X, np.full(150, "only")),
        DecisionTreeClassifier().fit(X[:1], Y[:1]),
        DecisionTreeRegressor().fit(X, np.full(150, 0.1)),
        DecisionTreeRegressor().fit(X[:1], [0.1]),
    ):
        assert (model.get_depth(), model.get_n_leaves()) == (0, 1)
        assert model.feature_importances_.tolist() == [0.0] * 4
        assert model.predict(X[:1]).tolist() in (["only"], [0], [0.1])


# Importances


def test_importances_sum_to_one_and_name_the_column_that_matters():
    noise = np.random.default_rng(0).normal(size=(150, 2))
    model = DecisionTreeClassifier(max_depth=2).fit(np.hstack([noise, X[:, 2:3]]), Y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() == 2


@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_importances_are_scikit_learns_where_nothing_ties(task):
    rng = np.random.default_rng(3)
    data = rng.normal(size=(200, 4)).astype(np.float32)
    target = data[:, 0] + data[:, 1] ** 2 + rng.normal(size=200)
    y, weight = (target > 0.5) if task == "Classifier" else target, rng.uniform(1, 2, 200)
    params = {"max_depth": 5, "min_samples_leaf": 5}
    name = f"DecisionTree{task}"
    ours = getattr(gputree, name)(**params).fit(data, y, weight)
    theirs = getattr(sklearn.tree, name)(**params, random_state=0).fit(data, y, weight)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-9)


# Values unlike those at fit


def test_a_missing_value_unknown_to_training_goes_to_the_larger_child():
    for n_left, n_right in [(5, 2), (2, 5)]:
        data = np.arange(float(n_left + n_right))[:, None]
        model = DecisionTreeClassifier().fit(data, ["left"] * n_left + ["right"] * n_right)
        assert model.predict([[NAN]]).tolist() == ["left" if n_left > n_right else "right"]


def test_missing_values_of_training_go_where_they_belong():
    data = [[1.0], [2.0], [NAN], [8.0], [9.0], [NAN]]
    model = DecisionTreeClassifier().fit(data, [0, 0, 1, 1, 1, 1])
    assert model.get_n_leaves() == 2
    assert model.predict([[NAN], [1.5], [8.5]]).tolist() == [1, 0, 1]
    assert DecisionTreeClassifier().fit(data, [0, 0, 0, 1, 1, 0]).predict([[NAN]]).tolist() == [0]


def test_infinities_are_the_smallest_and_the_largest_value(tree):
    low, high = np.full((1, 4), -INF), np.full((1, 4), INF)
    assert tree.predict(low) == tree.predict([[-1e9] * 4])
    assert tree.predict(high) == tree.predict([[1e9] * 4])


def test_infinities_can_be_learned():
    data = [[-INF], [-INF], [0.0], [1.0], [INF], [INF]]
    labels = [0, 0, 1, 2, 3, 3]
    model = DecisionTreeClassifier().fit(data, labels)
    assert model.predict(data).tolist() == labels
    assert np.isfinite(model.tree_.gain).all()


def test_neighbouring_floats_can_be_told_apart():
    data = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    model = DecisionTreeClassifier().fit(data, [0, 1])
    assert model.predict(data).tolist() == [0, 1]


# Output follows X


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "apply"])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_arrays_of_another_library_come_back_as_such(library, method, tree):
    xp = pytest.importorskip(library)
    given = xp.asarray(X)
    answer = getattr(tree, method)(given)
    assert type(answer) is type(given)
    np.testing.assert_array_equal(np.from_dlpack(answer), getattr(tree, method)(X))


def test_regressions_follow_torch_too():
    torch = pytest.importorskip("torch")
    model = DecisionTreeRegressor().fit(torch.from_numpy(X), torch.from_numpy(X[:, :2].copy()))
    answer = model.predict(torch.from_numpy(X))
    assert isinstance(answer, torch.Tensor)
    np.testing.assert_allclose(answer.numpy(), X[:, :2], rtol=1e-12)


def test_text_labels_stay_in_numpy_for_other_libraries_have_no_text():
    torch = pytest.importorskip("torch")
    model = DecisionTreeClassifier().fit(torch.from_numpy(X), np.array(["a", "b", "c"])[Y])
    answer = model.predict(torch.from_numpy(X))
    assert isinstance(answer, np.ndarray)
    assert answer[0] == "a"
    assert isinstance(model.predict_proba(torch.from_numpy(X)), torch.Tensor)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_and_lists_come_back_as_numpy(library, tree):
    module = pytest.importorskip(library)
    columns = {f"c{at}": X[:, at] for at in range(4)}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    model = DecisionTreeClassifier(max_depth=3).fit(frame, Y)
    for given, fitted in [(frame, model), (X.tolist(), tree)]:
        assert type(fitted.predict(given)) is np.ndarray
        np.testing.assert_array_equal(fitted.predict(given), tree.predict(X))


@pytest.mark.parametrize("backend", ["numba", "array_api_strict", "torch"])
def test_a_prediction_does_not_depend_on_the_backend(backend, tree):
    pytest.importorskip(backend)
    odd = np.where(np.random.default_rng(0).random(X.shape) < 0.2, NAN, X)
    expected = tree.apply(odd)
    other = DecisionTreeClassifier(max_depth=3, backend=backend).fit(X, Y)
    np.testing.assert_array_equal(other.apply(odd), expected)
    assert other.apply(odd).dtype == expected.dtype


# Growing


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_exclusive_or_is_solved_though_its_first_split_gains_nothing(criterion):
    model = DecisionTreeClassifier(criterion=criterion).fit(XOR, [0, 1, 1, 0])
    assert model.score(XOR, [0, 1, 1, 0]) == 1.0
    assert model.tree_.gain[0] == 0.0
    assert model.get_n_leaves() == 4


def test_a_regression_solves_exclusive_or_as_well():
    model = DecisionTreeRegressor().fit(XOR, [0.0, 1.0, 1.0, 0.0])
    assert model.predict(XOR).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_the_error_criterion_stops_where_nothing_is_gained():
    model = DecisionTreeClassifier(criterion="error").fit(XOR, [0, 1, 1, 0])
    assert model.get_n_leaves() == 1
    assert DecisionTreeClassifier(criterion="error").fit(X, Y).get_n_leaves() > 2


def test_a_bound_on_the_decrease_stops_exclusive_or():
    model = DecisionTreeClassifier(min_impurity_decrease=1e-9).fit(XOR, [0, 1, 1, 0])
    assert model.get_n_leaves() == 1


def test_priors_decide_what_an_undecided_leaf_predicts():
    data, labels = [[0]] * 5, [0, 0, 0, 0, 1]
    assert DecisionTreeClassifier().fit(data, labels).predict([[0]]) == [0]
    model = DecisionTreeClassifier(priors={0: 0.3, 1: 0.7}).fit(data, labels)
    assert model.predict([[0]]) == [1]
    np.testing.assert_allclose(model.predict_proba([[0]]), [[0.3, 0.7]])


@pytest.mark.parametrize(
    ("max_features", "n_tried"), [(None, 9), (4, 4), (100, 9), (0.5, 4), ("sqrt", 3), ("log2", 3)]
)
def test_max_features_is_a_number_a_share_or_a_root(max_features, n_tried):
    data = np.random.default_rng(0).normal(size=(20, 9))
    model = DecisionTreeClassifier(max_features=max_features).fit(data, data[:, 0] > 0)
    assert model.max_features_ == n_tried


def test_features_that_cannot_be_split_are_not_what_a_node_is_left_with():
    data = np.zeros((40, 20))
    data[:, 13] = np.arange(40)
    for seed in range(5):
        model = DecisionTreeClassifier(max_features=1, random_state=seed)
        assert model.fit(data, np.arange(40) % 2).score(data, np.arange(40) % 2) == 1.0


def test_drawn_features_change_with_the_seed_and_nothing_else():
    data, labels = np.random.default_rng(0).normal(size=(80, 6)), np.arange(80) % 3
    drawn = {
        seed: {
            DecisionTreeClassifier(max_features=2, random_state=seed, histogram_budget=budget)
            .fit(data, labels)
            .to_bytes()
            for budget in (1, 20_000, None)
        }
        for seed in range(3)
    }
    assert all(len(models) == 1 for models in drawn.values())
    assert len(set.union(*drawn.values())) == 3


def test_a_generator_as_random_state_moves_on_from_fit_to_fit():
    model = DecisionTreeClassifier(max_features=1, random_state=np.random.RandomState(0))
    assert model.fit(X, Y).to_bytes() != model.fit(X, Y).to_bytes()


def test_one_dataset_serves_many_fits():
    data = Dataset(X, Y)
    for depth in (1, 4):
        expected = DecisionTreeClassifier(max_depth=depth).fit(X, Y)
        assert DecisionTreeClassifier(max_depth=depth).fit(data).to_bytes() == expected.to_bytes()
    other = DecisionTreeClassifier().fit(data, Y == 1)
    assert other.to_bytes() == DecisionTreeClassifier().fit(X, Y == 1).to_bytes()


# The report


def test_the_report_says_where_and_on_what_the_fit_ran(tree):
    report = tree.fit_report_
    assert (report.backend, report.device) == (tree.backend_, tree.device_) == ("numpy", "cpu")
    assert (report.n_rows, report.n_features, report.n_nodes) == (150, 4, tree.tree_.n_nodes)
    assert "600 cells" in report.reason
    asked = DecisionTreeClassifier(backend="numpy").fit(X, Y).fit_report_
    assert asked.reason == "backend='numpy' was requested"


def test_the_report_splits_the_time_into_phases(tree):
    seconds = tree.fit_report_.seconds
    phases = [second for name, second in seconds.items() if name != "total"]
    assert {"tally", "best_splits", "route", "total"} <= set(seconds)
    assert all(second >= 0 for second in phases)
    assert 0 < sum(phases) <= seconds["total"] * 1.01


def test_the_report_counts_the_codes_among_its_bytes():
    data = np.random.default_rng(0).normal(size=(1000, 8))
    report = DecisionTreeClassifier(max_depth=2).fit(data, data[:, 0] > 0).fit_report_
    assert report.peak_bytes >= 1000 * 8
    small = DecisionTreeClassifier(max_depth=2).fit(data[:100], data[:100, 0] > 0).fit_report_
    assert 0 < small.peak_bytes < report.peak_bytes


def test_a_small_budget_lowers_the_peak():
    data = np.random.default_rng(0).normal(size=(2000, 8))
    labels = (data > 0).sum(axis=1)
    free, tight = (
        DecisionTreeClassifier(histogram_budget=budget, backend="numpy")
        .fit(data, labels)
        .fit_report_.peak_bytes
        for budget in (None, 200_000)
    )
    assert tight < free


def test_the_report_reads_well(tree):
    lines = str(tree.fit_report_).splitlines()
    why, no_gpu = tree.fit_report_.reason.split("; ")
    assert lines[0] == f"backend  numpy on cpu ({why})"
    assert lines[1].strip() == no_gpu
    assert lines[2] == "table    150 rows x 4 features"
    assert lines[3] == f"tree     {tree.tree_.n_nodes} nodes"
    assert all(len(line) < 100 for line in lines)


def test_a_fit_on_a_dataset_reports_only_its_own_time():
    assert "encode" in DecisionTreeClassifier().fit(X, Y).fit_report_.seconds
    assert "encode" not in DecisionTreeClassifier().fit(Dataset(X, Y)).fit_report_.seconds
