"""Azure through its provider, for programs that commands run; functions as in operations/clouds/aws.py.

A bucket is a blob container, named by its id.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pulumi
from pulumi import Output, ResourceOptions
from pulumi.runtime.settings import get_root_resource
from pulumi_azure_native import _utilities, storage

from components.azure.records import Blobs, Records, parts, runs
from components.rollout.provider_calls import ProviderCalls, ProviderError
from operations.clouds import cloud_tables


def records(parent: pulumi.Resource, bucket: str) -> Records:
    """Return the reader of machines' status records in the bundle store."""
    return Records(parent=parent, container=Output.from_input(bucket))


async def not_running(records: Records, machine: Mapping[str, Any]) -> str:
    """Return as aws.not_running does. A machine of the same name with another vmId is a successor: GONE."""
    group = parts(await records.container.future() or "")["group"]
    asked = {"resourceGroupName": group, "vmName": machine["name"], "expand": "instanceView"}
    try:
        found = await records.blobs.calls.find("azure-native:compute:getVirtualMachine", asked)
    except ProviderError:
        return ""
    if found.get("vmId") != machine["id"]:
        return cloud_tables.GONE
    return "" if runs(found) else cloud_tables.STOPPED


def put(name: str, bucket: str, key: str, content: str, opts: ResourceOptions | None = None) -> pulumi.Resource:
    """Create a blob with a JSON document in a container."""
    known = parts(bucket)
    return storage.Blob(
        name,
        resource_group_name=known["group"],
        account_name=known["account"],
        container_name=known["container"],
        blob_name=key,
        source=pulumi.StringAsset(content),
        content_type="application/json",
        opts=opts,
    )


def keys(bucket: str, prefix: str) -> Output[Any]:
    """Return the names of a container's blobs with this prefix."""
    return Output.from_input(names(_blobs(bucket), prefix))


async def names(blobs: Blobs, prefix: str) -> list[str]:
    """Return the names of blobs with this prefix, in order. Raises ProviderError if the store does not answer."""
    found, marker = list[str](), ""
    while True:
        asked = f"restype=container&comp=list&prefix={quote(prefix, safe='')}&marker={quote(marker, safe='')}"
        # the page comes from Azure over TLS; the standard library's parser reads no external entities
        page = ElementTree.fromstring(await blobs.get("", f"{asked}&"))  # noqa: S314
        found += [each.text or "" for each in page.iterfind("Blobs/Blob/Name")]
        marker = page.findtext("NextMarker") or ""
        if not marker:
            return found


def text(bucket: str, key: str) -> Output[str]:
    """Return the content of a blob."""
    return Output.from_input(_blobs(bucket).text(key))


def _blobs(bucket: str) -> Blobs:
    root = get_root_resource()
    if root is None:
        raise RuntimeError("call this inside a Pulumi program only")
    return Blobs(ProviderCalls(root, _utilities.get_version()), Output.from_input(bucket))
