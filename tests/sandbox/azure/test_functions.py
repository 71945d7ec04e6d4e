"""The functions of the sandbox's Azure provider, and what only its outputs tell."""

import pytest

from sandbox.azure.functions import FUNCTIONS, READS
from sandbox.azure.regions import SUBSCRIPTION, TENANT
from sandbox.cloud import Refusal
from sandbox.cloud_state import SERVICES
from sandbox.values import Secret
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene, filled

from .conftest import REGION, SCENES, profile

TOKENS = {token.rsplit(":", 1)[-1]: token for token in (*FUNCTIONS, *READS)}


def test_the_caller_is_of_a_tenant_and_a_subscription(account: Account) -> None:
    found = account.provider.invoke(TOKENS["getClientConfig"], {})
    assert (found["subscriptionId"], found["tenantId"]) == (SUBSCRIPTION, TENANT)


def test_a_machine_is_read_while_it_is_there_and_its_password_never(account: Account, scene: Scene) -> None:
    machine = scene("vm")
    asked = {"resourceGroupName": "rg", "vmName": "web-0"}
    found = account.provider.invoke(TOKENS["getVirtualMachine"], asked | {"expand": "instanceView"})
    assert found["vmId"] == machine.outputs["vmId"]
    assert found["instanceView"]["statuses"][0]["code"] == "PowerState/running"
    assert "osProfile" not in found
    account.delete(machine)
    with pytest.raises(Refusal, match="ResourceNotFound"):
        account.provider.invoke(TOKENS["getVirtualMachine"], asked)


def test_a_machine_that_is_taken_over_has_an_administrator_and_no_password(account: Account, scene: Scene) -> None:
    """The engine shows nothing of a value with a secret in it: who takes the machine over knows none of its profile."""
    inputs = SCENES["vm"][1] | profile(adminPassword=Secret("Pass-word-1"))
    machine = account.create("VirtualMachine", "vm", **filled(inputs, scene))
    unknown = {name: value for name, value in machine.inputs.items() if name != "osProfile"}
    found = account.provider.read(machine.urn, machine.id, unknown, unknown)
    assert found is not None
    assert found[0]["osProfile"] == profile()["osProfile"]
    kept = account.provider.read(machine.urn, machine.id, machine.outputs, machine.inputs)
    assert kept is not None
    assert kept[0]["osProfile"] == machine.inputs["osProfile"]


def test_secret_values_are_in_the_secrets_file_alone_and_new_ones_are_versions(account: Account, scene: Scene) -> None:
    secret = scene("secret")
    key = "https://mullion-a1b2.vault.azure.net/secrets/pki"
    assert list(account.cloud_state.secret_values(key).values()) == ["value"]
    changed = account.update(secret, properties={"value": "another"})
    assert list(account.cloud_state.secret_values(key).values()) == ["value", "another"]
    versions = [each.outputs["properties"]["secretUriWithVersion"] for each in (secret, changed)]
    assert [uri.rpartition("/")[2] for uri in versions] == list(account.cloud_state.secret_values(key))
    account.delete(changed)
    assert account.cloud_state.secret_values(key) == {}


def test_in_a_world_of_plain_http_stores_and_vaults_say_so(account: Account, scene: Scene) -> None:
    assert scene("vault").outputs["properties"]["vaultUri"] == "https://mullion-a1b2.vault.azure.net/"
    with account.cloud_state.transaction():
        account.cloud_state.set_setting(SERVICES, "http")
    account.provider.configure({"location": REGION})
    store = account.create("StorageAccount", "s", **SCENES["store"][1])
    assert store.outputs["primaryEndpoints"]["blob"] == "http://mulliona1b2.blob.core.windows.net/"
