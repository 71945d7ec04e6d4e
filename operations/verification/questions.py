"""What is asked, from where, and what the right answer is: the rows of the smoke test (SMK), as data."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LARGE = 262144
"""Bytes of /large: more than any window, so that a lost large packet shows."""
METADATA = "169.254.169.254"
KUBELET_PORT = 10250
OLD_BUILD = "10.0.17763"
"""Windows Server 2019, where a node reaches no Service and not its own node ports (SMK-11)."""
DNS_PORT, UDP_PORT = 53, 8053
"""Of name servers, and where the test's Windows servers answer as such."""
PORTS = {"linux": 8080, "windows": 80}
"""Where the test's servers listen in their pods."""


@dataclass(frozen=True)
class Node:
    """A node of the cluster. build: of Windows."""

    name: str
    os: str
    address: str
    ready: bool
    control_plane: bool
    build: str = ""
    runtime: str = ""


@dataclass(frozen=True)
class Server:
    """A pod of the test that serves."""

    name: str
    os: str
    node: str
    address: str


@dataclass(frozen=True)
class Service:
    """The Service before the servers of one system."""

    name: str
    os: str
    address: str
    node_port: int


@dataclass(frozen=True)
class Place:
    """Where questions are asked: in a pod, or on the node itself."""

    node: Node
    host: bool

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.node.os} {'node' if self.host else 'pod on'} {self.node.name}"


@dataclass(frozen=True)
class Question:
    """One question. words: kind and target, as probe.sh and probe.ps1 read them.

    column: of the matrix. opens: the right answer. limit: why another answer is no failure. title: for people, where
    the words say too little.
    """

    check: str
    column: str
    words: str
    opens: bool = True
    limit: str = ""
    title: str = ""


@dataclass(frozen=True)
class Scene:
    """What there is to ask about.

    outside: name:port and address:port beyond the cluster. resolvers: addresses that answer for names, over UDP.
    """

    namespace: str
    nodes: tuple[Node, ...]
    servers: tuple[Server, ...]
    services: tuple[Service, ...]
    outside: tuple[str, ...]
    resolvers: tuple[str, ...] = ()
    domain: str = "cluster.local"


def in_pod(place: Place, scene: Scene) -> Iterator[Question]:
    """What a pod is asked about its network."""
    for each in scene.servers:
        yield Question("SMK-05", "pod", f"ping {each.address}")
        yield Question("SMK-05", "pod", f"http http://{each.address}:{PORTS[each.os]}/hello")
        if each.os == "windows":
            yield Question("SMK-10", "pod", f"udp {each.address} {UDP_PORT}")
        if each.node != place.node.name:
            yield Question("packet-size", "pod", f"size http://{each.address}:{PORTS[each.os]}/large {LARGE}")
    for each in scene.services:
        yield Question("SMK-06", "service", f"http http://{each.address}/hello")
        yield Question("SMK-07", "DNS", f"name {each.name}.{scene.namespace}.svc.{scene.domain}")
        yield Question("SMK-07", "DNS", f"http http://{each.name}.{scene.namespace}.svc.{scene.domain}/hello")
        yield Question("SMK-10", "service", f"http http://{each.name}/hello")
    for each in scene.resolvers:
        yield Question("SMK-10", "DNS", f"udp {each} {DNS_PORT}")
    yield Question("SMK-10", "node", f"open {place.node.address} {KUBELET_PORT}")
    for each in scene.outside:
        yield Question("SMK-09", "internet", f"open {each.replace(':', ' ')}")
    yield Question("metadata", "metadata", f"open {METADATA} 80 once", opens=False)


def on_node(place: Place, scene: Scene) -> Iterator[Question]:
    """What a node is asked, by a pod that is as good as it."""
    windows = place.node.os == "windows"
    old = "Windows Server 2019 reaches neither from a node itself" if place.node.build.startswith(OLD_BUILD) else ""
    for each in scene.servers:
        if each.node == place.node.name:
            yield Question("SMK-03", "", f"containers {each.name}", title=f"sandbox and container of {each.name}")
        if not windows or each.node == place.node.name:  # FLN-06: with VXLAN a Windows host reaches only its own
            yield Question("SMK-04", "node-to-pod", f"http http://{each.address}:{PORTS[each.os]}/hello")
    for each in scene.services:
        check = "SMK-11" if windows else "SMK-06"
        yield Question(check, "service", f"http http://{each.address}/hello", limit=old)
        for node in scene.nodes:
            local = windows and node.name == place.node.name
            if place.node.control_plane or local:
                target = f"http http://{node.address}:{each.node_port}/hello"
                yield Question("SMK-11" if local else "SMK-08", "NodePort", target, limit=old if local else "")
    yield Question("metadata", "metadata", f"open {METADATA} 80")


def chosen(nodes: Iterable[Node], each: int = 2) -> tuple[Node, ...]:
    """The nodes that take part: ready ones, one of the control plane, and so many of each kind of worker."""
    ready = [one for one in nodes if one.ready]
    kinds: dict[tuple[bool, str, str], list[Node]] = {}
    for one in ready:
        kinds.setdefault((one.control_plane, one.os, one.build), []).append(one)
    return tuple(one for key, found in sorted(kinds.items()) for one in found[: 1 if key[0] else each])


def places(nodes: Iterable[Node]) -> tuple[Place, ...]:
    """Where questions are asked. The node itself is a place only where a pod can be as good as it: not on Docker."""
    found: list[Place] = []
    for node in nodes:
        found.append(Place(node, host=False))
        if node.os == "linux" or node.runtime.startswith("containerd"):
            found.append(Place(node, host=True))
    return tuple(found)
