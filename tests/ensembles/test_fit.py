"""A fit that goes on, tells how far it has come, is watched and interrupted."""

import io
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gputree import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from gputree.growth import builder, choose_loop
from gputree.kinds import ENSEMBLES
from gputree.progress import Progress

X, Y = (part[::2] for part in load_iris(return_X_y=True))


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier])
def test_a_warm_start_adds_trees_and_equals_one_fit(kind):
    options = {"random_state": 3, "bootstrap": True}
    grown = kind(n_estimators=2, warm_start=True, **options).fit(X, Y)
    grown.set_params(n_estimators=5).fit(X, Y)
    whole = kind(n_estimators=5, **options).fit(X, Y)
    assert grown.to_bytes() == whole.to_bytes()
    with_oob = kind(n_estimators=4, warm_start=True, oob_score=False, **options).fit(X, Y)
    with_oob.set_params(n_estimators=12, oob_score=True).fit(X, Y)
    at_once = kind(n_estimators=12, oob_score=True, **options).fit(X, Y)
    np.testing.assert_array_equal(with_oob.oob_error_curve_, at_once.oob_error_curve_)


def test_a_warm_start_without_a_seed_goes_on_with_its_own():
    forest = RandomForestClassifier(2, warm_start=True).fit(X, Y)
    before = forest.estimators_samples_
    after = forest.set_params(n_estimators=3).fit(X, Y).estimators_samples_
    np.testing.assert_array_equal(before[1], after[1])


def test_a_warm_start_refuses_fewer_trees_and_other_tables():
    forest = RandomForestClassifier(3, warm_start=True).fit(X, Y)
    before = forest.to_bytes()
    with pytest.raises(ValueError, match=r"n_estimators=2 must be larger.*set warm_start=False"):
        forest.set_params(n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="warm_start=True adds trees to those of other columns"):
        forest.set_params(n_estimators=4).fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="set warm_start=False"):
        forest.fit(X, Y + 1)
    assert forest.to_bytes() == before
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.set_params(n_estimators=3).fit(X, Y)


def test_functions_are_told_of_each_tree_and_may_end_the_fit():
    told = []

    def watch(done):
        told.append(done)
        return done.number == 2

    forest = RandomForestClassifier(20, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="use more trees"):
        forest.fit(X, Y, callbacks=[watch])
    assert [done.number for done in told] == [0, 1, 2]
    assert {done.n_trees for done in told} == {20}
    assert told[2].error == forest.oob_error_curve_[2]
    assert told[1].tree is forest.estimators_[1].nodes_
    assert told[2].seconds > 0 < told[2].seconds_left
    assert len(forest.estimators_) == 3
    boosted = AdaBoostClassifier(n_estimators=4).fit(X, Y, callbacks=watch)
    assert len(boosted.estimators_) == len(boosted.estimator_weights_) == 3
    with pytest.raises(TypeError, match="callbacks has 3, which cannot be called"):
        forest.fit(X, Y, callbacks=[3])


def test_callbacks_of_scikit_learn_are_told_too():
    pytest.importorskip("sklearn.callback")

    class Counter:
        def __init__(self):
            self.heard = []

        def setup(self, estimator, context):
            self.heard.append("setup")

        def teardown(self, estimator, context):
            self.heard.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.heard.append((context.task_name, context.task_id))
            return context.task_id == 1 and context.task_name == "tree"

    counter = Counter()
    forest = RandomForestClassifier(5, random_state=0).set_callbacks(counter).fit(X, Y)
    assert counter.heard == ["setup", ("tree", 0), ("tree", 1), ("fit", 0), "teardown"]
    assert len(forest.estimators_) == 2


class Watcher:
    """A callback of scikit-learn's protocol that keeps the models it is shown."""

    def __init__(self):
        self.models, self.rows = [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.models.append(fitted_estimator)
        self.rows.append((X, y, metadata["sample_weight"]))


@pytest.mark.parametrize("kind", ENSEMBLES, ids=lambda kind: kind.__name__)
def test_callbacks_of_scikit_learn_are_shown_the_model_as_if_it_were_done(kind):
    pytest.importorskip("sklearn.callback")
    watcher, weight = Watcher(), np.ones(len(Y))
    is_bag = hasattr(kind, "oob_score_") and "max_samples" in kind().get_params()
    sampled = {"max_samples": 0.5, "oob_score": True} if is_bag else {}
    alike = partial(kind, random_state=0, **sampled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that three trees have all seen
        model = alike(n_estimators=3).set_callbacks(watcher).fit(X, Y, weight)
        shown = [each for each in watcher.models if each is not None]  # none within a round
        assert len(watcher.models) == len(model.estimators_) + 1
        for n, each in zip((1, 2, 3, 3), shown, strict=True):
            alone = alike(n_estimators=n).fit(X, Y, weight)
            assert each is not model
            assert each.to_bytes() == alone.to_bytes()
            np.testing.assert_array_equal(each.predict(X), alone.predict(X))
    assert all(a is X and b is Y and c is weight for a, b, c in watcher.rows)


def test_a_scoring_monitor_scores_every_tree():
    callback = pytest.importorskip("sklearn.callback")
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = AdaBoostClassifier(n_estimators=3).set_callbacks(monitor).fit(X, Y)
    scores = [each["accuracy"] for each in monitor.get_logs().data if each["task_name"] == "tree"]
    assert scores == list(model.staged_score(X, Y))


@pytest.mark.parametrize("kind", ENSEMBLES, ids=lambda kind: kind.__name__)
def test_every_interrupted_fit_leaves_the_model_of_the_trees_that_are_done(kind):
    # A round of three classes has three trees, and the first of the third round is one too few.
    last, n_whole = (6, 2) if kind is GradientBoostingClassifier else (2, 3)

    def interrupt(done):
        if done.number == last:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="the fit was interrupted; the model has"):
        model = kind(n_estimators=9, random_state=0).fit(X, Y, callbacks=interrupt)
    whole = kind(n_estimators=n_whole, random_state=0).fit(X, Y)
    assert model.to_bytes() == whole.to_bytes()
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


@pytest.mark.parametrize(("kind", "last"), [(RandomForestClassifier, 2), (AdaBoostClassifier, 3)])
def test_an_interrupted_fit_keeps_the_trees_that_are_done(monkeypatch, kind, last):
    monkeypatch.setattr(choose_loop, "MOST_TOGETHER", 2)  # trees that are done at once
    calls = []
    begin = builder._Growth.__init__

    def tired(self, *args):
        calls.append(1)
        if len(calls) == last:
            raise KeyboardInterrupt
        begin(self, *args)

    monkeypatch.setattr(builder._Growth, "__init__", tired)
    with pytest.warns(UserWarning, match="interrupted; the model has the 2 of 9 trees"):
        model = kind(n_estimators=9, random_state=0, backend="numpy").fit(X, Y)
    assert len(model.estimators_) == 2
    monkeypatch.undo()
    assert model.predict(X).shape == Y.shape
    whole = kind(n_estimators=2, random_state=0).fit(X, Y)
    assert model.to_bytes() == whole.to_bytes()


def test_an_interruption_within_the_first_round_is_not_caught():
    def at_once(done):
        raise KeyboardInterrupt

    model = GradientBoostingClassifier(2, random_state=0).fit(X, Y)
    before = model.to_bytes()
    assert len(model.estimators_) == 6, "a round of three classes has three trees"
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callbacks=at_once)
    assert model.to_bytes() == before


def test_an_interruption_before_the_first_tree_is_not_caught(monkeypatch):
    def at_once(self, *args):
        raise KeyboardInterrupt

    old = RandomForestClassifier(2, random_state=0, backend="numpy").fit(X, Y)
    before = old.to_bytes()
    monkeypatch.setattr(builder._Growth, "__init__", at_once)
    with pytest.raises(KeyboardInterrupt):
        old.fit(X, Y)
    assert old.to_bytes() == before


def test_verbose_tells_of_trees_and_time(capsys):
    RandomForestClassifier(20, verbose=1, random_state=0, max_depth=1).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("RandomForestClassifier: 20/20 trees, ")
    assert lines[-1].endswith("0.0 s left")
    RandomForestClassifier(2, random_state=0, max_depth=1).fit(X, Y)
    assert capsys.readouterr().err == ""


def test_a_terminal_has_one_line_that_is_rewritten():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    progress = Progress("forest", 2, is_shown=True, stream=stream)
    progress.step()
    progress.step()
    progress.end()
    text = stream.getvalue()
    assert text.count("\r") == 2
    assert text.count("\n") == 1
    assert "2/2 trees" in text


def test_the_report_counts_all_trees():
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    report = forest.fit_report_
    assert report.n_trees == 3
    assert report.n_nodes == sum(tree.tree_.n_nodes for tree in forest.estimators_)
    assert f"trees    3, {report.n_nodes} nodes" in str(report)
    assert report.backend == forest.backend_
