"""What the world tells of itself: things, calls, objects, boots, faults."""

from dataclasses import dataclass
from typing import Any

ALL_TAGS = {"tagsAll": "tags", "effectiveLabels": "labels", "pulumiLabels": "labels"}
"""Outputs that hold tags with a provider's default ones, and the input that holds a thing's own; none on Azure."""


@dataclass(frozen=True)
class Record:
    """One thing in the cloud. `outputs` holds the inputs too; secret values are redacted in both."""

    sequence: int
    type: str
    id: str
    name: str
    urn: str
    region: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    created: str

    @property
    def tags(self) -> dict[str, str]:
        """Tags (labels on GCP) with the provider's default ones."""
        found = (self.outputs.get(name) for name in (*ALL_TAGS, "tags"))
        return next((tags for tags in found if tags is not None), {})


@dataclass(frozen=True)
class Operation:
    """One call the cloud was asked for: kind is create, update or delete; error is None where it was done."""

    sequence: int
    kind: str
    type: str
    urn: str
    id: str
    simulated_seconds: float
    error: str | None
    at: str


@dataclass(frozen=True)
class ObjectRecord:
    """The newest version of an object in a bucket; versions counts those kept."""

    bucket: str
    key: str
    content: bytes
    etag: str
    content_type: str
    modified: str
    versions: int


@dataclass(frozen=True)
class Boot:
    """How far the machine of an instance got.

    state: ready (its status record is written), waiting (it tries again; reason says what is in its way), or dead
    (trying again would not help). bundle is the sha256 it was given.
    """

    instance: str
    machine: str
    bundle: str
    state: str
    reason: str
    at: str


@dataclass(frozen=True)
class Fault:
    """A fault that one planned: see sandbox/faults.py for kinds and amounts.

    type: a type's token or class name, None for any. nth: which matching call it comes at, counted from now.
    times: how many calls in a row.
    """

    sequence: int
    kind: str
    type: str | None
    nth: int
    amount: float
    times: int


def object_place(record: Record) -> tuple[str, str] | None:
    """Bucket and key of a thing that is an object in a store; None for any other."""
    given = record.outputs
    if record.type.rsplit(":", 1)[-1] not in ("BucketObjectv2", "BucketObject", "Blob"):
        return None
    if "containerName" in given:
        return f"{given['accountName']}/{given['containerName']}", given["blobName"]
    return given["bucket"], given.get("key") or given["name"]


def bucket_name(record: Record) -> str:
    """What the world calls a thing's objects, if it is a bucket or a container."""
    given = record.outputs
    return f"{given['accountName']}/{given['containerName']}" if record.type.endswith(":BlobContainer") else record.id


def secret_version(record: Record) -> tuple[str, str | None]:
    """What the world calls a thing's secret values, if it is a secret, or one version of one."""
    if record.type.endswith("keyvault:Secret"):
        return f"https://{record.outputs['vaultName']}.vault.azure.net/secrets/{record.outputs['secretName']}", None
    secret, version = record.id, None
    for sign in ("|", "/versions/"):
        if sign in record.id:
            secret, _, version = record.id.rpartition(sign)
    return secret, version
