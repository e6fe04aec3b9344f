"""Ways to compute a case that must agree, each with what it is compared by.

A way is a function of a case and of what the plain way by NumPy gave. It says what differs, or
nothing. An error counts as a result: whoever refuses a case must do so everywhere, in the same
words, by a ValueError that teaches.
"""

import pickle
import tempfile
import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import gputree
from gputree import Dataset, ModelFileError
from tests import textbook
from tests.fuzz.cases import Case

SINGLE = (
    *("DecisionTreeClassifier", "DecisionTreeRegressor", "CARTClassifier", "CARTRegressor"),
    *("ObliqueTreeClassifier", "ObliqueTreeRegressor"),
)


@dataclass
class Outcome:
    """A fitted model, or why there is none."""

    model: object = None
    error: Exception | None = None

    @property
    def mark(self):
        """What two ways must have in common: the bytes of the model, or the refusal."""
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return self.model.to_bytes()

    @property
    def is_clear(self):
        """Whether there is a model, or a refusal that a user can understand."""
        return self.error is None or type(self.error) is ValueError


def fitted(model, *given):
    """The outcome of a fit."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Outcome(model.fit(*given))
        except Exception as error:
            return Outcome(error=error)


def plain(case, **where):
    """The case by NumPy, or wherever it is asked for."""
    where = {"backend": "numpy", "n_jobs": 1} | where
    return fitted(case.model(**where), case.X(), case.target(), *_weights(case))


def answers(model, X):
    """All that a model predicts, side by side."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [np.asarray(model.predict(X)).reshape(len(X), -1).astype(np.float64)]
        if hasattr(model, "predict_proba"):
            found.append(np.asarray(model.predict_proba(X)).reshape(len(X), -1))
    return np.concatenate(found, axis=1)


def _weights(case):
    return () if case.weight is None else (case.weights(),)


def _same(one, other):
    """What differs between two outcomes, by their bytes."""
    if not other.is_clear:
        return f"raised {other.mark}"
    if one.mark == other.mark:
        return ""
    if one.error is not None or other.error is not None:
        return f"{_short(one)} here, {_short(other)} there"
    return "other bytes"


def _short(outcome):
    return "a model" if outcome.error is None else outcome.mark


def _alike(one, other, X, rtol=0.0):
    """What differs between two outcomes, by what they predict."""
    if not other.is_clear:
        return f"raised {other.mark}"
    if (one.error is None) != (other.error is None):
        return f"{_short(one)} here, {_short(other)} there"
    if one.error is not None:
        return ""
    here, there = answers(one.model, X), answers(other.model, X)
    if rtol > 0.0 and hasattr(one.model, "predict_proba"):
        # Where two classes have the same share but for rounding, either may be the label.
        least, most = np.sort(there[:, 1:], axis=1)[:, -2:].T if there.shape[1] > 2 else (0.0, 1.0)
        there[:, 0] = np.where(most - least <= rtol, here[:, 0], there[:, 0])
    if np.allclose(here, there, rtol=rtol, atol=rtol, equal_nan=True):
        return ""
    return f"row {int(np.nonzero(~np.isclose(here, there, rtol, rtol, True).all(axis=1))[0][0])}"


def by_numba(case, right):
    return _same(right, plain(case, backend="numba", n_jobs=1))


def by_two_threads(case, right):
    return _same(right, plain(case, backend="numba", n_jobs=2))


def by_any_array_library(case, right):
    return _same(right, plain(case, backend="array_api_strict"))


def by_cuda(case, right):
    if case.n_rows > 13:
        return None  # its simulator is slow
    return _same(right, plain(case, backend="cuda"))


def with_a_small_budget(case, right):
    if "histogram_budget" not in case.model().get_params():
        return None
    found = [plain(case, backend=name, histogram_budget=1) for name in ("numpy", "numba")]
    return _same(right, found[0]) or _same(right, found[1])


def with_rows_reversed(case, right):
    if case.draws_by_place:
        return None
    return _same(right, plain(case.take(range(case.n_rows)[::-1])))


def with_rows_shuffled(case, right):
    if case.draws_by_place:
        return None
    order = np.random.default_rng(case.n_rows).permutation(case.n_rows)
    return _same(right, plain(case.take(order.tolist()), backend="numba", n_jobs=2))


def with_rows_repeated(case, right):
    """Whole weights say how often a row is there, where rows are not counted one by one."""
    counts = {"min_samples_leaf": 1, "min_samples_split": 2}
    counted = any(case.params.get(name, least) != least for name, least in counts.items())
    refused = ("C45", "RuleSet", "AdaBoost", "Bagging")  # their rules count rows
    whole = case.weight is not None and all(w == int(w) for w in case.weight)
    if not whole or counted or case.estimator.startswith(refused) or right.error is not None:
        return None
    if case.is_sampled or case.params.get("pruning") or case.params.get("missing") == "surrogate":
        return None
    if case.estimator.startswith("CART") or _balances(case):
        return None
    if _pools_categories(case):
        return None
    if case.is_classifier and {y for y, w in zip(case.y, case.weight, strict=True) if w} != set(
        case.y
    ):
        return None  # a class would be missing
    often = [row for row, w in enumerate(case.weight) for _ in range(int(w))]
    repeated = case.take(often)
    found = plain(Case(**{**vars(repeated), "weight": None}))
    return _alike(right, found, _rows_known_to(repeated, case), rtol=1e-9)


def without_rows_of_no_weight(case, right):
    """Rows of weight 0 are as if they were not there."""
    if case.weight is None or 0.0 not in case.weight or right.error is not None or case.is_sampled:
        return None
    if _balances(case):
        return None
    kept = [row for row, w in enumerate(case.weight) if w > 0]
    if {case.y[row] for row in kept} != set(case.y) and case.is_classifier:
        return None  # a class would be missing
    less = case.take(kept)
    return _alike(right, plain(less), _rows_known_to(less, case))


def _balances(case):
    """Whether classes are balanced, for which rows are counted, as in scikit-learn."""
    _, of_tree = case.params.get("tree", ("", {}))
    return bool(case.params.get("class_weight") or of_tree.get("class_weight"))


def _pools_categories(case):
    """Whether categories may be one together because few rows have them."""
    least = case.params.get("min_samples_category", "auto")
    if least == "auto":
        return any(len(set(case.columns[place])) > 32 for place in case.categorical)
    return least > 1 and bool(case.categorical)


def _rows_known_to(less, case):
    """Rows without categories that only the larger table has.

    A model knows the categories of its table, also those that only rows of weight 0 have.
    """
    known = [set(less.columns[place]) | {None} for place in case.categorical]
    rows = [
        row
        for row in range(case.n_rows)
        if all(
            case.columns[place][row] in own
            for place, own in zip(case.categorical, known, strict=True)
        )
    ]
    return case.X()[rows]


def from_a_dataset(case, right):
    given = {"categorical_features": case.categorical} if case.categorical else {}
    if "max_bins" in case.params:
        given["max_bins"] = case.params["max_bins"]
    if case.estimator == "RuleSetClassifier":
        return None  # its tree has parameters of its own
    try:
        dataset = Dataset(
            case.X(), case.target(), sample_weight=case.weights(), backend="numpy", **given
        )
    except ValueError as error:
        return "" if right.error is not None else f"the dataset is refused: {error}"
    return _same(right, fitted(case.model(), dataset))


def from_a_data_frame(case, right):
    """The same values with names have the same answers."""
    if case.categorical or right.error is not None:
        return None
    X = case.X()
    names = [f"c{place}" for place in range(X.shape[1])]
    # A square matrix has either shape to polars, unless it is told.
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names, orient="row")):
        found = fitted(case.model(backend="numpy"), frame, case.target(), *_weights(case))
        if found.error is not None:
            return f"raised {found.mark}"
        if not np.array_equal(answers(found.model, frame), answers(right.model, X), equal_nan=True):
            return "other answers"
    return ""


def from_a_file(case, right):
    """A file that is read in small chunks has the bytes of the same file in memory."""
    if case.categorical or case.estimator == "RuleSetClassifier" or _needs_values(case):
        return None
    names = [f"c{place}" for place in range(len(case.columns))]
    frame = pd.DataFrame(case.X().astype(np.float64), columns=names).assign(y=case.target())
    if case.weight is not None:
        frame["w"] = case.weights()
    given = {"target": "y", "weight": "w" if case.weight is not None else None}
    if "max_bins" in case.params:
        given["max_bins"] = case.params["max_bins"]
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet = Path(folder, "table.csv"), Path(folder, "table.parquet")
        frame.to_csv(csv, index=False)
        frame.to_parquet(parquet)
        found = [_file_outcome(case, parquet, given, 10**6)]
        found += [_file_outcome(case, path, given, 200) for path in (csv, parquet)]
        said = [_alike(right, one, case.X()) for one in found]
        said += [_same(found[0], one) for one in found[1:] if right.error is None]
    return next(filter(None, said), "")


def _needs_values(case):
    """Whether a tree is pruned by moving rows, which a file that is read in chunks cannot do."""
    by_default = "error_based" if case.estimator == "C45Classifier" else None
    return case.params.get("pruning", by_default) == "error_based"


def _file_outcome(case, path, given, max_bytes):
    try:
        dataset = Dataset.from_file(path, max_bytes=max_bytes, backend="numpy", **given)
    except Exception as error:
        return Outcome(error=error)
    return fitted(case.model(), dataset)


def after_a_round_trip(case, right):
    """Files, JSON and pickles give the model back."""
    if right.error is not None:
        return None
    X, expected = case.X(), answers(right.model, case.X())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.gputree")
        right.model.save(path)
        found = [gputree.load(path)]
    found.append(pickle.loads(pickle.dumps(right.model)))
    if hasattr(right.model, "to_json"):
        try:
            found.append(gputree.from_json(right.model.to_json()))
        except ModelFileError as error:
            return f"its own JSON is refused: {error}"
    for model in found:
        if not np.array_equal(answers(model, X), expected, equal_nan=True):
            return "other answers"
        if model.to_bytes() != right.model.to_bytes():
            return "other bytes"
    return ""


def predicted_in_pieces(case, right):
    if right.error is not None or not hasattr(right.model, "backend"):
        return None
    X = case.X()
    whole = answers(right.model, X)
    pieces = [piece for piece in np.split(X, [1, 3, 4, 20]) if len(piece)]
    model = pickle.loads(pickle.dumps(right.model))
    for backend in ("numpy", "numba"):
        model.set_params(backend=backend)
        found = np.concatenate([answers(model, piece) for piece in pieces])
        if not np.array_equal(whole, found, equal_nan=True):
            return f"other answers by {backend}"
    return ""


def where_rows_were_counted(case, right):
    """Training rows end, at predict, in the leaf that counted them."""
    sampled = case.params.get("bootstrap", "Forest" in case.estimator)
    trees = "Forest" in case.estimator or "ExtraTrees" in case.estimator
    if right.error is not None or not (case.estimator in SINGLE or (trees and not sampled)):
        return None
    if case.params.get("missing") == "fractional" or case.params.get("max_samples") is not None:
        return None
    inside = np.ones(case.n_rows, bool) if case.weight is None else case.weights() > 0
    X = case.X()[inside]
    for model in right.model.estimators_ if trees else [right.model]:
        tree = model.nodes_
        count = np.bincount(model.apply(X), minlength=tree.n_nodes)
        is_leaf = tree.first_child < 0
        if not np.array_equal(count[is_leaf], tree.n_rows[is_leaf]):
            return "rows end elsewhere than they were counted"
    return ""


def by_the_book(case, right):
    """Every split is the best one of the slow and exact tree."""
    known = {"criterion", "max_depth", "min_samples_leaf", "min_samples_split", "missing"}
    given = {key: value for key, value in case.params.items() if key != "random_state"}
    criterion = given.get("criterion", "gini" if case.is_classifier else "variance")
    is_free = case.estimator.startswith("DecisionTree") and set(given) <= known
    if not is_free or right.error is not None or criterion not in ("gini", "entropy", "variance"):
        return None
    if given.get("missing", "direction") == "surrogate" or case.n_rows > 21:
        return None
    if any(len(set(case.columns[place])) > 6 for place in case.categorical):
        return None
    columns = [[None if v is None else v for v in column] for column in case.columns]
    is_nominal = [place in case.categorical for place in range(len(columns))]
    classes = sorted(set(case.y))
    y = [classes.index(one) for one in case.y] if case.is_classifier else case.y
    weight = [Fraction(w) for w in (case.weight or [1.0] * case.n_rows)]
    table = textbook.Table(columns, is_nominal, y, weight)
    rules = textbook.Rules(
        criterion,
        missing=given.get("missing", "direction"),
        min_rows_split=given.get("min_samples_split", 2),
        min_rows_leaf=given.get("min_samples_leaf", 1),
        max_depth=given.get("max_depth"),
    )
    return "; ".join(textbook.complaints(right.model.nodes_, table, rules)[:2])


WAYS = [
    by_numba,
    by_two_threads,
    by_any_array_library,
    by_cuda,
    with_a_small_budget,
    with_rows_reversed,
    with_rows_shuffled,
    with_rows_repeated,
    without_rows_of_no_weight,
    from_a_dataset,
    from_a_data_frame,
    from_a_file,
    after_a_round_trip,
    predicted_in_pieces,
    where_rows_were_counted,
    by_the_book,
]
# Shares of the cases that try a way; the others are tried wherever they apply.
SHARE = {
    by_numba: 0.5,
    by_two_threads: 0.5,
    by_any_array_library: 0.1,
    by_cuda: 0.05,
    with_a_small_budget: 0.2,
    with_rows_reversed: 0.3,
    with_rows_shuffled: 0.4,
    from_a_dataset: 0.2,
    from_a_data_frame: 0.15,
    from_a_file: 0.1,
    after_a_round_trip: 0.3,
    predicted_in_pieces: 0.2,
}


def problems(case, ways=None):
    """What is wrong with a case, way by way, and how many ways were compared."""
    with np.errstate(all="ignore"):
        right = plain(case)
        if not right.is_clear:
            return {"plain": f"raised {right.mark}"}, 1
        said = {}
        tried = 0
        for way in WAYS if ways is None else ways:
            try:
                found = way(case, right)
            except Exception as error:
                found = f"raised {type(error).__name__}: {error}"
            tried += found is not None
            if found:
                said[way.__name__] = found
        return said, tried


def drawn_ways(seed):
    """The ways that a case of a number is computed in."""
    rng = np.random.default_rng([seed, 1])
    return [way for way in WAYS if rng.random() < SHARE.get(way, 1.0)]
