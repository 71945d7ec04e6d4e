"""The stores: bundles and status records, snapshots, and the secrets of the cluster."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.assets import asset
from components.desired_state import MEMBERS, POINTER
from components.generated import Generated
from components.plan import ClusterPlan, MachineGroup
from components.published import member_list, pointer
from components.tags import Tags
from components.upgrade import Upgrade
from components.urls import service_url

OLDER_VERSIONS: aws.s3.BucketLifecycleConfigurationRuleArgsDict = {
    "id": "older-versions",
    "status": "Enabled",
    "filter": {},
    "noncurrent_version_expiration": {"noncurrent_days": 30},
}
"""Rule of a versioned store: what was written over or deleted can be had back for 30 days, then it costs no more."""
PRINCIPALS_OVER_TLS = "DenyPlainHttp"
JSON = "application/json"
SECRETS = {
    "pki": "Authorities and keys of the control plane",
    "desired-state": "Key that authenticates the desired-state pointer",
    "join": "Bootstrap token, written by the control plane",
}


class Storage(pulumi.ComponentResource):
    """Two buckets, the bundles in one of them, and three secrets.

    Bundle objects stay when the program no longer names them: a machine may still fetch them.
    They go with their bucket. The snapshot store outlives the cluster unless that expires.
    """

    bundle_bucket: Output[str]
    """Name of the bundle store's bucket."""
    bundle_store: Output[str]
    """URL of the bundle store."""
    snapshot_store: Output[str]
    """URL of the snapshot store."""
    bundle_urls: Mapping[str, Output[str]]
    """URL of each machine group's bundle, known once it is there."""
    ca_url: Output[str]
    """URL of the CA bundle."""
    secret_names: Mapping[str, Output[str]]
    """Names of the secrets: pki, desired-state, join; known once they hold what they should."""
    arns: Output[dict[str, str]]
    """ARNs of stores (bundles, snapshots) and secrets."""
    members: pulumi.Resource
    """The list of planned members: a machine that is not on it is not let in, so it comes before machines."""

    def __init__(
        self,
        name: str,
        plan: ClusterPlan,
        generated: Generated,
        tags: Tags,
        world: str,
        upgrade: Upgrade,
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:aws:Storage", name, {"groups": [each.name for each in plan.machine_groups]}, opts)
        self._cluster, self._tags, self._guarded = name, tags, plan.spec.protect
        bundles = self._bucket("bundles", keep=False, versioned=False)
        snapshots = self._bucket("snapshots", keep=plan.spec.expires is None, versioned=True)
        self.bundle_bucket = bundles.bucket
        buckets = {"bundle_store": bundles, "snapshot_store": snapshots}
        self.bundle_store, self.snapshot_store = (
            bucket.bucket_regional_domain_name.apply(partial(service_url, fact, world=world))
            for fact, bucket in buckets.items()
        )
        made = upgrade.groups()
        self.bundle_urls = {
            each.name: self._bundle(bundles, each.name, made[each.name]) for each in plan.machine_groups
        }
        self.ca_url = self._url(self._object("ca", bundles, "ca.crt", content=generated.ca_certificate))
        reached = ResourceOptions(hooks=upgrade.hooks)
        pointed = pointer(plan, generated, upgrade, self.bundle_urls[plan.control_plane.name], self)
        self._object("desired-state", bundles, POINTER, reached, content=pointed, content_type=JSON)
        listed = member_list(plan, generated, self)
        self.members = self._object("members", bundles, MEMBERS, content=listed, content_type=JSON)
        values = {"pki": generated.control_plane_secret, "desired-state": generated.desired_state_key, "join": None}
        secrets = {key: self._secret(key, value) for key, value in values.items()}
        self.secret_names = {key: named for key, (_, named) in secrets.items()}
        self.arns = Output.all(
            bundles=bundles.arn, snapshots=snapshots.arn, **{key: secret.arn for key, (secret, _) in secrets.items()}
        )
        self.register_outputs({"bundle_store": self.bundle_store, "snapshot_store": self.snapshot_store})

    def _child(self, *, keep: bool = False) -> ResourceOptions:
        return ResourceOptions(parent=self, retain_on_delete=keep)

    def _bucket(self, purpose: str, *, keep: bool, versioned: bool) -> aws.s3.Bucket:
        """A private, encrypted bucket reached over TLS only. keep: it and its settings outlive the cluster."""
        name = f"{self._cluster}-{purpose}"
        bucket = aws.s3.Bucket(
            name,
            force_destroy=not keep,
            tags=self._tags.on(self, aws.s3.Bucket, name),
            opts=ResourceOptions.merge(self._child(keep=keep), ResourceOptions(protect=self._guarded)),
        )
        settings = self._child(keep=keep)
        closed = aws.s3.BucketPublicAccessBlock(
            name,
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=settings,
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            name,
            bucket=bucket.id,
            rules=[
                {
                    "apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"},
                    "blocked_encryption_types": ["SSE-C"],  # what S3 sets on new buckets since 2026
                }
            ],
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
            policy=bucket.arn.apply(_tls_only),
            # S3 answers 409 when both are changed at once
            opts=ResourceOptions.merge(settings, ResourceOptions(depends_on=[closed])),
        )
        return bucket

    def _object(
        self,
        name: str,
        bucket: aws.s3.Bucket,
        key: pulumi.Input[str],
        options: ResourceOptions | None = None,
        **body: pulumi.Input[Any],
    ) -> aws.s3.BucketObjectv2:
        full = f"{self._cluster}-{name}"
        return aws.s3.BucketObjectv2(
            full,
            bucket=bucket.id,
            key=key,
            tags=self._tags.on(self, aws.s3.BucketObjectv2, full, few=True),
            opts=ResourceOptions.merge(self._child(), options),
            **body,
        )

    def _url(self, stored_object: aws.s3.BucketObjectv2) -> Output[str]:
        return Output.concat(self.bundle_store, "/", stored_object.key)

    def _bundle(self, bucket: aws.s3.Bucket, name: str, group: Output[MachineGroup]) -> Output[str]:
        key = group.apply(lambda each: each.bundle.key)
        source = group.apply(lambda each: asset(each.bundle))
        return self._url(self._object(f"bundle-{name}", bucket, key, self._child(keep=True), source=source))

    def _secret(self, key: str, value: Output[str] | None) -> tuple[aws.secretsmanager.Secret, Output[str]]:
        """A secret, and its name: known once it holds its value. Auto-named: AWS keeps names of deleted secrets."""
        name = f"{self._cluster}-{key}"
        secret = aws.secretsmanager.Secret(
            name,
            description=SECRETS[key],
            tags=self._tags.on(self, aws.secretsmanager.Secret, name),
            opts=ResourceOptions(parent=self, protect=self._guarded),
        )
        if value is None:
            return secret, secret.name
        version = aws.secretsmanager.SecretVersion(
            name, secret_id=secret.id, secret_string=value, opts=ResourceOptions(parent=self)
        )
        return secret, Output.all(secret.name, version.id).apply(lambda known: known[0])


def _tls_only(arn: str) -> str:
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": PRINCIPALS_OVER_TLS,
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "s3:*",
                    "Resource": [arn, f"{arn}/*"],
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                }
            ],
        }
    )
