"""What Azure says about a machine of the state."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pulumi import Output

from components.azure.records import Records
from components.rollout.provider_calls import ProviderError
from operations.clouds import azure, cloud_tables

STORE = (
    "/subscriptions/s/resourceGroups/small/providers/Microsoft.Storage/storageAccounts/a/blobServices/default"
    "/containers/bundles"
)
MACHINE = {"name": "web-0", "id": "vm-1"}


class Calls:
    """The provider's answer to a question about a machine of this name."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer

    async def find(self, function: str, arguments: dict[str, str]) -> dict[str, Any]:
        """Return the answer to the one question that is expected."""
        assert function == "azure-native:compute:getVirtualMachine"
        assert arguments == {"resourceGroupName": "small", "vmName": "web-0", "expand": "instanceView"}
        if self.answer is None:
            raise ProviderError("Forbidden")
        return self.answer


class Container:
    """An output that is known."""

    async def future(self) -> str:
        """Return the id of the bundle store's container."""
        return STORE


def asked(answer: dict[str, Any] | None) -> str:
    records = SimpleNamespace(container=cast(Output[str], Container()), blobs=SimpleNamespace(calls=Calls(answer)))
    return asyncio.run(azure.not_running(cast(Records, records), MACHINE))


def vm(*codes: str, id: str = "vm-1") -> dict[str, Any]:
    """Return a machine with an instance view that has these statuses."""
    return {"vmId": id, "instanceView": {"statuses": [{"code": code} for code in codes]}}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (vm("ProvisioningState/succeeded", "PowerState/running"), ""),
        (vm("ProvisioningState/succeeded", "PowerState/deallocated"), cloud_tables.STOPPED),
        (vm("ProvisioningState/failed/AllocationFailed"), cloud_tables.STOPPED),
        (vm("ProvisioningState/succeeded", "PowerState/running", id="vm-2"), cloud_tables.GONE),
        ({}, cloud_tables.GONE),
        (None, ""),
    ],
    ids=["running", "deallocated", "not-allocated", "successor", "none", "no-answer"],
)
def test_wait_and_repair_take_a_machine_that_azure_could_not_allocate_for_stopped(
    answer: dict[str, Any] | None, fault: str
) -> None:
    assert asked(answer) == fault
