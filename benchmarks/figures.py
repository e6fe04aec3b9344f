"""The results of a run, and what is asked of them.

Results are plain dictionaries, as they are stored: `cases` is a list; each case has its parameters
and a dictionary of contestants. Knows nothing of processes, nor of how results are shown.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curves import Curve, crossing, slope

AXES = ("rows", "features", "classes", "depth", "threads")
LEAST_POINTS = 3  # cases that make a sweep
SLOPE_FROM = 100_000  # rows; below, the fixed cost of a fit counts
UNLIMITED = 0  # stands for no limit of depth among the values of a sweep

Result = dict[str, Any]  # of a contestant in a case
CaseResult = dict[str, Any]
Results = dict[str, Any]


def save(results: Results, path: Path) -> None:
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")


def load(path: Path) -> Results:
    return dict(json.loads(path.read_text(encoding="utf-8")))


# One contestant in one case.


def seconds(result: Result, verb: str) -> float | None:
    """The median of a kind of time."""
    times = result["seconds"].get(verb)
    return None if times is None else float(times["median"])


def is_ours(result: Result) -> bool:
    return not result["is_peer"]


# One case.


def measured(case: CaseResult) -> dict[str, Result]:
    """Those with warm fits."""
    return {name: each for name, each in case["contestants"].items() if "fit" in each["seconds"]}


def absent(case: CaseResult) -> dict[str, Result]:
    """Those that sat out, were stopped or failed; some of them with figures."""
    return {
        name: each for name, each in case["contestants"].items() if each["status"] != "measured"
    }


def fastest(case: CaseResult, verb: str, *, peer: bool) -> tuple[str, float] | None:
    """The name and seconds of the fastest peer, or of our own fastest with ordinary threads."""
    times = [
        (each["seconds"][verb]["median"], name)
        for name, each in case["contestants"].items()
        if each["is_peer"] == peer and each["is_default"] and verb in each["seconds"]
    ]
    return (min(times)[1], min(times)[0]) if times else None


def same_bytes(contestants: dict[str, Result]) -> Result:
    """Whether all our backends made the same model; None with fewer than two of them."""
    hashes = {name: each["sha256"] for name, each in contestants.items() if "sha256" in each}
    equal = len(set(hashes.values())) == 1 if len(hashes) > 1 else None
    return {"equal": equal, "compared": list(hashes)}


def problems(results: Results) -> list[str]:
    """What must not happen: models that differ, and our own failures."""
    found = []
    for case in run_cases(results):
        if case["bytes"]["equal"] is False:
            found.append(f"{case['name']}: {', '.join(case['bytes']['compared'])} differ in bytes")
        found += [
            f"{case['name']}: {name} failed: {each['reason']}"
            for name, each in absent(case).items()
            if each["status"] == "failed"
        ]
    return found


# All cases.


def run_cases(results: Results) -> list[CaseResult]:
    """The cases that were not skipped as a whole."""
    return [case for case in results["cases"] if "contestants" in case]


def names(results: Results) -> list[str]:
    """Everyone with a figure, in the order of the contest."""
    found = [name for case in run_cases(results) for name in measured(case)]
    order = [name for case in run_cases(results) for name in case["contestants"]]
    return [name for name in dict.fromkeys(order) if name in found]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Cases that differ in one number only, by that number."""

    axis: str
    title: str  # what they share
    cases: dict[int, CaseResult]

    def curve(self, name: str, verb: str = "fit") -> Curve:
        """Seconds of a contestant against the number."""
        found = []
        for value, case in self.cases.items():
            second = seconds(case["contestants"].get(name, {"seconds": {}}), verb)
            if second is not None:
                found.append((float(value), second))
        return found

    def memory(self, name: str) -> Curve:
        """Bytes of a contestant against the number."""
        return [
            (float(value), float(case["contestants"][name]["bytes"]))
            for value, case in self.cases.items()
            if "bytes" in case["contestants"].get(name, {})
        ]


def sweeps(results: Results) -> list[Sweep]:
    """Every group of generated cases that differ in one number only."""
    found = []
    for axis in AXES:
        groups: dict[tuple[Any, ...], list[CaseResult]] = {}
        for case in _with(axis, run_cases(results)):
            shared = tuple(case[other] for other in AXES if other != axis)
            groups.setdefault(shared, []).append(case)
        least = 2 if axis == "threads" else LEAST_POINTS
        found += [_sweep(axis, group) for group in groups.values() if len(group) >= least]
    return found


def steepness(curve: Curve) -> float | None:
    """The exponent of rows, from where there are enough of them."""
    large = [point for point in curve if point[0] >= SLOPE_FROM]
    return slope(large if len(large) >= LEAST_POINTS else curve)


def crossings(results: Results) -> Iterator[tuple[str, str, int, float | None]]:
    """A GPU backend, a CPU backend, the most rows, and from how many rows the GPU is faster."""
    for sweep in sweeps(results):
        if sweep.axis != "rows":
            continue
        ours = [name for name in names(results) if is_ours(_any_result(sweep, name))]
        on_gpu = [name for name in ours if _any_result(sweep, name)["on_gpu"]]
        for gpu in on_gpu:
            for cpu in [name for name in ours if name not in on_gpu]:
                common = dict(sweep.curve(cpu)).keys() & dict(sweep.curve(gpu)).keys()
                if common:
                    size = crossing(sweep.curve(cpu), sweep.curve(gpu))
                    yield gpu, cpu, int(max(common)), size


def gpu_absent(results: Results) -> dict[str, str]:
    """GPU backends that were asked for and never ran, with the reason."""
    reasons = {
        name: each["reason"]
        for case in run_cases(results)
        for name, each in absent(case).items()
        if each["on_gpu"]
    }
    return {name: reason for name, reason in reasons.items() if name not in names(results)}


def _any_result(sweep: Sweep, name: str) -> Result:
    found = [
        case["contestants"][name] for case in sweep.cases.values() if name in case["contestants"]
    ]
    return dict(found[0]) if found else {"is_peer": True, "on_gpu": False}


def _with(axis: str, cases: list[CaseResult]) -> list[CaseResult]:
    """Generated cases that have a number of this kind."""
    return [case for case in cases if case["table"] is None and (case[axis] or axis == "depth")]


def _sweep(axis: str, group: list[CaseResult]) -> Sweep:
    by_value = {case[axis] or UNLIMITED: case for case in group}
    order = sorted(by_value, key=lambda value: (axis == "depth" and value == UNLIMITED, value))
    parts = {
        "rows": f"{group[0]['rows']:,} rows",
        "features": f"{group[0]['features']:,} features",
        "classes": f"{group[0]['classes']} classes" if group[0]["classes"] else "regression",
        "depth": f"depth {group[0]['depth']}" if group[0]["depth"] else "unlimited depth",
        "threads": f"{group[0]['threads']} threads" if group[0]["threads"] else "",
    }
    title = ", ".join(text for other, text in parts.items() if text and other != axis)
    return Sweep(axis, title, {value: by_value[value] for value in order})
