"""Cloud DNS: zones and records."""

import ipaddress
import re
from typing import Any

from sandbox.cloud import Reference, Refusal, Request, ResourceType, Unique
from sandbox.gcp.names import AUTO_NAME, NAMED, NETWORK, points_to

ZONE, RECORD = "gcp:dns/managedZone:ManagedZone", "gcp:dns/recordSet:RecordSet"
_SERVED = "privateVisibilityConfig.networks[].networkUrl"
_DNS = re.compile(r"([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+")
_KINDS = "A|AAAA|CNAME|TXT|SRV|MX|NS|PTR|CAA|SOA"

_TWICE = Unique(
    "private zone",
    (),
    "badRequest",
    "googleapi: Error 400: The zone '{in_.dnsName}' is already served to the network by another private zone.",
)


def _served(request: Request) -> list[tuple[Unique, str]]:
    """Return the claims of a zone: a network has one private zone of a name."""
    return [(_TWICE, f"{id} {request.inputs['dnsName']}") for id in points_to(NETWORK, _SERVED).ids(request)]


def _visible(request: Request) -> None:
    private = request.inputs.get("visibility", "public") == "private"
    networks = (request.inputs.get("privateVisibilityConfig") or {}).get("networks")
    if networks and not private:
        message = "Invalid value for 'entity.managedZone.privateVisibilityConfig': the zone is public"
        raise Refusal("invalid", f"googleapi: Error 400: {message}")


def _emptied(request: Request) -> None:
    """Refuse to delete a zone with records; forceDestroy deletes them first."""
    if request.inputs.get("forceDestroy"):
        return
    if any(one.type == RECORD for one in request.cloud_state.referrers(ZONE, request.id)):
        message = f"The resource named '{request.inputs['name']}' cannot be deleted because it contains one or more"
        raise Refusal("containerNotEmpty", f"googleapi: Error 400: {message} 'resource records'.")


def _in_zone(request: Request) -> None:
    zone = request.cloud_state.find(ZONE, in_zone("managedZone").ids(request)[0])
    name, dns = request.inputs["name"], zone.inputs["dnsName"] if zone else ""
    if name != dns and not name.endswith(f".{dns}"):
        message = f"Invalid value for 'entity.change.additions[0].name': '{name}' is not in zone '{dns}'"
        raise Refusal("invalid", f"googleapi: Error 400: {message}")


def _values(request: Request) -> None:
    values = request.inputs.get("rrdatas") or []
    if not values and not request.inputs.get("routingPolicy"):
        raise Refusal(
            "required", "googleapi: Error 400: The 'entity.change.additions[0].rrdatas' parameter is required"
        )
    for index, value in enumerate(values if request.inputs["type"] == "A" else []):
        try:
            ipaddress.IPv4Address(value)
        except ValueError:
            message = f"Invalid value for 'entity.change.additions[0].rrdatas[{index}]': '{value}'"
            raise Refusal("invalid", f"googleapi: Error 400: {message}") from None


def in_zone(path: str) -> Reference:
    """Return a reference to a zone, by its name or id."""
    return Reference(
        path,
        ZONE,
        "notFound",
        "googleapi: Error 404: The 'parameters.managedZone' resource named '{id}' does not exist.",
        "vanish",
        id=lambda request, value: value if "/" in value else f"projects/{request.account}/managedZones/{value}",
    )


def _zone(request: Request) -> dict[str, Any]:
    return {"managedZoneId": int(request.digits(12, "id"), 16), "nameServers": ["ns-gcp-private.googledomains.com."]}


TYPES: dict[str, ResourceType] = {
    ZONE: ResourceType(
        id="projects/{account}/managedZones/{in_.name}",
        immutable=("name", "dnsName", "visibility", "project"),
        chosen=("name", "project", "cloudLoggingConfig"),
        fallback={"visibility": "public", "forceDestroy": False, "description": "Managed by Pulumi"},
        outputs={"project": "{account}", "creationTime": "2026-01-01T00:00:00.000Z"},
        derive=_zone,
        auto_name=AUTO_NAME,
        patterns={
            **NAMED,
            "dnsName": (_DNS, "a DNS name that ends in a dot"),
            "visibility": (re.compile("public|private"), "public or private"),
        },
        references=(points_to(NETWORK, _SERVED),),
        unique=(
            Unique(
                "zone",
                ("name",),
                "alreadyExists",
                "googleapi: Error 409: The resource 'entity.managedZone' named '{in_.name}' already exists",
            ),
        ),
        claims=_served,
        rules=(_visible,),
        delete_rules=(_emptied,),
    ),
    RECORD: ResourceType(
        id=lambda request: (
            f"{in_zone('managedZone').ids(request)[0]}/rrsets/{request.inputs['name']}/{request.inputs['type']}"
        ),
        immutable=("managedZone", "name", "type", "project"),
        chosen=("project",),
        outputs={"project": "{account}"},
        unordered=("rrdatas",),
        patterns={
            "name": (re.compile(rf"(\*\.)?{_DNS.pattern}"), "a DNS name that ends in a dot"),
            "type": (re.compile(_KINDS), _KINDS.replace("|", ", ")),
        },
        at_most_one=(("rrdatas", "routingPolicy"),),
        references=(in_zone("managedZone"),),
        unique=(
            Unique(
                "record",
                ("managedZone", "name", "type"),
                "alreadyExists",
                "googleapi: Error 409: The resource 'entity.change.additions[{in_.name}][{in_.type}]' already exists",
            ),
        ),
        rules=(_in_zone, _values),
    ),
}
