"""Machine code of kernels on the disk, so that a second process compiles nothing."""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from gputree import kernels
from gputree.backends.user_folder import user_folder as folder
from gputree.kernels.cuda import machine_code
from gputree.kernels.undisturbed import undisturbed

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


def compiled(kernel: Any, types: Sequence[str], capability: tuple[int, int]) -> bytes:
    """The machine code of a kernel for arguments such as "i8" and "f4[]"."""
    key = machine_code.toolchain(), fingerprint(kernel), *types, str(capability)
    make = undisturbed(lambda: made(kernel, types, capability))
    return found_or_made(" ".join(key), kernel.py_func.__name__, make)


def made(kernel: Any, types: Sequence[str], capability: tuple[int, int]) -> bytes:
    """The same, whatever is on the disk."""
    return machine_code.assembled(machine_code.ptx_of(kernel, types, capability), capability)


def found_or_made(key: str, name: str, make: Callable[[], bytes]) -> bytes:
    """What is kept of a kernel under a key; made, and kept, where there is nothing whole."""
    digest = hashlib.sha256(key.encode()).hexdigest()
    file = folder() / f"{name}-{digest[:32]}.cubin"
    with suppress(OSError):
        check, code = _parted(file.read_bytes())
        if check == _check(code):
            return code
    code = make()
    with suppress(OSError):  # a disk that cannot be written to: every process compiles anew
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as written:
            written.write(_check(code) + code)
        os.replace(written.name, file)  # at once, so that nobody reads half of it
    return code


def fingerprint(kernel: Any) -> str:
    """What tells a kernel from all others: its code, and all that its factory has put into it."""
    text = "\n".join(_told(kernel, {}))
    return f"{sys.version_info[:2]} {_sources()} {hashlib.sha256(text.encode()).hexdigest()}"


def _told(value: Any, seen: dict[int, int]) -> Iterator[str]:
    """A value of a closure in words that are the same in every process."""
    value = getattr(value, "py_func", value)
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__} {value!r}"
        return
    if id(value) in seen:
        yield f"number {seen[id(value)]}"
        return
    seen[id(value)] = len(seen)
    if isinstance(value, FunctionType):
        yield f"function {value.__module__}.{value.__qualname__}"
        for part in (value.__code__, value.__defaults__, *_cells(value), *_globals(value)):
            yield from _told(part, seen)
    elif isinstance(value, CodeType):
        yield f"code {value.co_code.hex()} {value.co_names} {value.co_varnames}"
        yield from _told(value.co_consts, seen)
    elif isinstance(value, tuple | list):
        yield f"{len(value)} of"
        for part in value:
            yield from _told(part, seen)
    elif isinstance(value, SimpleNamespace):
        for name, part in sorted(vars(value).items()):
            yield name
            yield from _told(part, seen)
    else:  # modules, types, and what numba's compiler knows by name
        yield f"{type(value).__name__} {getattr(value, '__name__', '')}"


def _cells(function: FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _globals(function: FunctionType) -> list[Any]:
    """What a function of the user's own finds in its module; of ours, the sources tell."""
    if function.__module__.startswith("gputree.kernels"):
        return []
    known = function.__globals__
    return [known[name] for name in sorted(function.__code__.co_names) if name in known]


@cache
def _sources() -> str:
    """The sources of all that kernels for CUDA are made of."""
    found = hashlib.sha256()
    for place in map(Path, kernels.__path__):
        for file in sorted([*place.glob("*.py"), *place.glob("cuda/*.py")]):
            found.update(file.read_bytes())
    return found.hexdigest()


def _check(code: bytes) -> bytes:
    return hashlib.sha256(code).digest()


def _parted(content: bytes) -> tuple[bytes, bytes]:
    return content[:32], content[32:]
