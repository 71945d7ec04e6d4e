"""Where things that can be had again are kept: the engine, and bundles that wait for upload."""

import os
from pathlib import Path


def folder() -> Path:
    """XDG_CACHE_HOME or ~/.cache, then mullion."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG base directory specification: a relative path is invalid and ignored.
    return (base if base.is_absolute() else Path.home() / ".cache") / "mullion"
