"""Service quotas: how many of a thing an account may have, and what the API says to one more.

A world may have others: `World.set_setting("quota/VPCs per region", "1")`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sandbox.aws import offerings
from sandbox.cloud import Refusal, Request, Rule
from sandbox.world import World


@dataclass(frozen=True)
class Quota:
    """default: what a new account has, by the service's page of quotas. granted: what the sandbox's account has."""

    default: int
    code: str
    message: str
    granted: int | None = None


_MOST = "The maximum number of {} has been reached."
VCPUS = "Running On-Demand Standard vCPUs"
QUOTAS: Mapping[str, Quota] = {
    # EC2 service quota L-1216C47A; a new account's 5 is raised with use, so the sandbox's account has an older one's
    VCPUS: Quota(
        5,
        "VcpuLimitExceeded",
        "You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance bucket"
        " that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to"
        " request an adjustment to this limit.",
        granted=5120,
    ),
    # Amazon VPC user guide, "Amazon VPC quotas"
    "VPCs per region": Quota(5, "VpcLimitExceeded", _MOST.format("VPCs")),
    "internet gateways per region": Quota(5, "InternetGatewayLimitExceeded", _MOST.format("internet gateways")),
    "Elastic IP addresses per region": Quota(5, "AddressLimitExceeded", _MOST.format("addresses")),
    "subnets per VPC": Quota(200, "SubnetLimitExceeded", _MOST.format("subnets")),
    "route tables per VPC": Quota(200, "RouteTableLimitExceeded", _MOST.format("route tables")),
    # 500 since June 2025; 50 before
    "routes per route table": Quota(500, "RouteLimitExceeded", _MOST.format("routes")),
    "NAT gateways per zone": Quota(5, "NatGatewayLimitExceeded", _MOST.format("NAT gateways")),
    "rules per security group": Quota(
        60, "RulesPerSecurityGroupLimitExceeded", _MOST.format("rules per security group")
    ),
    "security groups per interface": Quota(
        5,
        "SecurityGroupsPerInterfaceLimitExceeded",
        "You have exceeded the maximum number of security groups allowed per network interface.",
    ),
    "security groups per region": Quota(2500, "SecurityGroupLimitExceeded", _MOST.format("security groups")),
    # Elastic Load Balancing, "Quotas for your Network Load Balancers"
    "network load balancers per region": Quota(
        50, "TooManyLoadBalancers", "The maximum number of load balancers has been reached on account {account}"
    ),
    "target groups per region": Quota(3000, "TooManyTargetGroups", _MOST.format("target groups")),
    "listeners per load balancer": Quota(50, "TooManyListeners", _MOST.format("listeners")),
    # IAM user guide, "IAM and AWS STS quotas"
    "roles per account": Quota(1000, "LimitExceeded", "Cannot exceed quota for RolesPerAccount: {limit}"),
    "instance profiles per account": Quota(
        1000, "LimitExceeded", "Cannot exceed quota for InstanceProfilesPerAccount: {limit}"
    ),
    # Amazon S3, "Buckets quota"; Route 53, "Quotas on entities"
    "buckets per account": Quota(10000, "TooManyBuckets", "You have attempted to create more buckets than allowed"),
    "hosted zones per account": Quota(500, "TooManyHostedZones", "Limits Exceeded: MAX_HOSTED_ZONES_BY_OWNER={limit}"),
}


def limit(world: World, name: str) -> int:
    """The quota as it is in this world."""
    row = QUOTAS[name]
    return int(world.setting(f"quota/{name}") or row.granted or row.default)


def at_most(name: str, count: Callable[[Request], int] | None = None) -> Rule:
    """A rule on creation: no more than the quota. count: those there are besides; all of the type in the region."""

    def rule(request: Request) -> None:
        if request.old is not None:
            return
        there = count(request) if count else request.world.count(request.type, request.region)
        refuse_over(request, name, there + 1)

    return rule


def refuse_over(request: Request, name: str, wanted: int) -> None:
    """Refuse more than the quota."""
    most = limit(request.world, name)
    if wanted > most:
        row = QUOTAS[name]
        raise Refusal(row.code, row.message.format(limit=most, account=request.place.account))


def beside(target: str, path: str) -> Callable[[Request], int]:
    """How many things of the request's type refer to the same one of `target`, whose id is the input `path`."""
    return lambda request: sum(
        one.type == request.type for one in request.world.referrers(target, str(request.inputs.get(path, "")))
    )


def vcpus(request: Request) -> None:
    """vCPUs of all standard machines of the region that run, this one's as it would be."""
    name = request.inputs.get("instanceType", "")
    if not offerings.is_standard(name):
        return
    others = request.world.counts(request.type, request.region, "instanceType", without=request.sequence)
    used = sum(offerings.vcpus(each) * count for each, count in others.items() if each and offerings.is_standard(each))
    refuse_over(request, VCPUS, used + offerings.vcpus(name))
