"""Rows of the cloud state: resources, calls, objects, boots, faults."""

from dataclasses import dataclass
from typing import Any

ALL_TAGS = {"tagsAll": "tags", "effectiveLabels": "labels", "pulumiLabels": "labels"}
"""Outputs with own and default tags, and the input with a resource's own tags; Azure has none."""


@dataclass(frozen=True)
class Record:
    """One resource of the cloud. `outputs` holds the inputs too; secret values are redacted in both."""

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
        """Return own and default tags (labels on GCP)."""
        candidates = (self.outputs.get(name) for name in (*ALL_TAGS, "tags"))
        return next((tags for tags in candidates if tags is not None), {})


@dataclass(frozen=True)
class Operation:
    """One call: kind is create, update or delete; error is None if it succeeded."""

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
    """The newest version of an object in a bucket. versions: number of stored versions."""

    bucket: str
    key: str
    content: bytes
    etag: str
    content_type: str
    modified: str
    versions: int


@dataclass(frozen=True)
class Boot:
    """Simulated boot of an instance.

    state: ready (its status record is written), baked (it has stopped, to become an image), waiting (it retries; reason
    says why it cannot boot), or dead (it does not retry). bundle: sha256 of its bundle.
    """

    instance: str
    machine: str
    bundle: str
    state: str
    reason: str
    at: str


@dataclass(frozen=True)
class Fault:
    """A planned fault; see sandbox/faults.py for kinds and amounts.

    type: a type's token or class name; None: any type. nth: number of the matching call, counted from now.
    times: number of calls in a row.
    """

    sequence: int
    kind: str
    type: str | None
    nth: int
    amount: float
    times: int


def object_place(record: Record) -> tuple[str, str] | None:
    """Return bucket and key if the resource is an object in a store, else None."""
    outputs = record.outputs
    if record.type.rsplit(":", 1)[-1] not in ("BucketObjectv2", "BucketObject", "Blob"):
        return None
    if "containerName" in outputs:
        return f"{outputs['accountName']}/{outputs['containerName']}", outputs["blobName"]
    return outputs["bucket"], outputs.get("key") or outputs["name"]


def bucket_name(record: Record) -> str:
    """Return the bucket name in the cloud state's objects, for a resource that is a bucket or a container."""
    if record.type.endswith(":BlobContainer"):
        return f"{record.outputs['accountName']}/{record.outputs['containerName']}"
    return record.id


def secret_version(record: Record) -> tuple[str, str | None]:
    """Return the key of a secret in the cloud state, and the version if the resource is one version of a secret."""
    if record.type.endswith("keyvault:Secret"):
        return f"https://{record.outputs['vaultName']}.vault.azure.net/secrets/{record.outputs['secretName']}", None
    secret, version = record.id, None
    for sign in ("|", "/versions/"):
        if sign in record.id:
            secret, _, version = record.id.rpartition(sign)
    return secret, version
