"""Security groups of a booted cluster as rules of nft."""

import re
from pathlib import Path

import pytest

from sandbox.aws.boot_services import permissions
from sandbox.aws.network import BALANCER, EGRESS, GROUP, INGRESS, INSTANCE
from sandbox.boot import firewalls
from sandbox.boot.firewalls import Permission
from sandbox.cloud_state import CloudState
from sandbox.records import Record

NODES, GATEWAY, RESOLVER = "10.20.0.0/16", "10.20.0.1", "10.20.0.2"


@pytest.fixture
def cloud_state(tmp_path: Path) -> CloudState:
    """A worker and a control plane with a load balancer, each in its own security group."""
    cloud_state = CloudState(tmp_path / "world.db")
    balancer = {"subnetMappings": [{"privateIpv4Address": "10.20.0.9"}], "securityGroups": ["sg-b"]}
    inward = {"securityGroupId": "sg-w", "ipProtocol": "tcp", "fromPort": 10250, "toPort": 10250}
    rows = [
        (GROUP, "sg-w", {}, {}),
        (INSTANCE, "i-w", {"vpcSecurityGroupIds": ["sg-w"]}, {"privateIp": "10.20.0.5"}),
        (INSTANCE, "i-c", {"vpcSecurityGroupIds": ["sg-c"]}, {"privateIp": "10.20.0.4"}),
        (BALANCER, "b", balancer, {}),
        (INGRESS, "r1", {**inward, "referencedSecurityGroupId": "sg-c"}, {}),
        (INGRESS, "r2", {**inward, "securityGroupId": "sg-c", "referencedSecurityGroupId": "sg-b"}, {}),
        (EGRESS, "r3", {"securityGroupId": "sg-w", "ipProtocol": "-1", "cidrIpv4": "0.0.0.0/0"}, {}),
    ]
    with cloud_state.transaction():
        for number, (type, id, inputs, outputs) in enumerate(rows):
            cloud_state.put(Record(number, type, id, id, f"urn::{id}", "eu-west-1", inputs, {**inputs, **outputs}, ""))
    return cloud_state


def machine(cloud_state: CloudState, id: str) -> Record:
    found = cloud_state.find(INSTANCE, id)
    assert found
    return found


def test_a_group_as_peer_stands_for_its_machines_and_load_balancers(cloud_state: CloudState) -> None:
    assert permissions(cloud_state, machine(cloud_state, "i-w")) == [
        Permission(True, "tcp", 10250, 10250, ("10.20.0.4",)),
        Permission(False, "-1", 0, 0, ("0.0.0.0/0",)),
    ]
    assert permissions(cloud_state, machine(cloud_state, "i-c")) == [
        Permission(True, "tcp", 10250, 10250, ("10.20.0.9",)),
    ]


def lines(text: str, chain: str) -> list[str]:
    found = re.search(rf"chain {chain} {{(.*?)\n  }}", text, re.DOTALL)
    assert found
    return [each.strip() for each in found[1].strip().splitlines()]


def test_traffic_without_a_rule_is_dropped(cloud_state: CloudState) -> None:
    found = permissions(cloud_state, machine(cloud_state, "i-w"))
    text = firewalls.rules(found, NODES, GATEWAY, RESOLVER, routed=False)
    assert lines(text, "in")[3:] == [
        f"ip saddr {GATEWAY} accept",
        "ip saddr { 10.20.0.4 } tcp dport 10250-10250 accept",
        "drop",
    ], "no rule allows VXLAN, so traffic of pods is dropped"
    assert lines(text, "out")[3:] == [
        f"ip daddr {{ {RESOLVER}, 169.254.169.254 }} accept",
        "accept",
        f"ip daddr != {NODES} accept",
        f"ip saddr != {NODES} accept",
        f"ip daddr {GATEWAY} accept",
        "drop",
    ]


def test_traffic_of_pods_passes_as_vxlan_unless_the_cloud_routes_it() -> None:
    found = [Permission(True, "udp", 4789, 4789, ("10.20.0.4",))]
    of_pods = {f"ip saddr != {NODES} accept", f"ip daddr != {NODES} accept"}
    overlay = firewalls.rules(found, NODES, GATEWAY, RESOLVER, routed=False)
    routed = firewalls.rules(found, NODES, GATEWAY, RESOLVER, routed=True)
    assert (of_pods <= set(lines(overlay, "in")), of_pods & set(lines(routed, "in"))) == (True, set())


def test_the_stores_are_unreachable_without_an_egress_rule_for_https() -> None:
    found = [Permission(False, "tcp", 53, 53, ("0.0.0.0/0",))]
    assert f"ip daddr {GATEWAY} accept" not in firewalls.rules(found, NODES, GATEWAY, RESOLVER, routed=True)
