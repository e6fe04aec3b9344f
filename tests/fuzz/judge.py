"""Whether a file is refused, or makes a model that can do all that a model can do."""

import math
import warnings
from contextlib import suppress
from typing import Any

import numpy as np

import gputree
from gputree.data.table import Kind
from gputree.errors import ModelFileError
from gputree.estimators import model_file
from gputree.export.plan import NotExportable
from gputree.tree import store
from tests.corpus.models import pd

REFUSED, FINE = "refused", "fine"
N_ROWS = 9


def judged(
    data: bytes, *, is_text: bool = False, backend: str = "numba", is_thorough: bool = True
) -> str:
    """REFUSED or FINE; an AssertionError or any other exception tells of a find.

    Short of thorough, a model only predicts.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = loaded(data, is_text)
        except ModelFileError:
            return REFUSED
        if "backend" in model.get_params(deep=False):
            model.set_params(backend=backend)
        tree = model if hasattr(model, "schema_") else model.estimator_
        X = rows_for(tree.schema_)
        X = X if hasattr(tree, "feature_names_in_") else X.to_numpy(object)
        check_prediction(model, X)
        if is_thorough:
            check_answers(model, X)
            check_form(model)
            check_importances(model)
            check_stages(model, X)
            check_explained(model, X)
            check_words(model)
    return FINE


def loaded(data: bytes, is_text: bool) -> Any:
    if is_text:
        return gputree.from_json(data)
    return model_file.from_bytes(data, "the file")


def check_form(model: Any) -> None:
    """What is written again is the same."""
    data = model.to_bytes()
    again = model_file.from_bytes(saved(model), "the file")
    assert again.to_bytes() == data
    assert saved(again) == saved(model)
    if hasattr(model, "to_json"):
        assert gputree.from_json(model.to_json()).to_bytes() == data


def saved(model: Any) -> bytes:
    return store.pack(*model._file_parts())


def rows_for(schema: Any) -> Any:
    """Rows of everything that a column can hold."""
    draw = np.random.default_rng(0)
    columns = {}
    for name, kind, categories in zip(schema.names, schema.kinds, schema.categories, strict=True):
        if kind is Kind.NUMERIC:
            some = [-math.inf, -1e308, -1.0, -0.0, 0.5, 1.0, 1e308, math.inf, math.nan]
            values = np.array(some)
        else:
            known = (
                [*categories, None] if schema.unknown == "error" else [*categories, None, "unseen"]
            )
            values = np.empty(N_ROWS, object)
            for at in range(N_ROWS):
                values[at] = known[at % len(known)]
        columns[name] = values[draw.permutation(N_ROWS)]
    # Of objects: text of pandas cannot hold halves of characters.
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def check_prediction(model: Any, X: Any) -> None:
    if hasattr(model, "classes_"):
        check_shares(model.predict_proba(X), len(model.classes_))
    else:
        check_finite(model, model.predict(X))


def check_answers(model: Any, X: Any) -> None:
    found = model.predict(X)
    assert len(found) == N_ROWS
    if hasattr(model, "classes_"):
        assert set(found.tolist()) <= set(model.classes_.tolist())
    if hasattr(model, "decision_function"):
        check_finite(model, model.decision_function(X))
    if hasattr(model, "apply") and not hasattr(model, "rules_"):
        check_leaves(model, model.apply(X))
    if getattr(model, "_targets", None) is not None:
        assert model.predict_quantile(X, [0.0, 0.5, 1.0]).shape == (N_ROWS, 3)


def check_stages(model: Any, X: Any) -> None:
    for name in ("staged_predict", "staged_predict_proba"):
        if hasattr(model, name):
            *_, last = getattr(model, name)(X)
            assert len(last) == N_ROWS
            if name == "staged_predict_proba":
                check_shares(last, len(model.classes_))


def check_shares(found: Any, n_classes: int) -> None:
    assert found.shape == (N_ROWS, n_classes)
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)


def check_finite(model: Any, found: Any) -> None:
    if getattr(model, "loss", None) == "poisson":  # an exponential may be too large
        assert not np.isnan(found).any()
    else:
        assert np.isfinite(found).all()


def check_leaves(model: Any, leaf: Any) -> None:
    trees = [model.nodes_] if hasattr(model, "tree_") else [each.tree for each in model._members]
    leaf = leaf.reshape(N_ROWS, -1)
    assert leaf.shape[1] == len(trees)
    for tree, own in zip(trees, leaf.T, strict=True):
        assert ((own >= 0) & (own < tree.n_nodes)).all()


def check_importances(model: Any) -> None:
    if not hasattr(model, "feature_importances_"):
        return
    share = model.feature_importances_
    assert share.shape == (model.n_features_in_,)
    assert np.isfinite(share).all()
    assert (share >= 0).all()
    assert not share.any() or math.isclose(share.sum(), 1.0, rel_tol=1e-9)


def check_explained(model: Any, X: Any) -> None:
    """Shapley values are finite, and add up to what is explained."""
    if not hasattr(model, "shap_values"):
        return
    if type(model).__name__ == "AdaBoostClassifier" and model._is_divided:
        return
    found = model.shap_values(X)
    assert found.shape[:2] == X.shape
    assert np.isfinite(found).all()
    assert np.isfinite(model.expected_value_).all()


def check_words(model: Any) -> None:
    """Every way to show or to export a model works, or says why it cannot."""
    if hasattr(model, "export_graphviz"):
        assert model.export_text()
        assert model.export_graphviz()
    else:
        assert repr(model)
    if hasattr(model, "rules_"):
        assert str(model.rules_)
    for name in ("to_python", "to_c", "to_sql"):
        if hasattr(model, name):
            with suppress(NotExportable):
                assert getattr(model, name)()
