"""A resource group and its location, which nearly every resource type of Azure requires."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_azure_native import network, privatedns, resources

from components.wiring.context import ClusterContext
from components.wiring.tags import Tags


@dataclass(frozen=True)
class Place:
    """A resource group, its location, and the tags of its resources."""

    id: Output[str]
    group: Output[str]
    """Name of the resource group."""
    location: Output[str]
    tags: Tags

    @property
    def within(self) -> dict[str, Any]:
        """Arguments of a child resource, which has no location of its own."""
        return {"resource_group_name": self.group}

    def here(
        self, parent: Resource, kind: type[Resource], name: str, opts: ResourceOptions | None = None, **more: Input[str]
    ) -> dict[str, Any]:
        """Return the arguments of a resource with tags and a location, of the class `kind` and logical name `name`.

        more: additional tags. opts: default is a child of `parent`.
        """
        # private DNS drops tags with a colon in their key (azure-rest-api-specs#11748), and takes 15 of them
        dns = kind in (privatedns.PrivateZone, privatedns.VirtualNetworkLink)
        tags = self.tags.on(parent, kind, name, more, few=dns, separator="-" if dns else ":")
        options = opts or ResourceOptions(parent=parent)
        return {**self.within, "location": self.location, "tags": tags, "opts": options}


class ResourceGroup(pulumi.ComponentResource):
    """The cluster's resource group. Azure deletes a group's resources with the group."""

    place: Place

    def __init__(self, context: ClusterContext, opts: ResourceOptions | None = None) -> None:
        name = context.plan.name
        super().__init__("mullion:azure:ResourceGroup", name, {}, opts)
        guarded = ResourceOptions(parent=self, protect=context.plan.spec.protect)
        self.place = place(name, name, context.tags, self, guarded)
        self.register_outputs({"id": self.place.id})


def place(
    name: str, group: Input[str], tags: Tags, parent: Resource, options: ResourceOptions, **where: Input[str]
) -> Place:
    """Create a resource group. where: `location`, or nothing for the provider's location."""
    created = resources.ResourceGroup(
        name, resource_group_name=group, tags=tags.on(parent, resources.ResourceGroup, name), opts=options, **where
    )
    return Place(created.id, created.name, created.location, tags)


def public_address(
    name: str, place: Place, parent: Resource, zones: Input[Sequence[Input[str]] | None] | None
) -> network.PublicIPAddress:
    """Create a static public address. zones: its availability zones; None: Azure chooses."""
    return network.PublicIPAddress(
        name,
        public_ip_address_name=name,
        public_ip_allocation_method="Static",
        sku={"name": "Standard"},
        zones=zones,
        **place.here(parent, network.PublicIPAddress, name),
    )
