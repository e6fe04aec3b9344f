"""NAME=VALUE: names that are checked, values as Python writes them.

Knows text; must not know which parameters there are.
"""

import ast
import math
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

# Spellings that are no Python, but meant by many.
WORDS = {
    "none": None,
    "null": None,
    "true": True,
    "false": False,
    "inf": math.inf,
    "nan": math.nan,
}


def read_settings(given: Iterable[str], option: str = "--set") -> dict[str, Any]:
    """The values by their names."""
    found: dict[str, Any] = {}
    for each in given:
        name, sign, value = each.partition("=")
        name = name.strip()
        if not (sign and name):
            raise ValueError(f"{option} {each}: the form is NAME=VALUE, such as max_depth=6")
        if name in found:
            raise ValueError(f"{option} sets {name} twice; leave one of them out")
        found[name] = read_value(value)
    return found


def read_value(text: str) -> Any:
    """A Python literal, or the text itself."""
    text = text.strip()
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def near(name: str, known: Sequence[str]) -> str:
    """The known names that look like a wrong one, to be put behind a message."""
    matches = get_close_matches(name.lower(), [each.lower() for each in known], n=3)
    found = [each for each in known if each.lower() in matches]
    return f"; did you mean {' or '.join(found)}?" if found else f"; choose from {', '.join(known)}"
