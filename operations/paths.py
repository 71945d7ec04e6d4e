"""Where things are on this machine."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
"""The clone that this command belongs to (`mullion` is an editable install of it)."""


def cache() -> Path:
    """Return the folder of what can be had again: XDG_CACHE_HOME or ~/.cache, then mullion."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification: a relative path is invalid and ignored.
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "mullion"
