"""What the figures were measured on."""

import os
import platform
import resource
import shutil
import subprocess
import time
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from contestants import available_cores


def describe(distributions: Iterable[str]) -> dict[str, Any]:
    """Processor, memory, system, Python and the versions of libraries."""
    return {
        "processor": _field(Path("/proc/cpuinfo"), "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "available_cores": available_cores(),
        "memory_gib": _memory_gib(),
        "gpus": _gpus(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "libraries": {name: _version(name) for name in sorted({"numpy", "numba", *distributions})},
    }


class Others:
    """How much of the processor other programs take from here on."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._busy, self._own = _busy_seconds(), _own_seconds()

    def share(self) -> float | None:
        """The share of all cores; None where the system does not tell.

        Workers count as own once they have ended.
        """
        busy = _busy_seconds()
        if busy is None or self._busy is None:
            return None
        others = busy - self._busy - (_own_seconds() - self._own)
        elapsed = (time.perf_counter() - self._start) * (os.cpu_count() or 1)
        return max(0.0, others / elapsed)


def _busy_seconds() -> float | None:
    """Seconds that all cores have worked, or were taken away by the host."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    user, nice, system, _, _, irq, soft_irq, steal = map(int, path.read_text().split()[1:9])
    ticks = user + nice + system + irq + soft_irq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _field(path: Path, name: str) -> str | None:
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _memory_gib() -> float | None:
    text = _field(Path("/proc/meminfo"), "MemTotal")
    return None if text is None else round(int(text.split()[0]) / 2**20, 1)


def _gpus() -> list[str]:
    """What the driver lists; nothing without one."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    query = [command, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    listed = subprocess.run(query, capture_output=True, text=True, check=False)
    return listed.stdout.strip().splitlines() if listed.returncode == 0 else []


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
