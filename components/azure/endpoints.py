"""Private endpoints of the stores and the vault, and their names, for machines without a way to the internet.

In an existing network the endpoints have fixed addresses in the machines' first subnet, and the user's private zones
give their names these addresses: a network is linked to one zone of a name.
"""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure
from pulumi_azure_native import privatedns

from components.azure.api import EVERYWHERE
from components.azure.network import UsableNetwork
from components.azure.place import Place
from components.azure.storage import Storage
from components.azure.vault import Vault
from components.topology.addressing import endpoint_address
from components.topology.private_endpoints import AZURE_ZONES, BUNDLES, SECRETS, SNAPSHOTS, PrivateEndpoint
from components.wiring.context import ClusterContext

ZONE_GROUP = "default"
"""Name of an endpoint's group of zones; an endpoint has one group."""


class Endpoints(pulumi.ComponentResource):
    """An endpoint for each store and the vault. Private zones give its address to the service's own name."""

    ways: list[pulumi.Resource]
    """The endpoints' names and the links of Mullion's zones: machines reach none of the services before these exist."""

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        network: UsableNetwork,
        storage: Storage,
        vault: Vault,
        opts: ResourceOptions | None = None,
    ) -> None:
        name, planned = context.plan.name, context.plan.private_endpoints
        super().__init__("mullion:azure:Endpoints", name, {"services": [each.service for each in planned]}, opts)
        self._context, self._cluster, self._place, self._network = context, name, place, network
        targets = {each: storage.accounts[each] for each in (BUNDLES, SNAPSHOTS)} | {SECRETS: vault.resource.id}
        self.ways = []
        zones = network.service_zones or {
            AZURE_ZONES[part]: self._zone(part) for part in sorted({each.part for each in planned})
        }
        made: list[azure.PrivateEndpoint] = []
        groups: list[pulumi.Resource] = []
        for index, each in enumerate(planned):
            made.append(self._endpoint(each, index, targets[each.service], made))
            groups.append(self._named(each, made[-1], zones[AZURE_ZONES[each.part]]))
        self.ways += groups
        self.register_outputs({"ids": {each.service: one.id for each, one in zip(planned, made, strict=True)}})

    def _zone(self, part: str) -> Output[str]:
        """Register a private zone and its link, which joins `ways`; return the zone's id."""
        full = f"{self._cluster}-{part}-zone"
        here = self._place.here(self, privatedns.PrivateZone, full) | EVERYWHERE
        zone = privatedns.PrivateZone(full, private_zone_name=AZURE_ZONES[part], **here)
        link = privatedns.VirtualNetworkLink(
            full,
            virtual_network_link_name=self._cluster,
            private_zone_name=zone.name,
            registration_enabled=False,
            virtual_network={"id": self._network.network_id},
            **self._place.here(self, privatedns.VirtualNetworkLink, full) | EVERYWHERE,
        )
        self.ways.append(link)
        return zone.id

    def _endpoint(
        self, planned: PrivateEndpoint, index: int, target: Output[str], before: Sequence[pulumi.Resource]
    ) -> azure.PrivateEndpoint:
        """Register an endpoint after those before it and after all subnets.

        Azure refuses an endpoint while a resource that it uses is being changed (ReferencedResourceNotProvisioned:
        hashicorp/terraform-provider-azurerm#21293).
        """
        full = f"{self._cluster}-{planned.service}"
        order = ResourceOptions(
            parent=self,
            depends_on=[*self._network.routes, *before],
            ignore_changes=["customDnsConfigs"],  # Azure empties them once the endpoint has a group of zones
        )
        return azure.PrivateEndpoint(
            full,
            private_endpoint_name=full,
            subnet={"id": self._network.endpoint_subnet},
            private_link_service_connections=[
                {"name": planned.service, "private_link_service_id": target, "group_ids": [planned.part]}
            ],
            **self._fixed(planned, index),
            **self._place.here(self, azure.PrivateEndpoint, full, order),
        )

    def _fixed(self, planned: PrivateEndpoint, index: int) -> dict[str, Any]:
        """Return the argument with an endpoint's fixed address; none in a subnet of endpoints alone."""
        address = endpoint_address(self._context.plan.network, index)
        if address is None:
            return {}
        own = {"name": planned.service, "group_id": planned.part, "member_name": planned.member}
        return {"ip_configurations": [{**own, "private_ip_address": str(address)}]}

    def _named(
        self, planned: PrivateEndpoint, endpoint: azure.PrivateEndpoint, zone_id: Output[str]
    ) -> azure.PrivateDnsZoneGroup:
        """Let Azure write the endpoint's address into the zone, and remove it with the endpoint."""
        return azure.PrivateDnsZoneGroup(
            f"{self._cluster}-{planned.service}",
            private_dns_zone_group_name=ZONE_GROUP,
            private_endpoint_name=endpoint.name,
            private_dns_zone_configs=[{"name": planned.part, "private_dns_zone_id": zone_id}],
            opts=ResourceOptions(parent=self),
            **self._place.within,
        )
