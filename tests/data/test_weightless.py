"""Categories that only rows without weight have do not change what is fitted on the others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gputree import (
    BaggingClassifier,
    C45Classifier,
    Dataset,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)


def table(n_rows=60, seed=3):
    """Rows of five categories, one of which has no weight anywhere."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["b", "c", "d", "e", "f"], n_rows)
    frame = pd.DataFrame({"colour": colour, "size": rng.normal(size=n_rows).round(1)})
    y = rng.integers(0, 2, n_rows)
    return frame, y, np.where(colour == "c", 0.0, 1.0)


def _columns_of(model):
    """The parameter that names columns of categories: of the model, or of its trees."""
    return [name for name in model.get_params() if name.endswith("categorical_features")]


@pytest.mark.parametrize(
    "model",
    [
        ExtraTreesClassifier(3, bootstrap=True, random_state=0),
        RandomForestClassifier(3, random_state=0),
        BaggingClassifier(C45Classifier(), n_estimators=3, random_state=0),
        GradientBoostingClassifier(n_estimators=3, subsample=0.5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_draws_are_those_of_the_table_without_these_rows(model):
    frame, y, weight = table()
    model = clone(model).set_params(**{name: ["colour"] for name in _columns_of(model)})
    kept = weight > 0
    whole = model.fit(frame, y, weight).predict_proba(frame[kept])
    less = model.fit(frame[kept], y[kept], weight[kept]).predict_proba(frame[kept])
    assert np.array_equal(whole, less)


def test_a_file_in_chunks_numbers_categories_as_a_table_in_memory(tmp_path):
    frame, y, weight = table()
    path = tmp_path / "table.csv"
    frame.assign(y=y, w=weight).to_csv(path, index=False)
    data = Dataset.from_file(path, "y", weight="w", max_bytes=200)
    assert data.bins.n_categories.tolist()[0] == 4
    assert data.bins.number[: data.bins.n_codes[0]].tolist() == [0, 1, 1, 2, 3]
    model = ExtraTreesClassifier(3, random_state=0)
    in_memory = Dataset(frame, y, sample_weight=weight, categorical_features=["colour"])
    assert model.fit(data).to_bytes() == model.fit(in_memory).to_bytes()


def test_a_later_fit_may_give_these_rows_a_weight():
    frame, y, weight = table()
    data = Dataset(frame, y, sample_weight=weight, categorical_features=["colour"])
    model = RandomForestClassifier(3, bootstrap=False).fit(data, sample_weight=np.ones(len(y)))
    assert model.estimators_[0].nodes_.n_rows[0] == len(y)
