"""Whether a state and a world agree: all that is in one is in the other.

What is in the world alone was orphaned: nothing will ever remove it. What is in the state alone was removed by hand.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from operations.engine.events import SILENT
from operations.engine.state import State
from operations.stacks import target
from operations.stacks.target import cloud_state_file, sandbox_folder

Thing = tuple[str, str]
"""Type and id: what both sides know a resource by."""

REMOVAL = "to remove it: mullion sandbox remove {} {}"
AGAIN = "to make it again: mullion up {} --sandbox --refresh"

MEMORY = "kept.json"
"""File beside the world itself: who removes that folder removes both."""

BUILT_IN = "pulumi:"
"""Beginning of the types that the engine keeps itself, such as Stash: no cloud has them."""


@dataclass(frozen=True)
class Disagreement:
    """orphans: in the world alone. missing: in the state alone."""

    orphans: tuple[Thing, ...]
    missing: tuple[Thing, ...]

    def __bool__(self) -> bool:
        return bool(self.orphans or self.missing)


def compare(state: State, cloud_state: Iterable[Thing], kept: Collection[Thing] = ()) -> Disagreement:
    """Compare a state with what there is; kept: what earlier runs left on purpose.

    Two resources of a state with one id are two in the world too (a bucket and its own settings differ by type).
    """
    recorded = things(state)
    there = list(cloud_state)
    orphans = [each for each in there if each not in recorded and each not in kept]
    return Disagreement(tuple(sorted(orphans)), tuple(sorted(set(recorded) - set(there))))


def things(state: State) -> list[Thing]:
    """Return the things of a state that a cloud made."""
    cloud = (each for each in state if each.get("custom") and not each["type"].startswith((BUILT_IN, *SILENT)))
    return [(each["type"], each.get("id", "")) for each in cloud]


def in_sandbox(cloud_state_file: Path) -> list[Thing]:
    """Return all things of a sandbox's world; none where there is no world yet."""
    from sandbox.cloud_state import CloudState

    if not cloud_state_file.exists():
        return []
    cloud_state = CloudState(cloud_state_file)
    try:
        return [(each.type, each.id) for each in cloud_state.resources()]
    finally:
        cloud_state.close()


def faults(name: str, state: State) -> list[str]:
    """Say where a stack's state and its sandbox's world disagree, and what to do about each."""
    found = compare(state, in_sandbox(cloud_state_file(name)), kept(name))
    orphans = [
        f"in the sandbox and in no state: {kind} {key}; {REMOVAL.format(name, key)}" for kind, key in found.orphans
    ]
    missing = [
        f"in the state and not in the sandbox: {kind} {key}; {AGAIN.format(name)}" for kind, key in found.missing
    ]
    return orphans + missing


def keep(name: str, state: State) -> None:
    """Remember what runs leave in a stack's world on purpose: snapshots, and bundles that a machine may yet fetch."""
    left = set(things([each for each in state if each.get("retainOnDelete")]))
    if left - kept(name):
        target.write(sandbox_folder(name) / MEMORY, json.dumps(sorted({*kept(name), *left}), indent=1) + "\n")


def kept(name: str) -> set[Thing]:
    """Return what runs may have left in a stack's world on purpose."""
    return kept_in(sandbox_folder(name))


def kept_in(sandbox: Path) -> set[Thing]:
    """Return what runs may have left on purpose in the world of this folder."""
    try:
        return {(kind, key) for kind, key in json.loads((sandbox / MEMORY).read_text("utf-8"))}
    except FileNotFoundError:
        return set()
