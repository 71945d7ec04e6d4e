"""Security groups, and one resource for each rule of the rule table."""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.aws import cloud_controller
from components.aws.network import UsableNetwork
from components.topology.firewall import NODES, Group, Rule, SecurityGroup
from components.wiring.context import ClusterContext

DESCRIPTIONS = {
    SecurityGroup.CONTROL_PLANE: "Kubernetes control plane",
    SecurityGroup.WORKERS: "Kubernetes workers",
    SecurityGroup.API_INTERNAL: "Kubernetes API for nodes",
    SecurityGroup.API_PUBLIC: "Kubernetes API for people",
    SecurityGroup.ENDPOINTS: "Private endpoints of AWS services",
}


def description(group: Group) -> str:
    """Return the description of a security group, which cannot change."""
    return DESCRIPTIONS[group] if isinstance(group, SecurityGroup) else f"Load balancer {group.name} of ingress"


class Firewall(pulumi.ComponentResource):
    """A security group for each group of the rule table, and its rules."""

    group_ids: Mapping[Group, Output[str]]
    """Ids of the security groups."""
    egress: list[pulumi.Resource]
    """Rules for outgoing traffic: a machine has no connection before these exist."""
    to_endpoints: list[pulumi.Resource]
    """Rules that admit machines to private endpoints."""

    def __init__(self, context: ClusterContext, network: UsableNetwork, opts: ResourceOptions | None = None) -> None:
        plan, name = context.plan, context.plan.name
        super().__init__("mullion:aws:Firewall", name, {"groups": [group.value for group in plan.groups]}, opts)
        self._tags = context.tags
        self.group_ids = {
            group: aws.ec2.SecurityGroup(
                f"{name}-{group.value}",
                vpc_id=network.vpc_id,
                description=description(group),
                tags=self._tags.on(
                    self,
                    aws.ec2.SecurityGroup,
                    f"{name}-{group.value}",
                    # the cloud controller opens node ports in groups with its tag: those of workers
                    others=cloud_controller.cluster_tag(plan) if group is SecurityGroup.WORKERS else None,
                ),
                opts=ResourceOptions(parent=self),
            ).id
            for group in plan.groups
        }
        rules = [(rule, self._rule(f"{name}-{rule.name}", rule)) for rule in plan.rules]
        self.egress = [resource for rule, resource in rules if not rule.ingress and rule.group in NODES]
        self.to_endpoints = [resource for rule, resource in rules if rule.group is SecurityGroup.ENDPOINTS]
        self.register_outputs({"group_ids": {group.value: id_ for group, id_ in self.group_ids.items()}})

    def _rule(self, name: str, rule: Rule) -> pulumi.Resource:
        kind = aws.vpc.SecurityGroupIngressRule if rule.ingress else aws.vpc.SecurityGroupEgressRule
        peer = (
            {"cidr_ipv4": str(rule.peer)}
            if isinstance(rule.peer, IPv4Network)
            else {"referenced_security_group_id": self.group_ids[rule.peer]}
        )
        # with all protocols AWS takes no ports
        protocol: dict[str, Any] = (
            {"ip_protocol": "-1"}
            if rule.protocol == "all"
            else {"ip_protocol": rule.protocol, "from_port": rule.ports[0], "to_port": rule.ports[1]}
        )
        return kind(
            name,
            security_group_id=self.group_ids[rule.group],
            description=rule.why,
            tags=self._tags.on(self, kind, name),
            opts=ResourceOptions(parent=self),
            **peer,
            **protocol,
        )
