"""Virtual machines: network interface, machine, and on Windows the extension that starts the loader."""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pulumi import Output, Resource, ResourceHookBinding, ResourceOptions
from pulumi_azure_native import compute, network

from components.azure.firewall import Firewall
from components.azure.identity import Identity
from components.azure.images import reference
from components.azure.network import UsableNetwork
from components.azure.place import Place, public_address
from components.catalogue import etcd_disks, instance_sizes
from components.catalogue.etcd_disks import Disk
from components.node.windows_system import ADMINISTRATOR
from components.rollout.workers import BOOT_SECONDS
from components.wiring.context import ClusterContext
from components.wiring.kept_secrets import stash
from components.wiring.launch_data import LaunchData
from components.wiring.machine_groups import CloudMachines, MachineRequest

FIXED = ["osProfile", "storageProfile.imageReference"]
"""Inputs that Azure cannot change on an existing machine, but the provider tries (pulumi-azure-native#577, #1117)."""

OWN_LICENCE = "Windows_Server"
"""Azure Hybrid Benefit for Windows Server (REST reference, VirtualMachine.licenseType)."""

SPOT: dict[str, Any] = {"priority": "Spot", "eviction_policy": "Delete", "billing_profile": {"max_price": -1}}
"""Evicted for capacity only, at most at the on-demand price; a deallocated machine would keep its disk and its bill."""

LOADER = r"C:\AzureData\loader.ps1"
COMMAND = (
    "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -Command "
    "\"$ErrorActionPreference = 'Stop'; "
    rf'Copy-Item C:\AzureData\CustomData.bin {LOADER} -Force; & {LOADER}; exit $LASTEXITCODE"'
)
"""Runs the loader: on Windows Azure only writes customData to this file. The loader starts a task and returns.

Stop: without it a loader that cannot be copied or is refused ends with 0, and Azure reports a success."""

LOADER_TIME = f"{BOOT_SECONDS['windows']}s"
"""Maximum time of a call for the extension, as of the gate of a Windows machine. Azure waits 90 minutes for a machine
whose agent does not answer ("Azure virtual machine extensions and features for Windows")."""

BITS = 2048
"""Bits of the SSH key: Azure's minimum for RSA (REST reference, SshPublicKey.keyData)."""


def password() -> str:
    """Return a random password of 36 characters; Azure requires 8 to 123, of three character classes."""
    return f"{secrets.token_urlsafe(24)}-Aa1"


def public_key() -> str:
    """Return an OpenSSH public key whose private key is discarded."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=BITS)
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


class AdministratorLogin(pulumi.ComponentResource):
    """Password and SSH key of the administrator account that Azure requires on every machine; nobody can log in.

    The password is only in the state, encrypted, and the machine disables the account. The SSH key's private part is
    discarded.
    """

    password: Output[str]
    """Secret."""
    public_key: Output[str]

    def __init__(self, context: ClusterContext, opts: ResourceOptions | None = None) -> None:
        name = context.plan.name
        super().__init__("mullion:azure:Access", name, {}, opts)
        self.password = stash(f"{name}-password", password(), parent=self, secret=True)
        self.public_key = stash(f"{name}-ssh-key", public_key(), parent=self)
        self.register_outputs({"public_key": self.public_key})


@dataclass(frozen=True)
class MachineInputs:
    """Outputs of other components that every machine takes as arguments."""

    context: ClusterContext
    place: Place
    network: UsableNetwork
    firewall: Firewall
    identity: Identity
    login: AdministratorLogin
    pool_ids: Mapping[str, list[Output[str]]]
    """Backend pools of load balancers, by name of the machine group that is in them."""
    disk_encryption_set: Output[str] | None
    """Id of the set that encrypts the disks with a key of the user; None: Azure's own key encrypts them."""


def cloud_machines(
    inputs: MachineInputs, launch: LaunchData, first: list[Resource]
) -> CloudMachines[compute.VirtualMachine]:
    """Return how to register machines on Azure. first: resources that must exist before any machine."""
    loaders: dict[Resource, Resource] = {}
    return CloudMachines(
        "azure",
        partial(_machine, inputs, loaders),
        launch,
        instance_id=lambda vm: vm.vm_id,
        first=first,
        # Azure names the disk: a fixed name is taken until the deletion of the machine before has ended. Machines that
        # were built with a name of ours keep it
        # identity: machines that were built without a system-assigned one do not prove their announcements, and agents
        # ask those that have one for it
        ignored=["osProfile", "storageProfile.osDisk.name", "identity"],
        lasting=["hardwareProfile", "storageProfile"],
        complete=lambda vm: loaders.get(vm, vm),
    )


def _machine(
    inputs: MachineInputs, loaders: dict[Resource, Resource], request: MachineRequest
) -> compute.VirtualMachine:
    """Register a virtual machine; on Windows add the extension that starts the loader to `loaders`."""
    group, machine, name = request.group, request.machine, request.name
    hooks = request.options.hooks
    own = group.identity_of(machine)
    more = ResourceOptions(replace_on_changes=FIXED, depends_on=inputs.identity.granted[own])
    options = ResourceOptions.merge(request.options, more)
    if group.os.is_windows and hooks:  # on Windows the extension has the after-create hook: it starts the loader
        options.hooks = ResourceHookBinding(before_delete=hooks.before_delete)
    storage: Any = {
        "image_reference": reference(group),
        "os_disk": {
            "create_option": "FromImage",
            "delete_option": "Delete",
            # etcd flushes each write, so a host that caches writes only delays it (Azure's pages on performance of
            # premium disks: None or ReadOnly for disks with many writes). Existing control planes keep their setting
            "caching": "ReadOnly" if group.is_control_plane else "ReadWrite",
            "disk_size_gb": group.disk_gb,
            "managed_disk": _managed(inputs, instance_sizes.AZURE_DISK),
        },
        **({"data_disks": [_etcd_disk(inputs, group.etcd_disk)]} if group.etcd_disk else {}),
    }
    # a worker's second identity ends with the machine and has no rights: its token proves whose announcement it is
    kind = "UserAssigned" if group.is_control_plane else "SystemAssigned, UserAssigned"
    identities = inputs.identity.of_machine(own, is_windows=group.os.is_windows)
    identity: Any = {"type": kind, "user_assigned_identities": identities}
    tags = {**request.tags, "address": str(machine.address)}
    vm = compute.VirtualMachine(
        name,
        vm_name=machine.name,
        zones=[inputs.network.zone_names[machine.zone]],
        hardware_profile={"vm_size": group.size},
        storage_profile=storage,
        network_profile={"network_interfaces": [{"id": _interface(inputs, request).id, "primary": True}]},
        os_profile=_profile(inputs, request),
        license_type=OWN_LICENCE if group.own_licence else None,
        **(SPOT if group.spot else {}),
        identity=identity,
        security_profile={
            "security_type": "TrustedLaunch",
            "uefi_settings": {"secure_boot_enabled": True, "v_tpm_enabled": True},
        },
        diagnostics_profile={
            "boot_diagnostics": {"enabled": True}
        },  # serial console, in a storage account that Azure manages
        **inputs.place.here(request.parent, compute.VirtualMachine, name, options, **tags),
    )
    if group.os.is_windows:
        loaders[vm] = _loader(inputs, request, vm)
    return vm


def _managed(inputs: MachineInputs, kind: str) -> Any:
    """Return a managed disk of a type, encrypted as all disks of the cluster."""
    own = inputs.disk_encryption_set
    return {"storage_account_type": kind, **({} if own is None else {"disk_encryption_set": {"id": own}})}


def _etcd_disk(inputs: MachineInputs, disk: Disk) -> Any:
    """Return etcd's disk, which Azure makes and deletes with its machine. Azure names it, as it names the root disk."""
    return {
        "lun": int(etcd_disks.NAME["azure"]),
        "create_option": "Empty",
        "delete_option": "Delete",
        "caching": "None",  # etcd flushes each write; Premium SSD v2 has no cache of the host
        "disk_size_gb": disk.size_gb,
        "managed_disk": _managed(inputs, disk.type.value),
    }


def _interface(inputs: MachineInputs, request: MachineRequest) -> network.NetworkInterface:
    group, machine, name = request.group, request.machine, request.name
    configuration: Any = {
        "name": "node",
        "primary": True,
        "subnet": {"id": inputs.network.subnet_ids[machine.zone]},
        "private_ip_address": str(machine.address),
        "private_ip_allocation_method": "Static",
        "application_security_groups": [{"id": inputs.firewall.member_ids[group.group]}],
    }
    if ids := inputs.pool_ids.get(group.name):
        configuration["load_balancer_backend_address_pools"] = [{"id": each} for each in ids]
    if inputs.context.plan.has_public_machines:
        address = public_address(name, inputs.place, request.parent, [inputs.network.zone_names[machine.zone]])
        configuration["public_ip_address"] = {"id": address.id}
    return network.NetworkInterface(
        name,
        network_interface_name=machine.name,
        enable_ip_forwarding=machine.pods is not None,  # else it drops packets with a pod's source address
        network_security_group={"id": inputs.firewall.rules_ids[group.group]},
        ip_configurations=[configuration],
        # after all subnets: Azure refuses concurrent changes of a virtual network
        **inputs.place.here(
            request.parent,
            network.NetworkInterface,
            name,
            ResourceOptions(parent=request.parent, depends_on=inputs.network.routes),
        ),
    )


def _profile(inputs: MachineInputs, request: MachineRequest) -> Any:
    """Return the OS profile: computer name, administrator, user-data."""
    profile: dict[str, Any] = {
        "computer_name": request.machine.name,
        "admin_username": ADMINISTRATOR,
        "custom_data": request.user_data.apply(lambda text: base64.b64encode(text.encode()).decode()),
    }
    if request.group.os.is_windows:
        # Mullion replaces machines instead of updating them
        by_hand = {"enable_automatic_updates": False, "patch_settings": {"patch_mode": "Manual"}}
        settings = {"provision_vm_agent": True, **by_hand}
        return {**profile, "admin_password": inputs.login.password, "windows_configuration": settings}
    key = {"key_data": inputs.login.public_key, "path": f"/home/{ADMINISTRATOR}/.ssh/authorized_keys"}
    settings = {"provision_vm_agent": True, "disable_password_authentication": True, "ssh": {"public_keys": [key]}}
    return {**profile, "linux_configuration": settings}


def _loader(
    inputs: MachineInputs, request: MachineRequest, vm: compute.VirtualMachine
) -> compute.VirtualMachineExtension:
    """Register the extension that starts the loader; it is replaced and deleted with its machine.

    `depends_on` instead of an input: the machine's before-delete hook then runs while the extension still exists.
    Its tags stay as they were created: Azure refuses new ones while the machine is stopped (azure-docs#124186).
    """
    hooks = request.options.hooks
    options = ResourceOptions(
        parent=request.parent,
        depends_on=[vm],
        deleted_with=vm,
        delete_before_replace=True,
        replacement_trigger=vm.vm_id,
        # a newer command is for new machines: an update would run it on all running machines at once
        ignore_changes=["tags", "protectedSettings", "typeHandlerVersion"],
        custom_timeouts=pulumi.CustomTimeouts(create=LOADER_TIME, update=LOADER_TIME),
        hooks=ResourceHookBinding(after_create=hooks.after_create) if hooks else None,
    )
    return compute.VirtualMachineExtension(
        request.name,
        vm_extension_name="loader",
        vm_name=request.machine.name,
        publisher="Microsoft.Compute",
        type="CustomScriptExtension",
        type_handler_version="1.10",
        auto_upgrade_minor_version=True,
        protected_settings=Output.secret({"commandToExecute": COMMAND}),  # Azure never returns it
        **inputs.place.here(request.parent, compute.VirtualMachineExtension, request.name, options),
    )
