"""Storage accounts for bundles and status records and for snapshots."""

import secrets
from collections.abc import Iterable, Mapping
from functools import partial
from ipaddress import IPv4Network, collapse_addresses
from typing import Any
from urllib.parse import urlsplit

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_azure_native import storage as azure

from components.azure.network import UsableNetwork
from components.azure.own_key import own_key
from components.azure.place import Place
from components.azure.place import place as resource_group
from components.azure.vault import Vault
from components.machine.service_urls import service_url
from components.topology.private_ranges import is_private
from components.wiring.context import ClusterContext
from components.wiring.kept_secrets import stash
from components.wiring.stores import OLDER_DAYS, Content, Stores

LONGEST_ACCOUNT = 24
"""Maximum characters of the name, which is global."""
MANAGER = "management.azure.com"
"""Host of Azure Resource Manager."""

OLDER_VERSIONS: Any = {
    "name": "older-versions",
    "enabled": True,
    "type": "Lifecycle",
    "definition": {
        "actions": {"version": {"delete": {"days_after_creation_greater_than": OLDER_DAYS}}},
        "filters": {"blob_types": ["blockBlob"]},
    },
}
"""Lifecycle rule of a versioned container."""


def account_name(cluster: str, purpose: str, suffix: str) -> str:
    """Return cluster name, first letter of the purpose and suffix, as letters and digits only."""
    tail = f"{purpose[0]}{suffix}"
    return f"{cluster.replace('-', '')[: LONGEST_ACCOUNT - len(tail)]}{tail}"


def bundle_container(context: ClusterContext, place: Place) -> Output[str]:
    """Return the id of the bundles' container, as soon as its names are known.

    The resource itself waits for the subnets and for the route table, whose hook reads records from the container.
    """
    account = context.generated.suffix.apply(lambda letters: account_name(context.plan.name, "bundles", letters))
    service = Output.concat(place.id, "/providers/Microsoft.Storage/storageAccounts/", account)
    return Output.concat(service, "/blobServices/default/containers/bundles")


def addresses(allow: Iterable[IPv4Network]) -> list[str]:
    """Return the public ranges for a store's network rules, which take single addresses instead of a /31 or /32."""
    public = collapse_addresses(network for network in allow if not is_private(network))
    return [text for network in public for text in (map(str, network) if network.prefixlen > 30 else [str(network)])]


def storage_account(
    context: ClusterContext, purpose: str, admitted: Any, here: Mapping[str, Any]
) -> azure.StorageAccount:
    """Register a storage account without anonymous access. admitted: its network rules. here: from Place.here."""
    plan, key = context.plan, own_key(context.plan.spec)
    return azure.StorageAccount(
        f"{plan.name}-{purpose}",
        account_name=context.generated.suffix.apply(lambda letters: account_name(plan.name, purpose, letters)),
        kind="StorageV2",
        sku={"name": "Standard_ZRS" if plan.network.zones > 1 else "Standard_LRS"},
        access_tier=azure.AccessTier.HOT,
        allow_blob_public_access=False,
        allow_cross_tenant_replication=False,
        allow_shared_key_access=True,  # the provider cannot write blobs otherwise: pulumi-azure-native#2015
        enable_https_traffic_only=True,
        minimum_tls_version="TLS1_2",
        network_rule_set=admitted,
        **(key.of_account() if key else {}),
        **here,
    )


class Storage(Stores):
    """Two storage accounts with a container each, the bundles in one of them.

    The snapshot store has its own resource group, because Azure deletes a group's resources with the group.
    """

    containers: Mapping[str, Output[str]]
    """Ids of the containers: bundles, snapshots."""
    accounts: Mapping[str, Output[str]]
    """Ids of the storage accounts, by the same names.

    They resolve once containers and settings exist, because Azure refuses concurrent changes of an account
    (StorageAccountOperationInProgress: hashicorp/terraform-provider-azurerm#28112)."""
    compute_service: Output[str]
    """URL of the cluster's resource group in Resource Manager."""

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        network: UsableNetwork,
        vault: Vault,
        opts: ResourceOptions | None = None,
    ) -> None:
        """vault: Azure takes about a minute to create it.

        Blobs wait for it, because a new account's network rules take effect some seconds after it exists: until then it
        refuses listed addresses (403, AuthorizationFailure).
        """
        name, plan, target = context.plan.name, context.plan, context.target
        groups = [group.name for group in plan.machine_groups]
        super().__init__("mullion:azure:Storage", name, {"groups": groups}, opts)
        self._context, self._cluster, self._subnets, self._place = context, name, network.admitted_subnets, place
        self._vault = vault.resource
        keep = ResourceOptions(parent=self, retain_on_delete=plan.spec.expires is None)
        bundles, held = self._account("bundles", place, ResourceOptions(parent=self))
        group = context.generated.suffix.apply(lambda letters: f"{name}-snapshots-{letters}")
        apart = resource_group(f"{name}-snapshots", group, context.tags, self, keep, location=place.location)
        snapshots, kept = self._account("snapshots", apart, keep)
        settings = self._versions(snapshots, apart, keep)
        self._bundles = bundles
        self._held: dict[str, Any] = {"account_name": bundles.name, "container_name": held.name, **place.within}
        self.containers = {"bundles": held.id, "snapshots": kept.id}
        self.accounts = {
            "bundles": Output.all(bundles.id, held.id).apply(lambda ids: str(ids[0])),
            "snapshots": Output.all(snapshots.id, kept.id, settings.id).apply(lambda ids: str(ids[0])),
        }
        self.bundle_store, self.snapshot_store = (
            Output.concat(account.primary_endpoints.apply(lambda endpoints: endpoints.blob), container.name).apply(
                partial(service_url, fact, target=target)
            )
            for fact, account, container in (("bundle_store", bundles, held), ("snapshot_store", snapshots, kept))
        )
        manager = Output.concat(self.bundle_store.apply(lambda url: urlsplit(url).scheme), "://", MANAGER, place.id)
        self.compute_service = manager.apply(partial(service_url, "compute_service", target=target))
        self._publish(context, vault.values)
        self.register_outputs({"bundle_store": self.bundle_store, "snapshot_store": self.snapshot_store})

    def _account(
        self, purpose: str, place: Place, options: ResourceOptions
    ) -> tuple[azure.StorageAccount, azure.BlobContainer]:
        """Return a private storage account and its container. Machines use tokens, the provider shared keys."""
        name, plan = f"{self._cluster}-{purpose}", self._context.plan
        subnets = [*self._subnets, *plan.spec.api.virtual_network_rules]
        listed: Any = {
            "default_action": "Deny",
            "bypass": "None",
            "virtual_network_rules": [{"virtual_network_resource_id": each} for each in subnets],
            "ip_rules": [{"i_p_address_or_range": each} for each in addresses(plan.spec.api.allow)],
        }
        guarded = ResourceOptions.merge(options, ResourceOptions(protect=plan.spec.protect))
        account = storage_account(self._context, purpose, listed, place.here(self, azure.StorageAccount, name, guarded))
        container = azure.BlobContainer(
            name, account_name=account.name, container_name=purpose, opts=options, **place.within
        )
        return account, container

    def _versions(
        self, account: azure.StorageAccount, place: Place, options: ResourceOptions
    ) -> azure.ManagementPolicy:
        """Keep older versions of blobs for OLDER_DAYS; return the last of the account's settings."""
        name = f"{self._cluster}-snapshots"
        versioned = azure.BlobServiceProperties(
            name,
            blob_services_name="default",
            account_name=account.name,
            is_versioning_enabled=True,
            opts=options,
            **place.within,
        )
        return azure.ManagementPolicy(
            name,
            management_policy_name="default",
            account_name=account.name,
            policy={"rules": [OLDER_VERSIONS]},
            opts=ResourceOptions.merge(options, ResourceOptions(depends_on=[versioned])),
            **place.within,
        )

    def _put(self, content: Content) -> tuple[pulumi.Resource, Output[str]]:
        full = f"{self._cluster}-{content.name}"
        blob = azure.Blob(
            full,
            blob_name=content.key if content.asset is None else self._unused(full, content.key),
            source=content.text.apply(pulumi.StringAsset) if content.text is not None else content.asset,
            content_type=content.content_type,
            opts=ResourceOptions.merge(
                # a changed `source` replaces the blob (provider's schema); a text's name is fixed: delete it first
                ResourceOptions(
                    parent=self,
                    depends_on=[self._vault],
                    delete_before_replace=content.text is not None,
                    # deleting a blob needs the account's key and an address that its network rules list
                    deleted_with=self._bundles if content.text is not None else None,
                ),
                content.options,
            ),
            **self._held,
        )
        return blob, blob.name

    def _unused(self, full: str, key: Input[str]) -> Output[str]:
        """Return a bundle's name in a folder that changes with each change of the bundle.

        Older bundles stay in the store, and the provider cannot create a blob that exists: a bundle that changes back
        needs a new name.
        """
        folder = stash(f"{full}-folder", secrets.token_hex(4), parent=self, trigger=key)
        return Output.all(key, folder).apply(lambda names: f"/{names[1]}/".join(names[0].rsplit("/", 1)))
