"""Reads of resources by tags, and of load balancers, target groups and security groups by id."""

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.aws.classic_balancers import CLASSIC
from sandbox.aws.images import AMI
from sandbox.aws.network import BALANCER, GROUP
from sandbox.aws.regions import ACCOUNT
from sandbox.aws.targets import TARGETS
from sandbox.aws.volumes import SNAPSHOT, VOLUME
from sandbox.cloud import Place, Refusal
from sandbox.cloud_state import CloudState, Record

KINDS = {
    "elasticloadbalancing:loadbalancer": (BALANCER, CLASSIC),
    "elasticloadbalancing:targetgroup": (TARGETS,),
    "ec2:security-group": (GROUP,),
}
"""Types of resources by kind in a search."""


def tagged(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """resourcegroupstaggingapi.getResources: resources of the region with all tags, by kind."""
    if more := sorted(set(arguments) - {"tagFilters", "resourceTypeFilters", "region"}):
        raise Refusal("InvalidArgument", f"the sandbox does not know {', '.join(more)} here")
    types = [type for kind in arguments["resourceTypeFilters"] for type in KINDS[kind]]
    tests = [(each["key"], each["values"]) for each in arguments["tagFilters"]]
    found = [
        each
        for type in types
        for each in cloud_state.resources(type)
        if each.region == place.region and all(each.tags.get(key) in values for key, values in tests)
    ]
    rows = [{"resourceArn": _arn(each), "tags": each.tags, "complianceDetails": []} for each in found]
    return {"id": place.region, "region": place.region, "resourceTagMappingLists": rows}


def _arn(record: Record) -> str:
    if record.type == GROUP:
        return f"arn:aws:ec2:{record.region}:{ACCOUNT}:security-group/{record.id}"
    return str(record.outputs["arn"])


def _ids(type: str, *known: str) -> Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]:
    """Return the function that lists the ids of resources of a type by their tags. known: further arguments."""

    def read(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
        if more := sorted(set(arguments) - {"filters", "region", *known}):
            raise Refusal("InvalidArgument", f"the sandbox does not know {', '.join(more)} here")
        tests = [(each["name"], each["values"]) for each in arguments["filters"]]
        if other := [name for name, _ in tests if not name.startswith("tag:") and name != "tag-key"]:
            raise Refusal("InvalidParameterValue", f"the sandbox filters by tags, not by {', '.join(other)}")
        found = [
            each.id
            for each in cloud_state.resources(type)
            if each.region == place.region and all(_passes(each.tags, *test) for test in tests)
        ]
        return {"id": place.region, "region": place.region, "ids": found}

    return read


def _passes(tags: Mapping[str, str], name: str, values: list[str]) -> bool:
    """Return whether tags pass a filter: `tag:KEY` by its values, `tag-key` by the keys of any value."""
    return not tags.keys().isdisjoint(values) if name == "tag-key" else tags.get(name.removeprefix("tag:")) in values


def _read(type: str, argument: str) -> Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]:
    """Return the function that reads a resource of a type by its id, which this argument has."""

    def read(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
        found = cloud_state.find(type, arguments[argument])
        if found is None or found.region != place.region:
            raise Refusal("NotFound", f"no matching {type} found")
        vpc = {"vpcId": found.inputs.get("vpcId") or found.outputs.get("vpcId")}
        return {**found.outputs, **vpc, "id": found.id, "region": place.region, "tags": found.tags}

    return read


READS: dict[str, Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]] = {
    "aws:resourcegroupstaggingapi/getResources:getResources": tagged,
    "aws:ec2/getAmiIds:getAmiIds": _ids(AMI, "owners"),
    "aws:ebs/getEbsVolumes:getEbsVolumes": _ids(VOLUME),
    "aws:ebs/getSnapshotIds:getSnapshotIds": _ids(SNAPSHOT, "owners"),
    "aws:lb/getLoadBalancer:getLoadBalancer": _read(BALANCER, "arn"),
    "aws:lb/getTargetGroup:getTargetGroup": _read(TARGETS, "arn"),
    "aws:elb/getLoadBalancer:getLoadBalancer": _read(CLASSIC, "name"),
    "aws:ec2/getSecurityGroup:getSecurityGroup": _read(GROUP, "id"),
}
