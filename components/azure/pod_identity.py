"""Identities for pods: the cluster's public issuer, and a managed identity for each service account.

Entra ID reads the issuer's documents when a pod exchanges its token ("Workload identity federation"). No program of the
cluster takes part in it, and no machine has one of these identities or rights on the documents.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import managedidentity

from components.azure.issuer_website import IssuerWebsite
from components.azure.place import Place
from components.machine import issuer as documents
from components.naming import PODS
from components.rollout.issuer_gate import IssuerGate
from components.spec.pod_identity import PodIdentity as Wanted
from components.spec.pod_identity import ServiceAccount
from components.wiring.context import ClusterContext
from components.wiring.stores import after

AUDIENCE = "api://AzureADTokenExchange"
"""Audience of tokens that Entra ID exchanges, the only one that it recommends; a credential has exactly one."""
CREDENTIAL = "kubernetes"
"""Name of the federated credential, of which each identity has one. Azure refuses writes at the same time to two of
one identity (409), and more than 20; identities of their own need no order ("Important considerations and restrictions
for federated identity credentials")."""
LONGEST_SLUG = 40
"""Characters of namespace and name in the name of an identity, which has at most 128."""
LONGEST_TAG = 256
"""Characters of a tag's value."""


def identity_name(cluster: str, account: ServiceAccount) -> str:
    """Return the name of a service account's identity; a digest keeps long and similar names apart.

    Names of identities have letters, digits, hyphens and underscores.
    """
    slug = f"{account.namespace}-{account.name}".replace(".", "-")[:LONGEST_SLUG].rstrip("-")
    return f"{cluster}-{PODS}-{slug}-{hashlib.sha256(account.key.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class PodPrincipal:
    """Ids of a service account's identity; each resolves once the identity trusts the service account."""

    client: Output[str]
    principal: Output[str]


class PodIdentity(pulumi.ComponentResource):
    """The cluster's issuer, and an identity for each service account of `pod_identity`.

    It grants nothing: whoever owns a store or a vault assigns roles on it to the identity.
    """

    issuer: Output[documents.Issuer]
    """The issuer; resolves once its documents are published."""
    url: Output[str]
    """URL of the issuer."""
    identities: Mapping[str, PodPrincipal]
    """By namespace/name of the service account."""

    def __init__(
        self, context: ClusterContext, place: Place, wanted: Wanted, opts: ResourceOptions | None = None
    ) -> None:
        cluster, accounts = context.plan.name, wanted.service_accounts
        super().__init__("mullion:azure:PodIdentity", cluster, {"accounts": [each.key for each in accounts]}, opts)
        self._cluster, self._place = cluster, place
        website = IssuerWebsite(context, place, self)
        self.url = website.url
        gate = IssuerGate(cluster, wanted.issuer, len(context.plan.control_plane.machines), context.generated.gate)
        permitted = gate.permitted(context.generated.begins, self.url, self)
        self.issuer = Output.all(website.reachable, permitted).apply(lambda known: documents.issuer(known[0]))
        self.identities = {each.key: self._identity(each, website.reachable) for each in accounts}
        self.register_outputs({"url": self.url})

    def _identity(self, account: ServiceAccount, url: Output[str]) -> PodPrincipal:
        name = identity_name(self._cluster, account)
        kind = managedidentity.UserAssignedIdentity
        tags = {"service-account": account.key[:LONGEST_TAG]}
        identity = kind(name, resource_name_=name, **self._place.here(self, kind, name, None, **tags))
        trusted = managedidentity.FederatedIdentityCredential(
            name,
            resource_name_=identity.name,
            federated_identity_credential_resource_name=CREDENTIAL,
            issuer=url,
            subject=account.subject,
            audiences=[AUDIENCE],
            opts=ResourceOptions(parent=self, deleted_with=identity),
            **self._place.within,
        )
        return PodPrincipal(after(trusted, identity.client_id), after(trusted, identity.principal_id))
