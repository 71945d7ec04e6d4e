"""The cache folder: the engine, and bundles before their upload."""

import os
from pathlib import Path


def folder() -> Path:
    """Return the folder mullion in XDG_CACHE_HOME, or in ~/.cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG base directory specification: a relative path is invalid and ignored.
    return (base if base.is_absolute() else Path.home() / ".cache") / "mullion"
