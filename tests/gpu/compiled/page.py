"""The table of docs/gpu.md, from the budget alone."""

from pathlib import Path
from typing import Any

from tests.gpu.compiled.budget import Budget
from tests.gpu.compiled.occupancy import LIMITS, occupancy

FILE = Path(__file__).parents[3] / "docs" / "gpu.md"
BEGIN = "<!-- made by: python -m tests.gpu.compiled --write -->\n"
END = "<!-- end -->\n"


def write(budget: Budget) -> None:
    """Put the table of a budget between the marks."""
    before, _, rest = FILE.read_text().partition(BEGIN)
    FILE.write_text(before + BEGIN + table(budget) + END + rest.partition(END)[2])


def written() -> str:
    """The table that is there."""
    return FILE.read_text().partition(BEGIN)[2].partition(END)[0]


def table(budget: Budget) -> str:
    header = ["kernel", "threads", "shared", *LIMITS]
    rows = [header, ["---"] * len(header), *(_row(*item) for item in budget.items())]
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def _row(name: str, entry: dict[str, Any]) -> list[str]:
    most_own = max(entry["shared"].values())
    shared = " or ".join(_size(most_own + dynamic) for dynamic in entry["dynamic shared"])
    return [name, str(entry["threads"]), shared, *(_cell(entry, each) for each in LIMITS)]


def _cell(entry: dict[str, Any], architecture: str) -> str:
    """Registers of a thread, and the share of threads for each size of shared memory."""
    registers, own = entry["registers"][architecture], entry["shared"][architecture]
    shares = [
        f"{occupancy(architecture, entry['threads'], registers, own + dynamic):.0%}"
        for dynamic in entry["dynamic shared"]
    ]
    return f"{registers}: {' or '.join(shares)}"


def _size(n_bytes: int) -> str:
    return f"{n_bytes // 1024} KB" if n_bytes >= 1024 and n_bytes % 1024 == 0 else f"{n_bytes} B"
