"""Stores: private, encrypted, reached over TLS. GCP and Azure encrypt always, and GCP has no other way than TLS."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from policies.rules.rule import UNKNOWN, Resource, StackRule, at, document, items

BUCKET = "aws:s3/bucket:Bucket"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
CLOSED = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
POLICY = "aws:s3/bucketPolicy:BucketPolicy"
HTTP: tuple[Any, ...] = (["false"], [False], [["false"]])
"""Ways to write the condition's value."""
BLOCKS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def _encrypts(setting: Resource) -> bool:
    return setting.properties.get("rules") is UNKNOWN or any(
        each.get("sseAlgorithm")
        for rule in items(setting.properties, "rules")
        for each in items(rule, "applyServerSideEncryptionByDefault")
    )


def _closes(setting: Resource) -> bool:
    return all(setting.properties.get(each) in (True, UNKNOWN) for each in BLOCKS)


def _wants_tls(setting: Resource) -> bool:
    written = setting.properties.get("policy")
    if written is UNKNOWN:  # it names the bucket's ARN
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


SETTINGS = {
    ENCRYPTION: (_encrypts, "is not encrypted by a setting of its own"),
    CLOSED: (_closes, "does not block public access in all four ways"),
    POLICY: (_wants_tls, "has no policy that denies plain HTTP (aws:SecureTransport)"),
}
"""What each bucket has: a test of the setting, and what is wrong without it."""


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
"""What a store says of itself, by type: path and value."""


def _stores(resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
    settings: dict[tuple[str, str], Resource] = {}
    for each in resources:
        if each.type in SETTINGS:
            settings |= {(urn, each.type): each for urn in each.inputs_from.get("bucket", ())}
    for store in resources:
        for path, wanted in OWN.get(store.type, ()):
            if at(store.properties, path) not in (wanted, UNKNOWN):
                yield store, f"{path} is not {wanted}; others could reach what is in it"
    for bucket in resources:
        if bucket.type == BUCKET:
            for kind, (holds, wrong) in SETTINGS.items():
                setting = settings.get((bucket.urn, kind))
                if setting is None or not holds(setting):
                    yield bucket, f"{wrong}; give it a {kind.rpartition(':')[2]}"


RULES = (StackRule("stores-encrypted", "Stores are private, encrypted, and reached over TLS only.", _stores),)
