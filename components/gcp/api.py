"""The Kubernetes API's endpoint: its private name, and load balancers where planned."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.plan import Endpoint, Machine
from components.wiring.tags import Tags

DRAINING = 30
"""Seconds."""


class Name(pulumi.ComponentResource):
    """A private zone with the endpoint's name, which is there before machines are: they find the API by it."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        addresses: Iterable[IPv4Address],
        network_id: Output[str],
        tags: Tags,
        opts: ResourceOptions | None = None,
    ) -> None:
        """addresses: what the name stands for."""
        super().__init__("mullion:gcp:Name", name, {"host": endpoint.host}, opts)
        zone = gcp.dns.ManagedZone(
            f"{name}-zone",
            name=f"{name}-zone",
            dns_name=f"{endpoint.zone}.",
            description=f"Nodes of {name}",
            visibility="private",
            private_visibility_config={"networks": [{"network_url": network_id}]},
            labels=tags.labels(self, gcp.dns.ManagedZone, f"{name}-zone"),
            opts=ResourceOptions(parent=self),
        )
        gcp.dns.RecordSet(
            f"{name}-api",
            managed_zone=zone.name,
            name=f"{endpoint.host}.",
            type="A",
            ttl=60,
            rrdatas=[str(each) for each in addresses],
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({"host": endpoint.host})


class Addresses(pulumi.ComponentResource):
    """Addresses of the load balancers: reserved first, because machines and certificates know the public one."""

    public_host: Output[str]
    """Address of the public load balancer, or empty."""
    by_scheme: Mapping[str, Output[str]]
    """Of the load balancers there are: INTERNAL, EXTERNAL."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        subnet_id: Output[str],
        region: Output[str],
        tags: Tags,
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:gcp:Addresses", name, {"public": endpoint.public}, opts)
        wanted: dict[str, dict[str, Any]] = {}
        if endpoint.balanced:
            wanted["INTERNAL"] = {"address": str(endpoint.balancer_addresses[0]), "subnetwork": subnet_id}
        if endpoint.public:
            wanted["EXTERNAL"] = {}
        self.by_scheme = {}
        for scheme, more in wanted.items():
            full = f"{name}-api-{scheme.lower()}"
            labels = tags.labels(self, gcp.compute.Address, full)
            child = ResourceOptions(parent=self)
            made = gcp.compute.Address(
                full, name=full, region=region, address_type=scheme, labels=labels, opts=child, **more
            )
            self.by_scheme[scheme] = made.address
        self.public_host = self.by_scheme.get("EXTERNAL", Output.from_input(""))
        self.register_outputs({"public_host": self.public_host})


class Balancers(pulumi.ComponentResource):
    """A passthrough load balancer for nodes, for people, or both, in front of the control plane's machines.

    What comes through has its sender's address, so the rules of the machines are the balancer's too.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        addresses: Mapping[str, Output[str]],
        instances: Mapping[Machine, gcp.compute.Instance],
        zone_names: Output[list[str]],
        network_id: Output[str],
        subnet_id: Output[str],
        region: Output[str],
        tags: Tags,
        opts: ResourceOptions | None = None,
    ) -> None:
        """addresses: by scheme. instances: the control plane's. subnet_id: of the internal one's address."""
        super().__init__("mullion:gcp:Balancers", name, {"schemes": list(addresses)}, opts)
        self._name, self._region, self._child = name, region, ResourceOptions(parent=self)
        groups = {
            zone: gcp.compute.InstanceGroup(
                f"{name}-api-{zone}",
                name=f"{name}-api-{zone}",
                zone=zone_names[zone],
                network=network_id,
                opts=self._child,
            )
            for zone in sorted({machine.zone for machine in instances})
        }
        for machine, made in instances.items():
            self._member(groups[machine.zone], zone_names[machine.zone], machine, made)
        check = gcp.compute.RegionHealthCheck(
            f"{name}-api",
            name=f"{name}-api",
            region=region,
            https_health_check={"port": endpoint.port, "request_path": "/readyz"},
            opts=self._child,
        )
        for scheme, address in addresses.items():
            full = f"{name}-api-{scheme.lower()}"
            service = gcp.compute.RegionBackendService(
                full,
                name=full,
                region=region,
                protocol="TCP",
                load_balancing_scheme=scheme,
                health_checks=check.id,
                backends=[{"group": each.id, "balancing_mode": "CONNECTION"} for each in groups.values()],
                connection_draining_timeout_sec=DRAINING,
                opts=self._child,
            )
            inside: dict[str, Any] = {"network": network_id, "subnetwork": subnet_id} if scheme == "INTERNAL" else {}
            gcp.compute.ForwardingRule(
                full,
                name=full,
                region=region,
                ip_address=address,
                ip_protocol="TCP",
                ports=[str(endpoint.port)],
                load_balancing_scheme=scheme,
                backend_service=service.id,
                labels=tags.labels(self, gcp.compute.ForwardingRule, full),
                opts=self._child,
                **inside,
            )
        self.register_outputs({"schemes": list(addresses)})

    def _member(
        self, group: gcp.compute.InstanceGroup, zone: Output[str], machine: Machine, made: gcp.compute.Instance
    ) -> None:
        """One that goes and comes with its machine: a group that names its machines could not let one of them be made
        anew under its name, since a balancer holds the group, and nothing in it would seem to change.
        """
        gcp.compute.InstanceGroupMembership(
            f"{self._name}-api-{machine.name}",
            instance=made.self_link,
            instance_group=group.name,
            zone=zone,
            opts=ResourceOptions(parent=self, delete_before_replace=True, replacement_trigger=made.instance_id),
        )
