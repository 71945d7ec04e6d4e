"""Firewall rules from the one rule table: machines are known by their service accounts, pods and people by ranges."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import Output, ResourceOptions

from components.naming import within
from components.topology.firewall import ALL_PORTS, Rule, SecurityGroup

LONGEST_NAME = 63


class Firewall(pulumi.ComponentResource):
    """One rule of the network for each of the rule table; what no rule lets in stays out."""

    rules: list[pulumi.Resource]

    def __init__(
        self,
        name: str,
        network_id: Output[str],
        accounts: Mapping[SecurityGroup, Output[str]],
        rules: Iterable[Rule],
        opts: ResourceOptions | None = None,
    ) -> None:
        """accounts: e-mail addresses of the machines' service accounts."""
        super().__init__("mullion:gcp:Firewall", name, {"groups": [each.value for each in accounts]}, opts)
        self.rules = [self._rule(f"{name}-{rule.name}", network_id, accounts, rule) for rule in rules]
        self.register_outputs({"rules": len(self.rules)})

    def _rule(
        self, name: str, network_id: Output[str], accounts: Mapping[SecurityGroup, Output[str]], rule: Rule
    ) -> gcp.compute.Firewall:
        first, last = rule.ports
        allowed: gcp.compute.FirewallAllowArgsDict = {"protocol": rule.protocol}
        if rule.ports != ALL_PORTS:
            allowed["ports"] = [str(first) if first == last else f"{first}-{last}"]
        peer: dict[str, Any] = (
            {"source_service_accounts": [accounts[rule.peer]]}
            if isinstance(rule.peer, SecurityGroup)
            else {"source_ranges" if rule.ingress else "destination_ranges": [str(rule.peer)]}
        )
        return gcp.compute.Firewall(
            name,
            name=within(LONGEST_NAME, name.replace(".", "-")),
            network=network_id,
            description=rule.why,
            direction="INGRESS" if rule.ingress else "EGRESS",
            allows=[allowed],
            target_service_accounts=[accounts[rule.group]],
            opts=ResourceOptions(parent=self, delete_before_replace=True),  # its name is fixed
            **peer,
        )
