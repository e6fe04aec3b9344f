"""What both kinds of gradient boosting share: rounds, early stopping, predictions, storing."""

import copy
import time
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gputree.arrays import is_foreign
from gputree.backends.watched import add_values
from gputree.boosting.dependence import Recursion
from gputree.boosting.init import fitted_init, is_model
from gputree.boosting.losses import Named
from gputree.boosting.own_loss import OwnLoss, refuse_forgotten
from gputree.boosting.recipe import recipe_of
from gputree.boosting.rounds import Objective, Rounds
from gputree.boosting.run import BoostRun, counted, gained, ranks
from gputree.boosting.stopping import Stopping, check_other_rows
from gputree.boosting.vectors import VectorRounds
from gputree.boosting.watch import has_ended
from gputree.comm import ALONE, Comm
from gputree.data.inputs import read_table
from gputree.data.kinds import CategoricalFeatures
from gputree.data.table import Kind, Table
from gputree.data.target import whole_weights
from gputree.data.united import Parts, joined_table
from gputree.data.weights import brought_near_one, read_weights
from gputree.dtypes import Array, HostArray
from gputree.ensembles.base import Ensemble, Run, shown
from gputree.ensembles.callbacks import with_callbacks
from gputree.ensembles.draws import order_of
from gputree.ensembles.members import Member
from gputree.errors import ModelFileError
from gputree.estimators import parameters
from gputree.estimators.base import TreeEstimator, checked
from gputree.estimators.model_file import read_outputs
from gputree.estimators.trees import DecisionTreeRegressor
from gputree.export.plan import Plan
from gputree.fit.dataset import read_dataset
from gputree.fit.fit import Fit
from gputree.kernels.losses import Link, Loss
from gputree.prediction import answer_there, sum_leaves
from gputree.tree.check import LARGEST
from gputree.tree.stack import Stack

STRATEGIES = "one_output_per_tree", "one_tree"  # of several outputs
MOST_ROWS = 2**30  # sums of gradients have 31 bits, and every row needs some of them


class GradientBoosting(Recursion, Stopping):
    """Trees in rounds, each fitted to the gradients that the rounds before it have left."""

    LOSSES: ClassVar[dict[str, Loss]]  # by name
    # A tree has one output; a round may have more.
    TAKEN = tuple(name for name in Ensemble.TAKEN if name != "n_outputs_")
    loss: Any
    learning_rate: float
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_split: int | float
    min_samples_leaf: int
    init: Any
    min_child_weight: float
    min_split_gain: float
    min_impurity_decrease: float
    l2_regularization: float
    subsample: float
    colsample_bytree: float
    max_features: Any
    multi_strategy: str
    monotonic_cst: Any
    interaction_cst: Any
    categorical_features: CategoricalFeatures
    missing: str
    unknown_category: str
    min_samples_category: int | str
    max_bins: int
    histogram_budget: int | None
    device: str
    backend: str | None
    n_jobs: int | None
    _start: HostArray

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Fit the rounds on the rows of X with target y.

        Interrupted by the keyboard, a fit keeps the rounds that are done and warns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or Dataset
            NaN and None are missing values; infinities are values.
        y : array-like of shape (n_rows,)
            The target; may be left out when a Dataset brings it.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two rows; one of weight 0 is left out.
        X_val, y_val : table and target, optional
            Other rows, on which to watch the loss and to stop early.
        sample_weight_val : array-like, optional
            Their weights.
        callbacks : list of functions, optional
            Each is called after every tree with a `gputree.ensembles.callbacks.TreeDone`; the
            fit ends when one of them returns True.

        Returns
        -------
        self
        """
        start = time.perf_counter()
        self._check_parameters()
        self._check_number()
        check_other_rows(X_val, y_val, sample_weight_val)
        run = self._new_run(X, y, sample_weight)
        run.patience = self._patience(run.fit.dataset.n_everywhere, X_val is not None)
        if X_val is not None:
            run.stem._keep_columns(X, run.fit.dataset)
            table = self._read_other(X_val, run.stem)
            comm = run.fit.dataset.comm
            other = self._validation_target(y_val, table.n_rows, run.learned, comm)
            weight_val = read_weights(sample_weight_val, table.n_rows, "sample_weight_val", comm)
            run.validation = table, other, counted(weight_val, other)
            run.X, run.is_weighted = X_val, sample_weight_val is not None
        return self._run(run, X, callbacks, start)

    def _new_run(self, X: Any, y: Any, sample_weight: Any) -> BoostRun:
        """A run on the rows of X, before it is known who watches it."""
        stem, budget = self._new_stem(), parameters.budget(self.histogram_budget)
        dataset, weight = read_dataset(self, X, y, sample_weight, self.n_estimators, self)
        if dataset.n_rows > MOST_ROWS:
            raise ValueError(f"X has {dataset.n_rows:,} rows; boosting takes up to {MOST_ROWS:,}")
        given = dataset.y if y is None else y
        comm = dataset.comm
        target, weight, learned = self._read_target(given, dataset.n_rows, weight, comm)
        whole, _ = whole_weights(weight, comm)
        if weight is not None and whole is not None:
            weight = np.where(whole > 0, weight, 0.0)  # as the cuts do
        weight, exponent = brought_near_one(weight, comm)
        n_outputs = self._n_outputs(learned)
        has_vectors = n_outputs > 1 and self.multi_strategy == "one_tree"
        width = n_outputs if has_vectors else 1
        run = self._begin(Fit(dataset, budget), stem, {"n_outputs_": width})
        run = BoostRun(**vars(run), target=target, weight=weight, weight_exponent=exponent)
        run.shown = shown(X, given, sample_weight)
        run.given, run.X, run.is_weighted = (X, given), X, weight is not None
        run.has_vectors, run.trees_a_step = has_vectors, n_outputs // width
        run.learned |= learned
        self._check_warm(learned)
        run.own = self._own_loss(learned)
        run.named = self._loss_of(target, counted(weight, target), learned, comm)
        return run

    def _read_other(self, X: Any, stem: TreeEstimator) -> Table:
        """Other rows of the columns that the stem has read."""
        twin = copy.copy(self)  # which is not fitted before the end
        for name in ("n_features_in_", "feature_names_in_"):
            twin._set_or_delete(name, stem)
        if isinstance(X, Parts):
            tables = [read_table(checked(twin, part), like=stem.schema_) for part in X]
            return joined_table(tables, stem.schema_)
        return read_table(checked(twin, X), like=stem.schema_)

    # What classifiers and regressors fill in.

    def _read_target(
        self, y: Any, n_rows: int, weight: HostArray | None, comm: Comm
    ) -> tuple[HostArray, HostArray | None, dict[str, Any]]:
        """The target as numbers, the weights of the rows, and what is learned of them."""
        raise NotImplementedError

    def _validation_target(
        self, y: Any, n_rows: int, learned: dict[str, Any], comm: Comm = ALONE
    ) -> HostArray:
        """The target of other rows in the same numbers."""
        raise NotImplementedError

    def _named(
        self, y: HostArray, weight: HostArray, learned: dict[str, Any], comm: Comm = ALONE
    ) -> Named:
        """The loss, where it has a name."""
        raise NotImplementedError

    def _n_outputs(self, learned: dict[str, Any]) -> int:
        """How many trees a round has."""
        return 1

    # Predictions.

    @property
    def n_iter_(self) -> int:
        """How many rounds the model has."""
        check_is_fitted(self)
        return self._n_steps()

    @property
    def is_categorical_(self) -> HostArray | None:
        """Which columns hold categories, (n_features,); None where none does."""
        check_is_fitted(self)
        found = np.array([kind is not Kind.NUMERIC for kind in self.schema_.kinds])
        return found if found.any() else None

    @property
    def max_features_(self) -> int:
        """How many features are tried at each node."""
        check_is_fitted(self)
        return parameters.n_drawn(self.max_features, self.n_features_in_)

    @property
    def feature_importances_(self) -> HostArray:
        """The share of each feature in what the splits of all trees gained."""
        check_is_fitted(self)
        total = gained([member.tree for member in self._members], self.n_features_in_)
        return total / total.sum() if total.sum() > 0 else total

    def staged_loss(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The mean loss of the first one, two, ... rounds on the rows of X with target y.

        It is what `validation_score_` keeps of other rows. Huber's loss takes the size of small
        residuals from the rows that are given.

        Parameters
        ----------
        X : array-like or data frame
            Rows to predict.
        y : array-like
            Their target.
        sample_weight : array-like, optional
            Their weights.
        """
        check_is_fitted(self)
        table = self._table(X)
        learned = dict(vars(self))
        target = self._validation_target(y, table.n_rows, learned)
        weight = counted(read_weights(sample_weight, table.n_rows), target)
        named = self._loss_of(target, weight, learned)
        for raw in self._staged_raw(X):
            yield named.mean(target, weight, raw)

    def _raw(self, X: Any) -> HostArray:
        """What the trees add up to, (outputs, rows)."""
        table = self._table(X)
        found = sum_leaves(self._backend_for(table), self._stack(), table, self._start)
        return self._go_on(np.ascontiguousarray(found.T), X)

    def _there(
        self, X: Any, label: HostArray | None = None, link: Link | None = None
    ) -> Array | None:
        """The same, (rows, outputs), or what follows from it, where X is; None on the host.

        The label of the largest, or what a link makes of it.
        """
        if not is_foreign(X) or getattr(self, "init_", None) is not None:
            return None
        table = self._table(X)
        there = self._backend_for(table), self._stack, table, self._start
        return answer_there(*there, label=label, link=link)

    def _staged_raw(self, X: Any) -> Iterator[HostArray]:
        """The same of the first one, two, ... rounds."""
        table = self._table(X)
        raw = self._go_on(np.tile(self._start[:, None], (1, table.n_rows)), X)
        backend = self._backend_for(table)
        n = self._trees_a_round()
        for first in range(0, len(self._members), n):
            trees = [member.tree for member in self._members[first : first + n]]
            add_values(raw, trees, lambda tree: backend.apply(tree, table))
            yield raw.copy()

    def _columns(self) -> list[int]:
        """The first output that each tree adds to."""
        n = self._trees_a_round()
        return [at % n for at in range(len(self._members))]

    def _stack(self) -> Stack:
        columns = self._columns()
        return self._members.stack(lambda tree: tree.value, columns)

    def _refuse_init(self, what: str) -> None:
        init = getattr(self, "init_", None)
        if init is not None:
            raise ValueError(
                f"{what} covers trees alone, but this model starts from another estimator, "
                f"init={type(init).__name__}(...); use init=None, or pickle to keep it"
            )

    def _added_up(self) -> tuple[Stack, HostArray]:
        self._refuse_init("an explanation")
        return self._stack(), self._start

    def _plan(self) -> Plan:
        check_is_fitted(self)
        self._refuse_init("an export")
        trees = tuple(member.tree for member in self._members)
        return Plan(
            type(self).__name__,
            self.schema_,
            self.missing_,
            trees,
            tuple(tree.value for tree in trees),
            tuple(self._columns()),
            self._start,
            link=self._link().name,
            classes=getattr(self, "classes_", None),
        )

    def _link(self) -> Link:
        """From what the trees add up to, to an answer."""
        raise NotImplementedError

    def _has_outputs(self) -> bool:
        return len(self._start) > 1

    def _trees_a_round(self) -> int:
        return len(self._start) // self._members[0].tree.value.shape[1]

    # Steps of a fit.

    def _new_stem(self) -> TreeEstimator:
        return DecisionTreeRegressor(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_impurity_decrease=self.min_impurity_decrease,
            max_features=self.max_features,
            missing=self.missing,
            unknown_category=self.unknown_category,
            min_samples_category=self.min_samples_category,
            categorical_features=self.categorical_features,
            max_bins=self.max_bins,
            histogram_budget=self.histogram_budget,
            random_state=0,
            device=self.device,
            backend=self.backend,
            n_jobs=self.n_jobs,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.positive("learning_rate", self.learning_rate)
        parameters.whole("max_depth", self.max_depth, 1, or_none=True)
        parameters.whole("max_leaf_nodes", self.max_leaf_nodes, 2, or_none=True)
        parameters.count_or_share("min_samples_split", self.min_samples_split, 2, 2)
        parameters.whole("min_samples_leaf", self.min_samples_leaf, 1)
        parameters.rare_categories(self.min_samples_category)
        parameters.n_drawn(self.max_features, 1)
        parameters.real("min_child_weight", self.min_child_weight, 0.0)
        parameters.real("min_split_gain", self.min_split_gain, 0.0)
        parameters.real("min_impurity_decrease", self.min_impurity_decrease, 0.0)
        parameters.real("l2_regularization", self.l2_regularization, 0.0)
        parameters.share("subsample", self.subsample)
        parameters.share("colsample_bytree", self.colsample_bytree)
        self._check_stopping()
        parameters.one_of("multi_strategy", self.multi_strategy, dict.fromkeys(STRATEGIES))
        parameters.one_of("missing", self.missing, dict.fromkeys(("direction", "category")))
        unknown = parameters.WAYS["unknown_category"]
        parameters.one_of("unknown_category", self.unknown_category, dict.fromkeys(unknown))
        if not callable(self.loss):
            refuse_forgotten(self.loss)
            parameters.one_of("loss", self.loss, self.LOSSES)

    def _own_loss(self, learned: dict[str, Any]) -> OwnLoss | None:
        if not callable(self.loss):
            return None
        return OwnLoss(self.loss, self._n_outputs(learned), float(self.l2_regularization))

    def _loss_of(
        self, y: HostArray, weight: HostArray, learned: dict[str, Any], comm: Comm = ALONE
    ) -> Named:
        refuse_forgotten(self.loss)
        own = self._own_loss(learned)
        return self._named(y, weight, learned, comm) if own is None else own.named()

    def _check_warm(self, learned: dict[str, Any]) -> None:
        if not (self.warm_start and hasattr(self, "_members")):
            return
        for name, value in learned.items():
            if not np.array_equal(value, getattr(self, name)):
                raise ValueError(
                    "warm_start=True cannot add rounds to those of other classes; set "
                    "warm_start=False to begin anew"
                )

    def _steps(self, run: Run) -> Iterator[tuple[Member, float | None]]:
        assert isinstance(run, BoostRun)
        assert run.named is not None
        dataset, named, y = run.fit.dataset, run.named, run.target
        backend = run.fit.backend
        order = None
        if run.stops or self.subsample < 1.0:
            # Rows are drawn by what they hold, so that the order they come in changes nothing.
            weight = counted(run.weight, y)
            order = order_of(run.fit, weight > 0, y, run.weight)
        is_held_out = self._held_out(run, order)
        inside = None if is_held_out is None else ~is_held_out
        raw, run.start = self._first_sums(run, inside)
        run.learned["init_"] = self._fitted_init(run, inside)
        raw = self._go_on(raw, run.given[0], run.learned)
        run.learned["_start"] = run.start
        rounds = (VectorRounds if run.has_vectors else Rounds)(
            backend,
            dataset.data,
            dataset.bins,
            y,
            run.weight,
            raw,
            self._objective(run),
            recipe_of(self, run, inside),
            named.refine,
            inside,
            None if order is None else ranks(order, len(y)),
            dataset.comm,
        )
        watch, look = self._watch(run, rounds, is_held_out, order)
        run.watch = watch
        run.ledger = ledger = self._ledger(run, rounds)
        number = len(run.kept) // run.trees_a_step
        # All rounds that were made may tell of an end, and who asks for more has one more.
        least = number if self.keep_best else number + 1
        while number < self.n_estimators and (number < least or not has_ended(watch)):
            # Who watches looks at the predictions after each round.
            most = self.n_estimators - number if watch is None and ledger is None else 1
            if ledger is not None:
                ledger.before(number)
            for trees in rounds.some(number, most):
                run.fit.holds(rounds.peak_bytes)
                error = look(trees)
                if ledger is not None:
                    ledger.after()
                number += 1
                for tree in trees:
                    yield Member(tree), error

    def _objective(self, run: BoostRun) -> Loss | Objective:
        """Who tells gradients: the backend by the name of the loss, or a function."""
        assert run.named is not None
        if run.own is not None:
            return run.own.objective(run.target)
        return run.named.loss

    def _first_sums(self, run: BoostRun, inside: HostArray | None) -> tuple[HostArray, HostArray]:
        """The predictions to begin with, (outputs, rows), and what they begin with in all."""
        assert run.named is not None
        dataset = run.fit.dataset
        if run.kept:
            found = [
                sum_leaves(run.fit.backend, self._stack(), part, self._start)
                for part in dataset.parts()
            ]
            return np.ascontiguousarray(np.concatenate(found).T), self._start
        weight = counted(run.weight, run.target)
        y = run.target
        if inside is not None:
            y, weight = y[inside], weight[inside]
        start = np.zeros(self._n_outputs(run.learned))
        if self.init is None:
            start = run.named.start(y[weight > 0], weight[weight > 0])
        return np.tile(start[:, None], (1, dataset.n_rows)), start

    def _fitted_init(self, run: BoostRun, inside: HostArray | None) -> Any:
        """The model that a run begins with; None for a constant."""
        if run.kept:
            return getattr(self, "init_", None)
        if not is_model(self.init):
            return None
        weight = None if run.weight is None else np.ldexp(run.weight, run.weight_exponent)
        return fitted_init(self.init, *run.given, weight, inside)

    # Files.

    def _file_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self._refuse_init("a file")  # before the parameters are written, which hold it
        return super()._file_parts()

    def _extras(self) -> dict[str, HostArray]:
        self._refuse_init("a file")
        return {"start": self._start}

    def _restore_extras(self, arrays: dict[str, HostArray]) -> None:
        start = arrays.pop("start", None)
        if start is None or arrays or start.dtype != np.float64:
            raise ModelFileError("the file does not say where the model starts")
        if (
            start.shape != (self._n_outputs(dict(vars(self))),)
            or not (np.abs(start) <= LARGEST).all()
        ):
            raise ModelFileError("the start of the model does not fit its outputs")
        if self.multi_strategy != "one_tree" and len(self._members) % len(start):
            raise ModelFileError("a round of the model is not complete")
        width = len(start) if len(start) > 1 and self.multi_strategy == "one_tree" else 1
        if any(read_outputs(member.tree) != width for member in self._members):
            raise ModelFileError("a node of a boosted tree has another number of values")
        self._start = start
