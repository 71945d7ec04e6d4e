"""Buckets for bundles and status records and for snapshots, and the cluster's secrets."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.aws.policy import document
from components.machine.issuer import Issuer
from components.machine.service_urls import service_url
from components.wiring.context import ClusterContext
from components.wiring.kept_secrets import with_issuer
from components.wiring.stores import OLDER_DAYS, Content, Stores, after

OLDER_VERSIONS: aws.s3.BucketLifecycleConfigurationRuleArgsDict = {
    "id": "older-versions",
    "status": "Enabled",
    "filter": {},
    "noncurrent_version_expiration": {"noncurrent_days": OLDER_DAYS},
    "abort_incomplete_multipart_upload": {"days_after_initiation": 1},
}
"""Lifecycle rule of a versioned bucket."""
PRINCIPALS_OVER_TLS = "DenyPlainHttp"
SECRETS = {
    "pki": "Authorities and keys of the control plane",
    "desired-state": "Key that authenticates the desired-state pointer",
    "join": "Bootstrap token, written by the control plane",
}


class Storage(Stores):
    """Two buckets, the bundles in one of them, and three secrets."""

    bundle_bucket: Output[str]
    """Name of the bundle store's bucket."""
    secret_names: Mapping[str, Output[str]]
    """Names of the secrets pki, desired-state and join; each resolves once the secret has its value."""
    arns: Output[dict[str, str]]
    """ARNs of the buckets (bundles, snapshots) and secrets, by purpose."""

    def __init__(
        self,
        context: ClusterContext,
        checked: Output[list[str]],
        issuer: Output[Issuer] | None,
        opts: ResourceOptions | None = None,
    ) -> None:
        """checked: resolves once the layout's check has passed; no bucket or secret gets another key before it.

        issuer: of the cluster's tokens, for the secret pki.
        """
        plan = context.plan
        groups, owned = [group.name for group in plan.machine_groups], not plan.joins
        super().__init__("mullion:aws:Storage", plan.name, {"groups": groups}, opts)
        self._cluster, self._tags, self._guarded = plan.name, context.tags, plan.spec.protect
        self._key, self._checked = plan.spec.encryption_key, checked
        bundles, encrypted = self._bucket("bundles", keep=False, versioned=False)
        # an object written before the bucket's setting would be encrypted with S3's key
        self.bundle_bucket, self._bucket_id = bundles.bucket, encrypted.bucket
        buckets = {"bundles": bundles}
        if owned:
            buckets["snapshots"], _ = self._bucket("snapshots", keep=plan.spec.expires is None, versioned=True)
        stores = {
            purpose: bucket.bucket_regional_domain_name.apply(
                partial(service_url, f"{purpose[:-1]}_store", target=context.target)
            )
            for purpose, bucket in buckets.items()
        }
        self.bundle_store, self.snapshot_store = stores["bundles"], stores.get("snapshots", Output.from_input(""))
        secrets = {key: self._secret(key) for key in SECRETS if owned or key == "join"}
        texts = dict(context.secrets.stored)
        if issuer:
            texts["pki"] = with_issuer(texts["pki"], issuer)
        values = {key: self._value(key, secrets[key], value) for key, value in texts.items()}
        self._publish(context, [*values.values()])
        self.secret_names = {key: after(values.get(key), secret.name) for key, secret in secrets.items()}
        self.arns = Output.all(**{key: each.arn for key, each in (*buckets.items(), *secrets.items())})
        self.register_outputs({"bundle_store": self.bundle_store, "snapshot_store": self.snapshot_store})

    def _child(self, *, keep: bool = False) -> ResourceOptions:
        return ResourceOptions(parent=self, retain_on_delete=keep)

    def _bucket(
        self, purpose: str, *, keep: bool, versioned: bool
    ) -> tuple[aws.s3.Bucket, aws.s3.BucketServerSideEncryptionConfiguration]:
        """Return a private, encrypted, TLS-only bucket and its encryption. keep: both outlive the cluster."""
        name = f"{self._cluster}-{purpose}"
        bucket = aws.s3.Bucket(
            name,
            force_destroy=not keep,
            tags=self._tags.on(self, aws.s3.Bucket, name),
            opts=ResourceOptions.merge(self._child(keep=keep), ResourceOptions(protect=self._guarded)),
        )
        settings = self._child(keep=keep)
        closed = closed_to_public(name, bucket, settings)
        encrypted = aws.s3.BucketServerSideEncryptionConfiguration(
            name,
            bucket=bucket.id,
            rules=self._checked.apply(lambda _: [encryption(self._key)]),
            opts=settings,
        )
        if versioned:
            kept = aws.s3.BucketVersioning(
                name, bucket=bucket.id, versioning_configuration={"status": "Enabled"}, opts=settings
            )
            aws.s3.BucketLifecycleConfiguration(
                name,
                bucket=bucket.id,
                rules=[OLDER_VERSIONS],
                opts=ResourceOptions.merge(settings, ResourceOptions(depends_on=[kept])),
            )
        aws.s3.BucketPolicy(
            name,
            bucket=bucket.id,
            policy=bucket.arn.apply(lambda arn: document([tls_only(arn)])),
            # S3 answers 409 if both change at once
            opts=ResourceOptions.merge(settings, ResourceOptions(depends_on=[closed])),
        )
        return bucket, encrypted

    def _put(self, content: Content) -> tuple[pulumi.Resource, Output[str]]:
        full = f"{self._cluster}-{content.name}"
        stored = aws.s3.BucketObjectv2(
            full,
            bucket=self._bucket_id,
            key=content.key,
            content=content.text,
            source=content.asset,
            content_type=content.content_type,
            tags=self._tags.on(self, aws.s3.BucketObjectv2, full, few=True),
            override_provider={"default_tags": {"tags": {}}},  # S3 takes ten tags of an object
            opts=ResourceOptions.merge(self._child(), content.options),
        )
        return stored, stored.key

    def _secret(self, key: str) -> aws.secretsmanager.Secret:
        """Return a secret without a value. Auto-named, because AWS keeps the names of deleted secrets."""
        name = f"{self._cluster}-{key}"
        return aws.secretsmanager.Secret(
            name,
            description=self._checked.apply(lambda _: SECRETS[key]),
            kms_key_id=self._key,
            tags=self._tags.on(self, aws.secretsmanager.Secret, name),
            opts=ResourceOptions(parent=self, protect=self._guarded),
        )

    def _value(
        self, key: str, secret: aws.secretsmanager.Secret, value: Output[str]
    ) -> aws.secretsmanager.SecretVersion:
        return aws.secretsmanager.SecretVersion(
            f"{self._cluster}-{key}", secret_id=secret.id, secret_string=value, opts=ResourceOptions(parent=self)
        )


def closed_to_public(name: str, bucket: aws.s3.Bucket, opts: ResourceOptions) -> aws.s3.BucketPublicAccessBlock:
    """Register that no policy and no access list makes a bucket public."""
    return aws.s3.BucketPublicAccessBlock(
        name,
        bucket=bucket.id,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=opts,
    )


def encryption(key: str | None) -> Any:
    """Return the rule of a bucket's encryption by default. key: ARN of the user's key; None: S3's own."""
    default = {"sse_algorithm": "aws:kms", "kms_master_key_id": key} if key else {"sse_algorithm": "AES256"}
    return {
        "apply_server_side_encryption_by_default": default,
        # a key for the bucket, which S3 derives: one call of KMS for many objects instead of one for each
        **({"bucket_key_enabled": True} if key else {}),
        "blocked_encryption_types": ["SSE-C"],  # S3's default for new buckets since 2026
    }


def tls_only(arn: str) -> dict[str, Any]:
    """Return the statement that denies plain HTTP on a bucket and its objects."""
    return {
        "Sid": PRINCIPALS_OVER_TLS,
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
