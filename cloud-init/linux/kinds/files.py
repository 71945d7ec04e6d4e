"""Files, folders, links and their rights."""

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
"""Modes of files by access; folders and executable files add the x of those who may read."""
FORMATS: dict[str, tuple[type, Callable[[Any], str]]] = {
    "text": (str, str),
    "json": (object, lambda content: json.dumps(content, indent=2) + "\n"),
    "documents": (list, lambda content: "".join(f"---\n{json.dumps(each, indent=2)}\n" for each in content)),
}
"""What content is, and the text that it becomes; without a format it is text."""


def mode(step: Step, walk: bool = False) -> int:
    """Permissions that the step asks for; `walk`: of a folder."""
    bits = MODES[step.get("access", "public")]
    return bits | bits >> 2 & 0o111 if walk or step.get("executable") else bits


def plain(path: Path) -> bool:
    """A file lies there, not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def bits_of(path: Path) -> int:
    """The permissions it has."""
    return stat.S_IMODE(path.stat().st_mode)


def directory_holds(run: Run, step: Step) -> bool:
    """The folder is there with its mode."""
    path = run.path(step["path"])
    return path.is_dir() and bits_of(path) == mode(step, walk=True)


def make_directory(run: Run, step: Step) -> None:
    """Makes the folder and those above it."""
    path = run.path(step["path"])
    path.mkdir(mode=mode(step, walk=True), parents=True, exist_ok=True)
    path.chmod(mode(step, walk=True))


def content(step: Step) -> bytes:
    """Bytes of a file step."""
    kind, text = FORMATS[step.get("format", "text")]
    if not isinstance(step["content"], kind):
        raise Failure("step-invalid", f"content is {type(step['content']).__name__}, which format does not take")
    return text(step["content"]).encode()


def written(path: Path, expected: bytes, bits: int) -> bool:
    """The file holds exactly this, with this mode."""
    return plain(path) and bits_of(path) == bits and path.read_bytes() == expected


def file_holds(run: Run, step: Step) -> bool:
    """The file is there with content and mode."""
    return written(run.path(step["path"]), content(step), mode(step))


def make_file(run: Run, step: Step) -> None:
    """Writes the file whole."""
    write_whole(run.path(step["path"]), content(step), mode(step))


def link_holds(run: Run, step: Step) -> bool:
    """It is a link with this target."""
    path = run.path(step["path"])
    return path.is_symlink() and str(path.readlink()) == step["target"]


def make_link(run: Run, step: Step) -> None:
    """Makes it beside its place, then renames; what is no link is never removed."""
    path = run.path(step["path"])
    if path.exists() and not path.is_symlink():
        raise Failure("file-failed", f"{step['path']} is a file or folder, not a link; it stays as it is")
    path.parent.mkdir(parents=True, exist_ok=True)
    made = beside(path)
    made.unlink(missing_ok=True)
    made.symlink_to(step["target"])
    rename(made, path)


def rights(run: Run, step: Step) -> tuple[Path, int, int, int]:
    """Path, mode, user id and group id of an access step."""
    path, owner = run.path(step["path"]), step.get("owner", "root")
    if path.is_symlink():
        raise Failure("file-failed", f"{step['path']} is a link; name what it leads to")
    try:
        user = pwd.getpwnam(owner)
        group = grp.getgrgid(user.pw_gid).gr_gid
    except KeyError:
        raise Failure("file-failed", f"{step['path']}: there is no user {owner}") from None
    state = path.stat()
    executable = {"executable": bool(state.st_mode & stat.S_IXUSR)}
    return path, mode({**step, **executable}, walk=stat.S_ISDIR(state.st_mode)), user.pw_uid, group


def access_holds(run: Run, step: Step) -> bool:
    """Mode, owner and group are as planned."""
    path, bits, user, group = rights(run, step)
    state = path.stat()
    return (stat.S_IMODE(state.st_mode), state.st_uid, state.st_gid) == (bits, user, group)


def make_access(run: Run, step: Step) -> None:
    """Takes rights away before it gives the file to somebody: nobody can use the old ones in between."""
    path, bits, user, group = rights(run, step)
    path.chmod(bits & 0o700)
    os.chown(path, user, group)
    path.chmod(bits)


def secret_holds(run: Run, step: Step) -> bool:
    """The private file holds the secret as the store has it now."""
    return written(run.path(step["path"]), run.secret(step["secret"], step.get("member")).encode(), MODES["private"])


def make_secret(run: Run, step: Step) -> None:
    """Writes the secret for root alone."""
    text = run.secret(step["secret"], step.get("member"))
    write_whole(run.path(step["path"]), text.encode(), MODES["private"])
