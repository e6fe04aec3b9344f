"""`gputree train`: fit a model to a table, score it, print it and save it.

Knows the steps of a training; must not know how any of them is done.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gputree.cli.models import MODELS, TASKS
from gputree.cli.options import (
    CountOrShare,
    Depth,
    OneOf,
    Share,
    documented,
    output_of,
    output_option,
    seed_option,
    set_option,
    table_argument,
    target_option,
    text_options,
)
from gputree.cli.output import Output, count, fact

if TYPE_CHECKING:
    from gputree.cli.results import Result

TEST_SHARE = 0.25  # where nothing else is asked for
# Parameters of estimators that are options of their own.
OWN = (
    *("criterion", "max_depth", "min_samples_leaf", "max_bins", "n_estimators", "learning_rate"),
    *("pruning", "device", "backend", "n_jobs"),
)

EXAMPLES = """\
  gputree train iris
  gputree train diabetes --max-depth 3 --min-samples-leaf 10
  gputree train iris --model forest --n-estimators 50 --folds 5
  gputree train houses.csv --target price --ignore id --category postcode
  gputree train houses.csv --ordered "state=poor,fair,good" --model boosting
  gputree train houses.csv --model cart --set max_surrogates=3 --set criterion=twoing
  gputree train large.parquet --target y --stream
  gputree train large/ --target y --cluster tcp://scheduler:8786
  mpiexec -n 4 gputree train large/ --target y
"""


@documented(EXAMPLES)
@table_argument
@target_option
@click.option(
    "--model",
    type=OneOf(list(MODELS)),
    default="tree",
    metavar="NAME",
    help=f"What to fit: {', '.join(MODELS)} (default: tree).",
)
@set_option("A parameter of the estimator, its value as in Python")
@click.option("--task", type=OneOf(TASKS), help="The task (default: by the target).")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out.")
@click.option("--category", multiple=True, metavar="COLUMN", help="Treat a column as categories.")
@click.option("--number", multiple=True, metavar="COLUMN", help="Treat a column as numbers.")
@click.option("--ordered", multiple=True, metavar="COL=LOW,HIGH", help="Ordered categories.")
@click.option(
    "--drop-missing-target",
    is_flag=True,
    help="Leave out rows whose target is missing, instead of refusing the table.",
)
@click.option("--weight", metavar="COLUMN", help="The column with the sample weights.")
@click.option(
    "--test-share",
    type=Share(),
    help=f"The share of the rows to hold out; 0 for none (default: {TEST_SHARE}).",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="K",
    help="Score by cross-validation instead; the model is then fitted on all rows.",
)
@seed_option
@click.option("--criterion", metavar="NAME", help="The split criterion.")
@click.option("--max-depth", type=Depth(), help="Maximum depth of a tree, or none.")
@click.option("--min-samples-leaf", type=CountOrShare(), help="Minimum rows in a leaf.")
@click.option("--max-bins", type=int, metavar="N", help="Maximum bins per feature.")
@click.option("--n-estimators", type=int, metavar="N", help="The number of trees.")
@click.option(
    "--learning-rate",
    type=float,
    metavar="R",
    help="The factor that shrinks the contribution of each tree.",
)
@click.option("--pruning", metavar="METHOD", help="The pruning method.")
@click.option("--device", metavar="NAME", help="auto, cpu, cuda or cuda:N (default: auto).")
@click.option("--backend", metavar="NAME", help="numpy, numba, cuda, cupy or torch.")
@click.option("--n-jobs", type=int, metavar="N", help="The number of threads.")
@click.option("--stream", is_flag=True, help="Read a file larger than memory in chunks.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Train on the workers of a Dask scheduler, such as tcp://scheduler:8786, who read TABLE.",
)
@text_options
@output_option("Where to save the model (default: TABLE.gputree in the current folder)")
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to save the report: a page as .html, the printed text as .txt (default: beside the "
    "model, ending in .html).",
)
@click.option("--no-report", is_flag=True, help="Save the model only.")
def command(**options: Any) -> int:
    """Fit a model to a table, score it, print it and save it.

    TABLE is a bundled table (iris, wine, breast_cancer, digits, diabetes) or a file: CSV, TSV,
    Parquet, Arrow or ARFF, also compressed with gzip. Empty cells, NA, NaN and ? are missing.
    ./iris is a file of that name. The output shows how each column is treated; options change it.
    """
    output = output_of(options)

    from gputree.cli.results import places, save
    from gputree.cli.spread import crew_of, is_spread, train_spread

    together = is_spread(options)
    options["stream"] = options["stream"] or together
    where = places(options)  # before the work: a fit may take long
    _check(options)
    if together:
        with crew_of(options) as crew:
            result = train_spread(options, wanted(options), output, crew)
    elif options["stream"]:
        from gputree.cli.streamed import train_streamed

        result = train_streamed(options, wanted(options), output)
    else:
        result = _train(options, output)
    # Before the printing: the end of a pipe must not cost the model.
    save(result, where, output)
    lines = [fact("seconds", result.seconds.text()), fact("model", where.model)]
    if where.report is not None:
        how = "; open it in a browser" if where.is_page else ""
        lines.append(fact("report", f"{where.report}{how}"))
    data = {**result.data, "seconds": result.seconds.seconds, "files": where.files()}
    output.show("\n".join([result.text, "", *lines]), {"command": "train", **data})
    return 0


def _check(options: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
    if options["folds"] is not None and options["test_share"] is not None:
        raise ValueError("--folds and --test-share are two ways to score; give one of them")
    if options["folds"] is not None:
        options["test_share"] = 0.0
    elif options["test_share"] is None and not options["stream"]:
        options["test_share"] = TEST_SHARE


def wanted(options: dict[str, Any]) -> Any:
    """The estimator that the options describe."""
    from gputree.cli.models import Wanted
    from gputree.cli.settings import read_settings

    given = {name: options[name] for name in OWN if options[name] is not None}
    if given.get("max_depth") == "none":
        given["max_depth"] = None
    settings = read_settings(options["settings"])
    for name in given:
        if name in settings:
            raise ValueError(
                f"--{name.replace('_', '-')} and --set {name} set the same thing; give one"
            )
    return Wanted(options["model"], {"random_state": options["seed"], **given}, settings)


def _train(options: dict[str, Any], output: Output) -> "Result":
    """A model of a table in memory, and what there is to say of it."""
    from gputree.cli import answers, columns, results, scoring, sources, summary

    clock = results.Clock()
    wish = wanted(options)
    source = sources.read(options, output)
    target = answers.target_name(source, options["target"])
    wishes = columns.Wishes(
        options["category"],
        options["number"],
        columns.read_ordered(options["ordered"]),
        options["ignore"],
    )
    taken = {target: "--target"}
    if options["weight"] is not None:
        if options["weight"] == target:
            raise ValueError(f"--weight {target} is the target; choose another column")
        taken[options["weight"]] = "--weight"
    wishes.check(source, taken)
    n_left = 0
    if options["drop_missing_target"]:
        source, n_left = answers.with_answers(source, target)
    cure = ", or give --drop-missing-target"
    y, task, reason = answers.read_answers(source, target, options["task"], cure)
    weight = answers.read_weights(source, options["weight"])
    wish.make(task)  # refuses wrong parameters before the columns are read
    told = columns.features(source, list(taken), wishes)
    output.look([*source.notes, *(each.doubt for each in told)])
    if n_left:
        output.note(f"{count(n_left, 'row')} without a target left out")
    rows = scoring.Rows(summary.table_of(told), y, weight)
    seed = options["seed"]
    train, test, how = scoring.divide(rows, task, options["test_share"], seed)
    clock.lap("reading")
    folds = None
    if options["folds"] is not None:
        folds = scoring.fold_scores(
            lambda: wish.make(task), rows, task, options["folds"], seed, output
        )
        clock.lap("folds")
    model = scoring.fit(wish.make(task), train, output, "training")
    clock.lap("training")
    with output.waiting("scoring"):
        training = summary.Training(
            *(source, target, told, task, reason, train, test, how, folds, model),
            is_depth_default=wish.is_depth_default,
        )
    clock.lap("scoring")
    output.look(training.doubts())
    judged = train if test is None else test
    title = f"{source.stem}: {target}, {count(len(judged), training.judged_on[:-1])}"
    return results.Result(model, training.text(), training.data(), clock, judged, title)
