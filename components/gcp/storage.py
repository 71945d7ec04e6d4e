"""The stores: bundles and status records, snapshots, and the secrets of the cluster."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import pulumi
import pulumi_gcp as gcp
from pulumi import Input, Output, ResourceOptions

from components.assets import asset
from components.desired_state import MEMBERS, POINTER
from components.generated import Generated
from components.plan import ClusterPlan, MachineGroup
from components.published import member_list, pointer
from components.tags import Tags
from components.upgrade import Upgrade
from components.urls import service_url

HOST, SECRETS_HOST, COMPUTE_HOST = "storage.googleapis.com", "secretmanager.googleapis.com", "compute.googleapis.com"
JSON = "application/json"
NONCURRENT_DAYS = 30
"""What was written over or deleted in a versioned store can be had back for so long, then it costs no more."""


class Storage(pulumi.ComponentResource):
    """Two buckets, the bundles in one of them, and three secrets.

    Bundle objects stay when the program no longer names them: a machine may still fetch them.
    They go with their bucket. The snapshot store outlives the cluster unless that expires.
    """

    buckets: Mapping[str, Output[str]]
    """Names of the buckets: bundles, snapshots."""
    bundle_store: Output[str]
    """URL of the bundle store."""
    snapshot_store: Output[str]
    """URL of the snapshot store."""
    bundle_urls: Mapping[str, Output[str]]
    """URL of each machine group's bundle, known once it is there."""
    ca_url: Output[str]
    """URL of the CA bundle."""
    secrets: Mapping[str, gcp.secretmanager.Secret]
    """pki, desired-state, join."""
    secret_names: Mapping[str, Output[str]]
    """Their ids in the project; known once they hold what they should."""
    scheme: Output[str]
    """How the cloud's services are reached."""
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
        region: Output[str],
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:gcp:Storage", name, {"groups": [each.name for each in plan.machine_groups]}, opts)
        self._cluster, self._tags, self._guarded, self._region = name, tags, plan.spec.protect, region
        bundles = self._bucket("bundles", keep=False)
        snapshots = self._bucket("snapshots", keep=plan.spec.expires is None)
        self.buckets = {"bundles": bundles.name, "snapshots": snapshots.name}
        self.scheme = bundles.self_link.apply(lambda link: urlsplit(link).scheme)
        self.bundle_store, self.snapshot_store = (
            self.url(fact, f"{HOST}/", world, bucket.name)
            for fact, bucket in (("bundle_store", bundles), ("snapshot_store", snapshots))
        )
        made = upgrade.groups()
        self.bundle_urls = {
            each.name: self._bundle(bundles, each.name, made[each.name]) for each in plan.machine_groups
        }
        self.ca_url = self._url(self._object("ca", bundles, "ca.crt", content=generated.ca_certificate))
        reached = ResourceOptions(hooks=upgrade.hooks)
        pointed = pointer(plan, generated, upgrade, self.bundle_urls[plan.control_plane.name], self)
        self._object("desired-state", bundles, POINTER, pointed, options=reached)
        self.members = self._object("members", bundles, MEMBERS, member_list(plan, generated, self))
        values = {"pki": generated.control_plane_secret, "desired-state": generated.desired_state_key, "join": None}
        made_secrets = {key: self._secret(key, generated.suffix, value) for key, value in values.items()}
        self.secrets = {key: secret for key, (secret, _) in made_secrets.items()}
        self.secret_names = {key: named for key, (_, named) in made_secrets.items()}
        self.register_outputs({"bundle_store": self.bundle_store, "snapshot_store": self.snapshot_store})

    def url(self, fact: str, before: str, world: str, after: Input[str] = "") -> Output[str]:
        """URL of a service, for a fact of this name: scheme, host and path in the parts given."""
        return Output.all(self.scheme, after).apply(
            lambda known: service_url(fact, f"{known[0]}://{before}{known[1]}", world)
        )

    def _bucket(self, purpose: str, *, keep: bool) -> gcp.storage.Bucket:
        """A private bucket. keep: it outlives the cluster. Auto-named: names are the whole world's."""
        name, versioned = f"{self._cluster}-{purpose}", purpose == "snapshots"
        older: list[gcp.storage.BucketLifecycleRuleArgsDict] = [
            {
                "action": {"type": "Delete"},
                "condition": {"days_since_noncurrent_time": NONCURRENT_DAYS, "with_state": "ARCHIVED"},
            }
        ]
        return gcp.storage.Bucket(
            name,
            location=self._region.apply(str.upper),
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=not keep,
            versioning={"enabled": versioned},
            lifecycle_rules=older if versioned else None,
            # versions are kept already; and what `down` removes is removed
            soft_delete_policy={"retention_duration_seconds": 0},
            labels=self._tags.labels(self, gcp.storage.Bucket, name),
            opts=ResourceOptions(parent=self, retain_on_delete=keep, protect=self._guarded),
        )

    def _object(
        self,
        name: str,
        bucket: gcp.storage.Bucket,
        key: Input[str],
        content: Input[str] | None = None,
        source: Input[pulumi.Asset] | None = None,
        options: ResourceOptions | None = None,
    ) -> gcp.storage.BucketObject:
        return gcp.storage.BucketObject(
            f"{self._cluster}-{name}",
            bucket=bucket.name,
            name=key,
            content=content,
            source=source,
            content_type=JSON if key in (POINTER, MEMBERS) else None,
            # its name is fixed, and a new content makes it anew
            opts=ResourceOptions.merge(ResourceOptions(parent=self, delete_before_replace=True), options),
        )

    def _url(self, stored: gcp.storage.BucketObject) -> Output[str]:
        return Output.concat(self.bundle_store, "/", stored.name)

    def _bundle(self, bucket: gcp.storage.Bucket, name: str, group: Output[MachineGroup]) -> Output[str]:
        key = group.apply(lambda each: each.bundle.key)
        source: Output[pulumi.Asset] = group.apply(lambda each: asset(each.bundle))
        kept = ResourceOptions(retain_on_delete=True)
        return self._url(self._object(f"bundle-{name}", bucket, key, source=source, options=kept))

    def _secret(
        self, key: str, suffix: Output[str], value: Output[str] | None
    ) -> tuple[gcp.secretmanager.Secret, Output[str]]:
        """A secret, kept in the cluster's region, and its id: known once it holds its value."""
        name = f"{self._cluster}-{key}"
        secret = gcp.secretmanager.Secret(
            name,
            secret_id=suffix.apply(lambda known: f"{name}-{known}"),
            replication={"user_managed": {"replicas": [{"location": self._region}]}},
            labels=self._tags.labels(self, gcp.secretmanager.Secret, name),
            opts=ResourceOptions(parent=self, protect=self._guarded),
        )
        if value is None:
            return secret, secret.secret_id
        version = gcp.secretmanager.SecretVersion(
            name, secret=secret.id, secret_data=value, opts=ResourceOptions(parent=self)
        )
        return secret, Output.all(secret.secret_id, version.id).apply(lambda known: known[0])
