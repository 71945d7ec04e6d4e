"""GCP through its provider, for programs that commands run; functions as in operations/clouds/aws.py."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions
from pulumi_gcp import _utilities

from components.gcp.images import newest
from components.gcp.records import STOPPED, Records
from components.rollout.provider_calls import ProviderCalls, ProviderError
from components.sdk.registration import run_in_thread
from operations.clouds import cloud_tables, google_lists
from operations.clouds.api import ApiError
from operations.clouds.bearer import Requests
from operations.clouds.driver_made import Made
from operations.console.exits import Stop


def records(parent: pulumi.Resource, bucket: str) -> Records:
    """Return the reader of machines' status records in the bundle store."""
    return Records(parent=parent, bucket=Output.from_input(bucket))


async def not_running(records: Records, machine: Mapping[str, Any]) -> str:
    """Return as aws.not_running does. An instance of the same name with another number is a successor: GONE."""
    asked = {"name": machine["name"], "zone": machine["zone"]}
    try:
        found = await records.calls.find("gcp:compute/getInstance:getInstance", asked)
    except ProviderError:
        return ""
    if str(found.get("instanceId")) != str(machine["id"]):
        return cloud_tables.GONE
    return cloud_tables.STOPPED if found["currentStatus"] in STOPPED else ""


def put(name: str, bucket: str, key: str, content: str, opts: ResourceOptions | None = None) -> pulumi.Resource:
    """Create an object with a JSON document in a bucket."""
    body: Any = {"name": key, "content": content, "content_type": "application/json"}
    return gcp.storage.BucketObject(name, bucket=bucket, opts=opts, **body)


def keys(bucket: str, prefix: str) -> Output[Any]:
    """Return the names of a bucket's objects with this prefix."""
    found = gcp.storage.get_bucket_objects_output(bucket=bucket, prefix=prefix).bucket_objects
    return found.apply(lambda rows: [each.name for each in rows or []])


def text(bucket: str, key: str) -> Output[str]:
    """Return the content of an object."""
    return gcp.storage.get_bucket_object_content_output(bucket=bucket, name=key).content


def newest_image(os: str) -> Output[str]:
    """Return the newest image of an operating system."""
    return newest(os)


async def made_by_driver(parent: pulumi.Resource, cluster: str, keep: str) -> dict[str, dict[str, Made]]:
    """Return as aws.made_by_driver does; ids are paths such as projects/P/zones/Z/disks/NAME.

    The provider has no function that lists disks: the API is asked with the provider's own token.
    """
    calls = ProviderCalls(parent, _utilities.get_version())
    client = await calls.invoke("gcp:organizations/getClientConfig:getClientConfig", {})
    requests = Requests(client["accessToken"])
    try:
        return await run_in_thread(google_lists.made_by_driver, requests, client["project"], cluster, keep)
    except (ApiError, Stop) as error:
        raise ProviderError(f"disks and snapshots of {client['project']} cannot be listed: {error}") from error
    finally:
        requests.close()
