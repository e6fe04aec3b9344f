"""One HTML file of a report's data: no network, no other file, and nothing from the data as code.

Knows HTML; must not know models.
"""

import html
import os
from functools import cache
from importlib import resources
from string import Template
from typing import Any

from gputree.report.plain import script_json
from gputree.tree.store import write

SCRIPTS = ("page.js", "charts.js", "walk.js", "words.js", "view.js", "explorer.js", "sections.js")
FRAME_HEIGHT = 720  # pixels of a report inside a notebook


class Report:
    """A report as one HTML page; notebooks show it.

    Attributes
    ----------
    html : str
        The page.
    data : dict
        What it shows, as JSON holds it.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.html = page(data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file: all of it, or on any failure nothing."""
        write(path, self.html.encode("utf-8"))

    def _repr_html_(self) -> str:
        # A document of its own: neither styles nor scripts reach the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" '
            f'title="{html.escape(str(self.data["title"]), quote=True)}" loading="lazy" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:1px solid #8884;border-radius:8px">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return f"<Report {self.data['title']!r}, {len(self.html) / 1e3:,.0f} kB>"


def page(data: dict[str, Any]) -> str:
    """The page that shows some data."""
    # A template is filled once, so that nothing in the data is taken for a placeholder.
    return Template(asset("report.html")).substitute(
        title=html.escape(str(data["title"]), quote=True),
        style=asset("report.css"),
        script="\n".join(asset(name) for name in SCRIPTS),
        data=script_json(data),
    )


@cache
def asset(name: str) -> str:
    """A file that comes with the package."""
    return resources.files("gputree.report").joinpath("assets", name).read_text("utf-8")
