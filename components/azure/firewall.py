"""Network security groups from the rule table; application security groups identify the machines."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network
from itertools import count
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.place import Place
from components.naming import within
from components.topology.firewall import ALL_PORTS, NODES, Group, Rule
from components.wiring.context import ClusterContext

LONGEST_NAME = 80
FIRST_PRIORITY, LAST_PRIORITY = 100, 4096
PROTOCOLS = {"tcp": "Tcp", "udp": "Udp", "all": "*"}

DENY_THE_REST = {
    "name": "no-one-else",
    "access": "Deny",
    "direction": "Inbound",
    "protocol": "*",
    "priority": LAST_PRIORITY,
    "source_port_range": "*",
    "source_address_prefix": "*",
    "destination_port_range": "*",
    "destination_address_prefix": "*",
    "description": "everything that no rule above allows",
}
"""The last rule: Azure's default rules would allow all traffic inside the virtual network."""


class Firewall(pulumi.ComponentResource):
    """A network security group for each group of machines, and for private endpoints; machines also have an application
    security group.
    """

    rules_ids: Mapping[Group, Output[str]]
    """Ids of the network security groups."""
    member_ids: Mapping[Group, Output[str]]
    """Ids of the application security groups."""

    def __init__(self, context: ClusterContext, place: Place, opts: ResourceOptions | None = None) -> None:
        plan = context.plan
        super().__init__("mullion:azure:Firewall", plan.name, {"groups": [each.value for each in plan.groups]}, opts)
        names = {group: f"{plan.name}-{group.value}" for group in plan.groups}
        self.member_ids = {
            group: azure.ApplicationSecurityGroup(
                name,
                application_security_group_name=name,
                **place.here(self, azure.ApplicationSecurityGroup, name),
            ).id
            for group, name in names.items()
            if group in NODES
        }
        self.rules_ids = {
            group: azure.NetworkSecurityGroup(
                name,
                network_security_group_name=name,
                security_rules=self._rules(rule for rule in plan.rules if rule.group is group),
                **place.here(self, azure.NetworkSecurityGroup, name),
            ).id
            for group, name in names.items()
        }
        self.register_outputs({"rules": len(plan.rules)})

    def _rules(self, rules: Iterable[Rule]) -> list[Any]:
        """Return the rules of one group; ingress and egress are numbered separately."""
        priorities = {ingress: count(FIRST_PRIORITY) for ingress in (True, False)}
        return [*(self._rule(rule, next(priorities[rule.ingress])) for rule in rules), DENY_THE_REST]

    def _rule(self, rule: Rule, priority: int) -> dict[str, Any]:
        side, other = ("source", "destination") if rule.ingress else ("destination", "source")
        peer: dict[str, Any] = (
            {f"{side}_address_prefix": str(rule.peer)}
            if isinstance(rule.peer, IPv4Network)
            else {f"{side}_application_security_groups": [{"id": self.member_ids[rule.peer]}]}
        )
        first, last = rule.ports
        ports = "*" if rule.ports == ALL_PORTS else str(first) if first == last else f"{first}-{last}"
        return {
            "name": within(LONGEST_NAME, rule.name),
            "access": "Allow",
            "direction": "Inbound" if rule.ingress else "Outbound",
            "protocol": PROTOCOLS[rule.protocol],
            "priority": priority,
            "source_port_range": "*",
            "destination_port_range": ports,
            f"{other}_address_prefix": "*",
            "description": rule.why,
            **peer,
        }
