"""Overlay, as plans set it up: the real flanneld.exe, win-overlay.exe, host-local.exe and kube-proxy.exe.

Then packets walk over the state that the programs left in HNS.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.hns.networks import management_address, vsid
from lab.hns.service import NON_PERSISTENT, Object, policies
from lab.hns.walk import Fabric, LinuxNode, Outcome, Packet, WindowsNode
from tests.lab.conftest import Find
from tests.lab.hns.cluster import (
    CLIENT,
    NAME,
    OTHER,
    OTHER_RANGE,
    OVERLAY,
    OWN_SERVICE,
    RANGE,
    REMOTE,
    SERVICE,
    WEB,
    Cluster,
    delivered,
    walk,
)
from tests.lab.hns.conftest import StartCluster
from tests.lab.hns.machine import API, NODE, plugin
from tests.lab.rendered import VALUES, Rendered

pytestmark = pytest.mark.lab

VIP = VALUES["node.source_vip"]


@pytest.fixture(scope="module")
def overlay(
    start: StartCluster,
    plugins: Mapping[str, Path],
    program: Find,
    plans: Mapping[str, Rendered],
) -> Iterator[Cluster]:
    """Return a cluster of a Linux node and a Windows machine on which flanneld has made its network."""
    with start(plans["defaults"]) as made:
        made.join_overlay(plugins, program("flanneld", "windows"))
        yield made


def test_flanneld_makes_the_overlay_and_routes_other_nodes(overlay: Cluster) -> None:
    (network,) = overlay.machine.service.all("Network")

    assert (network["Name"], network["Type"], network["Flags"]) == (OVERLAY, "Overlay", NON_PERSISTENT)
    assert network["Ipams"][0]["Subnets"][0]["IpAddressPrefix"] == RANGE
    assert (vsid(network), management_address(network)) == (4096, NODE)
    assert policies(network, "HostRoute") == [{}]
    assert policies(network, "RemoteSubnetRoute") == [
        {
            "DestinationPrefix": OTHER_RANGE,
            "IsolationId": 4096,
            "ProviderAddress": OTHER,
            "DistributedRouterMacAddress": "c6:71:81:86:b2:77",
        }
    ]
    assert overlay.machine.service.refusals == []


def test_flanneld_tells_other_nodes_its_router_and_writes_the_subnet_file(overlay: Cluster) -> None:
    (network,) = overlay.machine.service.all("Network")
    said = overlay.plane.call("GET", f"/api/v1/nodes/{NAME}")["metadata"]["annotations"]

    router = json.loads(said["flannel.alpha.coreos.com/backend-data"])
    assert router["VNI"] == 4096
    assert router["VtepMAC"].replace(":", "-").upper() == policies(network, "DrMacAddress")[0]["Address"]
    assert said["flannel.alpha.coreos.com/public-ip"] == NODE
    written = {"FLANNEL_NETWORK": "10.244.0.0/16", "FLANNEL_SUBNET": "10.244.1.1/24", "FLANNEL_MTU": "1450"}
    assert overlay.flannel() == {**written, "FLANNEL_IPMASQ": "false"}


@pytest.fixture(scope="module")
def pods(overlay: Cluster, plans: Mapping[str, Rendered]) -> Mapping[str, Object]:
    """Let the plan's steps look at the overlay and reserve kube-proxy's address, then add pods and Services.

    Return the pods' endpoints by address.
    """
    said = overlay.machine.steps(plans["defaults"], "overlay-network", "source-vip")
    assert said[0] == "overlay-network True True"
    assert said[1] in ("source-vip False True", "source-vip True True")  # the second if pytest runs a test again
    conf = plugin(plans["defaults"].content("cni-config"), overlay.flannel())
    return overlay.serve_pods(conf, CLIENT, WEB, REMOTE)


@pytest.fixture(scope="module", params=["defaults", "overlay-no-dsr"])
def proxied(
    request: pytest.FixtureRequest,
    overlay: Cluster,
    pods: Mapping[str, Object],
    program: Find,
    plans: Mapping[str, Rendered],
) -> bool:
    """Run kube-proxy with direct server return and without; return which."""
    return overlay.proxy_services(plans[request.param], program("kube-proxy", "windows"))


@pytest.fixture
def fabric(overlay: Cluster) -> Fabric:
    here = WindowsNode(NAME, NODE, overlay.machine.service, OVERLAY)
    there = LinuxNode("linux-0", OTHER, OTHER_RANGE, 4096, "c6:71:81:86:b2:77")
    return Fabric([here], [there, LinuxNode("control-plane", API, "10.244.0.0/24", 4096, "c6:71:81:86:b2:01")])


def _walk(fabric: Fabric, pods: Mapping[str, Object], destination: str, port: int = 80) -> set[Outcome]:
    return walk(fabric, pods, CLIENT, destination, port)


def test_kube_proxy_makes_what_the_real_one_makes_without_a_refusal(overlay: Cluster, proxied: bool) -> None:
    service = overlay.machine.service
    balancer = next(each for each in service.all("LoadBalancer") if each.get("FrontendVIPs") == [SERVICE])

    assert service.refusals == []
    assert (balancer.get("Flags", 0), balancer["SourceVIP"]) == (int(proxied), VIP)
    assert service.named("Endpoint", f"client_{OVERLAY}")


def test_packets_between_pods_keep_their_source(fabric: Fabric, pods: Mapping[str, Object]) -> None:
    assert _walk(fabric, pods, WEB) == {delivered(f"web_{OVERLAY}", CLIENT, WEB)}
    assert _walk(fabric, pods, REMOTE) == {delivered("linux-0", CLIENT, REMOTE)}
    assert {each.verdict for each in _walk(fabric, pods, "10.244.9.9")} == {"dropped"}


def test_packets_of_the_linux_node_reach_the_pod_by_what_flanneld_told_it(
    overlay: Cluster, fabric: Fabric, pods: Mapping[str, Object]
) -> None:
    said = overlay.plane.call("GET", f"/api/v1/nodes/{NAME}")["metadata"]["annotations"]
    router = json.loads(said["flannel.alpha.coreos.com/backend-data"])
    provider, packet = said["flannel.alpha.coreos.com/public-ip"], Packet(REMOTE, CLIENT, 8080)

    assert pods[CLIENT]["HostComputeNamespace"]
    arrived = fabric.over_vxlan(packet, router["VNI"], provider, router["VtepMAC"])
    assert arrived == Outcome("delivered", f"client_{OVERLAY}", packet)
    assert fabric.over_vxlan(packet, 4097, provider, router["VtepMAC"]).verdict == "dropped"


def test_packets_to_a_service_reach_its_pods_on_both_nodes(
    fabric: Fabric, pods: Mapping[str, Object], proxied: bool
) -> None:
    source = CLIENT if proxied else VIP
    assert _walk(fabric, pods, SERVICE) == {
        delivered(f"web_{OVERLAY}", source, WEB, 8080),
        delivered("linux-0", source, REMOTE, 8080),
    }


def test_packets_of_a_pod_to_its_own_service_come_back(
    fabric: Fabric, pods: Mapping[str, Object], proxied: bool
) -> None:
    source = NODE if proxied else VIP
    assert _walk(fabric, pods, OWN_SERVICE) == {delivered(f"client_{OVERLAY}", source, CLIENT, 8080)}


def test_packets_to_the_api_server_leave_with_the_nodes_address(
    fabric: Fabric, pods: Mapping[str, Object], proxied: bool
) -> None:
    assert _walk(fabric, pods, "10.96.0.1", 443) == {delivered("control-plane", NODE, API, 6443)}


def test_packets_to_nodes_and_outside_have_the_nodes_address(fabric: Fabric, pods: Mapping[str, Object]) -> None:
    assert _walk(fabric, pods, OTHER) == {delivered("linux-0", NODE, OTHER)}
    assert _walk(fabric, pods, "203.0.113.9") == {Outcome("left", "outside", Packet(NODE, "203.0.113.9"))}
    assert {each.verdict for each in _walk(fabric, pods, "169.254.169.254")} == {"dropped"}


def test_packets_between_a_node_and_its_pods_pass_by_the_host_route(fabric: Fabric, pods: Mapping[str, Object]) -> None:
    (node,) = fabric.windows
    assert pods
    probe = Packet(NODE, CLIENT, 8080)
    assert fabric.from_node(node, probe) == Outcome("delivered", f"client_{OVERLAY}", probe)
    assert {each.verdict for each in _walk(fabric, pods, NODE, 10250)} == {"delivered"}
