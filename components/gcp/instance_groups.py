"""Zonal instance groups, which GCP's load balancers take as backends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceHookBinding, ResourceOptions

from components.gcp.network import UsableNetwork
from components.plan import Machine


@dataclass(frozen=True)
class Memberships:
    """How the memberships of an instance group are registered."""

    name: Callable[[str], str]
    """Logical name of a machine's membership."""
    hooks: ResourceHookBinding | None = None


def instance_groups(
    parent: pulumi.Resource,
    name: str,
    network: UsableNetwork,
    instances: Mapping[Machine, gcp.compute.Instance],
    memberships: Memberships,
) -> list[gcp.compute.InstanceGroup]:
    """Register an instance group for each zone of the machines, named NAME-ZONE, and the machines' memberships."""
    zone_names: Output[list[str]] = network.zone_names
    groups = {
        zone: gcp.compute.InstanceGroup(
            f"{name}-{zone}",
            name=f"{name}-{zone}",
            zone=zone_names[zone],
            network=network.network_id,
            opts=ResourceOptions(parent=parent),
        )
        for zone in sorted({machine.zone for machine in instances})
    }
    for machine, instance in instances.items():
        # A resource for each membership: a group that lists its machines could not replace one of them, because the
        # load balancer uses the group, and the successor has the same name, so neither the list nor its link changes.
        gcp.compute.InstanceGroupMembership(
            memberships.name(machine.name),
            instance=instance.self_link,
            instance_group=groups[machine.zone].name,
            zone=zone_names[machine.zone],
            opts=ResourceOptions(
                parent=parent,
                delete_before_replace=True,
                replacement_trigger=instance.instance_id,
                hooks=memberships.hooks,
            ),
        )
    return list(groups.values())
