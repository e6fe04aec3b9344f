"""Trees and tables drawn at random, with every kind of split."""

import numpy as np

from gputree.data.table import Column, Kind, Table
from gputree.dtypes import STAY
from gputree.tree.tree import Split, Tree
from tests.tables import with_lists

GRID = np.array([-np.inf, -2.5, -1.0, -0.1, 0.0, 0.1, 0.7, 1.5, 1e300, np.inf])


def drawn_tree(rng, n_categories, n_splits, *, kinds=(1, 2, 3), stops=0.0, width=1):
    """A tree of `n_splits` splits; n_categories[feature] is 0 for a column of numbers.

    A share `stops` of the nodes keeps rows whose value is missing. A node weighs as much as its
    children, some of which weigh nothing.
    """
    numbers, nominal = (
        [at for at, n in enumerate(n_categories) if (n > 0) == has] for has in (0, 1)
    )
    features = {Split.THRESHOLD: numbers, Split.SUBSET: nominal, Split.MULTIWAY: nominal}
    kinds = [Split(kind) for kind in kinds if features[Split(kind)]]
    # Which leaf of the growing tree is split next, and how; numbered breadth-first in the end.
    parts, leaves = {}, [()]
    for _ in range(n_splits):
        path = leaves.pop(rng.integers(len(leaves)))
        kind = kinds[rng.integers(len(kinds))]
        feature = int(rng.choice(features[kind]))
        n_children = (
            2 if kind != Split.MULTIWAY else n_categories[feature] + int(rng.integers(0, 2))
        )
        parts[path] = kind, feature, max(2, n_children)
        leaves += [(*path, slot) for slot in range(parts[path][2])]
    paths = sorted([*parts, *leaves], key=lambda path: (len(path), path))
    number = {path: at for at, path in enumerate(paths)}
    n = len(paths)
    tree = {
        "kind": np.zeros(n),
        "feature": np.full(n, -1),
        "threshold": np.full(n, np.nan),
        "missing_slot": np.zeros(n, np.int64),
        "first_child": np.full(n, -1),
        "n_children": np.zeros(n, np.int64),
        "level_start": np.full(n, -1),
        "weight": rng.integers(0, 5, n).astype(np.float64),
    }
    level_slot = []
    for path, at in sorted(number.items(), key=lambda item: -item[1]):
        if path not in parts:
            continue
        kind, feature, n_children = parts[path]
        first = number[(*path, 0)]
        tree["kind"][at], tree["feature"][at] = kind, feature
        tree["first_child"][at], tree["n_children"][at] = first, n_children
        stays = rng.random() < stops
        tree["missing_slot"][at] = STAY if stays else rng.integers(n_children)
        if not tree["weight"][first : first + n_children].any():
            tree["weight"][first] = 1.0  # a node that is split has weight
        tree["weight"][at] = tree["weight"][first : first + n_children].sum()
        if kind == Split.THRESHOLD:
            tree["threshold"][at] = rng.choice(GRID) if rng.random() < 0.5 else rng.normal()
        else:
            tree["level_start"][at] = len(level_slot)
            slots = rng.integers(0, n_children, n_categories[feature] + 1)
            level_slot += np.where(rng.random(len(slots)) < 0.2, STAY, slots).tolist()
    return Tree(
        **with_lists({**tree, "level_slot": level_slot}),
        gain=np.zeros(n),
        impurity=np.zeros(n),
        n_rows=np.ones(n),
        value=rng.normal(size=(n, width)),
    )


def drawn_table(rng, n_categories, n_rows, dtype=np.float64):
    """Values on and between thresholds, infinite, missing; categories that nobody has seen."""
    columns = []
    for at, n in enumerate(n_categories):
        if n:
            category = rng.integers(-1, n + 1, n_rows).astype(np.int32)
            columns.append(Column(f"x{at}", Kind.NOMINAL, category, tuple(range(n))))
            continue
        with np.errstate(over="ignore"):
            values = np.where(rng.random(n_rows) < 0.5, rng.choice(GRID, n_rows), 0).astype(dtype)
        values = np.where(values == 0, rng.normal(size=n_rows).astype(dtype), values)
        values[rng.random(n_rows) < 0.2] = np.nan
        columns.append(Column(f"x{at}", Kind.NUMERIC, values))
    return Table(tuple(columns), n_rows)
