"""The most registers and shared memory that each kernel may take, as kept in budget.json."""

import json
from pathlib import Path
from typing import Any

from tests.gpu.compiled.facts import Facts

FILE = Path(__file__).parents[1] / "budget.json"

Budget = dict[str, dict[str, Any]]


def read() -> Budget:
    budget: Budget = json.loads(FILE.read_text())
    return budget


def write(budget: Budget) -> None:
    """One line for each kernel, so that a change shows in a diff."""
    lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in budget.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def of(cases: list[Any], facts: dict[str, dict[str, Facts]]) -> Budget:
    """What the kernels take now."""
    return {
        case.name: {
            "threads": case.threads,
            "dynamic shared": list(case.shared),
            **{kind: _by_architecture(facts[case.name], kind) for kind in ("registers", "shared")},
        }
        for case in cases
    }


def over(budget: Budget, facts: dict[str, dict[str, Facts]]) -> list[str]:
    """Kernels that take more than they may."""
    return [
        f"{name}, {architecture}: {own[kind]} {kind}, {budget[name][kind][architecture]} allowed"
        for name, by_architecture in facts.items()
        for architecture, own in by_architecture.items()
        for kind in ("registers", "shared")
        if own[kind] > budget[name][kind][architecture]
    ]


def _by_architecture(facts: dict[str, Facts], kind: str) -> dict[str, int]:
    return {architecture: own[kind] for architecture, own in facts.items()}
