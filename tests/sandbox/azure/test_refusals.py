"""The rows of refusals.py, and refusals that need a second resource, a quota, an update or a deletion."""

from typing import Any

import pytest

from components.releases import systems
from sandbox import tamper
from sandbox.azure.quotas import CORES, QUOTAS
from sandbox.azure.regions import REGIONS, disk, has, second_generation, vcpus
from sandbox.values import Asset
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene, filled, refusal_of, stopped

from .conftest import IN, SCENES, WINDOWS, rule
from .refusals import BEFORE, NEEDED, ROWS
from .refusals_of_stores import READER


@pytest.mark.parametrize("case", ROWS)
def test_a_call_that_azure_refuses_is_refused_with_its_code(account: Account, scene: Scene, case: str) -> None:
    kind, _, code, words = ROWS[case]
    scene("rg")
    for name in (NEEDED.get(kind), BEFORE.get(case)):
        if name:
            scene(name)
    said = refusal_of(account, scene, SCENES, ROWS[case])
    assert said.startswith(f"{code}: "), said
    assert words in said


def test_at_least_fifty_kinds_of_refusals_are_listed() -> None:
    assert len({(code, words) for _, _, code, words in ROWS.values()}) >= 50
    assert len({code for _, _, code, _ in ROWS.values()}) >= 25


HELD = {
    "net": ("link", "InUseVirtualNetworkCannotBeDeleted"),
    "sub": ("nic", "InUseSubnetCannotBeDeleted"),
    "nsg": ("sub", "InUseNetworkSecurityGroupCannotBeDeleted"),
    "table": ("sub", "InUseRouteTableCannotBeDeleted"),
    "nat": ("sub", "InUseNatGatewayCannotBeDeleted"),
    "pip": ("nat", "PublicIPAddressCannotBeDeleted"),
    "nic": ("vm", "NicInUse"),
    "members": ("nic", "InUseApplicationSecurityGroupCannotBeDeleted"),
    "zone": ("link", "CannotDeleteResource"),
}


@pytest.mark.parametrize("name", HELD)
def test_a_resource_in_use_is_not_deleted(account: Account, scene: Scene, name: str) -> None:
    holder, code = HELD[name]
    held = scene(name)
    last = scene(holder)
    refusal = account.refused(lambda: account.delete(held))
    assert refusal.code == code, str(refusal)
    account.delete(last)
    account.delete(held)


TWICE = ("net", "nsg", "nic", "lb", "identity", "zone", "record", "container", "rg")


@pytest.mark.parametrize("name", TWICE)
def test_a_name_is_free_again_once_its_resource_is_deleted(account: Account, scene: Scene, name: str) -> None:
    first = scene(name)
    short, inputs = SCENES[name]
    spare = {"nic": {"ipConfigurations": [{"name": "ip", "subnet": {"id": "$sub"}}]}, "lb": {}}
    again = filled(inputs | spare.get(name, {}), scene)
    if name == "lb":
        again["frontendIPConfigurations"] = [{"name": "api", "subnet": again["frontendIPConfigurations"][0]["subnet"]}]
    refusal = account.refused(lambda: account.create(short, "again", **again))
    assert (refusal.code, "cannot create already existing resource" in refusal.message) == ("AlreadyExists", True)
    account.delete(first)
    account.create(short, "again", **again)


def test_deleted_vault_and_secret_names_stay_taken_and_store_names_do_not(account: Account, scene: Scene) -> None:
    """`up, down, up` needs a new suffix for names that Azure keeps after deletion."""
    for name, code in (("secret", "ObjectIsDeletedButRecoverable"), ("vault", "ConflictError")):
        thing = scene(name)
        account.delete(thing)
        short, inputs = SCENES[name]
        assert account.refused(lambda: account.create(short, "again", **filled(inputs, scene))).code == code  # noqa: B023
    store = scene("store")
    account.delete(store)
    account.create("StorageAccount", "again", **SCENES["store"][1])


def test_names_of_stores_and_vaults_are_globally_unique(account: Account, scene: Scene) -> None:
    scene("store")
    scene("vault")
    account.create("ResourceGroup", "other", resourceGroupName="other")
    for name, code in (("store", "StorageAccountAlreadyTaken"), ("vault", "VaultAlreadyExists")):
        short, inputs = SCENES[name]
        given = filled(inputs | {"resourceGroupName": "other"}, scene)
        assert account.refused(lambda: account.create(short, "again", **given)).code == code  # noqa: B023


def test_the_zones_of_a_frontend_do_not_change(account: Account, scene: Scene) -> None:
    """Azure/azure-powershell issue 14326."""
    balancer = scene("lb")
    [frontend] = balancer.inputs["frontendIPConfigurations"]
    zoned = {**frontend, "zones": ["1", "2", "3"]}
    refusal = account.refused(lambda: account.update(balancer, frontendIPConfigurations=[zoned]))
    assert refusal.code == "ResourceAvailabilityZonesCannotBeModified"


def test_subnets_do_not_overlap(account: Account, scene: Scene) -> None:
    scene("sub")
    other = IN | {"virtualNetworkName": "net", "subnetName": "b", "addressPrefix": "10.20.0.128/25"}
    refusal = account.refused(lambda: account.create("Subnet", "b", **other))
    assert refusal.code == "NetcfgSubnetRangesOverlap"
    assert "Subnet 'b' is not valid because its IP address range overlaps" in refusal.message


def test_an_address_belongs_to_one_interface_also_if_azure_chose_it(account: Account, scene: Scene) -> None:
    scene("nic")
    given = filled(SCENES["nic"][1] | {"networkInterfaceName": "b"}, scene)
    assert (
        account.refused(lambda: account.create("NetworkInterface", "b", **given)).code == "PrivateIPAddressIsAllocated"
    )
    free = {"ipConfigurations": [{"name": "ip", "subnet": {"id": scene("sub").id}}]}
    chosen = account.create("NetworkInterface", "c", **IN, networkInterfaceName="c", **free)
    [address] = [each["privateIPAddress"] for each in chosen.outputs["ipConfigurations"]]
    assert address == "10.20.0.254"
    given["ipConfigurations"][0]["privateIPAddress"] = address
    assert (
        account.refused(lambda: account.create("NetworkInterface", "b", **given)).code == "PrivateIPAddressIsAllocated"
    )


def test_an_interface_has_one_machine_and_a_machine_one_extension_of_a_type(account: Account, scene: Scene) -> None:
    scene("extension")
    given = filled(SCENES["vm"][1] | {"vmName": "web-1"}, scene)
    assert account.refused(lambda: account.create("VirtualMachine", "b", **given)).code == "NicInUse"
    other = SCENES["extension"][1] | {"vmExtensionName": "other"}
    refusal = account.refused(lambda: account.create("VirtualMachineExtension", "b", **other))
    assert "Multiple VMExtensions per handler" in refusal.message


@pytest.mark.parametrize("change", ["customData", "computerName", "adminUsername", "image", "zones"])
def test_changes_that_arm_refuses_and_the_provider_allows_are_refused(
    account: Account, scene: Scene, change: str
) -> None:
    machine = scene("vm")
    inputs: dict[str, Any] = {name: dict(value) for name, value in machine.inputs.items() if isinstance(value, dict)}
    values = {"customData": "AAAA", "computerName": "web-9", "adminUsername": "other"}
    changes: dict[str, Any] = {"osProfile": inputs["osProfile"] | {change: values.get(change)}}
    if change == "image":
        changes = {"storageProfile": inputs["storageProfile"] | {"imageReference": WINDOWS}}
        changes["osProfile"] = inputs["osProfile"] | {"adminPassword": "Pass-word-1"}
    if change == "zones":
        changes = {"zones": ["2"]}
    assert not account.provider.diff(machine.urn, machine.inputs, machine.inputs | changes).replaces
    refusal = account.refused(lambda: account.update(machine, **changes))
    wanted = "ResourceAvailabilityZonesCannotBeModified" if change == "zones" else "PropertyChangeNotAllowed"
    assert refusal.code == wanted


def test_an_update_of_a_missing_machine_creates_it(account: Account, scene: Scene) -> None:
    """The provider updates with the API's CreateOrUpdate, which asks for no earlier machine."""
    machine = scene("vm")
    record = account.cloud_state.find(machine.urn.split("::")[-2], machine.id)
    assert record
    tamper.remove(account.cloud_state, record)
    changed = account.update(machine, tags={"mullion-owner": "b"})
    assert changed.outputs["vmId"] != machine.outputs["vmId"]
    assert account.cloud_state.find(record.type, machine.id)


def test_a_blob_needs_the_accounts_key_as_the_provider_does(account: Account, scene: Scene) -> None:
    """pulumi-azure-native issue #2015."""
    scene("container")
    blob = IN | {"accountName": "mulliona1b2", "containerName": "bundles", "blobName": "a/b"}
    account.create("Blob", "a", **blob)
    assert account.cloud_state.object("mulliona1b2/bundles", "a/b") is not None
    account.update(scene("store"), allowSharedKeyAccess=False)
    refusal = account.refused(lambda: account.create("Blob", "b", **(blob | {"blobName": "c"})))
    assert refusal.code == "KeyBasedAuthenticationNotPermitted"


def test_a_changed_blob_is_replaced_after_deletion_and_never_overwrites_another(account: Account, scene: Scene) -> None:
    """The provider's own code: `source` forces a new blob, and the provider refuses to create a blob that exists."""
    scene("container")
    blob = IN | {"accountName": "mulliona1b2", "containerName": "bundles"}
    texts = [Asset("signature", text, text=text) for text in ("one", "two")]
    made = account.create("Blob", "a", **blob, blobName="a/b", source=texts[0])
    for name in ("a/b", "c"):
        difference = account.provider.diff(made.urn, made.inputs, made.inputs | {"blobName": name, "source": texts[1]})
        assert set(difference.replaces) == {"source", *(["blobName"] if name == "c" else [])}
        assert difference.delete_first, "unless the program says otherwise"
    refusal = account.refused(lambda: account.create("Blob", "b", **blob, blobName="a/b", source=texts[0]))
    assert refusal.code == "AlreadyExists"


def test_a_network_links_one_zone_of_a_name(account: Account, scene: Scene) -> None:
    scene("link")
    other = filled(SCENES["link"][1] | {"virtualNetworkLinkName": "again"}, scene)
    refusal = account.refused(lambda: account.create("VirtualNetworkLink", "b", **other))
    assert "overlapping namespaces" in refusal.message


def test_deleting_a_resource_group_deletes_its_content(account: Account, scene: Scene) -> None:
    for name in ("sub", "zone", "identity"):
        scene(name)
    account.delete(scene("rg"))
    assert account.cloud_state.resources() == []


OVER: dict[str, tuple[str, dict[str, Any]]] = {
    CORES: ("vm", {}),
    "public addresses per location": ("pip", {}),
    "resource groups": ("ResourceGroup", {"resourceGroupName": "more"}),
    "virtual networks per location": ("net", {}),
    "network interfaces per location": ("nic", {}),
    "network security groups per location": ("nsg", {}),
    "rules per network security group": ("nsg", {}),
    "route tables per location": ("table", {}),
    "storage accounts per location": ("store", {}),
    "role assignments per subscription": ("RoleAssignment", {"scope": "$rg", "roleDefinitionId": READER}),
}


@pytest.mark.parametrize("name", QUOTAS.rows)
def test_one_more_than_the_quota_is_refused(account: Account, scene: Scene, name: str) -> None:
    kind, changes = OVER[name]
    short, inputs = SCENES.get(kind, (kind, {}))
    if kind != "ResourceGroup":
        scene("rg")
    given = filled(inputs | changes, scene)
    if kind == "RoleAssignment":
        given["principalId"] = scene("identity").outputs["principalId"]
    account.cloud_state.set_setting(f"quota/{name}", "0")
    refusal = account.refused(lambda: account.create(short, "more", **given))
    assert refusal.code == QUOTAS.rows[name].code
    account.cloud_state.set_setting(f"quota/{name}", "8")
    account.create(short, "more", **given)


def test_1001_security_rules_are_refused(account: Account, scene: Scene) -> None:
    scene("rg")
    many = [rule(name=f"r{number}", priority=100 + number) for number in range(1001)]
    given = IN | {"networkSecurityGroupName": "many", "securityRules": many}
    refusal = account.refused(lambda: account.create("NetworkSecurityGroup", "many", **given))
    assert refusal.code == "MaxSecurityRulesCountLimitReached"


VALUES: dict[str, tuple[str, dict[str, Any], str]] = {
    "account of 25 letters": ("store", {"accountName": "x" * 25}, "accountName"),
    "account with a hyphen": ("store", {"accountName": "mullion-a"}, "accountName"),
    "vault of 25 letters": ("vault", {"vaultName": "x" * 25}, "vaultName"),
    "vault with two hyphens": ("vault", {"vaultName": "a--b"}, "vaultName"),
    "secret with a slash": ("secret", {"secretName": "a/b"}, "secretName"),
    "container in capitals": ("container", {"containerName": "Bundles"}, "containerName"),
    "group with a dot last": ("rg", {"resourceGroupName": "rg."}, "resourceGroupName"),
    "zone with a dot last": ("zone", {"privateZoneName": "c.internal."}, "privateZoneName"),
    "hop": ("route", {"nextHopType": "Machine"}, "nextHopType"),
    "assignment that is no GUID": (
        "RoleAssignment",
        {"scope": "s", "roleDefinitionId": "r", "principalId": "p", "roleAssignmentName": "mine"},
        "roleAssignmentName",
    ),
    "tag key": ("rg", {"tags": {"a/b": "x"}}, "tags.a/b"),
    "reserved tag key": ("rg", {"tags": {"azure-x": "x"}}, "tags.azure-x"),
    "tag value": ("rg", {"tags": {"a": "x" * 257}}, "tags.a"),
    "unknown property": ("nic", {"enableIpForwarding": True}, "enableIpForwarding"),
    "missing property": ("store", {"kind": None}, "kind"),
    "mistyped property": ("record", {"ttl": "60"}, "ttl"),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_the_provider_refuses_fails_the_preview(account: Account, case: str) -> None:
    kind, changes, path = VALUES[case]
    assert stopped(account, SCENES, kind, changes) == [path]


def test_images_of_every_release_exist_with_their_generation() -> None:
    for release in (*systems.WINDOWS.values(), *systems.LINUX.values()):
        publisher, offer, sku = release.images["azure"].split(":")
        reference = {"publisher": publisher, "offer": offer, "sku": sku, "version": "latest"}
        assert disk(reference) == 30, release.os
        assert second_generation(reference), release.os


def test_a_location_without_a_generation_refuses_its_sizes(account: Account) -> None:
    assert [vcpus(name) for name in ("Standard_D4s_v5", "Standard_B2ms", "Standard_D5s_v5", "m6i.large")] == [
        *(4, 2, None, None)
    ]
    assert has("westeurope", "Standard_D4s_v6")
    assert not has("westus", "Standard_D4s_v6")
    assert REGIONS["westus"] == ()
