"""Bundles as files in the user's cache, named by their digest; the engine uploads files."""

import tempfile
from pathlib import Path

import pulumi

from components.machine.bundle import Bundle
from components.sdk import cache


def directory() -> Path:
    """Return the folder of bundles for upload; only the user can read it."""
    return cache.folder() / "bundles"


def asset(bundle: Bundle) -> pulumi.FileAsset:
    """Return the bundle as a file asset. Write the file atomically, unless it already has this content."""
    folder = directory()
    path = folder / f"{bundle.sha256}.zip"
    if path.is_symlink() or not path.is_file() or path.read_bytes() != bundle.content:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(bundle.content)
        Path(file.name).replace(path)
    return pulumi.FileAsset(str(path))
