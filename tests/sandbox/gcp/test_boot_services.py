"""The network of booted machines on GCP: firewall rules, names, load balancers and user-data."""

from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from sandbox.boot import cloud_services, firewalls, name_server
from sandbox.boot.firewalls import ANYWHERE, Permission
from sandbox.cloud_state import CloudState
from sandbox.gcp.boot_services import CLOUD_SERVICES
from sandbox.gcp.dns import RECORD
from sandbox.gcp.names import BACKEND, CHECK, COMPUTE, FIREWALL, FORWARDING, GROUP, INSTANCE, NETWORK, SUBNETWORK
from sandbox.records import Record

NET, SERVICE, MEMBERS, READY = "projects/p/global/networks/n", "backends/b", "groups/g", "checks/c"
OUT = Permission(False, "-1", 0, 0, (ANYWHERE,))
"""Outbound connections that no rule denies."""


def instance(name: str, address: str) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """A machine whose service account and network tag have the machine's name."""
    faces = [{"networkIp": address, "network": COMPUTE + NET}]
    account = {"email": f"{name}@p"}
    given = {"serviceAccount": account, "tags": [f"c-{name}"]}
    return INSTANCE, f"zones/z/{name}", given, {"networkInterfaces": faces, "instanceId": address}


def firewall(name: str, target: str, **more: Any) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """A rule for machines with a network tag."""
    return FIREWALL, name, {"name": name, "network": NET, "targetTags": [f"c-{target}"], **more}, {}


BALANCER = {"ipAddress": "10.20.0.9", "ports": ["6443"], "loadBalancingScheme": "INTERNAL"}
OTHER = {"ipAddress": "10.20.0.8", "ports": ["30080"], "loadBalancingScheme": "INTERNAL"}
TCP = [{"protocol": "tcp", "ports": ["10250", "30000-32767"]}]
ROWS = [
    (NETWORK, NET, {"name": "n"}, {}),
    (SUBNETWORK, "s0", {"ipCidrRange": "10.20.0.0/19"}, {}),
    (SUBNETWORK, "s1", {"ipCidrRange": "10.20.32.0/19"}, {}),
    instance("head", "10.20.0.4"),
    instance("worker", "10.20.0.5"),
    firewall("kubelet", "worker", direction="INGRESS", sourceTags=["c-head"], allows=TCP),
    firewall("people", "head", sourceRanges=["203.0.113.0/24"], allows=[{"protocol": "all"}]),
    firewall("off", "worker", sourceRanges=["0.0.0.0/0"], allows=[{"protocol": "all"}], disabled=True),
    (RECORD, "r", {"name": "api.c.mullion.internal.", "type": "A", "rrdatas": ["10.20.0.9"]}, {}),
    (GROUP, MEMBERS, {}, {"instances": [f"{COMPUTE}zones/z/head"]}),
    (CHECK, READY, {"httpsHealthCheck": {"port": 6443, "requestPath": "/readyz"}}, {}),
    (BACKEND, SERVICE, {"healthChecks": READY, "backends": [{"group": MEMBERS}]}, {}),
    (FORWARDING, "f", {**BALANCER, "backendService": SERVICE}, {}),
    (FORWARDING, "e", {**BALANCER, "backendService": SERVICE, "loadBalancingScheme": "EXTERNAL"}, {}),
]


def worded(
    cloud_state: CloudState, rows: list[tuple[str, str, dict[str, Any], dict[str, Any]]], first: int
) -> CloudState:
    with cloud_state.transaction():
        for number, (type, id, inputs, outputs) in enumerate(rows, first):
            cloud_state.put(Record(number, type, id, id, f"urn::{id}", "r", inputs, {**inputs, **outputs}, ""))
            if type == FIREWALL:
                cloud_state.link(number, [("network", NETWORK, NET, "refuse")])
    return cloud_state


@pytest.fixture
def cloud_state(tmp_path: Path) -> CloudState:
    return worded(CloudState(tmp_path / "world.db"), ROWS, 1)


def machine(cloud_state: CloudState, name: str) -> Record:
    found = cloud_state.find(INSTANCE, f"zones/z/{name}")
    assert found
    return found


def test_gcp_resources_select_gcps_services(cloud_state: CloudState) -> None:
    assert cloud_services.services_of(cloud_state) is CLOUD_SERVICES
    assert CLOUD_SERVICES.range(cloud_state) == IPv4Network("10.20.0.0/18"), "the smallest range with both subnetworks"
    found = CLOUD_SERVICES.find(cloud_state, "10.20.0.5")
    assert found and CLOUD_SERVICES.address(cloud_state, found) == "10.20.0.5"


def test_rules_match_machines_by_service_account_and_balanced_packets_by_balancer_address(
    cloud_state: CloudState,
) -> None:
    peer = ("10.20.0.4",)
    assert CLOUD_SERVICES.permissions(cloud_state, machine(cloud_state, "worker")) == [
        Permission(True, "tcp", 10250, 10250, peer),
        Permission(True, "tcp", 30000, 32767, peer),
        OUT,
    ]
    assert CLOUD_SERVICES.permissions(cloud_state, machine(cloud_state, "head")) == [
        Permission(True, "-1", 0, 65535, ("203.0.113.0/24",)),
        OUT,
        Permission(True, "tcp", 6443, 6443, ("10.20.0.9",)),
    ]


def test_a_deny_rule_is_refused_by_name_because_it_would_be_ignored(cloud_state: CloudState) -> None:
    worded(cloud_state, [firewall("closed", "worker", direction="EGRESS", denies=[{"protocol": "all"}])], 99)
    with pytest.raises(ValueError, match="closed"):
        CLOUD_SERVICES.permissions(cloud_state, machine(cloud_state, "worker"))


def test_an_internal_forwarding_rule_forwards_to_its_groups_machines(cloud_state: CloudState) -> None:
    check = {"protocol": "HTTPS", "path": "/readyz", "matcher": "200", "port": 6443}
    [found] = CLOUD_SERVICES.forwarders(cloud_state)
    assert (found.address, found.port, found.check, found.targets) == ("10.20.0.9", 6443, check, [("10.20.0.4", 6443)])


def test_a_check_by_http_or_tcp_and_its_port_are_those_of_the_health_check(cloud_state: CloudState) -> None:
    rows = [
        (CHECK, "h", {"httpHealthCheck": {"port": 10256, "requestPath": "/healthz"}}, {}),
        (CHECK, "t", {"tcpHealthCheck": {"port": 30080}}, {}),
        *((BACKEND, f"s-{one}", {"healthChecks": one, "backends": [{"group": MEMBERS}]}, {}) for one in "ht"),
        *((FORWARDING, f"f-{one}", {**OTHER, "backendService": f"s-{one}"}, {}) for one in "ht"),
    ]
    _, http, tcp = CLOUD_SERVICES.forwarders(worded(cloud_state, rows, 99))
    assert http.check == {"protocol": "HTTP", "path": "/healthz", "matcher": "200", "port": 10256}
    assert tcp.check == {"protocol": "TCP", "port": 30080}
    admitted = CLOUD_SERVICES.permissions(cloud_state, machine(cloud_state, "head"))[3:]
    assert {rule.first for rule in admitted if rule.peers == ("10.20.0.8",)} == {10256, 30080}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("api.c.mullion.internal", ["10.20.0.9"]),
        ("metadata.google.internal", ["169.254.169.254"]),
        ("storage.googleapis.com", ["10.20.0.1"]),
        ("secretmanager.googleapis.com", ["10.20.0.1"]),
        (name_server.MIRROR, ["10.20.0.1"]),
        ("other.c.mullion.internal", None),
        ("storage.googleapis.com.example.org", None),
    ],
)
def test_only_names_of_the_zone_and_the_services_resolve(
    cloud_state: CloudState, name: str, expected: list[str] | None
) -> None:
    assert name_server.addresses(cloud_state, name, "10.20.0.1") == expected


def test_the_metadata_server_serves_user_data_and_dns(cloud_state: CloudState) -> None:
    asked: list[tuple[str, str, dict[str, str]]] = []

    def ask(method: str, path: str, headers: dict[str, str]) -> bytes:
        asked.append((method, path, headers))
        return b"#cloud-config"

    assert CLOUD_SERVICES.user_data(machine(cloud_state, "worker"), ask) == b"#cloud-config"
    assert asked == [("GET", "/computeMetadata/v1/instance/attributes/user-data", {"Metadata-Flavor": "Google"})]
    resolver = CLOUD_SERVICES.resolver(IPv4Network("10.20.0.0/18"))
    text = firewalls.rules([], "10.20.0.0/18", "10.20.0.1", resolver, routed=False)
    assert "ip daddr { 169.254.169.254 } accept" in text
