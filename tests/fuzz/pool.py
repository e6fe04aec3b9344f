"""Cases in processes of their own: one that dies takes nothing with it but tells its seed.

`python -m tests.fuzz.pool first n` tries the seeds from `first` on and prints a line for each.
"""

import faulthandler
import json
import resource
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.fuzz.edits import edited
from tests.fuzz.judge import judged
from tests.fuzz.mutations import mutation

CASES = 2000  # of a process: starting one takes as long as hundreds of cases
MOST_BYTES = 6 * 2**30  # of address space: a small file needs no more, compiled kernels included
MOST_SECONDS = 300  # of a case, compilation and a busy machine included
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
    found = Found()
    for _ in each_of(first, n_cases, found):
        pass
    return found


def each_of(first: int, n_cases: int, found: Found) -> Iterator[str]:
    """The same one by one, each with how it failed; `found` has what came of all so far."""
    seed, end = first, first + n_cases
    while seed < end:
        for how in _some(seed, min(CASES, end - seed), found):
            yield how
            seed += 1


def _some(first: int, n_cases: int, found: Found) -> Iterator[str]:
    """The cases of one process, up to the one that it died of."""
    words = [sys.executable, "-m", "tests.fuzz.pool", str(first), str(n_cases)]
    n_told = 0
    # In a session of its own: a signal that stops the search is not what a case died of.
    how = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(words, stderr=errors, **how) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                told = json.loads(line)
                found.counts[told["came"]] += 1
                found.finds += [told["how"]] if told["came"] == FIND else []
                n_told += 1
                yield told["how"]
        except BaseException:  # nobody wants the rest
            process.kill()
            raise
        process.wait()
        if n_told < n_cases:
            errors.seek(0)
            ended = f"the process ended with {process.returncode}: {errors.read()[-2000:]}"
            found.counts["crash"] += 1
            found.finds.append(f"seed {first + n_told}: {ended}")
            yield found.finds[-1]


def main(first: int, n_cases: int) -> None:
    """Try cases one after another, in this process; one that hangs ends it and says where."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    for seed in range(first, first + n_cases):
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        came, how = tried(seed)
        print(json.dumps({"came": came, "how": how}), flush=True)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
