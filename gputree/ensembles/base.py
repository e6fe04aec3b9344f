"""What all ensembles share: a table that is read and cut once, many trees, storing."""

import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from gputree.arrays import is_foreign
from gputree.data.inputs import read_table
from gputree.data.schema import Schema
from gputree.data.table import Table
from gputree.dtypes import Array, HostArray
from gputree.ensembles import ensemble_file
from gputree.ensembles.callbacks import CallbackSupportMixin, Listeners, TreeDone, with_callbacks
from gputree.ensembles.members import Estimators, Member, Members, remembering
from gputree.errors import ClusterError, ModelFileError
from gputree.estimators import model_file, parameters
from gputree.estimators.base import TreeEstimator, checked, like
from gputree.estimators.explainable import Explainable
from gputree.estimators.exportable import Exportable
from gputree.estimators.growing import Growing
from gputree.estimators.partitioned import Partitioned
from gputree.estimators.reported import Reported
from gputree.fit.dataset import Dataset
from gputree.fit.fit import Fit
from gputree.prediction import leaves_of, leaves_there
from gputree.progress import Progress
from gputree.tree.paths import path_matrix
from gputree.tree.stack import Stack
from gputree.tree.store import ArrayOrParts


@dataclass
class Run:
    """One fit: how it starts, and what has come of it so far."""

    fit: Fit
    stem: TreeEstimator  # an estimator without a tree; members are copies of it with one
    seed: int
    kept: list[Member]  # of an earlier fit, that a warm start keeps
    members: list[Member] = field(default_factory=list)
    learned: dict[str, Any] = field(default_factory=dict)  # attributes of the ensemble
    trees_a_step: int = 1  # that make one of n_estimators
    shown: dict[str, Any] = field(default_factory=dict)  # to scikit-learn's callbacks

    @property
    def growing(self) -> Growing:
        """The fit, where trees are those of an estimator."""
        assert isinstance(self.fit, Growing)
        return self.fit

    @property
    def everyone(self) -> list[Member]:
        return self.kept + self.members


class Ensemble(CallbackSupportMixin, Partitioned, Explainable, Exportable, Reported):
    """Many trees on one table."""

    # Parameters that cannot change a model, so they are no part of it.
    WHERE: ClassVar[tuple[str, ...]] = (*TreeEstimator.WHERE, "verbose", "warm_start")
    # What the trees know of columns and target, and their ensemble, too.
    TAKEN: ClassVar[tuple[str, ...]] = (
        *("schema_", "n_features_in_", "feature_names_in_", "missing_", "backend_", "device_"),
        *("classes_", "n_classes_", "n_outputs_"),
    )

    STEPS: ClassVar[str] = "len(estimators_)"  # what n_estimators is a number of

    HAS_COLUMNS: ClassVar[bool] = False  # whether a tree may be grown on some of the columns

    warm_start: bool = False
    schema_: Schema
    n_features_in_: int
    _stem: TreeEstimator
    _members: Members
    _seed: int

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, callbacks: Any = None
    ) -> Self:
        """Grow the trees on the rows of X with target y.

        A fit that is interrupted by Ctrl-C keeps the finished trees and warns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or Dataset
            NaN and None are missing values; infinities are values.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target; not needed if a Dataset has it.
        sample_weight : array-like of shape (n_rows,), optional
            A row of weight 2 counts as two rows; one of weight 0 is left out.
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
        stem = self._new_stem()
        stem._n_trees = self.n_estimators
        growing = Growing(stem, X, y, sample_weight, self)
        run = self._begin(growing, stem, growing.learned)
        run.shown = shown(X, y, sample_weight)
        return self._run(run, X, callbacks, start)

    def apply(self, X: Any) -> Array:
        """The number of the leaf that each row of X reaches in each tree, (n_rows, n_trees)."""
        return like(X, self._leaves(X, where_it_is=True))

    def decision_path(self, X: Any) -> tuple[csr_matrix, HostArray]:
        """Which nodes each row passes in all trees, and where the nodes of each tree begin.

        Returns
        -------
        indicator : sparse matrix of shape (n_rows, n_nodes of all trees)
            Ones where a row passes a node.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            Columns from `n_nodes_ptr[i]` up to `n_nodes_ptr[i + 1]` are the nodes of tree i.
        """
        leaf = self._leaves(X)
        paths = [
            path_matrix(member.tree, own) for member, own in zip(self._members, leaf.T, strict=True)
        ]
        begin = np.cumsum([0, *(member.tree.n_nodes for member in self._members)])
        return hstack(paths).tocsr(), begin

    @property
    def estimators_(self) -> Estimators:
        """The trees, each as an estimator."""
        if not hasattr(self, "_members"):  # scikit-learn asks before a fit, too
            raise AttributeError("estimators_ is there after fit")
        # A model from a file has forgotten its seed.
        seed = getattr(self, "_seed", None)
        return Estimators(self._stem, self._members, seed, n_outputs=self._trees_a_round())

    @property
    def estimator_(self) -> TreeEstimator:
        """The estimator of each tree, not fitted."""
        check_is_fitted(self)
        return clone(self._stem)

    def __len__(self) -> int:
        """The number of trees."""
        return len(self.estimators_)

    def __getitem__(self, at: Any) -> Any:
        """A tree as an estimator of its own, by its number."""
        return self.estimators_[at]

    def __iter__(self) -> Iterator[TreeEstimator]:
        """The trees, each as an estimator."""
        return iter(self.estimators_)

    def _described(self) -> dict[str, Any]:
        return {**model_file.describe(self), "n_trees": len(self._members)}

    def _stored_arrays(self) -> dict[str, ArrayOrParts]:
        return ensemble_file.arrays_of(self)

    def _restore(self, header: dict[str, Any], arrays: dict[str, HostArray]) -> None:
        ensemble_file.restore(self, header, arrays)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # What the ensembles fill in.

    n_estimators: int
    random_state: Any
    verbose: int

    def _check_parameters(self) -> None:
        """Refuse parameters of the ensemble that cannot be right."""
        parameters.whole("n_estimators", self.n_estimators, 1)
        parameters.truth("warm_start", self.warm_start)
        if not isinstance(self.verbose, bool):
            parameters.whole("verbose", self.verbose, 0)

    def _new_stem(self) -> TreeEstimator:
        """The estimator that every tree is one of."""
        raise NotImplementedError

    def _steps(self, run: Run) -> Iterator[tuple[Member, float | None]]:
        """Tree after tree, each with an error to tell callbacks of."""
        raise NotImplementedError

    def _ended(self, run: Run) -> None:
        """Put together what is learned when all trees are there."""

    def _stack(self) -> Stack:
        """The trees one after another, with what their nodes add to predictions."""
        raise NotImplementedError

    def _extras(self) -> dict[str, HostArray]:
        """Arrays of the model besides those of the trees."""
        return {}

    def _restore_extras(self, arrays: dict[str, HostArray]) -> None:
        """Take them from a file."""
        if arrays:
            raise ModelFileError("the file holds unknown arrays")

    def _restore_target(self, header: dict[str, Any]) -> None:
        """Take from a file what the ensemble knows of its target and the trees do not."""

    def _trees_a_round(self) -> int:
        """How many trees make one of n_estimators."""
        return 1

    def _n_steps(self) -> int:
        """How many of n_estimators there are."""
        return len(self._members) // self._trees_a_round()

    # Steps of a fit.

    def _run(self, run: Run, X: Any, callbacks: Any, start: float) -> Self:
        listeners = Listeners(self, callbacks, self._n_to_come(run), run.shown)
        self._fill(run, listeners, lambda: self._so_far(run, X, start))
        run.fit.backend.release()
        # Nothing is written before everything has worked: a failed fit leaves the old model whole.
        self._keep(run, X, start)
        listeners.end()
        return self

    def _n_to_come(self, run: Run) -> int:
        return self.n_estimators * run.trees_a_step - len(run.kept)

    def _so_far(self, run: Run, X: Any, start: float) -> dict[str, Any] | None:
        """What the model would have learned if its fit ended here; None within a step."""
        if len(run.members) % run.trees_a_step:
            return None
        twin = copy.copy(self)
        done = replace(run, members=list(run.members), learned=dict(run.learned))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few trees, of which there will be more
            twin._ended(done)
        twin._keep(done, X, start)
        return dict(vars(twin))

    def _check_number(self) -> None:
        """Tell of a warm start that has nothing to do, before its rows are looked at."""
        if not (self.warm_start and hasattr(self, "_members")):
            return
        n = self._n_steps()
        if self.n_estimators < n:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger than or equal to "
                f"{self.STEPS}={n} when warm_start==True; set warm_start=False to begin anew"
            )
        if self.n_estimators == n:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=4,
            )

    def _begin(self, fit: Fit, stem: TreeEstimator, learned: dict[str, Any]) -> Run:
        """A new run, or one that goes on from the trees that there are.

        `learned` are the attributes that tell a tree what its answers mean.
        """
        for name, value in learned.items():
            setattr(stem, name, value)
        stem.missing_ = stem.missing
        stem.max_features_ = parameters.n_drawn(stem.max_features, fit.dataset.n_features)
        if not (self.warm_start and hasattr(self, "_members")):
            return Run(fit, stem, parameters.seed(self.random_state), [])
        new, old = fit.dataset.schema, self.schema_
        is_same = (new.names, new.kinds, new.categories) == (old.names, old.kinds, old.categories)
        for name, value in learned.items():
            is_same = is_same and np.array_equal(value, getattr(self, name, value))
        if not is_same:
            raise ValueError(
                "warm_start=True adds trees to those of other columns, classes or outputs; set "
                "warm_start=False to begin anew"
            )
        return Run(fit, stem, self._seed, remembering(self._members, self._stem, stem))

    def _progress(self, run: Run, n: int) -> Progress:
        """What tells of the trees that are done, of so many in all."""
        is_shown = bool(self.verbose)
        note = run.fit.compiling_note
        return Progress(
            type(self).__name__, n, is_shown=is_shown, n_before=len(run.kept), note=note
        )

    def _fill(self, run: Run, listeners: Listeners, so_far: Callable[[], Any]) -> None:
        """Grow the trees of a run, telling of each."""
        n, n_kept = self.n_estimators * run.trees_a_step, len(run.kept)
        progress = self._progress(run, n)
        try:
            for member, error in self._steps(run):
                run.members.append(member)
                progress.step()
                number = n_kept + len(run.members) - 1
                times = progress.seconds, progress.seconds_left
                if listeners.tell(TreeDone(number, n, *times, member.tree, error), so_far):
                    break
        except KeyboardInterrupt:
            n_done = len(run.everyone) // run.trees_a_step * run.trees_a_step
            if not n_done:
                raise
            warnings.warn(
                f"the fit was interrupted; the model has the {n_done} of {n} trees that were done",
                stacklevel=3,
            )
        except ClusterError as error:
            if run.members:
                error.so_far = so_far
            raise
        finally:
            progress.end()
        self._ended(run)

    def _keep(self, run: Run, X: Any, start: float) -> None:
        """Write what a run has learned."""
        stem, dataset, backend = run.stem, run.fit.dataset, run.fit.backend
        stem._keep_columns(X, dataset)
        stem.backend_, stem.device_ = backend.name, backend.device
        self._take_from(stem)
        self._stem, self._members, self._seed = stem, Members(run.everyone), run.seed
        for name, value in run.learned.items():
            setattr(self, name, value)
        n_nodes = sum(member.tree.n_nodes for member in run.everyone)
        self.fit_report_ = run.fit.report(X, start, n_nodes, len(run.everyone))

    def _take_from(self, stem: TreeEstimator) -> None:
        """Set what the trees know of columns and target."""
        for name in self.TAKEN:
            self._set_or_delete(name, stem)

    def _set_or_delete(self, name: str, stem: TreeEstimator) -> None:
        if hasattr(stem, name):
            setattr(self, name, getattr(stem, name))
        elif name in vars(self):
            delattr(self, name)

    # Steps of a prediction.

    def _table(self, X: Any) -> Table:
        check_is_fitted(self)
        return read_table(checked(self, X), like=self.schema_)

    def _at(self) -> TreeEstimator:
        """The stem with the ensemble's say in where to compute."""
        stem = copy.copy(self._stem)
        for name in set(TreeEstimator.WHERE) & set(self.get_params(deep=False)):
            setattr(stem, name, getattr(self, name))
        return stem

    def _leaves(self, X: Any, *, where_it_is: bool = False) -> Array:
        """The leaf of each row in each tree, on the host, or where X is if that can be."""
        table = self._table(X)
        if where_it_is and is_foreign(X):
            there = leaves_there(self._backend_for(table), self._stack, table)
            if there is not None:
                return there
        found = leaves_of(self._backend_for(table), self._stack(), table, self.missing_)
        return found.astype(np.int64)

    def _backend_for(self, table: Table) -> Any:
        return self._at()._backend_for(table, len(self._members))

    def _checked(self, X: Any) -> Any:
        return checked(self, X)

    def _like(self, X: Any, result: HostArray) -> Array:
        return like(X, result)


def shown(X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """The rows of a fit as scikit-learn's callbacks see them; a Dataset cannot be predicted."""
    if isinstance(X, Dataset):
        return {}
    return {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
