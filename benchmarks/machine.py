"""What the figures were measured on."""

import os
import platform
import shutil
import subprocess
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
