"""Generated tables: smooth but noisy functions of normal features."""

import numpy as np
import numpy.typing as npt


def generate(
    n_rows: int, n_features: int, n_classes: int, seed: int = 0
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.generic]]:
    """A float32 table and its target: classes, or numbers where `n_classes` is 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    used = X[:, : min(8, n_features)].astype(np.float64)
    signal = used[:, 0] + np.sin(2 * used[:, -1]) + used.prod(axis=1)
    signal += 0.5 * (used[:, used.shape[1] // 2] > 0.3) + 0.5 * rng.standard_normal(n_rows)
    if n_classes == 0:
        return X, signal
    cut = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.searchsorted(cut, signal)
