"""Files, folders, links, secrets and their permissions."""

import grp
import json
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from failure import Failure
from run import Run, Step
from writing import beside, rename, write_whole

MODES = {"public": 0o644, "private": 0o600}
"""File modes by access; folders and executable files also get x wherever they have r."""
FORMATS: dict[str, tuple[type, Callable[[Any], str]]] = {
    "text": (str, str),
    "json": (object, lambda content: json.dumps(content, indent=2) + "\n"),
    "documents": (list, lambda content: "".join(f"---\n{json.dumps(each, indent=2)}\n" for each in content)),
}
"""Type of `content` and its text, by format; without a format it is text."""


def mode(step: Step, walk: bool = False) -> int:
    """Return the permissions of the step; `walk` for a folder."""
    bits = MODES[step.get("access", "public")]
    return bits | bits >> 2 & 0o111 if walk or step.get("executable") else bits


def plain(path: Path) -> bool:
    """Return whether the path is a regular file, not a link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def bits_of(path: Path) -> int:
    """Return the permissions of the path."""
    return stat.S_IMODE(path.stat().st_mode)


def directory_holds(run: Run, step: Step) -> bool:
    """Return whether the folder exists with its mode."""
    path = run.path(step["path"])
    return path.is_dir() and bits_of(path) == mode(step, walk=True)


def make_directory(run: Run, step: Step) -> None:
    """Create the folder and its parents."""
    path = run.path(step["path"])
    path.mkdir(mode=mode(step, walk=True), parents=True, exist_ok=True)
    path.chmod(mode(step, walk=True))


def content(step: Step) -> bytes:
    """Return the bytes of a file step."""
    kind, text = FORMATS[step.get("format", "text")]
    if not isinstance(step["content"], kind):
        raise Failure("step-invalid", f"content is {type(step['content']).__name__}, which the format does not allow")
    return text(step["content"]).encode()


def written(path: Path, expected: bytes, bits: int) -> bool:
    """Return whether the file has exactly this content and mode."""
    return plain(path) and bits_of(path) == bits and path.read_bytes() == expected


def file_holds(run: Run, step: Step) -> bool:
    """Return whether the file has the step's content and mode."""
    return written(run.path(step["path"]), content(step), mode(step))


def make_file(run: Run, step: Step) -> None:
    """Write the file atomically."""
    write_whole(run.path(step["path"]), content(step), mode(step))


def link_holds(run: Run, step: Step) -> bool:
    """Return whether the path is a symbolic link to the target."""
    path = run.path(step["path"])
    return path.is_symlink() and str(path.readlink()) == step["target"]


def make_link(run: Run, step: Step) -> None:
    """Create the link beside the path, then rename it; a file or folder at the path is never removed."""
    path = run.path(step["path"])
    if path.exists() and not path.is_symlink():
        raise Failure("file-failed", f"{step['path']} is a file or folder, not a link; it was not replaced")
    path.parent.mkdir(parents=True, exist_ok=True)
    made = beside(path)
    made.unlink(missing_ok=True)
    made.symlink_to(step["target"])
    rename(made, path)


def rights(run: Run, step: Step) -> tuple[Path, int, int, int]:
    """Return path, mode, user id and group id of an access step."""
    path, owner = run.path(step["path"]), step.get("owner", "root")
    if path.is_symlink():
        raise Failure("file-failed", f"{step['path']} is a link; use the path of its target")
    try:
        user = pwd.getpwnam(owner)
        group = grp.getgrgid(user.pw_gid).gr_gid
    except KeyError:
        raise Failure("file-failed", f"{step['path']}: the user {owner} does not exist") from None
    state = path.stat()
    executable = {"executable": bool(state.st_mode & stat.S_IXUSR)}
    return path, mode({**step, **executable}, walk=stat.S_ISDIR(state.st_mode)), user.pw_uid, group


def access_holds(run: Run, step: Step) -> bool:
    """Return whether mode, owner and group are as planned."""
    path, bits, user, group = rights(run, step)
    state = path.stat()
    return (stat.S_IMODE(state.st_mode), state.st_uid, state.st_gid) == (bits, user, group)


def make_access(run: Run, step: Step) -> None:
    """Restrict the mode before changing the owner: no owner can use the old permissions in between."""
    path, bits, user, group = rights(run, step)
    path.chmod(bits & 0o700)
    os.chown(path, user, group)
    path.chmod(bits)


def secret_holds(run: Run, step: Step) -> bool:
    """Return whether the private file has the secret's current value."""
    return written(run.path(step["path"]), run.secret(step["secret"], step.get("member")).encode(), MODES["private"])


def make_secret(run: Run, step: Step) -> None:
    """Write the secret with mode 0600."""
    text = run.secret(step["secret"], step.get("member"))
    write_whole(run.path(step["path"]), text.encode(), MODES["private"])
