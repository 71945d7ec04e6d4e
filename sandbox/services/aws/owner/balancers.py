"""Elastic Load Balancing for the account's owner: network and application balancers, target groups, classic ones.

Sources: Elastic Load Balancing API references, versions 2015-12-01 and 2012-06-01.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.aws.classic_balancers import CLASSIC
from sandbox.aws.network import BALANCER, SUBNET
from sandbox.aws.targets import LISTENER, TARGETS
from sandbox.services.aws.owner.holdings import Holdings, document, fields, tags
from sandbox.services.calls import Answer, Call, Refused

NEWER, OLDER = "2015-12-01", "2012-06-01"
Fields = Mapping[str, str]


def answer(holdings: Holdings, call: Call) -> Answer:
    """Answer a call. Raises Refused."""
    given = fields(call)
    action, version = given.get("Action", ""), given.get("Version", "")
    if (version, action) not in ACTIONS:
        raise Refused("InvalidAction", f"Could not find operation {action} for version {version}")
    result = ACTIONS[version, action](holdings, given)
    return document(action, f"http://elasticloadbalancing.amazonaws.com/doc/{version}/", result)


def _balancers(holdings: Holdings, given: Fields) -> dict[str, Any]:
    rows = [{"LoadBalancerArn": one.id, "VpcId": one.outputs["vpcId"]} for one in holdings.all(BALANCER)]
    return {"LoadBalancers": {"member": rows}}


def _targets(holdings: Holdings, given: Fields) -> dict[str, Any]:
    rows = [{"TargetGroupArn": one.id, "VpcId": one.inputs.get("vpcId") or ""} for one in holdings.all(TARGETS)]
    return {"TargetGroups": {"member": rows}}


def _tags(holdings: Holdings, given: Fields) -> dict[str, Any]:
    arns = [value for name, value in given.items() if name.startswith("ResourceArns.member.")]
    known = {one.id: one for type in (BALANCER, TARGETS) for one in holdings.all(type)}
    for arn in arns:
        if arn not in known:
            code = "LoadBalancerNotFound" if ":loadbalancer/" in arn else "TargetGroupNotFound"
            raise Refused(code, f"'{arn}' not found")
    rows = [{"ResourceArn": arn, "Tags": tags(known[arn], "member")} for arn in arns]
    return {"TagDescriptions": {"member": rows}}


def _delete(holdings: Holdings, given: Fields) -> dict[str, Any]:
    """Delete a load balancer with its listeners. One that does not exist is no error."""
    found = holdings.cloud_state.find(BALANCER, given["LoadBalancerArn"])
    if found:
        holdings.check_deletion(found)
        for listener in holdings.all(LISTENER):
            if listener.inputs["loadBalancerArn"] == found.id:
                holdings.delete(listener)
        holdings.delete(found)
    return {}


def _delete_targets(holdings: Holdings, given: Fields) -> dict[str, Any]:
    """Delete a target group. One that does not exist is no error."""
    found = holdings.cloud_state.find(TARGETS, given["TargetGroupArn"])
    if found:
        holdings.delete(found)
    return {}


def _classic(holdings: Holdings, given: Fields) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for one in holdings.all(CLASSIC):
        subnet = holdings.cloud_state.find(SUBNET, (one.inputs.get("subnets") or [""])[0])
        rows.append({"LoadBalancerName": one.id, "VPCId": subnet.inputs["vpcId"] if subnet else ""})
    return {"LoadBalancerDescriptions": {"member": rows}}


def _classic_tags(holdings: Holdings, given: Fields) -> dict[str, Any]:
    names = [value for name, value in given.items() if name.startswith("LoadBalancerNames.member.")]
    rows = [
        {"LoadBalancerName": name, "Tags": tags(holdings.get(CLASSIC, name, "LoadBalancerNotFound"), "member")}
        for name in names
    ]
    return {"TagDescriptions": {"member": rows}}


def _delete_classic(holdings: Holdings, given: Fields) -> dict[str, Any]:
    found = holdings.cloud_state.find(CLASSIC, given["LoadBalancerName"])
    if found:
        holdings.delete(found)
    return {}


ACTIONS: Mapping[tuple[str, str], Callable[[Holdings, Fields], dict[str, Any]]] = {
    (NEWER, "DescribeLoadBalancers"): _balancers,
    (NEWER, "DescribeTargetGroups"): _targets,
    (NEWER, "DescribeTags"): _tags,
    (NEWER, "DeleteLoadBalancer"): _delete,
    (NEWER, "DeleteTargetGroup"): _delete_targets,
    (OLDER, "DescribeLoadBalancers"): _classic,
    (OLDER, "DescribeTags"): _classic_tags,
    (OLDER, "DeleteLoadBalancer"): _delete_classic,
}
