"""When rounds end: what is watched, on which rows, and how many rounds a model keeps."""

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing

from gputree.backends.contract import Other
from gputree.backends.watched import HostOther
from gputree.boosting.ledger import Ledger, LossTable
from gputree.boosting.rounds import Rounds
from gputree.boosting.run import BoostRun, counted, held_out_rows, ranks
from gputree.boosting.watch import Measure, RunningScores, Watch
from gputree.comm import total
from gputree.dtypes import HostArray
from gputree.ensembles.base import Ensemble, Run
from gputree.ensembles.draws import ContentOrder
from gputree.estimators import parameters
from gputree.fit.dataset import Dataset
from gputree.kernels.losses import Loss
from gputree.progress import Progress
from gputree.tree.tree import Tree

MANY_ROWS = 10_000  # above which early_stopping="auto" stops, as in scikit-learn


class Stopping(Ensemble):
    """Boosting that may stop when rows that no tree has seen are not predicted better any more."""

    STEPS: ClassVar[str] = "n_iter_"

    early_stopping: bool | str
    keep_best: bool
    scoring: Any
    subsample: float
    validation_fraction: float | None
    n_iter_no_change: int
    tol: float
    _start: HostArray
    _watched: list[float] | None  # losses of other rows
    _scores: list[float] | None  # or what `scoring` says of them
    oob_score: bool
    _out_of_bag: list[list[float]] | None  # losses of rows that rounds left out; what they fell by

    @property
    def validation_score_(self) -> HostArray:
        """The mean loss on other rows, or what `scoring` says of them, a round; (n_rounds,)."""
        for kept in ("_watched", "_scores"):
            if getattr(self, kept, None) is not None:
                return np.array(getattr(self, kept))
        raise AttributeError(
            "validation_score_ is there after a fit with early_stopping=True or X_val (a saved "
            "model does not keep it)"
        )

    @property
    def oob_scores_(self) -> HostArray:
        """The mean loss of the rows that each round has left out, after it; (n_rounds,)."""
        return self._left_out(0)

    @property
    def oob_improvement_(self) -> HostArray:
        """What that loss has fallen by since the round before; (n_rounds,)."""
        return self._left_out(1)

    @property
    def oob_score_(self) -> float:
        """The last of `oob_scores_`."""
        return float(self.oob_scores_[-1])

    def _begun(self, init: Any, X: Any, learned: dict[str, Any]) -> HostArray:
        """What a model that boosting begins with adds to predictions, (outputs, rows)."""
        raise NotImplementedError

    def _go_on(self, raw: HostArray, X: Any, learned: dict[str, Any] | None = None) -> HostArray:
        """Raw scores of trees, with what the model begins with where that is no constant."""
        known = dict(vars(self)) if learned is None else learned
        init = known.get("init_")
        return raw if init is None else raw + self._begun(init, X, known)

    def _left_out(self, which: int) -> HostArray:
        if getattr(self, "_out_of_bag", None) is None:
            raise AttributeError(
                "losses out of bag are there after a fit with subsample below 1 and oob_score=True "
                "(a saved model does not keep them)"
            )
        assert self._out_of_bag is not None
        return np.array(self._out_of_bag[which])

    def _ledger(self, run: BoostRun, rounds: Rounds) -> Ledger | None:
        """Who notes the losses of rounds; None where nobody asks."""
        assert run.named is not None
        if not self.oob_score and run.table is None:
            return None
        n_kept = len(run.kept) // run.trees_a_step
        kept = getattr(self, "_out_of_bag", None) if n_kept else None
        ledger = Ledger(rounds, run.named.mean, counted(run.weight, run.target), n_kept)
        if kept is not None:
            ledger.go_on_from(*kept)
        if run.table is not None:
            run.table.ledger, run.table.has_out_of_bag = ledger, self.subsample < 1.0
        return ledger

    def _progress(self, run: Run, n: int) -> Progress:
        assert isinstance(run, BoostRun)
        if not self.verbose or run.own is not None:  # whose loss may not be known
            return super()._progress(run, n)
        n_outputs = run.trees_a_step
        run.table = LossTable(n, len(run.kept), n_outputs, all_rounds=self.verbose > 1)
        return run.table

    def _check_stopping(self) -> None:
        parameters.truth_or("early_stopping", self.early_stopping, "auto")
        parameters.truth("keep_best", self.keep_best)
        if self.validation_fraction is not None:
            parameters.open_share("validation_fraction", self.validation_fraction)
        parameters.whole("n_iter_no_change", self.n_iter_no_change, 1)
        parameters.real("tol", self.tol, 0.0)
        parameters.truth("oob_score", self.oob_score)
        if self.oob_score and self.subsample == 1.0:
            raise ValueError(
                "oob_score=True needs rows that rounds leave out, but there are none; set "
                "subsample below 1"
            )
        if not self._watches_loss():
            check_scoring(self, scoring=self.scoring)

    def _watches_loss(self) -> bool:
        return isinstance(self.scoring, str) and self.scoring == "loss"

    def _patience(self, n_rows: int, has_other_rows: bool) -> int | None:
        """How many rounds without progress end a fit; None where nothing does."""
        stops = self.early_stopping
        if isinstance(stops, str):
            stops = has_other_rows or n_rows > MANY_ROWS
        return self.n_iter_no_change if stops else None

    def _held_out(self, run: BoostRun, order: ContentOrder | None) -> HostArray | None:
        """Rows that no tree sees, to watch the loss on."""
        if not run.stops or run.validation is not None or self.validation_fraction is None:
            return None
        assert order is not None
        n_rows = order.n
        n_out = max(1, round(float(self.validation_fraction) * n_rows))
        if n_out >= n_rows:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} leaves no rows of {n_rows} to "
                "train on; use less, or early_stopping=False"
            )
        is_out = np.zeros(len(run.target), bool)
        group = self._groups(run)[order.row]
        is_out[order.row] = order.drawn_by_group(run.seed, group, n_out)
        if not total(order.comm, np.count_nonzero(is_out)):
            raise ValueError(
                "early_stopping holds out rows of classes that have at least two, but there is no "
                "such class; use early_stopping=False, or give X_val and y_val"
            )
        return is_out

    def _groups(self, run: BoostRun) -> HostArray:
        """The number of the group that each row is held out with, in which all rows are alike."""
        return np.zeros(len(run.target), np.int64)

    def _watch(
        self,
        run: BoostRun,
        rounds: Rounds,
        is_held_out: HostArray | None,
        order: ContentOrder | None,
    ) -> tuple[Watch | None, Callable[[list[Tree]], float | None]]:
        """Who looks at the rows that are watched, and what is noted of the trees of a round.

        `order` is one of the rows by what they hold.
        """
        if run.validation is not None:
            return self._watch_other(run)
        if not run.stops:
            return None, lambda trees: None
        assert order is not None
        is_watched = is_held_out
        if is_watched is None:  # those that trees see
            is_watched = np.zeros(len(run.target), bool)
            is_watched[order.row] = True
        row = np.flatnonzero(is_watched)
        by_content = np.argsort(ranks(order, len(run.target))[row])
        y, weight = run.target[row], counted(run.weight, run.target)[row]
        watch = Watch(self._measure(run, row, by_content), y, weight, run.patience, float(self.tol))
        tables = held_out_rows(run.fit.dataset, is_watched) if run.kept else []
        sums = RunningScores(run.fit.backend, tables, self._first_watched(run, row))
        for trees in run.kept_rounds():  # what is watched must not depend on how often one fits
            watch.after(sums.add(trees))
        loss = self._watched_loss(run)
        if loss is None:
            return watch, lambda trees: watch.after(rounds.predictions()[:, row])
        watched = rounds.watched(row, y, weight)
        return watch, lambda trees: watch.note(watched.mean_loss(loss))

    def _watch_other(self, run: BoostRun) -> tuple[Watch, Callable[[list[Tree]], float]]:
        """The same of rows that are given beside those of the fit."""
        assert run.validation is not None
        table, y, weight = run.validation
        row = np.arange(len(y))
        watch = Watch(self._measure(run, row, row), y, weight, run.patience, float(self.tol))
        first, backend = self._first_watched(run, row), run.fit.backend
        if run.has_vectors:  # which are added on the host
            other: Other = HostOther(lambda *at: backend.apply(*at), table, first, y, weight)
        else:
            other = backend.other_rows(table, first, y, weight)
        loss = self._watched_loss(run)

        def look(trees: list[Tree]) -> float:
            other.add(trees)
            if loss is None:
                return watch.after(other.predictions())
            return watch.note(other.mean_loss(loss))

        for trees in run.kept_rounds():
            look(trees)
        return watch, look

    def _first_watched(self, run: BoostRun, row: HostArray) -> HostArray:
        """What the predictions of rows that are watched begin with, (outputs, rows)."""
        first = np.tile(run.start[:, None], (1, len(row)))
        if run.learned["init_"] is not None:
            first = self._go_on(first, _safe_indexing(run.X, row), run.learned)
        return first

    def _watched_loss(self, run: BoostRun) -> Loss | None:
        """The loss that is watched, where backends know it; None for functions and scores."""
        assert run.named is not None
        is_known = self._watches_loss() and run.own is None and not run.has_vectors
        return run.named.loss if is_known else None

    def _measure(self, run: BoostRun, row: HostArray, by_content: HostArray) -> Measure:
        """What is to become smaller."""
        assert run.named is not None
        if self._watches_loss():
            return run.named.mean
        return Scored(self, run, row, by_content)

    def _ended(self, run: Run) -> None:
        """Whole rounds only, and with early stopping up to the best one, if no more are wanted."""
        assert isinstance(run, BoostRun)
        n_kept, n = len(run.kept), run.trees_a_step
        n_rounds = len(run.members) // n
        if run.stops and self.keep_best and run.watch is not None and run.watch.errors:
            n_best = int(np.argmin(run.watch.errors)) + 1 - n_kept // n
            n_rounds = min(n_rounds, max(0, n_best))
        del run.members[n_rounds * n :]
        if not n_kept and not run.members:
            raise ValueError("no round was finished")
        if run.watch is not None:
            errors = run.watch.errors
            is_loss = self._watches_loss()
            run.learned["_watched"] = errors if is_loss else None
            run.learned["_scores"] = None if is_loss else [-error for error in errors]
        run.learned["_out_of_bag"] = None
        if self.oob_score and run.ledger is not None:
            n_rounds += n_kept // n
            noted = run.ledger.out_of_bag, run.ledger.improvement
            run.learned["_out_of_bag"] = [losses[:n_rounds] for losses in noted]


class Scored:
    """What a scorer of scikit-learn says of a model while it grows, with its sign turned."""

    def __init__(
        self, model: Stopping, run: BoostRun, row: HostArray, by_content: HostArray
    ) -> None:
        """`row` are the rows that are watched, and `by_content` is an order of them.

        Sums of floats depend on their order, which that of the table must not set.
        """
        self._scorer = check_scoring(model, scoring=model.scoring)
        self._order, self._is_weighted = by_content, run.is_weighted
        self._model = copy.copy(model)
        # What is known is on the host.
        self._model.__dict__["_there"] = lambda X, label=None, link=None: None
        for name, value in run.learned.items():
            setattr(self._model, name, value)
        # A scorer with a name does nothing with X but hand it on to the model.
        self._X: Any = np.empty((len(row), 0))
        if callable(model.scoring):
            if isinstance(run.X, Dataset):
                raise ValueError(
                    "scoring is a function of a model and X, but the rows of a Dataset are not "
                    "kept; name a scorer, or give X_val and y_val"
                )
            self._X = _safe_indexing(run.X, row[by_content])

    def __call__(self, y: HostArray, weight: HostArray, raw: HostArray) -> float:
        """Less is better."""
        sums = raw[:, self._order]
        self._model.__dict__["_raw"] = lambda X: sums
        y, weight = y[self._order], weight[self._order]
        classes = getattr(self._model, "classes_", None)
        if classes is not None:
            y = classes[y.astype(np.int64)]
        weights = {"sample_weight": weight} if self._is_weighted else {}
        score = float(self._scorer(self._model, self._X, y, **weights))
        if not np.isfinite(score):
            raise ValueError(f"scoring={self._model.scoring!r:.60} gave {score}, not a number")
        return -score


def check_other_rows(X_val: Any, y_val: Any, sample_weight_val: Any) -> None:
    """Refuse a part of what early stopping needs to know of rows that are given to it."""
    if X_val is not None and y_val is None:
        raise ValueError("X_val is provided, but y_val was not provided; give both, or none")
    if y_val is not None and X_val is None:
        raise ValueError("y_val is provided, but X_val was not provided; give both, or none")
    if X_val is None and sample_weight_val is not None:
        raise ValueError("sample_weight_val weighs the rows of X_val; give X_val and y_val, too")
