"""What models of every kind are, as short digests: a change that alters a model is seen.

`python -m tests.corpus.digests` writes them anew; a change of bytes needs a line in CHANGELOG.md.
A digest is made of what a model does, not of how a file stores it or what its arrays are called.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
from sklearn.base import clone

import gputree
from tests.corpus import models

PLACE = Path(__file__).parent / "digests.json"
CLASS_CRITERIA = ("gini", "entropy", "gain_ratio", "error", "twoing")
VALUE_CRITERIA = ("squared_error", "poisson")
LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson")
OF_NODES = (
    *("kind", "feature", "threshold", "missing_slot", "first_child", "n_children"),
    *("gain", "impurity", "n_rows", "weight", "value", "n_surrogates"),
    *("surrogate_feature", "surrogate_threshold", "surrogate_slot", "surrogate_agreement"),
)


def cases():
    """By name: an estimator, and its target. Each criterion and loss, and all of the corpus."""
    deep = {"max_depth": 5, **models.CATEGORIES}
    few = {"n_estimators": 3, "random_state": 0, **models.CATEGORIES}
    found = dict(models.all_models())
    for criterion in CLASS_CRITERIA:
        tree = gputree.DecisionTreeClassifier(criterion=criterion, **deep)
        found[f"tree {criterion}"] = tree, "three"
        if criterion != "gain_ratio":
            extra = gputree.ExtraTreesClassifier(criterion=criterion, max_depth=5, **few)
            found[f"extra trees {criterion}"] = extra, "three"
    for criterion in VALUE_CRITERIA:
        tree = gputree.DecisionTreeRegressor(criterion=criterion, max_leaf_nodes=9, **deep)
        found[f"regression {criterion}"] = tree, "count"
        forest = gputree.RandomForestRegressor(criterion=criterion, max_features=2, **few)
        found[f"forest {criterion}"] = forest, "count"
    for loss in LOSSES:
        boosting = gputree.GradientBoostingRegressor(loss=loss, subsample=0.7, **few)
        found[f"boosting {loss}"] = boosting, "count"
    by_leaf = gputree.GradientBoostingClassifier(max_leaf_nodes=6, max_depth=None, **few)
    found["boosting by leaf"] = by_leaf, "three"
    monotone = gputree.GradientBoostingRegressor(monotonic_cst={"width": 1}, **few)
    found["boosting monotone"] = monotone, "number"
    return found


def fitted(name, backend):
    """The model of a case."""
    estimator, target = cases()[name]
    X = models.table(90, 1, has_missing=name != "id3")
    y = models.targets(X)[target]
    if name == "id3":  # which knows categories only
        X = X[["colour", "size", "code"]]
    return _on(clone(estimator), backend).fit(X, y)


def _on(estimator, backend):
    asked = [name for name in estimator.get_params() if name.split("__")[-1] == "backend"]
    return estimator.set_params(**dict.fromkeys(asked, backend))


def digest(model):
    """What a model consists of, in 16 hexadecimal digits."""
    mark = hashlib.sha256()
    for tree in getattr(model, "estimators_", [model]):
        if hasattr(tree, "nodes_"):
            _add_tree(mark, tree.nodes_)
    for name in ("start_", "estimator_weights_", "classes_"):
        if hasattr(model, name):
            mark.update(str(np.asarray(getattr(model, name)).tolist()).encode())
    if hasattr(model, "rules_"):
        mark.update(str(model.rules_).encode())
    return mark.hexdigest()[:16]


def _add_tree(mark, tree):
    for name in OF_NODES:
        mark.update(np.ascontiguousarray(getattr(tree, name)).tobytes())
    for node in np.flatnonzero(tree.category_start >= 0).tolist():
        mark.update(tree.slots(node, 10**6).tobytes())
    for at in np.flatnonzero(tree.surrogate_category_start >= 0).tolist():
        mark.update(tree.surrogate_slots(at, 10**6).tobytes())
    for array in () if tree.directions is None else tree.directions.arrays().values():
        mark.update(array.tobytes())


def main():
    found = {name: digest(fitted(name, "numpy")) for name in cases()}
    PLACE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
