"""Fits by the workers of a Dask cluster on this machine, beside the same fit in one process.

    python benchmarks/cluster.py                        # both cases, 1 and 2 workers: 3 minutes
    python benchmarks/cluster.py --cases tree --rows 5000000 --repeats 3
    python benchmarks/cluster.py --kills 20             # a worker is killed in the middle of a fit
    python benchmarks/cluster.py --model                # a billion rows, on paper

Each worker is a process with one thread. It makes its part of the table itself, before anything is
measured. Strong scaling has all rows on one worker, and then half of them on each of two; weak
scaling has as many rows on each. The fit in one process has as many threads as there are workers.
Bytes and waiting are what the report of a fit tells of its ranks.
"""

import argparse
import gc
import math
import os
import random
import signal
import statistics
import threading
import time
from functools import partial
from typing import Any

import numpy as np

import gputree
from gputree import cluster

COLUMNS = 28
CASES = {
    "tree": (5_000_000, lambda: gputree.DecisionTreeClassifier(max_depth=8, backend="numba")),
    "boost": (
        1_000_000,
        lambda: gputree.GradientBoostingClassifier(
            50, max_depth=6, backend="numba", random_state=0
        ),
    ),
}
DEPTHS = (2, 4, 6, 8)
DEADLINE = 60.0  # seconds in which a fit that has lost a worker must have ended


def main() -> None:
    options = _options()
    if options.model:
        print_model()
        return
    if options.kills:
        kill_workers(options.kills, options.seed)
        return
    for name in options.cases.split(","):
        rows, make = CASES[name]
        measure(name, make, options.rows or rows, options.repeats)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="tree,boost")
    parser.add_argument("--rows", type=int, help="instead of those of the case")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kills", type=int, default=0, help="how often a worker is killed")
    parser.add_argument("--seed", type=int, default=0, help="of who is killed, and when")
    parser.add_argument("--model", action="store_true", help="a model of many ranks on paper")
    return parser.parse_args()


# Scaling on this machine.


def part(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a table whose parts are made one by one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, COLUMNS), np.float32)
    noise = rng.standard_normal(n_rows, np.float32)
    return X, (X[:, :5].sum(axis=1) + X[:, 5] * X[:, 6] + noise > 0).astype(np.int64)


def workers(n: int) -> Any:
    """A cluster of so many workers, each a process with one thread."""
    import dask
    from distributed import LocalCluster

    # A busy machine takes longer to start a worker again than Dask waits before it gives it up.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"})
    return LocalCluster(
        n_workers=n,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        memory_limit=0,
    )


def measure(name: str, make: Any, n_rows: int, repeats: int) -> None:
    """Print seconds, and what ranks say and how long they wait."""
    half = n_rows // 2
    print(f"\n{name}: {2 * half:,} rows x {COLUMNS}, median of {repeats} fits after one more")
    print(f"{'':22} {'seconds':>8} {'of local':>8} {'MiB sent':>9} {'messages':>9} {'waited':>7}")
    local, expected = _in_one_process(make, half, repeats)
    for n_ranks, seeds in ((1, [[1, 2]]), (2, [[1], [2]])):
        with workers(n_ranks) as machine:
            found = _on_workers(machine, make, seeds, half, repeats)
            assert found[1].to_bytes() == expected
            _line(f"{n_ranks} worker", found[0], local[n_ranks], found[1])
    with workers(1) as machine:
        _line("1 worker, half of them", *_weak(machine, make, half, repeats))


def _in_one_process(make: Any, half: int, repeats: int) -> tuple[dict[int, float], bytes]:
    """The seconds of a fit by so many threads, and the model."""
    parts = [part(seed, half) for seed in (1, 2)]
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    del parts
    seconds, told = {}, b""
    for n_threads in (1, 2):
        own = make().set_params(n_jobs=n_threads)
        seconds[n_threads], model = timed(partial(own.fit, X, y), repeats)
        told = model.to_bytes()
        _line(f"one process, {n_threads} thread", seconds[n_threads], None, None)
    return seconds, told


def _weak(machine: Any, make: Any, half: int, repeats: int) -> tuple[float, None, Any]:
    seconds, model = _on_workers(machine, make, [[1]], half, repeats)
    return seconds, None, model


def _on_workers(
    machine: Any, make: Any, seeds: list[list[int]], half: int, repeats: int
) -> tuple[float, Any]:
    """The seconds and the model of a fit whose workers have parts of these seeds."""
    from distributed import Client, wait

    with Client(machine) as client:
        parts = []
        for address, own in zip(sorted(client.nthreads()), seeds, strict=True):
            parts += [client.submit(part, seed, half, workers=[address]) for seed in own]
        wait(parts)
        halves = [(client.submit(_at, each, 0), client.submit(_at, each, 1)) for each in parts]
        wait([each for pair in halves for each in pair])
        seconds, model = timed(lambda: cluster.fit(make(), halves, client=client), repeats)
        if len(seeds) > 1 and hasattr(make(), "max_depth"):
            sent = []
            for depth in DEPTHS:
                own = cluster.fit(make().set_params(max_depth=depth), halves, client=client)
                sent.append(max(rank.n_bytes for rank in own.fit_report_.ranks) / 2**20)
            told = ", ".join(f"{d}: {each:.2f}" for d, each in zip(DEPTHS, sent, strict=True))
            print(f"  MiB that a rank sends, by depth: {told}")
    return seconds, model


def _at(pair: tuple[Any, Any], at: int) -> Any:
    return pair[at]


def timed(fit: Any, repeats: int) -> tuple[float, Any]:
    """The median of the seconds of some fits, after one that loads kernels; and the last model."""
    fit()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        model = fit()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), model


def _line(what: str, seconds: float, local: float | None, model: Any) -> None:
    ranks = () if model is None else model.fit_report_.ranks
    of_local = "" if local is None else f"{seconds / local:8.2f}"
    print(f"{what:22} {seconds:8.3f} {of_local:>8}", end="")
    if len(ranks) > 1:
        n_bytes, n_messages, waited = (
            max(getattr(rank, name) for rank in ranks)
            for name in ("n_bytes", "n_messages", "seconds_waiting")
        )
        print(f" {n_bytes / 2**20:9.2f} {n_messages:9} {waited:7.3f}", end="")
        print(f"  slowest: {model.fit_report_.slowest_rank.where}", end="")
    print(flush=True)


# Workers that are killed.


def kill_workers(n_kills: int, seed: int) -> None:
    """A random worker of three is killed at a random moment of a fit, so many times."""
    from distributed import Client

    draw = random.Random(seed)
    model = gputree.GradientBoostingClassifier(20, max_depth=3, backend="numpy", random_state=0)
    parts = [part(number, 200) for number in range(6)]
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    expected = model.fit(X, y).to_bytes()
    ends = []
    with workers(3) as machine, Client(machine) as client:
        cluster.fit(model, parts, client=client)
        start = time.perf_counter()
        cluster.fit(model, parts, client=client)
        usual = time.perf_counter() - start
        before = sorted(client.run(_resident).values())
        for number in range(n_kills):
            client.wait_for_workers(3, timeout=DEADLINE)
            victim = draw.choice(sorted(client.run(os.getpid).values()))
            moment = draw.uniform(0.0, usual)
            timer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
            start = time.perf_counter()
            timer.start()
            try:
                found = cluster.fit(model, parts, client=client)
                is_same = found.to_bytes() == expected
                restarts = found.fit_report_.n_restarts
                ends.append("same bytes" if is_same else "OTHER BYTES")
                told = f"{ends[-1]}, started again {restarts} times"
            except gputree.ClusterError as error:
                ends.append("error")
                told = f"ClusterError: {str(error).splitlines()[0]}"
            seconds = time.perf_counter() - start
            timer.join()
            late = "" if seconds < DEADLINE else "  LATE"
            print(
                f"{number + 1:3} killed after {moment:5.2f} s: {seconds:5.1f} s, {told}{late}",
                flush=True,
            )
        client.wait_for_workers(3, timeout=DEADLINE)
        cluster.fit(model, parts, client=client)
        time.sleep(2.0)
        left = client.run(_left)
        after = sorted(client.run(_resident).values())
        pids = set(client.run(os.getpid).values())
    time.sleep(2.0)
    alive = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
    print(f"{len(ends)} kills: { {each: ends.count(each) for each in set(ends)} }")
    print(f"left on the workers (ways to talk, data): {sorted(left.values())}")
    print(f"memory of the workers in MiB: {before} before, {after} after; new processes among them")
    print(f"workers that have outlived their cluster: {len(alive)}")


def _left(dask_worker: Any) -> tuple[int, int]:
    ways = [name for name in dask_worker.handlers if "gputree" in name]
    return len(ways), len(dask_worker.data)


def _resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


# Many ranks, on paper.

ROWS, FEATURES, BINS, DEPTH = 10**9, 100, 256, 8
WORD = 8  # bytes of gradient and hessian of a bin
WINNER = 72  # bytes of what is told of the best split of a node
SMALL = 6  # sums of a round that do not grow with the table: scales, totals, rows, leaves
# Updates per second and rank; seconds a message takes; bytes per second that a rank sends.
ENGINES = {
    "Dask, 8 cores a rank": (8 * 1.0e9, 5e-4, 1.7e8),
    "MPI, 8 cores a rank": (8 * 1.0e9, 7e-6, 8.4e8),
    "NCCL, 8 GPUs a node": (3.0e10, 2e-5, 2.0e10),
}


def print_model() -> None:
    """What a boosted tree takes on many ranks, and which part of that is the largest."""
    print(f"A boosted tree of depth {DEPTH} on {ROWS:,} rows x {FEATURES}, {BINS} bins.")
    print("Assumed: updates per second and rank, seconds per message, bytes per second. Those of")
    print("Dask and MPI were measured between two processes of one machine, at one core; those of")
    print("GPUs are assumed, and nothing of this was measured on a cluster.\n")
    for engine, (rate, latency, bandwidth) in ENGINES.items():
        print(f"{engine}: {rate:.1e} updates/s, {latency:g} s, {bandwidth:.1e} bytes/s")
        print(
            f"{'ranks':>6} {'rows':>9} {'sums':>9} {'winners':>9} {'latency':>9} {'tree':>9}  most"
        )
        for n_ranks in (8, 16, 64, 256, 1024):
            told = tree_seconds(n_ranks, rate, latency, bandwidth)
            most = max(told, key=lambda name: told[name])
            cells = " ".join(f"{1e3 * each:9.1f}" for each in told.values())
            print(f"{n_ranks:6} {cells} {1e3 * sum(told.values()):9.1f}  {most}")
        print()


def tree_seconds(n_ranks: int, rate: float, latency: float, bandwidth: float) -> dict[str, float]:
    """Seconds of the parts of a tree: rows are shared out, and so are the columns of sums.

    In each level but the first the smaller children are summed: at most half of the rows, and
    half of the nodes.
    """
    turns = math.ceil(math.log2(n_ranks))
    nodes = [1, *(2 ** (level - 1) for level in range(1, DEPTH))]  # that are summed
    searched = [2**level for level in range(DEPTH)]
    updates = ROWS / n_ranks * FEATURES * (1 + (DEPTH - 1) / 2)
    sent = sum(nodes) * FEATURES * BINS * WORD * (n_ranks - 1) / n_ranks
    told = sum(searched) * WINNER * turns
    return {
        "rows": updates / rate,
        "sums": sent / bandwidth,
        "winners": told / bandwidth,
        "latency": (2 * DEPTH + SMALL) * turns * latency,
    }


if __name__ == "__main__":
    main()
