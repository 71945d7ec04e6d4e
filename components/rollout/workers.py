"""What the gates of a rolling replacement ask a cloud about workers, and what they call a missing worker."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from pulumi import ResourceHookArgs


class Machines(Protocol):
    """What a rollout needs to know from a cloud."""

    async def instances(self, *, running: bool) -> dict[str, str]:
        """Return ids of instances by private address: those running, or those stopped."""
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
        f"pool {pool} cannot spare {name}, because other machines are not ready ({reasons}). {name} and the "
        f"machines after it were not changed; replaced in this run: {', '.join(done) or 'none'}. Repair the "
        "machines that are not ready, or replace one alone "
        f"(mullion roll {cluster} {pool} --machine {missing[0].name}{flag}), then run this again"
    )
