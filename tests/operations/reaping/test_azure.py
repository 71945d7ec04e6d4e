"""Inventory and deletion on Azure: what is in a group, and roles beside it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from operations.reaping import accounts, sweep
from operations.reaping.azure import GROUPS, Azure
from sandbox.azure.cloud import AZURE
from sandbox.cloud_state import CloudState
from tests.operations.reaping.clocks import passing
from tests.sandbox.account import Account

PLACE = "westeurope"
READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
TAGS = {"mullion:cluster": "ci", "mullion:owner": "qa", "mullion:expires": "2026-01-01T00:00:00Z"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Account]:
    """A subscription with a tagged group and its network, and a group of somebody else with another one."""
    cloud_state = CloudState(tmp_path / "world.db", seed="test")
    world = Account(cloud_state, AZURE, PLACE)
    for group, tags in (("ci", TAGS), ("other", {"team": "web"})):
        world.create("ResourceGroup", group, resourceGroupName=group, location=PLACE, tags=tags)
        space = {"addressPrefixes": ["10.0.0.0/16"]}
        given = {"resourceGroupName": group, "virtualNetworkName": group, "location": PLACE, "tags": tags}
        world.create("VirtualNetwork", group, addressSpace=space, **given)
    yield world
    cloud_state.close()


@pytest.fixture
def account(world: Account, tmp_path: Path) -> Iterator[Azure]:
    with accounts.in_sandbox("azure", (), tmp_path / "world.db") as found:
        assert isinstance(found[0], Azure)
        yield found[0]


def left(world: Account) -> list[str]:
    return sorted(each.id.rpartition("resourceGroups/")[2] for each in world.cloud_state.resources())


def test_a_group_goes_with_all_that_is_in_it_and_another_stays(world: Account, account: Azure) -> None:
    given = {"resourceGroupName": "ci", "location": PLACE}
    world.create("NetworkSecurityGroup", "kubernetes", networkSecurityGroupName="kubernetes", **given)
    assert sweep.removed(account, "ci", lambda _: "", clock=passing()).left == []
    assert left(world) == ["other", "other/providers/Microsoft.Network/virtualNetworks/other"]


def test_a_group_that_another_reaper_deletes_meanwhile_is_not_an_error(
    world: Account, account: Azure, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = account._requests
    listed, deleted = requests.values, []

    def values(host: str, path: str, query: dict[str, str]) -> list[dict[str, Any]]:
        if "/providers/" in path and not deleted:
            deleted.append(requests.call("DELETE", host, path.partition("/providers/")[0], {"api-version": GROUPS}))
        return list(listed(host, path, query))

    monkeypatch.setattr(requests, "values", values)
    assert {each.kind for each in account.inventory()} == {"resource-group"} and deleted
    assert left(world) == ["other", "other/providers/Microsoft.Network/virtualNetworks/other"]


def test_a_group_without_any_resource_of_mullion_stays(world: Account, account: Azure) -> None:
    """Somebody who may set tags gave the group of a network team the two tags of an expired cluster."""
    given = {"resourceGroupName": "net", "location": PLACE}
    world.create("ResourceGroup", "net", tags={**TAGS, "mullion:cluster": "net"}, **given)
    world.create("NetworkSecurityGroup", "edge", networkSecurityGroupName="edge", **given)
    [found] = sweep.removed(account, "net", lambda _: "", clock=passing()).left
    assert found.why.endswith("networkSecurityGroups/edge, and nothing with Mullion's tags")
    assert any("edge" in each for each in left(world))


def test_a_group_with_a_resource_of_somebody_else_stays(world: Account, account: Azure) -> None:
    given = {"resourceGroupName": "ci", "location": PLACE}
    world.create(
        "VirtualNetwork", "mine", virtualNetworkName="mine", addressSpace={"addressPrefixes": ["10.9.0.0/16"]}, **given
    )
    before = left(world)
    [found] = sweep.removed(account, "ci", lambda _: "", clock=passing()).left
    assert found.why.endswith("virtualNetworks/mine, which is not Mullion's")
    assert left(world) == before


@pytest.mark.parametrize(("state", "deleting"), [("Deleting", True), ("Succeeded", False)])
def test_a_group_says_that_azure_is_deleting_it(
    account: Azure, monkeypatch: pytest.MonkeyPatch, state: str, deleting: bool
) -> None:
    values = type(account._requests).values

    def with_state(requests: Any, host: str, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        for row in values(requests, host, path, query):
            yield {**row, "properties": {"provisioningState": state}} if path.endswith("/resourcegroups") else row

    monkeypatch.setattr(type(account._requests), "values", with_state)
    [group] = [each for each in account.inventory() if each.kind == "resource-group"]
    assert group.deleting == deleting


def test_roles_of_a_clusters_identity_go_wherever_they_are(world: Account, account: Azure) -> None:
    """In a network of the user's, machines may join subnets; that assignment would outlive the identity."""
    machines, another = [
        world.create(
            "UserAssignedIdentity", name, resourceName=name, resourceGroupName=group, location=PLACE, tags=tags
        )
        for name, group, tags in (("machines", "ci", TAGS), ("another", "other", {}))
    ]
    scope = world.cloud_state.resources("azure-native:network:VirtualNetwork")[1].id
    role = f"/subscriptions/{AZURE.account}/providers/Microsoft.Authorization/roleDefinitions/"
    for principal in (each.outputs["principalId"] for each in (machines, another)):
        world.create(
            "RoleAssignment",
            principal,
            scope=scope,
            roleDefinitionId=f"{role}{READER}",
            principalId=principal,
            principalType="ServicePrincipal",
        )
    assert sweep.removed(account, "ci", lambda _: "", clock=passing()).left == []
    rest = [
        each.inputs["principalId"] for each in world.cloud_state.resources("azure-native:authorization:RoleAssignment")
    ]
    assert rest == [another.outputs["principalId"]]


def test_the_issuer_and_the_identities_of_pods_go_with_the_group_and_so_do_their_roles_elsewhere(
    world: Account, account: Azure
) -> None:
    given = {"resourceGroupName": "ci", "location": PLACE, "tags": TAGS}
    store = {"accountName": "ciissuer", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
    world.create("StorageAccount", "issuer", **store, **given)
    within = {"resourceGroupName": "ci"}
    world.create("StorageAccountStaticWebsite", "issuer", accountName="ciissuer", **within)
    file = {"accountName": "ciissuer", "containerName": "$web", "blobName": "openid/v1/jwks"}
    world.create("Blob", "keys", **file, **within)
    pods = world.create("UserAssignedIdentity", "pods", resourceName="ci-pods-shop-uploads-0", **given)
    trust = {"issuer": "https://ciissuer.z6.web.core.windows.net", "subject": "system:serviceaccount:shop:uploads"}
    named = {"resourceName": "ci-pods-shop-uploads-0", "federatedIdentityCredentialResourceName": "kubernetes"}
    world.create(
        "FederatedIdentityCredential", "pods", **within, **named, **trust, audiences=["api://AzureADTokenExchange"]
    )
    role = f"/subscriptions/{AZURE.account}/providers/Microsoft.Authorization/roleDefinitions/{READER}"
    scope = world.cloud_state.resources("azure-native:network:VirtualNetwork")[1].id
    principal = {"principalId": pods.outputs["principalId"], "principalType": "ServicePrincipal"}
    world.create("RoleAssignment", "data", scope=scope, roleDefinitionId=role, **principal)
    assert sweep.removed(account, "ci", lambda _: "", clock=passing()).left == []
    assert left(world) == ["other", "other/providers/Microsoft.Network/virtualNetworks/other"]
    assert not world.cloud_state.objects("ciissuer/$web")


def test_a_group_in_another_region_is_not_looked_at(world: Account, tmp_path: Path) -> None:
    with accounts.in_sandbox("azure", ("northeurope",), tmp_path / "world.db") as found:
        assert found[0].inventory() == []


def test_the_machines_of_a_group_are_counted(account: Azure, monkeypatch: pytest.MonkeyPatch) -> None:
    values = type(account._requests).values

    def with_machines(requests: Any, host: str, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        yield from values(requests, host, path, query)
        if path.endswith("/resources"):
            for kind in ("virtualMachines", "virtualMachines/extensions", "virtualMachines", "disks"):
                yield {"id": "x", "type": f"Microsoft.Compute/{kind}", "tags": TAGS}

    monkeypatch.setattr(type(account._requests), "values", with_machines)
    [remains] = accounts.clusters_of(account)
    assert remains.machines == 2
