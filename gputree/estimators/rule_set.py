"""RuleSetClassifier: C4.5's rules with scikit-learn's conventions."""

from functools import cache
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from gputree.arrays import to_numpy
from gputree.data.inputs import read_table
from gputree.data.weights import read_weights
from gputree.dtypes import Array, HostArray
from gputree.estimators import parameters, rules_file
from gputree.estimators.classic import C45Classifier
from gputree.estimators.partitioned import Partitioned
from gputree.estimators.stored import Stored
from gputree.estimators.targets import class_factors, read_labels
from gputree.estimators.trees import DecisionTreeClassifier
from gputree.fit.dataset import Dataset
from gputree.rules.from_tree import rules_of
from gputree.rules.learn import SELECTIONS, Sample, learn
from gputree.rules.rule_set import RuleSet
from gputree.shares import fine_weights


class RuleSetClassifier(ClassifierMixin, Partitioned, Stored, BaseEstimator):
    """Quinlan's C4.5rules: a tree as a short list of simplified rules.

    A tree is grown, and each leaf becomes a rule. Conditions are removed as long as the upper limit
    of the rule's error does not rise. Rules are sorted by that limit; the first one that covers a
    row decides, and a default class if none does. The list that is kept has the shortest
    description, its misclassified rows included.

    A missing value satisfies no condition except `is missing`. The time of a fit is proportional to
    leaves times rows times conditions per leaf: limit the tree on large tables.

    Parameters
    ----------
    tree : classifier of gputree, optional
        The tree to grow, which is not changed; `C45Classifier(pruning=None)` by default.
    confidence : float, default=0.25
        The probability that the true error of a rule is above its limit, in (0, 0.5]. Lower values
        give simpler rules.
    selection : {'description_length', 'greedy'}, default='description_length'
        How to choose among the rules. 'description_length' adds and drops rules while that shortens
        the description, starting from all rules and from the shortest set for each class. 'greedy'
        repeatedly adds the rule of a class with the largest difference of rows it gets right and
        wrong, as long as that is positive; the list is longer.

    Attributes
    ----------
    rules_ : RuleSet
        The rules in their order, and the default.
    estimator_ : classifier
        The tree that was grown.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_classes_, n_features_in_, feature_names_in_
        As their names say.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gputree import RuleSetClassifier
    >>> iris = load_iris(as_frame=True)
    >>> model = RuleSetClassifier().fit(iris.data, iris.target_names[iris.target])
    >>> print(model)
    IF petal length (cm) > 2.45 AND petal length (cm) <= 4.95 AND petal width (cm) <= 1.75 THEN \
versicolor (48 rows, 97.9%)
    IF petal width (cm) > 1.75 THEN virginica (46 rows, 97.8%)
    IF petal length (cm) > 4.95 THEN virginica (46 rows, 95.7%)
    OTHERWISE setosa (50 rows, 100.0%)
    >>> str(model.predict(iris.data)[0])
    'setosa'
    """

    def __init__(
        self,
        tree: Any = None,
        *,
        confidence: float = 0.25,
        selection: str = "description_length",
    ) -> None:
        self.tree = tree
        self.confidence = confidence
        self.selection = selection

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rules from the rows of X with labels y.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            NaN and None are missing values; infinities are values.
        y : array-like of shape (n_rows,)
            The labels.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two rows; one of weight 0 is left out.

        Returns
        -------
        self
        """
        confidence = parameters.real("confidence", self.confidence, 0.0, 0.5)
        if confidence == 0.0:
            raise ValueError("confidence=0 puts no limit on errors; give more than 0")
        parameters.one_of("selection", self.selection, dict.fromkeys(SELECTIONS))
        tree = self._new_tree()
        if isinstance(X, Dataset):
            raise TypeError("rules are learnt from a table of values, not a Dataset of codes")
        tree.fit(X, y, sample_weight)
        leaves = rules_of(tree.nodes_, tree.schema_, tree.classes_)
        sample = _sample(X, y, sample_weight, tree)
        # Nothing is written before everything has worked.
        self._keep(tree, learn(leaves, sample, confidence, self.selection))
        return self

    def predict(self, X: Any) -> Array:
        """The class of the first rule that covers each row of X, or the default."""
        at = self._first(X)
        answer = np.array([rule.answer for rule in (*self.rules_, self.rules_.default)])
        return self.estimator_._like(X, self.classes_[answer[at]])

    def predict_proba(self, X: Any) -> Array:
        """The share of each class among the training rows that the deciding rule covers."""
        at = self._first(X)
        shares = np.stack([rule.shares for rule in (*self.rules_, self.rules_.default)])
        return self.estimator_._like(X, shares[at])

    def predict_log_proba(self, X: Any) -> Array:
        """The natural logarithm of `predict_proba`."""
        shares = to_numpy(self.predict_proba(X))
        with np.errstate(divide="ignore"):
            return self.estimator_._like(X, np.log(shares))

    def apply(self, X: Any) -> Array:
        """The number of the rule that decides each row of X; `len(rules_)` for the default."""
        at = self._first(X)
        return self.estimator_._like(X, at)

    def export_text(
        self, *, feature_names: Any = None, class_names: Any = None, decimals: int = 2
    ) -> str:
        """The rules in their order, one per line, and the default.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names of the columns; those of the training table by default.
        class_names : sequence of str, optional
            Names of the classes in the order of `classes_`; the labels by default.
        decimals : int, default=2
            The decimals of thresholds.
        """
        check_is_fitted(self)
        parameters.whole("decimals", decimals, 0)
        rules = self.rules_
        return rules.text(
            feature_names=parameters.names(
                "feature_names", feature_names, rules.schema.names, "features"
            ),
            class_names=parameters.names("class_names", class_names, self.classes_, "classes"),
            decimals=decimals,
        )

    def _described(self) -> dict[str, Any]:
        return rules_file.described(self)

    def _settings(self) -> dict[str, Any]:
        return rules_file.settings(self)

    def _stored_arrays(self) -> dict[str, HostArray]:
        return rules_file.arrays_of(self)

    def _restore(self, header: dict[str, Any], arrays: dict[str, HostArray]) -> None:
        rules_file.restore(self, header, arrays)

    def __str__(self) -> str:
        return self.export_text() if hasattr(self, "rules_") else repr(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _new_tree(self) -> DecisionTreeClassifier:
        if self.tree is None:
            return C45Classifier(pruning=None)
        if not isinstance(self.tree, DecisionTreeClassifier):
            raise TypeError(
                f"tree={self.tree!r}: a classifier of gputree is needed, such as C45Classifier()"
            )
        return clone(self.tree)

    def _keep(self, tree: DecisionTreeClassifier, rules: RuleSet) -> None:
        """Become fitted."""
        self.rules_, self.estimator_ = rules, tree
        self.classes_, self.n_classes_ = tree.classes_, tree.n_classes_
        self.n_features_in_ = tree.n_features_in_
        if hasattr(tree, "feature_names_in_"):
            self.feature_names_in_ = tree.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _first(self, X: Any) -> HostArray:
        check_is_fitted(self)
        return self.rules_.first(self.estimator_._checked(X))


def _sample(X: Any, y: Any, sample_weight: Any, tree: DecisionTreeClassifier) -> Sample:
    """The rows that the tree was grown on, with the weights that it gave them."""
    table = read_table(X, like=tree.schema_)
    weight = read_weights(sample_weight, table.n_rows)
    classes, number = read_labels(y, table.n_rows, "RuleSetClassifier")
    factor = class_factors(tree.class_weight, tree.priors, classes, number, weight)
    weight = np.ones(table.n_rows) if weight is None else weight
    if factor is not None:
        weight = weight * factor[number]
    counts = weight > 0
    # Weights of whole units have exact sums, whatever the order of the rows.
    whole, shift = fine_weights(weight)
    weight = np.ldexp(whole.astype(np.float64), -shift)

    @cache
    def columns(feature: int) -> HostArray:
        return to_numpy(table.columns[feature].values)[counts]

    return Sample(columns, number[counts], weight[counts], len(classes))
