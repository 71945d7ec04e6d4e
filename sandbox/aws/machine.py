"""A machine from inside: its user-data, and its role's rights on objects."""

import base64
import binascii
from typing import Any
from urllib.parse import unquote, urlsplit

from sandbox.aws import policies
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
    """Return why the policies of role and bucket together deny an action; an empty string if they allow it."""
    profile = cloud_state.find(PROFILE, machine.inputs.get("iamInstanceProfile") or "")
    role = cloud_state.find(ROLE, profile.inputs.get("role") or "") if profile else None
    if role is None:
        return "it has no instance profile with a role, so it has no credentials"
    if not policies.assumes(role.inputs["assumeRolePolicy"], "ec2.amazonaws.com"):
        return f"role {role.id} does not let ec2.amazonaws.com assume it"
    bucket, key = place(url)
    context = {**policies.MACHINE, "aws:userid": f"{role.outputs['uniqueId']}:{machine.id}"}
    documents, object = policy_documents(cloud_state, role, bucket), f"arn:aws:s3:::{bucket}/{key}"
    return policies.refused(documents, action, object, role.outputs["arn"], context)


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
