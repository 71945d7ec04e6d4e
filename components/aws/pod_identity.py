"""Roles for pods: the issuer of service-account tokens in a public bucket, IAM's provider of it, a role for each entry.

IAM reads the issuer's documents when a pod assumes its role (IAM user guide, "Create an OpenID Connect (OIDC) identity
provider in IAM"). No program of the cluster takes part in it, and no machine has rights on the bucket.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceHook, ResourceHookArgs, ResourceHookBinding, ResourceOptions

from components.aws.issuer_bucket import bucket_name, namespace, open_documents
from components.aws.policy import document
from components.aws.storage import encryption
from components.machine import issuer as documents
from components.machine.service_urls import SANDBOX
from components.naming import PODS
from components.rollout.issuer_gate import IssuerGate
from components.spec.pod_identity import DISCOVERY, KEYS, ServiceAccount
from components.spec.pod_identity import PodIdentity as Wanted
from components.wiring.context import ClusterContext
from components.wiring.stores import JSON, after

AUDIENCE = "sts.amazonaws.com"
"""Audience of tokens with which pods assume their roles, as AWS's SDKs and pod identity webhook use it."""
LONGEST_SLUG = 15
"""Characters of namespace and name in a role's name, which has at most 64 with seven digits at its end."""
LONGEST_TAG = 256
"""Characters of a tag's value on IAM."""
OPENED_SECONDS = 10.0
"""Wait after the bucket's public access block was opened: S3 refuses a public policy until it knows everywhere, and the
provider does not try again."""


def role_name(cluster: str, account: ServiceAccount) -> str:
    """Return the logical name of a service account's role; a digest keeps long and similar names apart."""
    slug = f"{account.namespace}-{account.name}"[:LONGEST_SLUG].rstrip("-.")
    return f"{cluster}-{PODS}-{slug}-{hashlib.sha256(account.key.encode()).hexdigest()[:8]}"


def trust(provider: str, url: str, account: ServiceAccount) -> str:
    """Return the trust policy of a role: tokens of one service account, for STS alone."""
    host = url.removeprefix("https://")
    claims = {f"{host}:aud": AUDIENCE, f"{host}:sub": account.subject}
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": provider},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": claims},
    }
    return document([statement])


def _etag(text: str) -> str:
    """Return the entity tag that S3 gives an object which its own key encrypts."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


class PodIdentity(pulumi.ComponentResource):
    """The cluster's issuer, and a role for each service account of `pod_identity`."""

    issuer: Output[documents.Issuer]
    """The issuer; resolves once its documents are published."""
    url: Output[str]
    """URL of the issuer."""
    roles: Mapping[str, Output[str]]
    """ARNs of the roles by namespace/name of the service account; each resolves once the role has its policies."""

    def __init__(self, context: ClusterContext, wanted: Wanted, opts: ResourceOptions | None = None) -> None:
        cluster, accounts = context.plan.name, wanted.service_accounts
        super().__init__("mullion:aws:PodIdentity", cluster, {"accounts": [each.key for each in accounts]}, opts)
        self._cluster, self._tags = cluster, context.tags
        self._seconds = 0.0 if context.target == SANDBOX else OPENED_SECONDS
        bucket = self._bucket(context)
        self.url = bucket.bucket_regional_domain_name.apply(lambda name: f"https://{name.rpartition('://')[2]}")
        published = [
            self._publish("discovery", bucket, DISCOVERY, self.url.apply(documents.discovery)),
            self._publish("keys", bucket, KEYS, context.generated.published_keys.apply(documents.key_set)),
        ]
        reachable = self.url
        for each in (*published, self._opened(bucket)):
            reachable = after(each, reachable)
        gate = IssuerGate(cluster, wanted.issuer, len(context.plan.control_plane.machines), context.generated.gate)
        permitted = gate.permitted(context.generated.begins, self.url, self)
        self.issuer = Output.all(reachable, permitted).apply(lambda known: documents.issuer(known[0]))
        provider = aws.iam.OpenIdConnectProvider(
            f"{cluster}-issuer",
            url=reachable,
            client_id_lists=[AUDIENCE],
            # no thumbprint: IAM trusts the certificate of S3 by its authority (IAM API reference,
            # UpdateOpenIDConnectProviderThumbprint)
            tags=self._tags.on(self, aws.iam.OpenIdConnectProvider, f"{cluster}-issuer"),
            opts=self._child(),
        )
        self.roles = {each.key: self._role(each, provider) for each in accounts}
        self.register_outputs({"url": self.url})

    def _child(self, **more: Any) -> ResourceOptions:
        return ResourceOptions(parent=self, **more)

    def _bucket(self, context: ClusterContext) -> aws.s3.Bucket:
        """Return the bucket. It has only public documents, so S3's own key encrypts it: IAM cannot use the user's.

        It is not protected, because `protect` must not keep the option from going: each run can write it again.
        """
        name, invoke = f"{self._cluster}-issuer", InvokeOptions(parent=self)
        account = aws.get_caller_identity_output(opts=invoke).account_id
        region = aws.get_region_output(opts=invoke).region
        bucket = aws.s3.Bucket(
            name,
            bucket=Output.all(context.generated.suffix, account, region).apply(
                lambda known: bucket_name(self._cluster, *known)
            ),
            bucket_namespace=region.apply(namespace),
            force_destroy=True,
            tags=self._tags.on(self, aws.s3.Bucket, name),
            opts=self._child(),
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            name, bucket=bucket.id, rules=[encryption(None)], opts=self._child()
        )
        return bucket

    def _opened(self, bucket: aws.s3.Bucket) -> aws.s3.BucketPolicy:
        """Let everybody read the two documents: by the policy alone, never by access lists."""
        name = f"{self._cluster}-issuer"
        wait = ResourceHook(f"{name}-opened", self._until_opened)
        block = aws.s3.BucketPublicAccessBlock(
            name,
            bucket=bucket.id,
            block_public_acls=True,
            ignore_public_acls=True,
            block_public_policy=False,
            restrict_public_buckets=False,
            opts=self._child(hooks=ResourceHookBinding(after_create=[wait], after_update=[wait])),
        )
        policy = bucket.arn.apply(lambda arn: open_documents(arn, self._cluster))
        return aws.s3.BucketPolicy(name, bucket=bucket.id, policy=policy, opts=self._child(depends_on=[block]))

    async def _until_opened(self, _: ResourceHookArgs) -> None:
        await asyncio.sleep(self._seconds)

    def _publish(self, name: str, bucket: aws.s3.Bucket, key: str, text: Output[str]) -> aws.s3.BucketObjectv2:
        full = f"{self._cluster}-issuer-{name}"
        return aws.s3.BucketObjectv2(
            full,
            bucket=bucket.bucket,
            key=key,
            content=text,
            etag=text.apply(_etag),  # so a refresh sees what others wrote
            content_type=JSON,
            tags=self._tags.on(self, aws.s3.BucketObjectv2, full, few=True),
            override_provider={"default_tags": {"tags": {}}},  # S3 takes ten tags of an object
            opts=self._child(),
        )

    def _role(self, account: ServiceAccount, provider: aws.iam.OpenIdConnectProvider) -> Output[str]:
        name = role_name(self._cluster, account)
        role = aws.iam.Role(
            name,
            assume_role_policy=Output.all(provider.arn, self.url).apply(
                lambda known: trust(known[0], known[1], account)
            ),
            force_detach_policies=True,  # that somebody attached: IAM deletes no role with policies
            tags=self._tags.on(self, aws.iam.Role, name, {"service-account": account.key[:LONGEST_TAG]}),
            opts=self._child(),
        )
        arn = role.arn
        for policy in account.policies:
            short = hashlib.sha256(policy.encode()).hexdigest()[:8]
            attached = aws.iam.RolePolicyAttachment(
                f"{name}-{short}", role=role.name, policy_arn=policy, opts=self._child()
            )
            arn = after(attached, arn)
        return arn
