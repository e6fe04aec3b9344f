"""From kernels to machine code without a driver: numba-cuda, then ptxas, then nvdisasm."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np

ARCHITECTURES = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120")


def missing() -> list[str]:
    """What is not installed of all that is needed."""
    absent = [name for name in ("ptxas", "nvdisasm") if tool(name) is None]
    return absent if find_spec("numba_cuda") else ["numba-cuda", *absent]


def tool(name: str) -> str | None:
    """A program of the CUDA toolkit: of its wheels, whose version fits, or of the system."""
    wheels = find_spec("nvidia")
    for folder in wheels.submodule_search_locations or () if wheels else ():
        for found in sorted(Path(folder).glob(f"*/bin/{name}")):
            return str(found)
    return shutil.which(name)


def compile_all(cases: list[Any]) -> dict[str, dict[str, str]]:
    """PTX by architecture and name of the case.

    What numba makes of a kernel is the same for every architecture; NVVM is not.
    """
    texts: dict[str, dict[str, str]] = {architecture: {} for architecture in ARCHITECTURES}
    for case in cases:
        library = _library(case)
        for architecture in ARCHITECTURES:
            [texts[architecture][case.name]] = library.get_asm_strs(cc=_capability(architecture))
    return texts


def assemble_all(texts: dict[str, dict[str, str]]) -> dict[str, tuple[str, str]]:
    """What ptxas says and the machine code, by architecture."""
    with ThreadPoolExecutor() as pool:
        found = pool.map(_assemble, texts, (list(own.values()) for own in texts.values()))
        return dict(zip(texts, found, strict=True))


def keep_all(cases: list[Any], folder: Path) -> int:
    """Machine code of all cases in a folder for $GPUTREE_CACHE_DIR; how many files there are."""
    from gputree.backends.cuda import kept

    os.environ["GPUTREE_CACHE_DIR"] = str(folder)
    for case, architecture in product(cases, ARCHITECTURES):
        kept.compiled(case.kernel, case.types, _capability(architecture))
    return len(list(folder.iterdir()))


def _capability(architecture: str) -> tuple[int, int]:
    number = int(architecture.removeprefix("sm_"))
    return number // 10, number % 10


def _library(case: Any) -> Any:
    """A kernel as LLVM code, with the functions it calls."""
    from numba.cuda import compiler, dispatcher, types
    from numba.np.numpy_support import from_dtype

    def numba_type(name: str) -> Any:
        scalar = from_dtype(np.dtype(name.removesuffix("[]")))
        return types.Array(scalar, 1, "C") if name.endswith("[]") else scalar

    # Functions called by kernels ask the current device which it is, and there is none.
    capability = _capability(ARCHITECTURES[0])
    device = SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: device
    signature = types.void(*map(numba_type, case.types))
    library, _ = compiler._compile_pyfunc_with_fixup(
        case.body, signature, device=False, abi="numba", cc=capability
    )
    return library


def _assemble(architecture: str, texts: list[str]) -> tuple[str, str]:
    with TemporaryDirectory() as folder:
        source, binary = Path(folder) / "kernels.ptx", Path(folder) / "kernels.cubin"
        source.write_text(_join(texts))
        log = _run("ptxas", "-v", f"-arch={architecture}", str(source), "-o", str(binary)).stderr
        return log, _run("nvdisasm", "-c", str(binary)).stdout


def _join(texts: list[str]) -> str:
    """One module of many: nvdisasm takes longer to start than to read a kernel."""
    seen, lines = set(), []
    for line in "\n".join(texts).splitlines():
        is_declared_alike = line.startswith((".version", ".target", ".address_size", ".common"))
        if is_declared_alike and line in seen:
            continue
        seen.add(line)
        lines.append(line)
    return "\n".join(lines)


def _run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    program = tool(name)
    assert program is not None, f"{name} is not installed"
    done = subprocess.run([program, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done
