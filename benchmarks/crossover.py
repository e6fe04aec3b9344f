"""From how many cells (rows x features) on compiled kernels fit a tree faster than NumPy.

Prints the two constants of gputree/backends/registry.py: LOADED_CELLS, for a process that has the
kernels loaded, and KEPT_CELLS, for the first fit of a fresh process whose kernels are on disk.

python benchmarks/crossover.py --rows 50,500,2k,10k,40k,100k,400k --repeats 7 --starts 3
"""

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cases import Case, read_case
from contestants import Job, available_cores, gputree_with
from curves import crossing
from measure import Plan, measure
from progress import Progress
from report import figure, table

BACKENDS = ("numpy", "numba")
CONSTANTS = {"LOADED_CELLS": "fit", "KEPT_CELLS": "first"}  # and what each compares

Curves = dict[tuple[str, str], list[tuple[float, float]]]  # by backend and kind of time


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    depths = options.depths.split(",")
    progress = Progress(len(depths) * len(options.rows.split(",")))
    found: dict[str, list[float | None]] = {name: [] for name in CONSTANTS}
    with tempfile.TemporaryDirectory(prefix="gputree-cache-") as cache:
        for depth in depths:
            curves = measure_curves(options, depth, Path(cache), progress)
            print(f"\n{depth}:\n\n{as_table(curves)}")
            for name, verb in CONSTANTS.items():
                found[name].append(crossing(curves["numpy", verb], curves["numba", verb]))
    least = min(int(size) for size, _ in curves["numpy", "fit"])
    print(f"\ncells from which numba is faster, for depths {options.depths}:\n")
    for name, cells in found.items():
        print(constant(name, cells, least))


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", default="50,500,2k,10k,40k,100k,400k")
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--depths", default="d8,full", help="d8 is depth 8, full is unlimited")
    parser.add_argument("--repeats", type=int, default=7, help="warm rounds")
    parser.add_argument("--starts", type=int, default=3, help="fresh processes")
    parser.add_argument("--threads", type=int, default=available_cores())
    return parser.parse_args(argv)


def measure_curves(
    options: argparse.Namespace, depth: str, cache: Path, progress: Progress
) -> Curves:
    """Seconds against cells, for each backend, of first and of later fits."""
    curves: Curves = {(backend, verb): [] for backend in BACKENDS for verb in CONSTANTS.values()}
    for rows in options.rows.split(","):
        case = read_case(f"{rows}x{options.features}-2c-{depth}")
        progress.begin(case.name)
        times = measure_case(case, options, cache, progress)
        for key, second in times.items():
            curves[key].append((case.rows * case.features, second))
        progress.end()
    return curves


def measure_case(
    case: Case, options: argparse.Namespace, cache: Path, progress: Progress
) -> dict[tuple[str, str], float]:
    made = case.load()
    job = Job(case.rows, case.features, case.classes, case.depth, options.threads)
    plan = Plan(options.repeats, options.starts, allow_slow=True)
    contestants = [gputree_with(backend) for backend in BACKENDS]
    results = measure(made, job, contestants, plan, cache, progress.tell)
    return {
        (backend, verb): results[f"gputree-{backend}"]["seconds"][verb]["median"]
        for backend in BACKENDS
        for verb in CONSTANTS.values()
        if verb in results[f"gputree-{backend}"]["seconds"]
    }


def as_table(curves: Curves) -> str:
    """A line for each number of cells."""
    columns = {key: dict(curve) for key, curve in curves.items()}
    sizes = sorted({size for column in columns.values() for size in column})
    rows = [
        [f"{size:,.0f}", *(figure(column.get(size)) for column in columns.values())]
        for size in sizes
    ]
    return table(["cells", *(f"{backend} {verb} s" for backend, verb in columns)], rows)


def constant(name: str, cells: Sequence[float | None], least: int) -> str:
    """A line of Python: the geometric mean over the depths, and what it is made of."""
    texts = [crossing_text(each, least) for each in cells]
    known = [each for each in cells if each is not None]
    if len(known) < len(cells):
        return f"# {name}: {', '.join(texts)}"
    mean = math.exp(sum(math.log(each) for each in known) / len(known))
    return f"{name} = {rounded(mean):_}  # {', '.join(texts)}"


def crossing_text(cells: float | None, least: int) -> str:
    if cells is None:
        return "never within the sizes"
    return f"{cells:,.0f}" if cells > least else f"{least:,} or fewer"


def rounded(number: float) -> int:
    """To one significant digit: a crossing is not known better."""
    return int(round(number, -math.floor(math.log10(number))))


if __name__ == "__main__":
    main()
