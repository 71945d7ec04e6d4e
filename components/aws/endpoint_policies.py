"""Policies of VPC endpoints where machines have no other way out: what may pass, whatever the rights of a caller.

Without one, an endpoint leads with anybody's credentials to everybody's buckets and secrets (AWS PrivateLink guide,
"Control access to VPC endpoints using endpoint policies"). Keys of conditions: IAM user guide, "AWS global condition
context keys".
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from components.aws.policy import document
from components.spec.models import ClusterSpec
from components.topology.private_endpoints import PrivateEndpoint

_HOST = re.compile(r"(?:(?P<bucket>.+)\.)?s3(?:\.dualstack)?[.-][a-z0-9-]+\.amazonaws\.com")
"""Host of a bucket's URL (Amazon S3 user guide, "Virtual hosting of general purpose buckets"); in URLs of the other
style the path begins with the bucket."""

UNSIGNED = "ecr.dkr"
"""Its requests carry a token of the registry instead of a signature, so no account is known of their caller."""


def of_stores(vpc: str, spec: ClusterSpec) -> str:
    """Return the policy of S3's endpoint as JSON: the account's own buckets, and reading of others that the spec needs.

    vpc: ARN of the VPC, which names partition, region and account. Layers of ECR are in a bucket of AWS (Amazon ECR
    user guide, "Minimum Amazon S3 bucket permissions for Amazon ECR"). Mirrors are read without credentials, so no
    statement asks for an account of the caller.
    """
    _, partition, _, region, account, _ = vpc.split(":")
    layers = [f"prod-{region}-starport-layer-bucket"] if "ecr" in spec.registry_credentials else []
    read = [f"arn:{partition}:s3:::{bucket}/*" for bucket in sorted({*layers, *_buckets(spec)})]
    own = _allow("s3:*", ["*"], {"aws:ResourceAccount": account})
    return document([own, *([_allow("s3:GetObject", read)] if read else [])])


def of_service(vpc: str, endpoint: PrivateEndpoint) -> str | None:
    """Return the policy of an interface endpoint as JSON: callers of its account. None: AWS's, for everybody."""
    known = {"aws:PrincipalAccount": vpc.split(":")[4]}
    return None if endpoint.service == UNSIGNED else document([_allow("*", ["*"], known)])


def _buckets(spec: ClusterSpec) -> Iterator[str]:
    """Yield the buckets of S3 from which machines download."""
    files = (url for each in spec.artifacts.entries for url in (each.url, *each.fallbacks))
    for url in (*files, *filter(None, [spec.artifacts.mirror])):
        parts = urlsplit(url)
        if found := _HOST.fullmatch(parts.hostname or ""):
            yield found["bucket"] or parts.path.split("/")[1]


def _allow(action: str, resources: list[str], equal: dict[str, str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"Effect": "Allow", "Principal": "*", "Action": action, "Resource": resources}
    return {**found, "Condition": {"StringEquals": equal}} if equal else found
