"""Fits and predicts, with Ctrl-C at random times; ends with an error if one went wrong.

    python tests/estimators/interrupted.py --seconds 600 --seed 1

An interrupt must be a KeyboardInterrupt, or the early end of an ensemble that keeps its finished
trees. It must come within `--patience` seconds, and models that are fitted afterwards must be what
they were before. `--cold` interrupts the first calls as well, which import and load machine code.
"""

import argparse
import faulthandler
import random
import signal
import sys
import time
import warnings

import numpy as np

import gputree

N_TREES = 12
COMMON = {"backend": "numba", "n_jobs": 2}
ENSEMBLE = {"n_estimators": N_TREES, "random_state": 0, **COMMON}
MODELS = [
    gputree.DecisionTreeClassifier(**COMMON),
    gputree.CARTRegressor(max_depth=4, random_state=0, **COMMON),
    gputree.C45Classifier(max_depth=6, **COMMON),
    gputree.RandomForestClassifier(**ENSEMBLE),
    gputree.ExtraTreesRegressor(**ENSEMBLE),
    gputree.BaggingClassifier(**ENSEMBLE),
    gputree.AdaBoostClassifier(**ENSEMBLE),
    gputree.GradientBoostingClassifier(**ENSEMBLE),
]


def table(n_rows):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n_rows, 8))
    X[draw.random(X.shape) < 0.05] = np.nan
    known = np.nan_to_num(X)
    return X, (known[:, 0] + known[:, 1] > 0).astype(int) + (known[:, 2] > 1)


class Trial:
    """A model that is fitted on a table, and what it is where nothing disturbs it."""

    def __init__(self, model, X, y):
        self.model, self.X, self.y = model, X, y
        self.expected = None

    def run(self):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the fit was interrupted")
            self.model.fit(self.X, self.y)
        self.model.predict(self.X)

    def check(self):
        """Fit undisturbed: the same model as ever."""
        self.run()
        found = self.model.to_bytes()
        self.expected = self.expected or found
        if found != self.expected:
            sys.exit(f"{self.model} is another model after an interrupt")


def interrupted(trial, delay):
    """Seconds from a signal to its KeyboardInterrupt; None where the trial came to an end."""
    begin = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        trial.run()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return time.perf_counter() - begin - delay
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patience", type=float, default=30)
    parser.add_argument("--cold", action="store_true")
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    trials = [Trial(model, *table(n)) for n in (300, 5_000) for model in MODELS]
    # The timer's signal does what that of Ctrl-C does.
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    if not asked.cold:
        for trial in trials:
            trial.check()
    end, delays = time.perf_counter() + asked.seconds, []
    while time.perf_counter() < end:
        trial = draw.choice(trials)
        faulthandler.dump_traceback_later(asked.patience, exit=True)
        try:
            late = interrupted(trial, draw.expovariate(10) + 1e-4)
        except KeyboardInterrupt:  # it came when the trial was over
            continue
        if late is not None:
            delays.append(late)
    for trial in trials:
        faulthandler.dump_traceback_later(10 * asked.patience, exit=True)
        trial.check()
    print(f"{len(delays)} interrupts, the latest after {max(delays, default=0):.2f} s")


if __name__ == "__main__":
    main()
