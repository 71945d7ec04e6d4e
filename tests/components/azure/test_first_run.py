"""What a real subscription refuses or delays in a first run, recorded without an engine."""

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from tests.components.recorded_wiring import config, of, recording

MACHINE = "azure-native:compute:VirtualMachine"


def test_blobs_wait_for_the_vault_so_that_the_accounts_network_rules_have_taken_effect() -> None:
    found = recording("azure-dev")
    [vault] = of(found, "azure-native:keyvault:Vault").values()
    blobs = of(found, "azure-native:storage:Blob").values()
    assert blobs
    assert all(vault.urn in blob.request.dependencies for blob in blobs)


ROLE, ASSIGNMENT = (f"azure-native:authorization:Role{what}" for what in ("Definition", "Assignment"))


def test_new_roles_are_assigned_after_the_vault_because_azure_does_not_know_them_for_a_minute() -> None:
    found = recording("azure-dev")
    [vault] = of(found, "azure-native:keyvault:Vault").values()
    roles = of(found, ROLE).values()
    custom = [each for each in of(found, ASSIGNMENT).values() if each.dependencies & {role.urn for role in roles}]
    assert len(custom) >= len(roles)
    assert all(vault.urn in assignment.dependencies for assignment in custom)
    assert {role.urn for role in roles} <= vault.dependencies, "it begins when they exist"


def test_roles_at_a_secret_that_the_program_writes_wait_for_it() -> None:
    found = recording("azure-dev")
    for name, secret in of(found, "azure-native:keyvault:Secret").items():
        key = name.removeprefix("azure-dev-")
        there = [
            each for each in of(found, ASSIGNMENT).values() if str(each.inputs["scope"]).endswith(f"/secrets/{key}")
        ]
        assert there, key
        assert all(secret.urn in assignment.dependencies for assignment in there)


def test_azure_names_the_disks_so_that_a_new_machine_does_not_wait_for_the_old_one() -> None:
    for machine in of(recording("azure-dev"), MACHINE).values():
        assert "name" not in machine.inputs["storageProfile"]["osDisk"]
        assert "storageProfile.osDisk.name" in machine.ignore_changes, "an existing disk keeps its name"


def test_balancers_of_a_cluster_in_two_zones_are_in_all_zones_because_azure_takes_one_or_all() -> None:
    network = {"zones": 2, "nodes": "10.20.0.0/16"}
    api = {"access": "public", "allow": ["8.8.8.0/24"]}
    spec = {**config("azure-prod")[CLUSTER], "network": network, "api": api}
    recorded = record("azure-prod", {**config("azure-prod"), CLUSTER: spec})
    assert recorded.errors == []
    balancers = of(recorded, "azure-native:network:LoadBalancer")
    [internal] = balancers["azure-prod-api-internal"].inputs["frontendIPConfigurations"]
    public = of(recorded, "azure-native:network:PublicIPAddress")["azure-prod-api-public"].inputs
    assert internal["zones"] == public["zones"] == ["1", "2", "3"]
    assert {tuple(machine.inputs["zones"]) for machine in of(recorded, MACHINE).values()} == {("1",), ("2",)}
