"""Tables and models of every shape, for tests of pruning."""

import numpy as np
import pandas as pd

from gputree import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)


def table(n_rows=240, seed=0):
    """Numbers and categories with missing values, two classes that overlap, and weights."""
    rng = np.random.default_rng(seed)
    few, many = rng.integers(0, 4, n_rows), rng.integers(0, 9, n_rows)
    x = rng.normal(size=n_rows).round(1)
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(n_rows) < 0.1, np.nan, x),
            "few": pd.Categorical.from_codes(
                np.where(rng.random(n_rows) < 0.1, -1, few), list("abcd")
            ),
            "many": pd.Categorical.from_codes(many, list("abcdefghi")),
        }
    )
    y = (x + few % 2 + many % 3 + rng.normal(size=n_rows) > 1.5).astype(int)
    return X, y, rng.integers(1, 4, n_rows) / 2


CLASSIFIERS = {
    "subsets": DecisionTreeClassifier(),
    "priors": DecisionTreeClassifier(criterion="entropy", priors=[0.2, 0.8]),
    "multiway": DecisionTreeClassifier(nominal="multiway", missing="category"),
    "divided": C45Classifier(min_branch=1, pruning=None),
    "surrogates": CARTClassifier(pruning=None),
}
REGRESSORS = {
    "numbers": DecisionTreeRegressor(),
    "numbers, surrogates": CARTRegressor(pruning=None),
}
MODELS = CLASSIFIERS | REGRESSORS
OF_CLASSES = {"pessimistic", "minimum_error", "error_based"}
NEEDING_ROWS = {"reduced_error", "pre"}
