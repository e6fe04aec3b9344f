"""The tables: generated ones, and real ones from Parquet files where there are any.

Every table is float32 with a float64 or int64 target, and comes with rows that are held out.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

REAL_TABLES = Path(__file__).resolve().parents[2] / "shared" / "data"
HELD_OUT = 0.2  # share of a real table
ARRAYS = ("X", "y", "X_test", "y_test")

Array = npt.NDArray[Any]


class NoTable(Exception):
    """A table that cannot be had here; says why."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to fit, and rows to predict."""

    X: Array  # (rows, features) float32, NaN missing
    y: Array  # (rows,) class numbers, or values
    X_test: Array
    y_test: Array
    n_classes: int  # 0 for a regression

    def save(self, folder: Path) -> None:
        """Write one file an array, for other processes to load."""
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))


def generated(n_rows: int, n_features: int, n_classes: int, n_test: int, seed: int = 0) -> Table:
    """A generated table with `n_test` rows more, which are held out."""
    X, y = generate(n_rows + n_test, n_features, n_classes, seed)
    return Table(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], n_classes)


def generate(
    n_rows: int, n_features: int, n_classes: int, seed: int = 0
) -> tuple[npt.NDArray[np.float32], Array]:
    """Smooth but noisy functions of normal features; numbers where `n_classes` is 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    used = X[:, : min(8, n_features)].astype(np.float64)
    signal = used[:, 0] + np.sin(2 * used[:, -1]) + used.prod(axis=1)
    signal += 0.5 * (used[:, used.shape[1] // 2] > 0.3) + 0.5 * rng.standard_normal(n_rows)
    if n_classes == 0:
        return X, signal
    cut = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.searchsorted(cut, signal)


def real(name: str, folder: Path = REAL_TABLES) -> Table:
    """A Parquet file with a column `target`; nominal columns become category numbers."""
    path = folder / f"{name}.parquet"
    if not path.exists():
        raise NoTable(f"there is no file {path.name} in the folder of real tables")
    if find_spec("pyarrow") is None:
        raise NoTable("pyarrow is not installed")
    import pyarrow.parquet

    columns = pyarrow.parquet.read_table(path).unify_dictionaries()
    names = [each for each in columns.column_names if each != "target"]
    X = np.column_stack([numbers(columns[each]) for each in names]).astype(np.float32)
    y, n_classes = _target(columns["target"])
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [round(HELD_OUT * len(y))])
    known = ~np.isnan(X[train]).all(axis=0)  # some libraries refuse a column without a value
    return Table(X[train][:, known], y[train], X[test][:, known], y[test], n_classes)


def numbers(column: Any) -> Array:
    """A column of Arrow as float64: categories by their place, missing cells as NaN."""
    import pyarrow

    column = column.combine_chunks()
    if pyarrow.types.is_dictionary(column.type):
        column = column.indices
    return np.asarray(column.cast(pyarrow.float64()).to_numpy(zero_copy_only=False), np.float64)


def _target(column: Any) -> tuple[Array, int]:
    """The target, and its number of classes, or 0."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        return numbers(column), 0
    classes, y = np.unique(numbers(column), return_inverse=True)
    return y, len(classes)
