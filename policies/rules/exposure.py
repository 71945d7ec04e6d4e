"""What the internet may reach: no port of an administrator, and the API through its own load balancer only."""

from collections.abc import Collection, Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from policies.rules.rule import UNKNOWN, Properties, Resource, ResourceRule, StackRule, items, known

ADMIN_PORTS = {22: "SSH", 3389: "RDP", 5985: "WinRM", 5986: "WinRM over TLS"}
API_PORT = 6443
PUBLIC_API = "Kubernetes API for people"
"""Description of the one security group that ranges of the allow list may reach."""
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
OLD_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"

PRIVATE = tuple(
    ip_network(each)
    for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "fc00::/7")
)
"""RFC 1918, 6598, 1122, 4193: what nobody on the internet sends from."""


def _permissions(resource: Resource) -> list[Properties]:
    """Inbound permissions of a rule or a group."""
    if resource.type in (GROUP, DEFAULT_GROUP):
        return items(resource.properties, "ingress")
    return [resource.properties] if resource.properties.get("type", "ingress") != "egress" else []


def _public(permission: Properties) -> list[str]:
    """Ranges of a permission that public addresses are in; a prefix list is taken for one."""
    single = [permission.get("cidrIpv4"), permission.get("cidrIpv6")]
    many = [permission.get("cidrBlocks"), permission.get("ipv6CidrBlocks")]
    ranges = [*single, *(each for found in many if isinstance(found, list) for each in found)]
    lists = permission.get("prefixListIds") or permission.get("prefixListId")
    return [str(each) for each in ranges if known(each) and _is_public(str(each))] + (
        ["a prefix list"] if lists else []
    )


def _is_public(written: str) -> bool:
    try:
        network: IPv4Network | IPv6Network = ip_network(written, strict=False)
    except ValueError:  # the provider refuses it
        return False
    return not any(_within(network, private) for private in PRIVATE)


def _within(network: Any, other: Any) -> bool:
    return network.version == other.version and network.subnet_of(other)


def _opens(permission: Properties, port: int) -> bool:
    protocol = str(permission.get("ipProtocol", permission.get("protocol", "")))
    if protocol in ("-1", "all"):
        return True
    first, last = permission.get("fromPort"), permission.get("toPort")
    if protocol not in ("tcp", "6") or UNKNOWN in (first, last) or first is None or last is None:
        return False
    return int(first) <= port <= int(last)


def _admin(resource: Resource) -> Iterator[str]:
    for permission in _permissions(resource):
        for source in _public(permission):
            for port, use in ADMIN_PORTS.items():
                if _opens(permission, port):
                    yield f"{source} may reach port {port} ({use}); use `access: session`, which opens no port"


def _api(resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
    groups = {each.urn for each in resources if each.type == GROUP and each.properties.get("description") == PUBLIC_API}
    for each in resources:
        if (
            each.type not in TYPES
            or each.urn in groups
            or groups & each.inputs_from.get("securityGroupId", frozenset())
        ):
            continue
        for permission in _permissions(each):
            for source in _public(permission) if _opens(permission, API_PORT) else []:
                yield each, f"{source} may reach port {API_PORT} past the load balancer of the API; use `api.allow`"


TYPES = frozenset({INGRESS, OLD_RULE, GROUP, DEFAULT_GROUP})
RULES = (
    ResourceRule("admin-ports-closed", "No port of an administrator is open to public addresses.", TYPES, _admin),
    StackRule("api-by-allow-list", "The API is public through its own load balancer and allow list only.", _api),
)
