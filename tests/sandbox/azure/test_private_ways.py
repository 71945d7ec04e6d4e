"""Machines without outbound access reach the stores and vaults of Azure that have private endpoints, and no others."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from components.machine import user_data
from sandbox.azure import boot_obstacles, boot_services, private_ways
from sandbox.azure.names import ENDPOINT, MACHINE
from sandbox.cloud import Refusal
from tests.sandbox.account import Account, Thing
from tests.sandbox.scenes import Scene, filled

from .conftest import IN, SCENES, profile, rule

HOST = "mulliona1b2.blob.core.windows.net"
STORE = {"bundle_store": f"https://{HOST}/bundles"}
MANAGER = {"compute_service": f"https://{private_ways.MANAGER}/subscriptions/x"}
Change = Callable[[Account, Scene], Any]


@pytest.fixture
def machine(account: Account, scene: Scene) -> Thing:
    """A machine in a subnet without NAT, beside an endpoint of a store with its names."""
    account.update(scene("sub"), natGateway=None)
    for name in ("names", "blob link"):
        scene(name)
    return scene("vm")


def obstacle(account: Account, facts: dict[str, str]) -> str:
    [record] = account.cloud_state.resources(MACHINE.token)
    return boot_obstacles.MACHINES.obstacles[1](account.cloud_state, record, {"facts": facts, "machine": {}})


def test_a_private_endpoint_with_its_names_leads_to_the_store(account: Account, machine: Thing) -> None:
    assert obstacle(account, STORE) == ""
    assert boot_services.reached(account.cloud_state, HOST)
    [endpoint] = account.cloud_state.resources(ENDPOINT.token)
    assert endpoint.outputs["customDnsConfigs"] == [{"fqdn": HOST, "ipAddresses": ["10.20.9.14"]}]


def _deny(account: Account, scene: Scene) -> None:
    account.update(
        scene("guard"), securityRules=filled([rule(name="n", access="Deny", destinationPortRange="*")], scene)
    )


def _other_port(account: Account, scene: Scene) -> None:
    group = {"sourceAddressPrefix": None, "sourceApplicationSecurityGroups": [{"id": "$members"}]}
    other = rule(name="n", destinationPortRange="80", **group)
    rest = rule(name="r", access="Deny", priority=200, sourceAddressPrefix="*", destinationPortRange="*")
    account.update(scene("guard"), securityRules=filled([other, rest], scene))


OBSTACLES: dict[str, tuple[Change, str]] = {
    "no link": (lambda account, scene: account.delete(scene("blob link")), "no private zone privatelink.blob"),
    "no names": (lambda account, scene: account.delete(scene("names")), "no private zone privatelink.blob"),
    "no endpoint": (lambda account, scene: account.delete(scene("endpoint")), f"leads to {HOST}"),
    "a deny rule": (_deny, "does not admit it"),
    "a rule for another port": (_other_port, "does not admit it"),
}


@pytest.mark.parametrize("case", OBSTACLES)
def test_a_store_without_a_usable_endpoint_is_out_of_reach(
    account: Account, scene: Scene, machine: Thing, case: str
) -> None:
    change, reason = OBSTACLES[case]
    change(account, scene)
    found = obstacle(account, STORE)
    assert reason in found and "has no NAT gateway, and the machine has no public address" in found
    assert not boot_services.reached(account.cloud_state, HOST)


def test_rules_do_not_apply_to_endpoints_of_a_subnet_without_the_policy(
    account: Account, scene: Scene, machine: Thing
) -> None:
    _deny(account, scene)
    account.update(scene("inside"), privateEndpointNetworkPolicies="Disabled")
    assert obstacle(account, STORE) == ""


def test_an_endpoint_leads_to_its_own_store_alone(account: Account, machine: Thing) -> None:
    assert obstacle(account, {"bundle_store": "https://mullionother.blob.core.windows.net/bundles"})
    assert obstacle(account, {"secret_service": "https://mullion-a1b2.vault.azure.net"})


def test_resource_manager_is_reached_by_a_proxy_or_a_way_out_only(
    account: Account, scene: Scene, machine: Thing
) -> None:
    assert f"no private endpoint leads to {private_ways.MANAGER}" in obstacle(account, MANAGER)
    assert obstacle(account, {**MANAGER, "compute_way": "proxy"}) == ""
    account.update(scene("sub"), natGateway={"id": scene("nat").id})
    assert obstacle(account, MANAGER) == ""


@pytest.mark.parametrize(("facts", "reached"), [({}, False), ({"compute_way": "proxy"}, True)], ids=["alone", "proxy"])
def test_the_sandbox_stands_in_for_the_proxy_of_machines_that_have_one(
    account: Account, scene: Scene, facts: dict[str, str], reached: bool
) -> None:
    account.update(scene("sub"), natGateway=None)
    known = {**STORE, **MANAGER, **facts, "status_url": f"https://{HOST}/bundles/status/x%3A"}
    document = user_data.document(f"https://{HOST}/bundles/x.zip", "0" * 64, {"name": "web-0"}, known)
    text = base64.b64encode(user_data.user_data("linux", document, "azure").encode()).decode()
    account.create("VirtualMachine", "vm", **filled(SCENES["vm"][1] | profile(customData=text), scene))
    assert boot_services.reached(account.cloud_state, private_ways.MANAGER) is reached


def test_two_endpoints_have_two_addresses(account: Account, scene: Scene, machine: Thing) -> None:
    connection = {"name": "secrets", "privateLinkServiceId": scene("vault").id, "groupIds": ["vault"]}
    place = {"privateEndpointName": "secrets", "subnet": {"id": scene("inside").id}}
    account.create("PrivateEndpoint", "secrets", **IN, **place, privateLinkServiceConnections=[connection])
    made = [each.outputs["customDnsConfigs"][0] for each in account.cloud_state.resources(ENDPOINT.token)]
    assert [each["fqdn"] for each in made] == [HOST, "mullion-a1b2.vault.azure.net"]
    assert len({each["ipAddresses"][0] for each in made}) == 2


def test_an_endpoint_with_a_fixed_address_has_it_alone(account: Account, scene: Scene, machine: Thing) -> None:
    connection = {"name": "secrets", "privateLinkServiceId": scene("vault").id, "groupIds": ["vault"]}
    own = {"name": "secrets", "groupId": "vault", "memberName": "default"}
    place = {"subnet": {"id": scene("inside").id}, "privateLinkServiceConnections": [connection]}

    def create(name: str, address: str) -> Thing:
        fixed = [{**own, "privateIPAddress": address}]
        return account.create("PrivateEndpoint", name, **IN, **place, privateEndpointName=name, ipConfigurations=fixed)

    assert create("one", "10.20.9.7").outputs["customDnsConfigs"][0]["ipAddresses"] == ["10.20.9.7"]
    for taken in ("10.20.9.7", "10.20.9.14"):
        with pytest.raises(Refusal, match="PrivateIPAddressIsAllocated"):
            create("two", taken)


def test_an_endpoint_shows_no_names_once_it_has_a_group_of_zones(account: Account, scene: Scene) -> None:
    """The real provider's refresh takes that for a change of the input, which nobody made."""
    endpoint = scene("endpoint")

    names_made = endpoint.outputs["customDnsConfigs"]

    def names() -> Any:
        found = account.provider.read(endpoint.urn, endpoint.id, endpoint.outputs, {})
        assert found and found[0].get("customDnsConfigs", names_made) == found[1]["customDnsConfigs"]
        return found[1]["customDnsConfigs"]

    assert names() == [{"fqdn": HOST, "ipAddresses": ["10.20.9.14"]}]
    scene("names")
    assert names() == []
    account.delete(scene("names"))
    assert names() == [{"fqdn": HOST, "ipAddresses": ["10.20.9.14"]}]
