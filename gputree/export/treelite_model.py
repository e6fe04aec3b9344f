"""Models for treelite, in double precision.

Its table has numbers of categories, and NaN where a value is missing. Knows plans; treelite is
imported when it is needed.
"""

import json
from typing import Any

from gputree.data.table import Kind
from gputree.dtypes import HostArray
from gputree.export import plan as plans
from gputree.export.plan import NotExportable, Plan, Test, test_at
from gputree.tree.tree import Tree

POST = {
    plans.IDENTITY: "identity",
    plans.LOGISTIC: "sigmoid",
    plans.SOFTMAX: "softmax",
    plans.EXPONENTIAL: "exponential",
    plans.SAMME: "softmax",
}


def to_treelite(plan: Plan) -> Any:
    """The model as a treelite.Model."""
    try:
        import treelite
        from treelite import model_builder
    except ImportError as error:
        raise ImportError("to_treelite needs treelite; pip install 'gputree-ml[export]'") from error
    _refuse(plan)
    values = _values(plan)
    width = values[0].shape[1]
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=_metadata(model_builder, plan, width),
        tree_annotation=_annotation(model_builder, plan, width),
        postprocessor=model_builder.PostProcessorFunc(name=POST[plan.link]),
        base_scores=[float(each) for each in plan.start],
        attributes=json.loads(json.dumps(_told(plan))),
    )
    for tree, value in zip(plan.trees, values, strict=True):
        _build(builder, plan, tree, value)
    model: treelite.Model = builder.commit()
    return model


def _refuse(plan: Plan) -> None:
    name = "treelite"
    plan.refuse_combinations(name)
    plan.refuse_divided(name)
    plan.refuse_surrogates(name)
    plan.refuse_stops(name)
    plan.refuse_median(name)
    if plan.classes is not None and len(plan.classes) < 2:
        raise NotExportable(
            "treelite has no classifier of one class; fit it on rows of two, or use to_json"
        )
    if plan.unknown_categories_are_refused:
        raise NotExportable(
            "treelite cannot refuse categories that were not seen at fit, as "
            "unknown_category='error' does; fit with unknown_category='missing', or use to_onnx"
        )


def _values(plan: Plan) -> list[HostArray]:
    """What nodes add; what they add up to is divided beforehand where treelite would not do so."""
    if plan.link != plans.SAMME:
        return list(plan.values)
    scale = plan.divisor * max(1, plan.n_outputs - 1)
    return [value / scale for value in plan.values]


def _metadata(builder: Any, plan: Plan, width: int) -> Any:
    if plan.classes is None:
        task, n_targets, n_classes = "kRegressor", plan.n_outputs, [1] * plan.n_outputs
        shape = (width, 1)
    elif plan.link == plans.LOGISTIC:
        task, n_targets, n_classes, shape = "kBinaryClf", 1, [1], (1, 1)
    else:
        task, n_targets, n_classes = "kMultiClf", 1, [plan.n_outputs]
        shape = (1, width)
    return builder.Metadata(
        num_feature=len(plan.schema.names),
        task_type=task,
        average_tree_output=plan.divisor != 1.0 and plan.link == plans.IDENTITY,
        num_target=n_targets,
        num_class=n_classes,
        leaf_vector_shape=shape,
    )


def _annotation(builder: Any, plan: Plan, width: int) -> Any:
    """The target and the class of each tree; -1 says that it has a say in all."""
    n_trees = len(plan.trees)
    if plan.classes is None:
        target, label = [-1 if width > 1 else 0] * n_trees, [0] * n_trees
    else:
        target = [0] * n_trees
        label = [-1] * n_trees if width > 1 else list(plan.column)
    return builder.TreeAnnotation(num_tree=n_trees, target_id=target, class_id=label)


def _told(plan: Plan) -> dict[str, Any]:
    """What treelite does not need, and who reads the model may."""
    classes = None if plan.classes is None else [str(label) for label in plan.classes.tolist()]
    return {"estimator": plan.estimator, "columns": list(plan.schema.names), "classes": classes}


def _build(builder: Any, plan: Plan, tree: Tree, value: HostArray) -> None:
    builder.start_tree()
    n_keys = tree.n_nodes  # nodes beyond these are steps of a choice among many children
    for node in range(tree.n_nodes):
        builder.start_node(node)
        if tree.is_leaf[node]:
            said = value[node].tolist()
            builder.leaf(said if len(said) > 1 else said[0])
            builder.end_node()
            continue
        n_keys = _split(builder, plan, tree, node, n_keys)
    builder.end_tree()


def _split(builder: Any, plan: Plan, tree: Tree, node: int, n_keys: int) -> int:
    """The test of a node that has been started; how many keys are in use after it."""
    first, missing = int(tree.first_child[node]), int(tree.missing_slot[node])
    test = test_at(plan, tree, node)
    if plan.schema.kinds[test.feature] is not Kind.NOMINAL:
        builder.numerical_test(
            feature_id=test.feature,
            threshold=test.threshold,
            default_left=missing == 0,
            opname="<=",
            left_child_key=first,
            right_child_key=first + 1,
        )
        builder.end_node()
        return n_keys
    others = [slot for slot in range(int(tree.n_children[node])) if slot != missing]
    for turn, slot in enumerate(others):
        is_last = turn == len(others) - 1
        builder.categorical_test(
            feature_id=test.feature,
            default_left=False,
            category_list=_members(plan, test, slot),
            category_list_right_child=False,
            left_child_key=first + slot,
            right_child_key=first + missing if is_last else n_keys,
        )
        builder.end_node()
        if not is_last:
            builder.start_node(n_keys)
            n_keys += 1
    return n_keys


def _members(plan: Plan, test: Test, slot: int) -> list[int]:
    unknown = [len(plan.categories_of(test.feature))] if test.unknown == slot else []
    return test.categories_to(slot) + unknown
