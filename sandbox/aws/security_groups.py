"""Security groups and their rules, one resource per rule."""

import ipaddress
import json
import re
from dataclasses import replace

from sandbox.aws.network import EGRESS, GROUP, INGRESS, in_groups, in_vpc
from sandbox.aws.quotas import QUOTAS
from sandbox.cloud import AutoName, Refusal, Request, ResourceType, Unique
from sandbox.quotas import beside

PROTOCOLS = {"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": "-1"}
_RULE_TEXT = "1 to 255 of letters, digits, spaces and ._-:/()#,@[]+=&;{}!$*; a name does not begin with sg-"
_DESCRIPTION = re.compile(r"[A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{0,255}")
_SOURCES = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
_DUPLICATE = Unique(
    "rule",
    (),
    "InvalidPermission.Duplicate",
    "the specified rule already exists in {in_.securityGroupId}: {in_.ipProtocol} {in_.fromPort}-{in_.toPort}",
)


def _protocol(request: Request) -> str:
    given = str(request.inputs["ipProtocol"]).lower()
    return PROTOCOLS.get(given, given)


def _rule_claim(request: Request) -> list[tuple[Unique, str]]:
    """Return the identity of a rule: group, direction, protocol, ports, peer. Ports do not count for all protocols."""
    rule, protocol = request.inputs, _protocol(request)
    ports = [] if protocol == "-1" else [rule.get("fromPort"), rule.get("toPort")]
    peer = [rule.get(name) for name in _SOURCES]
    return [(_DUPLICATE, json.dumps([rule["securityGroupId"], request.type, protocol, ports, peer]))]


def _ports(request: Request) -> None:
    protocol = _protocol(request)
    first, last = request.inputs.get("fromPort"), request.inputs.get("toPort")
    if protocol not in ("tcp", "udp"):
        return
    if first is None or last is None:
        raise Refusal("InvalidParameterValue", f"Invalid value 'Must specify both from and to ports with {protocol}'.")
    if not 0 <= first <= last <= 65535:
        raise Refusal("InvalidParameterValue", f"Invalid TCP/UDP port range ({first}:{last})")


def _peer(request: Request) -> None:
    """Check that a range is canonical, and that the description has only the characters that EC2 allows."""
    cidr, description = request.inputs.get("cidrIpv4"), request.inputs.get("description") or ""
    try:
        ipaddress.IPv4Network(cidr or "0.0.0.0/0")
    except ValueError:
        raise Refusal("InvalidParameterValue", f"CIDR block {cidr} is malformed") from None
    if not _DESCRIPTION.fullmatch(description):
        raise Refusal(
            "InvalidParameterValue",
            "Invalid rule description. Valid descriptions are strings less than 256 characters from the following set: "
            " a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*",
        )


def _known_protocol(request: Request) -> None:
    protocol = _protocol(request)
    if protocol not in PROTOCOLS.values() and not (protocol.isdigit() and int(protocol) <= 255):
        raise Refusal("InvalidParameterValue", f"Invalid value '{protocol}' for IP protocol. Unknown protocol.")


_RULE = ResourceType(
    id="sgr-0{hex:16}",
    immutable=("securityGroupId",),
    outputs={
        "arn": "arn:aws:ec2:{region}:{account}:security-group-rule/{id}",
        "securityGroupRuleId": "{id}",
    },
    at_most_one=(_SOURCES,),
    at_least_one=(_SOURCES,),
    references=(
        in_groups("securityGroupId", holds="vanish"),
        in_groups("referencedSecurityGroupId"),
    ),
    claims=_rule_claim,
    rules=(
        _known_protocol,
        _ports,
        _peer,
        QUOTAS.at_most("rules per security group", beside(GROUP, "securityGroupId")),
    ),
)

TYPES: dict[str, ResourceType] = {
    GROUP: ResourceType(
        id="sg-0{hex:16}",
        immutable=("name", "namePrefix", "description", "vpcId"),
        chosen=("ingress", "egress", "name"),
        fallback={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
        outputs={"arn": "arn:aws:ec2:{region}:{account}:security-group/{id}", "ownerId": "{account}"},
        auto_name=AutoName(),
        at_most_one=(("name", "namePrefix"),),
        patterns={
            "name": (re.compile(r"(?!sg-)[A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}"), _RULE_TEXT),
            "description": (re.compile(r"[A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}"), _RULE_TEXT),
        },
        references=(in_vpc(),),
        unique=(
            Unique(
                "security group",
                ("vpcId", "name"),
                "InvalidGroup.Duplicate",
                "The security group '{in_.name}' already exists for VPC '{in_.vpcId}'",
            ),
        ),
        rules=(QUOTAS.at_most("security groups per region"),),
        in_use=("DependencyViolation", "resource {id} has a dependent object ({holder})"),
    ),
    INGRESS: replace(_RULE),
    EGRESS: replace(_RULE),
}
