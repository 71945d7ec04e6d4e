"""Resources of a sandbox that are in no state: left by a run whose state was lost, or created by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.spec import expiry
from operations.clouds import cloud_tables
from operations.engine import locks
from operations.recovery import state_check
from operations.recovery.state_check import Thing
from operations.stacks import target


@dataclass(frozen=True)
class Stateless:
    """Resources in one sandbox without a state. cluster, owner and expires are their tags, empty without tags.

    expires: a UTC time, or the text of the tag if it is not a time. commands: they remove the resources.
    """

    sandbox: str
    cluster: str
    owner: str
    expires: str
    things: tuple[Thing, ...]
    commands: tuple[str, ...]


def in_sandbox(name: str, deployment: Mapping[str, Any]) -> Stateless | None:
    """Return the resources that only the sandbox has; None if there are none, or while a run is in progress."""
    folder = target.sandbox_folder(name)
    database, state = target.cloud_state_file(name), deployment.get("resources") or []
    if not database.exists() or locks.of_stack(name, (folder / "state").as_uri()):
        return None
    from sandbox.cloud_state import CloudState

    cloud_state = CloudState(database)
    try:
        records = {(each.type, each.id): each for each in cloud_state.resources()}
    finally:
        cloud_state.close()
    orphans = state_check.compare(state, state_check.in_sandbox(database), state_check.kept(name)).orphans
    if not orphans:
        return None
    tags = [(cloud_tables.of_type(kind).mark_of(kind), records[kind, key].tags) for kind, key in orphans]

    def tag(word: str) -> str:
        return next((found[f"{mark}{word}"] for mark, found in tags if f"{mark}{word}" in found), "")

    ends = expiry.moment(tag("expires"))
    commands = [state_check.REMOVAL_COMMAND.format(name, f"{kind}/{records[kind, key].name}") for kind, key in orphans]
    return Stateless(
        name,
        tag("cluster"),
        tag("owner"),
        expiry.written(ends) if ends else tag("expires"),
        orphans,
        tuple(commands) if state else (f"rm -r {folder}",),
    )
