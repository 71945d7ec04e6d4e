"""The Kubernetes API's endpoint: its private name, and load balancers where planned."""

from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network, privatedns

from components.azure.place import Place, public_address
from components.plan import Endpoint
from components.tags import Tags

EVERYWHERE = "global"
"""Location of private zones and of their links."""
PART, POOL = "api", "control-plane"
"""Names of the parts of a load balancer."""


class Name(pulumi.ComponentResource):
    """A private zone with the endpoint's name, which is there before machines are: they find the API by it."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        addresses: Iterable[IPv4Address],
        network_id: Output[str],
        place: Place,
        tags: Tags,
        opts: ResourceOptions | None = None,
    ) -> None:
        """addresses: what the name stands for."""
        super().__init__("mullion:azure:Name", name, {"host": endpoint.host}, opts)
        child = ResourceOptions(parent=self)
        zone = privatedns.PrivateZone(
            f"{name}-zone",
            private_zone_name=endpoint.zone,
            location=EVERYWHERE,
            tags=tags.on(self, privatedns.PrivateZone, f"{name}-zone"),
            opts=child,
            **place.within,
        )
        privatedns.VirtualNetworkLink(
            f"{name}-zone",
            virtual_network_link_name=name,
            private_zone_name=zone.name,
            location=EVERYWHERE,
            registration_enabled=False,
            virtual_network={"id": network_id},
            tags=tags.on(self, privatedns.VirtualNetworkLink, f"{name}-zone"),
            opts=child,
            **place.within,
        )
        privatedns.PrivateRecordSet(
            f"{name}-api",
            private_zone_name=zone.name,
            relative_record_set_name=endpoint.host.removesuffix(f".{endpoint.zone}"),
            record_type="A",
            ttl=60,
            a_records=[{"ipv4_address": str(each)} for each in addresses],
            opts=child,
            **place.within,
        )
        self.register_outputs({"host": endpoint.host})


class Balancers(pulumi.ComponentResource):
    """A load balancer for nodes, for people, or both. The control plane's interfaces name the pools they are in.

    It passes packets on as they are, so the rules of the machines are its own too. What a machine behind it sends to
    it does not come back to itself: a control plane reaches its own API by its own address.
    """

    public_host: Output[str]
    """Address of the public load balancer, or empty."""
    pool_ids: list[Output[str]]
    """Backend pools that the control plane's interfaces are in."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        subnet_id: Output[str],
        zone_names: Output[list[str]],
        place: Place,
        tags: Tags,
        opts: ResourceOptions | None = None,
    ) -> None:
        """subnet_id: of the internal one's address."""
        super().__init__("mullion:azure:Balancers", name, {"public": endpoint.public}, opts)
        self._cluster, self._endpoint, self._place, self._tags = name, endpoint, place, tags
        self.public_host = Output.from_input("")
        fronts: dict[str, Any] = {}
        if endpoint.balanced:
            fronts["internal"] = {
                "subnet": {"id": subnet_id},
                "private_ip_address": str(endpoint.balancer_addresses[0]),
                "private_ip_allocation_method": "Static",
                "zones": zone_names,
            }
        if endpoint.public:
            address = public_address(f"{name}-api-public", place, tags, self, zone_names)
            self.public_host = address.ip_address.apply(lambda known: known or "")
            fronts["public"] = {"public_ip_address": {"id": address.id}}
        self.pool_ids = [self._balancer(purpose, front) for purpose, front in fronts.items()]
        self.register_outputs({"public_host": self.public_host})

    def _balancer(self, purpose: str, front: dict[str, Any]) -> Output[str]:
        """Id of its pool."""
        name, port = f"{self._cluster}-api-{purpose}", self._endpoint.port
        own = Output.concat(self._place.id, "/providers/Microsoft.Network/loadBalancers/", name)
        rule: Any = {
            "name": PART,
            "protocol": "Tcp",
            "frontend_port": port,
            "backend_port": port,
            "frontend_ip_configuration": {"id": Output.concat(own, "/frontendIPConfigurations/", PART)},
            "backend_address_pool": {"id": Output.concat(own, "/backendAddressPools/", POOL)},
            "probe": {"id": Output.concat(own, "/probes/", PART)},
            "enable_tcp_reset": True,  # watches learn at once that they were cut off
            "disable_outbound_snat": True,  # machines have a way out of their own
        }
        named: Any = {"name": PART, **front}
        made = network.LoadBalancer(
            name,
            load_balancer_name=name,
            sku={"name": "Standard"},
            frontend_ip_configurations=[named],
            backend_address_pools=[{"name": POOL}],
            probes=[{"name": PART, "protocol": "Https", "port": port, "request_path": "/readyz"}],
            load_balancing_rules=[rule],
            tags=self._tags.on(self, network.LoadBalancer, name),
            opts=ResourceOptions(parent=self),
            **self._place.here,
        )
        return Output.concat(made.id, "/backendAddressPools/", POOL)
