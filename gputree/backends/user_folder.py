"""Where a user's machine keeps what can be made again."""

import os
import sys
from pathlib import Path


def user_folder() -> Path:
    """$GPUTREE_CACHE_DIR, or the user's folder for such things."""
    if chosen := os.environ.get("GPUTREE_CACHE_DIR"):
        return Path(chosen)
    usual = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    return Path(os.environ.get(usual) or Path.home() / ".cache") / "gputree"
