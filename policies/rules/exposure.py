"""Exposure to the internet: no administrators' port, and the API only through its allow list."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from components.clouds import CLOUDS
from components.naming import CONTROL_PLANE
from policies.rules.rule import UNKNOWN, Resource, ResourceRule, StackRule, items, known

_NO_PORT = "write `access: session`, which opens no port to the internet"
_INSIDE = "only the cluster's own machines need it"
ADMIN_PORTS = {
    22: ("SSH", _NO_PORT),
    2379: ("etcd", _INSIDE),
    2380: ("etcd", _INSIDE),
    3389: ("RDP", _NO_PORT),
    5985: ("WinRM", _NO_PORT),
    5986: ("WinRM over TLS", _NO_PORT),
    10250: ("kubelet", _INSIDE),
}
"""Ports that no rule opens to the internet: their use, and what to do instead."""
API_PORT = 6443
PUBLIC_API = "Kubernetes API for people"
"""Description of AWS's only security group that ranges of the allow list can reach."""
FROM_OUTSIDE = ("people, from the allow list", "health probes of the load balancers")
"""Descriptions of the rules for the same ranges with passthrough load balancers (components/topology/firewall.py)."""
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
OLD_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
FIREWALL = "gcp:compute/firewall:Firewall"
AZURE_GROUP, AZURE_RULE = "azure-native:network:NetworkSecurityGroup", "azure-native:network:SecurityRule"
ALL_PORTS, ANYONE = (0, 65535), ("*", "internet", "any")

OWN_TAGS = frozenset({"virtualnetwork", "azureloadbalancer"})
"""Azure's service tags without addresses of strangers ("Virtual network service tags")."""

PRIVATE = tuple(
    ip_network(block)
    for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "fc00::/7")
)
"""Ranges without public addresses: RFC 1918, 6598, 1122, 4193."""


SESSION_SOURCES = frozenset(str(each) for each in CLOUDS["gcp"].session_sources)
"""Addresses from which only Google's IAP connects, after it has asked IAM ("Using IAP for TCP forwarding")."""


@dataclass(frozen=True)
class Opening:
    """Packets that a rule lets in: sources, protocol (tcp, udp, all, or a number), ports, and the rule's
    description.
    """

    sources: list[Any]
    protocol: str
    ports: list[tuple[int, int]]
    why: Any = ""

    def public(self) -> list[str]:
        """Return the sources that contain public addresses."""
        return [str(each) for each in self.sources if known(each) and _is_public(str(each))]

    def lets_in(self, port: int) -> bool:
        """Return whether it lets in TCP to this port."""
        if self.protocol in ("-1", "all", "*"):
            return True
        return self.protocol in ("tcp", "6") and any(first <= port <= last for first, last in self.ports)


def _is_public(written: str) -> bool:
    if written == LIST or written.lower() in ANYONE:
        return True
    try:
        network: IPv4Network | IPv6Network = ip_network(written, strict=False)
    except ValueError:  # a service tag of Azure: most, such as AzureCloud, hold machines of all customers
        return written.lower() not in OWN_TAGS
    return not any(_within(network, private) for private in PRIVATE)


def _within(network: Any, other: Any) -> bool:
    return network.version == other.version and network.subnet_of(other)


LIST = "a prefix list"
"""Stands for a prefix list of AWS, which the rules take for public."""


def _of_aws(resource: Resource) -> Iterator[Opening]:
    inline = resource.type in (GROUP, DEFAULT_GROUP)
    for rule in items(resource.properties, "ingress") if inline else [resource.properties]:
        if rule.get("type", "ingress") == "egress":
            continue
        many = (rule.get("cidrBlocks"), rule.get("ipv6CidrBlocks"))
        ranges = [rule.get("cidrIpv4"), rule.get("cidrIpv6"), *(one for found in many for one in _list(found))]
        lists = [LIST] if rule.get("prefixListIds") or rule.get("prefixListId") else []
        protocol, ports = (
            str(rule.get("ipProtocol", rule.get("protocol", ""))),
            (rule.get("fromPort"), rule.get("toPort")),
        )
        # the engine passes numbers as 22.0
        span = [] if None in ports or UNKNOWN in ports else [(int(float(str(ports[0]))), int(float(str(ports[1]))))]
        yield Opening([*ranges, *lists], protocol, span)


def _of_gcp(resource: Resource) -> Iterator[Opening]:
    properties = resource.properties
    if properties.get("direction") == "EGRESS":
        return
    named = [properties.get(each) for each in ("sourceServiceAccounts", "sourceTags")]
    # a rule without a source applies to all (VPC, "Firewall rules": sources)
    sources = _list(properties.get("sourceRanges")) or ([] if any(named) else ["0.0.0.0/0"])
    sources = [source for source in sources if source not in SESSION_SOURCES]
    for allowed in items(properties, "allows"):
        yield Opening(
            sources, str(allowed.get("protocol")).lower(), _spans(allowed.get("ports")), properties.get("description")
        )


def _of_azure(resource: Resource) -> Iterator[Opening]:
    rules = items(resource.properties, "securityRules") if resource.type == AZURE_GROUP else [resource.properties]
    for rule in rules:
        if (rule.get("access"), rule.get("direction")) == ("Allow", "Inbound"):
            sources = [rule.get("sourceAddressPrefix"), *_list(rule.get("sourceAddressPrefixes"))]
            ports = [rule.get("destinationPortRange"), *_list(rule.get("destinationPortRanges"))]
            spans = _spans([one for one in ports if known(one)])
            yield Opening(sources, str(rule.get("protocol")).lower(), spans, rule.get("description"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _spans(ports: Any) -> list[tuple[int, int]]:
    """Return ranges of ports that a rule lists as `22`, `30000-32767` or `*`; all ports if it lists none."""
    if not _list(ports):
        return [] if ports is UNKNOWN else [ALL_PORTS]
    parted = [str(each).partition("-") for each in ports if known(each)]
    return [ALL_PORTS if first == "*" else (int(first), int(last or first)) for first, _, last in parted]


OPENINGS: Mapping[str, Callable[[Resource], Iterator[Opening]]] = {
    **dict.fromkeys((INGRESS, OLD_RULE, GROUP, DEFAULT_GROUP), _of_aws),
    FIREWALL: _of_gcp,
    **dict.fromkeys((AZURE_GROUP, AZURE_RULE), _of_azure),
}
"""By type: function that returns what a rule or a group of rules lets in."""


def _admin(resource: Resource) -> Iterator[str]:
    for opening in OPENINGS[resource.type](resource):
        for source in opening.public():
            for port, (use, instead) in ADMIN_PORTS.items():
                if opening.lets_in(port):
                    yield f"{source} can reach port {port} ({use}); {instead}"


def _meant(resource: Resource, opening: Opening) -> bool:
    """Return whether a rule is one of those for people and probes, and applies to the control plane alone."""
    targets = {resource.urn}
    if resource.type == FIREWALL:
        targets = {str(each) for each in _list(resource.properties.get("targetTags"))}
    behind = bool(targets) and all(name.endswith(f"-{CONTROL_PLANE}") for name in targets)
    return opening.why in FROM_OUTSIDE and behind


def _api(resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
    groups = {each.urn for each in resources if each.type == GROUP and each.properties.get("description") == PUBLIC_API}
    for resource in resources:
        of_group = groups & {resource.urn, *resource.inputs_from.get("securityGroupId", frozenset[str]())}
        for opening in OPENINGS[resource.type](resource) if resource.type in OPENINGS and not of_group else ():
            for source in opening.public() if opening.lets_in(API_PORT) and not _meant(resource, opening) else []:
                yield (
                    resource,
                    f"{source} can reach port {API_PORT} past the API's load balancer; write the range in `api.allow`",
                )


TYPES = frozenset(OPENINGS)
RULES: tuple[ResourceRule | StackRule, ...] = (
    ResourceRule(
        "admin-ports-closed",
        "No port for administration (SSH, RDP, WinRM), of kubelets or of etcd is open to public addresses.",
        TYPES,
        _admin,
    ),
    StackRule("api-by-allow-list", "The API is public through its own load balancer and allow list only.", _api),
)
