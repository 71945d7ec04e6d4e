"""Compute Engine instances of the control plane and the workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.catalogue import etcd_disks, instance_sizes
from components.gcp.firewall import network_tag
from components.gcp.identity import Identity
from components.gcp.network import UsableNetwork
from components.plan import MachineGroup
from components.spec.models import OperatingSystem
from components.wiring.context import ClusterContext
from components.wiring.launch_data import LaunchData
from components.wiring.machine_groups import CloudMachines, MachineRequest

METADATA = {
    # no enable-oslogin: Google refuses FALSE under the organisation policy compute.requireOsLogin
    "linux": {"block-project-ssh-keys": "true", "serial-port-enable": "FALSE"},
    # the address manager removes pods' addresses (kubernetes#75561), the account manager adds users; agents
    # from 20250901 on add them all the same (google-guest-agent, cmd/core_plugin/winpassreset)
    "windows": {
        "disable-address-manager": "true",
        "disable-account-manager": "true",
        "serial-port-enable": "FALSE",
    },
}
"""Instance metadata by OS family: block SSH keys, users and addresses from the project's metadata."""

STOPPED: gcp.compute.InstanceSchedulingArgsDict = {"on_host_maintenance": "TERMINATE"}
"""Scheduling of machines that cannot be moved live: they stop for maintenance of their host, and start again."""

USER_DATA = {"linux": "user-data", "windows": "windows-startup-script-ps1"}
"""Metadata key of the user-data: cloud-init reads it on Linux, Google's agent at every boot on Windows."""

SPOT: gcp.compute.InstanceSchedulingArgsDict = {
    "provisioning_model": "SPOT",
    "preemptible": True,
    "automatic_restart": False,
    "on_host_maintenance": "TERMINATE",
    "instance_termination_action": "DELETE",
}
"""Deleted when preempted: a stopped machine would keep its disk and its bill."""


@dataclass(frozen=True)
class MachineInputs:
    """Outputs of other components that every instance takes as arguments."""

    context: ClusterContext
    network: UsableNetwork
    identity: Identity
    images: Mapping[OperatingSystem, Output[str]]


def cloud_machines(
    inputs: MachineInputs, launch: LaunchData, first: list[pulumi.Resource]
) -> CloudMachines[gcp.compute.Instance]:
    """Return how to register machines on GCP. first: resources that must exist before any machine."""
    return CloudMachines(
        "gcp",
        partial(_machine, inputs),
        launch,
        instance_id=lambda instance: instance.instance_id,
        first=first,
        ignored=["metadata"],
        lasting=["machineType", "bootDisk", "attachedDisks"],
    )


def _machine(inputs: MachineInputs, request: MachineRequest) -> gcp.compute.Instance:
    group, machine, name = request.group, request.machine, request.name
    own = group.identity_of(machine)
    own_key = inputs.context.plan.spec.encryption_key
    key: gcp.compute.InstanceBootDiskArgsDict = {"kms_key_self_link": own_key} if own_key else {}
    own_disk = _etcd_disk(inputs, request)
    return gcp.compute.Instance(
        name,
        name=name,
        zone=inputs.network.zone_names[machine.zone],
        machine_type=group.size,
        can_ip_forward=machine.pods is not None,  # else GCP drops packets with a pod's source address
        boot_disk={
            "auto_delete": True,
            **key,
            "initialize_params": {
                "image": inputs.images[group.os],
                "size": group.disk_gb,
                "type": instance_sizes.gcp_disk(group.size),
            },
        },
        attached_disks=own_disk and [{"source": own_disk.id, "device_name": etcd_disks.NAME["gcp"]}],
        network_interfaces=[
            {
                "subnetwork": inputs.network.machine_subnets[machine.zone],
                "network_ip": str(machine.address),
                "access_configs": [{"network_tier": "PREMIUM"}] if inputs.context.plan.has_public_machines else [],
            }
        ],
        # the scope allows all APIs; the account's roles limit the rights
        service_account={"email": inputs.identity.accounts[own], "scopes": ["cloud-platform"]},
        scheduling=_scheduling(group),
        tags=[network_tag(inputs.context.plan.name, group.group)],
        metadata={**METADATA[group.family], USER_DATA[group.family]: request.user_data},
        shielded_instance_config={
            "enable_secure_boot": True,
            "enable_vtpm": True,
            "enable_integrity_monitoring": True,
        },
        # after a manual change of the machine type; Mullion replaces machines. Not control planes: the provider would
        # stop one after another without waiting for etcd
        allow_stopping_for_update=not group.is_control_plane,
        labels=inputs.context.tags.labels(request.parent, gcp.compute.Instance, name, request.tags),
        opts=ResourceOptions.merge(request.options, ResourceOptions(depends_on=inputs.identity.granted[own])),
    )


def _etcd_disk(inputs: MachineInputs, request: MachineRequest) -> gcp.compute.Disk | None:
    """Register etcd's disk; None without the option.

    It is a resource of its own, because the provider makes no further disk together with its machine. A change of the
    option leaves it as it is, for the running member uses it; whoever replaces the machine replaces it too. It has no
    name of ours, so the new disk comes before the machine that takes it, and the former one goes after its machine.
    """
    disk, own_key = request.group.etcd_disk, inputs.context.plan.spec.encryption_key
    if disk is None:
        return None
    return gcp.compute.Disk(
        request.name,
        zone=inputs.network.zone_names[request.machine.zone],
        type=disk.type.value,
        size=disk.size_gb,
        provisioned_iops=disk.iops,
        provisioned_throughput=disk.throughput,
        disk_encryption_key={"kms_key_self_link": own_key} if own_key else None,
        labels=inputs.context.tags.labels(request.parent, gcp.compute.Disk, request.name, request.tags),
        opts=ResourceOptions(
            parent=request.parent,
            protect=request.options.protect,
            ignore_changes=["type", "size", "provisionedIops", "provisionedThroughput"],
        ),
    )


def _scheduling(group: MachineGroup) -> gcp.compute.InstanceSchedulingArgsDict | None:
    """Return what happens to a machine at maintenance, and whether it is spot; None: Google's own choice."""
    if group.spot:
        return SPOT
    return None if instance_sizes.gcp_is_moved(group.size) else STOPPED
