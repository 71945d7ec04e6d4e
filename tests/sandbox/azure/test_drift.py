"""`drift` of what Azure itself changes, and of what the provider does not take for gone, on the real engine."""

from typing import Any

import pytest

from operations.commands import drift
from operations.console.exits import Stop
from sandbox import tamper
from tests.sandbox.running import Runner, Small

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
    ),
]
CONTAINER = "azure-native:storage:BlobContainer"


def private_store(settings: dict[str, Any]) -> None:
    """A store with a container and a private endpoint, as components/azure/endpoints.py makes it."""
    import pulumi
    from pulumi_azure_native import network, privatedns, resources, storage

    here: dict[str, Any] = {"resource_group_name": resources.ResourceGroup("rg").name}
    net = network.VirtualNetwork("net", address_space={"address_prefixes": ["10.20.0.0/16"]}, **here)
    subnet = network.Subnet("sub", virtual_network_name=net.name, address_prefix="10.20.0.0/24", **here)
    account = storage.StorageAccount("store", kind="StorageV2", sku={"name": "Standard_LRS"}, **here)
    storage.BlobContainer("bundles", account_name=account.name, **here)
    zone = privatedns.PrivateZone(
        "zone", private_zone_name="privatelink.blob.core.windows.net", location="Global", **here
    )
    endpoint = network.PrivateEndpoint(
        "endpoint",
        subnet={"id": subnet.id},
        private_link_service_connections=[
            {"name": "bundles", "private_link_service_id": account.id, "group_ids": ["blob"]}
        ],
        **here,
        opts=pulumi.ResourceOptions(ignore_changes=["customDnsConfigs"]),
    )
    network.PrivateDnsZoneGroup(
        "names",
        private_dns_zone_group_name="default",
        private_endpoint_name=endpoint.name,
        private_dns_zone_configs=[{"name": "blob", "private_dns_zone_id": zone.id}],
        **here,
    )


SMALL = Small(private_store, {}, ("azure-native:location", "westeurope"))


def test_names_that_azure_takes_away_are_no_drift(runner: Runner) -> None:
    runner.stack.up()
    assert drift.find(runner.stack) == []
    assert runner.preview_and_up() == {}


def test_a_container_deleted_by_hand_ends_drift_with_the_way_to_go_on(runner: Runner) -> None:
    runner.stack.up()
    [container] = runner.cloud_state.resources(CONTAINER)
    tamper.remove(runner.cloud_state, container)
    with pytest.raises(Stop, match="ContainerNotFound") as stopped:
        drift.find(runner.stack)
    assert f"pulumi state delete --stack dev '{container.urn}'" in str(stopped.value)
    resources = (runner.stack.export_stack().deployment or {})["resources"]
    assert container.urn in [each["urn"] for each in resources], "the state still has it"
