"""The recipes of CONTRIBUTING.md for a loss and for a criterion touch one table each.

A new process adds a toy to the table before kernels are made from it. Its kernels run without a
compiler, and those for CUDA in the simulator: machine code of the toy must not get among that of
the library, which is kept on disk.
"""

import os
import subprocess
import sys

import pytest

LOSS = """
from gputree.kernels import losses

def quartic(tools):
    # A quarter of the fourth power of the distance.
    mul = tools.mul

    @tools.jit
    def gradient_hessian(y, raw, constant):
        apart = raw - y
        square = mul(apart, apart)
        return mul(square, apart), mul(square, 3.0) + constant

    @tools.jit
    def value(y, raw, constant):
        square = mul(raw - y, raw - y)
        return mul(mul(square, square), 0.25)

    return losses.Formulas(gradient_hessian, value)

losses.FOR_VALUES["quartic"] = losses.Loss(
    "quartic",
    quartic,
    losses.LOG,
    losses.at_mean,
    find_constant=lambda rows: rows.spread(0.5),
    demand=losses.Demand(lambda y: y.max() < 100.0, "y below 100", "larger values"),
)

import gputree

def fitted(backend):
    model = gputree.GradientBoostingRegressor(
        3, loss="quartic", max_depth=2, min_child_weight=0.1, early_stopping=True, backend=backend
    )
    return model.fit(X, y, X_val=X, y_val=y)

model = fitted("numpy")
assert model.predict(X).min() > 0.0, "the link is not taken"
assert model.validation_score_[-1] < model.validation_score_[0]
try:
    model.fit(X, y + 100.0)
except ValueError as error:
    assert "loss='quartic' requires y below 100. y has larger values" in str(error)
else:
    raise AssertionError("the target is not checked")
"""

CRITERION = """
from gputree.kernels import criteria

def fourth(tools):
    # The fourth power of the distance of the children's means.
    mul, apart, room = tools.mul, tools.apart, tools.room

    @tools.jit
    def step(x, y, z, left, total, left_weight, weight):
        distance = apart(left, total, left_weight, weight)
        square = mul(distance, distance)
        return x + mul(square, square), y, z

    @tools.jit
    def score(x, y, z, left_weight, weight):
        return x / room(left_weight, weight)

    return criteria.Formulas(step, score, tools.never)

FOURTH = criteria.Criterion("fourth", fourth, None, has_branches=False)
criteria.FOR_VALUES["fourth"] = FOURTH
criteria.CRITERIA += (FOURTH,)
criteria.SOURCES += (fourth,)

import gputree

def fitted(backend):
    tree = gputree.DecisionTreeRegressor(criterion="fourth", max_depth=2, backend=backend)
    return tree.fit(X, y)

usual = gputree.DecisionTreeRegressor(max_depth=2, backend="numpy").fit(X, y)
assert usual.tree_.threshold.tolist() != fitted("numpy").tree_.threshold.tolist()
"""

TABLE = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2)).round(1)
y = np.abs(X[:, 0] + rng.normal(size=30).round(2)) + 1.0
"""

COMPARE = """
files = {name: fitted(name).to_bytes() for name in ("numpy", "numba", "cuda")}
assert len(set(files.values())) == 1, {name: len(file) for name, file in files.items()}
print("the same on", *files)
"""


@pytest.mark.parametrize("recipe", [LOSS, CRITERION], ids=["loss", "criterion"])
def test_what_is_added_to_one_table_is_known_everywhere(recipe):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TABLE + recipe + COMPARE],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "the same on numpy numba cuda\n"
