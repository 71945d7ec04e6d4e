"""Which changes replace a resource, and which the provider makes in place."""

from typing import Any

from sandbox.difference import compare
from tests.sandbox.account import Account, Thing
from tests.sandbox.scenes import Scene


def replaces(account: Account, thing: Thing, **changes: Any) -> tuple[str, ...]:
    """Return the inputs whose change replaces the resource."""
    row = account.provider.cloud.types[thing.urn.split("::")[2]]
    return compare(row, thing.inputs, thing.inputs | changes).replaces


def test_a_machine_forwards_packets_and_has_a_larger_disk_without_being_replaced(
    account: Account, scene: Scene
) -> None:
    """Terraform's provider for Google Cloud, resource_compute_instance.go."""
    machine = scene("machine")
    disk = machine.inputs["bootDisk"]["initializeParams"]
    larger = {"bootDisk": {"initializeParams": {**disk, "size": disk["size"] + 10}}}
    for change in ({"canIpForward": True}, {"description": "x"}, larger):
        assert replaces(account, machine, **change) == ()
    smaller = {"bootDisk": {"initializeParams": {**disk, "size": disk["size"] - 1}}}
    assert "must be larger" in account.refused(lambda: account.update(machine, **smaller)).message
    other = {"bootDisk": {"initializeParams": {**disk, "type": "pd-ssd"}}}
    assert replaces(account, machine, **other) == ("bootDisk.initializeParams.type",)


def test_another_backend_service_replaces_a_forwarding_rule(account: Account, scene: Scene) -> None:
    """Terraform's provider for Google Cloud, resource_compute_forwarding_rule.go."""
    assert replaces(account, scene("rule"), backendService="another") == ("backendService",)
