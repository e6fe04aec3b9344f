"""Models for ONNX, in double precision.

One TreeEnsemble (ai.onnx.ml 5) holds all trees: thresholds, and groups of categories as sets. A
leaf has one target there, so a tree is written once for each of its outputs. Nodes with surrogates
are decided before the trees, all at once; the trees then test what was decided. Combinations of
columns are worked out before the trees, too, term after term, so that they have the bits of the
model, and are missing where one of their values is. Knows plans; onnx is imported when it is
needed.
"""

from typing import Any

import numpy as np

from gputree.export import plan as plans
from gputree.export.onnx_graph import Graph
from gputree.export.onnx_inputs import read_inputs, with_combinations
from gputree.export.onnx_trees import Ensemble
from gputree.export.plan import NotExportable, Plan

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10  # the first with TreeEnsemble, and what goes with it


def to_onnx(plan: Plan, missing_text: str) -> Any:
    """The model as an onnx.ModelProto."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs onnx; pip install 'gputree-ml[export]'") from error
    plan.refuse_divided("ONNX")
    graph = Graph(onnx)
    table, refused = read_inputs(graph, plan, missing_text)
    ensemble = Ensemble(plan)
    table = with_combinations(graph, plan, table)
    table = ensemble.decide(graph, table)
    answer = _linked(graph, plan, _combined(graph, plan, ensemble, table))
    if refused is not None:
        answer = graph.add("Where", refused, graph.constant(np.array(np.nan)), answer)
    _name_outputs(graph, plan, answer)
    model = onnx.helper.make_model(
        graph.proto(plan.estimator),
        opset_imports=[
            onnx.helper.make_opsetid("", OPSET),
            onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET),
        ],
        ir_version=IR_VERSION,
        producer_name="gputree",
    )
    onnx.checker.check_model(model)
    return model


def _combined(graph: Graph, plan: Plan, ensemble: Ensemble, table: str) -> str:
    """What the trees say together, (rows, outputs)."""
    if plan.combine == plans.MEDIAN:
        return _median(graph, plan, ensemble.add_to(graph, table, is_apart=True))
    total = ensemble.add_to(graph, table)
    if plan.start.any():
        total = graph.add("Add", total, graph.constant(plan.start))
    if plan.divisor != 1.0:
        total = graph.add("Div", total, graph.constant(np.array(plan.divisor)))
    return total


def _median(graph: Graph, plan: Plan, said: str) -> str:
    """The median by the say of the trees: equal answers keep the order of the trees."""
    assert plan.say is not None
    n_trees = graph.constant(np.array([len(plan.trees)], np.int64))
    ordered, order = graph.add("TopK", said, n_trees, axis=1, largest=0, sorted=1, n_outputs=2)
    say = graph.add("Gather", graph.constant(plan.say), order)
    reached = graph.add("CumSum", say, graph.constant(np.array(1, np.int64)))
    last = graph.constant(np.array([len(plan.trees) - 1], np.int64))
    all_say = graph.add("Gather", reached, last, axis=1)
    half = graph.add("Mul", all_say, graph.constant(np.array(0.5)))
    is_reached = graph.add("GreaterOrEqual", reached, half)
    number = graph.add("Cast", is_reached, to=graph.onnx.TensorProto.INT32)
    first = graph.add("ArgMax", number, axis=1, keepdims=1)
    return graph.add("GatherElements", ordered, first, axis=1)


def _linked(graph: Graph, plan: Plan, total: str) -> str:
    if plan.link == plans.EXPONENTIAL:
        return graph.add("Exp", total)
    if plan.link == plans.LOGISTIC:
        second = graph.add("Sigmoid", total)
        first = graph.add("Sub", graph.constant(np.array(1.0)), second)
        return graph.add("Concat", first, second, axis=1)
    if plan.link == plans.SAMME:
        # With two classes the difference counts, and that is what softmax looks at.
        scale = graph.constant(np.array(float(max(1, plan.n_outputs - 1))))
        total = graph.add("Div", total, scale)
    if plan.link in (plans.SOFTMAX, plans.SAMME):
        return graph.add("Softmax", total, axis=1)
    return total


def _name_outputs(graph: Graph, plan: Plan, answer: str) -> None:
    kinds = graph.onnx.TensorProto
    if plan.classes is None:
        graph.output(answer, "prediction", kinds.DOUBLE, [None, plan.n_answers])
        return
    graph.output(answer, "probabilities", kinds.DOUBLE, [None, plan.n_answers])
    labels = plan.classes.tolist()
    if all(type(label) is str for label in labels):
        table, kind = np.array(labels, object), kinds.STRING
    elif all(type(label) in (int, bool) for label in labels):
        table, kind = np.array(labels, np.int64), kinds.INT64
    elif all(type(label) is float for label in labels):
        table, kind = np.array(labels, np.float64), kinds.DOUBLE
    else:
        raise NotExportable(
            "the class labels are of several types, and an output of ONNX has one; convert them "
            "to text before the fit, or use to_json"
        )
    best = graph.add("ArgMax", "probabilities", axis=1, keepdims=0)
    graph.output(graph.add("Gather", graph.constant(table), best), "label", kind, [None])
