"""S3 buckets, their settings, objects."""

import re
from typing import Any

from sandbox.aws import keys
from sandbox.aws.iam import document
from sandbox.aws.quotas import QUOTAS
from sandbox.aws.regions import REGIONS
from sandbox.aws.tags import tag_rule
from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState, object_etag
from sandbox.content import content

KEY_LIMIT = 1024
"""Longest object key in bytes (Amazon S3 user guide, "Naming Amazon S3 objects")."""
ACCESS_BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
BUCKET, VERSIONING = "aws:s3/bucket:Bucket", "aws:s3/bucketVersioning:BucketVersioning"
OBJECT, BUCKET_POLICY = "aws:s3/bucketObjectv2:BucketObjectv2", "aws:s3/bucketPolicy:BucketPolicy"


def _namespace(request: Request) -> None:
    """Refuse a name that is not of its namespace (Amazon S3 user guide, "Namespaces for general purpose buckets")."""
    region, own = request.region, request.inputs.get("bucketNamespace") == "account-regional"
    end = request.format("-{account}-") + f"{region}-an"
    if own and region in ("me-south-1", "me-central-1"):
        raise Refusal("InvalidArgument", f"Account regional namespaces are not available in {region}")
    if own != request.inputs["bucket"].endswith("-an"):
        what = f"must end with {end}" if own else "must not end with -an in the global namespace"
        raise Refusal("InvalidBucketName", f"The specified bucket is not valid: its name {what}")
    if own and not request.inputs["bucket"].endswith(end):
        raise Refusal("InvalidBucketName", f"The specified bucket is not valid: its name must end with {end}")


def _in_bucket() -> Reference:
    return Reference("bucket", BUCKET, "NoSuchBucket", "The specified bucket does not exist: {id}", "vanish")


def _bucket(request: Request) -> dict[str, Any]:
    region, name = request.region, request.inputs["bucket"]
    return {
        "bucketDomainName": f"{name}.s3.amazonaws.com",
        "bucketRegionalDomainName": request.place.url(f"{name}.s3.{region}.amazonaws.com"),
        "hostedZoneId": REGIONS[region].bucket,
        "bucketRegion": region,
    }


def _emptied(request: Request) -> None:
    """Refuse to delete a bucket with objects or object versions; forceDestroy empties it first."""
    if request.inputs.get("forceDestroy"):
        request.cloud_state.empty_bucket(request.id)
    elif not request.cloud_state.is_empty(request.id):
        raise Refusal(
            "BucketNotEmpty",
            f"The bucket you tried to delete is not empty: {request.id}. You must delete all versions in the bucket.",
        )


def _policy(request: Request) -> None:
    try:
        statements = document(request.inputs["policy"])["Statement"]
    except Refusal as refusal:
        raise Refusal("MalformedPolicy", refusal.message) from None
    if not all({"Principal", "NotPrincipal"} & set(statement) for statement in statements):
        raise Refusal("MalformedPolicy", "Missing required field Principal")
    arn = f"arn:aws:s3:::{request.inputs['bucket']}"
    for statement in statements:
        resources = statement.get("Resource") or []
        for resource in resources if isinstance(resources, list) else [resources]:
            if resource not in ("*", arn) and not resource.startswith(f"{arn}/"):
                raise Refusal("MalformedPolicy", f"Policy has invalid resource: {resource}")
    _not_public(request, statements)


def is_blocked(cloud_state: CloudState, bucket: str, setting: str) -> bool:
    """Return whether a setting of a bucket's public access block is on."""
    block = cloud_state.find(ACCESS_BLOCK, bucket)
    return block is None or bool(block.inputs.get(setting))


def _not_public(request: Request, statements: list[dict[str, Any]]) -> None:
    """Refuse a public policy on a bucket with a public access block; a new bucket has one until it is opened.

    Source: Amazon S3 user guide, "Blocking public access to your Amazon S3 storage": on by default since April 2023.
    """
    everyone = ("*", {"AWS": "*"}, {"AWS": ["*"]})
    public = any(
        statement["Effect"] == "Allow" and statement.get("Principal") in everyone and not statement.get("Condition")
        for statement in statements
    )
    if public and is_blocked(request.cloud_state, request.inputs["bucket"], "blockPublicPolicy"):
        raise Refusal(
            "AccessDenied",
            "public policies are prevented by the BlockPublicPolicy setting in S3 Block Public Access",
        )


def _expiry(request: Request) -> None:
    for rule in request.inputs.get("rules") or []:
        days = (rule.get("expiration") or {}).get("days")
        if days is not None and days < 1:
            raise Refusal("InvalidArgument", "'Days' for Expiration action must be a positive integer")
    ids = [rule.get("id") for rule in request.inputs.get("rules") or []]
    if len(set(ids)) < len(ids):
        raise Refusal("InvalidArgument", "Rule ID must be unique. Found same ID for more than one rule")


def _key(request: Request) -> None:
    size = len(request.inputs["key"].encode())
    if size > KEY_LIMIT:
        raise Refusal("KeyTooLongError", f"Your key is too long: {size} bytes, at most {KEY_LIMIT}")


def is_versioned(cloud_state: CloudState, bucket: str) -> bool:
    """Return whether a bucket keeps older versions of its objects."""
    record = cloud_state.find(VERSIONING, bucket)
    return record is not None and record.inputs["versioningConfiguration"]["status"] == "Enabled"


def _store(request: Request) -> None:
    bucket, key = request.inputs["bucket"], request.inputs["key"]
    kind = request.inputs.get("contentType") or "application/octet-stream"
    request.cloud_state.put_object(
        bucket,
        key,
        content(request.inputs),
        kind,
        versioned=is_versioned(request.cloud_state, request.inputs["bucket"]),
    )


def _object(request: Request) -> dict[str, Any]:
    data = content(request.inputs)
    version = request.digits(32, str(data)) if is_versioned(request.cloud_state, request.inputs["bucket"]) else ""
    return {"etag": object_etag(data), "versionId": version, "contentType": "application/octet-stream"}


def _removed(request: Request) -> None:
    request.cloud_state.remove_object(request.inputs["bucket"], request.inputs["key"])


def _setting(*, immutable: tuple[str, ...] = ("bucket", "expectedBucketOwner"), **more: Any) -> ResourceType:
    return ResourceType(id="{in_.bucket}", immutable=immutable, references=(_in_bucket(),), **more)


TYPES: dict[str, ResourceType] = {
    BUCKET: ResourceType(
        id="{in_.bucket}",
        immutable=("bucket", "bucketPrefix", "bucketNamespace", "objectLockEnabled"),
        chosen=(
            *("bucket", "accelerationStatus", "acl", "corsRules", "grants", "lifecycleRules", "logging", "versioning"),
            *("policy", "replicationConfiguration", "requestPayer", "serverSideEncryptionConfiguration", "website"),
            *("bucketNamespace", "objectLockConfiguration", "objectLockEnabled"),
        ),
        fallback={"forceDestroy": False},
        outputs={"arn": "arn:aws:s3:::{in_.bucket}"},
        derive=_bucket,
        auto_name=AutoName("bucket", limit=63, lower=True),
        at_most_one=(("bucket", "bucketPrefix"),),
        patterns={
            "bucket": (
                re.compile(r"(?!xn--)(?!sthree-)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
                "3 to 63 lower-case letters, digits, dots and hyphens, a letter or digit at each end",
            ),
            "bucketNamespace": (re.compile("account-regional|global"), "account-regional or global"),
        },
        unique=(
            Unique(
                "bucket",
                ("bucket",),
                "BucketAlreadyOwnedByYou",
                "Your previous request to create the named bucket succeeded and you already own it: {in_.bucket}",
            ),
        ),
        rules=(_namespace, QUOTAS.at_most("buckets per account"), tag_rule("InvalidTag")),
        delete_rules=(_emptied,),
    ),
    ACCESS_BLOCK: _setting(immutable=("bucket",)),
    keys.ENCRYPTION: _setting(
        patterns={
            "rules[].applyServerSideEncryptionByDefault.sseAlgorithm": (
                re.compile("AES256|aws:kms|aws:kms:dsse"),
                "AES256, aws:kms or aws:kms:dsse",
            )
        }
    ),
    VERSIONING: _setting(
        patterns={
            "versioningConfiguration.status": (
                re.compile("Enabled|Suspended|Disabled"),
                "Enabled, Suspended or Disabled",
            )
        }
    ),
    BUCKET_POLICY: _setting(immutable=("bucket",), documents=("policy",), rules=(_policy,)),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _setting(
        chosen=("transitionDefaultMinimumObjectSize",),
        rules=(_expiry,),
    ),
    OBJECT: ResourceType(
        id="{in_.bucket}/{in_.key}",
        immutable=("bucket", "key"),
        chosen=("key", "etag", "contentType", "serverSideEncryption", "storageClass", "kmsKeyId", "bucketKeyEnabled"),
        fallback={"forceDestroy": False},
        outputs={
            "arn": "arn:aws:s3:::{in_.bucket}/{in_.key}",
            "serverSideEncryption": "AES256",
            "storageClass": "STANDARD",
        },
        derive=_object,
        volatile=("versionId", "etag"),
        auto_name=AutoName("key", limit=1024, digits=0),
        at_most_one=(("source", "content", "contentBase64"),),
        references=(_in_bucket(),),
        rules=(_key, tag_rule("InvalidTag", limit=10), keys.check_object),
        created=_store,
        deleted=_removed,
    ),
}
