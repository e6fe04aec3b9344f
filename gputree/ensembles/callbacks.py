"""Who is told of each tree while an ensemble grows, and may end it.

scikit-learn has callbacks of its own from version 1.9 on (`set_callbacks`); with an older one only
the functions given to `fit` are told.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

from gputree.tree.tree import Tree

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _managed
except ImportError:  # before version 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nobody to tell."""

    def _managed(method: Method) -> Method:
        return method


def with_callbacks(method: Method) -> Method:
    """A fit after which scikit-learn's callbacks are told that it is over."""
    return cast("Method", _managed(method))


__all__ = ["Callback", "CallbackSupportMixin", "Listeners", "TreeDone", "with_callbacks"]


@dataclass(frozen=True)
class TreeDone:
    """The argument of a callback after each tree.

    Attributes
    ----------
    number : int
        The number of the tree, from 0 on.
    n_trees : int
        The planned number of trees.
    seconds, seconds_left : float
        The time since the first tree, and an estimate of the remaining time.
    tree : Tree
        The tree as flat arrays.
    error : float or None
        The out-of-bag error so far or, in boosting, the error of this tree, if it is known.
    """

    number: int
    n_trees: int
    seconds: float
    seconds_left: float
    tree: Tree
    error: float | None = None


Callback: TypeAlias = Callable[[TreeDone], Any]


class Listeners:
    """The callbacks of one fit."""

    def __init__(self, estimator: Any, callbacks: Any, n_new: int, shown: dict[str, Any]) -> None:
        """`shown` is what scikit-learn's callbacks see of the rows: X, y and metadata."""
        self._callbacks = _checked(callbacks)
        self._all = {"estimator": estimator, **shown}
        self._context: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=n_new)
            self._context.call_on_fit_task_begin(**self._all)

    def tell(self, done: TreeDone, so_far: Callable[[], dict[str, Any] | None]) -> bool:
        """Tell everyone of a tree; whether anyone wants it to be the last.

        `so_far` has the attributes of the model as it is now, for those who want to predict.
        """
        stops = [callback(done) is True for callback in self._callbacks]
        if self._context is not None:
            own = self._context.subcontext(task_name="tree")
            own.call_on_fit_task_begin(**self._all)
            stop = own.call_on_fit_task_end(**self._all, reconstruction_attributes=so_far)
            stops.append(bool(stop))
        return any(stops)

    def end(self) -> None:
        """Tell scikit-learn's callbacks that all is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._all, reconstruction_attributes={})


def _checked(callbacks: Any) -> list[Callback]:
    if callbacks is None:
        return []
    found = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    for each in found:
        if not callable(each):
            raise TypeError(
                f"callbacks has {each!r:.60}, which cannot be called; give functions of one "
                "argument, and callbacks of scikit-learn to set_callbacks"
            )
    return found
