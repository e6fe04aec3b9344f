"""What gputree finds on the workers of a Dask cluster: versions, room, how far apart they are.

Knows whom to ask; must not know how ranks fit a model together.
"""

import platform
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np

from gputree import __version__

Found: TypeAlias = dict[str, Any]

N_ROWS = 2_000  # of a small fit
N_TIMES = 5  # that a worker is asked, of which the shortest counts
MOST_ASKED = 16  # workers that each one measures the way to
PACKAGES = ("numpy", "numba", "pyarrow", "distributed")


def diagnose_cluster(address: str) -> Found:
    """Ask the workers of a scheduler, and fit a small model on all of them."""
    from gputree.cluster.collections import connected

    with connected(address) as client:
        room = client.scheduler_info(n_workers=-1)["workers"]
        told = client.run(facts_of_worker)
        trips = client.run(_round_trips, sorted(told))
        workers = [
            {
                "address": each,
                "n_threads": room[each]["nthreads"],
                "memory_bytes": room[each]["memory_limit"],
                "round_trip_seconds": trips[each],
                "versions": told[each],
            }
            for each in sorted(told)
        ]
        found: Found = {"address": address, "workers": workers}
        found["differ"] = _differing({"this process": facts_of_worker(), **told})
        found["fit"] = None
        if workers and not found["differ"]:
            found["fit"] = _small_fit(client, 2 * len(workers))
    return found


def facts_of_worker() -> dict[str, str]:
    """What is installed where this runs."""
    own = {"gputree": __version__, "Python": platform.python_version()}
    return own | {package: version(package) for package in PACKAGES}


async def _round_trips(addresses: list[str], dask_worker: Any) -> float | None:
    """The longest way from a worker to another one and back, in seconds; None without others."""
    own, longest = dask_worker.address, None
    for address in [each for each in addresses if each != own][:MOST_ASKED]:
        times = []
        for _ in range(N_TIMES):
            began = time.perf_counter()
            await dask_worker.rpc(address).echo(data=None)
            times.append(time.perf_counter() - began)
        longest = max(min(times), longest or 0.0)
    return longest


def _differing(told: dict[str, dict[str, str]]) -> dict[str, dict[str, list[str]]]:
    """Of the packages that must be the same, who has which version, where several have."""
    found = {}
    for package in ("gputree", "numpy"):
        by_version: dict[str, list[str]] = {}
        for who, versions in told.items():
            by_version.setdefault(versions[package], []).append(who)
        if len(by_version) > 1:
            found[package] = by_version
    return found


def _small_fit(client: Any, n_parts: int) -> Found:
    """Whether a model of rows that are spread is that of all of them here."""
    from gputree import DecisionTreeClassifier, cluster

    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 8)).round(2)
    y = (X[:, 0] > 0.3).astype(int) + (X[:, 1] + X[:, 2] > 0)
    parts = [(X[at::n_parts], y[at::n_parts]) for at in range(n_parts)]
    began = time.perf_counter()
    model = cluster.fit(DecisionTreeClassifier(max_depth=6), parts, client=client)
    seconds = time.perf_counter() - began
    alone = DecisionTreeClassifier(max_depth=6).fit(X, y)
    return {"seconds": seconds, "is_same": model.to_bytes() == alone.to_bytes()}


def has_failed(found: Found) -> bool:
    """Whether models cannot be fitted, or would not be what they should."""
    return bool(found["differ"]) or found["fit"] is None or not found["fit"]["is_same"]


def as_text(found: Found) -> str:
    """The diagnosis, a fact a line."""
    return "\n".join(f"{name:<10} {text}" for name, text in _lines(found))


def _lines(found: Found) -> Iterator[tuple[str, str]]:
    n = len(found["workers"])
    yield "cluster", f"{found['address']}, {n} worker{'' if n == 1 else 's'}"
    for each in found["workers"]:
        yield "worker", _worker_text(each)
    for package, by_version in found["differ"].items():
        for number, who in by_version.items():
            yield "DIFFERS", f"{package} {number}: {', '.join(who)}"
    if found["differ"]:
        yield "fit", "not tried; install the same versions everywhere"
    elif found["fit"] is None:
        yield "fit", "not tried; start workers"
    else:
        told = "the bytes of a fit here" if found["fit"]["is_same"] else "FAILED, OTHER BYTES"
        yield "fit", f"{N_ROWS:,} rows on all workers: {told}, {found['fit']['seconds']:.3f} s"


def _worker_text(worker: Found) -> str:
    memory, trip = worker["memory_bytes"], worker["round_trip_seconds"]
    parts = [
        worker["address"],
        f"{worker['n_threads']} thread{'' if worker['n_threads'] == 1 else 's'}",
        f"{memory / 2**30:.1f} GiB" if memory else "memory not limited",
        "no other worker" if trip is None else f"{trip * 1e3:.1f} ms to another worker and back",
        *(f"{package} {number}" for package, number in worker["versions"].items()),
    ]
    return ", ".join(parts)
