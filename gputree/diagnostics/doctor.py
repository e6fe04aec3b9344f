"""What gputree finds on a machine: versions, cards, what device="auto" does, and whether it works.

Knows whom to ask; must not know how anything is computed.
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

from gputree import __version__
from gputree.backends.cuda.cards import Card, Machine, read_machine
from gputree.backends.registry import choose
from gputree.diagnostics.verify import SelfTest, selftest

Diagnosis: TypeAlias = dict[str, Any]

PACKAGES = {
    "numpy": ("numpy",),
    "numba": ("numba",),
    "numba-cuda": ("numba-cuda",),
    "CuPy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),  # one library under several names
    "torch": ("torch",),
}
TABLES = ((1_000, 10), (10_000_000, 28))  # rows and features of a small table and of a large one


def diagnose(
    device: str = "cuda",
    *,
    read: Callable[[], Machine] = read_machine,
    test: Callable[[str], SelfTest] = selftest,
    measure: Callable[[str, Card], Sequence[Any]] | None = None,
    time_fits: Callable[[str], Sequence[Any]] | None = None,
) -> Diagnosis:
    """Ask everyone; what was not measured is None, and `not_measured` says why."""
    found: Diagnosis = {"versions": _versions()}
    machine = read()
    found |= asdict(machine)
    found["auto"] = [_choice(*table) for table in TABLES]
    found["not_measured"] = missing(device)
    found["selftest"] = found["kernels"] = found["fits"] = None
    if found["not_measured"]:
        return found
    tested = test(device)
    found["selftest"] = asdict(tested) | {"passed": tested.passed}
    if not tested.passed:
        found["not_measured"] = "the self-test failed, and the time of wrong results says nothing"
        return found
    try:
        timings = (measure or _measure)(device, machine.cards[_number(device)])
        found["kernels"] = [asdict(timing) | {"ratio": timing.ratio} for timing in timings]
        fits = (time_fits or _time_fits)(f"cuda:{_number(device)}")
        found["fits"] = [asdict(timing) for timing in fits]
    except Exception as error:  # too little memory, say, has another error in every library
        found["not_measured"] = _told(error)
    return found


def _versions() -> dict[str, str | None]:
    """What is installed, by what installers wrote down: nothing is imported."""
    own = {"gputree": __version__, "Python": platform.python_version()}
    return own | {name: _installed(packages) for name, packages in PACKAGES.items()}


def _installed(packages: Sequence[str]) -> str | None:
    found = []
    for package in packages:
        try:
            number = version(package)
        except PackageNotFoundError:
            continue
        found.append(number if len(packages) == 1 else f"{number} ({package})")
    return ", ".join(found) or None


def _choice(n_rows: int, n_features: int) -> dict[str, Any]:
    """What device="auto" does with a table."""
    told: dict[str, Any] = {"n_rows": n_rows, "n_features": n_features}
    try:
        choice = choose("auto", n_cells=n_rows * n_features)
    except Exception as error:  # a driver that does not fit a library: that library's error
        return told | {"backend": None, "device": None, "reason": _told(error)}
    return told | {
        "backend": choice.backend.name,
        "device": choice.backend.device,
        "reason": choice.reason,
    }


def missing(device: str) -> str:
    """What keeps kernels from running on the device; empty if nothing does."""
    try:
        choose(device, "cuda")
    except ValueError:  # not a device at all
        raise
    except ImportError as error:
        return str(error)
    except Exception as error:  # a driver that does not fit a library: that library's error
        return _told(error)
    from gputree.kernels.cuda import gpu  # not before numba.cuda is known to be there

    return "CUDA is simulated; unset NUMBA_ENABLE_CUDASIM" if gpu.SIMULATED else ""


def _measure(device: str, card: Card) -> Sequence[Any]:
    from gputree.diagnostics.kernel_times import measure  # not before there is a device

    return measure(f"cuda:{card.number}", card)


def _time_fits(device: str) -> Sequence[Any]:
    from gputree.diagnostics.fit_times import fit_times  # it imports every estimator

    return fit_times(device)


def _number(device: str) -> int:
    return int(device.partition(":")[2] or 0)


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


# What is printed


def as_text(found: Diagnosis) -> str:
    """The diagnosis, a fact a line."""
    return "\n".join(_lines(found))


def _lines(found: Diagnosis) -> Iterator[str]:
    for name, number in found["versions"].items():
        yield _fact(name, number or "not installed")
    for name in ("driver", "runtime"):
        yield _fact(name, f"CUDA {found[name]}" if found[name] else "not known")
    for card in found["cards"]:
        yield _fact(f"card {card['number']}", _card_text(card))
    if not found["cards"]:
        yield _fact("cards", f"none: {found['problem']}")
    for choice in found["auto"]:
        yield _fact("auto", _choice_text(choice))
    if found["selftest"] is None:
        yield _fact("self-test", "not run")
    else:
        yield from _selftest_lines(found["selftest"])
    if found["kernels"] is None:
        yield _fact("kernels", f"not measured: {found['not_measured']}")
    else:
        yield from _kernel_lines(found["kernels"])
    for each in found["fits"] or ():
        table = f"{each['n_rows']:,} rows x {each['n_features']} features"
        yield _fact("fit", f"{each['name']}, {table}: {each['seconds']:.3f} s")


def _card_text(card: dict[str, Any]) -> str:
    clock, bandwidth = card["clock"], card["bandwidth"]
    parts = [
        card["name"],
        f"compute capability {card['compute_capability']}",
        f"{card['free_bytes'] / 2**30:.1f} of {card['total_bytes'] / 2**30:.1f} GiB free",
        f"{card['n_multiprocessors']} multiprocessors",
        f"{clock / 1e9:.2f} GHz" if clock else "clock not known",
        f"{bandwidth / 1e9:,.0f} GB/s" if bandwidth else "bandwidth not known",
    ]
    return ", ".join(parts)


def _choice_text(choice: dict[str, Any]) -> str:
    table = f"{choice['n_rows']:,} rows x {choice['n_features']} features"
    where = f"{choice['backend']} on {choice['device']}" if choice["backend"] else "fails"
    return f"{table}: {where} ({choice['reason']})"


def _selftest_lines(tested: dict[str, Any]) -> Iterator[str]:
    failed = [check for check in tested["checks"] if not check["passed"]]
    n_checks = len(tested["checks"])
    verdict = f"FAILED, {len(failed)} of" if failed else "passed,"
    yield _fact("self-test", f"{verdict} {n_checks} checks")
    for check in failed:
        yield _fact("", f"{check['name']}: {check['detail']}")


def _kernel_lines(kernels: list[dict[str, Any]]) -> Iterator[str]:
    yield _fact("kernels", f"{'':<20} {'ms':>8} {'bound':>8} {'x bound':>8}")
    for each in kernels:
        bound = f"{each['bound']:>8.3f} {each['ratio']:>8.2f}" if each["bound"] else f"{'':>17}"
        yield _fact(
            "", f"{each['name']:<20} {each['milliseconds']:>8.3f} {bound}  {each['bound_by']}"
        )


def _fact(name: str, value: object) -> str:
    return f"{name:<10} {value}"
