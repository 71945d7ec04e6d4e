"""The Kubernetes API's endpoint: a private DNS name, and load balancers where planned."""

from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure
from pulumi_azure_native import privatedns

from components.azure.network import UsableNetwork
from components.azure.place import Place, public_address
from components.wiring.context import ClusterContext

EVERYWHERE: dict[str, Any] = {"location": "global"}
"""Location of private zones and their links."""
PACE: dict[str, Any] = {"interval_in_seconds": 5, "probe_threshold": 2}
"""Pace of probes: a control plane gets no new connections 10 seconds after its API fails. Azure's default interval is
15 seconds, the least 5 (REST reference, Probe.intervalInSeconds)."""
PART, POOL = "api", "control-plane"
"""Names inside a load balancer: of frontend, probe and rule; of the backend pool."""


class Name(pulumi.ComponentResource):
    """A private zone with the endpoint's name. Machines find the API by it, so it exists before they do."""

    def __init__(
        self, context: ClusterContext, place: Place, network: UsableNetwork, opts: ResourceOptions | None = None
    ) -> None:
        name, endpoint = context.plan.name, context.plan.endpoint
        super().__init__("mullion:azure:Name", name, {"host": endpoint.host}, opts)
        full = f"{name}-zone"
        zone = privatedns.PrivateZone(
            full, private_zone_name=endpoint.zone, **place.here(self, privatedns.PrivateZone, full) | EVERYWHERE
        )
        privatedns.VirtualNetworkLink(
            full,
            virtual_network_link_name=name,
            private_zone_name=zone.name,
            registration_enabled=False,
            virtual_network={"id": network.network_id},
            **place.here(self, privatedns.VirtualNetworkLink, full) | EVERYWHERE,
        )
        privatedns.PrivateRecordSet(
            f"{name}-api",
            private_zone_name=zone.name,
            relative_record_set_name=endpoint.host.removesuffix(f".{endpoint.zone}"),
            record_type="A",
            ttl=60,
            a_records=[{"ipv4_address": str(each)} for each in context.plan.api_addresses],
            opts=ResourceOptions(parent=self),
            **place.within,
        )
        self.register_outputs({"host": endpoint.host})


class Balancers(pulumi.ComponentResource):
    """A load balancer for nodes, for people, or both; the control plane's interfaces list its backend pools.

    Packets keep their source address, so the machines' rules apply to the load balancer too. It does not forward a
    machine's packets back to that machine: a control plane reaches its own API by its own address.
    """

    public_host: Output[str]
    """Address of the public load balancer, or empty."""
    pool_ids: list[Output[str]]
    """Backend pools that the control plane's interfaces are in."""

    def __init__(
        self, context: ClusterContext, place: Place, network: UsableNetwork, opts: ResourceOptions | None = None
    ) -> None:
        name, endpoint = context.plan.name, context.plan.endpoint
        super().__init__("mullion:azure:Balancers", name, {"public": endpoint.public}, opts)
        # after all subnets: Azure refuses concurrent changes of a virtual network
        self._options = ResourceOptions(parent=self, depends_on=network.routes)
        self.public_host = Output.from_input("")
        fronts: dict[str, Any] = {}
        if endpoint.balanced:
            fronts["internal"] = {
                "subnet": {"id": network.subnet_ids[0]},
                "private_ip_address": str(endpoint.balancer_addresses[0]),
                "private_ip_allocation_method": "Static",
                "zones": network.balanced_zones,
            }
        if endpoint.public:
            address = public_address(f"{name}-api-public", place, self, network.balanced_zones)
            self.public_host = address.ip_address.apply(lambda text: text or "")
            fronts["public"] = {"public_ip_address": {"id": address.id}}
        self.pool_ids = [
            self._balancer(f"{name}-api-{purpose}", front, endpoint.port, place) for purpose, front in fronts.items()
        ]
        self.register_outputs({"public_host": self.public_host})

    def _balancer(self, name: str, front: dict[str, Any], port: int, place: Place) -> Output[str]:
        """Register a load balancer; return the id of its backend pool."""
        id_ = Output.concat(place.id, "/providers/Microsoft.Network/loadBalancers/", name)
        rule: Any = {
            "name": PART,
            "protocol": "Tcp",
            "frontend_port": port,
            "backend_port": port,
            "frontend_ip_configuration": {"id": Output.concat(id_, "/frontendIPConfigurations/", PART)},
            "backend_address_pool": {"id": Output.concat(id_, "/backendAddressPools/", POOL)},
            "probe": {"id": Output.concat(id_, "/probes/", PART)},
            "enable_tcp_reset": True,  # watches end at once when the connection is dropped
            "disable_outbound_snat": True,  # machines have their own egress
        }
        frontend: Any = {"name": PART, **front}
        probe: Any = {"name": PART, "protocol": "Https", "port": port, "request_path": "/readyz", **PACE}
        balancer = azure.LoadBalancer(
            name,
            load_balancer_name=name,
            sku={"name": "Standard"},
            frontend_ip_configurations=[frontend],
            backend_address_pools=[{"name": POOL}],
            probes=[probe],
            load_balancing_rules=[rule],
            **place.here(self, azure.LoadBalancer, name, self._options),
        )
        return Output.concat(balancer.id, "/backendAddressPools/", POOL)
