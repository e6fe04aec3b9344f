"""Models that can be saved: one writer of all kinds, each of which says what it stores."""

import os
from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from gputree.dtypes import HostArray
from gputree.estimators import model_file
from gputree.tree import store
from gputree.tree.store import ArrayOrParts


class Stored:
    """An estimator as canonical bytes and as a file."""

    def to_bytes(self) -> bytes:
        """The model as canonical bytes: equal models give equal bytes.

        The bytes contain everything that predictions depend on: trees or rules, the columns, the
        labels, and the treatment of missing values and unknown categories. They contain neither the
        other parameters of the fit nor where it ran.
        """
        check_is_fitted(self)
        return store.pack(self._described(), self._stored_arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its parameters to a file, read by `gputree.load`.

        Examples
        --------
        >>> import os, tempfile, gputree
        >>> model = gputree.RuleSetClassifier().fit([[0], [1], [2], [3]], ["a", "a", "b", "b"])
        >>> path = os.path.join(tempfile.mkdtemp(), "rules.gputree")
        >>> model.save(path)
        >>> gputree.load(path).predict([[3]])
        array(['b'], dtype='<U1')
        """
        store.write(path, store.pieces(*self._file_parts()))

    def _file_parts(self) -> tuple[dict[str, Any], dict[str, ArrayOrParts]]:
        """The header and the arrays of a model file."""
        check_is_fitted(self)
        return {**self._described(), **self._settings()}, dict(self._stored_arrays())

    def _settings(self) -> dict[str, Any]:
        """What a file tells of the parameters."""
        return {"params": model_file.params_to_plain(self)}

    # What kinds of models fill in.

    def _described(self) -> dict[str, Any]:
        """What the model is, apart from its arrays and parameters."""
        raise NotImplementedError

    def _stored_arrays(self) -> Mapping[str, ArrayOrParts]:
        """The arrays of the model, perhaps in parts."""
        raise NotImplementedError

    def _restore(self, header: dict[str, Any], arrays: dict[str, HostArray]) -> None:
        """Make this new estimator the model of a file, and refuse what makes no sense."""
        raise NotImplementedError
