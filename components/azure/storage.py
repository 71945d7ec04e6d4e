"""The stores: bundles and status records, and snapshots."""

import secrets
from collections.abc import Iterable, Mapping
from functools import partial
from ipaddress import IPv4Network
from typing import Any
from urllib.parse import urlsplit

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_azure_native import storage as azure

from components.azure.place import Place
from components.azure.place import place as resource_group
from components.blueprint import Blueprint
from components.generated import stash
from components.spec.checks.ranges import PRIVATE
from components.stores import OLDER_DAYS, Content, Stores
from components.urls import service_url

LONGEST_ACCOUNT = 24
"""Characters; names are the whole world's."""
MANAGER = "management.azure.com"


def account_name(cluster: str, purpose: str, suffix: str) -> str:
    """Letters and digits alone: the cluster's, the first letter of the purpose, the suffix."""
    tail = f"{purpose[0]}{suffix}"
    return f"{cluster.replace('-', '')[: LONGEST_ACCOUNT - len(tail)]}{tail}"


def addresses(allow: Iterable[IPv4Network]) -> list[str]:
    """Ranges as a store's network rules take them: public ones, and single addresses in the place of the smallest."""
    public = [each for each in allow if not any(each.subnet_of(private) for private in PRIVATE)]
    return [text for each in public for text in (map(str, each) if each.prefixlen > 30 else [str(each)])]


class Storage(Stores):
    """Two storage accounts with a container each, the bundles in one of them.

    What is in a resource group goes with it, so the snapshot store has one of its own.
    """

    containers: Mapping[str, Output[str]]
    """Ids of the containers: bundles, snapshots."""
    compute_service: Output[str]
    """URL of Resource Manager, up to the cluster's resource group."""

    def __init__(
        self, given: Blueprint, subnet_ids: Iterable[Output[str]], place: Place, opts: ResourceOptions | None = None
    ) -> None:
        plan, world = given.plan, given.world
        groups = [each.name for each in plan.machine_groups]
        super().__init__("mullion:azure:Storage", plan.name, {"groups": groups}, opts)
        self._cluster, self._tags, self._plan, self._suffix = plan.name, given.tags, plan, given.generated.suffix
        self._subnets, self._place = list(subnet_ids), place
        keep = ResourceOptions(parent=self, retain_on_delete=plan.spec.expires is None)
        bundles, held = self._account("bundles", place, ResourceOptions(parent=self))
        apart = self._apart(keep)
        snapshots, kept = self._account("snapshots", apart, keep)
        self._versions(snapshots, apart, keep)
        self._held = {"account_name": bundles.name, "container_name": held.name}
        self.containers = {"bundles": held.id, "snapshots": kept.id}
        self.bundle_store, self.snapshot_store = (
            Output.concat(account.primary_endpoints.apply(lambda known: known.blob), container.name).apply(
                partial(service_url, fact, world=world)
            )
            for fact, account, container in (("bundle_store", bundles, held), ("snapshot_store", snapshots, kept))
        )
        manager = Output.concat(self.bundle_store.apply(lambda url: urlsplit(url).scheme), "://", MANAGER, place.id)
        self.compute_service = manager.apply(partial(service_url, "compute_service", world=world))
        self._publish(given)
        self.register_outputs({"bundle_store": self.bundle_store, "snapshot_store": self.snapshot_store})

    def _apart(self, keep: ResourceOptions) -> Place:
        """The resource group of the snapshots; a kept one keeps its name."""
        name = f"{self._cluster}-snapshots"
        group = self._suffix.apply(lambda known: f"{name}-{known}")
        return resource_group(name, group, self._tags, self, keep, location=self._place.location)

    def _account(
        self, purpose: str, place: Place, options: ResourceOptions
    ) -> tuple[azure.StorageAccount, azure.BlobContainer]:
        """A private storage account and its container. Machines use tokens; the shared keys are for the provider."""
        name = f"{self._cluster}-{purpose}"
        listed: Any = {
            "default_action": "Deny",
            "bypass": "None",
            "virtual_network_rules": [{"virtual_network_resource_id": each} for each in self._subnets],
            "ip_rules": [{"i_p_address_or_range": each} for each in addresses(self._plan.spec.api.allow)],
        }
        account = azure.StorageAccount(
            name,
            account_name=self._suffix.apply(lambda known: account_name(self._cluster, purpose, known)),
            kind="StorageV2",
            sku={"name": "Standard_ZRS" if self._plan.network.zones > 1 else "Standard_LRS"},
            access_tier=azure.AccessTier.HOT,
            allow_blob_public_access=False,
            allow_cross_tenant_replication=False,
            allow_shared_key_access=True,  # the provider writes blobs with no other right: pulumi-azure-native#2015
            enable_https_traffic_only=True,
            minimum_tls_version="TLS1_2",
            network_rule_set=listed,
            tags=self._tags.on(self, azure.StorageAccount, name),
            opts=ResourceOptions.merge(options, ResourceOptions(protect=self._plan.spec.protect)),
            **place.here,
        )
        container = azure.BlobContainer(
            name, account_name=account.name, container_name=purpose, opts=options, **place.within
        )
        return account, container

    def _versions(self, account: azure.StorageAccount, place: Place, options: ResourceOptions) -> None:
        """Older versions are kept for a time."""
        name = f"{self._cluster}-snapshots"
        versioned = azure.BlobServiceProperties(
            name,
            blob_services_name="default",
            account_name=account.name,
            is_versioning_enabled=True,
            opts=options,
            **place.within,
        )
        old: Any = {"version": {"delete": {"days_after_creation_greater_than": OLDER_DAYS}}}
        azure.ManagementPolicy(
            name,
            management_policy_name="default",
            account_name=account.name,
            policy={
                "rules": [
                    {
                        "name": "older-versions",
                        "enabled": True,
                        "type": "Lifecycle",
                        "definition": {"actions": old, "filters": {"blob_types": ["blockBlob"]}},
                    }
                ]
            },
            opts=ResourceOptions.merge(options, ResourceOptions(depends_on=[versioned])),
            **place.within,
        )

    def _put(self, each: Content) -> tuple[pulumi.Resource, Output[str]]:
        full = f"{self._cluster}-{each.name}"
        made = azure.Blob(
            full,
            blob_name=each.key if each.asset is None else self._unused(full, each.key),
            source=each.text.apply(pulumi.StringAsset) if each.text is not None else each.asset,
            content_type=each.content_type,
            opts=ResourceOptions.merge(
                # the provider makes a blob anew when `source` changes (its schema), and the name of a text is fixed
                ResourceOptions(parent=self, delete_before_replace=each.text is not None),
                each.options,
            ),
            **self._held,
            **self._place.within,
        )
        return made, made.name

    def _unused(self, full: str, key: Input[str]) -> Output[str]:
        """A bundle's name, in a folder of its own since the bundle last changed.

        Older bundles stay, and the provider makes no blob that is there: so one that is again as it was before needs
        another name than it had then.
        """
        folder = stash(f"{full}-folder", secrets.token_hex(4), parent=self, trigger=key)
        return Output.all(key, folder).apply(lambda known: f"/{known[1]}/".join(known[0].rsplit("/", 1)))
