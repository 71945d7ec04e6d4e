"""Whether a node that says it is done is as it must be, whatever happened to it before."""

import json
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

from tests.windows_plans.server import Node

NETWORK = "flannel.4096"
CNI = r"C:\k\cni\config"
LEASES = rf"C:\var\lib\cni\networks\{NETWORK}"
SUBNET_FILE = r"C:\run\flannel\subnet.env"
PROXY = r"C:\k\kube-proxy.json"
METADATA = "169.254.169.254/32"


def problems(here: Node) -> Iterator[str]:
    """What does not fit together on a node with overlay that is on."""
    found = here.node_network.api.nodes.get(here.name)
    if found is None:
        yield "there is no Node object"
        return
    pods = ip_network(found["spec"]["podCIDR"])
    ready = [each["status"] for each in found.get("status", {}).get("conditions", []) if each["type"] == "Ready"]
    if ready != ["True"]:
        yield f"Ready is {ready}"
    networks = [(each["Name"], each["Subnets"][0]["AddressPrefix"]) for each in here.book("networks").values()]
    if networks != [(NETWORK, str(pods))]:
        yield f"HNS has {networks}, the Node object {pods}"
    if here.book("policylists"):
        yield "load balancers of before are left"
    leases = {file.name: file.read_text().split()[0] for file in here.machine.path(LEASES).glob("*.*.*.*")}
    vip = vip_of(here)
    if leases != {vip: "kube-proxy"} or ip_address(vip) not in pods:
        yield f"kube-proxy has {vip} of {pods}, host-local holds {leases}"
    subnet = here.machine.path(SUBNET_FILE).read_text()
    if f"FLANNEL_SUBNET={pods[1]}/{pods.prefixlen}" not in subnet or "FLANNEL_NETWORK=10.244.0.0/16" not in subnet:
        yield f"subnet.env has {subnet}"
    route = here.book("routes").get(METADATA)
    if not route or route["InterfaceIndex"] != 7:
        yield f"the metadata route is {route}"
    files = sorted(file.name for file in here.machine.path(CNI).iterdir())
    if files != ["10-flannel.conflist"]:
        yield f"CNI files are {files}"


def vip_of(here: Node) -> str:
    """kube-proxy's source VIP."""
    config: dict[str, Any] = json.loads(here.machine.path(PROXY).read_text())
    return config["winkernel"]["sourceVip"]
