"""A virtual machine from its record, and its managed identities."""

import uuid
from dataclasses import dataclass
from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.calls import Call

MACHINE = "azure-native:compute:VirtualMachine"
INTERFACE = "azure-native:network:NetworkInterface"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"


@dataclass(frozen=True)
class Identity:
    """A managed identity of a machine."""

    resource: str
    """ARM id of the user-assigned identity, or of the machine for its system-assigned one."""
    client: str
    principal: str


def find(cloud_state: CloudState, call: Call) -> Record | None:
    """Return the machine of the listener, or else the machine with the caller's address."""
    if call.machine:
        return cloud_state.find(MACHINE, call.machine)
    found = [one for one in cloud_state.resources(MACHINE) if address(cloud_state, one) == call.source]
    return found[-1] if found else None


def address(cloud_state: CloudState, machine: Record) -> str:
    """Return the machine's first private address, or an empty string."""
    named: Any = (machine.outputs.get("networkProfile") or {}).get("networkInterfaces") or []
    for reference in named:
        interface = cloud_state.find(INTERFACE, reference["id"])
        for one in (interface.outputs.get("ipConfigurations") or []) if interface else []:
            if one.get("privateIPAddress"):
                return one["privateIPAddress"]
    return ""


def identities(cloud_state: CloudState, machine: Record) -> list[Record]:
    """Return the user-assigned identities; inputs hold a list of ids, outputs a dict by id.

    One that is younger than the machine is another identity of the same name: the machine's own was deleted.
    """
    given: Any = (machine.outputs.get("identity") or {}).get("userAssignedIdentities") or []
    wanted = {str(each).lower() for each in given}
    return [
        each
        for each in cloud_state.resources(IDENTITY)
        if each.id.lower() in wanted and each.sequence < machine.sequence
    ]


def own_identity(machine: Record) -> Identity | None:
    """Return the system-assigned identity; None if the machine has none."""
    principal = (machine.outputs.get("identity") or {}).get("principalId")
    return Identity(machine.id, str(uuid.uuid5(uuid.UUID(principal), "client")), principal) if principal else None


def group(machine: Record) -> str:
    """Return the machine's resource group."""
    return machine.id.split("/")[4]
