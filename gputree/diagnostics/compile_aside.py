"""What a process does that compiles kernels for another one, and nothing else.

It makes the fit that the other one has begun, on some of its rows, and predicts them.
"""

import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path

from gputree.backends.aside import write_mark
from gputree.fit.first_fit import read_job

EVERY_SECONDS = 0.5  # how often it asks whether it is still wanted


def main() -> None:
    """Read a job from the input, compile, and leave a mark."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    source = sys.stdin.buffer
    mark = Path(pickle.load(source))
    model, X, y, sample_weight = read_job(source)
    model.fit(X, y, sample_weight=sample_weight)
    model.predict(X)
    write_mark(mark)


def _end_with_the_other() -> None:
    """Write into the pipe that the other process holds, which breaks when that has ended."""
    while True:
        time.sleep(EVERY_SECONDS)
        try:
            os.write(sys.stdout.fileno(), b".")
        except OSError:
            os._exit(1)
