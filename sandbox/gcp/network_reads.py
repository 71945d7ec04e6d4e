"""Reads of networks, subnetworks, routers and private zones, as the provider's functions return them."""

from collections.abc import Callable
from typing import Any

from sandbox.cloud import Place, Refusal
from sandbox.cloud_state import CloudState, Record
from sandbox.gcp.dns import RECORD, ZONE
from sandbox.gcp.names import COMPUTE, NAT, NETWORK, ROUTER, SUBNETWORK, bare


def _found(cloud_state: CloudState, type: str, id: str) -> Record:
    found = cloud_state.find(type, id)
    if found is None:
        raise Refusal("notFound", f"googleapi: Error 404: The resource '{id}' was not found, notFound")
    return found


def _only(arguments: dict[str, Any], *known: str) -> None:
    if more := sorted(set(arguments) - set(known)):
        raise Refusal("invalid", f"the sandbox supports {', '.join(known)}, not {', '.join(more)}")


def network(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """compute.getNetwork by project and name."""
    _only(arguments, "name", "project")
    project = arguments.get("project") or place.account
    found = _found(cloud_state, NETWORK, f"projects/{project}/global/networks/{arguments['name']}")
    inside = [COMPUTE + one.id for one in cloud_state.referrers(NETWORK, found.id) if one.type == SUBNETWORK]
    known = {name: found.outputs.get(name) for name in ("description", "name", "selfLink")}
    return known | {"id": found.id, "project": project, "subnetworksSelfLinks": inside}


def subnetwork(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """compute.getSubnetwork by project, region and name."""
    _only(arguments, "name", "project", "region")
    project, region = arguments.get("project") or place.account, arguments.get("region") or place.region
    found = _found(cloud_state, SUBNETWORK, f"projects/{project}/regions/{region}/subnetworks/{arguments['name']}")
    names = ("gatewayAddress", "ipCidrRange", "name", "network", "privateIpGoogleAccess", "region", "selfLink")
    known = {name: found.outputs.get(name) for name in names}
    ranges = found.inputs.get("secondaryIpRanges") or []
    return known | {"id": found.id, "project": project, "secondaryIpRanges": ranges}


def routers(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """compute.getRouters: a region's routers with their NAT."""
    _only(arguments, "project", "region")
    project, region = arguments.get("project") or place.account, arguments.get("region") or place.region
    begin = f"projects/{project}/regions/{region}/routers/"
    found = [one for one in cloud_state.resources(ROUTER) if one.id.startswith(begin)]
    gateways = cloud_state.resources(NAT)
    rows = [
        {
            "name": one.inputs["name"],
            "network": COMPUTE + bare(one.inputs["network"]),
            "nats": [
                {name: nat.inputs.get(name) for name in ("name", "sourceSubnetworkIpRangesToNat")}
                for nat in gateways
                if bare(nat.inputs["router"]) in (one.id, one.inputs["name"])
            ],
            "selfLink": COMPUTE + one.id,
        }
        for one in found
    ]
    return {"id": f"projects/{project}/regions/{region}/routers", "project": project, "region": region, "routers": rows}


def zone(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """dns.getManagedZone by project and name. It shows no network."""
    _only(arguments, "name", "project")
    found = _zone(cloud_state, place, arguments, arguments["name"])
    known = {name: found.outputs.get(name) for name in ("description", "dnsName", "managedZoneId", "nameServers")}
    return known | {name: found.outputs.get(name) for name in ("name", "project", "visibility")} | {"id": found.id}


def records(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """dns.getRecordSets: the records of a zone."""
    _only(arguments, "managedZone", "project")
    found = _zone(cloud_state, place, arguments, arguments["managedZone"])
    inside = [one.inputs for one in cloud_state.referrers(ZONE, found.id, "vanish") if one.type == RECORD]
    rows = [{name: one.get(name) for name in ("name", "rrdatas", "ttl", "type")} for one in inside]
    return {"id": f"{found.id}/rrsets", "managedZone": found.inputs["name"], "rrsets": rows}


def _zone(cloud_state: CloudState, place: Place, arguments: dict[str, Any], name: str) -> Record:
    found = cloud_state.find(ZONE, f"projects/{arguments.get('project') or place.account}/managedZones/{name}")
    if found is None:
        message = f"The 'parameters.managedZone' resource named '{name}' does not exist."
        raise Refusal("notFound", f"googleapi: Error 404: {message}, notFound")
    return found


READS: dict[str, Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]] = {
    "gcp:compute/getNetwork:getNetwork": network,
    "gcp:compute/getSubnetwork:getSubnetwork": subnetwork,
    "gcp:compute/getRouters:getRouters": routers,
    "gcp:dns/getManagedZone:getManagedZone": zone,
    "gcp:dns/getRecordSets:getRecordSets": records,
}
