"""Path of a packet by the state of HNS: forwarded, translated or dropped, as the virtual switch would decide.

Order at a pod's port, outwards: access lists, load balancers, translation of the source (OutBoundNAT), routes. A packet
to an exception of OutBoundNAT keeps its source. docs/windows-network.md has the sources.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from lab.hns import endpoints, load_balancers, networks
from lab.hns.service import Object, Service, policies


@dataclass(frozen=True)
class Packet:
    """A packet with the addresses that its next hop sees; protocol 6 is TCP, 17 UDP."""

    source: str
    destination: str
    port: int = 80
    protocol: int = 6


@dataclass(frozen=True)
class Outcome:
    """End of a packet: `delivered` to a pod or node, `left` for the network outside the cluster, or `dropped`."""

    verdict: str
    place: str
    """Name of the pod's endpoint or of the node; `outside`; or the reason of a drop."""
    packet: Packet
    """The packet as it arrives there."""


@dataclass(frozen=True)
class LinuxNode:
    """A node that accepts packets to its pods: over VXLAN if it has a router, else by the cloud's routes."""

    name: str
    address: str
    pods: str
    vsid: int = 4096
    router: str = ""
    """MAC of flannel's VXLAN device."""


@dataclass(frozen=True)
class WindowsNode:
    """A machine with the lab's HNS, and the name of its pod network."""

    name: str
    address: str
    service: Service
    network: str
    routes: Collection[str] = ()
    """Ranges that the machine routes through its management adapter."""

    @property
    def pod_network(self) -> Object:
        """Return the pod network. Raises HnsError if HNS has none of the name."""
        return self.service.named("Network", self.network)

    def local(self, address: str) -> Object | None:
        """Return the local endpoint with the address, attached or not."""
        own = self.service.endpoints(self.pod_network["ID"])
        return next(
            (each for each in own if not endpoints.is_remote(each) and endpoints.address(each) == address), None
        )


@dataclass(frozen=True)
class Fabric:
    """The nodes of a cluster. With l2bridge the cloud routes each node's pod range to it."""

    windows: Sequence[WindowsNode]
    linux: Sequence[LinuxNode] = field(default_factory=tuple[LinuxNode, ...])

    def from_pod(self, node: WindowsNode, pod: Mapping[str, Any], packet: Packet) -> list[Outcome]:
        """Return the outcome of a packet that a pod sends; one for each endpoint if it is for a load balancer."""
        if rule := _blocking(pod, "Out", packet.destination, packet):
            return [_dropped(f"access list {rule}", packet)]
        for balancer in node.service.all("LoadBalancer"):
            for port in balancer["PortMappings"]:
                frontend = (packet.protocol, packet.port) == (port.get("Protocol"), port.get("ExternalPort"))
                if frontend and packet.destination in (balancer.get("FrontendVIPs") or ()):
                    return list(self._balanced(node, pod, packet, balancer, int(port["InternalPort"])))
        return [self._forwarded(node, pod, packet)]

    def from_node(self, node: WindowsNode, packet: Packet) -> Outcome:
        """Return the outcome of a packet that a Windows node sends to one of its own pods."""
        pod, network = node.local(packet.destination), node.pod_network
        if pod is None:
            return _dropped(f"{node.name} has no endpoint {packet.destination}", packet)
        if network["Type"] == "Overlay":
            # the host is not on the overlay; HostRoute gives it a route to local pods
            ways = bool(policies(network, "HostRoute"))
        else:
            own = node.service.endpoints(network["ID"])
            ways = any(endpoints.HOST in endpoints.holders(node.service, each) for each in own)
        return _arrived(node, pod, packet) if ways else _dropped(f"{node.name} has no way to its pods", packet)

    def answered(self, node: WindowsNode, request: Packet, sent: Packet) -> Outcome:
        """Return the outcome of the answer to a pod's packet to a Service, whose pod on another node got `sent`.

        Without direct server return the answer comes to the node itself on a bridge. There it gets the Service's
        address as its source, and the machine's routes lead it on.
        """
        answer = Packet(request.destination, request.source, request.port, request.protocol)
        pod = node.local(request.source)
        if pod is None:
            return _dropped(f"{node.name} has no endpoint {request.source}", answer)
        pods = IPv4Address(request.source)
        if sent.source == node.address and not any(pods in IPv4Network(each) for each in node.routes):
            return _dropped(f"{node.name} sends the answer out with a Service's address as its source", answer)
        return Outcome("delivered", pod["Name"], answer)

    def over_vxlan(self, packet: Packet, vsid: int, provider: str, router: str) -> Outcome:
        """Return the outcome of an encapsulated packet that arrives at the provider address."""
        for node in self.linux:
            if node.address == provider:
                same = (vsid, _mac(router)) == (node.vsid, _mac(node.router))
                inside = IPv4Address(packet.destination) in IPv4Network(node.pods)
                return Outcome("delivered", node.name, packet) if same and inside else _dropped(node.name, packet)
        for node in self.windows:
            if node.address == provider:
                network = node.pod_network
                own = policies(network, "DrMacAddress")[0]["Address"]
                if (vsid, _mac(router)) != (networks.vsid(network), _mac(own)):
                    return _dropped(f"{node.name} has another VSID or router", packet)
                pod = node.local(packet.destination)
                return _arrived(node, pod, packet) if pod else _dropped(f"{node.name}: no endpoint", packet)
        return _dropped(f"no node has the address {provider}", packet)

    def _balanced(
        self, node: WindowsNode, pod: Mapping[str, Any], packet: Packet, balancer: Mapping[str, Any], port: int
    ) -> Iterator[Outcome]:
        """Yield the outcome for each endpoint of a load balancer."""
        if not _encapsulated(pod, packet.destination):
            yield _dropped("no SDNRoute covers the Service", packet)
            return
        if _translated(pod, packet.destination):
            yield _dropped("OutBoundNAT takes the packet to the Service out of the node", packet)
            return
        for endpoint in balancer["HostComputeEndpoints"]:
            behind = node.service.get("Endpoint", endpoint)
            backend = endpoints.address(behind)
            told = next((each["ProviderAddress"] for each in policies(behind, "ProviderAddress")), "")
            sent = replace(packet, destination=backend, port=port)
            if balancer.get("Flags", 0) & load_balancers.DSR:
                if backend == packet.source:  # a pod behind its own Service: it needs another source, or answers itself
                    loops = any(backend in (each.get("Destinations") or ()) for each in policies(pod, "OutBoundNAT"))
                    network = node.pod_network
                    sent = replace(sent, source=networks.management_address(network)) if loops else sent
                    yield _arrived(node, pod, sent) if loops else _dropped("DSR to the pod itself", sent)
                    continue
            else:
                source = balancer.get("SourceVIP") or networks.management_address(node.pod_network)
                if balancer.get("SourceVIP") and source != node.address and node.local(source) is None:
                    yield _dropped(f"answers to {source} are lost: HNS has no such local endpoint", sent)
                    continue
                sent = replace(sent, source=source)
            yield self._forwarded(node, pod, sent, told)

    def _forwarded(self, node: WindowsNode, pod: Mapping[str, Any], packet: Packet, told: str = "") -> Outcome:
        """Return the outcome after load balancing: to a local endpoint, another node, the node itself, or outside.

        told: provider address of the load balancer's remote endpoint; HNS requires one for each.
        """
        there = node.local(packet.destination)
        if there is not None:
            return _arrived(node, there, packet)
        destination, network = IPv4Address(packet.destination), node.pod_network
        if any(destination in subnet for subnet, _ in networks.subnets(network)):
            return _dropped(f"{node.name} has no endpoint {destination}", packet)
        if network["Type"] == "Overlay":
            return self._over_overlay(node, pod, packet, told)
        return self._over_bridge(node, pod, packet)

    def _over_overlay(self, node: WindowsNode, pod: Mapping[str, Any], packet: Packet, told: str) -> Outcome:
        network, destination = node.pod_network, IPv4Address(packet.destination)
        for route in policies(network, "RemoteSubnetRoute"):
            if destination in IPv4Network(route["DestinationPrefix"]):
                provider = [each["ProviderAddress"] for each in policies(pod, "ProviderAddress")]
                if provider != [networks.management_address(network)]:
                    return _dropped(f"ProviderAddress of the pod is {provider}", packet)
                there = told or route["ProviderAddress"]
                return self.over_vxlan(packet, route["IsolationId"], there, route["DistributedRouterMacAddress"])
        if not _translated(pod, packet.destination):
            return _dropped("an exception of OutBoundNAT without a route", packet)
        if packet.destination == node.address:
            if not policies(network, "HostRoute"):
                return _dropped(f"{node.name} has no way to its pods", packet)
            return Outcome("delivered", node.name, packet)
        return self._outside(replace(packet, source=node.address))

    def _over_bridge(self, node: WindowsNode, pod: Mapping[str, Any], packet: Packet) -> Outcome:
        if packet.destination == node.address:
            own = node.service.endpoints(node.pod_network["ID"])
            bridged = any(endpoints.HOST in endpoints.holders(node.service, each) for each in own)
            if not bridged or not _encapsulated(pod, packet.destination):
                return _dropped("no SDNRoute to the node, or no endpoint of the host", packet)
            if _translated(pod, packet.destination):
                return _dropped("the node's own address is translated to itself", packet)
            return Outcome("delivered", node.name, packet)
        if _translated(pod, packet.destination):
            return self._outside(replace(packet, source=node.address))
        return self._outside(packet)

    def _outside(self, packet: Packet) -> Outcome:
        """Return the outcome of a packet on the nodes' network: the cloud routes nodes and pod ranges."""
        destination = IPv4Address(packet.destination)
        for node in self.linux:
            routed = not node.router and destination in IPv4Network(node.pods)
            if routed or packet.destination == node.address:
                return Outcome("delivered", node.name, packet)
        for node in self.windows:
            if packet.destination == node.address:
                return Outcome("delivered", node.name, packet)
            pod = node.local(packet.destination)
            if pod is not None and node.pod_network["Type"] != "Overlay":
                return _arrived(node, pod, packet)
        return Outcome("left", "outside", packet)


def _arrived(node: WindowsNode, pod: Mapping[str, Any], packet: Packet) -> Outcome:
    """Return the outcome at a local endpoint: it must be attached, and its access lists must allow the source."""
    if rule := _blocking(pod, "In", packet.source, packet):
        return _dropped(f"access list {rule}", packet)
    if not endpoints.holders(node.service, pod):
        return _dropped(f"{pod['Name']} is in no namespace or container", packet)
    return Outcome("delivered", pod["Name"], packet)


def _dropped(why: str, packet: Packet) -> Outcome:
    return Outcome("dropped", why, packet)


def _blocking(pod: Mapping[str, Any], direction: str, peer: str, packet: Packet) -> str:
    """Return the access list that decides against the packet, as text; nothing if it passes.

    An endpoint with access lists drops packets that no rule allows, in the switch and in the host's firewall
    (components/node/cni.py).
    """
    lists = policies(pod, "ACL")
    for layer in ("Switch", "Host") if lists else ():
        rules = [each for each in lists if (each["Direction"], each.get("RuleType", "Switch")) == (direction, layer)]
        rules.sort(key=lambda each: each.get("Priority", 0))
        first = next((each for each in rules if _matches(each, direction, peer, packet)), None)
        if first is None or first["Action"] == "Block":
            return f"{layer} {direction}: {dict(first) if first else 'none allows it'}"
    return ""


ANY_PROTOCOL = "256"


def _matches(rule: Mapping[str, Any], direction: str, peer: str, packet: Packet) -> bool:
    ports = rule.get("RemotePorts" if direction == "Out" else "LocalPorts") or ""
    addresses, protocols = rule.get("RemoteAddresses") or "", rule.get("Protocols") or ANY_PROTOCOL
    return (
        bool({ANY_PROTOCOL, str(packet.protocol)} & set(protocols.split(",")))
        and (not ports or str(packet.port) in ports.split(","))
        and (not addresses or any(IPv4Address(peer) in IPv4Network(each) for each in addresses.split(",")))
    )


def _translated(pod: Mapping[str, Any], destination: str) -> bool:
    """Return whether OutBoundNAT replaces the source. Several policies make one list of exceptions."""
    lists = [each for each in policies(pod, "OutBoundNAT") if not each.get("Destinations")]
    exceptions = [prefix for each in lists for prefix in each.get("Exceptions") or ()]
    return bool(lists) and not any(IPv4Address(destination) in IPv4Network(each) for each in exceptions)


def _encapsulated(pod: Mapping[str, Any], destination: str) -> bool:
    routes = [each["DestinationPrefix"] for each in policies(pod, "SDNRoute") if each.get("NeedEncap")]
    return any(IPv4Address(destination) in IPv4Network(each) for each in routes)


def _mac(text: str) -> str:
    return text.replace(":", "-").upper()
