"""Classic load balancers, which cloud controllers make of Services."""

import re

from sandbox.aws.balancers import NAME
from sandbox.aws.network import in_groups, in_subnet
from sandbox.aws.tags import tag_rule
from sandbox.cloud import AutoName, ResourceType, Unique

CLASSIC = "aws:elb/loadBalancer:LoadBalancer"
_PROTOCOL = (re.compile(r"(?i)http|https|tcp|ssl"), "one of HTTP, HTTPS, TCP, SSL")

TYPES: dict[str, ResourceType] = {
    CLASSIC: ResourceType(
        id="{in_.name}",
        immutable=("name", "namePrefix", "internal"),
        chosen=("name", "subnets", "securityGroups", "availabilityZones"),
        unordered=("subnets", "securityGroups", "instances"),
        outputs={"arn": "arn:aws:elasticloadbalancing:{region}:{account}:loadbalancer/{in_.name}"},
        auto_name=AutoName(limit=32),
        at_most_one=(("name", "namePrefix"), ("subnets", "availabilityZones")),
        at_least_one=(("subnets", "availabilityZones"),),
        patterns={"name": NAME, "listeners[].lbProtocol": _PROTOCOL, "listeners[].instanceProtocol": _PROTOCOL},
        references=(in_subnet("subnets[]"), in_groups("securityGroups[]")),
        unique=(
            Unique(
                "classic load balancer",
                ("name",),
                "DuplicateLoadBalancerName",
                "Load balancer named {in_.name} already exists",
                regional=True,
            ),
        ),
        rules=(tag_rule("ValidationError"),),
    ),
}
