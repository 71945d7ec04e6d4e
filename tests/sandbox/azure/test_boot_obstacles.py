"""A booted machine on the sandbox's Azure writes its status record unless network, rights or extension prevent it."""

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from components.machine import user_data
from sandbox.records import Boot
from sandbox.values import Asset
from tests.sandbox.account import Account, Thing
from tests.sandbox.scenes import Scene, filled

from .conftest import IN, SCENES, WINDOWS, configuration, profile, rule

STORE = "https://mulliona1b2.blob.core.windows.net/bundles"
CONTENT = "a bundle"
SHA256 = hashlib.sha256(CONTENT.encode()).hexdigest()
READER = "/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
WRITER = "/providers/Microsoft.Authorization/roleDefinitions/ba92f5b4-2d11-453d-a403-e96b0029c9fe"
Make = Callable[..., Thing]


@pytest.fixture
def site(account: Account, scene: Scene) -> Make:
    """Create a machine with everything it needs; `machine` and `without` change that."""

    def make(without: str = "", pods: str = "", password: str = "", **machine: Any) -> Thing:
        container, identity = scene("container"), scene("identity")
        place = IN | {"accountName": "mulliona1b2", "containerName": "bundles"}
        if without != "bundle":
            source = Asset(pulumi.runtime.rpc._special_asset_sig, SHA256, text=CONTENT)
            account.create("Blob", "b", **place, blobName="bundles/x.zip", source=source)
        rights = {"scope": container.id, "principalId": identity.outputs["principalId"]}
        for name, role in (("read", READER), ("write", WRITER)):
            if name not in without:
                account.create("RoleAssignment", name, roleDefinitionId=role, **rights)
        found = {"name": "web-0", **({"pod_cidr": pods} if pods else {})}
        facts = {"bundle_store": STORE, "status_url": f"{STORE}/status/web%3A"}
        text = user_data.user_data("linux", user_data.document(f"{STORE}/bundles/x.zip", SHA256, found, facts), "azure")
        known = {"adminPassword": password} if password else {}
        plain = profile(customData=base64.b64encode(text.encode()).decode(), **known)
        plain["identity"] = {"type": "UserAssigned", "userAssignedIdentities": [identity.id]}
        return account.create("VirtualMachine", "vm", **filled(SCENES["vm"][1] | plain | machine, scene))

    return make


def boot(account: Account) -> Boot:
    [found] = account.cloud_state.boots()
    return found


def test_a_booted_machine_is_ready_and_its_record_has_the_vm_id(account: Account, site: Make) -> None:
    machine = site()
    assert boot(account).state == "ready", boot(account).reason
    stored = account.cloud_state.object("mulliona1b2/bundles", f"status/web:{machine.outputs['vmId']}.json")
    assert stored is not None
    told = json.loads(stored.content)
    assert (told["machine"], told["instance"], told["bundle"]) == ("web-0", machine.outputs["vmId"], SHA256)


LACKING: dict[str, tuple[dict[str, Any], str]] = {
    "no right to read": ({"without": "read write"}, "authorization to perform action"),
    "no right to write": ({"without": "write"}, "blobs/write'"),
    "no bundle": ({"without": "bundle"}, "no object bundles/x.zip in bucket mulliona1b2/bundles"),
    "no identity": ({"identity": None}, "no user-assigned identity"),
    "pods that it may not forward": ({"pods": "10.244.1.0/24"}, "without IP forwarding"),
}


@pytest.mark.parametrize("case", LACKING)
def test_each_obstacle_to_a_boot_is_named(account: Account, site: Make, case: str) -> None:
    changes, words = LACKING[case]
    site(**changes)
    assert (boot(account).state, words in boot(account).reason) == ("waiting", True), boot(account).reason


def test_pod_packets_need_ip_forwarding_on_the_interface(account: Account, scene: Scene, site: Make) -> None:
    face = scene("nic")
    account.update(face, enableIPForwarding=True)
    site(pods="10.244.1.0/24")
    assert boot(account).state == "ready", boot(account).reason


def test_a_machine_without_nat_gateway_needs_a_public_address(account: Account, scene: Scene, site: Make) -> None:
    sub = scene("sub")
    account.update(sub, natGateway=None)
    site()
    assert "has no NAT gateway, and the machine has no public address" in boot(account).reason
    account.delete(scene("nat"))
    public = filled(configuration(publicIPAddress={"id": "$pip"}), scene)
    account.update(scene("nic"), **public)
    assert boot(account).state == "ready", boot(account).reason


def test_a_closed_storage_account_admits_a_machine_by_its_subnet_and_not_by_its_address(
    account: Account, scene: Scene, site: Make
) -> None:
    public = {"defaultAction": "Deny", "ipRules": [{"iPAddressOrRange": "8.8.8.0/24"}]}
    store = account.update(scene("store"), networkRuleSet=public)
    site()
    assert "no virtual network rule of mulliona1b2.blob.core.windows.net admits its subnet" in boot(account).reason
    sub = account.update(scene("sub"), serviceEndpoints=[{"service": "Microsoft.Storage.Global"}])
    account.update(store, networkRuleSet=public | {"virtualNetworkRules": [{"virtualNetworkResourceId": sub.id}]})
    assert boot(account).state == "ready", boot(account).reason


def test_a_deny_rule_for_https_stops_the_boot_unless_an_earlier_rule_allows_it(
    account: Account, scene: Scene, site: Make
) -> None:
    group = scene("nsg")
    out = {"direction": "Outbound", "destinationAddressPrefix": "Internet", "sourceAddressPrefix": "*"}
    deny = rule(name="deny", access="Deny", protocol="*", priority=4000, destinationPortRange="*", **out)
    group = account.update(group, securityRules=[deny])
    site()
    assert "security rule deny denies tcp 443" in boot(account).reason
    account.update(group, securityRules=[deny, rule(name="https", destinationPortRange="443", **out)])
    assert boot(account).state == "ready", boot(account).reason


def test_windows_boots_only_with_the_extension_that_starts_its_loader(account: Account, site: Make) -> None:
    disk = {"imageReference": WINDOWS, "osDisk": {"createOption": "FromImage", "diskSizeGB": 64}}
    site(password="A-password-1", storageProfile=disk)
    assert (boot(account).state, "no extension starts the loader" in boot(account).reason) == ("waiting", True)
    account.create("VirtualMachineExtension", "e", **SCENES["extension"][1])
    assert boot(account).state == "ready", boot(account).reason


@pytest.mark.parametrize("goes", ["extension", "machine"])
def test_protected_settings_of_an_extension_are_deleted_with_extension_or_machine(
    goes: str, account: Account, site: Make
) -> None:
    disk = {"imageReference": WINDOWS, "osDisk": {"createOption": "FromImage", "diskSizeGB": 64}}
    machine = site(password="A-password-1", storageProfile=disk)
    extension = account.create("VirtualMachineExtension", "e", **SCENES["extension"][1])
    told = [json.loads(each) for each in account.cloud_state.secret_values(machine.id).values()]
    assert told == [{"commandToExecute": "powershell"}]
    account.delete({"extension": extension, "machine": machine}[goes])
    assert account.cloud_state.secret_values(machine.id) == {}
