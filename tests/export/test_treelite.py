"""treelite answers as the model does."""

import numpy as np
import pytest

import gputree
from gputree.export import NotExportable
from tests.export.models import (
    DIVIDED,
    MODELS,
    WITH_SURROGATES,
    expected,
    fitted,
    numbered,
    rows,
)

treelite = pytest.importorskip("treelite")

REFUSED = [*DIVIDED, *WITH_SURROGATES, "AdaBoost of numbers"]


@pytest.mark.parametrize("name", [name for name in MODELS if name not in REFUSED])
def test_the_answers_are_those_of_the_model(name):
    model = fitted(name)
    raw = model.to_treelite().serialize_bytes()
    again = treelite.Model.deserialize_bytes(raw)
    found = treelite.gtil.predict(again, numbered(model, rows(name)), nthread=1)
    found = found.reshape(len(found), -1)
    if name == "boosting, two":
        found = np.column_stack([1.0 - found, found])
    if name in ("boosting", "boosting, one tree") or name.startswith("AdaBoost"):
        np.testing.assert_allclose(found, expected(name), atol=3e-7)  # its softmax is of float32
    elif name.startswith("boosting"):  # adds the start at the end, and has its own exponential
        np.testing.assert_allclose(found, expected(name), rtol=1e-12, atol=1e-14)
    else:
        assert (found == expected(name)).all()


@pytest.mark.parametrize("name", REFUSED)
def test_what_treelite_cannot_hold_is_refused(name):
    with pytest.raises(NotExportable, match=r"treelite .*; (fit with|use) "):
        fitted(name).to_treelite()


def test_categories_cannot_be_refused_and_one_class_is_no_choice():
    X = np.array([["a"], ["b"]], object)
    model = gputree.DecisionTreeClassifier(categorical_features=[0], unknown_category="error")
    with pytest.raises(NotExportable, match="unknown_category='missing'"):
        model.fit(X, [0, 1]).to_treelite()
    with pytest.raises(NotExportable, match="one class"):
        gputree.DecisionTreeClassifier().fit([[0], [1]], [1, 1]).to_treelite()
