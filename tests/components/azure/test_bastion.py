"""Azure Bastion: what a stack with sessions registers, judged by Microsoft's table of rules."""

from ipaddress import IPv4Network
from itertools import pairwise
from typing import Any

from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import CLUSTER, read_stack
from operations.clouds.account_limits import account_limits
from operations.recorder.recorder import Recording, record
from tests import existing_networks
from tests.components.recorded_wiring import config, of, recording

STACK = "azure-prod"
HOST, SUBNET = "azure-native:network:BastionHost", "azure-native:network:Subnet"
RULES, ADDRESS = "azure-native:network:NetworkSecurityGroup", "azure-native:network:PublicIPAddress"
PEOPLE = ["198.18.0.0/24", "198.19.0.0/24"]

REQUIRED = {
    ("Inbound", "Tcp", "GatewayManager", "*", "443"),
    ("Inbound", "Tcp", "AzureLoadBalancer", "*", "443"),
    ("Inbound", "*", "VirtualNetwork", "VirtualNetwork", "8080,5701"),
    ("Outbound", "*", "*", "VirtualNetwork", "22,3389,6443"),
    ("Outbound", "Tcp", "*", "AzureCloud", "443"),
    ("Outbound", "*", "VirtualNetwork", "VirtualNetwork", "8080,5701"),
    ("Outbound", "*", "*", "Internet", "80"),
    ("Inbound", "Tcp", "198.18.0.0/24,198.19.0.0/24", "*", "443"),
}
"""Rules of "Configure NSG rules for Azure Bastion", with the API's port and the ranges of people."""


def settings(**changes: Any) -> dict[str, Any]:
    found = config(STACK)
    sessions = {"access": "session", "api": {"access": "private", "allow": PEOPLE}}
    return {**found, CLUSTER: {**found[CLUSTER], **sessions, **changes}}


def recorded(**changes: Any) -> Recording:
    found = record(STACK, settings(**changes))
    assert found.errors == []
    return found


def planned(**changes: Any) -> ClusterPlan:
    return plan_cluster(STACK, read_stack(STACK, settings(**changes)).spec)


def test_sessions_add_a_host_with_the_native_client_its_subnet_its_rules_and_an_address() -> None:
    found, without = recorded(), recording(STACK)
    [host] = of(found, HOST).values()
    assert (host.inputs["sku"], host.inputs["enableTunneling"]) == ({"name": "Standard"}, True)
    [subnet] = [each for each in of(found, SUBNET).values() if each.inputs["subnetName"] == "AzureBastionSubnet"]
    assert IPv4Network(subnet.inputs["addressPrefix"]).prefixlen == 26
    [place] = host.inputs["ipConfigurations"]
    address = of(found, ADDRESS)[f"{STACK}-bastion"]
    assert place["subnet"]["id"].endswith(f"/{STACK}-bastion") or "AzureBastionSubnet" in place["subnet"]["id"]
    assert {subnet.urn, address.urn} <= host.dependencies
    assert of(without, HOST) == {}
    more = {each.type for each in found.resources.values()} - {each.type for each in without.resources.values()}
    assert more == {HOST, "mullion:azure:Bastion"}


def test_the_group_of_the_subnet_has_the_rules_that_azure_requires_and_admits_the_allow_list() -> None:
    found = recorded()
    group = of(found, RULES)[f"{STACK}-bastion"]
    rules = {
        (
            rule["direction"],
            rule["protocol"],
            ",".join(rule.get("sourceAddressPrefixes") or [rule["sourceAddressPrefix"]]),
            rule["destinationAddressPrefix"],
            ",".join(rule.get("destinationPortRanges") or [rule["destinationPortRange"]]),
        )
        for rule in group.inputs["securityRules"]
    }
    assert rules == REQUIRED
    assert all(rule["access"] == "Allow" for rule in group.inputs["securityRules"])


def test_ranges_of_the_allow_list_that_overlap_are_one_in_the_rule() -> None:
    allow = ["198.18.0.0/24", "198.18.0.7/32", "198.18.1.0/24", "198.19.0.0/24"]
    group = of(recorded(api={"access": "private", "allow": allow}), RULES)[f"{STACK}-bastion"]
    [people] = [rule for rule in group.inputs["securityRules"] if rule["name"] == "people"]
    assert people["sourceAddressPrefixes"] == ["198.18.0.0/23", "198.19.0.0/24"]


def test_the_subnet_of_the_host_holds_no_machine() -> None:
    found = recorded()
    subnets = {each.inputs["subnetName"]: each for each in of(found, SUBNET).values()}
    host = subnets.pop("AzureBastionSubnet")
    mine = IPv4Network(host.inputs["addressPrefix"])
    assert not [each for each in subnets.values() if mine.overlaps(IPv4Network(each.inputs["addressPrefix"]))]
    assert mine.subnet_of(planned().network.cidr)


def test_the_subnet_of_the_host_is_the_first_so_that_stores_and_vault_also_wait_for_it() -> None:
    """SubnetsNotProvisioned: Azure takes no rule of a store while a subnet of its network is being updated."""
    found = recorded()
    subnets = {each.inputs["subnetName"]: each for each in of(found, SUBNET).values()}
    host, machines = subnets.pop("AzureBastionSubnet"), [subnets[name] for name in sorted(subnets)]
    assert len(machines) > 1
    for before, after in pairwise([host, *machines]):
        assert before.urn in after.dependencies, "Azure refuses concurrent changes of a network"
    assert not host.dependencies & {each.urn for each in machines}
    for kind in ("storage:StorageAccount", "keyvault:Vault"):
        for store in of(found, f"azure-native:{kind}").values():
            assert {each.urn for each in machines} <= store.dependencies
    [bastion] = of(found, HOST).values()
    assert machines[-1].urn in bastion.dependencies
    others = {each.urn for each in found.resources.values() if bastion.urn in each.dependencies}
    assert others == set(), "the host takes Azure ten minutes"


def test_the_control_plane_admits_the_subnet_of_the_host_to_the_api_alone() -> None:
    cidr = next(
        each.inputs["addressPrefix"]
        for each in of(recorded(), SUBNET).values()
        if "Bastion" in each.inputs["subnetName"]
    )
    admitted = [rule for rule in planned().rules if str(rule.peer) == cidr]
    assert [(rule.group.value, rule.ports, rule.protocol) for rule in admitted] == [
        ("control-plane", (6443, 6443), "tcp")
    ]


def test_an_existing_network_gets_no_host_and_admits_that_of_the_user() -> None:
    bastion = existing_networks.BASTION
    sessions = {"existing": {**existing_networks.EXISTING["azure"], "bastion": bastion}}
    whole, _, _ = existing_networks.stack("azure", api={"access": "private", "allow": PEOPLE}, **sessions)
    found = record("azure-existing", whole)
    assert found.errors == []
    assert of(found, HOST) == {}
    plan = plan_cluster("azure-existing", read_stack("azure-existing", whole).spec)
    admitted = [rule for rule in plan.rules if str(rule.peer) == bastion["range"]]
    assert [(rule.group.value, rule.ports) for rule in admitted] == [("control-plane", (6443, 6443))]


def test_the_host_takes_one_public_address_of_the_quota() -> None:
    with_host, without = (
        {row["what"]: row["needed"] for row in account_limits(plan)} for plan in (planned(), planned(access="none"))
    )
    assert with_host["public addresses"] == without["public addresses"] + 1
    assert with_host["vCPU"] == without["vCPU"]
