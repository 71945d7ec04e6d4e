"""The provider's functions (invokes) by token."""

from collections.abc import Callable
from typing import Any

from sandbox.aws import offerings
from sandbox.aws.regions import ACCOUNT, PARAMETERS, REGIONS, image, zones
from sandbox.cloud import Place, Refusal


def parameter(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ssm.getParameter for public image parameters."""
    name = arguments["name"]
    if name not in PARAMETERS:
        raise Refusal("ParameterNotFound", f"Systems Manager has no parameter {name!r} in {place.region}")
    value = image(place.region, name)
    return {
        "arn": f"arn:aws:ssm:{place.region}::parameter{name}",
        "id": name,
        "name": name,
        "region": place.region,
        "type": "String",
        "value": value,
        "insecureValue": value,
        "version": 1,
        "withDecryption": arguments.get("withDecryption"),
    }


def availability_zones(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """getAvailabilityZones: the region's zones, all available."""
    excluded = {*arguments.get("excludeNames", []), *arguments.get("excludeZoneIds", [])}
    state = arguments.get("state") or "available"
    found = {name: id for name, id in zones(place.region).items() if not excluded & {name, id}}
    found = found if state == "available" else {}
    return {
        "id": place.region,
        "region": place.region,
        "groupNames": [place.region],
        "names": list(found),
        "zoneIds": list(found.values()),
        "state": arguments.get("state"),
    }


def instance_type_offerings(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """getInstanceTypeOfferings: zones that offer the types of a filter; types that do not exist are left out."""
    filters = {each["name"]: each["values"] for each in arguments.get("filters") or []}
    if arguments.get("locationType") != "availability-zone" or list(filters) != ["instance-type"]:
        raise Refusal("InvalidParameterValue", "the sandbox lists offerings of zones, and of types that a filter names")
    names = [name for name in filters["instance-type"] if offerings.exists(name)]
    found = [(name, zone) for name in names for zone in offerings.offering(place.region, name)]
    return {
        "id": place.region,
        "region": place.region,
        "filters": arguments["filters"],
        "locationType": "availability-zone",
        "instanceTypes": [name for name, _ in found],
        "locations": [zone for _, zone in found],
        "locationTypes": ["availability-zone"] * len(found),
    }


def caller_identity(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """getCallerIdentity: a user of the sandbox alone."""
    arn = f"arn:aws:iam::{ACCOUNT}:user/sandbox"
    return {"accountId": ACCOUNT, "arn": arn, "id": ACCOUNT, "userId": "AIDASANDBOX0000000000"}


def region(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """getRegion."""
    name = arguments.get("name") or place.region
    if name not in REGIONS:
        raise Refusal("InvalidParameterValue", f"no region {name!r}; known: {', '.join(sorted(REGIONS))}")
    endpoint = place.url(f"ec2.{name}.amazonaws.com")
    return {"description": REGIONS[name].description, "endpoint": endpoint, "id": name, "name": name, "region": name}


def service(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """getService by its id."""
    id = arguments.get("serviceId")
    if not id or set(arguments) - {"serviceId", "region"}:
        raise Refusal("InvalidArgument", f"the sandbox supports getService by serviceId only, not {sorted(arguments)}")
    name = f"com.amazonaws.{place.region}.{id}"
    return {
        "dnsName": place.url(f"{id}.{place.region}.amazonaws.com"),
        "id": name,
        "partition": "aws",
        "region": place.region,
        "reverseDnsName": name,
        "reverseDnsPrefix": "com.amazonaws",
        "serviceId": id,
        "supported": True,
    }


def partition(place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """getPartition: the commercial partition."""
    return {"dnsSuffix": "amazonaws.com", "id": "aws", "partition": "aws", "reverseDnsPrefix": "com.amazonaws"}


FUNCTIONS: dict[str, Callable[[Place, dict[str, Any]], dict[str, Any]]] = {
    "aws:ssm/getParameter:getParameter": parameter,
    "aws:index/getAvailabilityZones:getAvailabilityZones": availability_zones,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": instance_type_offerings,
    "aws:index/getCallerIdentity:getCallerIdentity": caller_identity,
    "aws:index/getRegion:getRegion": region,
    "aws:index/getService:getService": service,
    "aws:index/getPartition:getPartition": partition,
}
