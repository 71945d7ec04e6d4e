"""Private DNS zones, their links to networks, and records."""

import ipaddress
import re
from typing import Any

from sandbox.azure.names import LINK, NETWORK, RECORD, ZONE, part_of, points_to, row
from sandbox.cloud import Refusal, Request, ResourceType

_DNS = re.compile(r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
MOST_TAGS = 15
TTL = (1, 2147483647)


def _global(request: Request) -> None:
    location = request.inputs.get("location") or ""
    if location.lower() != "global":
        kind = ZONE.arm if request.type == ZONE.token else LINK.arm
        raise Refusal(
            "LocationNotAvailableForResourceType",
            f"The provided location '{location}' is not available for resource type '{kind}'. List of available"
            " regions for"
            " the resource type is 'global'.",
        )


def _tags(request: Request) -> None:
    """Refuse tags that Azure would drop silently, and more tags than it takes.

    Azure/azure-rest-api-specs#11748 (keys with a colon); "Azure resource tags: limitations" (15 for DNS zones).
    """
    tags = request.inputs.get("tags") or {}
    dropped = [key for key in tags if ":" in key]
    if dropped:
        raise Refusal(
            "BadRequest", f"Azure Private DNS would drop the tag '{dropped[0]}', because its key has a colon."
        )
    if len(tags) > MOST_TAGS:
        raise Refusal("BadRequest", f"The number of tags is {len(tags)}; the maximum is {MOST_TAGS}.")


def _linked(request: Request) -> None:
    """Check that a network is linked to one zone of a name, and to no overlapping zone."""
    network, name = (request.inputs.get("virtualNetwork") or {}).get("id"), request.inputs["privateZoneName"]
    for other in request.cloud_state.resources(LINK.token):
        theirs = other.inputs["privateZoneName"]
        same = other.sequence != request.sequence and (other.inputs.get("virtualNetwork") or {}).get("id") == network
        if same and theirs == name:
            raise Refusal(
                "BadRequest",
                "A virtual network cannot be linked to multiple zones with overlapping namespaces. You tried to link"
                " virtual"
                f" network with '{name}' and '{theirs}' zones.",
            )


def _nested(request: Request) -> None:
    """Refuse to delete a zone that is linked to a network; delete its records with it."""
    if any(one.type == LINK.token for one in request.cloud_state.referrers(ZONE.token, request.id)):
        raise Refusal(
            "CannotDeleteResource",
            "Can not delete resource before nested resources are deleted. It has virtual network links.",
        )


def _record(request: Request) -> None:
    values = request.inputs.get("aRecords") or []
    if request.inputs["recordType"] == "A" and not values:
        raise Refusal("BadRequest", "The resource record set of type A has no records.")
    for record in values:
        try:
            ipaddress.IPv4Address(record.get("ipv4Address"))
        except ValueError:
            raise Refusal("BadRequest", f"The value '{record.get('ipv4Address')}' is no valid IPv4 address.") from None
    ttl = request.inputs.get("ttl")
    if ttl is None or not TTL[0] <= ttl <= TTL[1]:
        raise Refusal("BadRequest", f"The TTL {ttl} is not between 1 and 2147483647.")


def _fqdn(request: Request) -> dict[str, Any]:
    relative, zone = request.inputs["relativeRecordSetName"], request.inputs["privateZoneName"]
    return {"fqdn": f"{'' if relative == '@' else relative + '.'}{zone}.", "isAutoRegistered": False}


_IN_ZONE = part_of(ZONE)

TYPES: dict[str, ResourceType] = {
    ZONE.token: row(
        ZONE,
        outputs={"provisioningState": "Succeeded", "type": ZONE.arm},
        patterns={"privateZoneName": (_DNS, "a DNS name of two labels or more, without a dot at its end")},
        rules=(_global, _tags),
        delete_rules=(_nested,),
    ),
    LINK.token: row(
        LINK,
        outputs={"provisioningState": "Succeeded", "type": LINK.arm, "virtualNetworkLinkState": "Completed"},
        immutable=("virtualNetwork",),
        references=(_IN_ZONE, points_to(NETWORK, "virtualNetwork.id")),
        at_least_one=(("registrationEnabled",), ("virtualNetwork",)),
        rules=(_global, _tags, _linked),
    ),
    RECORD.token: row(
        RECORD,
        located=False,
        derive=_fqdn,
        outputs={"type": "Microsoft.Network/privateDnsZones/{in_.recordType}"},
        unordered=("aRecords",),
        patterns={
            "recordType": (re.compile("A|AAAA|CNAME|MX|PTR|SOA|SRV|TXT"), "A, AAAA, CNAME, MX, PTR, SOA, SRV or TXT"),
            "relativeRecordSetName": (
                re.compile(r"@|\*|[a-z0-9_]([a-z0-9_.-]{0,61}[a-z0-9_])?"),
                "a name in the zone, or @",
            ),
        },
        references=(_IN_ZONE,),
        rules=(_record,),
    ),
}
