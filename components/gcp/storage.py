"""Buckets for bundles and status records and for snapshots, and the cluster's secrets."""

from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.gcp.place import Place
from components.machine.service_urls import service_url
from components.wiring.context import ClusterContext
from components.wiring.stores import OLDER_DAYS, SECRETS, Content, Stores, after

HOST, SECRETS_HOST, COMPUTE_HOST = "storage.googleapis.com", "secretmanager.googleapis.com", "compute.googleapis.com"


class Storage(Stores):
    """Two buckets, the bundles in one of them, and three secrets."""

    buckets: Mapping[str, Output[str]]
    """Names of the buckets: bundles, snapshots."""
    secrets: Mapping[str, gcp.secretmanager.Secret]
    """The secrets pki, desired-state and join, by these names."""
    secret_names: Mapping[str, Output[str]]
    """Ids of the secrets in the project; each resolves once the secret has its value."""
    services: Mapping[str, Output[str]]
    """URLs of Secret Manager and Compute Engine including the project, by fact."""

    def __init__(self, context: ClusterContext, place: Place, opts: ResourceOptions | None = None) -> None:
        plan = context.plan
        groups = [group.name for group in plan.machine_groups]
        super().__init__("mullion:gcp:Storage", plan.name, {"groups": groups}, opts)
        self._cluster, self._tags, self._guarded, self._region = (
            plan.name,
            context.tags,
            plan.spec.protect,
            place.region,
        )
        self._key = plan.spec.encryption_key
        self._bundles = self._bucket("bundles", keep=False)
        snapshots = self._bucket("snapshots", keep=plan.spec.expires is None)
        self.buckets = {"bundles": self._bundles.name, "snapshots": snapshots.name}
        scheme = self._bundles.self_link.apply(
            lambda link: urlsplit(link).scheme
        )  # http in a sandbox that serves its stores over http
        self.bundle_store, self.snapshot_store, secret_service, compute_service = (
            Output.concat(scheme, "://", before, after).apply(partial(service_url, fact, target=context.target))
            for fact, before, after in (
                ("bundle_store", f"{HOST}/", self._bundles.name),
                ("snapshot_store", f"{HOST}/", snapshots.name),
                ("secret_service", f"{SECRETS_HOST}/v1/projects/", place.project),
                ("compute_service", f"{COMPUTE_HOST}/compute/v1/projects/", place.project),
            )
        )
        self.services = {"secret_service": secret_service, "compute_service": compute_service}
        self.secrets = {key: self._secret(key, context.generated.suffix) for key in SECRETS.values()}
        values = {key: self._value(key, value) for key, value in context.generated.stored.items()}
        self._publish(context, [*values.values()])
        self.secret_names = {key: after(values.get(key), secret.secret_id) for key, secret in self.secrets.items()}
        self.register_outputs({"bundle_store": self.bundle_store, "snapshot_store": self.snapshot_store})

    def _bucket(self, purpose: str, *, keep: bool) -> gcp.storage.Bucket:
        """Return a private bucket, auto-named because names are global. keep: it outlives the cluster."""
        name, versioned = f"{self._cluster}-{purpose}", purpose == "snapshots"
        older: list[gcp.storage.BucketLifecycleRuleArgsDict] = [
            {
                "action": {"type": "Delete"},
                "condition": {"days_since_noncurrent_time": OLDER_DAYS, "with_state": "ARCHIVED"},
            }
        ]
        return gcp.storage.Bucket(
            name,
            location=self._region.apply(str.upper),
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=not keep,
            encryption={"default_kms_key_name": self._key} if self._key else None,
            versioning={"enabled": versioned},
            lifecycle_rules=older if versioned else None,
            # versioning keeps older objects; `down` deletes at once
            soft_delete_policy={"retention_duration_seconds": 0},
            labels=self._tags.labels(self, gcp.storage.Bucket, name),
            opts=ResourceOptions(parent=self, retain_on_delete=keep, protect=self._guarded),
        )

    def _put(self, content: Content) -> tuple[pulumi.Resource, Output[str]]:
        stored = gcp.storage.BucketObject(
            f"{self._cluster}-{content.name}",
            bucket=self._bundles.name,
            name=content.key,
            content=content.text,
            source=content.asset,
            content_type=content.content_type,
            opts=ResourceOptions.merge(
                # New text changes the object in place. If something else replaces it, the old object goes first,
                # because both have one name. A bundle's name changes: if it went first, the engine would also delete
                # the pointer, which depends on it, even in a run that a check stops later.
                ResourceOptions(parent=self, delete_before_replace=content.text is not None),
                content.options,
            ),
        )
        return stored, stored.name

    def _secret(self, key: str, suffix: Output[str]) -> gcp.secretmanager.Secret:
        """Return a secret without a value, replicated in the cluster's region only."""
        name = f"{self._cluster}-{key}"
        replica: gcp.secretmanager.SecretReplicationUserManagedReplicaArgsDict = {"location": self._region}
        if self._key:
            replica["customer_managed_encryption"] = {"kms_key_name": self._key}
        return gcp.secretmanager.Secret(
            name,
            secret_id=suffix.apply(lambda letters: f"{name}-{letters}"),
            replication={"user_managed": {"replicas": [replica]}},
            labels=self._tags.labels(self, gcp.secretmanager.Secret, name),
            opts=ResourceOptions(parent=self, protect=self._guarded),
        )

    def _value(self, key: str, value: Output[str]) -> gcp.secretmanager.SecretVersion:
        return gcp.secretmanager.SecretVersion(
            f"{self._cluster}-{key}",
            secret=self.secrets[key].id,
            secret_data=value,
            opts=ResourceOptions(parent=self),
        )
