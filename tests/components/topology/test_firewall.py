"""The firewall rule table: it opens every path that a cluster needs, and none to the internet."""

import re
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest

from components.spec.models import ClusterSpec
from components.topology import addressing, firewall, permitted, reachability
from components.topology.firewall import SecurityGroup
from components.topology.private_ranges import is_private


def spec(**fields: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {"cloud": "aws", "kubernetes": "1.32.13", "pools": {"web": {"os": "windows-2019"}}, **fields}
    )


SHAPES = {
    "one": spec(),
    "three": spec(control_plane={"count": 3}),
    "public": spec(api={"access": "public", "allow": ["203.0.113.0/24"]}, network={"egress": "public"}),
    "three-public": spec(
        control_plane={"count": 3}, api={"access": "public", "allow": ["203.0.113.0/24", "198.51.100.7/32"]}
    ),
    "one, inside": spec(api={"allow": ["192.168.0.0/16"]}),
    "three, inside": spec(control_plane={"count": 3}, api={"allow": ["192.168.0.0/16", "172.20.0.0/24"]}),
    "routed": spec(network={"mode": "l2bridge"}),
    "exporters": spec(network={"exporter_ports": [9100, 9182]}),
    "without egress": spec(network={"egress": "none"}),
    "three without egress": spec(control_plane={"count": 3}, network={"egress": "none"}),
}


def ways(
    cluster: ClusterSpec, plan: addressing.NetworkPlan, rules: tuple[firewall.Rule, ...]
) -> list[reachability.Path]:
    places = {group: list(plan.machines) for group in firewall.NODES}
    return list(reachability.paths(plan, rules, firewall.groups(cluster), places, cluster.network))


@pytest.mark.parametrize("cluster", SHAPES.values(), ids=list(SHAPES))
def test_rule_names_are_unique(cluster: ClusterSpec) -> None:
    names = [rule.name for rule in firewall.rules(cluster)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("cluster", SHAPES.values(), ids=list(SHAPES))
def test_the_reason_of_a_rule_is_a_valid_description_on_aws(cluster: ClusterSpec) -> None:
    """EC2 API, IpRange: up to 255 characters of a-z, A-Z, 0-9, spaces, and ._-:/()#,@[]+=&;{}!$*."""
    allowed = re.compile(r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}")
    assert all(allowed.fullmatch(rule.why) for rule in firewall.rules(cluster))


@pytest.mark.parametrize("cluster", SHAPES.values(), ids=list(SHAPES))
def test_no_rule_admits_the_internet(cluster: ClusterSpec) -> None:
    inbound = [rule for rule in firewall.rules(cluster) if rule.ingress and not isinstance(rule.peer, SecurityGroup)]
    private = {each for each in cluster.api.allow if is_private(each)}
    pods = {cluster.network.pods} if cluster.network.mode.value == "l2bridge" else set[IPv4Network]()
    for rule in inbound:
        outside = rule.group is SecurityGroup.API_PUBLIC or rule.peer in pods
        assert outside or (rule.ports == (6443, 6443) and rule.peer in private), rule.name
    assert {rule.peer for rule in inbound} == {*cluster.api.allow} | pods
    if pods:
        return  # NodePorts: the whole range is open to these sources and to nodes
    ports = {rule.ports for rule in firewall.rules(cluster) if rule.ingress}
    assert not any(low <= port <= high for low, high in ports for port in (22, 3389, 5985, 5986))


def test_exporters_are_open_to_machines_of_the_cluster_only() -> None:
    rules = [rule for rule in firewall.rules(SHAPES["exporters"]) if rule.ports in ((9100, 9100), (9182, 9182))]
    assert {(rule.peer, rule.group) for rule in rules} == {(a, b) for a in firewall.NODES for b in firewall.NODES}
    assert not [rule for rule in firewall.rules(SHAPES["one"]) if 9100 in rule.ports]


def test_overlay_and_kubelet_ports_are_open_to_nodes_only() -> None:
    """NET-13: UDP 4789 between all nodes; TCP 10250 too: metrics-server asks every kubelet."""
    rules = firewall.rules(SHAPES["one"])
    vxlan = {(rule.peer, rule.group) for rule in rules if rule.protocol == "udp" and rule.ports == (4789, 4789)}
    assert vxlan == {(a, b) for a in firewall.NODES for b in firewall.NODES}
    kubelet = {(rule.peer, rule.group) for rule in rules if rule.ports == (10250, 10250)}
    assert kubelet == {(source, target) for source in firewall.NODES for target in firewall.NODES}


@pytest.mark.parametrize("cluster", SHAPES.values(), ids=list(SHAPES))
def test_every_path_is_complete_in_every_cluster(cluster: ClusterSpec) -> None:
    plan = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud)
    paths = ways(cluster, plan, firewall.rules(cluster))
    assert [each for each in paths if each.missing] == []
    pods = "pods of workers 8080/tcp" if cluster is SHAPES["routed"] else "workers 4789/udp"
    assert {"API", "bundle store", "secret store", "downloads", "kubelet of workers", pods} <= {
        each.destination for each in paths
    }


def test_net_05_routed_pods_are_admitted_by_their_range_but_not_to_etcd() -> None:
    cluster = SHAPES["routed"]
    plan = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud)
    rules = firewall.rules(cluster)
    assert not [rule for rule in rules if "vxlan" in rule.name]
    for dropped in (rule for rule in rules if "-pods-" in rule.name):
        left = tuple(rule for rule in rules if rule is not dropped)
        assert [each for each in ways(cluster, plan, left) if each.missing], dropped.name
    for source in (cluster.network.pods, SecurityGroup.WORKERS):
        for port in firewall.ETCD_PORTS:
            assert permitted.lets_in(rules, source, SecurityGroup.CONTROL_PLANE, "tcp", port), "etcd"
        assert not permitted.lets_in(rules, source, SecurityGroup.CONTROL_PLANE, "tcp", 53)
        assert not permitted.lets_in(rules, source, SecurityGroup.WORKERS, "udp", 40000)


@pytest.mark.parametrize("cluster", SHAPES.values(), ids=list(SHAPES))
def test_a_path_is_incomplete_if_a_needed_rule_is_removed(cluster: ClusterSpec) -> None:
    """Each rule except those for NodePorts and etcd is needed by some path, so removing it must be reported."""
    if cluster is SHAPES["routed"]:
        return  # rules for pods cover other paths too; the test of routed pods removes them
    plan = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud)
    rules = firewall.rules(cluster)
    for dropped in rules:
        quiet = any(word in dropped.name for word in ("nodeport", "etcd", "exporter"))
        # with several allowed ranges, people still get in if one is removed; no machine needs those of a private API
        people = dropped.peer in cluster.api.allow
        quiet = quiet or (people and (dropped.group is not SecurityGroup.API_PUBLIC or len(cluster.api.allow) > 1))
        missing = [each for each in ways(cluster, plan, tuple(r for r in rules if r is not dropped)) if each.missing]
        assert bool(missing) != quiet, dropped.name


@pytest.mark.parametrize("cluster", SHAPES.values(), ids=list(SHAPES))
def test_a_path_is_incomplete_if_a_route_or_gateway_is_removed(cluster: ClusterSpec) -> None:
    plan, rules = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud), firewall.rules(cluster)
    for table in plan.tables:
        if not table.routes:
            without = replace(plan, tables=tuple(each for each in plan.tables if each is not table))
            assert any("no route table" in (each.missing or "") for each in ways(cluster, without, rules))
            continue  # endpoints instead of routes
        if table.name == "edge" and not plan.gateways:
            continue  # subnets of load balancers only: no path to the internet starts there
        cut = replace(plan, tables=tuple(replace(t, routes=()) if t is table else t for t in plan.tables))
        assert any(each.missing for each in ways(cluster, cut, rules)), table.name
    for gateway in plan.gateways:
        cut = replace(plan, gateways=tuple(each for each in plan.gateways if each is not gateway))
        assert any(
            f"{gateway.name}, which does not exist" in (each.missing or "") for each in ways(cluster, cut, rules)
        )


def test_without_egress_on_gcp_the_stores_need_the_route_to_the_apis() -> None:
    cluster = spec(cloud="gcp", network={"egress": "none"})
    plan, rules = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud), firewall.rules(cluster)
    assert [each for each in ways(cluster, plan, rules) if each.missing] == []
    cut = replace(plan, tables=tuple(replace(table, routes=()) for table in plan.tables))
    lost = {each.destination for each in ways(cluster, cut, rules) if each.missing}
    assert lost == {"bundle store", "secret store"}


def test_without_egress_on_azure_stores_and_secrets_need_the_rules_of_the_endpoints() -> None:
    cluster = spec(cloud="azure", network={"egress": "none"})
    plan, rules = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud), firewall.rules(cluster)
    assert [each for each in ways(cluster, plan, rules) if each.missing] == []
    left = tuple(rule for rule in rules if rule.group is not SecurityGroup.ENDPOINTS)
    lost = {each.destination for each in ways(cluster, plan, left) if each.missing}
    assert lost == {"bundle store", "secret store"}
    admitted = {(rule.peer, rule.ports) for rule in rules if rule.group is SecurityGroup.ENDPOINTS}
    assert admitted == {(group, (443, 443)) for group in firewall.NODES}


@pytest.mark.parametrize("cloud", ["aws", "azure"])
def test_private_endpoints_admit_machines_alone_also_where_the_cloud_routes_pods(cloud: str) -> None:
    rules = firewall.rules(spec(cloud=cloud, network={"egress": "none", "mode": "l2bridge"}))
    assert {rule.peer for rule in rules if rule.group is SecurityGroup.ENDPOINTS} == {*firewall.NODES}


def test_a_private_subnet_with_an_internet_route_does_not_reach_the_internet() -> None:
    cluster = SHAPES["public"]
    plan = addressing.network_plan(cluster.network, cluster.api.access, cluster.cloud)
    hidden = replace(plan, subnets=tuple(replace(each, public=False) for each in plan.subnets))
    missing = [each.missing for each in ways(cluster, hidden, firewall.rules(cluster)) if each.missing]
    assert missing and all("no public addresses" in each for each in missing)


def sessions(cloud: str, access: str) -> set[tuple[str, int, str]]:
    """Return group, port and source of the rules that no cluster without sessions has."""
    extra = set(firewall.rules(spec(cloud=cloud, access=access))) - set(firewall.rules(spec(cloud=cloud)))
    return {(rule.group.value, rule.ports[0], str(rule.peer)) for rule in extra}


def test_sessions_open_ports_to_the_service_of_the_cloud_alone() -> None:
    iap = "35.235.240.0/20"
    assert sessions("gcp", "session") == {
        ("control-plane", 6443, iap),
        ("control-plane", 22, iap),
        ("workers", 22, iap),
    }
    assert sessions("aws", "session") == sessions("gcp", "none") == set()
    assert sessions("azure", "session") == {("control-plane", 6443, "10.20.63.192/26")}, "Azure Bastion: no SSH"


@pytest.mark.parametrize(
    ("cloud", "count", "asked"),
    [
        ("aws", 1, SecurityGroup.CONTROL_PLANE),
        ("aws", 3, SecurityGroup.API_INTERNAL),
        ("azure", 1, SecurityGroup.CONTROL_PLANE),
        ("azure", 3, SecurityGroup.CONTROL_PLANE),
        ("gcp", 3, SecurityGroup.CONTROL_PLANE),
    ],
)
def test_a_private_api_admits_listed_ranges_of_connected_networks_only(
    cloud: str, count: int, asked: SecurityGroup
) -> None:
    """Passthrough load balancers have no group: the control plane admits the clients behind them."""
    ranges, network = ["10.9.0.0/16", "25.1.2.0/24", "203.0.113.0/24"], {"outside": ["25.0.0.0/8"]}
    cluster = spec(cloud=cloud, control_plane={"count": count}, api={"allow": ranges}, network=network)
    people = {(rule.peer, rule.group, rule.ports) for rule in firewall.rules(cluster) if rule.peer in cluster.api.allow}
    assert people == {(IPv4Network(each), asked, (6443, 6443)) for each in ranges[:2]}
    silent = firewall.rules(spec(cloud=cloud, control_plane={"count": count}, network=network))
    assert not [rule for rule in silent if rule.peer == IPv4Network("25.0.0.0/8") or "people" in rule.name], "unasked"
