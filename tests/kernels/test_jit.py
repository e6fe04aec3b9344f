"""Compiling: with and without a place for machine code, and its time."""

import errno
import os
import signal
import subprocess
import sys
import threading

import numba
import pytest
from numba.core.caching import FunctionCache

from gputree import DecisionTreeClassifier
from gputree.kernels.cpu import jit
from gputree.kernels.undisturbed import Abandoned, no_longer_than, undisturbed


def add_one(x):
    return x + 1


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_kernel_compiles_where_no_cache_can_be_written(monkeypatch):
    def refuse(function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(jit, "Cache", refuse)
    assert jit.kernel(add_one)(1) == 2


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda code: code[:-7], lambda code: b"", lambda code: b"\xff"])
def test_damaged_machine_code_is_compiled_anew_and_kept(folder, suffix, damage):
    jit.kernel(add_one)(1)
    (file,) = folder.rglob(f"*.{suffix}")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(UserWarning, match=r"cannot be read, so it is compiled anew \(\w+Error\)"):
        assert jit.kernel(add_one)(1) == 2
    again = jit.kernel(add_one)
    assert again(1) == 2
    assert sum(again.stats.cache_hits.values()) == 1


def test_machine_code_of_other_sources_is_compiled_anew(folder, monkeypatch):
    jit.kernel(add_one)(1)
    same = jit.kernel(add_one)
    assert same(1) == 2
    assert sum(same.stats.cache_hits.values()) == 1
    monkeypatch.setattr(jit, "SOURCES", "others")
    changed = jit.kernel(add_one)
    assert changed(1) == 2
    assert not changed.stats.cache_hits


def test_a_kernel_compiles_where_its_cache_has_gone(folder):
    compiled = jit.kernel(add_one)
    (within,) = folder.iterdir()
    within.rmdir()
    within.write_text("no folder any more")
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR can name another folder"):
        assert compiled(1) == 2


def test_a_kernel_compiles_where_its_machine_code_cannot_be_kept(folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", refuse)
    with pytest.warns(UserWarning, match="cannot be written, so every process compiles it again"):
        assert jit.kernel(add_one)(1) == 2


def test_a_constant_is_no_type_of_its_own(folder):
    """Nor is what a variable seems to be before all that it is set to is known."""
    callee = jit.inner(add_one)

    @jit.kernel
    def caller(x):
        code = -1
        if x > 0:
            code = x
        return callee(code) + callee(7)

    assert caller(2) == 11
    assert len(callee.signatures) == 1


PROGRAM = """
import sys
import numpy as np
from gputree.kernels.cpu.jit import kernel

@kernel
def total(values):
    room = np.zeros(len(values))
    for i in range(len(values)):
        room[i] = values[i]
    return room.sum()

@kernel
def twice(value):
    return 2 * value

found = total(np.arange(4.0))
print(found, "numba.np.random.generator_methods" in sys.modules)
if len(sys.argv) > 1:
    print(twice(21))
"""


def test_kernels_are_loaded_without_the_compiler_and_others_still_compile(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    place = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def say(*args):
        command = [sys.executable, str(program), *args]
        return subprocess.run(command, env=place, capture_output=True, text=True, check=True).stdout

    assert say() == "6.0 True\n"
    assert say("more") == "6.0 False\n42\n"


def test_an_interrupt_leaves_the_compiler_to_its_work():
    """It reaches the caller at once. In the middle of compiling it would leave locks taken."""
    is_begun, may_end, seen = threading.Event(), threading.Event(), []

    @undisturbed
    def compile():
        is_begun.set()
        may_end.wait(timeout=20)
        seen.append(threading.current_thread())

    def interrupt():
        is_begun.wait(timeout=20)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        compile()
    assert not seen
    may_end.set()
    compile()  # the next one waits for it
    assert len(seen) == 2
    assert threading.main_thread() not in seen


def test_helpers_that_nobody_waits_for_do_not_wait_for_the_compiler():
    may_end = threading.Event()
    with no_longer_than(lambda: False), pytest.raises(Abandoned):
        undisturbed(may_end.wait)(20)
    may_end.set()


def test_errors_of_undisturbed_work_reach_the_caller():
    with pytest.raises(ZeroDivisionError):
        undisturbed(divmod)(1, 0)


def test_the_time_of_compiling_is_kept():
    before = jit.COMPILE_TIME.seconds
    numba.njit(lambda x: x * 3)(2.0)
    assert jit.COMPILE_TIME.seconds > before


def test_a_fit_with_compiled_kernels_spends_no_time_compiling():
    tree = DecisionTreeClassifier(backend="numba")
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    tree.fit(X, y)
    assert tree.fit(X, y).fit_report_.compile_seconds == 0.0
    assert "0.000 s of it compiling" in str(tree.fit_report_)
