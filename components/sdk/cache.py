"""The cache folder: the engine, and bundles for upload."""

import os
from pathlib import Path


def folder() -> Path:
    """Return $XDG_CACHE_HOME/mullion, or ~/.cache/mullion."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # XDG base directory specification: a relative path is invalid and must be ignored
    return (base if base.is_absolute() else Path.home() / ".cache") / "mullion"
