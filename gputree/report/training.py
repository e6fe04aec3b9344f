"""How a model was made: its parameters, where and how long it was fitted.

Knows estimators by what scikit-learn promises of them; must not know how anything is shown.
"""

import inspect
import reprlib
from typing import Any

from gputree.fit.report import FitReport
from gputree.report.plain import label, number

LONGEST = 120  # characters of a parameter
SHORTENED = reprlib.Repr()
SHORTENED.maxstring = SHORTENED.maxother = LONGEST


def parameter_list(model: Any) -> list[dict[str, Any]]:
    """All parameters, and which of them differ from the default."""
    default = inspect.signature(type(model).__init__).parameters
    found = []
    for name, value in sorted(model.get_params(deep=False).items()):
        usual = default[name].default if name in default else inspect.Parameter.empty
        is_usual = type(value) is type(usual) and repr(value) == repr(usual)
        found.append({"name": name, "value": SHORTENED.repr(value), "usual": is_usual})
    return found


def fit_facts(model: Any) -> dict[str, Any] | None:
    """The facts of the fit; None for a model that was read from a file."""
    report = getattr(model, "fit_report_", None)
    if report is None:
        return None
    phases = [
        {"name": name, "seconds": number(seconds, 4)}
        for name, seconds in report.seconds.items()
        if name != "total"
    ]
    return {
        "facts": [
            ["backend", f"{report.backend} on {report.device}"],
            ["why", report.reason],
            ["table", f"{report.n_rows:,} rows, {report.n_features:,} columns"],
            ["nodes", f"{report.n_nodes:,}"],
            ["peak memory", f"{report.peak_bytes / 2**20:,.1f} MiB"],
            *_times(report),
        ],
        "phases": sorted(phases, key=lambda each: -(each["seconds"] or 0)),
        "notes": [label(note) for note in report.notes],
    }


def _times(report: FitReport) -> list[list[str]]:
    """How long a fit took; a model that comes from a pickle has forgotten it."""
    if "total" not in report.seconds:
        return []
    total, compiling = report.seconds["total"], report.compile_seconds
    return [["time", f"{total:.3f} s, of which {compiling:.3f} s compiling"]]


def importance_list(model: Any, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Features by importance, the largest first."""
    share = getattr(model, "feature_importances_", None)
    if share is None:
        return []
    order = sorted(range(len(share)), key=lambda at: -share[at])
    return [{"name": label(names[at]), "share": number(share[at], 5)} for at in order]
