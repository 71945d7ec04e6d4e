"""Firewall rules from the rule table: machines matched by network tag, pods and people by address range.

In an existing network, source machines are matched by address range too. Whoever creates machines in any project of a
Shared VPC chooses their tags, but gets addresses only from subnetworks that their own project may use.

Not by service account: a rule takes at most 10 of them (VPC, "Quotas and limits"), and each pool has its own. A rule
without the account of a removed pool would cut that pool's machines off before they are drained.
"""

from functools import partial
from ipaddress import IPv4Network
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import ResourceOptions

from components.gcp.network import UsableNetwork
from components.naming import within
from components.topology.addressing import control_plane_ranges
from components.topology.firewall import ALL_PORTS, NODES, Group, Rule, SecurityGroup
from components.wiring.context import ClusterContext

LONGEST_NAME = 63
"""Maximum characters of a firewall rule's name."""


def network_tag(cluster: str, group: Group) -> str:
    """Return the network tag of a group's machines. Whoever may change tags of instances may change who is let in."""
    return f"{cluster}-{group.value}"


class Firewall(pulumi.ComponentResource):
    """A rule of the network for each rule of the table; GCP's implied rule denies all other ingress."""

    rules: list[pulumi.Resource]

    def __init__(self, context: ClusterContext, network: UsableNetwork, opts: ResourceOptions | None = None) -> None:
        name, self._network = context.plan.name, network
        self._plan = context.plan.network
        self._tag = partial(network_tag, name)
        super().__init__("mullion:gcp:Firewall", name, {"groups": [group.value for group in NODES]}, opts)
        self.rules = [self._rule(f"{name}-{rule.name}", rule) for rule in context.plan.rules]
        self.register_outputs({"rules": len(self.rules)})

    def _rule(self, name: str, rule: Rule) -> gcp.compute.Firewall:
        first, last = rule.ports
        allowed: gcp.compute.FirewallAllowArgsDict = {"protocol": rule.protocol}
        if rule.ports != ALL_PORTS:
            allowed["ports"] = [str(first) if first == last else f"{first}-{last}"]
        return gcp.compute.Firewall(
            name,
            name=within(LONGEST_NAME, name.replace(".", "-")),
            network=self._network.network_id,
            project=self._network.project,
            description=rule.why,
            direction="INGRESS" if rule.ingress else "EGRESS",
            allows=[allowed],
            target_tags=[self._tag(rule.group)],
            opts=ResourceOptions(parent=self, delete_before_replace=True),  # its name is fixed
            **self._peer(rule),
        )

    def _peer(self, rule: Rule) -> dict[str, Any]:
        """Return the sources or destinations of a rule. Ranges stay the same when pools or the control plane grow."""
        if isinstance(rule.peer, IPv4Network):
            return {"source_ranges" if rule.ingress else "destination_ranges": [str(rule.peer)]}
        if not self._plan.existing:
            return {"source_tags": [self._tag(rule.peer)]}
        zones = [each.cidr for each in self._plan.machines]
        ranges = control_plane_ranges(self._plan) if rule.peer is SecurityGroup.CONTROL_PLANE else zones
        return {"source_ranges": [str(each) for each in ranges]}
