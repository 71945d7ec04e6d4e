"""The functions of the sandbox's Azure provider, and values that appear only in outputs."""

import pytest

from sandbox.azure import network_reads
from sandbox.azure.functions import FUNCTIONS, READS
from sandbox.azure.regions import SUBSCRIPTION, TENANT
from sandbox.cloud import Refusal
from sandbox.cloud_state import SERVICES
from sandbox.values import Secret
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene, filled

from .conftest import REGION, SCENES, profile

TOKENS = {token.rsplit(":", 1)[-1]: token for token in (*FUNCTIONS, *READS, *network_reads.READS)}


def test_the_caller_has_a_tenant_and_a_subscription(account: Account) -> None:
    found = account.provider.invoke(TOKENS["getClientConfig"], {})
    assert (found["subscriptionId"], found["tenantId"]) == (SUBSCRIPTION, TENANT)


def test_an_existing_machine_is_read_without_its_password(account: Account, scene: Scene) -> None:
    machine = scene("vm")
    asked = {"resourceGroupName": "rg", "vmName": "web-0"}
    found = account.provider.invoke(TOKENS["getVirtualMachine"], asked | {"expand": "instanceView"})
    assert found["vmId"] == machine.outputs["vmId"]
    assert found["instanceView"]["statuses"][0]["code"] == "PowerState/running"
    assert "osProfile" not in found
    account.delete(machine)
    with pytest.raises(Refusal, match="ResourceNotFound"):
        account.provider.invoke(TOKENS["getVirtualMachine"], asked)


def test_an_imported_machine_has_an_administrator_and_no_password(account: Account, scene: Scene) -> None:
    """The engine hides a value that contains a secret, so an import finds no OS profile."""
    inputs = SCENES["vm"][1] | profile(adminPassword=Secret("Pass-word-1"))
    machine = account.create("VirtualMachine", "vm", **filled(inputs, scene))
    unknown = {name: value for name, value in machine.inputs.items() if name != "osProfile"}
    found = account.provider.read(machine.urn, machine.id, unknown, unknown)
    assert found is not None
    assert found[0]["osProfile"] == profile()["osProfile"]
    kept = account.provider.read(machine.urn, machine.id, machine.outputs, machine.inputs)
    assert kept is not None
    assert kept[0]["osProfile"] == machine.inputs["osProfile"]


def test_secret_values_are_only_in_the_secrets_file_and_changes_add_versions(account: Account, scene: Scene) -> None:
    secret = scene("secret")
    key = "https://mullion-a1b2.vault.azure.net/secrets/pki"
    assert list(account.cloud_state.secret_values(key).values()) == ["value"]
    changed = account.update(secret, properties={"value": "another"})
    assert list(account.cloud_state.secret_values(key).values()) == ["value", "another"]
    versions = [each.outputs["properties"]["secretUriWithVersion"] for each in (secret, changed)]
    assert [uri.rpartition("/")[2] for uri in versions] == list(account.cloud_state.secret_values(key))
    account.delete(changed)
    assert account.cloud_state.secret_values(key) == {}


def test_urls_of_stores_and_vaults_are_http_in_a_lab_network(account: Account, scene: Scene) -> None:
    assert scene("vault").outputs["properties"]["vaultUri"] == "https://mullion-a1b2.vault.azure.net/"
    with account.cloud_state.transaction():
        account.cloud_state.set_setting(SERVICES, "http")
    account.provider.configure({"location": REGION})
    store = account.create("StorageAccount", "s", **SCENES["store"][1])
    assert store.outputs["primaryEndpoints"]["blob"] == "http://mulliona1b2.blob.core.windows.net/"


def test_a_link_of_a_private_zone_is_read_with_its_network(account: Account, scene: Scene) -> None:
    link = scene("blob link")
    zone = "privatelink.blob.core.windows.net"
    asked = {"resourceGroupName": "rg", "privateZoneName": zone, "virtualNetworkLinkName": "link"}
    found = account.provider.invoke(TOKENS["getVirtualNetworkLink"], asked)
    assert found["virtualNetwork"]["id"] == scene("net").id
    assert (found["id"], found["virtualNetworkLinkState"]) == (link.id, "Completed")
    with pytest.raises(Refusal, match=f"privateDnsZones/virtualNetworkLinks/{zone}/other' under resource group 'rg'"):
        account.provider.invoke(TOKENS["getVirtualNetworkLink"], {**asked, "virtualNetworkLinkName": "other"})
