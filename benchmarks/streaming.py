"""Train on a Parquet file larger than the memory that is allowed, and compare with a fit in memory.

    python benchmarks/streaming.py [--rows 9000000] [--columns 28] [--limit-mb 1024] [--folder DIR]
    python benchmarks/streaming.py --limit-mb 512 --codes-on-disk --chunk-mb 8

A file of normal float64 is written in chunks. One process reads it as a stream and fits, under a
limit that the kernel keeps: RLIMIT_DATA, which counts all private memory that may be written, so
also what was reserved and never touched. pyarrow therefore takes its memory from the C library,
whose threads share two arenas; its own allocators reserve 1 GB at once. Another process reads the
whole file and fits without a limit. A thread of each samples RssAnon from /proc/self/status every
5 ms. Both give a checksum of the model. Linux only.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROWS_A_CHUNK = 250_000
MAX_DEPTH = 8
SAMPLED_SECONDS = 0.005
# For allocators that reserve little more than is asked for.
SPARING = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(2**20),  # larger ones are given back when they are freed
}


def main() -> None:
    options = _options()
    if options.role:
        print(json.dumps(_fit(options)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "table.parquet"
        seconds = _write(path, options.rows, options.columns)
        size = path.stat().st_size
        print(f"file: {options.rows:,} x {options.columns}, {size / 1e9:.2f} GB, {seconds:.0f} s")
        found = {}
        for role in ("streamed", *(["in memory"] if options.compare else [])):
            found[role] = _run(role, path, options)
            own = found[role]
            print(
                f"{role}: read and coded in {own['read']:.0f} s, fitted in {own['fit']:.0f} s, "
                f"peak RssAnon {own['resident'] / 2**20:.0f} MB, peak VmData "
                f"{own['limited'] / 2**20:.0f} MB, model {own['model'][:16]}"
            )
        if options.compare:
            models = {own["model"] for own in found.values()}
            print("same bytes" if len(models) == 1 else "OTHER BYTES")
            sys.exit(len(models) != 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=9_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--limit-mb", type=int, default=1024)
    parser.add_argument("--folder", help="where to write the file; the system's default if none")
    parser.add_argument("--chunk-mb", type=int, default=32, help="values in memory at a time")
    parser.add_argument("--codes-on-disk", action="store_true", help="beside the file, mapped")
    parser.add_argument("--no-compare", dest="compare", action="store_false")
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    return parser.parse_args()


def _write(path: Path, n_rows: int, n_columns: int) -> float:
    """Chunks of random numbers, which do not compress; a target that follows from some."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    begin = time.perf_counter()
    random = np.random.default_rng(0)
    names = [f"x{at}" for at in range(n_columns)]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.int8())])
    with parquet.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for first in range(0, n_rows, ROWS_A_CHUNK):
            X = random.normal(size=(n_columns, min(ROWS_A_CHUNK, n_rows - first)))
            y = (X[0] * X[1] + X[2] + random.normal(size=X.shape[1]) > 0).astype(np.int8)
            writer.write_table(pa.table([*X, y], schema=schema))
    return time.perf_counter() - begin


def _run(role: str, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    limit = ["--limit-mb", str(options.limit_mb if role == "streamed" else 0)]
    how = ["--chunk-mb", str(options.chunk_mb), *["--codes-on-disk"][: options.codes_on_disk]]
    command = [sys.executable, __file__, "--role", role, "--path", str(path), *limit, *how]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **SPARING})
    if done.returncode:
        sys.exit(f"{role} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _fit(options: argparse.Namespace) -> dict[str, Any]:
    if options.limit_mb:
        limit = options.limit_mb * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    peak = {"RssAnon": 0, "VmData": 0}
    threading.Thread(target=_watch, args=(peak,), daemon=True).start()
    from gputree import Dataset, DecisionTreeClassifier
    from gputree.files import read_file

    begin = time.perf_counter()
    if options.role == "streamed":
        data = Dataset.from_parquet(
            options.path,
            "y",
            backend="numba",
            n_jobs=2,
            max_bytes=options.chunk_mb * 2**20,
            codes=Path(options.path).parent if options.codes_on_disk else "memory",
        )
    else:
        table = read_file(options.path)
        y = table["y"].to_numpy()
        data = Dataset(table.drop_columns(["y"]), y, backend="numba", n_jobs=2)
        del table
    coded = time.perf_counter()
    model = DecisionTreeClassifier(max_depth=MAX_DEPTH).fit(data)
    fitted = time.perf_counter()
    return {
        "read": coded - begin,
        "fit": fitted - coded,
        "resident": peak["RssAnon"],
        "limited": peak["VmData"],
        "model": hashlib.sha256(model.to_bytes()).hexdigest(),
    }


def _watch(peak: dict[str, int]) -> None:
    """Keep the most anonymous memory that was resident, and the most that the limit counts."""
    while True:
        with open("/proc/self/status") as status:
            found = dict(line.split(":", 1) for line in status)
        for name in peak:
            peak[name] = max(peak[name], int(found[name].split()[0]) * 1024)
        time.sleep(SAMPLED_SECONDS)


if __name__ == "__main__":
    main()
