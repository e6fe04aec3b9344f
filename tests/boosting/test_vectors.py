"""`multi_strategy="one_tree"`: a tree a round, whose leaves have a value for each output."""

import numpy as np
import pytest
from sklearn.base import clone

from gputree import GradientBoostingClassifier, GradientBoostingRegressor, cluster, load
from gputree.backends import registry
from gputree.backends.cuda.backend import CudaBackend
from gputree.backends.cuda.device import open_device

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4))
SIGNAL = X[:, 0] * X[:, 1] + X[:, 2] + RNG.normal(size=500) / 3
Y = np.stack([SIGNAL, X[:, 3] - SIGNAL, np.abs(SIGNAL)], axis=1)
KINDS = np.digitize(SIGNAL, (-1, 0, 1))


def of_classes(n=8, **options):
    return GradientBoostingClassifier(n, multi_strategy="one_tree", **options)


def of_outputs(n=8, **options):
    return GradientBoostingRegressor(n, multi_strategy="one_tree", **options)


def test_leaves_have_the_newton_step_of_each_output():
    model = of_outputs(1, learning_rate=1.0, l2_regularization=0.0, max_depth=2).fit(X, Y)
    (tree,) = model.estimators_
    leaf = tree.apply(X)
    assert len(np.unique(leaf)) == 4
    means = np.stack([Y[leaf == own].mean(axis=0) for own in leaf])
    np.testing.assert_allclose(model.predict(X), means, rtol=1e-9)


def test_columns_that_are_alike_are_predicted_as_each_by_itself():
    options = {"l2_regularization": 0.0, "max_depth": 3}
    alone = GradientBoostingRegressor(6, **options).fit(X, SIGNAL).predict(X)
    together = of_outputs(6, **options).fit(X, np.stack([SIGNAL, SIGNAL], axis=1)).predict(X)
    np.testing.assert_allclose(together, np.stack([alone, alone], axis=1), rtol=1e-3, atol=1e-4)


def test_a_round_has_one_tree_and_lowers_the_loss():
    model = of_classes(20, max_depth=4).fit(X, KINDS)
    losses = list(model.staged_loss(X, KINDS))
    assert (model.n_iter_, len(model.estimators_)) == (20, 20)
    assert model.estimators_[3, 0].nodes_ is model.estimators_[3].nodes_
    assert (np.diff(losses) < 0).all()
    assert losses[-1] < 0.6 * losses[0]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_one_output_has_one_tree_anyway():
    """But for the parameter, files are the same."""
    for model, y in ((of_classes(3), KINDS > 0), (of_outputs(3), SIGNAL)):
        usual = clone(model).set_params(multi_strategy="one_output_per_tree").fit(X, y)
        own = model.fit(X, y)
        for one, other in zip(own.estimators_, usual.estimators_, strict=True):
            assert one.nodes_.value.tobytes() == other.nodes_.value.tobytes()


@pytest.mark.parametrize(("model", "y"), [(of_classes(), KINDS), (of_outputs(), Y)])
def test_what_a_model_can_do(model, y, tmp_path):
    model.set_params(subsample=0.7, random_state=0).fit(X, y, X_val=X[:99], y_val=y[:99])
    assert len(model.validation_score_) == 8
    raw = model.predict(X) if y is Y else model.decision_function(X)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.to_bytes() == model.to_bytes()
    assert np.array_equal(again.predict(X), model.predict(X))
    *_, last = model.staged_predict(X)
    assert np.array_equal(last, model.predict(X))
    told = model.shap_values(X[:9])
    assert told.shape == (9, 4, raw.shape[1])
    np.testing.assert_allclose(told.sum(axis=1) + model.expected_value_, raw[:9])
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    more = clone(model).set_params(warm_start=True, n_estimators=3).fit(X, y)
    more.set_params(n_estimators=8).fit(X, y)
    assert np.array_equal(more.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (of_outputs(loss="quantile"), Y, "y with several columns; use a loss whose leaves"),
        (of_outputs(loss=lambda y, raw: (raw - y, raw)), Y, "loss is the name of a loss"),
        (of_classes(monotonic_cst=[1, 0, 0, 0]), KINDS, "monotonic constraints are not supported"),
        (of_classes().set_params(multi_strategy="both"), KINDS, "multi_strategy='both'"),
        (GradientBoostingRegressor(), Y, "should be a 1d array.*multi_strategy='one_tree' takes"),
    ],
)
def test_what_it_cannot_do_is_refused_with_the_cure(model, y, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


def test_ranks_refuse_it():
    with pytest.raises(ValueError, match="use 'one_output_per_tree'"):
        cluster.fit(of_classes(), [(X, KINDS)], comm=None)


def test_a_gpu_grows_the_same_trees(monkeypatch):
    expected = of_classes(2, max_depth=2, backend="numpy").fit(X[:60], KINDS[:60]).to_bytes()
    device = CudaBackend(open_device("cuda:0"))
    monkeypatch.setattr(registry, "_open", lambda *how: device)
    assert of_classes(2, max_depth=2, backend="cuda").fit(X[:60], KINDS[:60]).to_bytes() == expected
