"""Deletion of AWS resources, by kind: the call, its place in the order, and how the API says that it is gone.

Sources: API references of EC2, Elastic Load Balancing, IAM, Route 53, Secrets Manager and S3, each with its errors.
"""

from collections.abc import Callable, Iterator, Mapping
from xml.etree.ElementTree import Element, SubElement, tostring

from operations.clouds.api import ApiError
from operations.reaping.aws_requests import HOME, Requests
from operations.reaping.things import TIER, Thing

FIRST_GROUP = 50
"""Rank of security groups that a cloud controller made."""
RANKS: Mapping[str, int] = {
    "instance": 0,
    "load-balancer": 1,
    "classic-load-balancer": 1,
    "target-group": 2,
    "natgateway": 3,
    "vpc-endpoint": 4,
    "volume": 5,
    "snapshot": 5,
    "elastic-ip": 6,
    "hosted-zone": 7,
    "subnet": 8,
    "route-table": 9,
    "internet-gateway": 10,
    "security-group": TIER,
    "vpc": TIER + 1,
    "oidc-provider": TIER + 2,
    "instance-profile": TIER + 2,
    "role": TIER + 3,
    "secret": TIER + 4,
    "bucket": 2 * TIER,
}
"""Order of deletion by kind. The cluster's groups and VPC come late, because what Kubernetes made is found by them;
buckets come last, because they say when a cluster was created."""

_GONE = frozenset(
    {
        *("NatGatewayNotFound", "LoadBalancerNotFound", "TargetGroupNotFound", "AccessPointNotFound"),
        *("NoSuchEntity", "NoSuchBucket", "NoSuchHostedZone", "ResourceNotFoundException", "Gateway.NotAttached"),
    }
)
WAITS = frozenset(
    {
        *("DependencyViolation", "ResourceInUse", "InvalidIPAddress.InUse", "VolumeInUse", "DeleteConflict"),
        *("IncorrectState", "OperationInProgress", "OperationAborted", "AuthFailure", "BucketNotEmpty"),
        *(
            "HostedZoneNotEmpty",
            "PriorRequestNotComplete",
            "InvalidChangeBatch",
            "ConcurrentModification",
            "InvalidGroup.InUse",
        ),
    }
)
"""Refusals that end once other resources are gone. ReleaseAddress answers AuthFailure while the address is in use."""


def is_gone(code: str) -> bool:
    """Return whether a refusal says that the resource does not exist."""
    return code in _GONE or code.endswith(".NotFound")


def _ec2(action: str, parameter: str) -> Callable[[Requests, Thing], None]:
    """Return the deletion by an action of EC2 that takes an id."""

    def delete(requests: Requests, thing: Thing) -> None:
        requests.query("ec2", thing.region, action, **{parameter: thing.id})

    return delete


def _endpoint(requests: Requests, thing: Thing) -> None:
    answer = requests.query("ec2", thing.region, "DeleteVpcEndpoints", VpcEndpointId=[thing.id])
    error = answer.find("unsuccessful/item/error")
    if error is not None:
        raise ApiError(400, error.findtext("code") or "", error.findtext("message") or "")


def _group(requests: Requests, thing: Thing) -> None:
    """Delete a security group. First revoke rules between groups: groups that name each other cannot be deleted.

    Revoked are the group's own rules that name a group, and rules of the cluster's groups that name a controller's
    group.
    """
    _revoke(requests, thing.region, thing.id, lambda _: True)
    if thing.by_controller:
        tests = {"ip-permission.group-id": thing.id, "tag:mullion:cluster": thing.cluster}
        filters = [{"Name": name, "Value": [value]} for name, value in tests.items()]
        for page in requests.pages("ec2", thing.region, "DescribeSecurityGroups", Filter=filters):
            for row in page.iterfind("securityGroupInfo/item"):
                _revoke(requests, thing.region, row.findtext("groupId") or "", lambda named: named == thing.id)
    requests.query("ec2", thing.region, "DeleteSecurityGroup", GroupId=thing.id)


def _revoke(requests: Requests, region: str, group: str, wanted: Callable[[str], bool]) -> None:
    """Revoke the rules of a group that name another group.

    wanted: returns whether to revoke those that name this id.
    """
    filters = [{"Name": "group-id", "Value": [group]}]
    for page in requests.pages("ec2", region, "DescribeSecurityGroupRules", Filter=filters):
        for action, out in (("RevokeSecurityGroupIngress", "false"), ("RevokeSecurityGroupEgress", "true")):
            rules = [
                row.findtext("securityGroupRuleId") or ""
                for row in page.iterfind("securityGroupRuleSet/item")
                if row.findtext("isEgress") == out
                and (named := row.findtext("referencedGroupInfo/groupId"))
                and wanted(named)
            ]
            if rules:
                requests.query("ec2", region, action, GroupId=group, SecurityGroupRuleId=rules)


def _table(requests: Requests, thing: Thing) -> None:
    """Delete a route table once no subnet is associated with it."""
    answer = requests.query("ec2", thing.region, "DescribeRouteTables", RouteTableId=[thing.id])
    for row in answer.iterfind(".//associationSet/item"):
        if row.findtext("main") != "true":
            association = row.findtext("routeTableAssociationId") or ""
            requests.query("ec2", thing.region, "DisassociateRouteTable", AssociationId=association)
    requests.query("ec2", thing.region, "DeleteRouteTable", RouteTableId=thing.id)


def _gateway(requests: Requests, thing: Thing) -> None:
    """Detach an internet gateway, then delete it."""
    answer = requests.query("ec2", thing.region, "DescribeInternetGateways", InternetGatewayId=[thing.id])
    for row in answer.iterfind(".//attachmentSet/item"):
        network = row.findtext("vpcId") or ""
        requests.query("ec2", thing.region, "DetachInternetGateway", InternetGatewayId=thing.id, VpcId=network)
    requests.query("ec2", thing.region, "DeleteInternetGateway", InternetGatewayId=thing.id)


def _balancer(requests: Requests, thing: Thing) -> None:
    requests.query("elbv2", thing.region, "DeleteLoadBalancer", LoadBalancerArn=thing.id)


def _classic(requests: Requests, thing: Thing) -> None:
    requests.query("elb", thing.region, "DeleteLoadBalancer", LoadBalancerName=thing.id)


def _targets(requests: Requests, thing: Thing) -> None:
    requests.query("elbv2", thing.region, "DeleteTargetGroup", TargetGroupArn=thing.id)


def _secret(requests: Requests, thing: Thing) -> None:
    body = {"SecretId": thing.id, "ForceDeleteWithoutRecovery": True}
    requests.json("secretsmanager", thing.region, "secretsmanager.DeleteSecret", body)


def _profile(requests: Requests, thing: Thing) -> None:
    found = requests.query("iam", HOME, "GetInstanceProfile", InstanceProfileName=thing.id)
    for role in found.iterfind(".//Roles/member/RoleName"):
        names = {"InstanceProfileName": thing.id, "RoleName": role.text or ""}
        requests.query("iam", HOME, "RemoveRoleFromInstanceProfile", **names)
    requests.query("iam", HOME, "DeleteInstanceProfile", InstanceProfileName=thing.id)


def _role(requests: Requests, thing: Thing) -> None:
    """Delete a role with its policies; its instance profile goes before it."""
    name = {"RoleName": thing.id}
    for page in requests.pages("iam", HOME, "ListRolePolicies", **name):
        for each in page.iterfind(".//PolicyNames/member"):
            requests.query("iam", HOME, "DeleteRolePolicy", **name, PolicyName=each.text or "")
    for page in requests.pages("iam", HOME, "ListAttachedRolePolicies", **name):
        for each in page.iterfind(".//AttachedPolicies/member/PolicyArn"):
            requests.query("iam", HOME, "DetachRolePolicy", **name, PolicyArn=each.text or "")
    requests.query("iam", HOME, "DeleteRole", **name)


def _issuer(requests: Requests, thing: Thing) -> None:
    requests.query("iam", HOME, "DeleteOpenIDConnectProvider", OpenIDConnectProviderArn=thing.id)


_ROUTE53 = "https://route53.amazonaws.com/doc/2013-04-01/"


def _zone(requests: Requests, thing: Thing) -> None:
    """Delete a zone with its records; those of type NS and SOA at its apex go with it."""
    path = f"/2013-04-01/hostedzone/{thing.id}"
    zone = requests.rest("route53", HOME, "GET", path).findtext("HostedZone/Name")
    sets = requests.rest("route53", HOME, "GET", f"{path}/rrset").iterfind("ResourceRecordSets/ResourceRecordSet")
    request = Element("ChangeResourceRecordSetsRequest", xmlns=_ROUTE53)
    changes = SubElement(SubElement(request, "ChangeBatch"), "Changes")
    for each in sets:
        if each.findtext("Type") not in ("NS", "SOA") or each.findtext("Name") != zone:
            change = SubElement(changes, "Change")
            SubElement(change, "Action").text = "DELETE"
            change.append(each)
    if len(changes):
        requests.rest("route53", HOME, "POST", f"{path}/rrset/", body=tostring(request))
    requests.rest("route53", HOME, "DELETE", path)


def _bucket(requests: Requests, thing: Thing) -> None:
    """Delete all versions of all objects, then the bucket."""
    path = f"/{thing.id}"
    for versions in _versions(requests, thing):
        request = Element("Delete", xmlns="http://s3.amazonaws.com/doc/2006-03-01/")
        for each in versions:
            row = SubElement(request, "Object")
            for name in ("Key", "VersionId"):
                if text := each.findtext(name):
                    SubElement(row, name).text = text
        SubElement(request, "Quiet").text = "true"
        answer = requests.rest("s3", thing.region, "POST", path, {"delete": ""}, tostring(request))
        error = answer.find("Error")
        if error is not None:
            raise ApiError(403, error.findtext("Code") or "", error.findtext("Message") or "")
    requests.rest("s3", thing.region, "DELETE", path)


def _versions(requests: Requests, thing: Thing) -> Iterator[list[Element]]:
    """Yield pages of a bucket's versions and delete markers: at most 1000, as one DeleteObjects takes."""
    more: dict[str, str] = {}
    while True:
        page = requests.rest("s3", thing.region, "GET", f"/{thing.id}", {"versions": "", **more})
        found = [*page.iterfind("Version"), *page.iterfind("DeleteMarker")]
        if found:
            yield found
        if page.findtext("IsTruncated") != "true":
            return
        markers = {"key-marker": "NextKeyMarker", "version-id-marker": "NextVersionIdMarker"}
        more = {name: page.findtext(tag) or "" for name, tag in markers.items()}


DELETIONS: Mapping[str, Callable[[Requests, Thing], None]] = {
    "instance": _ec2("TerminateInstances", "InstanceId.1"),
    "load-balancer": _balancer,
    "classic-load-balancer": _classic,
    "target-group": _targets,
    "natgateway": _ec2("DeleteNatGateway", "NatGatewayId"),
    "vpc-endpoint": _endpoint,
    "volume": _ec2("DeleteVolume", "VolumeId"),
    "snapshot": _ec2("DeleteSnapshot", "SnapshotId"),
    "elastic-ip": _ec2("ReleaseAddress", "AllocationId"),
    "hosted-zone": _zone,
    "subnet": _ec2("DeleteSubnet", "SubnetId"),
    "route-table": _table,
    "internet-gateway": _gateway,
    "security-group": _group,
    "vpc": _ec2("DeleteVpc", "VpcId"),
    "instance-profile": _profile,
    "oidc-provider": _issuer,
    "role": _role,
    "secret": _secret,
    "bucket": _bucket,
}
