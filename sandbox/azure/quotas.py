"""Quotas of Azure ("Azure subscription and service limits, quotas, and constraints"), by subscription and location."""

from collections.abc import Mapping

from components.catalogue.account_limits import ADDRESSES, NEW_ACCOUNT, VCPUS
from sandbox.azure.names import INTERFACE, MACHINE, NETWORK, RULES, TABLE
from sandbox.azure.regions import vcpus
from sandbox.cloud import Request
from sandbox.quotas import Quota, Quotas

CORES = "Total Regional Cores"
_NEW = NEW_ACCOUNT["azure"]
_ROWS: Mapping[str, Quota] = {
    CORES: Quota(
        _NEW[VCPUS].new,
        "OperationNotAllowed",
        "Operation could not be completed as it results in exceeding approved Total Regional Cores quota. Additional"
        " details - Deployment Model: Resource Manager, Location: {region}, Current Limit: {limit}, Current Usage:"
        " {used},"
        " Additional Required: {wanted}.",
        granted=2000,
    ),
    "public addresses per location": Quota(
        _NEW[ADDRESSES].new,
        "PublicIPCountLimitReached",
        "Cannot create more than {limit} public IP addresses for this subscription in this region.",
        granted=1000,
    ),
    "resource groups": Quota(
        980, "ResourceGroupQuotaExceeded", "Creating the resource group would exceed the quota of {limit}."
    ),
    "virtual networks per location": Quota(
        1000, "VnetCountLimitReached", "Cannot create more than {limit} virtual networks for this subscription."
    ),
    "network interfaces per location": Quota(
        65536, "NetworkInterfaceCountLimitReached", "Cannot create more than {limit} network interfaces."
    ),
    "network security groups per location": Quota(
        5000,
        "NetworkSecurityGroupCountLimitReached",
        "Cannot create more than {limit} network security groups for this subscription.",
    ),
    "rules per network security group": Quota(
        1000,
        "MaxSecurityRulesCountLimitReached",
        "Cannot create more than {limit} security rules for a network security group.",
    ),
    "route tables per location": Quota(
        200, "RouteTableCountLimitReached", "Cannot create more than {limit} route tables for this subscription."
    ),
    "storage accounts per location": Quota(
        250,
        "MaxStorageAccountsCountPerSubscriptionExceeded",
        "Subscription already contains {limit} storage accounts and the maximum allowed is {limit}.",
    ),
    "role assignments per subscription": Quota(
        4000, "RoleAssignmentLimitExceeded", "No more role assignments can be created; the limit is {limit}."
    ),
}
QUOTAS = Quotas(_ROWS)
BY_TYPE = {
    NETWORK.token: "virtual networks per location",
    INTERFACE.token: "network interfaces per location",
    RULES.token: "network security groups per location",
    TABLE.token: "route tables per location",
}


def cores(request: Request) -> None:
    """Check the vCPUs of the location's machines, with the new machine's."""
    others = request.cloud_state.resources(MACHINE.token)
    there = [one.inputs["hardwareProfile"]["vmSize"] for one in others if one.sequence != request.sequence]
    used, wanted = sum(vcpus(size) or 0 for size in there), vcpus(request.inputs["hardwareProfile"]["vmSize"]) or 0
    QUOTAS.refuse_over(request, CORES, wanted, used)
