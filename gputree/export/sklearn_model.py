"""Models as fitted estimators of scikit-learn.

scikit-learn has thresholds and a side for missing values, and rounds values to float32. Its
trees are made through the state that it pickles. Knows plans and scikit-learn.
"""

from typing import Any

import numpy as np
from sklearn import ensemble, tree
from sklearn.tree import _tree

from gputree.data.table import Kind
from gputree.dtypes import HostArray
from gputree.export.plan import NotExportable, Plan
from gputree.tree.tree import Split, Tree

ENSEMBLES = ("RandomForest", "ExtraTrees", "Bagging", "AdaBoost")
NO_FEATURE = -2  # of a leaf


def to_sklearn(plan: Plan, model: Any) -> Any:
    """The estimator of scikit-learn; `model` knows names of columns and numbers of trees."""
    _refuse(plan)
    family = next((name for name in ENSEMBLES if plan.estimator.startswith(name)), None)
    if family is None:
        (only,) = _trees(plan, plan.classes)
        return _named(only, model)
    is_classes = plan.classes is not None
    kind = getattr(ensemble, f"{family}{'Classifier' if is_classes else 'Regressor'}")
    made = kind(n_estimators=len(plan.trees))
    # Boosted trees answer with labels, others with numbers of classes.
    encoded = None if plan.classes is None else np.arange(len(plan.classes), dtype=np.float64)
    trees = _trees(plan, plan.classes if family == "AdaBoost" else encoded)
    made.estimators_, made.estimator_ = trees, type(trees[0])()
    made.n_features_in_ = len(plan.schema.names)
    if plan.classes is not None:
        made.classes_, made.n_classes_ = plan.classes, len(plan.classes)
    if family == "AdaBoost":
        assert plan.say is not None
        made.estimator_weights_ = plan.say.copy()
        made.estimator_errors_ = model.estimator_errors_.copy()
        return _named(made, model)
    made.n_outputs_ = 1 if is_classes else plan.n_outputs
    if family == "Bagging":
        made.estimators_features_ = [np.arange(made.n_features_in_) for _ in trees]
    return _named(made, model)


def _refuse(plan: Plan) -> None:
    name = "scikit-learn"
    plan.refuse_combinations(name)
    plan.refuse_divided(name)
    plan.refuse_surrogates(name)
    plan.refuse_stops(name)
    if plan.estimator.startswith("GradientBoosting"):
        raise NotExportable(
            "scikit-learn's gradient boosting cannot be made from trees of another; use to_onnx or "
            "to_treelite"
        )
    for at, kind in enumerate(plan.schema.kinds):
        uses = any((each.feature == at).any() for each in plan.trees)
        if kind is Kind.NOMINAL and uses:
            raise NotExportable(
                f"scikit-learn's trees have no unordered categories, and column "
                f"{plan.schema.names[at]!r} has some; encode it as numbers before the fit, or use "
                "to_onnx, to_treelite or to_sql"
            )


def _named(made: Any, model: Any) -> Any:
    if hasattr(model, "feature_names_in_"):
        made.feature_names_in_ = model.feature_names_in_.copy()
    return made


def _trees(plan: Plan, classes: HostArray | None) -> list[Any]:
    is_extra = plan.estimator.startswith("ExtraTrees")
    names = (
        ("ExtraTreeClassifier", "ExtraTreeRegressor")
        if is_extra
        else (
            "DecisionTreeClassifier",
            "DecisionTreeRegressor",
        )
    )
    kind = getattr(tree, names[classes is None])
    trees = []
    for own, value in zip(plan.trees, plan.values, strict=True):
        one = kind()
        one.n_features_in_ = one.max_features_ = len(plan.schema.names)
        if classes is None:
            one.n_outputs_ = value.shape[1]
            values, n_classes = value[:, :, None], np.ones(value.shape[1], np.intp)
        else:
            one.n_outputs_, one.classes_, one.n_classes_ = 1, classes, len(classes)
            values, n_classes = value[:, None, :], np.array([len(classes)], np.intp)
        one.tree_ = _tree_of(own, values, n_classes, one.n_features_in_)
        trees.append(one)
    return trees


def _tree_of(own: Tree, values: HostArray, n_classes: HostArray, n_features: int) -> Any:
    """The arrays of scikit-learn's tree; it walks nodes whatever their order is."""
    nodes = np.zeros(own.n_nodes, _tree.NODE_DTYPE)
    leaf = own.is_leaf
    assert not (own.kind > Split.THRESHOLD).any()
    nodes["left_child"] = own.first_child
    nodes["right_child"] = np.where(leaf, -1, own.first_child + 1)
    nodes["feature"] = np.where(leaf, NO_FEATURE, own.feature)
    nodes["threshold"] = np.where(leaf, NO_FEATURE, own.threshold)
    nodes["impurity"], nodes["n_node_samples"] = own.impurity, own.n_rows
    nodes["weighted_n_node_samples"] = own.weight
    if "missing_go_to_left" in (nodes.dtype.names or ()):
        nodes["missing_go_to_left"] = ~leaf & (own.missing_slot == 0)
    made = _tree.Tree(n_features, n_classes, values.shape[1])
    made.__setstate__(
        {
            "max_depth": int(own.depth.max()),
            "node_count": own.n_nodes,
            "nodes": nodes,
            "values": np.ascontiguousarray(values),
        }
    )
    return made
