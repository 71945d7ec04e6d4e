"""AWS through its provider, for programs that commands run."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions
from pulumi.runtime.settings import get_root_resource
from pulumi_aws import _utilities

from components.aws.cloud_controller import CLUSTER_TAG
from components.aws.images import newest
from components.aws.records import RUNNING, STOPPED, Records
from components.rollout.provider_calls import ProviderCalls, ProviderError
from operations.clouds import cloud_tables
from operations.clouds.driver_made import Made

_NOT_FOUND = ("does not exist", "NotFound", "no results", "couldn't find resource", "no matching")
"""Parts of error messages about an object that is deleted or never existed."""


def records(parent: pulumi.Resource, bucket: str) -> Records:
    """Return the reader of machines' status records in the bundle store."""
    return Records(parent, *map(Output.from_input, ("", bucket)), role_ids={})


async def not_running(records: Records, machine: Mapping[str, Any]) -> str:
    """Return GONE or STOPPED if the machine's instance does not run; empty if it runs or AWS does not say.

    machine: its outputs in the state.
    """
    try:
        found = await records.calls.invoke("aws:ec2/getInstance:getInstance", {"instanceId": machine["id"]})
    except ProviderError as error:
        return cloud_tables.GONE if any(text in str(error) for text in _NOT_FOUND) else ""
    if found.get("instanceState") in STOPPED:
        return cloud_tables.STOPPED
    return "" if found.get("instanceState") in (*RUNNING, None) else cloud_tables.GONE


def put(name: str, bucket: str, key: str, content: str, opts: ResourceOptions | None = None) -> pulumi.Resource:
    """Create an object with a JSON document in a bucket."""
    return aws.s3.BucketObjectv2(
        name, bucket=bucket, key=key, content=content, content_type="application/json", opts=opts
    )


def keys(bucket: str, prefix: str) -> Output[Any]:
    """Return the keys of a bucket's objects with this prefix; the output may be None if there are none."""
    return aws.s3.get_objects_output(bucket=bucket, prefix=prefix).keys


PAGE = 10_000
"""Keys in one answer of the provider, which asks S3 for 1,000 at a time."""


def keys_of(bucket: str, region: str, prefix: str) -> Output[Any]:
    """Return the keys in a bucket of a region, all of them: whoever may write there could hide the newest by others."""
    root = get_root_resource()
    if root is None:
        raise RuntimeError("call this inside a Pulumi program only")
    return Output.from_input(all_keys(ProviderCalls(root, _utilities.get_version()), bucket, region, prefix))


async def all_keys(calls: ProviderCalls, bucket: str, region: str, prefix: str) -> list[str]:
    """Return the keys with a prefix, in order. Raises ProviderError if the bucket cannot be read."""
    found = list[str]()
    asked = {"bucket": bucket, "region": region, "prefix": prefix, "maxKeys": PAGE}
    while True:
        after = {"startAfter": found[-1]} if found else {}
        page = (await calls.invoke("aws:s3/getObjects:getObjects", {**asked, **after})).get("keys") or []
        found += page
        if len(page) < PAGE:
            return found


def text(bucket: str, key: str) -> Output[str]:
    """Return the content of an object."""
    return aws.s3.get_object_output(bucket=bucket, key=key).body


def newest_image(os: str) -> Output[str]:
    """Return the newest image of an operating system."""
    return newest(os)


_KINDS = ("elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup", "ec2:security-group")
"""Kinds of what a cloud controller makes (Resource Groups Tagging API, "ResourceTypeFilters")."""


_DRIVER_MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "aws:ebs/volume:Volume": ("aws:ebs/getEbsVolumes:getEbsVolumes", {}),
    "aws:ebs/snapshot:Snapshot": ("aws:ebs/getSnapshotIds:getSnapshotIds", {"owners": ["self"]}),
}
"""Types of what a storage driver makes: function that lists their ids, and its arguments besides filters."""


async def made_by_controller(parent: pulumi.Resource, tag: str, network: str) -> list[dict[str, Any]]:
    """Return type, id, name and properties of what a cloud controller made in a VPC. tag: key of the cluster's tag.

    The search by tags also knows what is deleted already, and other networks: each one is looked up. Raises
    ProviderError if the account cannot be searched.
    """
    calls = ProviderCalls(parent, _utilities.get_version())
    answer = await calls.invoke(
        "aws:resourcegroupstaggingapi/getResources:getResources",
        {"tagFilters": [{"key": tag, "values": ["owned"]}], "resourceTypeFilters": list(_KINDS)},
    )
    arns = [str(each["resourceArn"]) for each in answer.get("resourceTagMappingLists") or []]
    found = [await _made(calls, arn) for arn in arns]
    return [each for each in found if each["properties"].get("vpcId") == network]


async def made_by_driver(parent: pulumi.Resource, cluster: str, keep: str) -> dict[str, dict[str, Made]]:
    """Return what a cluster's storage driver made, by type of resource and id; the tag `keep` keeps it.

    Lists of the provider have ids alone, so no volume says when it was created.

    Raises ProviderError if the account cannot be searched.
    """
    calls = ProviderCalls(parent, _utilities.get_version())
    ours, kept = {"name": f"tag:{CLUSTER_TAG}{cluster}", "values": ["owned"]}, {"name": "tag-key", "values": [keep]}
    found: dict[str, dict[str, Made]] = {}
    for kind, (function, more) in _DRIVER_MADE.items():
        every, some = [
            (await calls.invoke(function, {**more, "filters": filters})).get("ids") or []
            for filters in ([ours], [ours, kept])
        ]
        found[kind] = {each: Made(each in some) for each in every}
    return found


async def _made(calls: ProviderCalls, arn: str) -> dict[str, Any]:
    """Return what an ARN names; without properties if it does not exist any more."""
    kind, _, name = arn.split(":", 5)[5].partition("/")
    if kind == "security-group":
        read = await _looked_up(calls, "aws:ec2/getSecurityGroup:getSecurityGroup", {"id": name})
        return _found("aws:ec2/securityGroup:SecurityGroup", name, name, read)
    if kind == "targetgroup":
        read = await _looked_up(calls, "aws:lb/getTargetGroup:getTargetGroup", {"arn": arn})
        return _found("aws:lb/targetGroup:TargetGroup", arn, name.partition("/")[0], read)
    if "/" in name:
        read = await _looked_up(calls, "aws:lb/getLoadBalancer:getLoadBalancer", {"arn": arn})
        return _found("aws:lb/loadBalancer:LoadBalancer", arn, name.split("/")[1], read)
    read = await _looked_up(calls, "aws:elb/getLoadBalancer:getLoadBalancer", {"name": name})
    # a classic load balancer says its subnets, not its network
    subnets = read.get("subnets") or []
    placed = await _looked_up(calls, "aws:ec2/getSubnet:getSubnet", {"id": subnets[0]}) if subnets else {}
    return _found("aws:elb/loadBalancer:LoadBalancer", name, name, {**read, "vpcId": placed.get("vpcId")})


def _found(type_: str, id_: str, name: str, read: Mapping[str, Any]) -> dict[str, Any]:
    known = {key: read[key] for key in ("vpcId", "subnets", "securityGroups") if read.get(key)}
    return {"type": type_, "id": id_, "name": name, "properties": {"name": read.get("name") or name, **known}}


async def _looked_up(calls: ProviderCalls, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return an object's properties; empty if there is none."""
    try:
        return await calls.invoke(token, arguments)
    except ProviderError as error:
        if any(text in str(error) for text in _NOT_FOUND):
            return {}
        raise
