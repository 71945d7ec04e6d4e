"""CNI configurations for Linux, and for Windows in two forms.

The two forms are HNS v1, which dockershim and cri-dockerd use, and HCN (apiVersion 2), which containerd uses
(containernetworking/plugins pkg/hns/netconf_windows.go).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from components import releases
from components.clouds import ClosedAddress
from components.node.kinds import ref
from components.node.role import Role
from components.spec.models import Network, NetworkMode, Runtime
from components.topology.addressing import network_plan
from components.topology.private_endpoints import guarded_endpoints

L2BRIDGE = "cbr0"
"""Name of the HNS network on every node with l2bridge (FLN-04)."""
L2BRIDGE_ENDPOINT = "cbr0_ep"
"""Name of the host's endpoint in it."""


def name(network: Network) -> str:
    """Return the one name of the network in HNS, CNI files, source VIP and kube-proxy (FLN-04).

    With overlay it is flannel's default.
    """
    return f"flannel.{network.vni}" if network.mode is NetworkMode.OVERLAY else L2BRIDGE


def linux(network: Network) -> dict[str, Any]:
    """Return flannel's CNI configuration on Linux (FLN-03)."""
    flannel = {"type": "flannel", "delegate": {"hairpinMode": True, "isDefaultGateway": True}}
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"name": name(network), "cniVersion": "1.0.0", "plugins": [flannel, portmap]}


def linux_bridge(network: Network) -> dict[str, Any]:
    """Return the CNI configuration on Linux with l2bridge: a bridge with the node's planned pod range.

    The cloud routes pods, so no agent and no container image is needed. The plug-in's ipMasq stays off: it excludes
    only the node's own range from translation, and pods on other nodes must see the pod's address
    (components/node/network.py masquerades).
    """
    ipam = {"type": "host-local", "ranges": [[{"subnet": ref("machine.pod_cidr")}]]}
    bridge = {"type": "bridge", "bridge": "cni0", "isDefaultGateway": True, "hairpinMode": True, "ipam": ipam}
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"name": name(network), "cniVersion": "1.0.0", "plugins": [bridge, portmap]}


def windows(role: Role) -> dict[str, Any]:
    """Return the CNI configuration on Windows: flannel and win-overlay, or win-bridge with the planned pod range.

    Requirements NET-09 and NET-10.
    """
    network, form = role.spec.network, _FORMS[role.runtime]
    overlay = network.mode is NetworkMode.OVERLAY
    inside = [str(each) for each in (network.pods, network.services, *([] if overlay else _routed(role)))]
    closed = role.spec.cloud.facts.closed_to_pods
    lists = [form.access_list(settings, protocol) for settings, protocol in _access_lists(closed)]
    policies = [*form.policies(inside, str(network.services), overlay), *lists]
    plugin: dict[str, Any] = {
        "type": "win-overlay" if overlay else "win-bridge",
        **form.version,
        # with direct server return a pod would else be cut off from its own Services (kubernetes-sigs/
        # sig-windows-tools#119, projectcalico/calico#5522)
        "loopbackDSR": True,
        "policies": [{"name": "EndpointPolicy", "value": each} for each in policies],
    }
    capabilities = {"capabilities": {"portMappings": True, "dns": True}}
    if overlay:
        plugin = {"type": "flannel", **capabilities, "delegate": plugin}
    else:
        # without rangeStart host-local would give a pod the second address, which is the host's endpoint
        pods = {"subnet": ref("machine.pod_cidr"), "rangeStart": ref("machine.pod_start")}
        ipam = {"type": "host-local", "ranges": [[pods]]}
        plugin = {**plugin, **capabilities, "ipam": ipam}
    version = releases.CNI_VERSIONS[role.runtime.value]
    return {"name": name(network), "cniVersion": version, "plugins": [plugin]}


def _routed(role: Role) -> list[IPv4Network]:
    """Return what l2bridge does not translate besides pods and Services: the cloud's network (NET-10).

    Subnets of private endpoints are translated: on Azure they have no route to pods, and no page of Private Link says
    that endpoints answer addresses outside of the network, which only a route of the user carries.
    """
    spec = role.spec
    if not guarded_endpoints(spec):
        return [spec.network.nodes]
    return [each.cidr for each in network_plan(spec.network, spec.api.access, spec.cloud).machines]


@dataclass(frozen=True)
class _Form:
    """Version and policies in the form of one of the two APIs."""

    version: dict[str, Any]
    policies: Callable[[list[str], str, bool], list[dict[str, Any]]]
    access_list: Callable[[dict[str, Any], int], dict[str, Any]]


_HOST: Any = ref("node.address_range")
"""l2bridge: pods reach their own host through its bridge endpoint (win-bridge's sample configuration)."""


def _hns(inside: list[str], services: str, overlay: bool) -> list[dict[str, Any]]:
    # win-overlay adds the provider address itself
    routes = [services, *([] if overlay else [_HOST])]
    return [
        {"Type": "OutBoundNAT", "ExceptionList": inside},
        *({"Type": "ROUTE", "DestinationPrefix": each, "NeedEncap": True} for each in routes),
    ]


def _hcn(inside: list[str], services: str, overlay: bool) -> list[dict[str, Any]]:
    provider = {"Type": "ProviderAddress", "Settings": {"ProviderAddress": ref("node.address")}}
    routes = [services, *([] if overlay else [_HOST])]
    return [
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": inside}},
        *({"Type": "SDNRoute", "Settings": {"DestinationPrefix": each, "NeedEncap": True}} for each in routes),
        *([provider] if overlay else []),
    ]


_ANY_PROTOCOL = 256
"""HNS' number for any protocol. HNS wants it in each list (felix/dataplane/windows/policysets of Calico writes it)."""


def _hns_access_list(settings: dict[str, Any], protocol: int) -> dict[str, Any]:
    # hcsshim internal/hns/hnspolicy.go ACLPolicy: the settings are siblings of Type, the protocol is a number
    return {"Type": "ACL", **settings, "Protocol": protocol}


def _hcn_access_list(settings: dict[str, Any], protocol: int) -> dict[str, Any]:
    # hcsshim hcn/hcnpolicy.go AclPolicySetting: the protocol is text
    return {"Type": "ACL", "Settings": {**settings, "Protocols": str(protocol)}}


_FORMS: dict[Runtime, _Form] = {
    Runtime.DOCKER: _Form({}, _hns, _hns_access_list),
    Runtime.CONTAINERD: _Form({"apiVersion": 2}, _hcn, _hcn_access_list),
}


def _access_lists(closed: tuple[ClosedAddress, ...]) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield access lists without their protocol, and the protocol's number.

    Switch rules act in the virtual switch, where no pod can change them; the lowest priority number wins. One list on
    an endpoint makes HNS drop what no list allows, in the switch and in the host's firewall. So two switch rules allow
    all other traffic, and two host rules allow it in the firewall, as Calico does (felix/dataplane/windows
    endpoint_mgr.go, NewHostRule). Host rules have no priority from HNS 7.2 on, which is older than Windows Server 2019.
    """
    for index, endpoint in enumerate(closed):
        block = {"Direction": "Out", "RemoteAddresses": f"{endpoint.address}/32", "Action": "Block"}
        ports = {"RemotePorts": ",".join(map(str, endpoint.tcp_ports))} if endpoint.tcp_ports else {}
        yield {**block, **ports, "Priority": 200 + index, "RuleType": "Switch"}, 6 if ports else _ANY_PROTOCOL
    for direction in ("In", "Out"):
        allow = {"Direction": direction, "Action": "Allow"}
        yield {**allow, "Priority": 65500, "RuleType": "Switch"}, _ANY_PROTOCOL
        yield {**allow, "RuleType": "Host"}, _ANY_PROTOCOL
