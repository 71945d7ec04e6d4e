"""The Kubernetes API's endpoint: a private DNS name, and load balancers where planned."""

from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.aws.firewall import Firewall
from components.aws.network import UsableNetwork
from components.topology.firewall import SecurityGroup
from components.wiring.context import ClusterContext

LONGEST_NAME = 32
"""Maximum characters of a load balancer's and a target group's name."""

PROBE: aws.lb.TargetGroupHealthCheckArgsDict = {
    "interval": 10,
    "timeout": 6,
    "healthy_threshold": 2,
    "unhealthy_threshold": 2,
}
"""A lost control plane gets no new connections after 20 s; by the provider's defaults it does for 90 s."""


def balancer_name(cluster: str, purpose: str, suffix: str) -> str:
    """Return a name unique in the account and region; cut the cluster's name to fit LONGEST_NAME."""
    tail = f"-{purpose}-{suffix}"
    return f"{cluster[: LONGEST_NAME - len(tail)].rstrip('-')}{tail}"


class Api(pulumi.ComponentResource):
    """A private zone with the endpoint's name, and a network load balancer for nodes, for people, or both."""

    public_host: Output[str]
    """DNS name of the public load balancer, or empty."""
    record: pulumi.Resource
    """The endpoint's name, by which machines find the API."""

    def __init__(
        self, context: ClusterContext, network: UsableNetwork, firewall: Firewall, opts: ResourceOptions | None = None
    ) -> None:
        plan, endpoint = context.plan, context.plan.endpoint
        super().__init__("mullion:aws:Api", plan.name, {"host": endpoint.host}, opts)
        self._context, self._network = context, network
        self._addresses = {machine.name: str(machine.address) for machine in plan.control_plane.machines}
        zone_id = network.private_zone or self._zone(endpoint.zone)
        balancers = {
            group: self._balancer(group, firewall.group_ids[group])
            for group in (SecurityGroup.API_INTERNAL, SecurityGroup.API_PUBLIC)
            if group in firewall.group_ids
        }
        # addresses instead of an alias: the record then exists before machines ask for the name, and no machine keeps
        # the answer "no such name", which systemd-resolved does for 900 s (Route 53's SOA minimum)
        self.record = aws.route53.Record(
            f"{plan.name}-api",
            zone_id=zone_id,
            name=endpoint.host,
            type="A",
            ttl=60,
            records=[str(address) for address in plan.api_addresses],
            opts=ResourceOptions(parent=self),
        )
        public = balancers.get(SecurityGroup.API_PUBLIC)
        self.public_host = public.dns_name if public else Output.from_input("")
        self.register_outputs({"public_host": self.public_host})

    def _zone(self, zone: str) -> Output[str]:
        """Return the id of a private zone of this name."""
        full = f"{self._context.plan.name}-zone"
        return aws.route53.Zone(
            full,
            name=zone,
            comment=f"Nodes of {self._context.plan.name}",
            vpcs=[{"vpc_id": self._network.vpc_id}],
            tags=self._context.tags.on(self, aws.route53.Zone, full),
            opts=ResourceOptions(parent=self),
        ).zone_id

    def _placement(self, group: SecurityGroup) -> dict[str, Any]:
        """Return the subnets of a load balancer; the internal one has planned addresses, beside those of machines."""
        if group is SecurityGroup.API_PUBLIC:
            return {"subnets": self._network.edge_subnets}
        addresses = self._context.plan.endpoint.balancer_addresses
        pairs = zip(self._network.machine_subnets, addresses, strict=True)
        return {"subnet_mappings": [{"subnet_id": id_, "private_ipv4_address": str(address)} for id_, address in pairs]}

    def _balancer(self, group: SecurityGroup, security_group: Output[str]) -> aws.lb.LoadBalancer:
        """Return a TCP load balancer in front of the control plane."""
        cluster, tags = self._context.plan.name, self._context.tags
        full, purpose = f"{cluster}-{group.value}", group.value.removeprefix("api-")
        name = self._context.generated.suffix.apply(lambda suffix: balancer_name(cluster, purpose, suffix))
        # its name is fixed, so the old one must go first
        fixed = ResourceOptions(parent=self, delete_before_replace=True)
        balancer = aws.lb.LoadBalancer(
            full,
            name=name,
            internal=group is SecurityGroup.API_INTERNAL,
            load_balancer_type="network",
            enable_cross_zone_load_balancing=True,
            security_groups=[security_group],  # AWS adds none later to a balancer created without
            **self._placement(group),
            tags=tags.on(self, aws.lb.LoadBalancer, full),
            # AWS refuses an internet-facing one in a VPC without an internet gateway
            opts=ResourceOptions.merge(fixed, ResourceOptions(depends_on=self._network.gateways)),
        )
        port = self._context.plan.endpoint.port
        targets = aws.lb.TargetGroup(
            full,
            name=name,
            vpc_id=self._network.vpc_id,
            port=port,
            protocol="TCP",
            target_type="ip",
            preserve_client_ip="false",  # else a machine cannot reach itself through it
            deregistration_delay=30,
            health_check={"protocol": "HTTPS", "path": "/readyz", "port": str(port), "matcher": "200", **PROBE},
            tags=tags.on(self, aws.lb.TargetGroup, full),
            opts=fixed,
        )
        self._serve(full, port, balancer, targets)
        return balancer

    def _serve(self, full: str, port: int, balancer: aws.lb.LoadBalancer, targets: aws.lb.TargetGroup) -> None:
        """Register the control plane as targets, and a listener that forwards to them."""
        for machine, address in self._addresses.items():
            aws.lb.TargetGroupAttachment(
                f"{full}-{machine}",
                target_group_arn=targets.arn,
                target_id=address,
                port=port,
                opts=ResourceOptions(parent=self),
            )
        aws.lb.Listener(
            full,
            load_balancer_arn=balancer.arn,
            port=port,
            protocol="TCP",
            default_actions=[{"type": "forward", "target_group_arn": targets.arn}],
            tags=self._context.tags.on(self, aws.lb.Listener, full),
            opts=ResourceOptions(parent=self),
        )
