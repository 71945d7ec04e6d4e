"""IAM actions that the provider of AWS needs for stores, secrets and the identities of machines, by resource type."""

from sandbox.permissions import REST, Permissions

_KEY = "kms:Decrypt kms:GenerateDataKey"
_BUCKET_TAGS = "s3:PutBucketTagging s3:TagResource s3:UntagResource"
"""The provider tags by S3 Control where the account has it, and by PutBucketTagging otherwise."""


def _of_bucket(put: str, get: str) -> Permissions:
    """Return the row of a part of a bucket's configuration; S3 has no other action for its removal."""
    return Permissions(f"s3:{put}", f"s3:{get} s3:ListBucket", f"s3:{put}", update={REST: f"s3:{put}"})


_STORES = {
    "aws:s3/bucket:Bucket": Permissions(
        "s3:CreateBucket",
        "s3:ListBucket s3:GetBucketPolicy s3:GetBucketAcl s3:GetBucketCORS s3:GetBucketWebsite s3:GetBucketVersioning"
        " s3:GetAccelerateConfiguration s3:GetBucketRequestPayment s3:GetBucketLogging s3:GetLifecycleConfiguration"
        " s3:GetReplicationConfiguration s3:GetEncryptionConfiguration s3:GetBucketObjectLockConfiguration"
        " s3:GetBucketLocation s3:GetBucketTagging s3:ListTagsForResource",
        "s3:DeleteBucket",
        {"tags": _BUCKET_TAGS},
        {"tags": _BUCKET_TAGS},
        fixed=("forceDestroy",),  # a setting of the provider
        given_up={"forceDestroy": "s3:ListBucketVersions s3:DeleteObject s3:DeleteObjectVersion"},
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _of_bucket(
        "PutLifecycleConfiguration", "GetLifecycleConfiguration"
    ),
    "aws:s3/bucketPolicy:BucketPolicy": Permissions(
        "s3:PutBucketPolicy", "s3:GetBucketPolicy", "s3:DeleteBucketPolicy", update={"policy": "s3:PutBucketPolicy"}
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _of_bucket(
        "PutBucketPublicAccessBlock", "GetBucketPublicAccessBlock"
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _of_bucket(
        "PutEncryptionConfiguration", "GetEncryptionConfiguration"
    ),
    "aws:s3/bucketVersioning:BucketVersioning": _of_bucket("PutBucketVersioning", "GetBucketVersioning"),
    "aws:s3/bucketObjectv2:BucketObjectv2": Permissions(
        "s3:PutObject",
        "s3:GetObject s3:GetObjectTagging",
        "s3:DeleteObject s3:ListBucketVersions s3:DeleteObjectVersion",
        {"tags": "s3:PutObjectTagging"},
        {"tags": "s3:PutObjectTagging s3:DeleteObjectTagging", REST: "s3:PutObject"},
    ),
}

_SECRETS = {
    "aws:secretsmanager/secret:Secret": Permissions(
        "secretsmanager:CreateSecret",
        "secretsmanager:DescribeSecret secretsmanager:GetResourcePolicy",
        "secretsmanager:DeleteSecret",
        {"tags": "secretsmanager:TagResource", "kmsKeyId": _KEY},
        {
            "tags": "secretsmanager:TagResource secretsmanager:UntagResource",
            "description": "secretsmanager:UpdateSecret",
        },
        fixed=("kmsKeyId",),  # encryption_key belongs to the fixed layout
    ),
    "aws:secretsmanager/secretVersion:SecretVersion": Permissions(
        "secretsmanager:PutSecretValue",
        "secretsmanager:GetSecretValue",
        "secretsmanager:GetSecretValue secretsmanager:UpdateSecretVersionStage",
    ),
}

_ROLE = "iam:GetRole iam:ListRolePolicies iam:ListAttachedRolePolicies"
_IDENTITIES = {
    "aws:iam/role:Role": Permissions(
        "iam:CreateRole",
        f"{_ROLE} iam:GetRolePolicy",
        "iam:ListInstanceProfilesForRole iam:RemoveRoleFromInstanceProfile iam:DeleteRole",
        {"tags": "iam:TagRole"},
        {"tags": "iam:TagRole iam:UntagRole", "assumeRolePolicy": "iam:UpdateAssumeRolePolicy"},
        fixed=("forceDetachPolicies",),  # a setting of the provider
        given_up={"forceDetachPolicies": "iam:DetachRolePolicy"},
    ),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": Permissions(
        "iam:CreateOpenIDConnectProvider",
        "iam:GetOpenIDConnectProvider",
        "iam:DeleteOpenIDConnectProvider",
        {"tags": "iam:TagOpenIDConnectProvider"},
        {"tags": "iam:TagOpenIDConnectProvider iam:UntagOpenIDConnectProvider"},
        fixed=("clientIdLists",),  # the audience is always the same
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Permissions(
        "iam:AttachRolePolicy", "iam:ListAttachedRolePolicies", "iam:DetachRolePolicy"
    ),
    "aws:iam/rolePolicy:RolePolicy": Permissions(
        "iam:PutRolePolicy", "iam:GetRolePolicy", "iam:DeleteRolePolicy", update={"policy": "iam:PutRolePolicy"}
    ),
    "aws:iam/instanceProfile:InstanceProfile": Permissions(
        "iam:CreateInstanceProfile iam:AddRoleToInstanceProfile iam:PassRole",
        "iam:GetInstanceProfile iam:GetRole",
        "iam:RemoveRoleFromInstanceProfile iam:DeleteInstanceProfile",
        {"tags": "iam:TagInstanceProfile"},
        {"tags": "iam:TagInstanceProfile iam:UntagInstanceProfile"},
        fixed=("role",),  # a role lives as long as its cluster
    ),
}

TYPES = {**_STORES, **_SECRETS, **_IDENTITIES}
