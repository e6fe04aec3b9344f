"""Cases in processes of their own: one that dies takes nothing with it but tells its seed.

`python -m tests.fuzz.pool first n` tries the seeds from `first` on and prints a line for each.
"""

import faulthandler
import json
import resource
import subprocess
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field

from tests.fuzz.edits import edited
from tests.fuzz.judge import judged
from tests.fuzz.mutations import mutation

CASES = 2000  # of a process: starting one takes as long as hundreds of cases
MOST_BYTES = 6 * 2**30  # of address space: a small file needs no more, compiled kernels included
MOST_SECONDS = 120  # of a case, compilation and a busy machine included
THOROUGH = 10  # one of so many models has to do all that a model can, others only predict
UNMAKABLE = "unmakable"  # two edits that do not go together
FIND = "find"
BACKENDS = ("numba", "numpy")


@dataclass
class Found:
    """What came of many cases."""

    counts: Counter = field(default_factory=Counter)
    finds: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join([str(dict(self.counts)), *self.finds])


def tried(seed: int) -> tuple[str, str]:
    """What comes of the case of a seed, and how it failed."""
    name, edits = mutation(seed)
    try:
        data = edited(name, edits)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return UNMAKABLE, ""
    try:
        how = {"backend": BACKENDS[seed % 2], "is_thorough": seed % THOROUGH == 0}
        return judged(data, is_text=name.endswith(".json"), **how), ""
    except Exception:  # whatever it is, a file has brought it about
        case = json.dumps({"file": name, "edits": edits})
        return FIND, f"seed {seed}: {case}\n{traceback.format_exc(limit=-4)}"


def try_all(first: int, n_cases: int) -> Found:
    """The cases of some seeds, in processes; all of them, whatever happens to one."""
    found, seed, end = Found(), first, first + n_cases
    while seed < end:
        n = min(CASES, end - seed)
        seed = _try_some(seed, n, found)
    return found


def _try_some(first: int, n_cases: int, found: Found) -> int:
    """Run one process; the seed to go on with."""
    words = [sys.executable, "-m", "tests.fuzz.pool", str(first), str(n_cases)]
    seed, what = first, "died"
    try:
        run = subprocess.run(
            words, capture_output=True, text=True, timeout=MOST_SECONDS + 2 * n_cases
        )
        lines, last = run.stdout.splitlines(), run.stderr[-2000:]
        what = f"ended with {run.returncode}"
    except subprocess.TimeoutExpired as error:
        lines, last = (error.stdout or b"").decode().splitlines(), "it took too long"
    for line in lines:
        told = json.loads(line)
        found.counts[told["came"]] += 1
        if told["came"] == FIND:
            found.finds.append(told["how"])
        seed += 1
    if seed < first + n_cases:  # the process did not get to the end
        found.counts["crash"] += 1
        found.finds.append(f"seed {seed}: the process {what}: {last}")
        seed += 1
    return seed


def main(first: int, n_cases: int) -> None:
    """Try cases one after another, in this process."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    for seed in range(first, first + n_cases):
        came, how = tried(seed)
        print(json.dumps({"came": came, "how": how}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
