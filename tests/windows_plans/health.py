"""Checks that a node with status ready is consistent, whatever happened before."""

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


def problems(worker: Node) -> Iterator[str]:
    """Yield the inconsistencies of a node with overlay that is on."""
    node = worker.node_network.api.nodes.get(worker.name)
    if node is None:
        yield "there is no Node object"
        return
    pods = ip_network(node["spec"]["podCIDR"])
    ready = [each["status"] for each in node.get("status", {}).get("conditions", []) if each["type"] == "Ready"]
    if ready != ["True"]:
        yield f"Ready is {ready}"
    own = [each for each in worker.listed("networks") if each["Type"] != "NAT"]
    networks = [(each["Name"], each["Subnets"][0]["AddressPrefix"]) for each in own]
    if networks != [(NETWORK, str(pods))]:
        yield f"HNS has {networks}, the Node object {pods}"
    if worker.listed("policylists"):
        yield "load balancers of an earlier range are left"
    leases = {file.name: file.read_text().split()[0] for file in worker.machine.path(LEASES).glob("*.*.*.*")}
    vip = vip_of(worker)
    if leases != {vip: "kube-proxy"} or ip_address(vip) not in pods:
        yield f"kube-proxy has {vip} of {pods}, host-local holds {leases}"
    subnet = worker.machine.path(SUBNET_FILE).read_text()
    if f"FLANNEL_SUBNET={pods[1]}/{pods.prefixlen}" not in subnet or "FLANNEL_NETWORK=10.244.0.0/16" not in subnet:
        yield f"subnet.env has {subnet}"
    route = worker.book("routes").get(METADATA)
    if not route or route["InterfaceIndex"] != 7:
        yield f"the metadata route is {route}"
    files = sorted(file.name for file in worker.machine.path(CNI).iterdir())
    if files != ["10-flannel.conflist"]:
        yield f"CNI files are {files}"


def vip_of(worker: Node) -> str:
    """Return kube-proxy's source VIP."""
    config: dict[str, Any] = json.loads(worker.machine.path(PROXY).read_text())
    return config["winkernel"]["sourceVip"]
