"""The machines, whether control plane or worker: interface, virtual machine, and what starts the loader on Windows."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pulumi
from pulumi import Output, ResourceHookBinding, ResourceOptions
from pulumi_azure_native import compute, network

from components import sizes
from components.azure.access import Access
from components.azure.images import reference
from components.azure.place import Place, public_address
from components.blueprint import Blueprint
from components.firewall import Group
from components.machine_groups import Make, Ways
from components.node.windows_system import ADMINISTRATOR
from components.plan import Machine, MachineGroup
from components.told import Told, group_tags

FIXED = ["osProfile", "storageProfile.imageReference"]
"""What Azure changes on no machine that is there, and the provider would try to (pulumi-azure-native#577, #1117)."""

LOADER = r"C:\AzureData\loader.ps1"
COMMAND = (
    "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -Command "
    rf'"Copy-Item C:\AzureData\CustomData.bin {LOADER} -Force; & {LOADER}; exit $LASTEXITCODE"'
)
"""Windows puts customData there and runs none of it. The loader returns at once: its task goes on by itself."""

SYSTEMS: Mapping[str, dict[str, Any]] = {
    "linux": {"disable_password_authentication": True, "provision_vm_agent": True},
    # nobody but a roll changes a machine
    "windows": {
        "provision_vm_agent": True,
        "enable_automatic_updates": False,
        "patch_settings": {"patch_mode": "Manual"},
    },
}
"""Settings of the operating system by family."""


@dataclass(frozen=True)
class Site:
    """Where machines are put, and what they are given."""

    given: Blueprint
    place: Place
    zone_names: Output[list[str]]
    subnet_ids: list[Output[str]]
    """By zone."""
    rules_ids: Mapping[Group, Output[str]]
    member_ids: Mapping[Group, Output[str]]
    pool_ids: list[Output[str]]
    """Backend pools of the API's load balancers."""
    identities: Mapping[Group, Output[str]]
    access: Access
    told: Told
    started: dict[compute.VirtualMachine, compute.VirtualMachineExtension] = field(
        default_factory=dict[compute.VirtualMachine, compute.VirtualMachineExtension]
    )
    """What starts the loader of a Windows machine."""


def ways(site: Site, first: list[pulumi.Resource]) -> Ways[compute.VirtualMachine]:
    """How Azure has machines. first: what must exist before one can reach anything, and may do what it must."""
    return Ways(
        "azure",
        partial(_maker, site),
        instance_id=lambda made: made.vm_id,
        first=first,
        ignored=["osProfile"],
        lasting=["hardwareProfile", "storageProfile"],
        complete=lambda made: site.started.get(made, made),
    )


def _maker(
    site: Site, parent: pulumi.Resource, group: MachineGroup, made: Output[MachineGroup]
) -> Make[compute.VirtualMachine]:
    user_data = site.told.user_data(group, made)

    def make(machine: Machine, name: str, options: ResourceOptions) -> compute.VirtualMachine:
        interface = _interface(site, parent, group, machine, name)
        profile = _profile(site, group, machine, user_data(machine))
        identity: Any = {"type": "UserAssigned", "user_assigned_identities": [site.identities[group.group]]}
        hooks = options.hooks
        if group.os.is_windows and hooks:  # a Windows machine begins only when its loader was started
            options = ResourceOptions.merge(options, ResourceOptions())
            options.hooks = ResourceHookBinding(before_delete=hooks.before_delete)
        options = ResourceOptions.merge(options, ResourceOptions(replace_on_changes=FIXED))
        vm = compute.VirtualMachine(
            name,
            vm_name=machine.name,
            zones=[site.zone_names[machine.zone]],
            hardware_profile={"vm_size": group.size},
            storage_profile=_storage(group, name),
            network_profile={"network_interfaces": [{"id": interface.id, "primary": True}]},
            os_profile=profile,
            identity=identity,
            security_profile={
                "security_type": "TrustedLaunch",
                "uefi_settings": {"secure_boot_enabled": True, "v_tpm_enabled": True},
            },
            diagnostics_profile={"boot_diagnostics": {"enabled": True}},  # the serial console, in Azure's own store
            tags=site.given.tags.on(
                parent, compute.VirtualMachine, name, {**group_tags(group, made), "address": str(machine.address)}
            ),
            opts=options,
            **site.place.here,
        )
        if group.os.is_windows:
            site.started[vm] = _loader(site, parent, machine, name, vm, hooks)
        return vm

    return make


def _interface(
    site: Site, parent: pulumi.Resource, group: MachineGroup, machine: Machine, name: str
) -> network.NetworkInterface:
    configuration: Any = {
        "name": "node",
        "primary": True,
        "subnet": {"id": site.subnet_ids[machine.zone]},
        "private_ip_address": str(machine.address),
        "private_ip_allocation_method": "Static",
        "application_security_groups": [{"id": site.member_ids[group.group]}],
    }
    if group.is_control_plane and site.pool_ids:
        configuration["load_balancer_backend_address_pools"] = [{"id": each} for each in site.pool_ids]
    if site.given.plan.has_public_machines:
        zones = [site.zone_names[machine.zone]]
        address = public_address(name, site.place, site.given.tags, parent, zones)
        configuration["public_ip_address"] = {"id": address.id}
    return network.NetworkInterface(
        name,
        network_interface_name=machine.name,
        enable_ip_forwarding=machine.pods is not None,  # else it drops what pods send
        network_security_group={"id": site.rules_ids[group.group]},
        ip_configurations=[configuration],
        tags=site.given.tags.on(parent, network.NetworkInterface, name),
        opts=ResourceOptions(parent=parent),
        **site.place.here,
    )


def _profile(site: Site, group: MachineGroup, machine: Machine, user_data: Output[str]) -> Any:
    profile: dict[str, Any] = {
        "computer_name": machine.name,
        "admin_username": ADMINISTRATOR,
        "custom_data": user_data.apply(lambda text: base64.b64encode(text.encode()).decode()),
    }
    if group.os.is_windows:
        return {**profile, "admin_password": site.access.password, "windows_configuration": SYSTEMS["windows"]}
    path = f"/home/{ADMINISTRATOR}/.ssh/authorized_keys"
    keys = {"ssh": {"public_keys": [{"key_data": site.access.public_key, "path": path}]}}
    return {**profile, "linux_configuration": {**SYSTEMS["linux"], **keys}}


def _storage(group: MachineGroup, name: str) -> Any:
    return {
        "image_reference": reference(group),
        "os_disk": {
            "name": name,
            "create_option": "FromImage",
            "delete_option": "Delete",
            "caching": "ReadWrite",
            "disk_size_gb": group.disk_gb,
            "managed_disk": {"storage_account_type": sizes.AZURE_DISK},
        },
    }


def _loader(
    site: Site,
    parent: pulumi.Resource,
    machine: Machine,
    name: str,
    vm: compute.VirtualMachine,
    hooks: ResourceHookBinding | None,
) -> compute.VirtualMachineExtension:
    """Made anew with its machine, and gone with it. It depends on the machine by order alone, so that the machine is
    asked for (by the hook before its deletion) while the extension is still there.
    """
    return compute.VirtualMachineExtension(
        name,
        vm_extension_name="loader",
        vm_name=machine.name,
        publisher="Microsoft.Compute",
        type="CustomScriptExtension",
        type_handler_version="1.10",
        auto_upgrade_minor_version=True,
        protected_settings=Output.secret({"commandToExecute": COMMAND}),  # as Azure keeps it
        tags=site.given.tags.on(parent, compute.VirtualMachineExtension, name),
        opts=ResourceOptions(
            parent=parent,
            depends_on=[vm],
            deleted_with=vm,
            delete_before_replace=True,
            replacement_trigger=vm.vm_id,
            hooks=ResourceHookBinding(after_create=hooks.after_create) if hooks else None,
        ),
        **site.place.here,
    )
