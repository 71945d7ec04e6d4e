"""AWS through its provider, for programs that commands run."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.aws.images import newest
from components.aws.records import RUNNING, STOPPED, Records
from components.rollout.provider_calls import ProviderError
from operations.clouds import cloud_tables

_NOT_FOUND = ("does not exist", "NotFound", "no results", "couldn't find resource")
"""Parts of getInstance's error messages about an instance that is terminated or never existed."""


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


def text(bucket: str, key: str) -> Output[str]:
    """Return the content of an object."""
    return aws.s3.get_object_output(bucket=bucket, key=key).body


def newest_image(os: str) -> Output[str]:
    """Return the newest image of an operating system."""
    return newest(os)
