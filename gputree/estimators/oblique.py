"""Trees whose nodes may test a combination of columns."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gputree.arrays import to_numpy
from gputree.backends.contract import Backend
from gputree.data.kinds import CategoricalFeatures
from gputree.data.sparse import dense
from gputree.data.table import Column, Kind, Table
from gputree.data.target import Target
from gputree.dtypes import MISSING_CATEGORY, HostArray
from gputree.estimators import parameters
from gputree.estimators.base import TreeEstimator
from gputree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from gputree.fit.dataset import Dataset
from gputree.growth.combining import Combinations, Combining
from gputree.growth.directions import Sought
from gputree.growth.oblique import Oblique
from gputree.growth.projecting import Projecting, projections_of
from gputree.kernels.criteria import FOR_CLASSES, Criterion
from gputree.pruning.error_based import ErrorBased
from gputree.pruning.task import Method
from gputree.tree.familiar import FamiliarTree

if TYPE_CHECKING:
    from gputree.explain.shap import Attribution

PROJECTIONS_A_COLUMN = 4  # that a node tries, where nobody says how many


class ObliqueTree(TreeEstimator):
    """What classifiers and regressors with combinations of columns share."""

    combines_columns = True
    directions: str
    max_terms: int
    max_projections: int | None
    projection_density: float
    term_cost: float

    @property
    def tree_(self) -> FamiliarTree:
        """Not there: scikit-learn's trees have no combinations of columns; see `nodes_`."""
        raise AttributeError(
            f"{type(self).__name__} has no tree_: scikit-learn's trees test one column per node; "
            "the tree with its combinations is nodes_"
        )

    def _expected(self) -> HostArray:
        from gputree.explain.shap import expected_at

        return expected_at(self.nodes_, self._leaf_values())

    def _attributed(self, table: Table, others: Table | None) -> "Attribution":
        from gputree.explain.combined import attributed

        return attributed(self.nodes_, self._leaf_values(), table, others)

    def _sought(self, n_features: int) -> Sought:
        """Which combinations to look for."""
        parameters.combinations(self)
        parameters.whole("max_terms", self.max_terms, 2)
        n_drawn = parameters.n_drawn(self.max_features, n_features)
        return Sought(
            self.directions,
            int(self.max_terms),
            min(PROJECTIONS_A_COLUMN * n_drawn, n_features)
            if self.max_projections is None
            else int(self.max_projections),
            float(self.projection_density),
            parameters.real("term_cost", self.term_cost, 0.0),
        )

    def _check_ways(self, criterion: Criterion) -> None:
        super()._check_ways(criterion)
        self._sought(1)

    def _combinations(self, dataset: Dataset) -> Combinations:
        column = np.flatnonzero(~dataset.bins.is_nominal)
        values, sought = _numbers(dataset, column), self._sought(dataset.n_features)
        if sought.directions == "sparse":
            is_random = self.splitter == "random"
            plan = projections_of(dataset.bins, column, values, sought, is_random=is_random)
            return Combinations(lambda backend, _, budget: Projecting(backend, plan, budget), plan)
        max_bins, max_depth = int(dataset.bins.n_values.max()), self.max_depth

        def fitted(backend: Backend, target: Target | None, budget: int) -> Combining:
            assert target is not None
            return Oblique(backend, values, column, target, sought, max_bins, budget, max_depth)

        return Combinations(fitted)

    def _check_method(self, method: Method) -> None:
        if isinstance(method, ErrorBased):
            raise ValueError(
                "pruning by 'error_based' moves tests up, which is not supported for combinations "
                "of "
                "columns; use 'pessimistic', 'minimum_error', 'reduced_error' or 'cost_complexity'"
            )
        if getattr(method, "row_shares", "training") != "training":
            raise ValueError(
                "row_shares='validation' divides rows, which are whole in an oblique tree; leave "
                "it out"
            )


def _numbers(dataset: Dataset, column: HostArray) -> HostArray:
    """The values of some columns, (columns, rows), NaN where missing."""
    parts = []
    for table in dataset.parts():
        read = [_values(table.columns[at]) for at in column.tolist()]
        parts.append(np.stack(read).astype(np.float64) if read else np.empty((0, table.n_rows)))
    return np.concatenate(parts, axis=1)


def _values(column: Column) -> HostArray:
    values = to_numpy(dense(column.values))
    if column.kind is Kind.NUMERIC:
        return values
    return np.where(values == MISSING_CATEGORY, np.nan, values.astype(np.float32))


class ObliqueTreeClassifier(ObliqueTree, DecisionTreeClassifier):
    """A decision tree for classes whose nodes may test a combination of columns.

    A node compares a column, or a weighted sum of several such as `0.5 density + sugar`, with a
    threshold. Combinations are worked out from the rows of the node; one is tested where it lowers
    the impurity by more than the best split of one column does, after a charge for each further
    term. Their weights are rounded to few digits and are in the units of the table. Columns of
    unordered categories are split as in `DecisionTreeClassifier`, ordered ones count by the
    numbers of their categories. A combination is missing where one of its values is, and goes to
    the side that lowers the impurity more.

    The model is the same, byte for byte, on every backend and device, for any order of the rows
    and any `histogram_budget`.

    Parameters
    ----------
    criterion : {'gini', 'entropy', 'log_loss', 'error', 'twoing'}, default='gini'
        The impurity that splits lower, or a criterion of your own, from `make_criterion`.
    directions : {'lda', 'logistic', 'cart-lc', 'sparse'}, default='lda'
        Where combinations come from. 'lda' are linear discriminants of each class against the
        others, of few columns and of more, which are then fitted again to the rows beside the best
        split. 'logistic' are the same by logistic regression. 'cart-lc' goes on from 'lda' and
        turns the best combination towards one column after another. 'sparse' are random columns,
        each with a weight of 1 or -1 in units of its spread.
    max_terms : int, default=8
        The most columns in a combination.
    max_projections : int or None, default=32
        How many random combinations a node tries, for directions='sparse'. None: four times as
        many as `max_features` says, but no more than there are columns.
    projection_density : float, default=3.0
        How many columns a random combination has on average, two at least; for
        directions='sparse'.
    term_cost : float, default=0.05
        What a further column costs: a split of k columns is worth its decrease of the impurity,
        divided by 1 + (k - 1) * (`term_cost` + 2 * log(p) / n). Of p columns, the second part is
        what the best one explains by chance in a node of n distinct values.
    max_features : int, float, 'sqrt', 'log2' or None, default=None
        How many single columns a node tries, as in `DecisionTreeClassifier`.
    splitter : {'best', 'random'}, default='best'
        As in `DecisionTreeClassifier`; with 'random', one threshold of each random combination is
        drawn, too.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in `DecisionTreeClassifier`.
    random_state : int, RandomState or None, default=None
        Decides random combinations, and the rows that are held out.
    max_leaf_nodes, min_impurity_decrease, ccp_alpha
        As in `DecisionTreeClassifier`.
    pruning : str, object of `gputree.pruning` or None, default=None
        How to prune the tree, as in `DecisionTreeClassifier`, but for 'error_based'.
    validation_fraction, class_weight, priors, categorical_features
        As in `DecisionTreeClassifier`.
    subset_search, max_exact_levels, min_samples_category, unknown_category, max_bins
        As in `DecisionTreeClassifier`. A combination has at most 255 bins.
    histogram_budget, device, backend, n_jobs
        As in `DecisionTreeClassifier`. Combinations are worked out, and rows walk by them, on the
        host; splits are searched where the backend computes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    nodes_ : Tree
        The tree: flat arrays with one entry per node. Columns from `n_features_in_` on are those of
        `nodes_.directions`, the combinations.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in what the splits gained; columns of a combination share alike.
    n_features_in_, feature_names_in_, n_classes_, missing_, fit_report_, pruning_report_, \
max_features_, backend_, device_
        As in `DecisionTreeClassifier`.

    Examples
    --------
    >>> from gputree import DecisionTreeClassifier, ObliqueTreeClassifier
    >>> X = [[x, y] for x in range(6) for y in range(6)]
    >>> kind = ["above" if y > x else "below" for x, y in X]
    >>> DecisionTreeClassifier().fit(X, kind).get_n_leaves()
    11
    >>> print(ObliqueTreeClassifier().fit(X, kind).export_text())
    x0 - x1 <= -0.50: class above (15 rows, 100.0%)
    x0 - x1 >  -0.50: class below (21 rows, 100.0%)
    """

    CRITERIA: ClassVar[dict[str, Criterion]] = {
        name: each for name, each in FOR_CLASSES.items() if name != "gain_ratio"
    }

    def __init__(
        self,
        *,
        criterion: str | Criterion = "gini",
        directions: str = "lda",
        max_terms: int = 8,
        max_projections: int | None = 32,
        projection_density: float = 3.0,
        term_cost: float = 0.05,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        splitter: str = "best",
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        pruning: Any = None,
        validation_fraction: float | None = None,
        class_weight: Any = None,
        priors: Any = "data",
        categorical_features: CategoricalFeatures = "from_dtype",
        subset_search: str = "auto",
        max_exact_levels: int = 10,
        min_samples_category: int | str = "auto",
        unknown_category: str = "missing",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parameters.keep(self, locals())


class ObliqueTreeRegressor(ObliqueTree, DecisionTreeRegressor):
    """A decision tree for numbers whose nodes may test a combination of columns.

    With directions='lda' the combinations of a node are least squares fits of the target, and with
    'logistic' they tell targets above the mean of the node from those below. All else is
    as in `ObliqueTreeClassifier`, and targets are those of `DecisionTreeRegressor`.

    Parameters
    ----------
    criterion : {'squared_error', 'variance', 'friedman_mse', 'poisson'}, default='squared_error'
        As in `DecisionTreeRegressor`.
    directions, max_terms, max_projections, projection_density, term_cost
        As in `ObliqueTreeClassifier`.
    max_features, splitter
        As in `ObliqueTreeClassifier`.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in `DecisionTreeClassifier`.
    random_state, max_leaf_nodes, min_impurity_decrease, ccp_alpha, pruning
        As in `ObliqueTreeClassifier`, with the methods of pruning that a regression has.
    validation_fraction, categorical_features, subset_search, max_exact_levels
        As in `DecisionTreeRegressor`.
    min_samples_category, unknown_category, max_bins
        As in `ObliqueTreeClassifier`.
    histogram_budget, device, backend, n_jobs
        As in `ObliqueTreeClassifier`.

    Attributes
    ----------
    nodes_ : Tree
        The tree, as in `ObliqueTreeClassifier`.
    n_outputs_ : int
        The number of outputs.
    feature_importances_, n_features_in_, feature_names_in_, missing_, fit_report_, \
pruning_report_, max_features_, backend_, device_
        As in `ObliqueTreeClassifier`.

    Examples
    --------
    >>> from gputree import ObliqueTreeRegressor
    >>> X = [[x, y] for x in range(6) for y in range(6)]
    >>> tree = ObliqueTreeRegressor(max_depth=1).fit(X, [float(x + y > 5) for x, y in X])
    >>> print(tree.export_text())
    x0 + x1 <= 5.50: 0.00 (21 rows)
    x0 + x1 >  5.50: 1.00 (15 rows)
    """

    def __init__(
        self,
        *,
        criterion: str | Criterion = "squared_error",
        directions: str = "lda",
        max_terms: int = 8,
        max_projections: int | None = 32,
        projection_density: float = 3.0,
        term_cost: float = 0.05,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        splitter: str = "best",
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        pruning: Any = None,
        validation_fraction: float | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        subset_search: str = "auto",
        max_exact_levels: int = 10,
        min_samples_category: int | str = "auto",
        unknown_category: str = "missing",
        max_bins: int = 255,
        histogram_budget: int | None = None,
        device: str = "auto",
        backend: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        parameters.warn_of_old_name(criterion)
        parameters.keep(self, locals())
