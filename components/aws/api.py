"""The Kubernetes API's endpoint: its private name, and load balancers where planned."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.firewall import Group
from components.plan import Endpoint, Machine
from components.tags import Tags

LONGEST_NAME = 32
"""Of load balancers and target groups."""


def balancer_name(cluster: str, purpose: str, suffix: str) -> str:
    """Unique in the account and region, and short enough: the cluster's name gives way."""
    tail = f"-{purpose}-{suffix}"
    return f"{cluster[: LONGEST_NAME - len(tail)].rstrip('-')}{tail}"


class Api(pulumi.ComponentResource):
    """A private zone with the endpoint's name, and a network load balancer for nodes, for people, or both."""

    public_host: Output[str]
    """DNS name of the public load balancer, or empty."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        machines: Iterable[Machine],
        vpc_id: Output[str],
        subnets: Mapping[Group, list[Output[str]]],
        group_ids: Mapping[Group, Output[str]],
        suffix: Output[str],
        tags: Tags,
        opts: ResourceOptions | None = None,
    ) -> None:
        """machines: the control plane's. subnets: of each load balancer. suffix: keeps balancer names unique."""
        super().__init__("mullion:aws:Api", name, {"host": endpoint.host}, opts)
        self._cluster, self._tags, self._suffix, self._vpc_id = name, tags, suffix, vpc_id
        self._port, self._addresses = endpoint.port, {each.name: str(each.address) for each in machines}
        zone = aws.route53.Zone(
            f"{name}-zone",
            name=endpoint.zone,
            comment=f"Nodes of {name}",
            vpcs=[{"vpc_id": vpc_id}],
            tags=tags.on(self, aws.route53.Zone, f"{name}-zone"),
            opts=ResourceOptions(parent=self),
        )
        balancers = {
            group: self._balancer(group, subnets[group], group_ids[group])
            for group in (Group.API_INTERNAL, Group.API_PUBLIC)
            if group in group_ids
        }
        to: dict[str, Any]
        if endpoint.balanced:
            internal = balancers[Group.API_INTERNAL]
            target = {"name": internal.dns_name, "zone_id": internal.zone_id, "evaluate_target_health": False}
            to = {"aliases": [target]}
        else:
            to = {"ttl": 60, "records": list(self._addresses.values())}
        record = ResourceOptions(parent=self)
        aws.route53.Record(f"{name}-api", zone_id=zone.zone_id, name=endpoint.host, type="A", opts=record, **to)
        public = balancers.get(Group.API_PUBLIC)
        self.public_host = public.dns_name if public else Output.from_input("")
        self.register_outputs({"public_host": self.public_host})

    def _balancer(self, group: Group, subnets: list[Output[str]], security_group: Output[str]) -> aws.lb.LoadBalancer:
        """A TCP load balancer in front of the control plane."""
        full, purpose = f"{self._cluster}-{group.value}", group.value.removeprefix("api-")
        named = self._suffix.apply(lambda suffix: balancer_name(self._cluster, purpose, suffix))
        # its name is fixed, so the old one must go first
        fixed = ResourceOptions(parent=self, delete_before_replace=True)
        balancer = aws.lb.LoadBalancer(
            full,
            name=named,
            internal=group is Group.API_INTERNAL,
            load_balancer_type="network",
            enable_cross_zone_load_balancing=True,
            security_groups=[security_group],  # AWS takes none later for a balancer made without
            subnets=subnets,
            tags=self._tags.on(self, aws.lb.LoadBalancer, full),
            opts=fixed,
        )
        targets = aws.lb.TargetGroup(
            full,
            name=named,
            vpc_id=self._vpc_id,
            port=self._port,
            protocol="TCP",
            target_type="ip",
            preserve_client_ip="false",  # else a machine cannot reach itself through it
            deregistration_delay=30,
            health_check={"protocol": "HTTPS", "path": "/readyz", "port": str(self._port), "matcher": "200"},
            tags=self._tags.on(self, aws.lb.TargetGroup, full),
            opts=fixed,
        )
        for machine, address in self._addresses.items():
            aws.lb.TargetGroupAttachment(
                f"{full}-{machine}",
                target_group_arn=targets.arn,
                target_id=address,
                port=self._port,
                opts=ResourceOptions(parent=self),
            )
        aws.lb.Listener(
            full,
            load_balancer_arn=balancer.arn,
            port=self._port,
            protocol="TCP",
            default_actions=[{"type": "forward", "target_group_arn": targets.arn}],
            tags=self._tags.on(self, aws.lb.Listener, full),
            opts=ResourceOptions(parent=self),
        )
        return balancer
