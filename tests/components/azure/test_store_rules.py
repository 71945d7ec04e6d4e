"""Network rules of the stores, by `api.allow`."""

from ipaddress import IPv4Network

import pytest

from components.azure.storage import addresses
from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from tests.components.recorded_wiring import config, of
from tests.existing_networks import EXISTING

RUNNERS = EXISTING["azure"]["subnets"][0]["id"]


def test_the_stores_and_not_the_vault_admit_further_subnets() -> None:
    api = {"access": "private", "virtual_network_rules": [RUNNERS]}
    found = record("azure-dev", {**config("azure-dev"), CLUSTER: {**config("azure-dev")[CLUSTER], "api": api}})
    assert found.errors == []
    stores = of(found, "azure-native:storage:StorageAccount").values()
    listed = [each.inputs["networkRuleSet"]["virtualNetworkRules"] for each in stores]
    assert [[row["virtualNetworkResourceId"] for row in rows][1:] for rows in listed] == [[RUNNERS], [RUNNERS]]
    [vault] = of(found, "azure-native:keyvault:Vault").values()
    assert RUNNERS not in [row["id"] for row in vault.inputs["properties"]["networkAcls"]["virtualNetworkRules"]]


@pytest.mark.parametrize(
    ("allow", "rules"),
    [
        pytest.param(["198.51.100.4/31"], ["198.51.100.4", "198.51.100.5"], id="single addresses instead of a /31"),
        pytest.param(["10.0.0.0/8"], [], id="no private range"),
        pytest.param(["198.51.100.4/31", "198.51.100.5/32"], ["198.51.100.4", "198.51.100.5"], id="an address once"),
        pytest.param(["203.0.113.0/25", "203.0.113.0/24"], ["203.0.113.0/24"], id="a range once"),
    ],
)
def test_a_stores_rules_are_as_azure_takes_them(allow: list[str], rules: list[str]) -> None:
    assert addresses(map(IPv4Network, allow)) == rules
