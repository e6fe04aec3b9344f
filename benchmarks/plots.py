"""Results as pictures; needs matplotlib."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from curves import Curve
from figures import Results, Sweep, names, steepness, sweeps
from report import value_text

MIB = 2**20
MARKERS = "osD^vP*X<>"


def draw(results: Results, folder: Path) -> list[Path]:
    """A picture a sweep, and of memory for those of rows and features; none without matplotlib."""
    if find_spec("matplotlib") is None:
        return []
    paths: list[Path] = []
    for sweep in sweeps(results):
        everyone = names(results)
        paths.append(_picture(sweep, everyone, Sweep.curve, "seconds of a fit", "time", folder))
        if sweep.axis in ("rows", "features"):
            paths.append(_picture(sweep, everyone, _mebibytes, "peak MiB", "memory", folder))
    return paths


def _mebibytes(sweep: Sweep, name: str) -> Curve:
    return [(value, max(size / MIB, 0.1)) for value, size in sweep.memory(name)]


def _picture(
    sweep: Sweep,
    everyone: Sequence[str],
    curve_of: Callable[[Sweep, str], Curve],
    label: str,
    what: str,
    folder: Path,
) -> Path:
    from matplotlib.figure import Figure

    page = Figure(figsize=(9, 5), layout="constrained")
    axes = page.add_subplot()
    for number, name in enumerate(everyone):
        curve = curve_of(sweep, name)
        if curve:
            _line(axes, sweep, name, number, curve, with_slope=what == "time")
    _scales(axes, sweep)
    axes.set_xlabel(sweep.axis)
    axes.set_ylabel(label)
    axes.set_title(f"{label} by {sweep.axis} ({sweep.title})")
    axes.grid(which="both", alpha=0.25)
    page.legend(loc="outside right upper", fontsize="small")
    path = folder / f"{what}_{_file_name(sweep)}.png"
    page.savefig(path, dpi=120)
    return path


def _line(
    axes: Any, sweep: Sweep, name: str, number: int, curve: Curve, *, with_slope: bool
) -> None:
    """One contestant; ours are drawn thick."""
    grows = steepness(curve) if with_slope and sweep.axis == "rows" else None
    label = name if grows is None else f"{name} (slope {grows:.2f})"
    is_ours = name.startswith("gputree")
    place = {float(value): at for at, value in enumerate(sweep.cases)}
    axes.plot(
        [place[value] if sweep.axis == "depth" else value for value, _ in curve],
        [height for _, height in curve],
        marker=MARKERS[number % len(MARKERS)],
        color=f"C{number % 10}",
        linewidth=2.5 if is_ours else 1.0,
        linestyle="-" if is_ours else "--",
        label=label,
    )


def _scales(axes: Any, sweep: Sweep) -> None:
    """Logarithms, but depths side by side: the last of them has no number."""
    axes.set_yscale("log")
    if sweep.axis == "depth":
        axes.set_xticks(range(len(sweep.cases)), [value_text(value) for value in sweep.cases])
        return
    axes.set_xscale("log")
    texts = [value_text(value) for value in sweep.cases]
    axes.set_xticks(list(sweep.cases), texts, rotation=30, ha="right")
    axes.minorticks_off()


def _file_name(sweep: Sweep) -> str:
    shared = sweep.title.replace(",", "").replace(" ", "-")
    return f"{sweep.axis}_{shared}"
