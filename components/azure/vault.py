"""The key vault with the cluster's secrets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import keyvault

from components.azure.network import UsableNetwork
from components.azure.place import Place
from components.machine.issuer import Issuer
from components.machine.service_urls import service_url
from components.naming import within
from components.wiring.context import ClusterContext
from components.wiring.kept_secrets import with_issuer
from components.wiring.stores import SECRETS, after

LONGEST_VAULT = 24
"""Maximum characters of the name, which is global."""
KEPT_DAYS = 7
"""Days for which Azure keeps a deleted vault, and its name taken (soft delete): Azure's minimum."""
CONTENT_TYPES = {"pki": "application/json", "desired-state": "text/plain"}
"""Content types of the secrets; policies of landing zones refuse secrets without one."""


def vault_name(cluster: str, suffix: str) -> str:
    """Return cluster name and suffix, without consecutive hyphens, which a vault's name cannot have."""
    return f"{within(LONGEST_VAULT - len(suffix) - 1, re.sub('-+', '-', cluster))}-{suffix}"


@dataclass(frozen=True)
class VaultInputs:
    """What a vault needs besides a place and a network."""

    tenant: Output[str]
    roles: Sequence[pulumi.Resource]
    """Custom roles, which Azure knows by the time that the vault exists."""
    issuer: Output[Issuer] | None
    """The public issuer of the cluster's tokens, for the secret pki; None without `pod_identity`."""

    def texts(self, context: ClusterContext) -> Mapping[str, Output[str]]:
        """Return the values of the secrets by name."""
        stored = dict(context.generated.stored)
        return {**stored, "pki": with_issuer(stored["pki"], self.issuer)} if self.issuer else stored


class Vault(pulumi.ComponentResource):
    """A key vault that only the cluster's subnets, or its private endpoint, can reach.

    The provider writes through Resource Manager.
    """

    secrets: Mapping[str, Output[str]]
    """Ids of the secrets by name. Azure has no secret `join` until the control plane writes it."""
    url: Output[str]
    """URL of the vault; resolves once its secrets have their values."""
    resource: keyvault.Vault
    """The vault itself, which Azure takes about a minute to create."""
    values: Sequence[keyvault.Secret]
    """The secrets that the program writes."""

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        network: UsableNetwork,
        given: VaultInputs,
        opts: ResourceOptions | None = None,
    ) -> None:
        name = context.plan.name
        super().__init__("mullion:azure:Vault", name, {"names": list(SECRETS.values())}, opts)
        full = f"{name}-vault"
        properties: Any = {
            "tenant_id": given.tenant,
            "sku": {"family": "A", "name": "standard"},
            "enable_rbac_authorization": True,
            "soft_delete_retention_in_days": KEPT_DAYS,
            "enable_purge_protection": True,
            "network_acls": {
                "default_action": "Deny",
                "bypass": "AzureServices",
                "virtual_network_rules": [{"id": each} for each in network.admitted_subnets],
            },
        }
        guarded = ResourceOptions(parent=self, protect=context.plan.spec.protect, depends_on=given.roles)
        vault = keyvault.Vault(
            full,
            vault_name=context.generated.suffix.apply(lambda letters: vault_name(name, letters)),
            properties=properties,
            **place.here(self, keyvault.Vault, full, guarded),
        )
        self.resource = vault
        written = {key: self._written(context, place, key, value) for key, value in given.texts(context).items()}
        self.values = [*written.values()]
        self.secrets = {key: Output.concat(vault.id, "/secrets/", key) for key in SECRETS.values()}
        # resolve the id only once the secret exists: Azure may refuse a role assignment on a secret that is missing
        self.secrets |= {key: after(secret, self.secrets[key]) for key, secret in written.items()}
        address = vault.properties.apply(lambda current: current.vault_uri or "")
        self.url = Output.all(address, *(each.id for each in self.values)).apply(
            lambda values: service_url("secret_service", values[0].rstrip("/"), context.target)
        )
        self.register_outputs({"url": self.url})

    def _written(self, context: ClusterContext, place: Place, key: str, value: Output[str]) -> keyvault.Secret:
        name = f"{context.plan.name}-{key}"
        return keyvault.Secret(
            name,
            secret_name=key,
            vault_name=self.resource.name,
            properties={"value": value, "content_type": CONTENT_TYPES[key]},
            tags=context.tags.on(self, keyvault.Secret, name, few=True),  # Key Vault takes 15
            # deleting a single secret needs the vault itself, which only answers the cluster's subnets
            opts=ResourceOptions(parent=self, deleted_with=self.resource),
            **place.within,
        )
