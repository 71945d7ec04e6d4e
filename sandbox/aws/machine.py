"""A machine from inside: its user-data, and its role's rights on objects."""

import base64
import binascii
from typing import Any
from urllib.parse import unquote, urlsplit

from sandbox.aws import keys, policies, private_ways
from sandbox.aws.iam import PROFILE, ROLE, ROLE_POLICY
from sandbox.aws.s3 import BUCKET, BUCKET_POLICY
from sandbox.cloud_state import CloudState
from sandbox.records import Record


def user_data(inputs: dict[str, Any]) -> str:
    """Return the text of a machine's user-data; empty if it is secret.

    The provider encodes plain user-data unless it is base64 already; the metadata service decodes it once.
    """
    text = inputs.get("userDataBase64") or inputs.get("userData") or ""
    if not isinstance(text, str):
        return ""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return "" if inputs.get("userDataBase64") else text


def place(url: str) -> tuple[str, str]:
    """Return bucket and key of https://BUCKET.s3.REGION.amazonaws.com/KEY."""
    parts = urlsplit(url)
    return parts.netloc.partition(".s3.")[0], unquote(parts.path.lstrip("/"))


def not_allowed(cloud_state: CloudState, machine: Record, action: str, url: str) -> str:
    """Return why the policies of role and bucket together, or those of the VPC's endpoints, deny an action; an empty
    string if they allow it.
    """
    profile = cloud_state.find(PROFILE, machine.inputs.get("iamInstanceProfile") or "")
    role = cloud_state.find(ROLE, profile.inputs.get("role") or "") if profile else None
    if role is None:
        return "it has no instance profile with a role, so it has no credentials"
    if not policies.assumes(role.inputs["assumeRolePolicy"], "ec2.amazonaws.com"):
        return f"role {role.id} does not let ec2.amazonaws.com assume it"
    bucket, key = place(url)
    context = {**policies.MACHINE, "aws:userid": f"{role.outputs['uniqueId']}:{machine.id}"}
    documents, object = policy_documents(cloud_state, role, bucket), f"arn:aws:s3:::{bucket}/{key}"
    context |= private_ways.source(cloud_state, machine, action, object)
    why = policies.refused(documents, action, object, role.outputs["arn"], context)
    why = why or private_ways.refused(cloud_state, machine, action, object, role.outputs["arn"], context)
    key = keys.of_bucket(cloud_state, bucket)
    return why or (key_refused(cloud_state, documents, role.outputs["arn"], action, key) if key else "")


KEY_ACTIONS = {
    "s3:GetObject": ("kms:Decrypt",),
    "s3:GetObjectVersion": ("kms:Decrypt",),
    "s3:PutObject": ("kms:GenerateDataKey",),
    "secretsmanager:GetSecretValue": ("kms:Decrypt",),
    "secretsmanager:PutSecretValue": ("kms:GenerateDataKey", "kms:Decrypt"),
}
"""Rights on the key that a service asks of its caller (S3 user guide, "Using server-side encryption with AWS KMS keys";
Secrets Manager user guide, "Secret encryption and decryption in AWS Secrets Manager")."""


def key_refused(cloud_state: CloudState, documents: list[Any], principal: str, action: str, key: str) -> str:
    """Return why a service may not use a key for a caller's action; an empty string if it may."""
    region = key.split(":")[3]
    context = {**policies.MACHINE, "kms:ViaService": f"{action.partition(':')[0]}.{region}.amazonaws.com"}
    whys = [policies.refused(documents, each, key, principal, context) for each in KEY_ACTIONS.get(action, ())]
    fault = keys.problem(cloud_state, key, region) if KEY_ACTIONS.get(action) else ""
    return next(filter(None, [*whys, f"{key}: {fault}" if fault else ""]), "")


def policy_documents(cloud_state: CloudState, role: Record | None, bucket: str) -> list[Any]:
    """Return every policy that applies: the role's (None: no role) and the bucket's (empty: no bucket)."""
    documents: list[Any] = []
    if role:
        documents += [one.inputs["policy"] for one in cloud_state.referrers(ROLE, role.id) if one.type == ROLE_POLICY]
        documents += [one.get("policy") for one in role.inputs.get("inlinePolicies") or []]
    if bucket:
        documents += [
            one.inputs["policy"] for one in cloud_state.referrers(BUCKET, bucket) if one.type == BUCKET_POLICY
        ]
    return documents
