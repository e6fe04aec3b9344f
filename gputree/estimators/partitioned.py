"""Estimators that also take collections of Dask, whose partitions are on many machines.

Knows what a collection is; what is done with one is known to `gputree.cluster`, which is asked for
when one comes. Dask itself is imported there, and nowhere else.
"""

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

from gputree.arrays import is_collection

# What answers row by row, and so partition by partition.
BY_ROW = (
    *("predict", "predict_proba", "predict_log_proba", "predict_quantile", "decision_function"),
    *("apply", "shap_values"),
)

Method = Callable[..., Any]


class Partitioned:
    """Methods of all kinds of models that hand collections on."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for names, made in ((("fit",), _fitting), (BY_ROW, _answering), (("score",), _scoring)):
            for name in names:
                method = getattr(cls, name, None)
                # A kind of model without a method may have a property that says so.
                if isinstance(method, FunctionType) and not hasattr(method, "takes_collections"):
                    taking = made(method)
                    taking.takes_collections = True  # type: ignore[attr-defined]
                    setattr(cls, name, taking)


def _fitting(fit: Method) -> Method:
    @wraps(fit)
    def fit_anywhere(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not (is_collection(X) or any(map(is_collection, (*args, *kwargs.values())))):
            return fit(self, X, *args, **kwargs)
        from gputree.cluster.collections import fit_collections

        return fit_collections(self, X, *args, **kwargs)

    return fit_anywhere


def _answering(method: Method) -> Method:
    @wraps(method)
    def answer_anywhere(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *args, **kwargs)
        from gputree.cluster.collections import answers

        return answers(self, method.__name__, X, *args, **kwargs)

    return answer_anywhere


def _scoring(score: Method) -> Method:
    @wraps(score)
    def score_anywhere(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_collection(X):
            return score(self, X, *args, **kwargs)
        from gputree.cluster.collections import score_of

        return score_of(self, X, *args, **kwargs)

    return score_anywhere
