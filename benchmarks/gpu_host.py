"""What the host does for a tree on a GPU: its time and what it asks of the device, without a GPU.

    python benchmarks/gpu_host.py --fakegpu FOLDER

FOLDER holds `fakegpu/` and `ptxrun/`: the real CuPy on a fake CUDA runtime, kernels run on the CPU.
While the host is timed, kernels and copies do nothing, and downloads give what they gave before.
What the driver itself takes for a launch, a copy or a wait is not in these times.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
LEAST_REPEATS = 100
COUNTS = ("launches", "uploads", "downloads", "waits")


def main(args: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fakegpu", type=Path, required=True, help="the folder with fakegpu/")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--features", type=int, default=12)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=LEAST_REPEATS)
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    options = parser.parse_args(args)
    if options.repeats < LEAST_REPEATS:
        parser.error(f"the minimum of fewer than {LEAST_REPEATS} repeats tells little")
    sys.path[:0] = [str(options.fakegpu.resolve()), str(ROOT)]
    from tests.gpu import fake

    fakegpu = fake.install()
    cases = units(options.rows, options.features, options.depth)
    found = {name: fakegpu.host_time(unit, options.repeats) for name, unit in cases.items()}
    print(as_json(found) if options.json else as_table(found))
    problems = fakegpu.problems()
    print("\n".join(problems), file=sys.stderr, end="")
    return 1 if problems else 0


def units(n_rows: int, n_features: int, depth: int) -> dict[str, Callable[[], Any]]:
    """A tree and a round of boosting on a table that is coded already."""
    from gputree.backends.contract import Backend
    from gputree.backends.samples import Samples
    from gputree.boosting.losses import Sample, named
    from gputree.boosting.rounds import Recipe, Rounds
    from gputree.data.target import class_target
    from gputree.ensembles.draws import ContentOrder, Draws
    from gputree.fit.dataset import Dataset
    from gputree.growth.choose_loop import grow_tree
    from gputree.growth.rules import Rules
    from gputree.kernels.criteria import GINI
    from gputree.kernels.losses import LOGISTIC, QUANTILE, Loss

    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, n_features)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + rng.standard_normal(n_rows)
    y = (score > 0).astype(np.int64)
    data = Dataset(X, y, backend="cuda")
    backend: Backend = data.backend
    target, rules = class_target(y, 2, None), Rules(GINI, max_depth=depth)

    def rounds(
        values: Any = y, loss: Loss = LOGISTIC, *, holds_out: bool = False, **more: Any
    ) -> Callable[[], Any]:
        recipe = Recipe(max_depth=depth, min_child_weight=1.0, ridge=1.0, **more)
        own, refine = values.astype(np.float64), None
        if loss.leaf is not None:
            known = named(loss, Sample(own, np.ones(n_rows)))
            loss, refine = known.loss, known.refine
        is_out = np.arange(n_rows) % 10 == 0 if holds_out else None
        inside = None if is_out is None else ~is_out
        given = backend, data.data, data.bins, own, None, np.zeros((1, n_rows)), loss, recipe
        boosting = Rounds(*given, refine, inside, rng.permutation(n_rows))
        if is_out is None:
            return lambda: boosting.some(0, 1)
        row = np.flatnonzero(is_out)
        watched = boosting.watched(row, own[row], np.ones(len(row)))
        return lambda: (boosting.some(0, 1), watched.mean_loss(loss))

    order = ContentOrder.alone(rng.permutation(n_rows))
    sampler = backend.sampler(Samples(target, Draws(0, n_rows, True, order, None, n_rows)))

    def bootstrapped() -> Any:
        own = backend.sampled(sampler, 0)
        return grow_tree(backend, data.data, data.bins, own, rules, 2**28)

    round_of = f"boosting round of depth {depth}"
    return {
        f"tree of depth {depth}": lambda: grow_tree(
            backend, data.data, data.bins, target, rules, 2**28
        ),
        round_of: rounds(),
        f"{round_of}, half of the rows": rounds(row_share=0.5),
        f"{round_of}, early stopping": rounds(holds_out=True),
        f"{round_of}, leaves of a quantile": rounds(score, QUANTILE),
        f"tree of depth {depth} of a bootstrapped forest": bootstrapped,
    }


def as_json(found: dict[str, Any]) -> str:
    return json.dumps(
        {
            name: {
                "milliseconds": 1e3 * own.seconds,
                **{kind: getattr(own, kind) for kind in COUNTS},
            }
            for name, own in found.items()
        },
        indent=2,
    )


def as_table(found: dict[str, Any]) -> str:
    lines = [f"| of the host | milliseconds | {' | '.join(COUNTS)} |", "|---|" + "---|" * 5]
    for name, own in found.items():
        counts = " | ".join(str(getattr(own, kind)) for kind in COUNTS)
        lines.append(f"| {name} | {1e3 * own.seconds:.2f} | {counts} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
