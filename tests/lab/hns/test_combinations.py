"""Every combination of Windows Server, runtime and network mode: the plan's steps, the real plug-ins, and walks.

Networks of overlays, routes to other nodes and load balancers are made here as flanneld and kube-proxy make them; the
other files of this folder run those for Windows Server 2022, and flanneld for 2019.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.hns.service import BUILDS, Object
from lab.hns.walk import Fabric, LinuxNode, Outcome, Packet, WindowsNode
from tests.lab.hns.cluster import OTHER, SERVICE, delivered, walk
from tests.lab.hns.machine import NO_ID, NODE, Machine, machine, plugin
from tests.lab.rendered import WINDOWS, Rendered

pytestmark = pytest.mark.lab

ROUTER = "c6:71:81:86:b2:77"
FLANNEL = {"FLANNEL_NETWORK": "10.244.0.0/16", "FLANNEL_SUBNET": "10.244.1.1/24", "FLANNEL_MTU": "1450"}
FLANNEL |= {"FLANNEL_IPMASQ": "false"}
VARIANTS = {
    "containerd, overlay": "defaults",
    "docker, overlay": "docker",
    "containerd, l2bridge": "l2bridge",
    "docker, l2bridge": "l2bridge-docker",
}
"""Runtime and mode -> variant of the plan."""


@pytest.fixture(scope="module", params=WINDOWS)
def server(
    request: pytest.FixtureRequest, api: str, plugins: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Machine]]:
    """Return the operating system's name and a machine with its HNS and the plug-ins."""
    with machine(api, tmp_path_factory.mktemp("server"), BUILDS[request.param]) as made:
        made.install(plugins)
        yield request.param, made


def overlay(here: Machine) -> None:
    """Create the network as flanneld does (flannel pkg/backend/vxlan/device_windows.go), and its file."""
    subnet = {
        "IpAddressPrefix": "10.244.1.0/24",
        "Routes": [{"NextHop": "10.244.1.1", "DestinationPrefix": "0.0.0.0/0"}],
        "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 4096}}],
    }
    document = {"Name": "flannel.4096", "Type": "Overlay", "Ipams": [{"Type": "Static", "Subnets": [subnet]}]}
    network = here.call("CreateNetwork", "", "", json.dumps(document))
    route = {"DestinationPrefix": "10.244.2.0/24", "IsolationId": 4096, "ProviderAddress": OTHER}
    added: list[tuple[str, dict[str, Any]]] = [
        ("RemoteSubnetRoute", {**route, "DistributedRouterMacAddress": ROUTER.replace(":", "-")})
    ]
    if here.service.build.host_route:
        added.append(("HostRoute", {}))
    for kind, settings in added:
        given = {"Policies": [{"Type": kind, "Settings": settings}]}
        request = {"ResourceType": "Policy", "RequestType": "Add", "Settings": given}
        here.call("ModifyNetwork", network, json.dumps(request))
    lines = "\n".join(f"{key}={value}" for key, value in FLANNEL.items())
    here.windows.path(r"C:\run\flannel\subnet.env").write_text(lines + "\n")


def balance(here: Machine, plan: Rendered, network: Object, web: Object) -> bool:
    """Create a load balancer for a local pod as kube-proxy does; return whether with direct server return."""
    dsr = bool(plan.file_of_kind("KubeProxyConfiguration")["winkernel"].get("enableDSR"))
    ports = [{"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}]
    document = {"HostComputeEndpoints": [web["ID"]], "FrontendVIPs": [SERVICE], "PortMappings": ports}
    if network["Type"] == "Overlay":
        document["SourceVIP"] = "10.244.1.2"
        provider = {"Type": "ProviderAddress", "Settings": {"ProviderAddress": NODE}}
        own = {"Name": "sourceVip", "IpConfigurations": [{"IpAddress": "10.244.1.2"}], "Policies": [provider]}
        here.call("CreateEndpoint", network["ID"], NO_ID, json.dumps(own))
    here.call("CreateLoadBalancer", "", NO_ID, json.dumps({**document, "Flags": int(dsr)}))
    return dsr


def clean(here: Machine) -> None:
    """Remove what another combination left."""
    for kind in ("LoadBalancer", "Network", "Namespace"):
        for each in here.service.all(kind):
            here.call(f"Delete{kind}", each["ID"])
    here.service.containers.clear()
    here.service.refusals.clear()
    for lease in here.windows.path(r"C:\var\lib\cni\networks\x").parent.glob("*/*"):
        lease.unlink()


@pytest.mark.parametrize("combination", VARIANTS)
def test_the_steps_hold_and_packets_of_pods_arrive(
    server: tuple[str, Machine], combination: str, all_plans: Mapping[tuple[str, str], Rendered]
) -> None:
    (os, here), variant = server, VARIANTS[combination]
    if (os, variant) not in all_plans:
        pytest.skip(f"no plan has {combination} on {os}")
    plan, is_overlay = all_plans[os, variant], "overlay" in combination
    clean(here)
    if is_overlay:
        overlay(here)
        assert here.steps(plan, "overlay-network", "source-vip") == [
            "overlay-network True True",
            "source-vip False True",
        ]
    else:
        assert here.steps(plan, "hns-network", "hns-network") == ["hns-network False True", "hns-network True True"]
    (network,) = here.service.all("Network")
    conf = plugin(plan.content("cni-config"), FLANNEL)
    pods = {each["IpConfigurations"][0]["IpAddress"]: each for each in (here.pod(conf, name) for name in ("a", "web"))}
    first, web = pods
    dsr = balance(here, plan, network, pods[web])
    assert here.service.refusals == []

    remote, there = ("10.244.2.7", "10.244.2.0/24") if is_overlay else ("10.244.5.7", "10.244.5.0/24")
    name, linux = network["Name"], LinuxNode("linux-0", OTHER, there, router=ROUTER if is_overlay else "")
    node = WindowsNode("pool-0", NODE, here.service, name)
    fabric = Fabric([node], [linux])
    assert walk(fabric, pods, first, web) == {delivered(f"web_{name}", first, web)}
    assert walk(fabric, pods, first, remote) == {delivered("linux-0", first, remote)}
    source = first if dsr else "10.244.1.2" if is_overlay else NODE
    assert walk(fabric, pods, first, SERVICE) == {delivered(f"web_{name}", source, web, 8080)}
    assert walk(fabric, pods, first, "203.0.113.9") == {Outcome("left", "outside", Packet(NODE, "203.0.113.9"))}
    assert {each.verdict for each in walk(fabric, pods, first, "169.254.169.254")} == {"dropped"}
    # probes of the kubelet: an overlay on Windows Server 2019 has no HostRoute
    probe = fabric.from_node(node, Packet(NODE, first, 8080))
    assert probe.verdict == ("dropped" if is_overlay and os == "windows-2019" else "delivered")
