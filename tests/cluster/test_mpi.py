"""Fits by processes of MPI."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
# The launcher may lie beside the interpreter.
LAUNCHER = shutil.which("mpiexec") or shutil.which("mpiexec", path=Path(sys.executable).parent)

SCRIPT = """
import numpy as np
from mpi4py import MPI
import gputree
from gputree import cluster

world = MPI.COMM_WORLD
X = np.random.default_rng(0).normal(size=(300, 4))
y = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0)
own = [(X[world.rank :: world.size], y[world.rank :: world.size])]
for model in (gputree.DecisionTreeClassifier(), gputree.GradientBoostingClassifier(3)):
    expected = type(model)(**model.get_params()).fit(X, y).to_bytes()
    found = cluster.fit(model, own, comm=world, timeout=60)
    assert found.to_bytes() == expected
# A seed that nobody has chosen is the same everywhere: ranks with other ones would differ.
cluster.fit(gputree.RandomForestClassifier(2), own, comm=world, timeout=60)
if world.rank == 1:
    own = [(X, np.full(len(X), 0.5))]
try:
    cluster.fit(gputree.DecisionTreeClassifier(), own, comm=world, timeout=60)
except ValueError as error:
    told = f"{world.rank}: {error}"
except gputree.ClusterError as error:
    told = f"{world.rank}: {str(error).splitlines()[0]}"
print("\\n".join(world.gather(told) or []), end="")
"""


@pytest.mark.skipif(LAUNCHER is None, reason="there is no mpiexec")
def test_processes_find_the_model_of_all_rows_or_end_together(tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT)
    command = [LAUNCHER, "-n", "3", sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    problem = "Unknown label type: continuous. Maybe you are trying"
    one, two, three = done.stdout.splitlines()
    assert one.startswith(f"0: rank 1 of 3 failed: ValueError: {problem}")
    assert two.startswith(f"1: {problem}")
    assert three.startswith(f"2: rank 1 of 3 failed: ValueError: {problem}")
