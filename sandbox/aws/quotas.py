"""Quotas of AWS."""

from collections.abc import Mapping

from components.catalogue.account_limits import ADDRESSES, ENDPOINTS, NEW_ACCOUNT
from components.catalogue.account_limits import VCPUS as CORES
from sandbox.aws import offerings
from sandbox.cloud import Request
from sandbox.quotas import Quota, Quotas

_MOST = "The maximum number of {} has been reached."
VCPUS = "Running On-Demand Standard vCPUs"
_NEW = NEW_ACCOUNT["aws"]
_ROWS: Mapping[str, Quota] = {
    # EC2 service quota L-1216C47A; new accounts get 5, raised with use: the sandbox's account is an older one
    VCPUS: Quota(
        _NEW[CORES].new,
        "VcpuLimitExceeded",
        "You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance bucket"
        " that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to"
        " request an adjustment to this limit.",
        granted=5120,
    ),
    # Amazon VPC user guide, "Amazon VPC quotas"
    "VPCs per region": Quota(5, "VpcLimitExceeded", _MOST.format("VPCs")),
    "internet gateways per region": Quota(5, "InternetGatewayLimitExceeded", _MOST.format("internet gateways")),
    "Elastic IP addresses per region": Quota(_NEW[ADDRESSES].new, "AddressLimitExceeded", _MOST.format("addresses")),
    "subnets per VPC": Quota(200, "SubnetLimitExceeded", _MOST.format("subnets")),
    "route tables per VPC": Quota(200, "RouteTableLimitExceeded", _MOST.format("route tables")),
    # 500 since June 2025; 50 before
    "routes per route table": Quota(500, "RouteLimitExceeded", _MOST.format("routes")),
    # L-1B52E74A and L-29B6F2EB; EC2 API, "Error codes"
    "gateway endpoints per region": Quota(20, "VpcEndpointLimitExceeded", _MOST.format("VPC endpoints")),
    "interface endpoints per VPC": Quota(
        _NEW[ENDPOINTS].new, "VpcEndpointLimitExceeded", _MOST.format("VPC endpoints")
    ),
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
    # note 3: with cross-zone balancing, whatever the number of zones
    "targets per load balancer": Quota(
        500, "TooManyTargets", "The maximum number of targets has been reached on the load balancer"
    ),
    "listeners per load balancer": Quota(50, "TooManyListeners", _MOST.format("listeners")),
    # IAM user guide, "IAM and AWS STS quotas"
    "roles per account": Quota(1000, "LimitExceeded", "Cannot exceed quota for RolesPerAccount: {limit}"),
    "OIDC providers per account": Quota(
        100, "LimitExceeded", "Cannot exceed quota for OpenIdConnectProvidersPerAccount: {limit}"
    ),
    "managed policies per role": Quota(10, "LimitExceeded", "Cannot exceed quota for PoliciesPerRole: {limit}"),
    "instance profiles per account": Quota(
        1000, "LimitExceeded", "Cannot exceed quota for InstanceProfilesPerAccount: {limit}"
    ),
    # Amazon S3, "Buckets quota"; Route 53, "Quotas on entities"
    "buckets per account": Quota(10000, "TooManyBuckets", "You have attempted to create more buckets than allowed"),
    "hosted zones per account": Quota(500, "TooManyHostedZones", "Limits Exceeded: MAX_HOSTED_ZONES_BY_OWNER={limit}"),
}
QUOTAS = Quotas(_ROWS)


def vcpus(request: Request) -> None:
    """Check the vCPUs of the region's running standard machines, with the new machine's."""
    name = request.inputs.get("instanceType", "")
    if not offerings.is_standard(name):
        return
    others = request.cloud_state.counts(request.type, request.region, "instanceType", without=request.sequence)
    used = sum(offerings.vcpus(each) * count for each, count in others.items() if each and offerings.is_standard(each))
    QUOTAS.refuse_over(request, VCPUS, used + offerings.vcpus(name))
