"""`gputree prune`: prune a saved tree.

Knows models and files; must not know how trees are pruned.
"""

from typing import Any

import click

from gputree.cli.options import (
    OneOf,
    TableName,
    documented,
    known_target_option,
    model_argument,
    output_of,
    output_option,
    set_option,
    text_options,
)
from gputree.cli.output import Output, a, fact, writing

# Those of gputree.pruning, whose import takes long; a test compares the two.
METHODS = (
    *("cost_complexity", "reduced_error", "pessimistic", "minimum_error"),
    *("critical_value", "error_based", "pre"),
)

EXAMPLES = """\
  gputree prune houses.gputree other_houses.csv --method reduced_error
  gputree prune houses.gputree houses.csv --method cost_complexity --set cv=5
  gputree prune houses.gputree --method pessimistic -o small.gputree
"""


@documented(EXAMPLES)
@model_argument
@click.argument("table", type=TableName(), required=False)
@click.option(
    "--method",
    type=OneOf(METHODS),
    required=True,
    metavar="NAME",
    help=f"The pruning method: {', '.join(METHODS)}.",
)
@set_option("An option of the method, such as alpha=0.01")
@known_target_option
@text_options
@output_option("Where to save the smaller model (default: MODEL-pruned.gputree)")
def command(**options: Any) -> int:
    """Prune the tree of a saved model and save the smaller one.

    TABLE holds the rows that pruning is judged on: rows that were not used in training for
    reduced_error and pre, the training rows for cost_complexity and error_based. The other methods
    need no table; if one is given, the scores before and after are shown.
    """
    output = output_of(options)
    place = options["output"] or options["model"].with_name(
        f"{options['model'].stem}-pruned.gputree"
    )

    from gputree.cli.models import is_ensemble, shape_of
    from gputree.cli.rows import load_model
    from gputree.cli.settings import read_settings
    from gputree.cli.sources import check_result
    from gputree.pruning.methods import method_of

    check_result(place, options)
    model = load_model(options["model"], output)
    if is_ensemble(model) or not hasattr(model, "prune"):
        raise ValueError(
            f"{options['model']} holds {a(type(model).__name__)}; only single trees can be pruned "
            "after training"
        )
    method = method_of(options["method"], **read_settings(options["settings"]))
    pruned, before, after = _pruned(model, method, options, output)
    with writing(place):
        pruned.save(place)
    report = pruned.pruning_report_
    lines = [str(report)]
    lines += [
        fact(f"{name}", f"{before[name]:.4g} before, {after[name]:.4g} after") for name in before
    ]
    lines.append(f"\n{fact('model', place)}")
    data = {
        "command": "prune",
        "method": report.method,
        "shape": {"before": shape_of(model), "after": shape_of(pruned)},
        "error": {"before": report.error[0], "after": report.error[1], "on": report.measured_on},
        "alpha": report.alpha,
        "scores": {"before": before, "after": after} if before else None,
        "files": {"model": str(place)},
    }
    output.show("\n".join(lines), data)
    return 0


def _pruned(
    model: Any, method: Any, options: dict[str, Any], output: Output
) -> tuple[Any, dict[str, float], dict[str, float]]:
    """The smaller model, and the scores of both where there are rows."""
    from gputree.cli.models import task_of
    from gputree.cli.rows import note_unused, read_known
    from gputree.cli.scoring import Rows, scores

    needs = method.needs_now()
    if options["table"] is None:
        if needs != "nothing":
            is_training = needs in ("folds", "training")
            which = "the training rows" if is_training else "rows that were not used in training"
            raise ValueError(f"--method {method.name} needs {which}: give TABLE after MODEL")
        return model.prune(method), {}, {}
    target = options["target"]
    known = read_known(model, options, output)
    y = known.answers(target)
    note_unused(known, output, known.target_name(target))
    with output.waiting("pruning"):
        pruned = model.prune(method) if needs == "nothing" else model.prune(method, known.X, y)
    rows, task = Rows(known.X, y), task_of(model)
    with output.waiting("scoring"):
        return pruned, scores(model, rows, task), scores(pruned, rows, task)
