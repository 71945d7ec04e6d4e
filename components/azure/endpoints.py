"""Private endpoints of the stores and the vault, and their names, for machines without a way to the internet."""

from collections.abc import Sequence

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure
from pulumi_azure_native import privatedns

from components.azure.api import EVERYWHERE
from components.azure.network import UsableNetwork
from components.azure.place import Place
from components.azure.storage import Storage, Vault
from components.topology.private_endpoints import AZURE_ZONES, BUNDLES, SECRETS, SNAPSHOTS, PrivateEndpoint
from components.wiring.context import ClusterContext

ZONE_GROUP = "default"
"""Name of an endpoint's group of zones; an endpoint has one group."""


class Endpoints(pulumi.ComponentResource):
    """An endpoint for each store and the vault. Private zones give its address to the service's own name."""

    ways: list[pulumi.Resource]
    """The endpoints' names and the zones' links: a machine reaches none of the services before these exist."""

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
        self._cluster, self._place, self._network = name, place, network
        targets = {each: storage.accounts[each] for each in (BUNDLES, SNAPSHOTS)} | {SECRETS: vault.resource.id}
        zones = {part: self._zone(part) for part in sorted({each.part for each in planned})}
        links: list[pulumi.Resource] = [self._link(part, zone) for part, zone in zones.items()]
        made: list[azure.PrivateEndpoint] = []
        groups: list[pulumi.Resource] = []
        for each in planned:
            made.append(self._endpoint(each, targets[each.service], made))
            groups.append(self._named(each, made[-1], zones[each.part]))
        self.ways = [*links, *groups]
        self.register_outputs({"ids": {each.service: one.id for each, one in zip(planned, made, strict=True)}})

    def _zone(self, part: str) -> privatedns.PrivateZone:
        full = f"{self._cluster}-{part}-zone"
        here = self._place.here(self, privatedns.PrivateZone, full) | EVERYWHERE
        return privatedns.PrivateZone(full, private_zone_name=AZURE_ZONES[part], **here)

    def _link(self, part: str, zone: privatedns.PrivateZone) -> privatedns.VirtualNetworkLink:
        full = f"{self._cluster}-{part}-zone"
        return privatedns.VirtualNetworkLink(
            full,
            virtual_network_link_name=self._cluster,
            private_zone_name=zone.name,
            registration_enabled=False,
            virtual_network={"id": self._network.network_id},
            **self._place.here(self, privatedns.VirtualNetworkLink, full) | EVERYWHERE,
        )

    def _endpoint(
        self, planned: PrivateEndpoint, target: Output[str], before: Sequence[pulumi.Resource]
    ) -> azure.PrivateEndpoint:
        """Register an endpoint after those before it and after all subnets.

        Azure refuses an endpoint while a resource that it uses is being changed (ReferencedResourceNotProvisioned:
        hashicorp/terraform-provider-azurerm#21293).
        """
        full = f"{self._cluster}-{planned.service}"
        order = ResourceOptions(parent=self, depends_on=[*self._network.routes, *before])
        return azure.PrivateEndpoint(
            full,
            private_endpoint_name=full,
            subnet={"id": self._network.endpoint_subnet},
            private_link_service_connections=[
                {"name": planned.service, "private_link_service_id": target, "group_ids": [planned.part]}
            ],
            **self._place.here(self, azure.PrivateEndpoint, full, order),
        )

    def _named(
        self, planned: PrivateEndpoint, endpoint: azure.PrivateEndpoint, zone: privatedns.PrivateZone
    ) -> azure.PrivateDnsZoneGroup:
        """Let Azure write the endpoint's address into the zone, and remove it with the endpoint."""
        return azure.PrivateDnsZoneGroup(
            f"{self._cluster}-{planned.service}",
            private_dns_zone_group_name=ZONE_GROUP,
            private_endpoint_name=endpoint.name,
            private_dns_zone_configs=[{"name": planned.part, "private_dns_zone_id": zone.id}],
            opts=ResourceOptions(parent=self),
            **self._place.within,
        )
