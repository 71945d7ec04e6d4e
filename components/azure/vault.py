"""The vault with the secrets of the cluster."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import keyvault

from components.azure.place import Place
from components.blueprint import Blueprint
from components.naming import within
from components.stores import SECRETS
from components.urls import service_url

LONGEST_NAME = 24
"""Characters; names are the whole world's."""
KEPT_DAYS = 7
"""The least for which a deleted vault can be had back, and its name is taken."""


def vault_name(cluster: str, suffix: str) -> str:
    """No two hyphens in a row."""
    return f"{within(LONGEST_NAME - len(suffix) - 1, re.sub('-+', '-', cluster))}-{suffix}"


class Vault(pulumi.ComponentResource):
    """A vault that the cluster's subnets alone can ask; the provider writes through Resource Manager."""

    secrets: Mapping[str, Output[str]]
    """Ids of the secrets by name."""
    url: Output[str]
    """Known once its secrets hold what they should."""

    def __init__(
        self,
        given: Blueprint,
        tenant: Output[str],
        subnet_ids: Iterable[Output[str]],
        place: Place,
        opts: ResourceOptions | None = None,
    ) -> None:
        name, tags, generated = given.plan.name, given.tags, given.generated
        super().__init__("mullion:azure:Vault", name, {"names": list(SECRETS.values())}, opts)
        full = f"{name}-vault"
        properties: Any = {
            "tenant_id": tenant,
            "sku": {"family": "A", "name": "standard"},
            "enable_rbac_authorization": True,
            "soft_delete_retention_in_days": KEPT_DAYS,
            "network_acls": {
                "default_action": "Deny",
                "bypass": "AzureServices",
                "virtual_network_rules": [{"id": each} for each in subnet_ids],
            },
        }
        made = keyvault.Vault(
            full,
            vault_name=generated.suffix.apply(lambda known: vault_name(name, known)),
            properties=properties,
            tags=tags.on(self, keyvault.Vault, full),
            opts=ResourceOptions(parent=self, protect=given.plan.spec.protect),
            **place.here,
        )
        written = [
            keyvault.Secret(
                f"{name}-{key}",
                secret_name=key,
                vault_name=made.name,
                properties={"value": value},
                tags=tags.on(self, keyvault.Secret, f"{name}-{key}"),
                # deleting one alone would ask the vault itself, which answers in its network only
                opts=ResourceOptions(parent=self, deleted_with=made),
                **place.within,
            ).id
            for key, value in generated.stored.items()
        ]
        self.secrets = {key: Output.concat(made.id, "/secrets/", key) for key in SECRETS.values()}
        address = made.properties.apply(lambda known: known.vault_uri or "")
        self.url = Output.all(address, *written).apply(
            lambda known: service_url("secret_service", known[0].rstrip("/"), given.world)
        )
        self.register_outputs({"url": self.url})
