"""The provider's functions that read objects and instances."""

import re
from collections.abc import Callable
from typing import Any

from sandbox.aws.network import INSTANCE, SUBNET
from sandbox.aws.s3 import BUCKET, is_versioned
from sandbox.cloud import Place, Refusal
from sandbox.cloud_state import CloudState
from sandbox.records import Record

READABLE = re.compile(r"text/.*|application/(json|ld\+json|x-httpd-php|xhtml\+xml|x-csh|x-sh|xml|atom\+xml|x-sql|yaml)")
"""Content types whose body the provider returns (pulumi-aws, aws.s3.getObject)."""
FILTERS: dict[str, Callable[[CloudState, Record], Any]] = {
    "vpc-id": lambda cloud_state, record: _subnet(cloud_state, record).get("vpcId"),
    "subnet-id": lambda cloud_state, record: record.inputs.get("subnetId"),
    "private-ip-address": lambda cloud_state, record: record.outputs.get("privateIp"),
    "instance-type": lambda cloud_state, record: record.inputs.get("instanceType"),
}
"""Supported filters of DescribeInstances, besides tag:KEY."""


def get_object(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """s3.getObject: metadata, and the body if its content type is text."""
    _only(arguments, "bucket", "key", "range")
    bucket, key = arguments["bucket"], arguments["key"]
    stored = cloud_state.object(bucket, key)
    if stored is None:
        raise Refusal(
            "NotFound",
            f"reading S3 Bucket ({bucket}) Object ({key}): couldn't find resource",
        )
    known = {
        "arn": f"arn:aws:s3:::{bucket}/{key}",
        "bucket": bucket,
        "contentLength": len(stored.content),
        "contentType": stored.content_type,
        "etag": stored.etag,
        "id": f"{bucket}/{key}",
        "key": key,
        "lastModified": stored.modified,
        "region": place.region,
        "versionId": "" if not is_versioned(cloud_state, bucket) else stored.etag,
    }
    read = _ranged(stored.content, arguments.get("range"))
    return known | ({"body": read.decode(errors="replace")} if READABLE.fullmatch(stored.content_type) else {})


def _ranged(content: bytes, wanted: str | None) -> bytes:
    """Return the bytes of a Range header such as bytes=0-99 (RFC 9110); all of them without one."""
    if wanted is None:
        return content
    first, last = map(int, wanted.removeprefix("bytes=").split("-"))
    if first >= len(content):
        raise Refusal(
            "InvalidRange", "operation error S3: HeadObject, https response error StatusCode: 416, InvalidRange"
        )
    return content[first : last + 1]


_MOVED = "PermanentRedirect: The bucket must be addressed using the endpoint of its region"


def get_objects(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """s3.getObjects: keys below a prefix in order, at most the requested number, after `startAfter`.

    region: of the bucket, if it is another one than the provider's.
    """
    _only(arguments, "bucket", "prefix", "maxKeys", "region", "startAfter")
    bucket, prefix = arguments["bucket"], arguments.get("prefix") or ""
    region = arguments.get("region") or place.region
    found = next((each for each in cloud_state.resources(BUCKET) if each.id == bucket), None)
    if found is None:
        raise Refusal("NoSuchBucket", f"listing S3 Bucket ({bucket}) Objects: The specified bucket does not exist")
    if found.region != region:
        raise Refusal("PermanentRedirect", f"listing S3 Bucket ({bucket}) Objects: StatusCode: 301, api error {_MOVED}")
    after = arguments.get("startAfter") or ""
    keys = sorted(key for key in cloud_state.objects(bucket) if key.startswith(prefix) and key > after)
    return {
        "bucket": bucket,
        "commonPrefixes": [],
        "id": bucket,
        "keys": keys[: int(arguments.get("maxKeys") or 1000)],
        "owners": [],
        "prefix": prefix,
        "region": region,
        "requestCharged": "",
    }


def instances(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ec2.getInstances: ids and addresses by filters, tags and states. All instances of the sandbox run."""
    _only(arguments, "filters", "instanceTags", "instanceStateNames")
    tests = [(each["name"], each["values"]) for each in arguments.get("filters") or []]
    tests += [(f"tag:{key}", [value]) for key, value in (arguments.get("instanceTags") or {}).items()]
    states = arguments.get("instanceStateNames") or ["running"]
    found = [
        instance
        for instance in cloud_state.resources(INSTANCE)
        if instance.region == place.region
        and "running" in states
        and all(_passes(cloud_state, instance, *test) for test in tests)
    ]
    return {
        "filters": arguments.get("filters"),
        "id": place.region,
        "ids": [each.id for each in found],
        "instanceStateNames": states,
        "ipv6Addresses": [],
        "privateIps": [each.outputs["privateIp"] for each in found],
        "publicIps": [each.outputs["publicIp"] for each in found if each.outputs.get("publicIp")],
        "region": place.region,
    }


def instance(cloud_state: CloudState, place: Place, arguments: dict[str, Any]) -> dict[str, Any]:
    """ec2.getInstance by its id."""
    _only(arguments, "instanceId")
    found = cloud_state.find(INSTANCE, arguments["instanceId"])
    if found is None or found.region != place.region:
        raise Refusal("InvalidInstanceID.NotFound", f"The instance ID '{arguments['instanceId']}' does not exist")
    names = ("ami", "availabilityZone", "instanceState", "instanceType", "privateIp", "publicIp", "subnetId")
    known = {name: found.outputs.get(name) for name in names}
    return known | {"id": found.id, "instanceId": found.id, "launchTime": found.created, "tags": found.tags}


def _only(arguments: dict[str, Any], *known: str) -> None:
    """Refuse arguments that the sandbox does not support."""
    if more := sorted(set(arguments) - {*known, "region"}):
        raise Refusal("InvalidArgument", f"the sandbox supports {', '.join(known)}, not {', '.join(more)}")


def _passes(cloud_state: CloudState, record: Record, name: str, values: list[str]) -> bool:
    if name.startswith("tag:"):
        return record.tags.get(name.removeprefix("tag:")) in values
    if name not in FILTERS:
        raise Refusal("InvalidParameterValue", f"The filter '{name}' is invalid")
    return FILTERS[name](cloud_state, record) in values


def _subnet(cloud_state: CloudState, record: Record) -> dict[str, Any]:
    found = cloud_state.find(SUBNET, record.inputs.get("subnetId") or "")
    return found.inputs if found else {}


READS: dict[str, Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]] = {
    "aws:s3/getObject:getObject": get_object,
    "aws:s3/getObjects:getObjects": get_objects,
    "aws:ec2/getInstances:getInstances": instances,
    "aws:ec2/getInstance:getInstance": instance,
}
