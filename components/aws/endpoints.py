"""Interface endpoints of AWS's services, for machines without a way to the internet."""

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceOptions

from components.aws import endpoint_policies
from components.aws.firewall import Firewall
from components.aws.network import Network
from components.topology.firewall import SecurityGroup
from components.topology.private_endpoints import PrivateEndpoint
from components.wiring.context import ClusterContext


class Endpoints(pulumi.ComponentResource):
    """An endpoint for each planned service, in each zone. Private DNS gives its addresses to the service's own name."""

    ways: list[pulumi.Resource]
    """The endpoints and their firewall rules: a machine reaches none of the services before these exist."""

    def __init__(
        self,
        context: ClusterContext,
        network: Network,
        firewall: Firewall,
        opts: ResourceOptions | None = None,
    ) -> None:
        name, planned = context.plan.name, context.plan.private_endpoints
        super().__init__("mullion:aws:Endpoints", name, {"services": [each.service for each in planned]}, opts)
        self._cluster, self._tags, self._network = name, context.tags, network
        self._groups = [firewall.group_ids[SecurityGroup.ENDPOINTS]]
        self._region = aws.get_region_output(opts=InvokeOptions(parent=self)).region
        made = [self._endpoint(each) for each in planned]
        self.ways = [*made, *firewall.to_endpoints]
        self.register_outputs({"ids": {each.name: endpoint.id for each, endpoint in zip(planned, made, strict=True)}})

    def _endpoint(self, planned: PrivateEndpoint) -> aws.ec2.VpcEndpoint:
        full = f"{self._cluster}-{planned.name}"
        return aws.ec2.VpcEndpoint(
            full,
            vpc_id=self._network.vpc_id,
            vpc_endpoint_type="Interface",
            service_name=Output.format("com.amazonaws.{}.{}", self._region, planned.service),
            subnet_ids=self._network.endpoint_subnets,
            security_group_ids=self._groups,
            policy=self._network.vpc_arn.apply(lambda arn: endpoint_policies.of_service(arn, planned)),
            private_dns_enabled=True,
            tags=self._tags.on(self, aws.ec2.VpcEndpoint, full),
            opts=ResourceOptions(parent=self),
        )
