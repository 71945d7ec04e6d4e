"""What the gates of a rolling replacement ask a cloud about workers, and what they call a missing worker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from pulumi import ResourceHookArgs

from components.spec.choices import Gate

BOOT_SECONDS = {"linux": 15 * 60, "windows": 30 * 60}
"""Maximum time from launch to a ready status record, by OS family; Windows reboots twice and unpacks large images."""
PASSING_STATES = {Gate.READY: ("ready",), Gate.REGISTERED: ("ready", "registered")}
"""States of a status record that pass a gate."""


class Instances(NamedTuple):
    """Ids of instances by private address."""

    running: Mapping[str, str]
    stopped: Mapping[str, str]


class Machines(Protocol):
    """What a rollout needs to know from a cloud."""

    async def instances(self, pool: str = "") -> Instances:
        """Return at least the instances of this pool's machines; empty: those of all machines."""
        ...

    async def instance(self, args: ResourceHookArgs) -> str:
        """Return the id of a hook's instance, as the machine's status record has it."""
        ...

    async def launched(self, instance: str) -> datetime:
        """Return when an instance was launched, UTC."""
        ...

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        """Return an instance's status record; `state: absent`, with a message, if there is none.

        identity: name of its identity (MachineGroup.identity_of).
        """
        ...


@dataclass(frozen=True)
class Missing:
    """A worker that is not ready. hopeful: it was launched recently and may still become ready."""

    name: str
    why: str
    hopeful: bool


def cannot_spare(
    cluster: str, pool: str, name: str, missing: Sequence[Missing], replaced: Iterable[str], flag: str
) -> str:
    """Return why a roll stops before a worker, and what to do. replaced: in this run. flag: of the command to run."""
    reasons = "; ".join(f"{worker.name}: {worker.why}" for worker in missing)
    unready = {worker.name for worker in missing}
    done = [f"{worker} (not ready)" if worker in unready else worker for worker in replaced]
    return (
        f"{_stopped(pool, name, f'other machines are not ready ({reasons})', done)}. Repair the "
        "machines that are not ready, or replace one alone "
        f"(mullion roll {cluster} {pool} --machine {missing[0].name}{flag}), then run this again"
    )


def cannot_ask(pool: str, name: str, replaced: Iterable[str], error: Exception) -> str:
    """Return why a roll stops before a worker when the cloud's API fails, and what to do. replaced: in this run."""
    why = _stopped(pool, name, f"the cloud's API did not say which machines are ready ({error})", replaced)
    return f"{why}. Run this again in some minutes"


def _stopped(pool: str, name: str, why: str, replaced: Iterable[str]) -> str:
    return (
        f"pool {pool} cannot spare {name}, because {why}. {name} and the machines after it were not changed; "
        f"replaced in this run: {', '.join(replaced) or 'none'}"
    )


def not_ready(pool: str, name: str, why: str) -> str:
    """Return that a new worker has not passed its gate, and what that means."""
    return f"{name} is not ready: {why}. No other machine of pool {pool} is replaced in this run"


def unasked(pool: str, name: str, error: Exception) -> str:
    """Return that nobody can say whether a new worker is ready, because the cloud's API failed."""
    return not_ready(pool, name, f"the cloud's API failed ({error})")
