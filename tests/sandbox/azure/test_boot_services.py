"""The network of booted machines on Azure: security groups, names, load balancers and customData."""

import base64
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from sandbox import tamper
from sandbox.azure import regions
from sandbox.azure.boot_services import CLOUD_SERVICES
from sandbox.azure.names import BALANCER, INTERFACE, MACHINE, NETWORK, RECORD, RULES, SUBNET
from sandbox.azure.networks import RUNNERS
from sandbox.boot import cloud_services, name_server
from sandbox.boot.firewalls import ANYWHERE, Permission
from sandbox.cloud_state import CloudState
from sandbox.records import Record

Row = tuple[str, str, dict[str, Any], dict[str, Any]]
OUT = Permission(False, "-1", 0, 0, (ANYWHERE,))
"""Outbound connections that Azure's default rules allow."""
PARTS = {"frontendIPConfiguration": {"id": "b/f/in"}, "backendAddressPool": {"id": "b/p/api"}, "probe": {"id": "b/o/x"}}
BALANCED = {
    "frontendIPConfigurations": [{"name": "in", "privateIPAddress": "10.20.0.9"}, {"name": "public"}],
    "probes": [{"name": "x", "protocol": "Https", "port": 6443, "requestPath": "/readyz"}],
    "loadBalancingRules": [
        {**PARTS, "frontendPort": 6443, "backendPort": 6443},
        {**PARTS, "frontendIPConfiguration": {"id": "b/f/public"}, "frontendPort": 6443, "backendPort": 6443},
    ],
}


def rule(name: str, priority: int, ports: str, **more: Any) -> dict[str, Any]:
    """A rule that allows inbound TCP."""
    fixed = {"access": "Allow", "direction": "Inbound", "protocol": "Tcp", "destinationAddressPrefix": "*"}
    return {**fixed, "name": name, "priority": priority, "destinationPortRange": ports, **more}


LAST = rule("no-one-else", 4096, "*", access="Deny", sourceAddressPrefix="*")
HEADS = {"sourceApplicationSecurityGroups": [{"id": "asg-head"}]}
RULES_OF = {
    "head": [rule("people", 100, "6443", sourceAddressPrefix="203.0.113.0/24"), LAST],
    "worker": [LAST, rule("kubelet", 100, "10250", **HEADS), rule("pods", 101, "*", protocol="*", **HEADS)],
}


def machine(name: str, address: str, **more: Any) -> list[Row]:
    """A machine with its interface and its security group."""
    place = {"privateIPAddress": address, "subnet": {"id": "s"}}
    face: dict[str, Any] = {**place, "applicationSecurityGroups": [{"id": f"asg-{name}"}], **more}
    data = base64.b64encode(f"#cloud-config {name}".encode()).decode()
    inputs = {"osProfile": {"customData": data}, "networkProfile": {"networkInterfaces": [{"id": f"nic-{name}"}]}}
    return [
        (RULES.token, f"nsg-{name}", {"securityRules": RULES_OF[name]}, {}),
        (INTERFACE.token, f"nic-{name}", {"networkSecurityGroup": {"id": f"nsg-{name}"}}, {"ipConfigurations": [face]}),
        (MACHINE.token, f"vm-{name}", inputs, {"vmId": f"id-{name}"}),
    ]


@pytest.fixture
def cloud_state(tmp_path: Path) -> CloudState:
    record = {"recordType": "A", "aRecords": [{"ipv4Address": "10.20.0.9"}]}
    rows: list[Row] = [
        (NETWORK.token, "n", {"addressSpace": {"addressPrefixes": ["10.20.0.0/16"]}}, {}),
        (SUBNET.token, "s", {"natGateway": {"id": "nat"}}, {}),
        *machine("head", "10.20.0.4", loadBalancerBackendAddressPools=[{"id": "b/p/api"}]),
        *machine("worker", "10.20.0.5"),
        (RECORD.token, "r", record, {"fqdn": "api.c.mullion.internal."}),
        (BALANCER.token, "b", BALANCED, {}),
    ]
    made = CloudState(tmp_path / "world.db")
    with made.transaction():
        for number, (type, id, inputs, outputs) in enumerate(rows, 1):
            made.put(Record(number, type, id, id, f"urn::{id}", "r", inputs, {**inputs, **outputs}, ""))
    return made


def found(cloud_state: CloudState, name: str) -> Record:
    there = CLOUD_SERVICES.find(cloud_state, f"id-{name}")
    assert there
    return there


def test_azure_resources_select_azures_services(cloud_state: CloudState) -> None:
    assert cloud_services.services_of(cloud_state) is CLOUD_SERVICES
    assert CLOUD_SERVICES.range(cloud_state) == IPv4Network("10.20.0.0/16")
    assert CLOUD_SERVICES.address(cloud_state, found(cloud_state, "worker")) == "10.20.0.5"
    assert CLOUD_SERVICES.user_data(found(cloud_state, "worker"), lambda *_: b"") == b"#cloud-config worker"


def test_rules_match_machines_by_security_group_and_balanced_packets_by_balancer_address(
    cloud_state: CloudState,
) -> None:
    peer = ("10.20.0.4",)
    assert CLOUD_SERVICES.permissions(cloud_state, found(cloud_state, "worker")) == [
        Permission(True, "tcp", 10250, 10250, peer),
        Permission(True, "-1", 0, 65535, peer),
        OUT,
    ]
    assert CLOUD_SERVICES.permissions(cloud_state, found(cloud_state, "head")) == [
        Permission(True, "tcp", 6443, 6443, ("203.0.113.0/24",)),
        OUT,
        Permission(True, "tcp", 6443, 6443, ("10.20.0.9",)),
    ]


def test_a_deny_rule_before_the_last_is_refused_because_it_would_be_ignored(
    cloud_state: CloudState,
) -> None:
    [group] = [each for each in cloud_state.resources(RULES.token) if each.id == "nsg-worker"]
    denial = rule("closed", 99, "443", access="Deny", direction="Outbound", sourceAddressPrefix="*")
    tamper.change(cloud_state, group, {"securityRules": [denial, *group.inputs["securityRules"]]})
    with pytest.raises(ValueError, match="closed"):
        CLOUD_SERVICES.permissions(cloud_state, found(cloud_state, "worker"))


def test_a_balancer_forwards_from_its_private_address_to_its_pool(cloud_state: CloudState) -> None:
    [one] = CLOUD_SERVICES.forwarders(cloud_state)
    check = {"protocol": "HTTPS", "path": "/readyz", "port": 6443, "matcher": "200"}
    assert (one.address, one.port, one.check, one.targets) == ("10.20.0.9", 6443, check, [("10.20.0.4", 6443)])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("api.c.mullion.internal", ["10.20.0.9"]),
        ("bundles1.blob.core.windows.net", ["10.20.0.1"]),
        ("vault-1.vault.azure.net", ["10.20.0.1"]),
        ("management.azure.com", ["10.20.0.1"]),
        (name_server.MIRROR, ["10.20.0.1"]),
        ("other.c.mullion.internal", None),
        ("a.blob.core.windows.net.example.org", None),
    ],
)
def test_only_names_of_the_zone_and_the_services_resolve(
    cloud_state: CloudState, name: str, expected: list[str] | None
) -> None:
    assert name_server.addresses(cloud_state, name, "10.20.0.1") == expected


def test_images_of_a_spec_exist_on_azure_and_support_trusted_launch() -> None:
    for each in regions.images("westeurope"):
        reference: dict[str, str] = dict(zip(("publisher", "offer", "sku", "version"), each.split(":"), strict=True))
        assert regions.disk(reference) is not None and regions.second_generation(reference), each


def test_the_range_is_of_the_machines_network_and_not_of_the_users_runners(cloud_state: CloudState) -> None:
    with cloud_state.transaction():
        for number, cidr in enumerate((str(RUNNERS), "10.20.0.0/16", "10.9.0.0/26")):
            inputs = {"addressSpace": {"addressPrefixes": [cidr]}}
            place = (f"net-{number}", "net", "urn", "westeurope", inputs, inputs, "")
            cloud_state.put(Record(cloud_state.next_sequence(), NETWORK.token, *place))
    assert CLOUD_SERVICES.range(cloud_state) == IPv4Network("10.20.0.0/16")
