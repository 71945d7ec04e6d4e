"""Route 53 hosted zones and records."""

import ipaddress
import json
import re
from typing import Any

from sandbox.aws.network import in_vpc
from sandbox.aws.quotas import QUOTAS
from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique

_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
ZONE, RECORD = "aws:route53/zone:Zone", "aws:route53/record:Record"
_TAKEN = Unique(
    "private zone",
    (),
    "ConflictingDomainExists",
    "The VPC is already associated with a private hosted zone of the name {in_.name}",
)
_RECORD = Unique(
    "record",
    (),
    "InvalidChangeBatch",
    "Tried to create resource record set [name='{in_.name}', type='{in_.type}'] but it already exists",
)


_ADDRESSES = {"A": (ipaddress.IPv4Address, "IPv4"), "AAAA": (ipaddress.IPv6Address, "IPv6")}
"""By type of record: how its values are read, and their name in Route 53's error."""


def _zone(request: Request) -> dict[str, Any]:
    servers = [f"ns-{number}.sandbox-dns-{number:02}.example" for number in range(4)]
    return {"nameServers": servers, "primaryNameServer": servers[0]}


def _private(request: Request) -> list[tuple[Unique, str]]:
    vpcs = request.inputs.get("vpcs") or []
    return [(_TAKEN, json.dumps([request.inputs["name"].rstrip("."), vpc["vpcId"]])) for vpc in vpcs]


def _full_name(request: Request) -> str:
    """Return the record's full name, as Route 53 stores it; programs may write it with or without the zone."""
    zone = request.cloud_state.find(ZONE, request.inputs["zoneId"])
    domain = zone.inputs["name"].rstrip(".") if zone else ""
    name = request.inputs["name"].rstrip(".").lower()
    return name if not name or name == domain or name.endswith(f".{domain}") else f"{name}.{domain}"


def _record_claim(request: Request) -> list[tuple[Unique, str]]:
    inputs = request.inputs
    parts = [inputs["zoneId"], _full_name(request), inputs["type"], inputs.get("setIdentifier", "")]
    return [(_RECORD, json.dumps(parts))]


def _record_value(request: Request) -> None:
    inputs = request.inputs
    if not inputs.get("aliases") and (not inputs.get("records") or inputs.get("ttl") is None):
        raise Refusal("InvalidInput", "A record needs either aliases, or records with a ttl")
    address, kind = _ADDRESSES.get(inputs["type"], (None, ""))
    for value in inputs.get("records") or [] if address else []:
        try:
            address(value)
        except ValueError:
            raise Refusal(
                "InvalidChangeBatch",
                f"[Invalid Resource Record: 'FATAL problem: {inputs['type']}RRDATAIllegal{kind}Address (Value is not a"
                f" valid {kind} address) encountered with '{value}'']",
            ) from None


def _canonical_name(request: Request) -> None:
    """Refuse a CNAME beside another record of its name, and at the zone's own name."""
    zone, name = request.cloud_state.find(ZONE, request.inputs["zoneId"]), _full_name(request)
    if zone is None:
        return
    alias = request.inputs["type"] == "CNAME"
    if alias and name == zone.inputs["name"].rstrip("."):
        raise Refusal(
            "InvalidChangeBatch", f"RRSet of type CNAME with DNS name {name}. is not permitted at apex in zone {name}."
        )
    for other in request.cloud_state.referrers(ZONE, zone.id):
        here = other.sequence != request.sequence and other.outputs.get("fqdn") == name
        if here and (alias != (other.inputs["type"] == "CNAME")):
            raise Refusal(
                "InvalidChangeBatch",
                f"RRSet of type CNAME with DNS name {name}. is not permitted as it conflicts with other records with"
                " the same DNS name in zone",
            )


def _domain(request: Request) -> None:
    name = request.inputs["name"].rstrip(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise Refusal("InvalidDomainName", f"The domain name is invalid: {name}")


def _in_use(request: Request) -> None:
    if request.inputs.get("forceDestroy"):
        for record in request.cloud_state.referrers(ZONE, request.id):
            request.cloud_state.remove(record.sequence)
    elif request.cloud_state.referrers(ZONE, request.id):
        raise Refusal(
            "HostedZoneNotEmpty",
            f"The specified hosted zone {request.id} contains non-required resource record sets and so cannot be"
            " deleted.",
        )


def _record_id(request: Request) -> str:
    inputs = request.inputs
    parts = [inputs["zoneId"], inputs["name"].lower(), inputs["type"], inputs.get("setIdentifier")]
    return "_".join(part for part in parts if part)


TYPES: dict[str, ResourceType] = {
    ZONE: ResourceType(
        id=lambda request: request.format("Z{hex:20}").upper(),
        immutable=("name", "delegationSetId"),
        fallback={"comment": "Managed by Pulumi", "forceDestroy": False},
        unordered=("vpcs",),
        outputs={"arn": "arn:aws:route53:::hostedzone/{id}", "zoneId": "{id}"},
        derive=_zone,
        auto_name=AutoName(digits=0),
        at_most_one=(("delegationSetId", "vpcs"),),
        references=(in_vpc("dangle", "vpcs[].vpcId"),),
        claims=_private,
        rules=(_domain, QUOTAS.at_most("hosted zones per account")),
        delete_rules=(_in_use,),
    ),
    RECORD: ResourceType(
        id=_record_id,
        immutable=("zoneId", "name", "type", "setIdentifier"),
        unordered=("records",),
        derive=lambda request: {"fqdn": _full_name(request)},
        at_most_one=(("aliases", "records"), ("aliases", "ttl")),
        references=(Reference("zoneId", ZONE, "NoSuchHostedZone", "No hosted zone found with ID: {id}"),),
        claims=_record_claim,
        ranges={"ttl": (0, 2147483647)},
        rules=(_record_value, _canonical_name),
    ),
}
