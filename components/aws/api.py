"""The Kubernetes API's endpoint: its private name, and load balancers where planned."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.plan import Endpoint, Machine
from components.topology.firewall import SecurityGroup
from components.wiring.tags import Tags

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
        subnets: Mapping[SecurityGroup, list[Output[str]]],
        group_ids: Mapping[SecurityGroup, Output[str]],
        suffix: Output[str],
        tags: Tags,
        gateway: pulumi.Resource,
        opts: ResourceOptions | None = None,
    ) -> None:
        """machines: the control plane's. subnets: of each load balancer. suffix: keeps balancer names unique.

        gateway: what must exist before a load balancer can face the internet.
        """
        super().__init__("mullion:aws:Api", name, {"host": endpoint.host}, opts)
        self._cluster, self._tags, self._suffix, self._vpc_id = name, tags, suffix, vpc_id
        self._gateway = gateway
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
            group: self._balancer(group, self._places(group, subnets[group], endpoint), group_ids[group])
            for group in (SecurityGroup.API_INTERNAL, SecurityGroup.API_PUBLIC)
            if group in group_ids
        }
        to: dict[str, Any]
        served: list[pulumi.Resource] = []
        if endpoint.balanced:
            internal, served = balancers[SecurityGroup.API_INTERNAL]
            target = {"name": internal.dns_name, "zone_id": internal.zone_id, "evaluate_target_health": False}
            to = {"aliases": [target]}
        else:
            to = {"ttl": 60, "records": list(self._addresses.values())}
        # the name moves to a load balancer only when that has targets
        record = ResourceOptions(parent=self, depends_on=served)
        aws.route53.Record(f"{name}-api", zone_id=zone.zone_id, name=endpoint.host, type="A", opts=record, **to)
        public = balancers.get(SecurityGroup.API_PUBLIC)
        self.public_host = public[0].dns_name if public else Output.from_input("")
        self.register_outputs({"public_host": self.public_host})

    @staticmethod
    def _places(group: SecurityGroup, subnets: list[Output[str]], endpoint: Endpoint) -> dict[str, Any]:
        """Where a balancer stands; the nodes' one at planned addresses, as it shares its subnets with machines."""
        if group is SecurityGroup.API_PUBLIC:
            return {"subnets": subnets}
        addressed = zip(subnets, endpoint.balancer_addresses, strict=True)
        return {"subnet_mappings": [{"subnet_id": each, "private_ipv4_address": str(to)} for each, to in addressed]}

    def _balancer(
        self, group: SecurityGroup, places: dict[str, Any], security_group: Output[str]
    ) -> tuple[aws.lb.LoadBalancer, list[pulumi.Resource]]:
        """A TCP load balancer in front of the control plane, and what makes it serve."""
        full, purpose = f"{self._cluster}-{group.value}", group.value.removeprefix("api-")
        named = self._suffix.apply(lambda suffix: balancer_name(self._cluster, purpose, suffix))
        # its name is fixed, so the old one must go first
        fixed = ResourceOptions(parent=self, delete_before_replace=True)
        balancer = aws.lb.LoadBalancer(
            full,
            name=named,
            internal=group is SecurityGroup.API_INTERNAL,
            load_balancer_type="network",
            enable_cross_zone_load_balancing=True,
            security_groups=[security_group],  # AWS takes none later for a balancer made without
            **places,
            tags=self._tags.on(self, aws.lb.LoadBalancer, full),
            # AWS refuses one that faces the internet in a VPC without a gateway
            opts=ResourceOptions.merge(fixed, ResourceOptions(depends_on=[self._gateway])),
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
        served: list[pulumi.Resource] = [
            aws.lb.TargetGroupAttachment(
                f"{full}-{machine}",
                target_group_arn=targets.arn,
                target_id=address,
                port=self._port,
                opts=ResourceOptions(parent=self),
            )
            for machine, address in self._addresses.items()
        ]
        listener = aws.lb.Listener(
            full,
            load_balancer_arn=balancer.arn,
            port=self._port,
            protocol="TCP",
            default_actions=[{"type": "forward", "target_group_arn": targets.arn}],
            tags=self._tags.on(self, aws.lb.Listener, full),
            opts=ResourceOptions(parent=self),
        )
        return balancer, [*served, listener]
