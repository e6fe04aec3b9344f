"""A case of the search: a small table and a model for it, as data that a file can hold."""

import json
import warnings
from dataclasses import asdict, dataclass, replace

import numpy as np

import gputree


@dataclass(frozen=True)
class Case:
    """What is fitted, as plain lists and numbers, so that a case can be kept and shortened."""

    estimator: str
    params: dict  # `estimator` and `tree` in it are cases without a table: (name, params)
    columns: list  # of values; categories are numbers from 0, None is missing
    categorical: list  # places of the columns of categories
    dtype: str  # of the values of a matrix
    y: list
    weight: list | None
    why: str = ""  # what was wrong, for cases that are kept

    @property
    def n_rows(self):
        return len(self.y)

    @property
    def is_classifier(self):
        return "Classifier" in self.estimator

    @property
    def draws_by_place(self):
        """Whether rows are drawn by their place: those that a tree is pruned on."""
        is_set_aside = self.params.get("validation_fraction") is not None
        return _is_crossed(self.estimator, self.params) or (
            is_set_aside and "Boosting" not in self.estimator
        )

    @property
    def is_sampled(self):
        """Whether a model draws rows, or sets some aside."""
        given = self.params
        return (
            "Forest" in self.estimator
            or "Bagging" in self.estimator
            or self.estimator.startswith("AdaBoost")
            or bool(given.get("bootstrap"))
            or given.get("max_samples") is not None
            or given.get("subsample", 1.0) < 1.0
            or bool(given.get("early_stopping"))
            or self.draws_by_place
        )

    def X(self):
        """The table as a matrix."""
        values = [[np.nan if v is None else v for v in column] for column in self.columns]
        return np.array(values, dtype=self.dtype).T.reshape(self.n_rows, len(self.columns))

    def target(self):
        """The target as an array."""
        return np.array(self.y)

    def weights(self):
        """The weights as an array, or None."""
        return None if self.weight is None else np.array(self.weight, dtype=np.float64)

    def model(self, **where):
        """The model, not fitted."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # old names of criteria
            model = _made(self.estimator, self.params)
        given = {"categorical_features": self.categorical} if self.categorical else {}
        for name, value in {**given, **where}.items():
            # Parameters of the columns are those of the tree that an ensemble is made of.
            for holder in (model, getattr(model, "estimator", None), getattr(model, "tree", None)):
                if holder is not None and name in holder.get_params(deep=False):
                    holder.set_params(**{name: value})
        return model

    def take(self, rows):
        """The case of some rows, each by its place."""
        return replace(
            self,
            columns=[[column[row] for row in rows] for column in self.columns],
            y=[self.y[row] for row in rows],
            weight=None if self.weight is None else [self.weight[row] for row in rows],
        )

    def to_text(self):
        """The case as JSON, a column a line."""
        data = asdict(self)
        lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in data.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"


def from_text(text):
    """A case from JSON."""
    return Case(**json.loads(text))


def _made(name, params):
    given = {
        key: _made(*value) if key in ("estimator", "tree") and value is not None else value
        for key, value in params.items()
    }
    return getattr(gputree, name)(**given)


def _is_crossed(name, params):
    """Whether a tree is pruned by parts of the rows that it was not grown on."""
    if name == "RuleSetClassifier":
        return params.get("tree") is not None and _is_crossed(*params["tree"])
    chosen = params.get("pruning", "cost_complexity" if name.startswith("CART") else None)
    return chosen in ("cost_complexity", "reduced_error")
