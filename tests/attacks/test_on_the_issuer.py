"""On the issuer of service-account tokens: whoever writes its keys can sign for every role of pods.

Clusters on AWS with `pod_identity`; the policies are those that the program assigns, and the sandbox's rules judge.

Seen in: the cloud's audit log, as AccessDenied for an object of the bucket STACK-issuer-….
"""

import json
from functools import lru_cache

import pytest

from components.spec.pod_identity import DISCOVERY, KEYS
from operations.recorder.recorder import Recording, record
from sandbox.aws.policies import refused
from tests.components.aws.samples import changed
from tests.components.recorded_wiring import of
from tools.golden.cases import PODS

NOBODY = "arn:aws:iam::nobody:anonymous"
WRITES = ("s3:PutObject", "s3:DeleteObject", "s3:PutObjectAcl", "s3:PutBucketPolicy", "s3:PutBucketPublicAccessBlock")
TLS = {"aws:SecureTransport": "true"}


@lru_cache
def recorded() -> Recording:
    found = record("aws-dev", changed("aws-dev", **PODS, csi=["ebs"], cloud_controller="external"))
    assert found.errors == []
    return found


def of_bucket() -> tuple[str, str]:
    """Return the ARN of the issuer's bucket, and its policy."""
    inputs = of(recorded(), "aws:s3/bucketPolicy:BucketPolicy")["aws-dev-issuer"].inputs
    return f"arn:aws:s3:::{inputs['bucket']}", str(inputs["policy"])


@pytest.mark.parametrize("group", ["control-plane", "workers"])
def test_no_machine_publishes_a_key_of_its_own(group: str) -> None:
    """Write keys, or open the bucket, with the credentials of a machine, also of a control plane.

    Refused by: the machine's role, whose rights name the other buckets alone, and the bucket's policy, which allows
    reads alone.
    """
    arn, policy = of_bucket()
    own = of(recorded(), "aws:iam/rolePolicy:RolePolicy")[f"aws-dev-{group}"].inputs["policy"]
    role = f"arn:aws:iam::123456789012:role/aws-dev-{group}"
    for action in WRITES:
        for resource in (arn, f"{arn}/{KEYS}", f"{arn}/{DISCOVERY}"):
            assert refused([own, policy], action, resource, role, TLS), (action, resource)
    assert not refused([own, policy], "s3:GetObject", f"{arn}/{KEYS}", role, TLS), "as everybody"


def test_a_pod_with_rights_on_all_buckets_publishes_no_key_of_its_own() -> None:
    """Write keys with the role of a pod whose policy allows everything in every bucket, and so become every other pod.

    Refused by: the bucket's policy, which denies the roles of the cluster all but reads.
    """
    arn, policy = of_bucket()
    wide = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
    role = "arn:aws:iam::123456789012:role/aws-dev-pods-shop-uploads-cc9ce375-0123456"
    context = {**TLS, "aws:PrincipalArn": role}
    for action in WRITES:
        for resource in (arn, f"{arn}/{KEYS}", f"{arn}/{DISCOVERY}"):
            assert refused([wide, policy], action, resource, role, context), (action, resource)
    assert not refused([wide, policy], "s3:PutObject", "arn:aws:s3:::other/x", role, context), "the policy is so wide"


def test_the_internet_reads_the_two_documents_and_changes_nothing() -> None:
    """Write, list, or read other objects of the public bucket without an identity.

    Refused by: the bucket's policy, which allows reads of two named objects.
    """
    arn, policy = of_bucket()
    for action in (*WRITES, "s3:ListBucket"):
        assert all(refused([policy], action, each, NOBODY, TLS) for each in (arn, f"{arn}/{KEYS}"))
    for key in ("sa.key", f"{KEYS}/other", "openid/v1/"):
        assert refused([policy], "s3:GetObject", f"{arn}/{key}", NOBODY, TLS)


def test_a_reader_in_the_middle_gets_no_plain_http() -> None:
    """Have a verifier read keys over http, and answer in the bucket's place.

    Refused by: the bucket's policy, which denies requests without TLS.
    """
    arn, policy = of_bucket()
    for key in (KEYS, DISCOVERY):
        assert refused([policy], "s3:GetObject", f"{arn}/{key}", NOBODY, {"aws:SecureTransport": "false"})
