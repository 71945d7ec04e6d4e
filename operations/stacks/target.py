"""Which world a stack belongs to: the sandbox, or an account of a cloud. Remembered from its first `up` to its `down`.

A sandbox state and a real one of the same stack would each believe that they are the cluster.
"""

import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from operations.console.exits import Exit, Stop
from operations.stacks.paths import REPOSITORY

SANDBOX = "sandbox"

STACK_NAME = re.compile(r"[a-z][a-z0-9-]{0,25}")
NAME_RULE = "lower-case letters, digits and hyphens, at most 26, starting with a letter"


@dataclass(frozen=True)
class Target:
    """`name` is sandbox or a cloud; account and region are for clouds, empty where unknown."""

    name: str
    account: str = ""
    region: str = ""

    def __str__(self) -> str:
        if self.name == SANDBOX:
            return "the sandbox"
        return f"{self.name} account {self.account or '(unknown)'} in {self.region or '(unknown region)'}"


def root() -> Path:
    """Return the folder of all that stacks leave in this clone; git ignores it."""
    return REPOSITORY / ".mullion"


def _checked(stack: str) -> str:
    """Return the name. Raises Stop if it is no stack's name, because as part of a path it may lead anywhere."""
    if not STACK_NAME.fullmatch(stack):
        raise Stop(Exit.USAGE, f"there is no stack {stack!r}. A stack's name is made of {NAME_RULE}")
    return stack


def folder(stack: str) -> Path:
    """Return the folder of one stack's kubeconfig and memory."""
    return root() / _checked(stack)


def sandbox_folder(name: str) -> Path:
    """Return the folder of a stack's sandbox: home, state, passphrase, world and work folder."""
    return root() / "sandbox" / _checked(name)


def cloud_state_file(name: str) -> Path:
    """Return the file of the world that a stack's sandbox is."""
    return sandbox_folder(name) / "world.db"


def recall(stack: str) -> Target | None:
    """Return the world a stack belongs to; None where it belongs to none yet."""
    path = folder(stack) / "world.json"
    try:
        found = json.loads(path.read_text("utf-8"))
        return Target(found["world"], found.get("account", ""), found.get("region", ""))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Stop(
            Exit.REFUSED, f'{path} cannot be read ({error}); write {{"world": "sandbox"}} or {{"world": "aws"}}'
        ) from error


def in_sandbox(stack: str) -> bool:
    """Return whether a stack belongs to the sandbox."""
    known = recall(stack)
    return known is not None and known.name == SANDBOX


def check(stack: str, wanted: Target) -> None:
    """Stop where a stack belongs to another world than the wanted one."""
    known = recall(stack)
    if known is None:
        return
    same = known.name == wanted.name and all(
        not one or not other or one == other
        for one, other in ((known.account, wanted.account), (known.region, wanted.region))
    )
    if not same:
        flag = " --sandbox" if known.name == SANDBOX else ""
        raise Stop(
            Exit.REFUSED,
            f"stack {stack} belongs to {known}, not to {wanted}. "
            f"Remove it there first: mullion down {stack}{flag}; or use a stack of another name",
        )


def built(*, sandbox: bool) -> list[str]:
    """Return the stacks of this clone that are built in the sandbox, or those built in real accounts."""
    names = sorted(path.parent.name for path in root().glob("*/world.json"))
    return [name for name in names if in_sandbox(name) == sandbox]


def command(verb: str, stack: str, *words: str) -> str:
    """Return the command line `mullion VERB STACK ...` for this stack, with --sandbox if it is built there."""
    # while the sandbox's engine runs, its variables are in the environment: also before the first `up` is recorded
    sandbox = in_sandbox(stack) or "MULLION_SANDBOX_WORLD" in os.environ
    return " ".join(["mullion", verb, stack, *words, *(["--sandbox"] if sandbox else [])])


def remember(stack: str, world: Target) -> None:
    """Write down that a stack belongs to a world, unless it does already, and that a run in it begins now."""
    path = folder(stack) / "world.json"
    if recall(stack) is None:
        known = {key: value for key, value in asdict(world).items() if value}
        known["world"] = known.pop("name")
        write(path, json.dumps(known) + "\n")
    path.touch()


def began(stack: str) -> int:
    """Return when the newest run of a stack began, in nanoseconds; 0 where none did. Two equal: none in between."""
    try:
        return (folder(stack) / "world.json").stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def forget(stack: str) -> None:
    """Let a stack belong to no world."""
    (folder(stack) / "world.json").unlink(missing_ok=True)


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all, for this user's eyes only (0600)."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp makes it 0600 before anything is in it
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(partial).replace(path)
    except BaseException as error:
        Path(partial).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:
            error.filename = str(path)  # a failed write names no file, other calls the temporary one
        raise
