"""What a tree should take on a GPU: a prediction from counted work, not a measurement.

    python benchmarks/gpu_model.py --rows 10M --features 28 --depth 8
    python benchmarks/gpu_model.py --rows 10M --features 28 --trees 100

Every kernel's bytes and atomics follow from its code, issue slots from counting them (see
`tests/gpu/costs.json`); time is the largest of what memory, shared atomics and issue allow.
"""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

from cases import whole

COSTS = json.loads((Path(__file__).parents[1] / "tests/gpu/costs.json").read_text())

WAVEFRONTS = 3.53  # of a shared atomic by 32 lanes with random cells
LAUNCHES, WAITS = 8, 1  # per level
# Of the host per level, by `benchmarks/gpu_host.py`: 1.33 ms for a tree of depth 8.
HOST_SECONDS = 0.17e-3
# Of the driver, which that leaves out: assumptions.
LAUNCH_SECONDS, WAIT_SECONDS = 3e-6, 15e-6
OPERATIONS = 40  # in double precision, of a candidate: both sides of missing values counted

# Of forests of unlimited depth, in which each node draws the square root of all features. First
# what is assumed of their trees: inner nodes over rows, how many times the depth of a balanced tree
# a row goes down, and the longest way of all.
INNER_SHARE, UNBALANCED, MOST_LEVELS = 0.1, 1.5, 60
DISTINCT = 0.632  # of the rows that a tree draws
FEW_ROWS = 512  # of the largest node that has no sums: `Tuning.few_rows`
FOREST_LAUNCHES = 10  # per level
# Issue slots of a warp for a row and a drawn feature in a node of few rows: an estimate, from some
# 900 instructions for 20 rows; not counted.
FEW_SLOTS = 40
# What is read of a row for such a node: a sector of codes, of weights and of classes each.
FEW_BYTES = 3 * 32 + 4
FLAG_BYTES = 512  # of a tile of rows, written and read: a small node is a tile
# Of the two kernels of one block for a node: an assumption. Of the host, to make a tree of what the
# device tells: 0.05 s of one core for 181,000 nodes.
NODE_SECONDS, HOST_NODE_SECONDS = 20e-9, 0.28e-6


@dataclass(frozen=True)
class Card:
    """What a card can do at most."""

    name: str
    n_sms: int
    clock: float  # Hz
    bandwidth: float  # bytes a second
    doubles: float  # operations in double precision a second

    @property
    def shared_atomics(self) -> float:
        return self.n_sms * self.clock * 32 / WAVEFRONTS

    @property
    def issue_slots(self) -> float:
        return self.n_sms * self.clock * 4


CARDS = (
    Card("A100-80", 108, 1.41e9, 2.04e12, 9.7e12),
    Card("H100 SXM", 132, 1.83e9, 3.35e12, 33.5e12),
    Card("L4", 58, 2.04e9, 0.30e12, 0.47e12),
)


@dataclass(frozen=True)
class Work:
    """What a kernel does in a whole tree."""

    name: str
    n_bytes: float  # to and from device memory
    n_atomics: float = 0.0  # in shared memory
    n_slots: float = 0.0
    n_operations: float = 0.0  # in double precision

    def seconds(self, card: Card) -> float:
        return max(
            self.n_bytes / card.bandwidth,
            self.n_atomics / card.shared_atomics,
            self.n_slots / card.issue_slots,
            self.n_operations / card.doubles,
        )


def tree_work(n_rows: int, n_features: int, depth: int, n_classes: int) -> list[Work]:
    """The kernels of one tree on class counts; half of the rows are summed below the root."""
    passes = 1 + (depth - 1) / 2
    n_groups = -(-n_features // 16)
    code_bytes = 16 * n_groups
    cells = n_features * 256 * n_classes
    hist_nodes = 2**depth - 1
    candidates = hist_nodes * n_features * 256
    slots = COSTS["class counts"]["issue slots of a row and feature"]
    updates = passes * n_rows * n_features
    return [
        Work("sum", passes * n_rows * (code_bytes + n_groups * 5), updates, updates / 32 * slots),
        # Sums of parents and siblings are read, their difference is written, and read again.
        Work("search", hist_nodes * cells * 4 * 4.5, n_operations=candidates * OPERATIONS),
        Work("route", depth * n_rows * (4 + 1 + 1 / 4 + 4 + 4)),
    ]


def forest_work(n_rows: int, n_features: int, n_classes: int) -> list[Work]:
    """The kernels of one tree of a forest of unlimited depth, on the rows that it has drawn."""
    rows, inner, n_drawn = DISTINCT * n_rows, INNER_SHARE * n_rows, math.isqrt(n_features)
    depth, summed = (UNBALANCED * math.log2(n) for n in (inner, rows / FEW_ROWS))
    # Nodes with sums: all that a balanced tree has, and as many more as it is unbalanced.
    large = UNBALANCED * 2 * rows / FEW_ROWS
    passes, n_groups = 1 + (summed - 1) / 2, -(-n_features // 16)
    row_bytes = n_groups * (16 + 4 + 1 + 4)
    updates = passes * rows * n_features
    slots = COSTS["gradients"]["issue slots of a row and feature"]  # a weight and a one, too
    cells = n_features * 256 * (n_classes + 1)  # 32 bits each
    few = (depth - summed) * rows
    return [
        Work("sum", passes * rows * row_bytes, 2 * updates, updates / 32 * slots),
        Work("search", large * cells * 4 * 4.5, 0.0, 0.0, large * n_features * 256 * OPERATIONS),
        Work(
            "search in few rows",
            few * FEW_BYTES,
            n_slots=few * n_drawn * FEW_SLOTS,
            n_operations=few * n_drawn * 2 * OPERATIONS,
        ),
        Work("route", depth * rows * (4 + 1 + 1 / 4 + 4 + 4) + inner * FLAG_BYTES),
    ]


def print_forest(n_rows: int, n_features: int, n_classes: int, n_trees: int) -> None:
    """Print the prediction of a forest as a table: a tree in milliseconds, all trees in seconds."""
    work, inner = forest_work(n_rows, n_features, n_classes), INNER_SHARE * n_rows
    of_level = HOST_SECONDS + FOREST_LAUNCHES * LAUNCH_SECONDS + WAITS * WAIT_SECONDS
    same = {
        "decide and settle": inner * NODE_SECONDS,
        "host, launches and waits": MOST_LEVELS * of_level,
        "host, the finished tree": 2 * inner * HOST_NODE_SECONDS,
    }
    print("| milliseconds | " + " | ".join(card.name for card in CARDS) + " |")
    print("|---|" + "---|" * len(CARDS))
    for each in work:
        print(
            f"| {each.name} | " + " | ".join(f"{1e3 * each.seconds(c):.1f}" for c in CARDS) + " |"
        )
    for name, seconds in same.items():
        print(f"| {name} | " + " | ".join(f"{1e3 * seconds:.1f}" for _ in CARDS) + " |")
    totals = [sum(each.seconds(card) for each in work) + sum(same.values()) for card in CARDS]
    print("| **tree** | " + " | ".join(f"**{1e3 * total:.0f}**" for total in totals) + " |")
    whole = " | ".join(f"**{n_trees * total:.0f} s**" for total in totals)
    print(f"| **{n_trees} trees** | {whole} |")


def main() -> None:
    """Print the prediction as a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="10M")
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--trees", type=int, help="a forest of so many trees of unlimited depth")
    options = parser.parse_args()
    if options.trees is not None:
        print_forest(whole(options.rows), options.features, options.classes, options.trees)
        return
    work = tree_work(whole(options.rows), options.features, options.depth, options.classes)
    print("| milliseconds | " + " | ".join(card.name for card in CARDS) + " |")
    print("|---|" + "---|" * len(CARDS))
    for each in work:
        cells = " | ".join(f"{1e3 * each.seconds(card):.2f}" for card in CARDS)
        print(f"| {each.name} | {cells} |")
    of_level = HOST_SECONDS + LAUNCHES * LAUNCH_SECONDS + WAITS * WAIT_SECONDS
    host = options.depth * of_level
    print("| host, launches and waits | " + " | ".join(f"{1e3 * host:.2f}" for _ in CARDS) + " |")
    totals = [sum(each.seconds(card) for each in work) + host for card in CARDS]
    print("| **tree** | " + " | ".join(f"**{1e3 * total:.1f}**" for total in totals) + " |")


if __name__ == "__main__":
    main()
