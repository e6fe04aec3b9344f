"""Ensembles on a CUDA device are those of NumPy, byte for byte."""

import numpy as np
import pytest

from gputree import AdaBoostClassifier, DecisionTreeClassifier, RandomForestClassifier

MODELS = {
    "forest": RandomForestClassifier(2, max_depth=2, random_state=0, oob_score=False),
    "boosted": AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_ensemble_is_that_of_numpy(name):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (40, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 5).astype(int)
    y[::9] ^= 1
    found, right = (
        MODELS[name].set_params(backend=backend).fit(X, y).to_bytes()
        for backend in ("cuda", "numpy")
    )
    assert found == right
