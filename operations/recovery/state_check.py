"""Compares a stack's state with its sandbox.

A resource only in the sandbox is orphaned: no run will delete it. A resource only in the state was deleted by hand.
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
"""Type and id of a resource, which identify it in the state and in the sandbox."""

REMOVAL_COMMAND = "mullion sandbox remove {} {}"
REMOVAL = f"to remove it: {REMOVAL_COMMAND}"
AGAIN = "to create it again: mullion up {} --sandbox --refresh"

MEMORY = "kept.json"
"""File in the sandbox's folder, so deleting the folder deletes it too."""

BUILT_IN = "pulumi:"
"""Prefix of the engine's own types, such as Stash; no cloud has them."""


@dataclass(frozen=True)
class Disagreement:
    """Differences. orphans: only in the sandbox. missing: only in the state."""

    orphans: tuple[Thing, ...]
    missing: tuple[Thing, ...]

    def __bool__(self) -> bool:
        return bool(self.orphans or self.missing)


def compare(state: State, cloud_state: Iterable[Thing], kept: Collection[Thing] = ()) -> Disagreement:
    """Compare a state with the resources that exist. kept: resources that earlier runs left on purpose.

    Resources with the same id but different types are different resources (a bucket and its settings).
    """
    recorded = things(state)
    there = list(cloud_state)
    orphans = [each for each in there if each not in recorded and each not in kept]
    return Disagreement(tuple(sorted(orphans)), tuple(sorted(set(recorded) - set(there))))


def things(state: State) -> list[Thing]:
    """Return type and id of each resource in a state that a cloud created."""
    cloud = (each for each in state if each.get("custom") and not each["type"].startswith((BUILT_IN, *SILENT)))
    return [(each["type"], each.get("id", "")) for each in cloud]


def in_sandbox(database: Path) -> list[Thing]:
    """Return type and id of each resource in a sandbox, without those of the user's network; none without a sandbox."""
    from sandbox.cloud_state import CloudState
    from sandbox.existing_network import is_of_no_cluster

    if not database.exists():
        return []
    cloud_state = CloudState(database)
    try:
        return [(each.type, each.id) for each in cloud_state.resources() if not is_of_no_cluster(each.urn)]
    finally:
        cloud_state.close()


def faults(name: str, state: State) -> list[str]:
    """Return a line for each difference between a stack's state and its sandbox, with what to do about it."""
    found = compare(state, in_sandbox(cloud_state_file(name)), kept(name))
    orphans = [
        f"in the sandbox, not in the state: {kind} {key}; {REMOVAL.format(name, key)}" for kind, key in found.orphans
    ]
    missing = [f"in the state, not in the sandbox: {kind} {key}; {AGAIN.format(name)}" for kind, key in found.missing]
    return orphans + missing


def keep(name: str, state: State) -> None:
    """Record resources that runs leave in a stack's sandbox on purpose: snapshots, and bundles that machines may still
    fetch.
    """
    left = set(things([each for each in state if each.get("retainOnDelete")]))
    if left - kept(name):
        target.write(sandbox_folder(name) / MEMORY, json.dumps(sorted({*kept(name), *left}), indent=1) + "\n")


def kept(name: str) -> set[Thing]:
    """Return the resources that runs may have left in a stack's sandbox on purpose."""
    return kept_in(sandbox_folder(name))


def kept_in(sandbox: Path) -> set[Thing]:
    """Return the resources that runs may have left on purpose in the sandbox with this folder."""
    try:
        return {(kind, key) for kind, key in json.loads((sandbox / MEMORY).read_text("utf-8"))}
    except FileNotFoundError:
        return set()
