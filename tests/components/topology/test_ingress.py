"""Firewall rules, subnets and addresses of `ingress`."""

import re
from typing import Any

import pytest

from components.spec.models import ClusterSpec
from components.topology import addressing, firewall, reachability
from components.topology.firewall import SecurityGroup
from components.topology.load_balancers import address_offset, load_balancers

CLOUDS = ("aws", "azure", "gcp")
ALLOW = ["198.51.99.0/24"]


def spec(cloud: str, **fields: Any) -> ClusterSpec:
    front = {"pools": ["linux"], "ports": [{"port": 30080, "node_port": 30080}], "allow": ALLOW}
    own = {"ports": [{"port": 30081, "node_port": 30081}], "health": {"port": 10256, "path": "/healthz"}}
    inside = {**front, **own, "internal": True}
    ingress = {
        "load_balancers": {"front": front, "inside": inside},
        "node_ports": {"ports": [30090], "allow": ["192.168.0.0/16"]},
    }
    pools = {"linux": {"os": "ubuntu-24.04"}}
    return ClusterSpec.model_validate(
        {"cloud": cloud, "kubernetes": "1.36.4", "pools": pools, "ingress": ingress, **fields}
    )


def added(cloud: str) -> list[firewall.Rule]:
    """Return the rules that `ingress` adds."""
    before = {rule.name for rule in firewall.rules(spec(cloud, ingress={}))}
    return [rule for rule in firewall.rules(spec(cloud)) if rule.name not in before]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_names_of_rules_are_unique_and_their_reasons_are_valid_descriptions(cloud: str) -> None:
    names = [rule.name for rule in firewall.rules(spec(cloud))]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}", rule.why) for rule in added(cloud))


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_path_is_incomplete_without_any_one_rule_of_a_load_balancer(cloud: str) -> None:
    cluster, rules = spec(cloud), firewall.rules(spec(cloud))
    planned = load_balancers(cluster)
    assert not [each for each in reachability.ingress_paths(rules, cluster, planned) if each.missing]
    for dropped in added(cloud):
        if "node-port-30090" in dropped.name:
            continue  # clients of node ports go past the load balancers
        left = tuple(rule for rule in rules if rule.name != dropped.name)
        assert [each for each in reachability.ingress_paths(left, cluster, planned) if each.missing], dropped.name


def test_on_aws_workers_admit_the_group_of_a_load_balancer_instead_of_its_clients() -> None:
    inward = [rule for rule in added("aws") if rule.ingress and rule.group is SecurityGroup.WORKERS]
    sources = {(getattr(rule.peer, "value", str(rule.peer)), rule.ports[0]) for rule in inward}
    assert sources == {
        ("ingress-front", 30080),
        ("ingress-inside", 30081),
        ("ingress-inside", 10256),
        ("192.168.0.0/16", 30090),
    }


@pytest.mark.parametrize("cloud", ["azure", "gcp"])
def test_behind_passthrough_load_balancers_workers_admit_clients_and_probes(cloud: str) -> None:
    sources: dict[int, set[str]] = {}
    for rule in added(cloud):
        assert rule.ingress and rule.group is SecurityGroup.WORKERS
        sources.setdefault(rule.ports[0], set()).add(str(rule.peer))
    probes = {str(each) for each in spec(cloud).cloud.facts.probe_ranges}
    assert sources == {30080: {*ALLOW, *probes}, 30081: {*ALLOW}, 10256: probes, 30090: {"192.168.0.0/16"}}


def test_a_public_load_balancer_on_aws_has_edge_subnets_when_machines_are_public() -> None:
    cluster = spec("aws", network={"egress": "public"})
    without = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud)
    plan = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud, ingress=True)
    assert (without.edge, [each.name for each in plan.edge]) == ((), ["edge-0"])
    assert plan.machines == without.machines


def test_addresses_of_internal_load_balancers_stand_between_control_planes_and_workers() -> None:
    last_control_plane = addressing.CONTROL_PLANE_OFFSET + 2
    for name in (f"name-{number}" for number in range(500)):
        assert last_control_plane < address_offset(name) < addressing.WORKER_OFFSET
