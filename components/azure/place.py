"""Where resources are put: a resource group and its location, which nearly every type of Azure asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_azure_native import network, resources

from components.wiring.context import ClusterContext
from components.wiring.tags import Tags


@dataclass(frozen=True)
class Place:
    """A resource group, and the tags of what is in it."""

    id: Output[str]
    group: Output[str]
    """Its name."""
    location: Output[str]
    tags: Tags

    @property
    def within(self) -> dict[str, Any]:
        """Arguments of what is part of a thing that has a location."""
        return {"resource_group_name": self.group}

    def here(
        self, parent: Resource, kind: type[Resource], name: str, opts: ResourceOptions | None = None, **more: Input[str]
    ) -> dict[str, Any]:
        """Arguments of what has tags and a location: of this class, with this logical name. more: tags besides.

        opts: where it is more than a child of `parent`.
        """
        tags, options = self.tags.on(parent, kind, name, more), opts or ResourceOptions(parent=parent)
        return {**self.within, "location": self.location, "tags": tags, "opts": options}


class ResourceGroup(pulumi.ComponentResource):
    """The cluster's resource group: what is in one goes with it."""

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
    """Make a resource group called so. where: its location, or nothing for the provider's."""
    made = resources.ResourceGroup(
        name, resource_group_name=group, tags=tags.on(parent, resources.ResourceGroup, name), opts=options, **where
    )
    return Place(made.id, made.name, made.location, tags)


def public_address(
    name: str, place: Place, parent: Resource, zones: Input[Sequence[Input[str]]] | None
) -> network.PublicIPAddress:
    """Make a fixed public address. zones: those that it survives the loss of the others of; none: its region's."""
    return network.PublicIPAddress(
        name,
        public_ip_address_name=name,
        public_ip_allocation_method="Static",
        sku={"name": "Standard"},
        zones=zones,
        **place.here(parent, network.PublicIPAddress, name),
    )
