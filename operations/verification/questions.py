"""The smoke test (SMK) as data: questions, the place that asks them, and the right answers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from components.releases.systems import WINDOWS

LARGE = 262144
"""Bytes of /large: more than any TCP window, so lost large packets are noticed."""
METADATA = "169.254.169.254"
KUBELET_PORT = 10250
OLD_BUILD = "10.0.17763"
"""Windows Server 2019: from the node itself, Services and its own node ports cannot be reached (SMK-11)."""
DNS_PORT, UDP_PORT = 53, 8053
"""Ports of name servers, and of the name server in the test's Windows pods."""
PORTS = {"linux": 8080, "windows": 80}
"""Ports of the web servers in their pods, by operating system."""


@dataclass(frozen=True)
class Node:
    """A node of the cluster. build: the Windows build, empty on Linux."""

    name: str
    os: str
    address: str
    ready: bool
    control_plane: bool
    build: str = ""
    runtime: str = ""


@dataclass(frozen=True)
class Server:
    """A pod with a web server of the test."""

    name: str
    os: str
    node: str
    address: str


@dataclass(frozen=True)
class Service:
    """The Service in front of the web servers of one operating system."""

    name: str
    os: str
    address: str
    node_port: int


@dataclass(frozen=True)
class Place:
    """A place that asks questions: a pod, or the node itself (host network)."""

    node: Node
    host: bool

    @property
    def name(self) -> str:
        """Name in the table, such as `linux pod on web-0`."""
        return f"{self.node.os} {'node' if self.host else 'pod on'} {self.node.name}"


@dataclass(frozen=True)
class Question:
    """One question. words: kind and target, as probe.sh and probe.ps1 read them.

    column: column of the matrix. opens: whether `ok` is the right answer. limit: why a wrong answer is a known limit
    and not a failure. title: replaces the words in the table.
    """

    check: str
    column: str
    words: str
    opens: bool = True
    limit: str = ""
    title: str = ""


@dataclass(frozen=True)
class Scene:
    """The targets of all questions.

    outside: name:port and address:port beyond the cluster. resolvers: addresses of the cluster's DNS. domain: its DNS
    domain.
    """

    namespace: str
    nodes: tuple[Node, ...]
    servers: tuple[Server, ...]
    services: tuple[Service, ...]
    outside: tuple[str, ...]
    resolvers: tuple[str, ...] = ()
    domain: str = "cluster.local"
    overlay: bool = True
    """Whether the pod network is an overlay (`network.mode`)."""


def unreached(node: Node, *, overlay: bool) -> str:
    """Return why the host cannot reach pods of its own node; empty if it can."""
    builds = {release.build for release in WINDOWS.values() if not release.overlay_host_route}
    why = "in mode overlay the host of Windows Server 2019 does not reach its own pods"
    return why if overlay and node.build in builds else ""


def in_pod(place: Place, scene: Scene) -> Iterator[Question]:
    """Yield the questions to a pod about its network."""
    for server in scene.servers:
        yield Question("SMK-05", "pod", f"ping {server.address}")
        yield Question("SMK-05", "pod", f"http http://{server.address}:{PORTS[server.os]}/hello")
        if server.os == "windows":
            yield Question("SMK-10", "pod", f"udp {server.address} {UDP_PORT}")
        if server.node != place.node.name:
            yield Question("packet-size", "pod", f"size http://{server.address}:{PORTS[server.os]}/large {LARGE}")
    for service in scene.services:
        full_name = f"{service.name}.{scene.namespace}.svc.{scene.domain}"
        yield Question("SMK-06", "service", f"http http://{service.address}/hello")
        yield Question("SMK-07", "DNS", f"name {full_name}")
        yield Question("SMK-07", "DNS", f"http http://{full_name}/hello")
        yield Question("SMK-10", "service", f"http http://{service.name}/hello")
    for resolver in scene.resolvers:
        yield Question("SMK-10", "DNS", f"udp {resolver} {DNS_PORT}")
    yield Question("SMK-10", "node", f"open {place.node.address} {KUBELET_PORT}")
    for target in scene.outside:
        yield Question("SMK-09", "internet", f"open {target.replace(':', ' ')}")
    yield Question("metadata", "metadata", f"open {METADATA} 80 once", opens=False)


def on_node(place: Place, scene: Scene) -> Iterator[Question]:
    """Yield the questions to a node itself, asked by a pod in its host network."""
    windows = place.node.os == "windows"
    old = (
        "Windows Server 2019 reaches no Service and no own node port from the node itself"
        if place.node.build.startswith(OLD_BUILD)
        else ""
    )
    for server in scene.servers:
        local = server.node == place.node.name
        if local:
            yield Question("SMK-03", "", f"containers {server.name}", title=f"sandbox and container of {server.name}")
        if not windows or local:  # FLN-06: with VXLAN a Windows host reaches only its own pods
            target = f"http http://{server.address}:{PORTS[server.os]}/hello"
            yield Question("SMK-04", "node-to-pod", target, limit=unreached(place.node, overlay=scene.overlay))
    for service in scene.services:
        check = "SMK-11" if windows else "SMK-06"
        yield Question(check, "service", f"http http://{service.address}/hello", limit=old)
        for node in scene.nodes:
            local = windows and node.name == place.node.name
            if place.node.control_plane or local:
                target = f"http http://{node.address}:{service.node_port}/hello"
                yield Question("SMK-11" if local else "SMK-08", "NodePort", target, limit=old if local else "")
    yield Question("metadata", "metadata", f"open {METADATA} 80")


def chosen(nodes: Iterable[Node], per_kind: int = 2) -> tuple[Node, ...]:
    """Return the Ready nodes to test: one of the control plane, and `per_kind` of each operating system and build."""
    kinds: dict[tuple[bool, str, str], list[Node]] = {}
    for node in nodes:
        if node.ready:
            kinds.setdefault((node.control_plane, node.os, node.build), []).append(node)
    return tuple(node for key, same in sorted(kinds.items()) for node in same[: 1 if key[0] else per_kind])


def places(nodes: Iterable[Node]) -> tuple[Place, ...]:
    """Return the places of these nodes: a pod, and the node itself unless it runs Windows on Docker.

    Docker has no HostProcess containers.
    """
    result: list[Place] = []
    for node in nodes:
        result.append(Place(node, host=False))
        if node.os == "linux" or node.runtime.startswith("containerd"):
            result.append(Place(node, host=True))
    return tuple(result)
