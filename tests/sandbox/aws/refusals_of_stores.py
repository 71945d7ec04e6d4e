"""Refusals of Route 53, IAM, S3 and Secrets Manager, as rows of refusals.py."""

import json
from typing import Any

from tests.sandbox.aws.account import TRUST


def _policy(**changes: Any) -> str:
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"} | changes
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


LONG = _policy(Resource=[f"arn:aws:s3:::bucket/{number:032}" for number in range(250)])
EVERYONE = _policy(Principal="*")

STORES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "CNAME at the zone's name": (
        "Record",
        {"zoneId": "$zone", "name": "c.internal", "type": "CNAME", "ttl": 1, "records": ["x"]},
        "InvalidChangeBatch",
        "not permitted at apex",
    ),
    "CNAME beside another record": (
        "Record",
        {"zoneId": "$zone", "name": "api", "type": "CNAME", "ttl": 1, "records": ["x"]},
        "InvalidChangeBatch",
        "conflicts with other records",
    ),
    "A record of a name": (
        "Record",
        {"zoneId": "$zone", "name": "b", "type": "A", "ttl": 1, "records": ["host"]},
        "InvalidChangeBatch",
        "IllegalIPv4Address",
    ),
    "AAAA record of an IPv4 address": (
        "Record",
        {"zoneId": "$zone", "name": "b", "type": "AAAA", "ttl": 1, "records": ["10.0.0.1"]},
        "InvalidChangeBatch",
        "IllegalIPv6Address",
    ),
    "record without a value": (
        "Record",
        {"zoneId": "$zone", "name": "b", "type": "A"},
        "InvalidInput",
        "records with a ttl",
    ),
    "zone of a bad name": ("Zone", {"name": "-c.internal"}, "InvalidDomainName", "invalid"),
    "trust policy too long": (
        "Role",
        {"assumeRolePolicy": TRUST.replace("ec2.", "e" * 2048 + ".")},
        "LimitExceeded",
        "ACLSizePerRole: 2048",
    ),
    "inline policies too long": (
        "RolePolicy",
        {"role": "$role", "policy": LONG},
        "LimitExceeded",
        "10240 bytes exceeded",
    ),
    "action without a service": (
        "RolePolicy",
        {"role": "$role", "policy": _policy(Action="GetObject")},
        "MalformedPolicyDocument",
        "prefaced by a vendor",
    ),
    "resource that is no ARN": (
        "RolePolicy",
        {"role": "$role", "policy": _policy(Resource="bundles")},
        "MalformedPolicyDocument",
        "must be in ARN format",
    ),
    "bucket policy of another bucket": (
        "BucketPolicy",
        {"bucket": "$bucket", "policy": _policy(Principal="*", Resource="arn:aws:s3:::other/*")},
        "MalformedPolicy",
        "invalid resource",
    ),
    "public policy on a closed bucket": (
        "BucketPolicy",
        {"bucket": "$bucket", "policy": EVERYONE},
        "AccessDenied",
        "BlockPublicPolicy",
    ),
    "account's name in the global namespace": (
        "Bucket",
        {"bucket": "dev-000000000000-eu-west-1-an"},
        "InvalidBucketName",
        "global namespace",
    ),
    "name without the account": (
        "Bucket",
        {"bucket": "dev-issuer", "bucketNamespace": "account-regional"},
        "InvalidBucketName",
        "must end with -000000000000-eu-west-1-an",
    ),
    "name of another account": (
        "Bucket",
        {"bucket": "dev-111122223333-eu-west-1-an", "bucketNamespace": "account-regional"},
        "InvalidBucketName",
        "must end with -000000000000-eu-west-1-an",
    ),
    "public policy on a new bucket": (
        "BucketPolicy",
        {"bucket": "$bucket", "policy": EVERYONE},
        "AccessDenied",
        "S3 Block Public Access",
    ),
    "issuer without a public name": (
        "OpenIdConnectProvider",
        {"url": "https://localhost", "clientIdLists": ["sts.amazonaws.com"]},
        "InvalidInput",
        "Invalid Open ID Connect Url",
    ),
    "audiences of a provider": (
        "OpenIdConnectProvider",
        {"url": "https://issuer.example.com", "clientIdLists": [f"client-{number}" for number in range(101)]},
        "LimitExceeded",
        "ClientIdsPerOpenIdConnectProvider: 100",
    ),
    "audience without text": (
        "OpenIdConnectProvider",
        {"url": "https://issuer.example.com", "clientIdLists": [""]},
        "ValidationError",
        "clientIDList",
    ),
    "thumbprints of a provider": (
        "OpenIdConnectProvider",
        {"url": "https://issuer.example.com", "clientIdLists": ["sts"], "thumbprintLists": [40 * "a"] * 6},
        "InvalidInput",
        "fewer than or equal to 5",
    ),
    "provider that is no provider": (
        "Role",
        {"assumeRolePolicy": TRUST.replace('{"Service": "ec2.amazonaws.com"}', '{"Federated": "the issuer"}')},
        "MalformedPolicyDocument",
        "Federated principals",
    ),
    "policy without a name": (
        "RolePolicyAttachment",
        {"role": "$role", "policyArn": "arn:aws:iam::aws:policy/"},
        "InvalidInput",
        "is not valid",
    ),
    "policy of another account": (
        "RolePolicyAttachment",
        {"role": "$role", "policyArn": "arn:aws:iam::999999999999:policy/uploads"},
        "NoSuchEntity",
        "is not attachable",
    ),
    "rule that expires at once": (
        "BucketLifecycleConfiguration",
        {"bucket": "$bucket", "rules": [{"id": "a", "status": "Enabled", "expiration": {"days": 0}}]},
        "InvalidArgument",
        "positive integer",
    ),
    "two rules of one name": (
        "BucketLifecycleConfiguration",
        {"bucket": "$bucket", "rules": [{"id": "a", "status": "Enabled"}] * 2},
        "InvalidArgument",
        "must be unique",
    ),
    "key too long": (
        "BucketObjectv2",
        {"bucket": "$bucket", "key": "k" * 1025, "content": ""},
        "KeyTooLongError",
        "1025 bytes",
    ),
    "letters of an object's tag": (
        "BucketObjectv2",
        {"bucket": "$bucket", "tags": {"k": "a$b"}},
        "InvalidTag",
        "letters, digits",
    ),
    "secret without a value": (
        "SecretVersion",
        {"secretId": "$secret"},
        "InvalidRequestException",
        "SecretString or SecretBinary",
    ),
    "long description of a secret": ("Secret", {"description": "d" * 2049}, "ValidationException", "2048"),
}
