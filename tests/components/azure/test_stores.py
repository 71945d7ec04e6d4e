"""Azure's stores and vault: what Azure takes with a secret, and what the provider needs to delete a blob."""

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from sandbox.azure.vaults import MOST_TAGS
from tests.components.recorded_wiring import config, of, recording


def test_secrets_have_none_of_the_users_tags_because_key_vault_takes_15() -> None:
    tags = {f"tag-{number}": "x" for number in range(MOST_TAGS)}
    found = record("azure-dev", {**config("azure-dev"), CLUSTER: {**config("azure-dev")[CLUSTER], "tags": tags}})
    assert found.errors == []
    secrets = of(found, "azure-native:keyvault:Secret").values()
    assert secrets
    for secret in secrets:
        assert len(secret.inputs["tags"]) <= MOST_TAGS and secret.inputs["tags"]["mullion:cluster"] == "azure-dev"
    [vault] = of(found, "azure-native:keyvault:Vault").values()
    assert tags.items() <= vault.inputs["tags"].items()


def test_a_text_is_deleted_with_its_account_and_a_bundle_is_kept() -> None:
    """Deleting a blob alone needs the account's key, and an address that its network rules list."""
    found = recording("azure-dev")
    account = of(found, "azure-native:storage:StorageAccount")["azure-dev-bundles"]
    for name, blob in of(found, "azure-native:storage:Blob").items():
        bundle = name.startswith("azure-dev-bundle-")
        assert blob.request.deletedWith == ("" if bundle else account.urn), name
        assert blob.retain_on_delete is bundle, name


def test_vault_and_secrets_have_what_policies_of_landing_zones_ask_for() -> None:
    """Enforce-GR-KeyVault refuses a vault without purge protection and secrets without a content type."""
    found = recording("azure-dev")
    [vault] = of(found, "azure-native:keyvault:Vault").values()
    assert vault.inputs["properties"]["enablePurgeProtection"] is True
    types = {
        each.inputs["secretName"]: each.inputs["properties"]["contentType"]
        for each in of(found, "azure-native:keyvault:Secret").values()
    }
    assert types == {"pki": "application/json", "desired-state": "text/plain"}
