"""The process of one contestant: loads a table once, then fits and predicts when it is asked.

Requests and answers are lines of JSON on standard input and output. What libraries print goes to
standard error. Knows nothing of other contestants, cases or rounds.

python benchmarks/worker.py CONTESTANT JOB FOLDER
"""

import gc
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from contestants import Job, find
from memory import Peak, release
from tables import ARRAYS


class Worker:
    """What a request may ask for: methods that return what is to be answered."""

    def __init__(self, contestant: str, job: Job, folder: Path) -> None:
        self._contestant, self._job = find(contestant), job
        self._data = {name: np.load(folder / f"{name}.npy") for name in ARRAYS}
        self._model: Any = None
        self._predicted: Any = None

    def load(self) -> dict[str, Any]:
        """Import the library."""
        start = time.perf_counter()
        self._learner = self._contestant.open(self._job)
        return {"seconds": time.perf_counter() - start}

    def fit(self) -> dict[str, Any]:
        """Fit once; the old model is gone before the clock starts."""
        self._model = self._predicted = None
        gc.collect()
        peak = Peak()
        start = time.perf_counter()
        self._model = self._learner.fit(self._data["X"], self._data["y"])
        return {"seconds": time.perf_counter() - start, "bytes": peak.bytes()}

    def fit_for_memory(self) -> dict[str, Any]:
        """Fit once from as little memory as the process can do with."""
        self._model = self._predicted = None
        release()
        return self.fit()

    def predict(self) -> dict[str, Any]:
        """Predict the rows that are held out."""
        start = time.perf_counter()
        self._predicted = self._learner.predict(self._model, self._data["X_test"])
        return {"seconds": time.perf_counter() - start}

    def describe(self) -> dict[str, Any]:
        """What the model is worth, how large it is, and the hash of its bytes."""
        self.predict()
        described: dict[str, Any] = {
            "score": self._score(),
            "leaves": self._learner.n_leaves(self._model),
        }
        if hasattr(self._learner, "model_bytes"):
            content = self._learner.model_bytes(self._model)
            described["sha256"] = hashlib.sha256(content).hexdigest()
        return described

    def _score(self) -> float:
        """Accuracy, or the share of the variance that is explained."""
        y, predicted = self._data["y_test"], np.asarray(self._predicted).ravel()
        if self._job.n_classes:
            return float(np.mean(y == predicted))
        return float(1.0 - np.mean((y - predicted) ** 2) / np.var(y))


def answer(worker: Worker, request: str) -> dict[str, Any]:
    """The result of a method, or the error it raised."""
    try:
        return dict(getattr(worker, request)())
    except Exception as error:  # whatever a library raises is an answer
        return {"error": " ".join(str(error).split()), "kind": type(error).__name__}


def main() -> None:
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    contestant, job, folder = sys.argv[1:]
    worker = Worker(contestant, Job(**json.loads(job)), Path(folder))
    for line in sys.stdin:
        print(json.dumps(answer(worker, line.strip())), file=replies, flush=True)


if __name__ == "__main__":
    main()
