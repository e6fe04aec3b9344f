"""Each library behind the same three verbs, with settings that ask all for the same tree.

One tree, a depth or none, 255 or 256 bins, leaves of a single row allowed, no regularisation, and
the library's own parameter for threads. The time of `fit` holds all that the library does from a
float32 array on: its own table, its bins, its tree.
"""

import re
from typing import Any

import numpy as np
from contestants import Job

MOST_LEAVES = 131_072  # LightGBM's own limit


def most_likely(share: Any) -> Any:
    """Class numbers from probabilities, of the second class or of each."""
    return (share > 0.5).astype(np.int64) if share.ndim == 1 else share.argmax(axis=1)


class GpuTree:
    """gputree with one backend."""

    def __init__(self, job: Job, backend: str) -> None:
        import gputree
        from gputree.backends.registry import BACKENDS

        name, _, device = backend.partition("@")
        where: dict[str, Any] = {"backend": name, "device": device or "auto"}
        if name == "auto" or (name == "cuda" and name not in BACKENDS):
            where = {"device": name}
        cls = gputree.DecisionTreeClassifier if job.n_classes else gputree.DecisionTreeRegressor
        self._tree = lambda: cls(max_depth=job.depth, n_jobs=job.threads, **where)

    def fit(self, X: Any, y: Any) -> Any:
        return self._tree().fit(X, y)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X)

    def n_leaves(self, model: Any) -> int | None:
        return int(model.get_n_leaves())

    def model_bytes(self, model: Any) -> bytes:
        return bytes(model.to_bytes())


class ExactTree:
    """scikit-learn's tree, which sorts values and runs on one thread."""

    def __init__(self, job: Job) -> None:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        cls = DecisionTreeClassifier if job.n_classes else DecisionTreeRegressor
        self._tree = lambda: cls(max_depth=job.depth, random_state=0)

    def fit(self, X: Any, y: Any) -> Any:
        return self._tree().fit(X, y)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X)

    def n_leaves(self, model: Any) -> int | None:
        return int(model.get_n_leaves())


class HistGradientBoosting:
    """scikit-learn's boosting on histograms, stopped after one round.

    It has no parameter for threads and obeys OMP_NUM_THREADS, which a worker sets.
    """

    def __init__(self, job: Job) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        cls = HistGradientBoostingClassifier if job.n_classes else HistGradientBoostingRegressor
        self._tree = lambda: cls(
            max_iter=1,
            learning_rate=1.0,
            max_depth=job.depth,
            max_leaf_nodes=None,
            min_samples_leaf=1,
            early_stopping=False,
        )

    def fit(self, X: Any, y: Any) -> Any:
        return self._tree().fit(X, y)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X)

    def n_leaves(self, model: Any) -> int | None:
        return sum(int(tree.get_n_leaf_nodes()) for tree in model._predictors[0])


class LightGbm:
    """LightGBM, one round."""

    def __init__(self, job: Job) -> None:
        import lightgbm

        self._lightgbm = lightgbm
        self._is_classes = job.n_classes > 0
        most = job.n_rows if job.depth is None else 2**job.depth
        self._params = {
            **_objective(job, "regression", "binary", "multiclass"),
            "learning_rate": 1.0,
            "max_depth": -1 if job.depth is None else job.depth,
            "num_leaves": max(2, min(most, MOST_LEAVES)),
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "max_bin": 255,
            "num_threads": job.threads,
            "verbosity": -1,
        }

    def fit(self, X: Any, y: Any) -> Any:
        data = self._lightgbm.Dataset(X, y, params=self._params)
        return self._lightgbm.train(self._params, data, num_boost_round=1)

    def predict(self, model: Any, X: Any) -> Any:
        predicted = model.predict(X)
        return most_likely(predicted) if self._is_classes else predicted

    def n_leaves(self, model: Any) -> int | None:
        counts = re.findall(r"^num_leaves=(\d+)$", model.model_to_string(), re.MULTILINE)
        return sum(int(count) for count in counts)


class XgBoost:
    """XGBoost on histograms, one round."""

    def __init__(self, job: Job) -> None:
        import xgboost

        self._xgboost = xgboost
        self._threads = job.threads
        self._is_classes = job.n_classes > 0
        self._params = {
            **_objective(job, "reg:squarederror", "binary:logistic", "multi:softprob"),
            "learning_rate": 1.0,
            "tree_method": "hist",
            "grow_policy": "depthwise",
            "max_depth": job.depth or 0,
            "max_leaves": 0,
            "min_child_weight": 0.0,
            "reg_lambda": 0.0,
            "max_bin": 256,
            "nthread": job.threads,
            "verbosity": 0,
        }

    def fit(self, X: Any, y: Any) -> Any:
        data = self._xgboost.QuantileDMatrix(X, y, max_bin=256, nthread=self._threads)
        return self._xgboost.train(self._params, data, num_boost_round=1)

    def predict(self, model: Any, X: Any) -> Any:
        predicted = model.inplace_predict(X)
        return most_likely(predicted) if self._is_classes else predicted

    def n_leaves(self, model: Any) -> int | None:
        return sum(text.count("leaf=") for text in model.get_dump())


class Ydf:
    """YDF's CART, which looks at every value."""

    def __init__(self, job: Job) -> None:
        import ydf

        ydf.verbose(0)
        self._is_classes = job.n_classes > 0
        self._learner = lambda: ydf.CartLearner(
            label="y",
            task=ydf.Task.CLASSIFICATION if job.n_classes else ydf.Task.REGRESSION,
            validation_ratio=0.0,
            max_depth=-1 if job.depth is None else job.depth + 1,  # it counts levels of nodes
            min_examples=1,
            num_threads=job.threads,
        )

    def fit(self, X: Any, y: Any) -> Any:
        return self._learner().train({**_columns(X), "y": y})

    def predict(self, model: Any, X: Any) -> Any:
        predicted = model.predict(_columns(X))
        if not self._is_classes:
            return predicted
        return np.array(model.label_classes()).astype(np.int64)[most_likely(predicted)]

    def n_leaves(self, model: Any) -> int | None:
        return (int(model.num_nodes()) + 1) // 2


class SnapMl:
    """Snap ML's tree on histograms."""

    def __init__(self, job: Job) -> None:
        import snapml

        cls = snapml.DecisionTreeClassifier if job.n_classes else snapml.DecisionTreeRegressor
        self._job = job
        self._tree = lambda: cls(
            max_depth=job.depth,
            use_histograms=True,
            hist_nbins=256,
            n_jobs=job.threads,
            random_state=0,
        )

    def fit(self, X: Any, y: Any) -> Any:
        return self._tree().fit(X, y)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X, n_jobs=self._job.threads)

    def n_leaves(self, model: Any) -> int | None:
        return None


def _objective(job: Job, values: str, two: str, many: str) -> dict[str, Any]:
    if job.n_classes > 2:
        return {"objective": many, "num_class": job.n_classes}
    return {"objective": two if job.n_classes else values}


def _columns(X: Any) -> dict[str, Any]:
    return {f"x{i}": X[:, i] for i in range(X.shape[1])}
