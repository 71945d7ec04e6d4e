"""Folders and settings of the portal on this machine, by environment variables."""

import fcntl
import hashlib
import os
import secrets
import shutil
from pathlib import Path

from operations.chaos.clone import PARTS, copy_clone
from operations.stacks import target
from operations.stacks.paths import REPOSITORY


def data() -> Path:
    """Return the folder of the portal's own files: MULLION_PORTAL_DATA, or `.mullion/_portal` of this clone.

    No stack can be called `_portal`, so the folder stands beside those of stacks.
    """
    folder = Path(os.environ.get("MULLION_PORTAL_DATA") or target.root() / "_portal")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def kept_secret(name: str) -> str:
    """Return a random text that is kept in a file of mode 0600; write it at the first call."""
    path = data() / name
    if not path.exists():
        target.write(path, secrets.token_urlsafe(48))
    return path.read_text("utf-8").strip()


def clone() -> Path:
    """Return the folder in which jobs run `mullion`, with a copy of this clone's program as it is now.

    Stack files, states and sandboxes of the portal's clusters are in it, apart from those of the clone.
    """
    folder, stamp = data() / "clone", data() / "clone.stamp"
    with (data() / "clone.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers may start at once
        now = _digest()
        if not stamp.exists() or stamp.read_text("utf-8") != now:
            _copy(folder)
            target.write(stamp, now)
    return folder


def _copy(folder: Path) -> None:
    fresh = data() / "clone.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    copy_clone(fresh)
    for example in (fresh / "stacks").glob("Pulumi.*.yaml"):
        example.unlink()
    for part in PARTS:
        if part != "stacks" and (folder / part).is_dir():
            shutil.rmtree(folder / part)
    shutil.copytree(fresh, folder, dirs_exist_ok=True)
    shutil.rmtree(fresh)


def _digest() -> str:
    """Return a digest of the sizes and times of all files that a copy has, except for compiled code."""
    found = hashlib.sha256()
    for part in PARTS:
        place = REPOSITORY / part
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            compiled, example = path.parent.name == "__pycache__", path.match("stacks/Pulumi.*.yaml")
            if path.is_file() and not compiled and not example:
                state = path.stat()
                found.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode())
    return found.hexdigest()
