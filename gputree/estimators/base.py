"""What all single trees share: fitting, walking, storing."""

import os
import time
from typing import Any, ClassVar, Self

import array_api_compat
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gputree.arrays import is_foreign
from gputree.backends.registry import choose
from gputree.backends.timed import Timed
from gputree.data.dataset import Dataset, read_weights
from gputree.data.inputs import read_table
from gputree.data.target import Target
from gputree.dtypes import Array, HostArray
from gputree.estimators import model_file, parameters
from gputree.estimators.report import FitReport
from gputree.growth.builder import grow
from gputree.growth.finish import finish
from gputree.growth.rules import Criteria, Rules, score_floor, weight_floor
from gputree.tree.export import tree_text


class TreeEstimator(BaseEstimator):
    """A single decision tree; classifiers and regressors say what their target is."""

    # Parameters that say where and how to compute. They cannot change a model, so they are no
    # part of it.
    WHERE: ClassVar[tuple[str, ...]] = ("device", "backend", "n_jobs", "histogram_budget")
    CRITERIA: ClassVar[Criteria]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow a tree on the rows of X with target y.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or Dataset
            NaN and None are missing values; infinities are values.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target; may be left out when a Dataset brings it.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two rows; one of weight 0 is left out.

        Returns
        -------
        self
        """
        start = time.perf_counter()
        formula, impurity = parameters.one_of("criterion", self.criterion, self.CRITERIA)
        budget = parameters.budget(self.histogram_budget)
        dataset, weight = self._read(X, sample_weight)
        target, learned = self._target(dataset.y if y is None else y, dataset.n_rows, weight)
        rules = self._rules(formula, target, dataset.n_features)
        backend = Timed(dataset.backend)
        budget = min(budget, backend.room_for_hists() or budget)
        compiled_before = backend.compile_seconds
        grown = grow(backend, dataset.data, dataset.bins, target, rules, budget)
        tree = finish(grown, target, backend.leaves(grown.rows), impurity)
        peak_bytes = backend.bytes_held(dataset.data, grown.rows) + grown.peak_bytes
        del grown
        backend.release()
        # Nothing is written before everything has worked: a failed fit leaves the old model whole.
        self._keep_columns(X, dataset)
        for name, value in learned.items():
            setattr(self, name, value)
        self.tree_ = tree
        self.max_features_ = rules.n_drawn
        self.backend_, self.device_ = backend.name, backend.device
        compile_seconds = backend.compile_seconds - compiled_before
        seconds = dict(backend.seconds)
        if dataset is not X:
            seconds = dataset.seconds | seconds
            compile_seconds += dataset.compile_seconds
        self.fit_report_ = FitReport(
            backend=backend.name,
            device=backend.device,
            reason=dataset.reason,
            n_rows=dataset.n_rows,
            n_features=dataset.n_features,
            n_nodes=tree.n_nodes,
            peak_bytes=peak_bytes,
            compile_seconds=compile_seconds,
            seconds=seconds | {"total": time.perf_counter() - start},
        )
        return self

    def apply(self, X: Any) -> Array:
        """The number of the leaf that each row of X reaches."""
        return self._like(X, self._leaves(X))

    def decision_path(self, X: Any) -> csr_matrix:
        """Which nodes each row of X passes, as a sparse (n_rows, n_nodes) matrix of ones."""
        node = self._leaves(X)
        parent = self.tree_.parent
        steps = []
        row = np.arange(len(node))
        while row.size:
            steps.append((row, node))
            node = parent[node]
            row, node = row[node >= 0], node[node >= 0]
        rows, nodes = (np.concatenate(part) for part in zip(*steps, strict=True))
        shape = (int(rows.max()) + 1, self.tree_.n_nodes)
        return csr_matrix((np.ones(len(rows), np.int64), (rows, nodes)), shape=shape)

    def get_depth(self) -> int:
        """The number of splits on the longest path from the root to a leaf."""
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> HostArray:
        """The share of each feature in what all splits lower the impurity by."""
        check_is_fitted(self)
        return self.tree_.importances(self.n_features_in_)

    def export_text(
        self, *, feature_names: Any = None, max_depth: int | None = None, decimals: int = 2
    ) -> str:
        """The tree as indented text.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gputree import DecisionTreeClassifier
        >>> iris = load_iris(as_frame=True)
        >>> tree = DecisionTreeClassifier(max_depth=1).fit(iris.data, iris.target)
        >>> print(tree.export_text())
        petal length (cm) <= 2.45: class 0 (50 rows, 100.0%)
        petal length (cm) >  2.45: class 1 (100 rows, 50.0%)
        """
        check_is_fitted(self)
        parameters.whole("max_depth", max_depth, 0, or_none=True)
        parameters.whole("decimals", decimals, 0)
        names = list(self.schema_.names if feature_names is None else feature_names)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"feature_names has {len(names)} names; the tree has {self.n_features_in_} features"
            )
        return tree_text(
            self.tree_,
            names,
            self.schema_.levels,
            self._leaf_text,
            max_depth=max_depth,
            decimals=decimals,
            has_missing=self.schema_.has_missing,
        )

    def to_bytes(self) -> bytes:
        """The model as canonical bytes: equal models give equal bytes.

        The bytes hold the tree, the columns and the labels; not the parameters of the fit, nor
        where it ran.
        """
        check_is_fitted(self)
        return model_file.model_bytes(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its parameters to a file, read by `gputree.load`."""
        check_is_fitted(self)
        model_file.save(self, path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # What classifiers and regressors fill in.

    def _target(
        self, y: Any, n_rows: int, weight: HostArray | None
    ) -> tuple[Target, dict[str, Any]]:
        """The statistics of the rows, and the fitted attributes that tell what they mean."""
        raise NotImplementedError

    def _leaf_text(self, node: int, decimals: int) -> str:
        raise NotImplementedError

    # Steps of a fit.

    def _read(self, X: Any, sample_weight: Any) -> tuple[Dataset, HostArray | None]:
        """The table and the weights of its rows."""
        if isinstance(X, Dataset):
            given = read_weights(sample_weight, X.n_rows)
            return X, X.sample_weight if given is None else given
        dataset = Dataset(
            X,
            sample_weight=sample_weight,
            categorical_features=self.categorical_features,
            max_bins=self.max_bins,
            device=self.device,
            backend=self.backend,
            n_jobs=self.n_jobs,
        )
        return dataset, dataset.sample_weight

    def _keep_columns(self, X: Any, dataset: Dataset) -> None:
        """Set what scikit-learn and later predictions want to know of the columns."""
        self.schema_ = dataset.schema
        if dataset is not X:
            validate_data(self, X, skip_check_array=True)
            return
        self.n_features_in_ = dataset.n_features
        if dataset.feature_names is not None:
            self.feature_names_in_ = dataset.feature_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _rules(self, formula: str, target: Target, n_features: int) -> Rules:
        """The stopping rules in the units of the target."""
        n_rows, channels = target.n_rows, target.channels
        total = int(channels.weight_of(target.totals))
        share = parameters.real("min_weight_fraction_leaf", self.min_weight_fraction_leaf, 0.0, 0.5)
        decrease = parameters.real("min_impurity_decrease", self.min_impurity_decrease, 0.0)
        parameters.whole("max_depth", self.max_depth, 1, or_none=True)
        parameters.whole("max_leaf_nodes", self.max_leaf_nodes, 2, or_none=True)
        return Rules(
            formula=formula,
            max_depth=self.max_depth,
            max_leaves=self.max_leaf_nodes,
            min_rows_split=parameters.count_or_share(
                "min_samples_split", self.min_samples_split, 2, n_rows
            ),
            min_rows_leaf=parameters.count_or_share(
                "min_samples_leaf", self.min_samples_leaf, 1, n_rows
            ),
            min_weight_leaf=weight_floor(share, total),
            min_score=score_floor(decrease, channels, total),
            splits_without_gain=formula != "corrected",
            n_drawn=parameters.n_drawn(self.max_features, n_features),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    # Steps of a prediction.

    def _leaves(self, X: Any) -> HostArray:
        """The leaf of each row, on the host."""
        check_is_fitted(self)
        if isinstance(X, Dataset):
            raise TypeError("a prediction takes a table of values, not a Dataset, which has codes")
        if len(getattr(X, "shape", ())) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        table = read_table(X, like=self.schema_)
        n_cells = table.n_rows * table.n_features
        choice = choose(self.device, self.backend, n_jobs=self.n_jobs, n_cells=n_cells)
        return choice.backend.apply(self.tree_, table)

    def _like(self, X: Any, result: HostArray) -> Array:
        """The result in the library and on the device of X, where that is possible."""
        if not is_foreign(X) or result.dtype.kind not in "biuf":
            return result
        xp = array_api_compat.array_namespace(X)
        return xp.asarray(result, device=array_api_compat.device(X))
