"""What users of gradient boosting rely on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import gputree
from gputree import GradientBoostingClassifier, GradientBoostingRegressor
from gputree.errors import ModelFileError

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
SAMPLED = {"subsample": 0.5, "max_depth": 2, "learning_rate": 0.5, "random_state": 0}


@parametrize_with_checks(
    [
        GradientBoostingClassifier(3, max_depth=3),
        GradientBoostingRegressor(10, max_depth=3, learning_rate=0.3),
    ]
)
def test_scikit_learn_accepts_them(estimator, check):
    check(estimator)


def test_quality_is_that_of_scikit_learn():
    for ours, theirs, (X, y) in (
        (GradientBoostingClassifier(), HistGradientBoostingClassifier(max_iter=100), CANCER),
        (
            GradientBoostingRegressor(max_depth=3),
            HistGradientBoostingRegressor(max_depth=3),
            DIABETES,
        ),
    ):
        with threadpool_limits(1):  # its threads keep a core busy while they wait for each other
            own, other = (cross_val_score(model, X, y, cv=5) for model in (ours, theirs))
        noise = np.sqrt((own.var(ddof=1) + other.var(ddof=1)) / 5)
        assert own.mean() > other.mean() - noise


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_a_quantile_has_its_share_of_the_rows_below_it(alpha):
    X, y = DIABETES
    model = GradientBoostingRegressor(100, loss="quantile", alpha=alpha, max_depth=2).fit(X, y)
    assert np.mean(y <= model.predict(X)) == pytest.approx(alpha, abs=0.06)


def test_absolute_error_is_not_moved_by_an_outlier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    y[0] = 1e9
    for loss in ("absolute_error", "huber"):
        model = GradientBoostingRegressor(200, loss=loss, max_depth=3, alpha=0.9).fit(X, y)
        assert np.median(np.abs(model.predict(X) - y)) < 0.2


def test_poisson_predicts_rates():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 1))
    y = rng.poisson(np.exp(2.0 * X[:, 0]))
    model = GradientBoostingRegressor(100, loss="poisson", max_depth=2).fit(X, y)
    found = model.predict([[0.1], [0.9]])
    assert found == pytest.approx(np.exp([0.2, 1.8]), rel=0.15)
    assert (model.predict(X) > 0).all()


def test_a_loss_of_ones_own_is_the_built_in_one():
    X, y = DIABETES

    def squared(y, raw):
        return raw - y, np.ones(len(y))

    own = GradientBoostingRegressor(10, loss=squared).fit(X, y - y.mean())
    built_in = GradientBoostingRegressor(10).fit(X, y - y.mean())
    assert own.predict(X) == pytest.approx(built_in.predict(X), abs=1e-3)


def test_a_weight_of_two_is_the_row_twice():
    X, y = DIABETES
    twice = np.concatenate([np.arange(len(y)), np.arange(0, len(y), 3)])
    weight = 1.0 + (np.arange(len(y)) % 3 == 0)
    by_weight = GradientBoostingRegressor(10, max_depth=3).fit(X, y, weight)
    by_rows = GradientBoostingRegressor(10, max_depth=3).fit(X[twice], y[twice])
    assert by_weight.predict(X) == pytest.approx(by_rows.predict(X), abs=1e-6)


def test_balanced_classes_count_alike():
    X, y = CANCER
    plain = GradientBoostingClassifier(1, max_depth=1).fit(X, y)
    balanced = GradientBoostingClassifier(1, max_depth=1, class_weight="balanced").fit(X, y)
    assert plain._start[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())))
    assert balanced._start[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["three", "two"])
def test_a_warm_start_goes_on_where_the_model_is(data):
    model = GradientBoostingClassifier(4, subsample=0.7, random_state=1, warm_start=True)
    model.fit(*data).set_params(n_estimators=7).fit(*data)
    at_once = GradientBoostingClassifier(7, subsample=0.7, random_state=1).fit(*data)
    assert model.to_bytes() == at_once.to_bytes()


def test_early_stopping_keeps_the_best_rounds():
    X, y = DIABETES
    model = GradientBoostingRegressor(
        200, early_stopping=True, n_iter_no_change=5, random_state=0, learning_rate=0.3
    ).fit(X, y)
    assert model.n_iter_ == np.argmin(model.validation_score_) + 1
    assert len(model.validation_score_) == model.n_iter_ + 5


def test_early_stopping_by_rows_of_ones_own():
    X, y = CANCER
    train, other = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    model = GradientBoostingClassifier(300, early_stopping=True, n_iter_no_change=5)
    model.fit(X[train], y[train], X_val=X[other], y_val=y[other])
    assert model.n_iter_ < 300
    staged = list(model.staged_predict_proba(X[other]))
    share = staged[-1][np.arange(other.sum()), y[other]]
    assert model.validation_score_.min() == pytest.approx(-np.log(share).mean())


def test_stages_end_at_the_prediction():
    for model, (X, y) in (
        (GradientBoostingClassifier(5), IRIS),
        (GradientBoostingClassifier(5), CANCER),
        (GradientBoostingRegressor(5, loss="poisson"), DIABETES),
    ):
        model.fit(X, y)
        *_, last = model.staged_predict(X)
        assert (last == model.predict(X)).all()
        assert len(list(model.staged_predict(X))) == 5


def test_monotone_predictions_never_turn():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1000, 3))
    y = X[:, 0] + np.sin(5 * X[:, 0]) - X[:, 1] ** 3 + X[:, 2] * X[:, 0] + rng.normal(size=1000)
    grid = np.linspace(-2.5, 2.5, 60)
    for model, target in (
        (GradientBoostingRegressor(40, monotonic_cst=[1, -1, 0]), y),
        (
            GradientBoostingClassifier(
                40, monotonic_cst=[1, -1, 0], max_depth=None, max_leaf_nodes=12
            ),
            y > 0,
        ),
    ):
        model.fit(X, target)
        raw = getattr(model, "decision_function", model.predict)
        for row in X[:20]:
            for column, way in ((0, 1), (1, -1)):
                line = np.tile(row, (60, 1))
                line[:, column] = grid
                assert (np.diff(raw(line)) * way >= 0).all()
    assert model.score(X, y > 0) > 0.8


def paths(tree):
    """The set of features above each leaf."""
    parent = tree.parent
    for leaf in np.flatnonzero(tree.is_leaf):
        above, node = set(), parent[leaf]
        while node >= 0:
            above.add(int(tree.feature[node]))
            node = parent[node]
        yield above


@pytest.mark.parametrize(
    ("groups", "fits"),
    [
        ([[0, 1], [2]], lambda path: path <= {0, 1} or path <= {2} or path <= {3}),
        ("pairwise", lambda path: len(path) <= 2),
        ("no_interactions", lambda path: len(path) <= 1),
    ],
)
def test_features_that_must_not_meet_do_not(groups, fits):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = X.prod(axis=1) + X.sum(axis=1) + rng.normal(size=500) * 0.1
    model = GradientBoostingRegressor(10, interaction_cst=groups).fit(X, y)
    found = [path for each in model.estimators_ for path in paths(each.nodes_)]
    assert all(fits(path) for path in found)
    assert max(map(len, found)) == (1 if groups == "no_interactions" else 2)


def test_one_group_of_all_features_constrains_nothing():
    X, y = DIABETES
    free = GradientBoostingRegressor(10).fit(X, y)
    bound = GradientBoostingRegressor(10, interaction_cst=[range(10)]).fit(X, y)
    assert (free.predict(X) == bound.predict(X)).all()


def test_categories_and_missing_values_tell_what_numbers_do_not():
    rng = np.random.default_rng(0)
    category = rng.integers(0, 20, 2000)
    X = pd.DataFrame(
        {"level": pd.Categorical([f"l{i}" for i in category]), "x": rng.normal(size=2000)}
    )
    y = np.where(category % 2, 3.0, 0.0) + X["x"].to_numpy()
    X.loc[y > 3.5, "x"] = np.nan
    model = GradientBoostingRegressor(50).fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.isfinite(model.predict(pd.DataFrame({"level": ["never seen"], "x": [None]}))).all()


@pytest.mark.parametrize("n_categories", [2, 5])
def test_only_groups_of_many_categories_need_more_proof_than_thresholds(n_categories):
    # The category and the number tell the same; ties go to the first column.
    rng = np.random.default_rng(0)
    category = rng.integers(0, n_categories, 300)
    X = pd.DataFrame({"level": pd.Categorical(category), "number": category})
    model = GradientBoostingRegressor(1, max_depth=1).fit(X, category + rng.normal(size=300))
    tested = model.estimators_[0].nodes_.feature[0]
    assert X.columns[tested] == ("level" if n_categories == 2 else "number")


def test_a_tree_is_found_by_its_round_and_output():
    model = GradientBoostingClassifier(4).fit(*IRIS)
    trees = [tree.nodes_ for tree in model]
    assert model.estimators_[2, 1].nodes_ is trees[7]
    assert model[-1, 0].nodes_ is trees[9]
    first = model.estimators_[1:3, 0]
    assert [tree.nodes_ for tree in first] == [trees[3], trees[6]]
    with pytest.raises(IndexError):
        model.estimators_[0, 3]


@pytest.mark.parametrize("model", [GradientBoostingClassifier(3), GradientBoostingRegressor(3)])
def test_files_give_the_model_back(tmp_path, model):
    X, y = IRIS
    model.fit(X, y)
    path = tmp_path / "model.gputree"
    model.save(path)
    again = gputree.load(path)
    assert again.to_bytes() == model.to_bytes()
    assert (again.predict(X) == model.predict(X)).all()
    assert again.get_params()["n_estimators"] == 3
    whole = path.read_bytes()
    for end in (10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(ModelFileError):
            gputree.load(path)


def test_shapley_values_add_up():
    for model, (X, y) in (
        (GradientBoostingClassifier(4), IRIS),
        (GradientBoostingClassifier(4), CANCER),
        (GradientBoostingRegressor(4), DIABETES),
    ):
        model.fit(X, y)
        raw = model._raw(X[:9]).T
        found = model.shap_values(X[:9])
        total = found.sum(axis=1) + model.expected_value_
        assert total.reshape(raw.shape) == pytest.approx(raw, abs=1e-9)


def test_an_interrupted_fit_keeps_whole_rounds():
    X, y = IRIS

    def interrupt(done):
        if done.number == 7:  # the second tree of the third round
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        model = GradientBoostingClassifier(10).fit(X, y, callbacks=[interrupt])
    assert model.n_iter_ == 2
    expected = GradientBoostingClassifier(2).fit(X, y)
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()


def test_a_callback_hears_of_the_loss_and_may_end_the_fit():
    X, y = CANCER
    heard = []

    def listen(done):
        heard.append(done.error)
        return len(heard) == 4

    model = GradientBoostingClassifier(50).fit(X, y, X_val=X, y_val=y, callbacks=[listen])
    assert model.n_iter_ == 4
    assert heard == sorted(heard, reverse=True)


def test_a_table_of_rounds_is_shown_when_asked_for(capsys):
    model = GradientBoostingClassifier(25, verbose=1, max_depth=1).fit(*CANCER)
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split("  ")[-1].strip() == "Remaining Time"
    assert "OOB Improve" not in header
    assert [int(line.split()[0]) for line in lines] == [*range(1, 11), 20]
    losses = list(model.staged_loss(*CANCER))
    assert [line.split()[1] for line in lines[:3]] == [f"{loss:.4f}" for loss in losses[:3]]
    GradientBoostingClassifier(2, max_depth=1).fit(*CANCER)
    assert capsys.readouterr().out == ""


def test_every_round_has_a_line_when_more_is_asked_for(capsys):
    options = {"max_depth": 1, "subsample": 0.5, "warm_start": True, "random_state": 0}
    model = GradientBoostingClassifier(3, verbose=2, oob_score=True, **options).fit(*IRIS)
    header, *lines = capsys.readouterr().out.splitlines()
    assert "OOB Improve" in header
    assert [line.split()[2] for line in lines] == [f"{each:.4f}" for each in model.oob_improvement_]
    model.set_params(n_estimators=13).fit(*IRIS)
    assert len(capsys.readouterr().out.splitlines()) == 1 + 10


def test_a_line_tells_of_rounds_whose_loss_is_a_function(capsys):
    def squares(y, raw):
        return raw - y, np.ones(len(y))

    GradientBoostingRegressor(3, loss=squares, verbose=1, max_depth=1).fit(*DIABETES)
    shown = capsys.readouterr()
    assert "3/3 trees" in shown.err
    assert shown.out == ""


def test_losses_out_of_bag_and_of_rows_seen_are_those_of_all_rows_together(capsys):
    X, y = DIABETES
    model = GradientBoostingRegressor(4, verbose=2, oob_score=True, **SAMPLED).fit(X, y)
    lines = capsys.readouterr().out.splitlines()[1:]
    for at, loss in enumerate(model.staged_loss(X, y)):
        n_seen = model[at].tree_.n_node_samples[0]
        seen, left_out = n_seen * float(lines[at].split()[1]), len(y) - n_seen
        assert loss * len(y) == pytest.approx(seen + left_out * model.oob_scores_[at], rel=1e-5)
    assert model.oob_improvement_[1:] == pytest.approx(-np.diff(model.oob_scores_))
    assert model.oob_score_ == model.oob_scores_[-1]


def test_losses_out_of_bag_are_the_same_however_they_come_about():
    X, y = DIABETES
    model = GradientBoostingRegressor(6, oob_score=True, **SAMPLED).fit(X, y)
    plain = GradientBoostingRegressor(6, **SAMPLED).fit(X, y)
    assert (model.predict(X) == plain.predict(X)).all()
    warm = GradientBoostingRegressor(4, oob_score=True, warm_start=True, **SAMPLED).fit(X, y)
    warm.set_params(n_estimators=6).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    moved = GradientBoostingRegressor(6, oob_score=True, backend="numpy", **SAMPLED)
    for other in (warm, moved.fit(X[order], y[order])):
        assert (other.oob_scores_ == model.oob_scores_).all()
        assert (other.oob_improvement_ == model.oob_improvement_).all()


def test_losses_out_of_bag_end_with_the_rounds_of_the_model():
    model = GradientBoostingRegressor(
        200, oob_score=True, early_stopping=True, n_iter_no_change=3, **SAMPLED
    ).fit(*DIABETES)
    assert len(model.oob_scores_) == model.n_iter_ < 200
    model.set_params(oob_score=False).fit(*DIABETES)
    assert not hasattr(model, "oob_scores_")
    with pytest.raises(ValueError, match="set subsample below 1"):
        model.set_params(oob_score=True, subsample=1.0).fit(*DIABETES)


def test_importances_are_shares_of_what_was_gained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    model = GradientBoostingRegressor(20).fit(X, 5 * X[:, 1] + X[:, 2])
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() == 1


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_estimators": 0}, "n_estimators=0: an integer of at least 1"),
        ({"learning_rate": 0.0}, "learning_rate=0.0: a number above 0"),
        ({"subsample": 1.5}, "subsample=1.5: a share above 0 and at most 1"),
        ({"colsample_bytree": 0}, "colsample_bytree=0: a share above 0"),
        ({"l2_regularization": -1.0}, "l2_regularization=-1.0: a number of at least 0"),
        ({"min_child_weight": -1.0}, "min_child_weight=-1.0"),
        ({"missing": "fractional"}, "missing='fractional'"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0"),
        ({"loss": "cubic"}, "loss='cubic'"),
        ({"alpha": 1.0}, "alpha=1.0"),
        ({"monotonic_cst": [1]}, r"monotonic_cst has shape \(1,\) but .* X has 10 features"),
        ({"monotonic_cst": {"z": 1}}, "not fitted on data with feature names.*not 'z'"),
        ({"monotonic_cst": [2] * 10}, "monotonic_cst must be .* -1, 0 or 1. Observed values: .2, "),
        ({"monotonic_cst": [1] * 10, "loss": "quantile"}, "the leaves of this loss are quantiles"),
        ({"interaction_cst": "some"}, "interaction_cst='some' is unknown"),
        (
            {"interaction_cst": [[11]]},
            r"n_features - 1\] = \[0, 9\].*interaction_cst has 11",
        ),
        ({"loss": lambda y, raw: (raw, -np.ones(len(y)))}, "hessian below 0"),
        (
            {"loss": lambda y, raw: (raw[:3], raw[:3])},
            "gradient that is not finite, or not of shape",
        ),
    ],
)
def test_wrong_parameters_are_named_and_the_old_model_stays(params, match):
    X, y = DIABETES
    model = GradientBoostingRegressor(2).fit(X, y)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=match):
        model.set_params(**params).fit(X, y)
    assert model.to_bytes() == before


def test_wrong_targets_are_named():
    X, y = DIABETES
    with pytest.raises(ValueError, match="loss='poisson' requires non-negative y"):
        GradientBoostingRegressor(loss="poisson").fit(X, -y)
    with pytest.raises(ValueError, match="y_val has the label 9"):
        GradientBoostingClassifier(1).fit(*IRIS, X_val=IRIS[0][:2], y_val=[0, 9])
    with pytest.raises(ValueError, match="X_val is provided, but y_val was not"):
        GradientBoostingClassifier(1).fit(*IRIS, X_val=IRIS[0])
    with pytest.raises(ValueError, match="several classes cannot all rise"):
        GradientBoostingClassifier(1, monotonic_cst=[1, 0, 0, 0]).fit(*IRIS)
    with pytest.raises(ValueError, match="sample_weight_val weighs the rows of X_val"):
        GradientBoostingClassifier(1).fit(*IRIS, sample_weight_val=np.ones(2))
    with pytest.raises(ValueError, match=r"sample_weight_val.shape == \(3,\)"):
        GradientBoostingClassifier(1).fit(
            *IRIS, X_val=IRIS[0][:2], y_val=[0, 1], sample_weight_val=np.ones(3)
        )


def test_one_class_has_all_of_the_probability():
    X, y = IRIS
    model = GradientBoostingClassifier(2).fit(X, np.full(len(y), "only"))
    assert model.predict(X[:2]).tolist() == ["only", "only"]
    assert model.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    assert [shares.shape for shares in model.staged_predict_proba(X)] == [(150, 1)] * 2


# Losses of one's own.


def log_loss(y, raw):
    share = 1 / (1 + np.exp(-raw))
    return share - y, share * (1 - share), np.logaddexp(0, raw) - y * raw


def softmax_loss(y, raw):
    share = np.exp(raw - raw.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    own, bend = np.eye(raw.shape[1])[y.astype(int)], raw.shape[1] / (raw.shape[1] - 1)
    return share - own, bend * share * (1 - share), -np.log((share * own).sum(axis=1))


def three_classes():
    """Continuous features, so that no two splits gain the same."""
    X = np.random.default_rng(0).normal(size=(600, 4))
    return X, np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])


@pytest.mark.parametrize(("loss", "data"), [(log_loss, CANCER), (softmax_loss, three_classes())])
def test_a_classifiers_own_loss_is_the_built_in_one(loss, data):
    """Balanced classes start from 0, as functions do."""
    X, y = data
    own, built_in = (
        GradientBoostingClassifier(8, loss=each, class_weight="balanced", early_stopping=True).fit(
            X, y, X_val=X[::3], y_val=y[::3]
        )
        for each in (loss, "log_loss")
    )
    np.testing.assert_allclose(own.predict_proba(X), built_in.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(own.validation_score_, built_in.validation_score_, atol=1e-4)
    assert list(own.staged_loss(X, y)) == pytest.approx(list(built_in.staged_loss(X, y)), abs=1e-4)


def test_a_loss_object_of_scikit_learn_is_the_built_in_loss():
    theirs = pytest.importorskip("sklearn._loss")
    for kind, loss, (X, y) in (
        (GradientBoostingRegressor, theirs.HalfSquaredError(), DIABETES),
        (GradientBoostingClassifier, theirs.HalfBinomialLoss(), CANCER),
    ):
        options = {"n_estimators": 5, "early_stopping": True, "random_state": 0}
        own, built_in = (
            model.fit(X, y) for model in (kind(loss=loss, **options), kind(init="zero", **options))
        )
        assert own.predict(X) == pytest.approx(built_in.predict(X))
        assert own.validation_score_ == pytest.approx(built_in.validation_score_)


@pytest.mark.parametrize("name", ["HalfPoissonLoss", "AbsoluteError"])
def test_a_loss_object_with_another_link_or_with_quantiles_is_refused(name):
    loss = getattr(pytest.importorskip("sklearn._loss"), name)()
    with pytest.raises(ValueError, match="use the name of a loss, such as 'poisson'"):
        GradientBoostingRegressor(2, loss=loss).fit(*DIABETES)


def test_weights_count_for_a_loss_of_ones_own():
    X, y = DIABETES
    y = y - y.mean()
    weight = 1.0 + (np.arange(len(y)) % 3 == 0)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))

    def squared(y, raw):
        return raw - y, np.ones(len(y))

    model = GradientBoostingRegressor(5, loss=squared, max_depth=3)
    by_weight = model.fit(X, y, weight).predict(X)
    assert by_weight == pytest.approx(model.fit(X[twice], y[twice]).predict(X), abs=1e-6)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda y, raw: raw, "must return gradient and hessian, or gradient, hessian and the loss"),
        (lambda y, raw: (raw,), "must return gradient and hessian"),
        (lambda y, raw: (raw, raw * np.nan), "a hessian that is not finite"),
        (lambda y, raw: (raw - y, y * 0 + 1), "cannot be monitored; let it return the loss"),
        (lambda y, raw: (raw - y, y * 0 + 1, 0.0), r"a loss that is not finite, or not of shape"),
    ],
)
def test_a_function_that_is_no_loss_is_told(returned, message):
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(2, loss=returned, early_stopping=True).fit(*DIABETES)


def test_a_model_of_a_function_is_saved_and_wants_it_again_to_be_fitted(tmp_path):
    X, y = CANCER
    path = tmp_path / "model.gputree"
    model = GradientBoostingClassifier(3, loss=log_loss).fit(X, y)
    model.save(path)
    again = gputree.load(path)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    for use in (lambda: again.fit(X, y), lambda: next(again.staged_loss(X, y))):
        with pytest.raises(ValueError, match="loss was a function, which files do not hold"):
            use()
    assert again.set_params(loss=log_loss).fit(X, y).to_bytes() == model.to_bytes()


# Rows that are watched.


def test_rows_of_ones_own_are_weighed():
    X, y = DIABETES
    weight = 1.0 + (np.arange(len(y)) % 3 == 0)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    model = GradientBoostingRegressor(3)
    weighed = model.fit(X, y, X_val=X, y_val=y, sample_weight_val=weight).validation_score_
    repeated = model.fit(X, y, X_val=X[twice], y_val=y[twice]).validation_score_
    np.testing.assert_allclose(weighed, repeated, rtol=1e-12)
    plain = model.fit(X, y, X_val=X, y_val=y).validation_score_
    assert (weighed != plain).all()


def test_rows_of_ones_own_have_the_columns_of_the_others():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match="feature names should match"):
        GradientBoostingRegressor(1).fit(X, y, X_val=X[X.columns[::-1]], y_val=y)
    with pytest.raises(ValueError, match="X has 3 features, but GradientBoostingRegressor is"):
        GradientBoostingRegressor(1).fit(*DIABETES, X_val=DIABETES[0][:, :3], y_val=y)


@pytest.mark.parametrize("is_given", [False, True])
def test_a_warm_start_stops_where_one_fit_would(is_given):
    X, y = DIABETES
    rows = {"X_val": X[1::2], "y_val": y[1::2]} if is_given else {}
    options = {"early_stopping": True, "n_iter_no_change": 3, "random_state": 0}
    model = GradientBoostingRegressor(2, warm_start=True, **options)
    for n in (2, 4, 60, 90):
        model.set_params(n_estimators=n).fit(X[::2], y[::2], **rows)
    at_once = GradientBoostingRegressor(90, **options).fit(X[::2], y[::2], **rows)
    assert model.to_bytes() == at_once.to_bytes()
    np.testing.assert_array_equal(model.validation_score_, at_once.validation_score_)
    assert at_once.n_iter_ > 4
