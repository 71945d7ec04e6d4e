"""What the gates of a rolling replacement ask a cloud about workers, and what they call a missing worker."""

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

        identity: name of its identity (CloudFacts.identity_of).
        """
        ...


@dataclass(frozen=True)
class Missing:
    """A worker that is not ready. hopeful: it was launched recently and may still become ready."""

    name: str
    why: str
    hopeful: bool
