"""Where resources are put: a resource group and its location, which nearly every type of Azure asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_azure_native import network, resources

from components.tags import Tags


@dataclass(frozen=True)
class Place:
    """A resource group."""

    id: Output[str]
    group: Output[str]
    """Its name."""
    location: Output[str]

    @property
    def within(self) -> dict[str, Any]:
        """Arguments of what is part of a thing that has a location."""
        return {"resource_group_name": self.group}

    @property
    def here(self) -> dict[str, Any]:
        """Arguments of what has a location."""
        return {"resource_group_name": self.group, "location": self.location}


class ResourceGroup(pulumi.ComponentResource):
    """The cluster's resource group: what is in one goes with it."""

    place: Place

    def __init__(self, name: str, tags: Tags, *, protect: bool = False, opts: ResourceOptions | None = None) -> None:
        super().__init__("mullion:azure:ResourceGroup", name, {}, opts)
        self.place = place(name, name, tags, self, ResourceOptions(parent=self, protect=protect))
        self.register_outputs({"id": self.place.id})


def place(
    name: str, group: Input[str], tags: Tags, parent: pulumi.Resource, options: ResourceOptions, **where: Input[str]
) -> Place:
    """Make a resource group called so. where: its location, or nothing for the provider's."""
    made = resources.ResourceGroup(
        name, resource_group_name=group, tags=tags.on(parent, resources.ResourceGroup, name), opts=options, **where
    )
    return Place(made.id, made.name, made.location)


def public_address(
    name: str,
    place: Place,
    tags: Tags,
    parent: pulumi.Resource,
    zones: Input[Sequence[Input[str]]] | None = None,
) -> network.PublicIPAddress:
    """Make a fixed public address. zones: those that it survives the loss of the others of; none: its region's."""
    return network.PublicIPAddress(
        name,
        public_ip_address_name=name,
        public_ip_allocation_method="Static",
        sku={"name": "Standard"},
        zones=zones,
        tags=tags.on(parent, network.PublicIPAddress, name),
        opts=ResourceOptions(parent=parent),
        **place.here,
    )
