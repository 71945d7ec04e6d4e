"""Policies of IAM for the identity that runs Mullion on AWS.

Statements take the recorded actions by pattern, so an action without a statement stops the generator. Sources of
resource types and condition keys: Service Authorization Reference. Conditions ask for the tag `mullion:cluster`, which
every resource has that can have tags; the comments name what is not tagged.
"""

import json
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from components.wiring.baking import OF_STACK
from tools.permissions import aws_pods
from tools.permissions.recorded import Recorded
from tools.permissions.statement import Statement

LIMIT = 6144
"""Characters of a managed policy, without white space (IAM and AWS STS quotas)."""
WIDENED = {
    "ec2:Describe*": "no action of it can be limited to resources; versions of the provider differ in what they ask",
    "elasticloadbalancing:Describe*": "the same",
    "s3:GetBucket*": "of the cluster's buckets; versions of the provider differ in what they ask",
}
"""Patterns that stand for the recorded actions that they match, and why."""

_EC2, _LB = "arn:aws:ec2:*:*:", "arn:aws:elasticloadbalancing:*:*:"
_TAG = "mullion:cluster"
_NEW = {"StringLike": {f"aws:RequestTag/{_TAG}": "*"}}
_OURS = {"StringLike": {f"aws:ResourceTag/{_TAG}": "*"}}
_BUCKETS = ("arn:aws:s3:::*-bundles-*", "arn:aws:s3:::*-snapshots-*")
_SECRETS = tuple(f"arn:aws:secretsmanager:*:*:secret:*-{name}-*" for name in ("desired-state", "join", "pki"))
_ROLES = tuple(f"arn:aws:iam::*:role/*-{name}-*" for name in ("control-plane", "workers"))
_KEYS = ("arn:aws:kms:REGION:ACCOUNT:key/ID",)
_PROFILES = tuple(each.replace(":role/", ":instance-profile/") for each in _ROLES)


def _ec2(*names: str) -> tuple[str, ...]:
    return tuple(f"ec2:{name}" for name in names)


def _at(*kinds: str) -> tuple[str, ...]:
    return tuple(f"{_EC2}{kind}/*" for kind in kinds)


READ = (
    Statement(
        "Read",
        (
            *("ec2:Describe*", "elasticloadbalancing:Describe*", "servicequotas:*", "sts:GetCallerIdentity"),
            *("tag:GetResources", "route53:ListHostedZones", "ec2:GetEbs*", "freetier:Get*"),
        ),
    ),
    Statement("Images", ("ssm:GetParameter",), ("arn:aws:ssm:*::parameter/aws/service/*",)),
    Statement(
        "ReadNames",
        ("route53:Get*", "route53:ListResourceRecordSets", "route53:ListTagsForResource"),
        ("arn:aws:route53:::hostedzone/*", "arn:aws:route53:::change/*"),
    ),
    Statement("ReadStores", ("s3:Get*", "s3:List*"), (*_BUCKETS, *aws_pods.BUCKETS)),
    Statement("ReadSecrets", ("secretsmanager:Get*", "secretsmanager:Describe*"), _SECRETS),
    Statement(
        "ReadIdentities",
        ("iam:GetRole*", "iam:GetInstanceProfile", "iam:ListRole*", "iam:ListAttached*", "iam:ListInstanceProfiles*"),
        (*_ROLES, *_PROFILES, *aws_pods.ROLES),
    ),
    Statement("ReadIssuers", ("iam:GetOpenIDConnectProvider",), aws_pods.ISSUERS),
)

_MADE = (
    *("elastic-ip", "instance", "internet-gateway", "natgateway", "route-table", "security-group", "subnet"),
    *("vpc", "vpc-endpoint"),
)
NETWORK = (
    Statement(
        "Create",
        (
            *_ec2("AllocateAddress", "RunInstances"),
            *(f"ec2:Create{name}" for name in ("InternetGateway", "NatGateway", "RouteTable", "SecurityGroup")),
            *(f"ec2:Create{name}" for name in ("Subnet", "Vpc", "VpcEndpoint")),
            *("elasticloadbalancing:Create*", "elasticloadbalancing:AddTags"),
        ),
        (*_at(*_MADE), f"{_LB}*"),
        _NEW,
    ),
    # what a new resource is made in, or of: it may be the user's
    Statement(
        "CreateIn",
        (
            *_ec2("AllocateAddress", "CreateRouteTable", "CreateSecurityGroup", "CreateSubnet"),
            "ec2:AuthorizeSecurityGroup*",
        ),
        _at("ipv4pool-ec2", "security-group-rule", "vpc"),
    ),
    Statement(
        "CreateWith",
        _ec2("CreateNatGateway", "CreateVpcEndpoint", "RunInstances"),
        # the provider tags a machine's disk when it exists, as it does a rule of a security group
        _at("elastic-ip", "image", "network-interface", "route-table", "security-group", "subnet", "volume", "vpc"),
    ),
    Statement(
        "Change",
        (
            *_ec2(
                "ReleaseAddress",
                "AttachInternetGateway",
                "DetachInternetGateway",
                "DeleteInternetGateway",
                "DeleteNatGateway",
            ),
            *_ec2("AssociateRouteTable", "DisassociateRouteTable", "ReplaceRouteTableAssociation", "DeleteRouteTable"),
            *_ec2("DeleteSubnet", "DeleteVpc", "ModifyVpc*", "DeleteVpcEndpoints", "AuthorizeSecurityGroup*"),
            *_ec2("ModifySecurityGroupRules", "StartInstances", "StopInstances", "TerminateInstances"),
            *_ec2("ModifyInstance*", "ModifyVolume", "CreateTags", "DeleteTags"),
            *(f"elasticloadbalancing:{each}" for each in ("AddTags", "RemoveTags", "Modify*", "Set*")),
            *(f"elasticloadbalancing:{each}" for each in ("RegisterTargets", "DeregisterTargets")),
        ),
        condition=_OURS,
    ),
    # routes have no tags, and may be in tables of the user; machines' interfaces and spot requests have none of ours;
    # `down` deletes what the cloud controller made, which has its tags alone
    Statement(
        "ChangeUntagged",
        (
            *_ec2("CreateRoute", "ReplaceRoute", "DeleteRoute", "DisassociateAddress", "CancelSpotInstanceRequests"),
            *_ec2("ModifyNetworkInterfaceAttribute", "DeleteSecurityGroup", "RevokeSecurityGroup*"),
            "elasticloadbalancing:Delete*",
        ),
        (
            *_at("elastic-ip", "instance", "network-interface", "route-table", "security-group"),
            *_at("spot-instances-request", "subnet"),
            f"{_LB}*",
        ),
    ),
    # the driver of EBS sets this tag on all that it makes (aws-ebs-csi-driver v1.63.1, pkg/cloud, AwsEbsDriverTagKey)
    Statement(
        "RemoveVolumes",
        _ec2("DeleteVolume", "DeleteSnapshot"),
        _at("volume", "snapshot"),
        {"StringEquals": {"aws:ResourceTag/ebs.csi.aws.com/cluster": "true"}},
    ),
    # GuardDuty's Runtime Monitoring makes an endpoint in each VPC, which keeps subnets and VPC; the provider removes it
    Statement(
        "RemoveGuarding",
        _ec2("DeleteVpcEndpoints", "ModifyVpcEndpoint"),
        _at("vpc-endpoint"),
        {"StringEquals": {"aws:ResourceTag/GuardDutyManaged": "true"}},
    ),
    Statement("TagNew", ("ec2:CreateTags",), condition={**_NEW, "Null": {"ec2:CreateAction": "false"}}),
    Statement("TagParts", ("ec2:CreateTags",), _at("security-group-rule", "volume"), _NEW),
)
STORES = (
    Statement("CreateZone", ("route53:CreateHostedZone",)),
    Statement(
        "ChangeNames",
        ("route53:Change*", "route53:Delete*", "route53:Update*", "route53:*ssociateVPC*"),
        ("arn:aws:route53:::hostedzone/*",),
    ),
    Statement("ChangeStores", ("s3:Create*", "s3:Put*", "s3:Delete*", "s3:Tag*", "s3:Untag*"), _BUCKETS),
    Statement(
        "ChangeSecrets",
        tuple(f"secretsmanager:{each}*" for each in ("Create", "Put", "Update", "Delete", "Tag", "Untag")),
        _SECRETS,
    ),
    Statement(
        "ChangeIdentities",
        (
            *("iam:CreateRole", "iam:CreateInstanceProfile", "iam:DeleteRole*", "iam:DeleteInstanceProfile"),
            *("iam:Put*", "iam:TagRole", "iam:TagInstance*", "iam:UntagRole", "iam:UntagInstance*"),
            *("iam:UpdateAssumeRolePolicy", "iam:AddRole*", "iam:RemoveRole*", "iam:DetachRolePolicy"),
        ),
        (*_ROLES, *_PROFILES),
    ),
    Statement(
        "PassRole",
        ("iam:PassRole",),
        _ROLES,
        {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
    ),
    Statement(
        "LinkedRoles",
        ("iam:CreateServiceLinkedRole",),
        ("arn:aws:iam::*:role/aws-service-role/*",),
        {"StringEquals": {"iam:AWSServiceName": ["elasticloadbalancing.amazonaws.com", "spot.amazonaws.com"]}},
    ),
)
KEY = (
    Statement("UseKey", ("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey*", "kms:ReEncrypt*"), _KEYS),
    Statement("GrantKey", ("kms:CreateGrant",), _KEYS, {"Bool": {"kms:GrantIsForAWSResource": "true"}}),
)
_OWN_SESSION = ("ssm:ResumeSession", "ssm:TerminateSession")
SESSION = (
    Statement(
        "Start",
        ("ssm:StartSession",),
        (f"{_EC2}instance/*",),
        {"StringLike": {f"ssm:resourceTag/{_TAG}": "*"}},
    ),
    Statement(
        "Documents",
        ("ssm:StartSession",),
        tuple(
            f"arn:aws:ssm:*:*:document/{each}"
            for each in ("AWS-StartPortForwardingSession", "SSM-SessionManagerRunShell")
        ),
    ),
    # opening asks for the token that StartSession returned to its caller, so it is limited to the caller without an ARN
    Statement("Open", ("ssmmessages:OpenDataChannel",), ("arn:aws:ssm:*:*:session/*",)),
    # the id of a user's session begins with the user's name, that of a role with the name of the role's session, of
    # which no variable has the value: there the session's own tag names the caller
    Statement(
        "OwnOfUser",
        _OWN_SESSION,
        tuple(f"arn:aws:ssm:*:*:session/${{aws:{each}}}-*" for each in ("userid", "username")),
    ),
    Statement(
        "OwnOfRole",
        _OWN_SESSION,
        ("arn:aws:ssm:*:*:session/*",),
        {"StringLike": {"ssm:resourceTag/aws:ssmmessages:session-id": ["${aws:userid}", "${aws:userid}-*"]}},
    ),
)
IMAGES = (
    Statement("MakeImages", ("ec2:CreateImage",), _at("image", "instance", "snapshot")),
    Statement("TagImages", ("ec2:CreateTags",), _at("image"), {"StringEquals": {"ec2:CreateAction": "CreateImage"}}),
    Statement(
        "DeleteImages",
        ("ec2:DeregisterImage",),
        _at("image"),
        {"StringLike": {f"aws:ResourceTag/{OF_STACK}": "*"}},
    ),
    # the provider tags no snapshots of an image, so a right to delete them is one to delete every snapshot
    Statement("DeleteSnapshots", ("ec2:DeleteSnapshot",), _at("snapshot")),
)
POLICIES = {
    "aws-read": READ,
    "aws-network": NETWORK,
    "aws-stores": STORES,
    "aws-key": KEY,
    "aws-session": SESSION,
    "aws-images": IMAGES,
    "aws-pods": aws_pods.PODS,
}
"""Statements by the file's name. Whoever builds has the first three: in one policy they would be too long."""


def policy(name: str, recorded: Recorded) -> str:
    """Return a policy as JSON. Raises ValueError for an action without a statement, and if it is too long."""
    everywhere = {pattern for statements in POLICIES.values() for each in statements for pattern in each.takes}
    lost = [each for each in sorted(recorded.permissions) if not any(fnmatchcase(each, one) for one in everywhere)]
    if lost:
        raise ValueError(f"no statement has {', '.join(lost)}: add them in tools/permissions/aws.py")
    document = {"Version": "2012-10-17", "Statement": list(_statements(POLICIES[name], recorded.permissions))}
    length = len(json.dumps(document, separators=(",", ":")))
    if length > LIMIT:
        raise ValueError(f"{name} has {length} characters; a managed policy has at most {LIMIT}: split it")
    return json.dumps(document, indent=2) + "\n"


def _statements(statements: Iterable[Statement], actions: set[str]) -> Iterator[dict[str, Any]]:
    for each in statements:
        taken = [one for one in sorted(actions) if any(fnmatchcase(one, pattern) for pattern in each.takes)]
        if taken:
            whole = {"Sid": each.sid, "Effect": "Allow", "Action": _widened(taken), "Resource": list(each.resources)}
            yield {**whole, **({"Condition": each.condition} if each.condition else {})}


def _widened(actions: list[str]) -> list[str]:
    """Return the actions with the patterns of WIDENED instead of those that they match."""
    wide = {one: next((each for each in WIDENED if fnmatchcase(one, each)), one) for one in actions}
    return list(dict.fromkeys(wide.values()))
