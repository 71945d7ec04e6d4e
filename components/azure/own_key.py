"""Encryption with the user's key (`encryption_key`), used by Azure's services through the user's managed identity."""

from dataclasses import dataclass
from typing import Any

from pulumi import Output, Resource, ResourceOptions
from pulumi_azure_native import compute

from components.azure.place import Place
from components.spec.models import ClusterSpec


@dataclass(frozen=True)
class OwnKey:
    """A version of a key in a vault, and the user-assigned identity that may wrap and unwrap with it."""

    vault: str
    key: str
    version: str
    identity: str

    @property
    def _identities(self) -> Any:
        return {"type": "UserAssigned", "user_assigned_identities": [self.identity]}

    @property
    def _vault_url(self) -> str:
        return f"https://{self.vault}.vault.azure.net"

    def of_account(self) -> dict[str, Any]:
        """Return the arguments of a storage account.

        The account follows new versions of the key, because no version is named.
        """
        settings = {
            "key_source": "Microsoft.Keyvault",
            "key_vault_properties": {"key_name": self.key, "key_vault_uri": self._vault_url},
            "encryption_identity": {"encryption_user_assigned_identity": self.identity},
        }
        return {"encryption": settings, "identity": self._identities}

    def disk_encryption_set(self, name: str, place: Place, parent: Resource) -> Output[str]:
        """Register the disk encryption set of the machines' disks; return its id."""
        return compute.DiskEncryptionSet(
            name,
            disk_encryption_set_name=name,
            encryption_type="EncryptionAtRestWithCustomerKey",
            active_key={"key_url": f"{self._vault_url}/keys/{self.key}/{self.version}"},
            rotation_to_latest_key_version_enabled=True,
            identity=self._identities,
            # Azure replaces the version in it when the key gets a new one. The provider sends the whole resource, so a
            # change of tags would send the version of the state
            **place.here(
                parent,
                compute.DiskEncryptionSet,
                name,
                ResourceOptions(parent=parent, ignore_changes=["activeKey", "tags"]),
            ),
        ).id


def own_key(spec: ClusterSpec) -> OwnKey | None:
    """Return the key of a checked spec; None if it has none."""
    found = spec.cloud.facts.key_form.fullmatch(spec.encryption_key or "")
    return OwnKey(found["vault"], found["key"], found["version"], spec.encryption_identity or "") if found else None
