"""How much memory a process takes at most while something runs."""

import ctypes
import gc
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"


class Peak:
    """The most memory above what was held when it was made."""

    def __init__(self) -> None:
        self._can_reset = _reset_peak()
        self._before = _from_status("VmRSS") if self._can_reset else _most_ever()

    def bytes(self) -> int:
        """The peak up to now; without Linux's counters, only what exceeds all earlier peaks."""
        most = _from_status("VmHWM") if self._can_reset else _most_ever()
        return max(0, most - self._before)


def release() -> None:
    """Give back what the interpreter and the allocator hold in reserve."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # not glibc
        return


def _reset_peak() -> bool:
    try:
        CLEAR.write_text(RESET_PEAK)
    except OSError:
        return False
    return True


def _from_status(field: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"{STATUS} has no {field}")


def _most_ever() -> int:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
