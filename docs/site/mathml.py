"""Formulas of the site as MathML, made when it is built: readers need no script and no network."""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves: \( \) around formulas in a line, \[ \] around those apart.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<kind>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>',
    re.DOTALL,
)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with the HTML of a page."""
    return FORMULA.sub(_mathml, html)


def _mathml(found: re.Match[str]) -> str:
    display = "inline" if found["kind"] == "(" else "block"
    return convert(unescape(found["tex"]).strip(), display=display)
