"""What `pod_identity` adds to the permissions on AWS: roles of pods, the issuer and its bucket."""

from tools.permissions.statement import Statement

ROLES = ("arn:aws:iam::*:role/*-pods-*",)
ISSUERS = ("arn:aws:iam::*:oidc-provider/*-issuer-*.s3.*",)
BUCKETS = ("arn:aws:s3:::*-issuer-*",)
_NEW = {"StringLike": {"aws:RequestTag/mullion:cluster": "*"}}
_OURS = {"StringLike": {"aws:ResourceTag/mullion:cluster": "*"}}
POLICIES = ["arn:aws:iam::ACCOUNT:policy/NAME"]

PODS = (
    Statement("CreatePodRoles", ("iam:CreateRole",), ROLES, _NEW),
    Statement(
        "ChangePodRoles",
        ("iam:DeleteRole", "iam:TagRole", "iam:UntagRole", "iam:UpdateAssumeRolePolicy"),
        ROLES,
        _OURS,
    ),
    # so with this file whoever builds gives a role of pods no other policies than these
    Statement(
        "AttachPodPolicies",
        ("iam:AttachRolePolicy", "iam:DetachRolePolicy"),
        ROLES,
        {"ArnEquals": {"iam:PolicyARN": POLICIES}, **_OURS},
    ),
    Statement("CreateIssuers", ("iam:CreateOpenIDConnectProvider",), ISSUERS, _NEW),
    Statement(
        "Issuers",
        tuple(f"iam:{each}OpenIDConnectProvider" for each in ("Delete", "Tag", "Untag")),
        ISSUERS,
        _OURS,
    ),
    # the only buckets that may become public; S3 compares a bucket's tags only if its owner has switched that on
    Statement(
        "IssuerBuckets",
        ("s3:Create*", "s3:Put*", "s3:Delete*", "s3:Tag*", "s3:Untag*"),
        BUCKETS,
    ),
)
