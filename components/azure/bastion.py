"""Azure Bastion: the host that carries sessions to the API, in a subnet of its own."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, collapse_addresses
from itertools import count
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.firewall import FIRST_PRIORITY
from components.azure.place import Place, public_address
from components.topology.addressing import bastion_range
from components.topology.firewall import API_PORT
from components.wiring.context import ClusterContext

SUBNET = "AzureBastionSubnet"
"""The name that Azure requires."""

_BASTION, _NETWORK = ("8080", "5701"), "VirtualNetwork"
_TARGETS = ("22", "3389", str(API_PORT))
"""Ports of machines that the host may connect to. Azure refuses a group without rules for 22 and 3389; the machines'
own groups drop both."""

_Row = tuple[str, str, str, tuple[str, ...], str, tuple[str, ...]]
_ROWS: tuple[_Row, ...] = (
    ("control-plane", "Inbound", "Tcp", ("GatewayManager",), "*", ("443",)),
    ("probes", "Inbound", "Tcp", ("AzureLoadBalancer",), "*", ("443",)),
    ("parts-in", "Inbound", "*", (_NETWORK,), _NETWORK, _BASTION),
    ("machines", "Outbound", "*", ("*",), _NETWORK, _TARGETS),
    ("cloud", "Outbound", "Tcp", ("*",), "AzureCloud", ("443",)),
    ("parts-out", "Outbound", "*", (_NETWORK,), _NETWORK, _BASTION),
    ("certificates", "Outbound", "*", ("*",), "Internet", ("80",)),
)
"""Name, direction, protocol, sources, destination, ports. Azure requires each of them as a rule of the group, although
its default rules allow some ("Configure NSG rules for Azure Bastion"; MicrosoftDocs/azure-docs#80806)."""


def rules(people: Iterable[IPv4Network]) -> list[azure.SecurityRuleArgs]:
    """Return the rules of the subnet. people: ranges from which sessions are opened.

    Azure refuses a rule with ranges that overlap (OverlappingSubnetsNotPermittedInSecurityRule).
    """
    ranges = tuple(map(str, collapse_addresses(people)))
    rows: Iterable[_Row] = (("people", "Inbound", "Tcp", ranges, "*", ("443",)), *_ROWS)
    priorities = {direction: count(FIRST_PRIORITY) for direction in ("Inbound", "Outbound")}
    return [_rule(row, next(priorities[row[1]])) for row in rows if row[3]]


def _rule(row: _Row, priority: int) -> azure.SecurityRuleArgs:
    name, direction, protocol, sources, destination, ports = row
    source: Any = (
        {"source_address_prefix": sources[0]} if len(sources) == 1 else {"source_address_prefixes": list(sources)}
    )
    port: Any = {"destination_port_range": ports[0]} if len(ports) == 1 else {"destination_port_ranges": list(ports)}
    return azure.SecurityRuleArgs(
        name=name,
        access="Allow",
        direction=direction,
        protocol=protocol,
        priority=priority,
        source_port_range="*",
        destination_address_prefix=destination,
        **source,
        **port,
    )


class Bastion(pulumi.ComponentResource):
    """A Bastion host with the native client, which only the Standard SKU has, in the cluster's network."""

    subnet: azure.Subnet

    def __init__(
        self, context: ClusterContext, place: Place, network: Output[str], opts: ResourceOptions | None = None
    ) -> None:
        """Register the host's subnet and its rules; `add_host` registers the host. network: name of the cluster's."""
        plan = context.plan
        super().__init__("mullion:azure:Bastion", plan.name, {}, opts)
        self._cluster, self._place = plan.name, place
        name = f"{plan.name}-bastion"
        allowed = azure.NetworkSecurityGroup(
            name,
            network_security_group_name=name,
            security_rules=rules(plan.spec.api.allow),
            **place.here(self, azure.NetworkSecurityGroup, name),
        )
        self.subnet = azure.Subnet(
            name,
            subnet_name=SUBNET,
            virtual_network_name=network,
            address_prefix=str(bastion_range(plan.spec.network)),
            network_security_group={"id": allowed.id},
            opts=ResourceOptions(parent=self),
            **place.within,
        )

    def add_host(self, after: Sequence[pulumi.Resource]) -> None:
        """Register the host. after: the network's other subnets, so that Azure changes them one after the other."""
        name, place = f"{self._cluster}-bastion", self._place
        address = public_address(name, place, self, None)
        configuration: Any = {
            "name": "bastion",
            "subnet": {"id": self.subnet.id},
            "public_ip_address": {"id": address.id},
            "private_ip_allocation_method": "Dynamic",
        }
        host = azure.BastionHost(
            name,
            bastion_host_name=self._cluster,
            sku={"name": "Standard"},
            enable_tunneling=True,
            ip_configurations=[configuration],
            **place.here(self, azure.BastionHost, name, ResourceOptions(parent=self, depends_on=after)),
        )
        self.register_outputs({"id": host.id})
