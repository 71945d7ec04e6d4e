"""The provider's functions (invokes) by token, and reads of the cloud state."""

from collections.abc import Callable
from typing import Any

from sandbox.azure import signatures
from sandbox.azure.names import MACHINE
from sandbox.azure.regions import TENANT
from sandbox.cloud import Place, Refusal
from sandbox.cloud_state import CloudState


def client(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """authorization.getClientConfig: the caller."""
    return {
        "clientId": "00000000-0000-4000-8000-00000000000b",
        "objectId": "00000000-0000-4000-8000-00000000000c",
        "subscriptionId": place.account,
        "tenantId": TENANT,
    }


def machine(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """compute.getVirtualMachine by resource group and name; `expand` instanceView adds the power state."""
    if more := sorted(set(arguments) - {"resourceGroupName", "vmName", "expand"}):
        raise Refusal(
            "InvalidArgument", f"the sandbox supports resourceGroupName, vmName and expand, not {', '.join(more)}"
        )
    group, name = arguments["resourceGroupName"], arguments["vmName"]
    id = f"/subscriptions/{place.account}/resourceGroups/{group}/providers/{MACHINE.path}/{name}"
    found = cloud_state.find(MACHINE.token, id)
    if found is None:
        raise Refusal(
            "ResourceNotFound",
            f"The Resource '{MACHINE.arm}/{name}' under resource group '{group}' was not found.",
        )
    withheld = ("osProfile", "vmName", "resourceGroupName")
    known = {name: value for name, value in found.outputs.items() if name not in withheld}
    view = {"statuses": [{"code": "PowerState/running", "displayStatus": "VM running", "level": "Info"}]}
    seen = {"instanceView": view} if arguments.get("expand") == "instanceView" else {}
    return known | seen | {"id": id, "timeCreated": found.created}


FUNCTIONS: dict[str, Callable[[Place, dict[str, Any]], dict[str, Any]]] = {
    "azure-native:authorization:getClientConfig": client,
}
READS: dict[str, Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]] = {
    "azure-native:compute:getVirtualMachine": machine,
    "azure-native:storage:getStorageAccount": signatures.account,
    "azure-native:storage:listStorageAccountServiceSAS": signatures.sign,
}
