"""Network security groups from the one rule table: machines are known by application security groups."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import network as azure

from components.azure.place import Place
from components.firewall import ALL_PORTS, NODES, Group, Rule
from components.naming import within
from components.tags import Tags

LONGEST_NAME = 80
FIRST_PRIORITY, LAST_PRIORITY = 100, 4096
PROTOCOLS = {"tcp": "Tcp", "udp": "Udp", "all": "*"}


class Firewall(pulumi.ComponentResource):
    """A security group of rules for each group of machines, and one that only says who is in the group.

    Azure's own last rules let in all of the virtual network, so ours end with one that lets in nothing.
    """

    rules_ids: Mapping[Group, Output[str]]
    """Ids of the groups of rules."""
    member_ids: Mapping[Group, Output[str]]
    """Ids of the application security groups."""

    def __init__(
        self,
        name: str,
        rules: Iterable[Rule],
        place: Place,
        tags: Tags,
        opts: ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:azure:Firewall", name, {"groups": [each.value for each in NODES]}, opts)
        child = ResourceOptions(parent=self)
        full = {group: f"{name}-{group.value}" for group in NODES}
        self.member_ids = {
            group: azure.ApplicationSecurityGroup(
                known,
                application_security_group_name=known,
                tags=tags.on(self, azure.ApplicationSecurityGroup, known),
                opts=child,
                **place.here,
            ).id
            for group, known in full.items()
        }
        table = list(rules)
        self.rules_ids = {
            group: azure.NetworkSecurityGroup(
                known,
                network_security_group_name=known,
                security_rules=self._rules([each for each in table if each.group is group]),
                tags=tags.on(self, azure.NetworkSecurityGroup, known),
                opts=child,
                **place.here,
            ).id
            for group, known in full.items()
        }
        self.register_outputs({"rules": len(table)})

    def _rules(self, rules: list[Rule]) -> list[Any]:
        """Rules of one group, by direction and priority."""
        made: list[Any] = []
        for ingress in (True, False):
            mine = [each for each in rules if each.ingress is ingress]
            made += [self._rule(each, FIRST_PRIORITY + index) for index, each in enumerate(mine)]
        anyone: dict[str, Any] = {"source_address_prefix": "*", "destination_address_prefix": "*"}
        return [*made, _row("no-one-else", "Deny", True, "*", "*", LAST_PRIORITY, "what no rule lets in", anyone)]

    def _rule(self, rule: Rule, priority: int) -> dict[str, Any]:
        side, other = ("source", "destination") if rule.ingress else ("destination", "source")
        peer: dict[str, Any] = (
            {f"{side}_application_security_groups": [{"id": self.member_ids[rule.peer]}]}
            if isinstance(rule.peer, Group)
            else {f"{side}_address_prefix": str(rule.peer)}
        )
        first, last = rule.ports
        ports = "*" if rule.ports == ALL_PORTS else str(first) if first == last else f"{first}-{last}"
        name = within(LONGEST_NAME, rule.name)
        places = {**peer, f"{other}_address_prefix": "*"}
        return _row(name, "Allow", rule.ingress, PROTOCOLS[rule.protocol], ports, priority, rule.why, places)


def _row(
    name: str, access: str, ingress: bool, protocol: str, ports: str, priority: int, why: str, places: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "access": access,
        "direction": "Inbound" if ingress else "Outbound",
        "protocol": protocol,
        "priority": priority,
        "source_port_range": "*",
        "destination_port_range": ports,
        "description": why,
        **places,
    }
