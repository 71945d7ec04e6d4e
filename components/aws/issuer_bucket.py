"""Name and policy of the public bucket with the documents of a cluster's issuer."""

from components.aws.policy import document
from components.aws.storage import tls_only
from components.naming import CONTROL_PLANE, PODS, WORKERS, within
from components.spec.pod_identity import DISCOVERY, KEYS

ACCOUNT_REGIONAL, GLOBAL = "account-regional", "global"
WITHOUT_NAMESPACE = frozenset({"me-south-1", "me-central-1"})
"""Regions without account regional namespaces: Bahrain and the UAE (Amazon S3 user guide, "Namespaces for general
purpose buckets")."""
LONGEST_NAME = 63
"""Characters of a bucket's name (Amazon S3 user guide, "General purpose bucket naming rules")."""


def namespace(region: str) -> str:
    """Return the namespace of the bucket's name: that of the account, in which nobody else can create a bucket."""
    return GLOBAL if region in WITHOUT_NAMESPACE else ACCOUNT_REGIONAL


def bucket_name(cluster: str, suffix: str, account: str, region: str) -> str:
    """Return the bucket's name, the same in each run: a bucket that was deleted by hand comes back with its URL."""
    end = f"-issuer-{suffix}"
    if namespace(region) == ACCOUNT_REGIONAL:
        end += f"-{account}-{region}-an"
    return within(LONGEST_NAME - len(end), cluster) + end


def open_documents(arn: str, cluster: str) -> str:
    """Return the policy of the bucket: everybody reads its two documents, over TLS.

    Roles of the cluster's machines and pods can do nothing else in it, whatever policies they have: whoever writes the
    keys can sign for every role of pods.
    """
    public = {
        "Sid": "ReadIssuer",
        "Effect": "Allow",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": [f"{arn}/{key}" for key in (DISCOVERY, KEYS)],
    }
    roles = [f"arn:*:iam::*:role/{cluster}-{group}-*" for group in (PODS, WORKERS, CONTROL_PLANE)]
    own = {
        "Sid": "DenyRolesOfTheCluster",
        "Effect": "Deny",
        "Principal": "*",
        "NotAction": "s3:GetObject",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"ArnLike": {"aws:PrincipalArn": roles}},
    }
    return document([public, own, tls_only(arn)])
