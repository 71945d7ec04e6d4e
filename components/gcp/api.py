"""The Kubernetes API's endpoint: a private DNS name, and load balancers where planned."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.gcp.instance_groups import Memberships, instance_groups
from components.gcp.network import UsableNetwork
from components.gcp.place import Place, balancer_of
from components.plan import Machine
from components.wiring.context import ClusterContext

DRAINING_SECONDS = 30
"""Connection draining of the backend services."""


class Name(pulumi.ComponentResource):
    """A private zone with the endpoint's name. Machines find the API by it, so it exists before they do."""

    def __init__(self, context: ClusterContext, network: UsableNetwork, opts: ResourceOptions | None = None) -> None:
        name, endpoint = context.plan.name, context.plan.endpoint
        super().__init__("mullion:gcp:Name", name, {"host": endpoint.host}, opts)
        zone = gcp.dns.ManagedZone(
            f"{name}-zone",
            name=f"{name}-zone",
            dns_name=f"{endpoint.zone}.",
            description=f"Nodes of {name}",
            visibility="private",
            private_visibility_config={"networks": [{"network_url": network.network_id}]},
            labels=context.tags.labels(self, gcp.dns.ManagedZone, f"{name}-zone"),
            opts=ResourceOptions(parent=self),
        )
        gcp.dns.RecordSet(
            f"{name}-api",
            managed_zone=zone.name,
            name=f"{endpoint.host}.",
            type="A",
            ttl=60,
            rrdatas=[str(address) for address in context.plan.api_addresses],
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({"host": endpoint.host})


class Addresses(pulumi.ComponentResource):
    """Addresses of the load balancers, reserved first: user-data and certificates contain the public one."""

    public_host: Output[str]
    """Address of the public load balancer, or empty."""
    by_scheme: Mapping[str, Output[str]]
    """Addresses of the planned load balancers by scheme: INTERNAL, EXTERNAL."""

    def __init__(
        self, context: ClusterContext, place: Place, network: UsableNetwork, opts: ResourceOptions | None = None
    ) -> None:
        name, endpoint = context.plan.name, context.plan.endpoint
        super().__init__("mullion:gcp:Addresses", name, {"public": endpoint.public}, opts)
        schemes: dict[str, dict[str, Any]] = {}
        if endpoint.balanced:
            address = str(endpoint.balancer_addresses[0])
            schemes["INTERNAL"] = {"address": address, "subnetwork": network.machine_subnets[0]}
        if endpoint.public:
            schemes["EXTERNAL"] = {}
        self.by_scheme = {}
        for scheme, arguments in schemes.items():
            full = f"{name}-api-{scheme.lower()}"
            self.by_scheme[scheme] = gcp.compute.Address(
                full,
                name=full,
                region=place.region,
                address_type=scheme,
                labels=context.tags.labels(self, gcp.compute.Address, full),
                opts=ResourceOptions(parent=self),
                **arguments,
            ).address
        self.public_host = self.by_scheme.get("EXTERNAL", Output.from_input(""))
        self.register_outputs({"public_host": self.public_host})


class Balancers(pulumi.ComponentResource):
    """Passthrough load balancers in front of the control plane: for nodes, for people, or both.

    Packets keep their source address, so the machines' firewall rules apply to the load balancers too.
    """

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        network: UsableNetwork,
        addresses: Addresses,
        instances: Mapping[Machine, gcp.compute.Instance],
        opts: ResourceOptions | None = None,
    ) -> None:
        """instances: those of the control plane."""
        schemes = list(addresses.by_scheme)
        super().__init__("mullion:gcp:Balancers", context.plan.name, {"schemes": schemes}, opts)
        self._context, self._place, self._network = context, place, network
        self._name, self._child = context.plan.name, ResourceOptions(parent=self)
        memberships = Memberships(lambda machine: f"{self._name}-api-{machine}")
        groups = instance_groups(self, f"{self._name}-api", network, instances, memberships)
        check = gcp.compute.RegionHealthCheck(
            f"{self._name}-api",
            name=f"{self._name}-api",
            description=balancer_of(self._name),
            region=place.region,
            https_health_check={"port": context.plan.endpoint.port, "request_path": "/readyz"},
            opts=self._child,
        )
        for scheme, address in addresses.by_scheme.items():
            self._balancer(scheme, address, groups, check)
        self.register_outputs({"schemes": schemes})

    def _balancer(
        self,
        scheme: str,
        address: Output[str],
        groups: list[gcp.compute.InstanceGroup],
        check: gcp.compute.RegionHealthCheck,
    ) -> None:
        """Register a backend service and the forwarding rule of a load balancer."""
        full = f"{self._name}-api-{scheme.lower()}"
        service = gcp.compute.RegionBackendService(
            full,
            name=full,
            region=self._place.region,
            description=balancer_of(self._name),
            protocol="TCP",
            load_balancing_scheme=scheme,
            health_checks=check.id,
            backends=[{"group": group.id, "balancing_mode": "CONNECTION"} for group in groups],
            connection_draining_timeout_sec=DRAINING_SECONDS,
            opts=self._child,
        )
        inside: dict[str, Any] = {}
        if scheme == "INTERNAL":
            inside = {"network": self._network.network_id, "subnetwork": self._network.machine_subnets[0]}
        gcp.compute.ForwardingRule(
            full,
            name=full,
            region=self._place.region,
            ip_address=address,
            ip_protocol="TCP",
            ports=[str(self._context.plan.endpoint.port)],
            load_balancing_scheme=scheme,
            backend_service=service.id,
            labels=self._context.tags.labels(self, gcp.compute.ForwardingRule, full),
            opts=self._child,
            **inside,
        )
