"""The real kubelet.exe runs pods beside the real flanneld.exe, CNI plug-ins and kube-proxy.exe, in both network modes.

The kubelet lets a runtime make each pod's network by CNI; the API server's controllers make endpoints of the addresses
that the kubelet reports. Then packets walk over the state that the programs left in HNS.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.hns.service import Object
from lab.hns.walk import Fabric, LinuxNode, Packet, WindowsNode
from tests.lab.conftest import Find
from tests.lab.hns.cluster import NAME, OTHER, OTHER_RANGE, PEER, RANGE, SERVICE, delivered, walk
from tests.lab.hns.conftest import StartCluster
from tests.lab.hns.machine import API, NODE
from tests.lab.hns.whole_node import PODS, WholeNode
from tests.lab.rendered import Rendered

pytestmark = pytest.mark.lab

PROGRAMS = ("kubelet", "flanneld", "kube-proxy", "cripods")
ROUTER = "c6:71:81:86:b2:77"


@pytest.fixture(scope="module", params=["defaults", "l2bridge"])
def node(
    request: pytest.FixtureRequest,
    start: StartCluster,
    plugins: Mapping[str, Path],
    program: Find,
    plans: Mapping[str, Rendered],
) -> Iterator[WholeNode]:
    """Return a node on which kubelet and network run, in the order of its plan."""
    plan = plans[request.param]
    with start(plan) as made:
        whole = WholeNode(made, {name: program(name, "windows") for name in PROGRAMS})
        made.machine.install(plugins)
        # the first node of a cluster, which has the first pod range
        made.node("control-plane", API, "10.244.0.0/24", {})
        if plan.variant == "l2bridge":
            made.node("linux-0", OTHER, OTHER_RANGE, {})
            assert made.machine.steps(plan, "hns-network") == ["hns-network False True"]
            whole.kubelet()
            whole.network({})
        else:
            made.node("linux-0", OTHER, OTHER_RANGE, PEER)
            whole.kubelet()
            made.flanneld(whole.programs["flanneld"])
            assert whole.node()["spec"]["podCIDR"] == RANGE
            said = made.machine.steps(plan, "overlay-network", "source-vip")
            assert said == ["overlay-network True True", "source-vip False True"]
            whole.network(made.flannel())
        yield whole


@pytest.fixture(scope="module")
def pods(node: WholeNode) -> Mapping[str, str]:
    """Let the kubelet run two pods, of which one serves; return name -> address."""
    known = {name: address for address, name in node.pods("client", "web").items()}
    node.service("web", SERVICE)
    node.kube_proxy((SERVICE, "10.96.0.1"))
    return known


@pytest.fixture
def endpoints(node: WholeNode, pods: Mapping[str, str]) -> Mapping[str, Object]:
    """Return the endpoints of the pods by address."""
    known = {each["IpConfigurations"][0]["IpAddress"]: each for each in node.cluster.machine.service.all("Endpoint")}
    return {address: known[address] for address in pods.values()}


@pytest.fixture
def fabric(node: WholeNode) -> Fabric:
    (network,) = {each["Name"] for each in node.cluster.machine.service.all("Network")}
    here = WindowsNode(NAME, NODE, node.cluster.machine.service, network)
    there = LinuxNode("linux-0", OTHER, OTHER_RANGE, 4096, ROUTER)
    return Fabric([here], [there, LinuxNode("control-plane", API, "10.244.0.0/24")])


def test_the_kubelet_reports_a_ready_node_and_pods_with_the_addresses_of_their_endpoints(
    node: WholeNode, endpoints: Mapping[str, Object]
) -> None:
    node.cluster.until(node.is_ready, "the kubelet reports its Node as ready")
    assert node.node()["metadata"]["labels"]["team"] == "billing"
    assert node.cluster.machine.service.refusals == []
    namespaces = node.cluster.machine.service.objects["Namespace"]
    assert all(each["HostComputeNamespace"] in namespaces for each in endpoints.values())
    assert all(each["Dns"]["ServerList"] == ["10.96.0.10"] for each in endpoints.values())


def test_packets_reach_the_kubelets_pods_from_pods_and_nodes(
    fabric: Fabric, pods: Mapping[str, str], endpoints: Mapping[str, Object]
) -> None:
    (here,) = fabric.windows
    place = endpoints[pods["web"]]["Name"]
    probe = Packet(NODE, pods["web"], 8080)

    assert walk(fabric, endpoints, pods["client"], pods["web"]) == {delivered(place, pods["client"], pods["web"])}
    assert fabric.from_node(here, probe) == delivered(place, NODE, pods["web"], 8080)


def test_packets_to_a_service_reach_the_pod_whose_address_the_kubelet_reported(
    fabric: Fabric, pods: Mapping[str, str], endpoints: Mapping[str, Object]
) -> None:
    place = endpoints[pods["web"]]["Name"]
    arrived = walk(fabric, endpoints, pods["client"], SERVICE)
    assert arrived == {delivered(place, pods["client"], pods["web"], 8080)}


def test_the_kubelet_removes_the_network_of_a_deleted_pod(node: WholeNode, pods: Mapping[str, str]) -> None:
    service = node.cluster.machine.service
    before = set(service.objects["Namespace"])
    node.cluster.plane.call("DELETE", f"{PODS}/client?gracePeriodSeconds=1")
    node.cluster.until(lambda: not node.cluster.plane.get(f"{PODS}/client"), "the kubelet ends the pod")

    addresses = {each["IpConfigurations"][0]["IpAddress"] for each in service.all("Endpoint")}
    assert pods["client"] not in addresses
    assert len(before - set(service.objects["Namespace"])) == 1
