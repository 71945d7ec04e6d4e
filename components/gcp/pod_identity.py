"""Identities for pods: a workload identity pool whose only provider knows the cluster's issuer and its public keys.

Google verifies tokens by keys that the provider has, and asks the issuer for nothing (IAM, "Configure Workload Identity
Federation with other identity providers", uploaded JWKS). So tokens keep kubeadm's issuer, and nothing is public.
"""

from collections.abc import Mapping

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.machine.issuer import key_set
from components.naming import PODS, POOL_OF, within
from components.spec.pod_identity import PodIdentity as Wanted
from components.spec.pod_identity import ServiceAccount, accepted, kubeadms_issuer
from components.wiring.context import ClusterContext
from components.wiring.kept_secrets import random_letters, stash

PROVIDER = "cluster"
"""Id of the pool's provider."""
LONGEST_POOL = 32
"""Characters of a pool's id: lower-case letters, digits and hyphens, and not gcp- at its beginning (IAM API reference,
projects.locations.workloadIdentityPools.create)."""
MEMBER = "principal://iam.googleapis.com/{pool}/subject/{subject}"
"""Member of a policy for one subject of a pool. pool: its name, with the number of the project."""


def pool_id(cluster: str, letters: str) -> str:
    """Return the id of the pool. Google keeps the id of a deleted pool for 30 days, so each one has its own letters."""
    return f"{within(LONGEST_POOL - 1 - len(letters), f'{PODS}-{cluster}')}-{letters}"


def _member(pool: Output[str], account: ServiceAccount) -> Output[str]:
    return pool.apply(lambda name: MEMBER.format(pool=name, subject=account.subject))


class PodIdentity(pulumi.ComponentResource):
    """The workload identity pool and its provider.

    It grants nothing: whoever owns a bucket or a topic grants roles on it to the member of a service account.
    """

    provider: Output[str]
    """Name of the provider: projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/cluster."""
    members: Mapping[str, Output[str]]
    """Members for policies of the project's resources, by namespace/name of the service account."""

    def __init__(self, context: ClusterContext, wanted: Wanted, opts: ResourceOptions | None = None) -> None:
        cluster, accounts = context.plan.name, wanted.service_accounts
        super().__init__("mullion:gcp:PodIdentity", cluster, {"accounts": [each.key for each in accounts]}, opts)
        child = ResourceOptions(parent=self)
        letters = stash(f"{cluster}-{PODS}-letters", random_letters(), parent=self)
        pool = gcp.iam.WorkloadIdentityPool(
            f"{cluster}-{PODS}",
            workload_identity_pool_id=letters.apply(lambda known: pool_id(cluster, known)),
            description=f"{POOL_OF}{cluster}",
            mode="FEDERATION_ONLY",
            opts=child,
        )
        provider = gcp.iam.WorkloadIdentityPoolProvider(
            f"{cluster}-{PODS}",
            workload_identity_pool_id=pool.workload_identity_pool_id,
            workload_identity_pool_provider_id=PROVIDER,
            attribute_mapping={"google.subject": "assertion.sub"},
            attribute_condition=accepted(accounts),
            oidc={
                "issuer_uri": kubeadms_issuer(context.plan.spec.network.domain),
                "jwks_json": context.generated.published_keys.apply(key_set),
            },
            opts=child,
        )
        self.provider = provider.name
        self.members = {each.key: _member(pool.name, each) for each in accounts}
        self.register_outputs({"provider": self.provider})
