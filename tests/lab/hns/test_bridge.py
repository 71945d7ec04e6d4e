"""l2bridge, as plans set it up: the real win-bridge.exe, host-local.exe and kube-proxy.exe; the cloud routes pods.

Then packets walk over the state that the programs left in HNS.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lab.hns.service import Object
from lab.hns.walk import Fabric, LinuxNode, Outcome, Packet, WindowsNode
from tests.lab.conftest import Find
from tests.lab.hns.cluster import NAME, OTHER, OWN_SERVICE, SERVICE, Cluster, delivered, walk
from tests.lab.hns.conftest import StartCluster
from tests.lab.hns.machine import API, NODE, plugin
from tests.lab.rendered import VALUES, Rendered

pytestmark = pytest.mark.lab

NETWORK = "cbr0"
RANGE, OTHER_RANGE = VALUES["machine.pod_cidr"], "10.244.5.0/24"
CLIENT, WEB, REMOTE = "10.244.4.3", "10.244.4.4", "10.244.5.7"
"""Pods: two on the Windows machine, one on the Linux node."""


@pytest.fixture(scope="module")
def bridged(
    start: StartCluster,
    plugins: Mapping[str, Path],
    plans: Mapping[str, Rendered],
) -> Iterator[Cluster]:
    """Return a cluster of a Linux node and a Windows machine with the network of kind hns-network."""
    plan = plans["l2bridge"]
    with start(plan) as made:
        made.node(NAME, NODE, RANGE, {})
        made.node("linux-0", OTHER, OTHER_RANGE, {})
        made.machine.install(plugins)
        assert made.machine.steps(plan, "hns-network") == ["hns-network False True"]
        yield made


@pytest.fixture(scope="module")
def pods(bridged: Cluster, plans: Mapping[str, Rendered]) -> Mapping[str, Object]:
    """Add two pods and the Services; return endpoints by address."""
    conf = plugin(plans["l2bridge"].content("cni-config"), {})
    return bridged.serve_pods(conf, CLIENT, WEB, REMOTE)


@pytest.fixture(scope="module", params=["l2bridge", "l2bridge-no-dsr"])
def proxied(
    request: pytest.FixtureRequest,
    bridged: Cluster,
    pods: Mapping[str, Object],
    program: Find,
    plans: Mapping[str, Rendered],
) -> bool:
    """Run kube-proxy with direct server return and without; return which."""
    return bridged.proxy_services(plans[request.param], program("kube-proxy", "windows"))


@pytest.fixture
def fabric(bridged: Cluster) -> Fabric:
    here = WindowsNode(NAME, NODE, bridged.machine.service, NETWORK, bridged.machine.routes())
    return Fabric([here], [LinuxNode("linux-0", OTHER, OTHER_RANGE), LinuxNode("control-plane", API, "10.244.0.0/24")])


def _walk(fabric: Fabric, pods: Mapping[str, Object], destination: str, port: int = 80) -> set[Outcome]:
    return walk(fabric, pods, CLIENT, destination, port)


def test_kube_proxy_makes_load_balancers_without_a_refusal(bridged: Cluster, proxied: bool) -> None:
    service = bridged.machine.service
    balancer = next(each for each in service.all("LoadBalancer") if each.get("FrontendVIPs") == [SERVICE])

    assert service.refusals == []
    assert balancer.get("Flags", 0) == int(proxied)


def test_packets_between_pods_keep_their_source(fabric: Fabric, pods: Mapping[str, Object]) -> None:
    assert _walk(fabric, pods, WEB) == {delivered(f"web_{NETWORK}", CLIENT, WEB)}
    assert _walk(fabric, pods, REMOTE) == {delivered("linux-0", CLIENT, REMOTE)}


def test_packets_to_a_service_reach_its_pods_on_both_nodes(
    fabric: Fabric, pods: Mapping[str, Object], proxied: bool
) -> None:
    source = CLIENT if proxied else NODE
    assert _walk(fabric, pods, SERVICE) == {
        delivered(f"web_{NETWORK}", source, WEB, 8080),
        delivered("linux-0", source, REMOTE, 8080),
    }


def test_answers_of_a_service_on_another_node_come_back_to_the_pod(
    fabric: Fabric, pods: Mapping[str, Object], proxied: bool
) -> None:
    (node,) = fabric.windows
    sent = next(each.packet for each in _walk(fabric, pods, SERVICE) if each.place == "linux-0")

    answer = fabric.answered(node, Packet(CLIENT, SERVICE), sent)
    assert answer == Outcome("delivered", f"client_{NETWORK}", Packet(SERVICE, CLIENT))
    lost = fabric.answered(replace(node, routes=()), Packet(CLIENT, SERVICE), sent)
    assert lost.verdict == ("delivered" if proxied else "dropped")


def test_packets_of_a_pod_to_its_own_service_come_back(
    fabric: Fabric, pods: Mapping[str, Object], proxied: bool
) -> None:
    assert {each.place for each in _walk(fabric, pods, OWN_SERVICE)} == {f"client_{NETWORK}"}
    assert {each.packet.source for each in _walk(fabric, pods, OWN_SERVICE)} == {NODE}


def test_packets_to_nodes_keep_their_source(fabric: Fabric, pods: Mapping[str, Object], proxied: bool) -> None:
    source = CLIENT if proxied else NODE
    assert _walk(fabric, pods, "10.96.0.1", 443) == {delivered("control-plane", source, API, 6443)}
    assert _walk(fabric, pods, OTHER) == {delivered("linux-0", CLIENT, OTHER)}
    assert _walk(fabric, pods, NODE, 10250) == {delivered(NAME, CLIENT, NODE, 10250)}


def test_packets_to_the_outside_have_the_nodes_address(fabric: Fabric, pods: Mapping[str, Object]) -> None:
    assert _walk(fabric, pods, "203.0.113.9") == {Outcome("left", "outside", Packet(NODE, "203.0.113.9"))}
    assert {each.verdict for each in _walk(fabric, pods, "169.254.169.254")} == {"dropped"}


def test_packets_of_the_node_reach_its_pods_by_the_bridges_endpoint(
    bridged: Cluster, fabric: Fabric, pods: Mapping[str, Object]
) -> None:
    (node,) = fabric.windows
    assert pods
    probe = Packet(NODE, CLIENT, 8080)
    assert fabric.from_node(node, probe) == Outcome("delivered", f"client_{NETWORK}", probe)

    endpoint = bridged.machine.service.named("Endpoint", f"{NETWORK}_ep")["ID"]
    bridged.machine.hns("POST", f"/endpoints/{endpoint}/detach", {"SystemType": "Host"})
    assert fabric.from_node(node, probe).verdict == "dropped"
    assert {each.verdict for each in _walk(fabric, pods, NODE, 10250)} == {"dropped"}
