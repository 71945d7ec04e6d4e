"""Load balancers of `ingress`: network load balancers in front of workers."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.aws.api import balancer_name
from components.aws.firewall import Firewall
from components.aws.network import UsableNetwork
from components.rollout.traffic import membership_name
from components.topology.load_balancers import LoadBalancer
from components.wiring.context import ClusterContext
from components.wiring.machine_groups import Registered

DEREGISTRATION_SECONDS = 30
"""Time that connections through a removed target may go on."""
HTTP_TIMEOUT = 6
"""Seconds that an HTTP health check waits: AWS's default. Written, else the provider keeps the 10 s of a TCP check."""


class Ingress(pulumi.ComponentResource):
    """A network load balancer for each load balancer of the plan, with a target group for each node port.

    Targets are instances, so machines see the client's address. An attachment is deleted before its instance, once the
    gate of the pool lets the worker go.
    """

    hosts: Mapping[str, Output[str]]
    """DNS names by load balancer."""

    def __init__(
        self,
        context: ClusterContext,
        network: UsableNetwork,
        firewall: Firewall,
        machines: Registered[aws.ec2.Instance],
        opts: ResourceOptions | None = None,
    ) -> None:
        plan = context.plan
        names = [balancer.name for balancer in plan.load_balancers]
        super().__init__("mullion:aws:Ingress", plan.name, {"load_balancers": names}, opts)
        self._context, self._network, self._firewall, self._machines = context, network, firewall, machines
        self.hosts = {balancer.name: self._balancer(balancer) for balancer in plan.load_balancers}
        self.register_outputs({"hosts": dict(self.hosts)})

    def _placement(self, balancer: LoadBalancer) -> dict[str, Any]:
        """Return the subnets; an internal load balancer has planned addresses, beside those of machines."""
        if not balancer.internal:
            return {"subnets": self._network.edge_subnets}
        pairs = zip(self._network.machine_subnets, balancer.addresses, strict=True)
        return {"subnet_mappings": [{"subnet_id": id_, "private_ipv4_address": str(address)} for id_, address in pairs]}

    def _short_name(self, purpose: str) -> Output[str]:
        cluster = self._context.plan.name
        return self._context.generated.suffix.apply(lambda suffix: balancer_name(cluster, purpose, suffix))

    def _balancer(self, planned: LoadBalancer) -> Output[str]:
        """Register a load balancer with its listeners and targets; return its DNS name."""
        full, tags = f"{self._context.plan.name}-ingress-{planned.name}", self._context.tags
        balancer = aws.lb.LoadBalancer(
            full,
            name=self._short_name(f"lb-{planned.name}"),
            internal=planned.internal,
            load_balancer_type="network",
            enable_cross_zone_load_balancing=True,
            security_groups=[self._firewall.group_ids[planned.group]],
            **self._placement(planned),
            tags=tags.on(self, aws.lb.LoadBalancer, full),
            # its name is fixed; and AWS refuses an internet-facing one in a VPC without an internet gateway
            opts=ResourceOptions(parent=self, delete_before_replace=True, depends_on=self._network.gateways),
        )
        groups = {port: self._targets(planned, port) for port in planned.node_ports}
        for port, node_port in planned.ports:
            aws.lb.Listener(
                f"{full}-{port}",
                load_balancer_arn=balancer.arn,
                port=port,
                protocol="TCP",
                default_actions=[{"type": "forward", "target_group_arn": groups[node_port].arn}],
                tags=tags.on(self, aws.lb.Listener, f"{full}-{port}"),
                opts=ResourceOptions(parent=self),
            )
        return balancer.dns_name

    def _targets(self, planned: LoadBalancer, port: int) -> aws.lb.TargetGroup:
        """Register a target group of a node port, and the workers in it.

        Its name contains the node port: when the stack file names another one, the new group exists before the
        listener changes, and the old one, which AWS would not delete under a listener, goes last.
        """
        full = f"{self._context.plan.name}-ingress-{planned.name}-{port}"
        web: dict[str, Any] = (
            {"protocol": "HTTP", "path": planned.health_path, "matcher": "200", "timeout": HTTP_TIMEOUT}
            if planned.health_path
            else {"protocol": "TCP", "path": "", "matcher": ""}  # else the provider keeps those of an HTTP check
        )
        check: Any = {
            "port": str(planned.probed_port(port)),
            "interval": 10,
            "healthy_threshold": 2,
            "unhealthy_threshold": 2,
            **web,
        }
        targets = aws.lb.TargetGroup(
            full,
            name=self._short_name(f"{planned.name}-{port}"),
            vpc_id=self._network.vpc_id,
            port=port,
            protocol="TCP",
            target_type="instance",
            preserve_client_ip="true",
            deregistration_delay=DEREGISTRATION_SECONDS,
            health_check=check,
            tags=self._context.tags.on(self, aws.lb.TargetGroup, full),
            opts=ResourceOptions(parent=self, delete_before_replace=True),
        )
        for machine in self._context.plan.targets(planned):
            aws.lb.TargetGroupAttachment(
                membership_name(full, machine.name),
                target_group_arn=targets.arn,
                target_id=self._machines.instances[machine].id,
                port=port,
                opts=ResourceOptions(parent=self, delete_before_replace=True, hooks=self._machines.membership_hooks),
            )
        return targets
