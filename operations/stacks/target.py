"""Where a stack is built: the sandbox, or an account and region of a cloud. Recorded from its first `up` to its `down`.

A sandbox state and a real state of the same stack would both describe one cluster.
"""

import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from components.spec.choices import Cloud
from operations.console.exits import Exit, Stop
from operations.stacks.paths import REPOSITORY

SANDBOX = "sandbox"
WORLDS = (SANDBOX, *(each.value for each in Cloud))
"""Names of targets."""

STACK_NAME = re.compile(r"(?!(?:sandbox|runs)\Z)[a-z][a-z0-9-]{0,25}")
"""Matches the names of stacks. Each stack has a folder in `root()`, next to `sandbox` (all sandboxes) and `runs` (all
runs' artifacts), so no stack may have one of these names.
"""
NAME_RULE = "lower-case letters, digits and hyphens, at most 26, starting with a letter, but not sandbox or runs"


@dataclass(frozen=True)
class Target:
    """Where a stack is built. name: sandbox or a cloud; account and region: of a cloud, empty if unknown."""

    name: str
    account: str = ""
    region: str = ""

    def __str__(self) -> str:
        if self.name == SANDBOX:
            return "the sandbox"
        return f"{self.name} account {self.account or '(unknown)'} in {self.region or '(unknown region)'}"


def root() -> Path:
    """Return the folder of the files that commands keep about stacks of this clone; git ignores it."""
    return REPOSITORY / ".mullion"


def _checked(stack: str) -> str:
    """Return a stack's name. Raises Stop if it is invalid, because it becomes part of a path."""
    if not STACK_NAME.fullmatch(stack):
        raise Stop(Exit.USAGE, f"there is no stack {stack!r}. A stack's name is made of {NAME_RULE}")
    return stack


def folder(stack: str) -> Path:
    """Return the folder of one stack's kubeconfig and recorded target."""
    return root() / _checked(stack)


def sandbox_folder(name: str) -> Path:
    """Return the folder of a stack's sandbox: engine home, state, passphrase, cloud state and work folder."""
    return root() / "sandbox" / _checked(name)


def cloud_state_file(name: str) -> Path:
    """Return the database of the embedded cloud in a stack's sandbox."""
    return sandbox_folder(name) / "world.db"


def recall(stack: str) -> Target | None:
    """Return where a stack is built, or None if it is not built. Raises Stop if the file cannot be read."""
    path = folder(stack) / "world.json"
    try:
        return _read(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Stop(
            Exit.REFUSED,
            f'{path} cannot be read ({error}); write {{"world": "sandbox"}}, or the cloud in which the stack is built: '
            '{"world": "aws"}',
        ) from error


def _read(record: Any) -> Target:
    """Return the target of a record. Raises ValueError, KeyError, TypeError or AttributeError if it is malformed."""
    found = Target(record["world"], record.get("account", ""), record.get("region", ""))
    if found.name not in WORLDS or not isinstance(found.account, str) or not isinstance(found.region, str):
        raise ValueError(f"world must be one of {', '.join(WORLDS)}; account and region must be texts")
    return found


def _record(destination: Target) -> str:
    """Return a target as JSON, without unknown fields, which match any value."""
    return json.dumps(
        {("world" if key == "name" else key): value for key, value in asdict(destination).items() if value}
    )


def in_sandbox(stack: str) -> bool:
    """Return whether a stack is built in the sandbox."""
    built_in = recall(stack)
    return built_in is not None and built_in.name == SANDBOX


def check(stack: str, wanted: Target) -> None:
    """Raise Stop if a stack is built elsewhere than in `wanted`. An unknown account or region matches any."""
    built_in = recall(stack)
    if built_in is None:
        return
    same = built_in.name == wanted.name and all(
        not recorded or not value or recorded == value
        for recorded, value in ((built_in.account, wanted.account), (built_in.region, wanted.region))
    )
    if not same:
        flag = " --sandbox" if built_in.name == SANDBOX else ""
        if SANDBOX in (built_in.name, wanted.name):
            there = f"To use it there, {'add' if flag else 'leave out'} --sandbox"
        else:
            there = "To use it there, switch to that account and region"
        raise Stop(
            Exit.REFUSED,
            f"stack {stack} is built in {built_in}, not in {wanted}. {there}. "
            f"To build it here, remove it there first (mullion down {stack}{flag}), or use a stack of another name. "
            f"If the record is wrong, because the stack is not built there, correct {folder(stack) / 'world.json'}: "
            f"{_record(wanted)}",
        )


def built(*, sandbox: bool) -> list[str]:
    """Return the stacks of this clone that are built in the sandbox, or those built in real accounts."""
    names = sorted(path.parent.name for path in root().glob("*/world.json"))
    return [name for name in names if in_sandbox(name) == sandbox]


def command(verb: str, stack: str, *words: str) -> str:
    """Return the command line `mullion VERB STACK ...` for this stack, with --sandbox if it is built there."""
    # during a run in the sandbox this variable is set, even before the first `up` is recorded
    sandbox = in_sandbox(stack) or "MULLION_SANDBOX_WORLD" in os.environ
    return " ".join(["mullion", verb, stack, *words, *(["--sandbox"] if sandbox else [])])


def remember(stack: str, destination: Target) -> None:
    """Record where a stack is built, unless it is recorded already, and the time at which this run begins."""
    path = folder(stack) / "world.json"
    if recall(stack) is None:
        write(path, _record(destination) + "\n")
    path.touch()


def began(stack: str) -> int:
    """Return when the newest run of a stack began, in nanoseconds; 0 without a run."""
    try:
        return (folder(stack) / "world.json").stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def forget(stack: str) -> None:
    """Delete the record of where a stack was built."""
    (folder(stack) / "world.json").unlink(missing_ok=True)


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all, with mode 0600."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp sets mode 0600 before anything is written
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(partial).replace(path)
    except BaseException as error:
        Path(partial).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:
            error.filename = str(path)  # a failed write names no file, other calls name the temporary file
        raise
