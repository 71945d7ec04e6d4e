"""Firewall rules from the rule table: machines matched by service account, pods and people by address range."""

from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import ResourceOptions

from components.gcp.identity import Identity
from components.gcp.network import Network
from components.naming import within
from components.topology.firewall import ALL_PORTS, Rule, SecurityGroup
from components.wiring.context import ClusterContext

LONGEST_NAME = 63
"""Maximum characters of a firewall rule's name."""


class Firewall(pulumi.ComponentResource):
    """A rule of the network for each rule of the table; GCP's implied rule denies all other ingress."""

    rules: list[pulumi.Resource]

    def __init__(
        self, context: ClusterContext, network: Network, identity: Identity, opts: ResourceOptions | None = None
    ) -> None:
        name, self._network, self._accounts = context.plan.name, network, identity.accounts
        super().__init__("mullion:gcp:Firewall", name, {"groups": [group.value for group in self._accounts]}, opts)
        self.rules = [self._rule(f"{name}-{rule.name}", rule) for rule in context.plan.rules]
        self.register_outputs({"rules": len(self.rules)})

    def _rule(self, name: str, rule: Rule) -> gcp.compute.Firewall:
        first, last = rule.ports
        allowed: gcp.compute.FirewallAllowArgsDict = {"protocol": rule.protocol}
        if rule.ports != ALL_PORTS:
            allowed["ports"] = [str(first) if first == last else f"{first}-{last}"]
        peer: dict[str, Any] = (
            {"source_service_accounts": [self._accounts[rule.peer]]}
            if isinstance(rule.peer, SecurityGroup)
            else {"source_ranges" if rule.ingress else "destination_ranges": [str(rule.peer)]}
        )
        return gcp.compute.Firewall(
            name,
            name=within(LONGEST_NAME, name.replace(".", "-")),
            network=self._network.network_id,
            description=rule.why,
            direction="INGRESS" if rule.ingress else "EGRESS",
            allows=[allowed],
            target_service_accounts=[self._accounts[rule.group]],
            opts=ResourceOptions(parent=self, delete_before_replace=True),  # its name is fixed
            **peer,
        )
