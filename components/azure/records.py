"""What Azure knows of the cluster's workers, and the status records of machines in the bundle store."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi import Output, ResourceHookArgs
from pulumi_azure_native import _utilities

from components.asking import Asking, Looked
from components.azure.blobs import Blobs, parts

STOPPED = frozenset(f"PowerState/{each}" for each in ("deallocating", "deallocated", "stopping", "stopped"))
"""States of a machine that is there and does not run ("States and billing status of Azure Virtual Machines")."""


@dataclass(frozen=True)
class Records(Looked):
    """The machines of planned workers, and the status records of machines in the bundle store."""

    parent: pulumi.Resource
    """Whose provider is asked."""
    container: Output[str]
    """Id of the bundle store's container, in the resource group of the machines."""
    role: str
    """As record names begin."""
    planned: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name of each worker's machine, by its private address."""

    asking: Asking = field(init=False, repr=False)
    blobs: Blobs = field(init=False, repr=False)
    launches: dict[str, str] = field(init=False, default_factory=dict[str, str])
    """When machines that were looked at were made, by id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "asking", Asking(self.parent, _utilities.get_version()))
        object.__setattr__(self, "blobs", Blobs(self.asking, self.container))

    async def instances(self, *, running: bool) -> dict[str, str]:
        """Ids of the workers' machines by private address: those that run, or those that are stopped."""
        found = await asyncio.gather(*map(self._look, self.planned.values()))
        return {
            address: str(known["vmId"])
            for address, known in zip(self.planned, found, strict=True)
            if known and STOPPED.isdisjoint(_states(known)) is running
        }

    async def _look(self, name: str) -> dict[str, Any]:
        """What is known of a machine; empty where there is none."""
        group = parts(await self.container.future() or "")["group"]
        asked = {"resourceGroupName": group, "vmName": name, "expand": "instanceView"}
        known = await self.asking.look("azure-native:compute:getVirtualMachine", asked)
        if known:
            self.launches[str(known["vmId"])] = known["timeCreated"]
        return known

    async def instance(self, args: ResourceHookArgs) -> str:
        """The id that a machine has; the hook may be about the extension that starts its loader."""
        known = await self._look(str((args.new_inputs or {})["vmName"]))
        return str(known["vmId"])

    async def text(self, key: str) -> str:
        """The text of an object in the bundle store; Unanswered where there is none."""
        return await self.blobs.text(key)


def _states(known: Mapping[str, Any]) -> set[str]:
    statuses: Any = known["instanceView"]["statuses"]
    return {str(each["code"]) for each in statuses}
