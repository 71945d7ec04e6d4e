"""Bundles as files, because the engine uploads files: in the user's cache, named by their digest."""

import os
import tempfile
from pathlib import Path

import pulumi

from components.bundle import Bundle


def directory() -> Path:
    """Where bundles wait for upload; the user's alone."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "mullion" / "bundles"


def asset(bundle: Bundle) -> pulumi.FileAsset:
    """The bundle as a file. Written whole or not at all, and again if what is there has another size."""
    folder = directory()
    path = folder / f"{bundle.sha256}.zip"
    if not path.is_file() or path.stat().st_size != len(bundle.content):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(bundle.content)
        Path(file.name).replace(path)
    return pulumi.FileAsset(str(path))
