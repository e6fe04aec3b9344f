"""Where pictures are drawn, and what they have in common: colours, frames, grids.

The one module that imports matplotlib, and only where a figure has to be made.
"""

from typing import Any

from gputree.tree.colours import CLASS_COLOURS

# Of Okabe and Ito's colours those that can be told from one another, and from white, as lines.
GREY, BLUE, RED = "#767676", "#0072b2", "#d55e00"
CLASS_MARKERS = "os^DvPX*"  # shapes, for those who cannot tell the colours apart
SMALL = "small"  # size of what explains


def new_axes(ax: Any, width: float = 6.4, height: float = 4.8) -> Any:
    """The axes that were given, or those of a new figure of pyplot."""
    if ax is not None:
        return ax
    return _pyplot().subplots(figsize=(width, height), layout="constrained")[1]


def current_axes() -> Any:
    """The axes that pyplot would draw into."""
    return _pyplot().gca()


def tidy(ax: Any, *, grid: str) -> None:
    """A frame that does not distract, and lines to read values by along one axis."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="0.9")
    ax.set_axisbelow(True)


def hexed(colour: tuple[int, int, int] | Any) -> str:
    """A colour of 0 to 255 as '#rrggbb'."""
    red, green, blue = (round(part) for part in colour)
    return f"#{red:02x}{green:02x}{blue:02x}"


def series_colour(number: int) -> str:
    """The colour of the first, second, ... line of one picture."""
    order = (BLUE, RED, hexed(CLASS_COLOURS[2]), hexed(CLASS_COLOURS[6]), GREY)
    return order[number % len(order)]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return plt
