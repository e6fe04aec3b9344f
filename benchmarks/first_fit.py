"""How long the first fit after installing takes, when no kernel has been compiled.

Every fit has a process of its own and an empty folder for machine code; a second process then
finds what the first has left there. With --venv, all of it runs in a new virtual environment into
which this checkout is installed.

python benchmarks/first_fit.py
python benchmarks/first_fit.py --shapes 1kx10,100kx28 --estimators RandomForestClassifier --venv
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from report import table

ROOT = Path(__file__).resolve().parents[1]
ESTIMATORS = (
    *("DecisionTreeClassifier", "DecisionTreeRegressor", "C45Classifier", "CARTClassifier"),
    *("RandomForestClassifier", "RandomForestRegressor"),
    *("ExtraTreesClassifier", "ExtraTreesRegressor", "AdaBoostClassifier", "BaggingClassifier"),
    *("GradientBoostingClassifier", "GradientBoostingRegressor"),
)
# What one process does: it prints what it measured as JSON.
PROGRAM = """
import json, sys, time
begin = time.perf_counter()
import numpy as np
import gputree

name, rows, features, seed = sys.argv[1], *map(int, sys.argv[2:5])
kind = getattr(gputree, name)
imported = time.perf_counter()
rng = np.random.default_rng(seed)
X = rng.standard_normal((rows, features))
y = X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(rows) / 2
if hasattr(kind, "predict_proba"):
    y = (y > 0).astype(int)
model = kind(random_state=0) if "random_state" in kind().get_params() else kind()
fit = time.perf_counter()
model.fit(X, y)
fitted = time.perf_counter()
model.predict(X)
done = time.perf_counter()
report = model.fit_report_
found = {"import": imported - begin, "fit": fitted - fit, "predict": done - fitted}
found |= {"compiling": report.compile_seconds, "backend": report.backend}
print(json.dumps({**found, "reason": report.reason, "notes": report.notes}))
"""


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(argv)
    found = []
    with tempfile.TemporaryDirectory(prefix="gputree-first-") as folder:
        python = new_environment(Path(folder)) if options.venv else sys.executable
        for shape in options.shapes.split(","):
            for name in options.estimators.split(","):
                cache = Path(folder, f"{name}-{shape}")
                times = [measured(python, name, shape, cache) for _ in range(2)]
                found.append({"estimator": name, "shape": shape, "first": times[0]})
                found[-1]["second"] = times[1]
                print(f"{name} {shape}: {said(times[0])}; again {said(times[1])}", file=sys.stderr)
    print(as_table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--shapes", default="1kx10,100kx28", help="rows x features, with commas")
    parser.add_argument("--estimators", default=",".join(ESTIMATORS))
    parser.add_argument("--venv", action="store_true", help="install into a new environment")
    parser.add_argument("--json", type=Path, help="where to write all that was measured")
    return parser.parse_args(argv)


def new_environment(folder: Path) -> str:
    """The interpreter of an environment that has this checkout, and nothing compiled."""
    place = folder / "venv"
    venv.create(place, with_pip=True)
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT)], check=True)
    return str(python)


def measured(python: str, name: str, shape: str, cache: Path) -> dict[str, Any]:
    """What one process takes, which keeps machine code in a folder."""
    rows, features = shape.replace("k", "000").replace("M", "000000").split("x")
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [python, "-c", PROGRAM, name, rows, features, "0"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} {shape}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def said(times: dict[str, Any]) -> str:
    return f"fit {times['fit']:.2f} s by {times['backend']}, predict {times['predict']:.2f} s"


def as_table(found: list[dict[str, Any]]) -> str:
    head = ["estimator", "table", "import", "first fit s", "compiling s", "by", "predict s"]
    rows = []
    for each in found:
        first, second = each["first"], each["second"]
        times = (f"{first[key]:.2f}" for key in ("import", "fit", "compiling"))
        by = first["backend"] + (", begun by numpy" if "took over" in str(first["notes"]) else "")
        again = f"{first['predict']:.2f}", f"{second['fit']:.2f}", second["backend"]
        row = [each["estimator"], each["shape"], *times, by, *again]
        rows.append(row)
    return table([*head, "second process s", "by"], rows)


if __name__ == "__main__":
    main()
