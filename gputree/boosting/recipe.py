"""From the parameters of a boosted model to the recipe of its trees."""

from typing import TYPE_CHECKING

from gputree.boosting.rounds import Recipe
from gputree.boosting.run import BoostRun, counted
from gputree.data.exact import exact_sum
from gputree.dtypes import HostArray
from gputree.estimators import parameters
from gputree.estimators.constraints import read_constraints
from gputree.growth.constraints import Constraints
from gputree.growth.finish import Finish

if TYPE_CHECKING:
    from gputree.boosting.model import GradientBoosting

# Groups of many categories are chosen from many, and need more to be believed.
CATEGORY_RIDGE = 10.0


def recipe_of(model: "GradientBoosting", run: BoostRun, inside: HostArray | None) -> Recipe:
    """How the trees of a run are grown; `inside` are the rows that are not held out."""
    assert run.named is not None
    n_rows, n_features = run.fit.dataset.n_everywhere, run.fit.dataset.n_features
    split = parameters.count_or_share("min_samples_split", model.min_samples_split, 2, n_rows)
    min_category, most_whole = parameters.rare_categories(model.min_samples_category)
    # G / (b H + ridge) is 1 / b of G / (H + ridge / b): kernels need not know of the bend.
    bend = run.named.bend
    return Recipe(
        learning_rate=float(model.learning_rate) / bend,
        most_step=run.named.most_step,
        weight_exponent=run.weight_exponent,
        max_depth=model.max_depth,
        max_leaves=model.max_leaf_nodes,
        min_rows_split=split,
        min_rows_leaf=model.min_samples_leaf,
        min_child_weight=run.weighed(float(model.min_child_weight) / bend),
        min_gain=_min_gain(model, run, inside) * bend,
        ridge=run.weighed(float(model.l2_regularization) / bend),
        category_ridge=run.weighed(CATEGORY_RIDGE / bend),
        min_rows_category=min_category,
        most_whole=most_whole,
        row_share=float(model.subsample),
        column_share=float(model.colsample_bytree),
        n_drawn=parameters.n_drawn(model.max_features, n_features),
        constraints=_constraints(model, run),
        seed=run.seed,
        missing=model.missing,
        budget=run.fit.budget,
        finish=Finish(None, missing=model.missing, is_by_codes=True),
    )


def _min_gain(model: "GradientBoosting", run: BoostRun, inside: HostArray | None) -> float:
    """What a split must gain, in the units of the weights of rows."""
    least = run.weighed(float(model.min_split_gain))
    if not model.min_impurity_decrease:
        return least
    weight = counted(run.weight, run.target)
    # The order of the rows must not change a sum of floats.
    total = exact_sum(weight if inside is None else weight[inside], run.fit.dataset.comm)
    return max(least, float(model.min_impurity_decrease) * total * float(model.subsample))


def _constraints(model: "GradientBoosting", run: BoostRun) -> Constraints | None:
    assert run.named is not None
    dataset = run.fit.dataset
    ways, groups = model.monotonic_cst, model.interaction_cst
    found = read_constraints(ways, groups, dataset, type(model).__name__)
    if found is None or not found.monotone.any():
        return found
    if model._n_outputs(run.learned) > 1:
        raise ValueError(
            "monotonic constraints are not supported for multiclass classification: "
            "probabilities of several classes cannot all rise; use two classes"
        )
    if run.named.refine is not None:
        raise ValueError(
            "monotonic_cst bounds leaf values, but the leaves of this loss are quantiles; use "
            "another loss"
        )
    return found
