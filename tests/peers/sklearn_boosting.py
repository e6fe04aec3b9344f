"""A plugin of pytest: our gradient boosting as scikit-learn's tests of gradient boosting call it.

Our classes have other defaults than either of scikit-learn's two kinds, and some other names. The
classes here have scikit-learn's parameters and translate them, as docs/migration/sklearn.md tells
users to; what they look up in a fitted model is ours under another name. A parameter that we do
not have is refused.

    python -m pytest -p tests.peers.sklearn_names -p tests.peers.sklearn_boosting --pyargs ...
"""

import inspect
from types import SimpleNamespace

import numpy as np
import sklearn.ensemble

import gputree
from tests.peers.sklearn_names import THEIRS, watched


def initializer(theirs):
    """An `__init__` with the parameters and defaults of a class of scikit-learn."""
    signature = inspect.signature(theirs.__init__)

    def __init__(self, *args, **kwargs):
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        for name, value in list(given.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature
    return __init__


class Translated:
    """What neither kind of scikit-learn's boosting has, and what both have under other names."""

    min_child_weight = 0.0
    min_split_gain = 0.0
    power = 1.5
    multi_strategy = "one_output_per_tree"
    splits = "axis"
    directions = "sparse"
    max_projections = None
    projection_density = 3.0
    keep_best = False
    colsample_bytree = 1.0
    min_samples_category = "auto"
    missing = "direction"
    unknown_category = "missing"
    histogram_budget = None
    device = "auto"
    backend = None
    n_jobs = 1  # tables of tests are small

    def _rounds(self):
        """The trees of each round, one an output."""
        trees, n_outputs = list(self), len(self._start)
        return [trees[at : at + n_outputs] for at in range(0, len(trees), n_outputs)]


class Hist(Translated):
    """As HistGradientBoosting*."""

    min_child_weight = 1e-3
    min_impurity_decrease = 0.0
    subsample = 1.0
    oob_score = False
    init = None
    min_samples_split = 2
    n_estimators = property(lambda self: self.max_iter)
    _random_seed = property(lambda self: self._seed)

    @property
    def alpha(self):
        """The quantile, where there is one."""
        return 0.5 if self.quantile is None else self.quantile

    def fit(self, X, y, sample_weight=None, **others):
        """Fit, and tell errors in their words."""
        self._seen = X, y, sample_weight
        try:
            return super().fit(X, y, sample_weight, **others)
        except ValueError as error:
            raise type(error)(str(error).replace("n_estimators", "max_iter")) from error

    @property
    def train_score_(self):
        """The score after each round; there are none without early stopping."""
        is_kept = len(self.validation_score_) > 0
        return -np.array(list(self.staged_loss(*self._seen))) if is_kept else np.empty(0)

    @property
    def validation_score_(self):
        """The score after each round, of which more is better."""
        try:
            return super().validation_score_ * (-1.0 if self.scoring == "loss" else 1.0)
        except AttributeError:
            return np.empty(0)

    def _raw_predict(self, X):
        return self._raw(X).T

    @property
    def _predictors(self):
        categories = self.schema_.categories
        return [[predictor(tree, categories) for tree in trees] for trees in self._rounds()]


def predictor(tree, categories):
    """A tree with the names of those of HistGradientBoosting*."""
    nodes = tree.tree_
    return Predictor(
        split=(tree.nodes_, categories),
        nodes=np.rec.fromarrays(
            [nodes.value.ravel(), nodes.feature, nodes.threshold, nodes.children_left],
            names="value, feature_idx, num_threshold, left",
        ),
        get_max_depth=tree.get_depth,
        get_n_leaf_nodes=tree.get_n_leaves,
    )


class Predictor(SimpleNamespace):
    """What is looked up in such a tree."""

    @property
    def raw_left_cat_bitsets(self):
        return left_categories(*self.split)


def left_categories(nodes, categories):
    """The numbers that go left at each node that tests categories, as bits of eight words."""
    found = []
    for node in np.flatnonzero(nodes.category_start >= 0):
        own = categories[nodes.feature[node]]
        bits = np.zeros(256, bool)
        bits[np.array(own, int)] = nodes.slots(node, len(own)) == 0
        found.append(np.packbits(bits, bitorder="little").view(np.uint32))
    return found


class Classic(Translated):
    """As GradientBoosting*."""

    l2_regularization = 0.0
    max_bins = 65_535  # every value is a threshold
    monotonic_cst = None
    interaction_cst = None
    class_weight = None
    categorical_features = None
    scoring = "loss"
    oob_score = property(lambda self: self.subsample < 1.0)
    n_estimators_ = property(lambda self: self.n_iter_)

    def fit(self, X, y, sample_weight=None, monitor=None):
        """Fit, with the names of GradientBoosting*."""
        if self.criterion != inspect.signature(type(self)).parameters["criterion"].default:
            raise TypeError("gputree's gradient boosting has no parameter 'criterion'")
        patience = self.n_iter_no_change
        self.early_stopping = patience is not None
        self.n_iter_no_change = patience or 1
        try:
            super().fit(X, y, sample_weight, callbacks=monitor and [self._told(monitor)])
        finally:
            self.n_iter_no_change = patience
        self._seen = X, y, sample_weight
        return self

    @property
    def train_score_(self):
        """The loss after each round; of squares and of two classes, theirs is not the half."""
        is_whole = self.loss == "squared_error"
        is_whole |= self.loss == "log_loss" and len(self.classes_) == 2
        return np.array(list(self.staged_loss(*self._seen))) * (2.0 if is_whole else 1.0)

    def _told(self, monitor):
        return lambda done: monitor(done.number, self, {})

    @property
    def estimators_(self):
        """The trees, (rounds, outputs)."""
        trees = super().estimators_
        return np.array(list(trees), object).reshape(-1, len(self._start))


class HistGradientBoostingClassifier(Hist, gputree.GradientBoostingClassifier):
    """Ours with the parameters of theirs."""

    __init__ = initializer(THEIRS.HistGradientBoostingClassifier)


class HistGradientBoostingRegressor(Hist, gputree.GradientBoostingRegressor):
    """Ours with the parameters of theirs."""

    __init__ = initializer(THEIRS.HistGradientBoostingRegressor)


class GradientBoostingClassifier(Classic, gputree.GradientBoostingClassifier):
    """Ours with the parameters of theirs."""

    __init__ = initializer(THEIRS.GradientBoostingClassifier)

    def apply(self, X):
        """The leaves, (rows, rounds, outputs)."""
        return super().apply(X).reshape(len(X), -1, len(self._start))


class GradientBoostingRegressor(Classic, gputree.GradientBoostingRegressor):
    """Ours with the parameters of theirs."""

    __init__ = initializer(THEIRS.GradientBoostingRegressor)


for name, ours in list(globals().items()):
    if name in vars(THEIRS) and isinstance(ours, type):
        for method in ("__init__", "fit"):
            setattr(ours, method, watched(getattr(ours, method), name))
        setattr(sklearn.ensemble, name, ours)
