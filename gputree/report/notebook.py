"""A few facts of a fitted model below what scikit-learn shows of it in a notebook.

HTML and styles only: notebooks run no scripts that they do not trust. Knows estimators; must not
know the pages of reports.
"""

import html
from typing import Any

from gputree.ensembles.base import Ensemble
from gputree.estimators.base import TreeEstimator
from gputree.fit.report import FitReport

MOST_BARS = 6
MOST_LINES = 12
CELL = "padding:1px 14px 1px 0;border:0;text-align:left;background:none"
BAR = "display:inline-block;height:9px;border-radius:3px;background:#0072b2"
FRAME = (
    "font:13px/1.5 system-ui,sans-serif;border:1px solid #8885;border-radius:8px;padding:10px 14px;"
    "margin-top:8px;max-width:760px;display:flex;flex-wrap:wrap;gap:8px 32px"
)


def with_facts(model: Any, shown: str) -> str:
    """What scikit-learn shows, and the facts of a fit that follow it."""
    return shown + facts(model) if is_fitted(model) else shown


def is_fitted(model: Any) -> bool:
    return hasattr(model, "nodes_") or hasattr(model, "_members")


def facts(model: Any) -> str:
    """Sizes, scores that the fit knows, the most important columns, and the top of a tree."""
    rows = "".join(
        f'<tr><th style="{CELL};font-weight:400;opacity:.7">{html.escape(name)}</th>'
        f'<td style="{CELL}">{html.escape(value)}</td></tr>'
        for name, value in _facts(model)
    )
    table = f'<table style="border-collapse:collapse;margin:0">{rows}</table>'
    return f'<div class="gputree-facts" style="{FRAME}">{table}{_bars(model)}{_top(model)}</div>'


def _facts(model: Any) -> list[tuple[str, str]]:
    found = []
    if isinstance(model, TreeEstimator):
        tree = model.nodes_
        depth = len(tree.levels()) - 1
        found.append(
            ("tree", f"{tree.n_nodes:,} nodes, {tree.n_leaves:,} leaves, {depth:,} levels")
        )
        pruned = getattr(model, "pruning_report_", None)
        if pruned is not None:
            before, after = pruned.n_leaves
            found.append(("pruned", f"from {before:,} to {after:,} leaves, {pruned.method}"))
    elif isinstance(model, Ensemble):
        n_nodes = sum(member.tree.n_nodes for member in model._members)
        found.append(("trees", f"{len(model._members):,}, {n_nodes:,} nodes"))
    oob = getattr(model, "_oob", None)
    if oob is not None:
        found.append(("out-of-bag score", f"{oob.score:.4g}"))
    watched = getattr(model, "_watched", None)
    if watched:
        found.append(("validation loss", f"{min(watched):.4g}"))
    scores = getattr(model, "_scores", None)
    if scores:
        found.append(("validation score", f"{max(scores):.4g}"))
    report = getattr(model, "fit_report_", None)
    if report is not None:
        found += [
            ("table", f"{report.n_rows:,} rows, {report.n_features:,} columns"),
            ("fitted", f"{report.backend} on {report.device}{_took(report)}"),
        ]
    return found


def _took(report: FitReport) -> str:
    """How long a fit took, where that is known."""
    total = report.seconds.get("total")
    return "" if total is None else f", {total:.2f} s"


def _bars(model: Any) -> str:
    """The most important columns."""
    share = model.feature_importances_
    order = sorted(range(len(share)), key=lambda at: -share[at])[:MOST_BARS]
    most = share[order[0]] if order and share[order[0]] > 0 else 1.0
    rows = "".join(
        f'<tr><td style="{CELL}">{html.escape(str(model.schema_.names[at]))}</td>'
        f'<td style="{CELL}"><span style="{BAR};width:{120 * share[at] / most:.0f}px"></span> '
        f"{share[at]:.1%}</td></tr>"
        for at in order
        if share[at] > 0
    )
    return f'<table style="border-collapse:collapse;margin:0">{rows}</table>' if rows else ""


def _top(model: Any) -> str:
    """The first lines of a single tree."""
    if not isinstance(model, TreeEstimator):
        return ""
    lines = model.export_text(max_depth=2).splitlines()
    shown = "\n".join(
        [*lines[:MOST_LINES], *(["..."] if len(lines) > MOST_LINES else [])],
    )
    style = "margin:0;font:12px/1.45 ui-monospace,monospace;overflow-x:auto;max-width:100%"
    return f'<pre style="{style}">{html.escape(shown)}</pre>'
