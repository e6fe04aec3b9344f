"""All parts of a report, put together as data that JSON can hold.

Knows estimators; must not know HTML.
"""

import datetime
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gputree.data.inputs import read_table
from gputree.data.table import Table
from gputree.dtypes import HostArray
from gputree.ensembles.base import Ensemble
from gputree.estimators.base import TreeEstimator, checked
from gputree.report.answers import ClassAnswers, NumberAnswers, answers_of
from gputree.report.columns import number_summary, table_summary
from gputree.report.curves import class_curves, confusion
from gputree.report.plain import label, numbers
from gputree.report.pruned import pruning_curve
from gputree.report.reached import MOST_COUNTS, groups_of, node_bars, reached
from gputree.report.residuals import residual_charts
from gputree.report.scores import class_scores, number_scores
from gputree.report.stages import learning_curves
from gputree.report.training import fit_facts, importance_list, parameter_list
from gputree.report.trees import Shown, chosen_trees, room_for, tree_data

VERSION = 1


def report_data(model: Any, X: Any, y: Any, *, title: str | None, max_trees: int) -> dict[str, Any]:
    """All that a page shows about a model and some rows."""
    if not isinstance(model, (TreeEstimator, Ensemble)):
        raise TypeError(
            "a report needs a tree or an ensemble of gputree, such as DecisionTreeClassifier; got "
            f"{type(model).__name__}"
        )
    check_is_fitted(model)
    table = read_table(checked(model, X), like=model.schema_)
    answers = answers_of(model, X, y, table.n_rows)
    names = model.schema_.names
    parts = _class_parts(answers) if isinstance(answers, ClassAnswers) else _number_parts(answers)
    return {
        "version": VERSION,
        "title": title if title is not None else f"{type(model).__name__} report",
        "made": datetime.datetime.now().astimezone().strftime("%d %B %Y, %H:%M"),
        "library": f"gputree {_version()}",
        "model": {
            "name": type(model).__name__,
            "about": _about(model),
            "oob": _oob(model),
            "parameters": parameter_list(model),
            "fit": fit_facts(model),
        },
        "same_size": _same_size(model, table.n_rows),
        "table": table_summary(table) | {"target": _target(answers)},
        "importances": importance_list(model, names),
        "learning": learning_curves(model, X, answers),
        "pruning": _pruning(model),
        "schema": _schema(model),
        "trees": _trees(model, table, answers, max_trees),
        **parts,
    }


def _version() -> str:
    # Not above: the package itself brings reports.
    return str(import_module("gputree").__version__)


def _class_parts(answers: ClassAnswers) -> dict[str, Any]:
    return {
        "task": "classes",
        "classes": list(answers.names),
        "n_unseen": answers.n_unseen,
        "scores": class_scores(answers),
        "confusion": confusion(answers),
        "curves": class_curves(answers),
    }


def _number_parts(answers: NumberAnswers) -> dict[str, Any]:
    return {
        "task": "numbers",
        "classes": None,
        "n_unseen": 0,
        "scores": number_scores(answers),
        "outputs": residual_charts(answers),
        "n_outputs": answers.true.shape[1],
    }


def _target(answers: ClassAnswers | NumberAnswers) -> dict[str, Any]:
    if isinstance(answers, NumberAnswers):
        return number_summary(answers.true[:, 0])
    count = np.bincount(answers.true[answers.known], minlength=len(answers.names))
    return {"count": count.tolist()}


def _about(model: Any) -> list[list[str]]:
    """Sizes in a few words."""
    if isinstance(model, TreeEstimator):
        tree = model.nodes_
        return [
            ["nodes", f"{tree.n_nodes:,}"],
            ["leaves", f"{tree.n_leaves:,}"],
            ["depth", f"{len(tree.levels()) - 1:,}"],
        ]
    n_nodes = sum(member.tree.n_nodes for member in model._members)
    return [["trees", f"{len(model._members):,}"], ["nodes", f"{n_nodes:,}"]]


def _oob(model: Any) -> dict[str, Any] | None:
    oob = getattr(model, "_oob", None)
    return None if oob is None else {"score": float(f"{oob.score:.6g}")}


def _same_size(model: Any, n_rows: int) -> bool:
    """Whether the rows may be those of the training."""
    report = getattr(model, "fit_report_", None)
    return report is not None and report.n_rows == n_rows


def _pruning(model: Any) -> dict[str, Any] | None:
    if not isinstance(model, TreeEstimator):
        return None
    return pruning_curve(model.nodes_, getattr(model, "pruning_report_", None))


def _schema(model: Any) -> dict[str, Any]:
    """What the page has to know to read a row as the model does."""
    schema = model.schema_
    return {
        "names": [label(name) for name in schema.names],
        "kinds": [kind.name.lower() for kind in schema.kinds],
        "categories": [
            None if categories is None else [label(category) for category in categories]
            for categories in schema.categories
        ],
        "has_missing": list(schema.has_missing),
        "unknown": schema.unknown,
        "missing": model.missing_,
    }


def _trees(
    model: Any, table: Table, answers: ClassAnswers | NumberAnswers, max_trees: int
) -> dict[str, Any]:
    chosen = _chosen(model, max_trees)
    room = room_for(chosen)
    group, y = _colours(answers)
    most_counts = MOST_COUNTS // len(chosen)
    found = []
    for shown, n_nodes in zip(chosen, room, strict=True):
        rows = _own(table, shown)
        ends = _stem(model)._ends(shown.tree, rows, model.missing_)
        at = reached(shown.tree, ends)
        found.append(
            tree_data(shown, n_nodes, model.schema_)
            | {
                "bars": node_bars(shown.tree, at, rows, group, y, n_nodes, most_counts),
                "here": numbers(at.weight[:n_nodes]),
            }
        )
    n_trees = len(model._members) if isinstance(model, Ensemble) else 1
    return {"list": found, "n_trees": n_trees, "speaks": _speaks(model)}


def _speaks(model: Any) -> str:
    """What the nodes of the trees hold: weights of classes, means, or terms of a sum."""
    if hasattr(model, "n_iter_"):
        return "adds"
    return "classes" if hasattr(model, "classes_") else "numbers"


def _own(table: Table, shown: Shown) -> Table:
    if shown.columns is None:
        return table
    return Table(tuple(table.columns[at] for at in shown.columns.tolist()), table.n_rows)


def _stem(model: Any) -> Any:
    return model._at() if isinstance(model, Ensemble) else model


def _colours(answers: ClassAnswers | NumberAnswers) -> tuple[HostArray | None, HostArray]:
    """The group of each row, and the number to take means of."""
    if isinstance(answers, ClassAnswers):
        return groups_of(answers.true, len(answers.names)), np.zeros(len(answers.true))
    return None, answers.true[:, 0]


def _chosen(model: Any, max_trees: int) -> list[Shown]:
    if isinstance(model, TreeEstimator):
        return [Shown(type(model).__name__, model.nodes_)]
    members = model._members
    n_a_round = model._trees_a_round()
    say = getattr(model, "estimator_weights_", None)
    found = []
    for at in chosen_trees(len(members), max_trees):
        name, note = f"Tree {at + 1}", ""
        if n_a_round > 1:
            name = f"Round {at // n_a_round + 1}, class {model.classes_[at % n_a_round]}"
        elif hasattr(model, "n_iter_"):
            name = f"Round {at + 1}"
        if say is not None:
            note = f"weight {say[at]:.4g}"
        found.append(Shown(name, members[at].tree, members[at].columns, note))
    return found
