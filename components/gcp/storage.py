"""The stores: bundles and status records, snapshots, and the secrets of the cluster."""

from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.machine.service_urls import service_url
from components.wiring.context import ClusterContext
from components.wiring.stores import OLDER_DAYS, SECRETS, Content, Stores

HOST, SECRETS_HOST, COMPUTE_HOST = "storage.googleapis.com", "secretmanager.googleapis.com", "compute.googleapis.com"


class Storage(Stores):
    """Two buckets, the bundles in one of them, and three secrets."""

    buckets: Mapping[str, Output[str]]
    """Names of the buckets: bundles, snapshots."""
    secrets: Mapping[str, gcp.secretmanager.Secret]
    """pki, desired-state, join."""
    secret_names: Mapping[str, Output[str]]
    """Their ids in the project; known once they hold what they should."""
    services: Mapping[str, Output[str]]
    """URLs of Secret Manager and Compute Engine, up to the project, by fact."""

    def __init__(
        self, context: ClusterContext, region: Output[str], project: Output[str], opts: ResourceOptions | None = None
    ) -> None:
        plan = context.plan
        groups = [each.name for each in plan.machine_groups]
        super().__init__("mullion:gcp:Storage", plan.name, {"groups": groups}, opts)
        self._cluster, self._tags, self._guarded, self._region = plan.name, context.tags, plan.spec.protect, region
        self._bundles = self._bucket("bundles", keep=False)
        snapshots = self._bucket("snapshots", keep=plan.spec.expires is None)
        self.buckets = {"bundles": self._bundles.name, "snapshots": snapshots.name}
        scheme = self._bundles.self_link.apply(lambda link: urlsplit(link).scheme)  # in the sandbox it may be another
        self.bundle_store, self.snapshot_store, secret_service, compute_service = (
            Output.concat(scheme, "://", before, after).apply(partial(service_url, fact, target=context.target))
            for fact, before, after in (
                ("bundle_store", f"{HOST}/", self._bundles.name),
                ("snapshot_store", f"{HOST}/", snapshots.name),
                ("secret_service", f"{SECRETS_HOST}/v1/projects/", project),
                ("compute_service", f"{COMPUTE_HOST}/compute/v1/projects/", project),
            )
        )
        self.services = {"secret_service": secret_service, "compute_service": compute_service}
        self._publish(context)
        made = {
            key: self._secret(key, context.generated.suffix, context.generated.stored.get(key))
            for key in SECRETS.values()
        }
        self.secrets = {key: secret for key, (secret, _) in made.items()}
        self.secret_names = {key: named for key, (_, named) in made.items()}
        self.register_outputs({"bundle_store": self.bundle_store, "snapshot_store": self.snapshot_store})

    def _bucket(self, purpose: str, *, keep: bool) -> gcp.storage.Bucket:
        """A private bucket. keep: it outlives the cluster. Auto-named: names are the whole world's."""
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
            versioning={"enabled": versioned},
            lifecycle_rules=older if versioned else None,
            # versions are kept already; and what `down` removes is removed
            soft_delete_policy={"retention_duration_seconds": 0},
            labels=self._tags.labels(self, gcp.storage.Bucket, name),
            opts=ResourceOptions(parent=self, retain_on_delete=keep, protect=self._guarded),
        )

    def _put(self, each: Content) -> tuple[pulumi.Resource, Output[str]]:
        made = gcp.storage.BucketObject(
            f"{self._cluster}-{each.name}",
            bucket=self._bundles.name,
            name=each.key,
            content=each.text,
            source=each.asset,
            content_type=each.content_type,
            opts=ResourceOptions.merge(
                # a new content makes it anew, and a text's name is fixed. A bundle's is not: were it to go first, the
                # engine would take the pointer, which depends on it, with it, also in a run that is then refused
                ResourceOptions(parent=self, delete_before_replace=each.text is not None),
                each.options,
            ),
        )
        return made, made.name

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
