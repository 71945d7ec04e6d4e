"""Stores: private, encrypted, reached only over TLS. GCP and Azure always encrypt, and GCP accepts only TLS.

The bucket of a cluster's issuer, on Azure its website, has two documents that everybody may read, and nothing else.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from components.spec.pod_identity import DISCOVERY, KEYS
from policies.rules.rule import OBJECTS, UNKNOWN, Resource, StackRule, at, document, items

BUCKET = "aws:s3/bucket:Bucket"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
CLOSED = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
POLICY = "aws:s3/bucketPolicy:BucketPolicy"
HTTP: tuple[Any, ...] = (["false"], [False], [["false"]])
"""Values of the condition that deny plain HTTP."""
BLOCKS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def _encrypts(setting: Resource) -> bool:
    return setting.properties.get("rules") is UNKNOWN or any(
        encryption.get("sseAlgorithm")
        for rule in items(setting.properties, "rules")
        for encryption in items(rule, "applyServerSideEncryptionByDefault")
    )


def _closes(setting: Resource) -> bool:
    return all(setting.properties.get(each) in (True, UNKNOWN) for each in BLOCKS)


def _wants_tls(setting: Resource) -> bool:
    written = setting.properties.get("policy")
    if written is UNKNOWN:  # unknown because it contains the bucket's ARN
        return True
    return any(_denies_http(each) for each in items(document(written), "Statement"))


def _denies_http(statement: Mapping[str, Any]) -> bool:
    condition = [each.get("aws:SecureTransport") for it in items(statement, "Condition") for each in items(it, "Bool")]
    return (
        statement.get("Effect") == "Deny"
        and statement.get("Principal") in ("*", {"AWS": "*"})
        and statement.get("Action") in ("s3:*", "*", ["s3:*"])
        and condition in HTTP
    )


def _is_issuer(closed: Resource | None, policy: Resource | None, names: Collection[Any]) -> bool:
    """Return whether a bucket has the issuer's documents alone, and its policy opens these to reads alone.

    names: of its objects.
    """
    if not names or not {*names} <= {DISCOVERY, KEYS} or closed is None or policy is None:
        return False
    if not all(closed.properties.get(each) is True for each in BLOCKS if each.endswith("Acls")):
        return False
    written = policy.properties.get("policy")
    return written is UNKNOWN or all(map(_opens_documents, items(document(written), "Statement")))


def _opens_documents(statement: Mapping[str, Any]) -> bool:
    """Return whether a statement denies, or allows reads of the issuer's documents alone."""
    if statement.get("Effect") == "Deny":
        return True
    resources = statement.get("Resource")
    named = [str(each).partition("/")[2] for each in (resources if isinstance(resources, list) else [resources])]
    return statement.get("Action") in ("s3:GetObject", ["s3:GetObject"]) and {*named} <= {DISCOVERY, KEYS}


SETTINGS = {
    ENCRYPTION: (_encrypts, "has no encryption setting"),
    CLOSED: (_closes, "does not block public access in all four ways"),
    POLICY: (_wants_tls, "has no policy that denies plain HTTP (aws:SecureTransport)"),
}
"""By type of a bucket's required setting: its test, and the violation without it."""


OWN: dict[str, tuple[tuple[str, Any], ...]] = {
    "gcp:storage/bucket:Bucket": (("uniformBucketLevelAccess", True), ("publicAccessPrevention", "enforced")),
    "azure-native:storage:StorageAccount": (
        ("allowBlobPublicAccess", False),
        ("enableHttpsTrafficOnly", True),
        ("minimumTlsVersion", "TLS1_2"),
        ("networkRuleSet.defaultAction", "Deny"),
    ),
    "azure-native:keyvault:Vault": (
        ("properties.enableRbacAuthorization", True),
        ("properties.networkAcls.defaultAction", "Deny"),
    ),
}
"""By type of store: paths and required values."""


ACCOUNT, CONTAINER = "azure-native:storage:StorageAccount", "azure-native:storage:BlobContainer"
BLOB, SITE = "azure-native:storage:Blob", "azure-native:storage:StorageAccountStaticWebsite"
OPEN = "networkRuleSet.defaultAction"
"""The one required value that the account of an issuer's website does not have."""


def _is_website(parts: Collection[Resource]) -> bool:
    """Return whether a storage account has the issuer's documents alone, in its website. parts: what it has."""
    kinds = {each.type for each in parts}
    names = {each.properties.get("blobName") for each in parts if each.type == BLOB}
    return SITE in kinds and CONTAINER not in kinds and bool(names) and names <= {DISCOVERY, KEYS}


def _parts(resources: Collection[Resource], path: str) -> dict[str, list[Resource]]:
    """Return the settings and objects of stores by URN. path: the input that names the store."""
    found: dict[str, list[Resource]] = {}
    for each in resources:
        for urn in each.inputs_from.get(path, ()):
            found.setdefault(urn, []).append(each)
    return found


def _stores(resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
    of_account = _parts(resources, "accountName")
    for store in resources:
        for path, wanted in OWN.get(store.type, ()):
            if at(store.properties, path) in (wanted, UNKNOWN):
                continue
            if path != OPEN or store.type != ACCOUNT or not _is_website(of_account.get(store.urn, [])):
                yield store, f"{path} is not {wanted}; others could read its contents"
    of_bucket = _parts(resources, "bucket")
    for bucket in resources:
        if bucket.type == BUCKET:
            yield from ((bucket, wrong) for wrong in _bucket(of_bucket.get(bucket.urn, [])))


def _bucket(parts: Collection[Resource]) -> Iterator[str]:
    """Yield what is wrong with a bucket's settings. parts: its settings and objects."""
    settings = {each.type: each for each in parts if each.type in SETTINGS}
    names = {each.properties.get(OBJECTS[each.type]) for each in parts if each.type in OBJECTS}
    public = _is_issuer(settings.get(CLOSED), settings.get(POLICY), names)
    for kind, (holds, wrong) in SETTINGS.items():
        setting = settings.get(kind)
        if (setting is None or not holds(setting)) and not (public and kind == CLOSED):
            yield f"{wrong}; add a {kind.rpartition(':')[2]}"


RULES = (StackRule("stores-encrypted", "Stores are private, encrypted, and reached over TLS only.", _stores),)
