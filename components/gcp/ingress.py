"""Load balancers of `ingress`: passthrough network load balancers in front of workers."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.gcp.api import DRAINING_SECONDS
from components.gcp.instance_groups import Memberships, instance_groups
from components.gcp.network import UsableNetwork
from components.gcp.place import Place, balancer_of
from components.rollout.traffic import membership_name
from components.topology.load_balancers import LoadBalancer
from components.wiring.context import ClusterContext
from components.wiring.machine_groups import Registered


class Ingress(pulumi.ComponentResource):
    """A regional backend service and a forwarding rule for each load balancer of the plan.

    Packets keep their addresses and ports. Each pool has one instance group per zone, which all of its load balancers
    use, because an instance may be in one load-balanced instance group. A membership is deleted before its instance,
    once the gate of the pool lets the worker go; then the worker receives no new connections while it is drained.
    """

    hosts: Mapping[str, Output[str]]
    """Addresses by load balancer."""

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        network: UsableNetwork,
        machines: Registered[gcp.compute.Instance],
        opts: ResourceOptions | None = None,
    ) -> None:
        plan = context.plan
        names = [balancer.name for balancer in plan.load_balancers]
        super().__init__("mullion:gcp:Ingress", plan.name, {"load_balancers": names}, opts)
        self._context, self._place, self._network = context, place, network
        self._name, self._child = f"{plan.name}-ingress", ResourceOptions(parent=self)
        used = {pool for balancer in plan.load_balancers for pool in balancer.pools}
        memberships = Memberships(partial(membership_name, f"{self._name}-members"), machines.membership_hooks)
        groups = {
            pool.name: instance_groups(
                self,
                f"{self._name}-{pool.name}",
                network,
                {machine: machines.instances[machine] for machine in pool.machines},
                memberships,
            )
            for pool in plan.pools
            if pool.name in used
        }
        self.hosts = {
            balancer.name: self._balancer(balancer, [group for pool in balancer.pools for group in groups[pool]])
            for balancer in plan.load_balancers
        }
        self.register_outputs({"hosts": dict(self.hosts)})

    def _balancer(self, planned: LoadBalancer, groups: list[gcp.compute.InstanceGroup]) -> Output[str]:
        """Register a load balancer; return its address."""
        full, scheme = f"{self._name}-{planned.name}", "INTERNAL" if planned.internal else "EXTERNAL"
        inside: dict[str, Any] = {"subnetwork": self._network.machine_subnets[0]} if planned.internal else {}
        fixed: dict[str, Any] = {"address": str(planned.addresses[0])} if planned.internal else {}
        network: dict[str, Any] = {"network": self._network.network_id, **inside} if planned.internal else {}
        if planned.internal:  # else it drops packets that enter the network in another region
            network["allow_global_access"] = True
        once = ResourceOptions(parent=self, delete_before_replace=True)  # its name is fixed
        address = gcp.compute.Address(
            full,
            name=full,
            region=self._place.region,
            address_type=scheme,
            labels=self._context.tags.labels(self, gcp.compute.Address, full),
            opts=once,
            **inside,
            **fixed,
        ).address
        service = gcp.compute.RegionBackendService(
            full,
            name=full,
            region=self._place.region,
            description=balancer_of(self._name),
            protocol="TCP",
            load_balancing_scheme=scheme,
            health_checks=self._check(full, planned).id,
            backends=[{"group": group.id, "balancing_mode": "CONNECTION"} for group in groups],
            connection_draining_timeout_sec=DRAINING_SECONDS,
            opts=once,
        )
        gcp.compute.ForwardingRule(
            full,
            name=full,
            region=self._place.region,
            ip_address=address,
            ip_protocol="TCP",
            ports=[str(port) for port, _ in planned.ports],
            load_balancing_scheme=scheme,
            backend_service=service.id,
            labels=self._context.tags.labels(self, gcp.compute.ForwardingRule, full),
            opts=once,
            **network,
        )
        return address

    def _check(self, full: str, planned: LoadBalancer) -> gcp.compute.RegionHealthCheck:
        web: dict[str, Any] = {"port": planned.health_port, "request_path": planned.health_path}
        asked: dict[str, Any] = (
            {"http_health_check": web} if planned.health_path else {"tcp_health_check": {"port": planned.health_port}}
        )
        return gcp.compute.RegionHealthCheck(
            full,
            name=full,
            description=balancer_of(self._name),
            region=self._place.region,
            check_interval_sec=5,
            timeout_sec=5,
            opts=self._child,
            **asked,
        )
