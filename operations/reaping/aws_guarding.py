"""What Amazon GuardDuty makes in a VPC for its agents: an endpoint, which keeps the subnets, and its security group.

Source: GuardDuty user guide, "Runtime Monitoring", automated agents: both have the tag `GuardDutyManaged: true`.
"""

from collections.abc import Iterator, Sequence

from operations.reaping.aws_deletion import FIRST_GROUP, RANKS
from operations.reaping.aws_requests import Requests
from operations.reaping.things import Thing

_LISTS = {
    "vpc-endpoint": ("DescribeVpcEndpoints", "vpcEndpointSet/item", "vpcEndpointId"),
    "security-group": ("DescribeSecurityGroups", "securityGroupInfo/item", "groupId"),
}
_TAG = [{"Name": "tag:GuardDutyManaged", "Value": ["true"]}]


def guarding(requests: Requests, region: str, found: Sequence[Thing]) -> Iterator[Thing]:
    """Yield what GuardDuty made in the VPCs of clusters. found: the clusters' own resources."""
    networks = {each.id: each.cluster for each in found if each.kind == "vpc" and each.region == region}
    for kind, (action, path, key) in _LISTS.items() if networks else ():
        for page in requests.pages("ec2", region, action, Filter=_TAG):
            for row in page.iterfind(path):
                network, name = row.findtext("vpcId") or "", row.findtext(key) or ""
                if network in networks and (row.findtext("state") or "").lower() != "deleted":
                    rank = min(RANKS[kind], FIRST_GROUP)
                    yield Thing(kind, name, region, networks[network], rank, network=network, by_controller=True)
