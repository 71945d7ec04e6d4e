"""Bundles as files, because the engine uploads files: in the user's cache, named by their digest."""

import tempfile
from pathlib import Path

import pulumi

from components.machine.bundle import Bundle
from components.sdk import cache


def directory() -> Path:
    """Where bundles wait for upload; the user's alone."""
    return cache.folder() / "bundles"


def asset(bundle: Bundle) -> pulumi.FileAsset:
    """The bundle as a file. Written whole or not at all, and again if what is there is not the bundle."""
    folder = directory()
    path = folder / f"{bundle.sha256}.zip"
    if path.is_symlink() or not path.is_file() or path.read_bytes() != bundle.content:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(bundle.content)
        Path(file.name).replace(path)
    return pulumi.FileAsset(str(path))
