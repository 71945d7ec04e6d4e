"""What Azure knows of the cluster's workers, and the status records of machines in the bundle store."""

from dataclasses import dataclass, field
from typing import Any

from pulumi import Output, ResourceHookArgs
from pulumi_azure_native import _utilities

from components.asking import Asking, Looked, Seen
from components.azure.blobs import Blobs, parts
from components.plan import Machine

STOPPED = frozenset(f"PowerState/{each}" for each in ("deallocating", "deallocated", "stopping", "stopped"))
"""States of a machine that is there and does not run ("States and billing status of Azure Virtual Machines")."""


@dataclass(frozen=True, kw_only=True)
class Records(Looked):
    """The machines of planned workers, and the status records of machines in the bundle store."""

    container: Output[str]
    """Id of the bundle store's container, in the resource group of the machines."""

    asking: Asking = field(init=False, repr=False)
    blobs: Blobs = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "asking", Asking(self.parent, _utilities.get_version()))
        object.__setattr__(self, "blobs", Blobs(self.asking, self.container))

    async def look(self, machine: Machine) -> Seen | None:
        """What is known of a planned machine; None where there is none."""
        known = await self._known(machine.name)
        if not known:
            return None
        states = {str(each["code"]) for each in known["instanceView"]["statuses"]}
        return Seen(str(known["vmId"]), known["timeCreated"], STOPPED.isdisjoint(states))

    async def _known(self, name: str) -> dict[str, Any]:
        """What is known of a machine called so; empty where there is none."""
        group = parts(await self.container.future() or "")["group"]
        asked = {"resourceGroupName": group, "vmName": name, "expand": "instanceView"}
        return await self.asking.look("azure-native:compute:getVirtualMachine", asked)

    async def instance(self, args: ResourceHookArgs) -> str:
        """The id that a machine has; the hook may be about the extension that starts its loader."""
        return str((await self._known(str((args.new_inputs or {})["vmName"])))["vmId"])

    async def text(self, key: str) -> str:
        """The text of an object in the bundle store; Unanswered where there is none."""
        return await self.blobs.text(key)
