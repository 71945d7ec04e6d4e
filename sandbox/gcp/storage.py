"""Cloud Storage: buckets, objects, and grants on buckets."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.content import content
from sandbox.gcp import keys
from sandbox.gcp.iam import member_type
from sandbox.gcp.regions import NUMBER, REGIONS
from sandbox.records import Record

BUCKET, OBJECT = "gcp:storage/bucket:Bucket", "gcp:storage/bucketObject:BucketObject"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
NAME_LIMIT = 1024
"""Longest object name in bytes (Cloud Storage, "About Cloud Storage objects")."""
CONDITIONAL_LIMIT = 100
"""Conditional role bindings of a policy."""
POLICY_LIMIT = 64 * 1024
"""Bytes of a policy as JSON. Estimate: Google says "a few 10s of KB" (SetIamPolicyRequest). The words are ours."""
CONTINENTS = ("US", "EU", "ASIA")
KEPT_DAYS = (7, 90)
"""Least and most days of soft deletion, if enabled (Cloud Storage, "Soft delete")."""
_NAME = re.compile(r"(?!goog)(?!.*google)[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")


def _in_bucket() -> Reference:
    message = "googleapi: Error 404: The specified bucket does not exist."
    return Reference("bucket", BUCKET, "notFound", message, "vanish")


def _place(request: Request) -> None:
    location = str(request.inputs["location"]).upper()
    if location not in CONTINENTS and location.lower() not in REGIONS:
        raise Refusal("invalid", f"googleapi: Error 400: The specified location constraint is not valid. {location}")


def _kept(request: Request) -> None:
    """Check the retention of deleted objects: none, or 7 to 90 days."""
    seconds = (request.inputs.get("softDeletePolicy") or {}).get("retentionDurationSeconds")
    least, most = (days * 86400 for days in KEPT_DAYS)
    if seconds not in (None, 0) and not least <= seconds <= most:
        message = (
            f"Soft delete policy retention duration must be 0 or between {least} and {most} seconds, not {seconds}."
        )
        raise Refusal("invalid", f"googleapi: Error 400: {message}")


def _rules(request: Request) -> None:
    for rule in request.inputs.get("lifecycleRules") or []:
        kind, condition = (rule.get("action") or {}).get("type"), rule.get("condition") or {}
        if kind not in ("Delete", "SetStorageClass", "AbortIncompleteMultipartUpload"):
            raise Refusal("invalid", f"googleapi: Error 400: Invalid lifecycle action type: {kind}")
        if not condition:
            raise Refusal("invalid", "googleapi: Error 400: A lifecycle management rule must have a condition.")


def _emptied(request: Request) -> None:
    """Refuse to delete a bucket with objects or object versions; forceDestroy empties it first."""
    if request.inputs.get("forceDestroy"):
        request.cloud_state.empty_bucket(request.id)
    elif not request.cloud_state.is_empty(request.id):
        raise Refusal("conflict", "googleapi: Error 409: The bucket you tried to delete is not empty.")


def _conditional(request: Request) -> None:
    """Refuse a conditional role binding more than a policy may have. Grants of a role under a condition are one.

    Source of the limit: IAM, "Overview of IAM Conditions", which says not to add more. The words are ours.
    """
    if not request.inputs.get("condition") or request.old is not None:
        return
    bucket = request.inputs["bucket"]
    there = [one.inputs for one in request.cloud_state.resources(BUCKET_MEMBER) if one.inputs["bucket"] == bucket]
    bindings = {_binding(each) for each in (*there, request.inputs) if each.get("condition")}
    if len(bindings) > CONDITIONAL_LIMIT:
        message = f"The policy of bucket {bucket} cannot have more than {CONDITIONAL_LIMIT} conditional role bindings."
        raise Refusal("badRequest", f"googleapi: Error 400: {message}")
    members: dict[tuple[str, str], list[str]] = {}
    for each in (*there, request.inputs):
        members.setdefault(_binding(each), []).append(str(each["member"]))
    policy = [{"role": role, "members": of, "condition": json.loads(when)} for (role, when), of in members.items()]
    size = len(json.dumps({"bindings": policy}))
    if size > POLICY_LIMIT:
        message = f"The policy of bucket {bucket} has {size} bytes; it cannot have more than {POLICY_LIMIT}."
        raise Refusal("badRequest", f"googleapi: Error 400: {message}")


def _binding(inputs: Mapping[str, Any]) -> tuple[str, str]:
    return str(inputs["role"]), json.dumps(inputs.get("condition"), sort_keys=True)


def is_versioned(cloud_state: CloudState, bucket: str) -> bool:
    """Return whether a bucket keeps older versions of its objects."""
    record = cloud_state.find(BUCKET, bucket)
    return bool(record and (record.inputs.get("versioning") or {}).get("enabled"))


def _name_size(request: Request) -> None:
    size = len(request.inputs["name"].encode())
    if size > NAME_LIMIT:
        message = f"The maximum object length is {NAME_LIMIT} characters, but got a name with {size} characters."
        raise Refusal("invalid", f"googleapi: Error 400: {message}")


def _store(request: Request) -> None:
    bucket, kind = request.inputs["bucket"], request.inputs.get("contentType") or "text/plain; charset=utf-8"
    versioned = is_versioned(request.cloud_state, bucket)
    request.cloud_state.put_object(bucket, request.inputs["name"], content(request.inputs), kind, versioned=versioned)


def crc32c(data: bytes) -> int:
    """Return the CRC-32C (RFC 3720, appendix B.4) that Cloud Storage stores for each object."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _row(number: int) -> int:
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    return number


_TABLE = [_row(number) for number in range(256)]


def _object(request: Request) -> dict[str, Any]:
    data = content(request.inputs)
    digest = hashlib.md5(data, usedforsecurity=False)
    name = request.inputs["name"]
    return {
        "md5hash": base64.b64encode(digest.digest()).decode(),
        "md5hexhash": digest.hexdigest(),
        "crc32c": base64.b64encode(crc32c(data).to_bytes(4, "big")).decode(),
        "generation": int(request.digits(12, digest.hexdigest()), 16),
        "outputName": name,
        "selfLink": f"https://www.googleapis.com/storage/v1/b/{request.inputs['bucket']}/o/{name}",
        "contentType": "text/plain; charset=utf-8",
    }


def _apart(cloud_state: CloudState, record: Record) -> dict[str, str]:
    """Return a text that the provider marks as secret."""
    stored = cloud_state.object(record.inputs["bucket"], record.inputs["name"]) if "content" in record.inputs else None
    return {"content": stored.content.decode()} if stored else {}


def _base64(request: Request) -> None:
    """Check that the digest in the inputs is the content's."""
    claimed = request.inputs.get("sourceMd5hash")
    try:
        wrong = (
            claimed
            and base64.b64decode(claimed) != hashlib.md5(content(request.inputs), usedforsecurity=False).digest()
        )
    except binascii.Error:
        wrong = True
    if wrong:
        raise Refusal("invalid", "googleapi: Error 400: Provided MD5 hash does not match calculated MD5 hash.")


def _public(request: Request) -> None:
    bucket = request.cloud_state.find(BUCKET, request.inputs["bucket"])
    if bucket is None:
        return
    everyone = request.inputs["member"] in ("allUsers", "allAuthenticatedUsers")
    if everyone and bucket.outputs.get("publicAccessPrevention") == "enforced":
        message = (
            "The member bindings allUsers and allAuthenticatedUsers are not allowed since public access prevention"
        )
        raise Refusal("conditionNotMet", f"googleapi: Error 412: {message} is enforced.")
    if request.inputs.get("condition") and not bucket.inputs.get("uniformBucketLevelAccess"):
        message = "Conditional IAM policies are supported only for buckets with uniform bucket-level access."
        raise Refusal("invalid", f"googleapi: Error 400: {message}")


TYPES: dict[str, ResourceType] = {
    BUCKET: ResourceType(
        id="{in_.name}",
        immutable=(
            "name",
            "location",
            "project",
            "customPlacementConfig",
            "enableObjectRetention",
            "hierarchicalNamespace",
        ),
        chosen=(
            "name",
            "project",
            "publicAccessPrevention",
            "rpo",
            "softDeletePolicy",
            "versioning",
            "uniformBucketLevelAccess",
        ),
        fallback={"forceDestroy": False, "storageClass": "STANDARD"},
        outputs={
            "project": "{account}",
            "projectNumber": NUMBER,
            "url": "gs://{in_.name}",
            "publicAccessPrevention": "inherited",
            "timeCreated": "2026-01-01T00:00:00.000Z",
        },
        derive=lambda request: {
            "selfLink": f"{request.place.scheme or 'https'}://www.googleapis.com/storage/v1/b/{request.inputs['name']}",
            "location": str(request.inputs["location"]).upper(),
        },
        completed=("location",),
        auto_name=AutoName(limit=63, lower=True),
        patterns={
            "name": (
                _NAME,
                "3 to 63 lower-case letters, digits, dots, _ and -, a letter or digit at each end, not google",
            )
        },
        unique=(
            Unique(
                "bucket",
                ("name",),
                "conflict",
                "googleapi: Error 409: Your previous request to create the named bucket succeeded and you already own"
                " it.",
            ),
        ),
        rules=(_place, _kept, _rules, keys.bucket),
        delete_rules=(_emptied,),
    ),
    OBJECT: ResourceType(
        id="{in_.bucket}-{in_.name}",
        # the provider uploads a new text in place, and replaces an object whose file changed
        immutable=("bucket", "name", "source", "contentType", "cacheControl", "storageClass", "kmsKeyName"),
        chosen=("name", "contentType", "storageClass", "kmsKeyName", "detectMd5hash"),
        fallback={"storageClass": "STANDARD"},
        derive=_object,
        volatile=("generation", "md5hash", "md5hexhash", "crc32c"),
        auto_name=AutoName(limit=1024, digits=7),
        at_most_one=(("source", "content"),),
        at_least_one=(("source", "content"),),
        references=(_in_bucket(),),
        rules=(_name_size, _base64),
        created=_store,
        deleted=lambda request: request.cloud_state.remove_object(request.inputs["bucket"], request.inputs["name"]),
        apart=_apart,
    ),
    BUCKET_MEMBER: member_type(
        "buckets", "bucket", "b/{in_.bucket}/{in_.role}/{in_.member}", _in_bucket(), rules=(_public, _conditional)
    ),
}
