"""Load balancers of `ingress`: standard load balancers in front of workers."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.network import UsableNetwork
from components.azure.place import Place, public_address
from components.topology.load_balancers import LoadBalancer
from components.wiring.context import ClusterContext

FRONT, POOL, PROBE = "front", "workers", "health"
"""Names inside a load balancer: of its frontend and backend pool; the first word of a probe's name."""


class Ingress(pulumi.ComponentResource):
    """A load balancer for each load balancer of the plan; the interfaces of its pools' workers list its backend pool.

    Packets keep their source address. An interface stays when its machine is replaced, so only the probe takes a
    worker out.
    """

    hosts: Mapping[str, Output[str]]
    """Addresses by load balancer."""
    pool_ids: Mapping[str, list[Output[str]]]
    """Backend pools that the interfaces of a pool's workers are in, by pool."""

    def __init__(
        self, context: ClusterContext, place: Place, network: UsableNetwork, opts: ResourceOptions | None = None
    ) -> None:
        plan = context.plan
        names = [balancer.name for balancer in plan.load_balancers]
        super().__init__("mullion:azure:Ingress", plan.name, {"load_balancers": names}, opts)
        self._cluster, self._network, self._place = plan.name, network, place
        hosts: dict[str, Output[str]] = {}
        ids: dict[str, list[Output[str]]] = {}
        for balancer in plan.load_balancers:
            hosts[balancer.name], backend = self._balancer(balancer)
            for pool in balancer.pools:
                ids.setdefault(pool, []).append(backend)
        self.hosts, self.pool_ids = hosts, ids
        self.register_outputs({"hosts": hosts})

    def _front(self, full: str, planned: LoadBalancer) -> tuple[dict[str, Any], Output[str]]:
        """Return the frontend and its address."""
        if planned.internal:
            address = str(planned.addresses[0])
            front = {
                "subnet": {"id": self._network.subnet_ids[0]},
                "private_ip_address": address,
                "private_ip_allocation_method": "Static",
                "zones": self._network.balanced_zones,
            }
            return front, Output.from_input(address)
        public = public_address(full, self._place, self, self._network.balanced_zones)
        return {"public_ip_address": {"id": public.id}}, public.ip_address.apply(lambda text: text or "")

    def _balancer(self, planned: LoadBalancer) -> tuple[Output[str], Output[str]]:
        """Register a load balancer; return its address and the id of its backend pool."""
        # another kind is another resource: Azure changes no zones of a frontend, which only internal ones have
        # (ResourceAvailabilityZonesCannotBeModified: Azure/azure-powershell issue 14326)
        full = f"{self._cluster}-{'internal-' if planned.internal else ''}ingress-{planned.name}"
        front, address = self._front(full, planned)
        id_ = Output.concat(self._place.id, "/providers/Microsoft.Network/loadBalancers/", full)
        frontend: Any = {"name": FRONT, **front}
        balancer = azure.LoadBalancer(
            full,
            load_balancer_name=full,
            sku={"name": "Standard"},
            frontend_ip_configurations=[frontend],
            backend_address_pools=[{"name": POOL}],
            probes=[_probe(port, planned.health_path) for port in planned.probed_ports],
            load_balancing_rules=[
                _rule(id_, port, node_port, planned.probed_port(node_port)) for port, node_port in planned.ports
            ],
            # after all subnets: Azure refuses concurrent changes of a virtual network
            **self._place.here(
                self, azure.LoadBalancer, full, ResourceOptions(parent=self, depends_on=self._network.routes)
            ),
        )
        return address, Output.concat(balancer.id, "/backendAddressPools/", POOL)


def _probe(port: int, path: str | None) -> Any:
    """Return the probe of a machine's port. path: of the HTTP request; None: a TCP connection."""
    return {
        "name": f"{PROBE}-{port}",
        "protocol": "Http" if path else "Tcp",
        "port": port,
        "interval_in_seconds": 5,
        "probe_threshold": 2,
        # else a load balancer without a healthy machine sends nothing: Azure/azure-cli issue 29136
        "no_healthy_backends_behavior": "AllProbedUp",
        **({"request_path": path} if path else {}),
    }


def _rule(id_: Output[str], port: int, node_port: int, probed: int) -> Any:
    """Return the rule of a port. id_: of the load balancer; probed: port of its probe."""
    return {
        "name": f"tcp-{port}",
        "protocol": "Tcp",
        "frontend_port": port,
        "backend_port": node_port,
        "frontend_ip_configuration": {"id": Output.concat(id_, "/frontendIPConfigurations/", FRONT)},
        "backend_address_pool": {"id": Output.concat(id_, "/backendAddressPools/", POOL)},
        "probe": {"id": Output.concat(id_, f"/probes/{PROBE}-{probed}")},
        "enable_tcp_reset": True,
        "disable_outbound_snat": True,  # machines have their own egress
    }
