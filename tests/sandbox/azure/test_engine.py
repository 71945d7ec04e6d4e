"""The real Pulumi engine on the sandbox's Azure, with a small program."""

# pyright: reportArgumentType=false, reportOptionalSubscript=false
# plain dictionaries; the SDK's types only where a call is checked against them

import base64
from pathlib import Path
from typing import Any

import pulumi
import pytest

from tests.sandbox.running import Runner, Small

from .conftest import UBUNTU

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
    ),
]
REGION = "westeurope"
VALUE = "engine-secret-0453-Aa"
READER = "/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"


def named_balancer(subnet: Any, group: dict[str, Any]) -> Any:
    """Create an internal load balancer with a name in a private zone; return its address."""
    from pulumi_azure_native import network, privatedns

    balancer = network.LoadBalancer(
        "lb",
        sku={"name": "Standard"},
        frontend_ip_configurations=[{"name": "api", "subnet": {"id": subnet.id}}],
        **group,
    )
    address = balancer.frontend_ip_configurations.apply(lambda frontends: frontends[0].private_ip_address)
    zone = privatedns.PrivateZone("zone", private_zone_name="c.mullion.internal", location="Global", **group)
    named: dict[str, Any] = {"relative_record_set_name": "api", "record_type": "A", "ttl": 60}
    privatedns.PrivateRecordSet(
        "api", private_zone_name=zone.name, a_records=[{"ipv4_address": address}], **named, **group
    )
    return address


def small_cloud(settings: dict[str, Any]) -> None:
    """A network with machines, a balancer with a name, an identity with rights, stores and a secret."""
    from pulumi_azure_native import authorization, compute, keyvault, managedidentity, network, resources
    from pulumi_azure_native import storage as stores

    tags = {"owner": settings["owner"]}
    tenant = authorization.get_client_config().tenant_id
    group = resources.ResourceGroup("rg", tags=tags)
    here: dict[str, Any] = {"resource_group_name": group.name}
    net = network.VirtualNetwork("net", address_space={"address_prefixes": ["10.20.0.0/16"]}, **here)
    subnet = network.Subnet("sub", virtual_network_name=net.name, address_prefix="10.20.0.0/24", **here)
    identity = managedidentity.UserAssignedIdentity("node", **here)
    account = stores.StorageAccount("store", kind="StorageV2", sku={"name": "Standard_LRS"}, **here)
    container = stores.BlobContainer("bundles", account_name=account.name, **here)
    blob: dict[str, Any] = {"account_name": account.name, "container_name": container.name, "blob_name": "a/b", **here}
    stores.Blob("bundle", source=pulumi.StringAsset(settings["bundle"]), **blob)
    authorization.RoleAssignment(
        "read", scope=container.id, role_definition_id=READER, principal_id=identity.principal_id
    )
    sku = {"family": "A", "name": "standard"}
    vault = keyvault.Vault(
        "vault",
        vault_name=settings["vault"],
        properties={"tenant_id": tenant, "sku": sku, "enable_rbac_authorization": True},
        **here,
    )
    value = {"value": pulumi.Output.secret(VALUE)}
    keyvault.Secret("pki", vault_name=vault.name, secret_name="pki", properties=value, **here)
    data = base64.b64encode(settings["data"].encode()).decode()
    for number in range(settings["machines"]):
        face = network.NetworkInterface(
            f"m{number}",
            ip_configurations=[
                {
                    "name": "ip",
                    "subnet": {"id": subnet.id},
                    "private_ip_allocation_method": "Static",
                    "private_ip_address": f"10.20.0.{10 + number}",
                }
            ],
            **here,
        )
        compute.VirtualMachine(
            f"m{number}",
            hardware_profile={"vm_size": settings["size"]},
            storage_profile={"image_reference": UBUNTU, "os_disk": {"create_option": "FromImage"}},
            network_profile={"network_interfaces": [{"id": face.id}]},
            os_profile={
                "computer_name": f"m{number}",
                "admin_username": "azureuser",
                "admin_password": pulumi.Output.secret(VALUE),
                "custom_data": data,
            },
            identity={"type": "SystemAssigned, UserAssigned", "user_assigned_identities": [identity.id]},
            opts=pulumi.ResourceOptions(replace_on_changes=["osProfile.customData"], delete_before_replace=True),
            tags=tags,
            **here,
        )
    pulumi.export("address", named_balancer(subnet, here))
    pulumi.export("vault", vault.properties.vault_uri)


SETTINGS = {"size": "Standard_D2s_v5", "data": "#cloud-config", "vault": "mullion-one"}
SMALL = Small(small_cloud, SETTINGS, ("azure-native:location", REGION))


def test_up_change_replace_destroy_and_up_again(runner: Runner, tmp_path: Path) -> None:
    """The life of a stack; each preview_and_up also asserts that the up did what the preview showed."""
    outputs = runner.first_up()
    assert outputs == {"address": "10.20.0.254", "vault": "https://mullion-one.vault.azure.net/"}

    changed = runner.preview_and_up(owner="them", size="Standard_D4s_v5", machines=3)
    assert changed == {
        "ResourceGroup rg": ("update", ("tags",)),
        "VirtualMachine m0": ("update", ("hardwareProfile", "tags")),
        "VirtualMachine m1": ("update", ("hardwareProfile", "tags")),
        "NetworkInterface m2": ("create", ()),
        "VirtualMachine m2": ("create", ()),
    }, "changes are in place, and named"
    replaced = runner.preview_and_up(data="#cloud-config 2")
    assert {name for name in replaced if name.startswith("VirtualMachine m")} == {
        f"VirtualMachine m{n}" for n in range(3)
    }
    assert {operation for operation, _ in replaced.values()} <= {"replace", "delete", "create"}

    runner.stack.destroy()
    assert runner.cloud_state.resources() == []
    again = runner.run(lambda on_event: _up_with(runner, on_event, vault="mullion-two"))
    assert {operation for operation, _ in again.values()} == {"create"}, "again, with another vault"
    runner.stack.destroy()
    assert not [operation for operation in runner.cloud_state.operations() if operation.error]
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "world.secrets"]
    assert not [file for file in files if VALUE.encode() in file.read_bytes()], "secrets are in the secrets file alone"


def _up_with(runner: Runner, on_event: Any, **changes: Any) -> None:
    runner.settings |= changes
    runner.stack.up(on_event=on_event)
