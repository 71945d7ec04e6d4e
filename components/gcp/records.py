"""What GCP knows of the cluster's workers, and the status records of machines in the bundle store."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi import Output, ResourceHookArgs
from pulumi_gcp import _utilities

from components.asking import Asking, Looked

STOPPED = frozenset({"STOPPING", "STOPPED", "SUSPENDING", "SUSPENDED", "TERMINATED"})
"""States of an instance that is there and does not run (Compute Engine API, Instance.status)."""


@dataclass(frozen=True)
class Records(Looked):
    """The instances of planned workers, and the status records of machines in the bundle store."""

    parent: pulumi.Resource
    """Whose provider is asked."""
    bucket: Output[str]
    """Name of the bundle store."""
    role: str
    """As record names begin."""
    planned: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Name and zone's index of each worker's instance, by its private address."""
    zone_names: Output[list[str]] | None = None

    asking: Asking = field(init=False, repr=False)
    launches: dict[str, str] = field(init=False, default_factory=dict[str, str])
    """When instances that were looked at were made, by id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "asking", Asking(self.parent, _utilities.get_version()))

    async def instances(self, *, running: bool) -> dict[str, str]:
        """Ids of the workers' instances by private address: those that run, or those that are stopped."""
        zones = (await self.zone_names.future() if self.zone_names else None) or []
        looks = [self._look(name, zones[zone]) for name, zone in self.planned.values()]
        found = zip(self.planned, await asyncio.gather(*looks), strict=True)
        return {
            address: str(known["instanceId"])
            for address, known in found
            if known and (known["currentStatus"] not in STOPPED) is running
        }

    async def _look(self, name: str, zone: str) -> dict[str, Any]:
        """What is known of an instance; empty where there is none."""
        known = await self.asking.look("gcp:compute/getInstance:getInstance", {"name": name, "zone": zone})
        if known:
            self.launches[str(known["instanceId"])] = known["creationTimestamp"]
        return known

    async def instance(self, args: ResourceHookArgs) -> str:
        """The number that an instance has; its resource's id is a name, which its successor has again."""
        return str((args.new_outputs or {})["instanceId"])

    async def text(self, key: str) -> str:
        """The text of an object in the bundle store; Unanswered where there is none."""
        asked = {"bucket": await self.bucket.future(), "name": key}
        found = await self.asking.ask("gcp:storage/getBucketObjectContent:getBucketObjectContent", asked)
        return found.get("content") or ""
