"""A machine as its own programs find it: what its user-data gives it, and what its role lets it do with objects."""

import base64
import binascii
import json
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from sandbox.aws import policies
from sandbox.aws.iam import PROFILE, ROLE, ROLE_POLICY
from sandbox.aws.s3 import BUCKET, BUCKET_POLICY, is_versioned
from sandbox.records import Boot, Record
from sandbox.world import World, now

_DOCUMENT = re.compile(r'^\s*(\{"bundle":.*\})\s*$', re.MULTILINE)


def document(inputs: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON that a machine's user-data carries, {"bundle", "machine", "facts"}; None where there is none.

    The provider encodes plain user-data unless it is base64 already; the metadata service decodes once.
    """
    text = inputs.get("userDataBase64") or inputs.get("userData") or ""
    if not isinstance(text, str):
        return None
    try:
        text = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        text = "" if inputs.get("userDataBase64") else text
    found = _DOCUMENT.search(text)
    return json.loads(found.group(1)) if found else None


def place(url: str) -> tuple[str, str]:
    """Bucket and key of https://BUCKET.s3.REGION.amazonaws.com/KEY."""
    parts = urlsplit(url)
    return parts.netloc.partition(".s3.")[0], unquote(parts.path.lstrip("/"))


def not_allowed(world: World, machine: Record, action: str, url: str) -> str:
    """Why the role's policies and the bucket's, together, do not let the machine do it; empty where they do."""
    profile = world.find(PROFILE, machine.inputs.get("iamInstanceProfile") or "")
    role = world.find(ROLE, profile.inputs.get("role") or "") if profile else None
    if role is None:
        return "it has no instance profile with a role, so it has no credentials"
    if not policies.assumes(role.inputs["assumeRolePolicy"], "ec2.amazonaws.com"):
        return f"role {role.id} does not let ec2.amazonaws.com assume it"
    bucket, key = place(url)
    context = {**policies.MACHINE, "aws:userid": f"{role.outputs['uniqueId']}:{machine.id}"}
    documents, object = policy_documents(world, role, bucket), f"arn:aws:s3:::{bucket}/{key}"
    return policies.refused(documents, action, object, role.outputs["arn"], context)


def policy_documents(world: World, role: Record | None, bucket: str) -> list[Any]:
    """Every policy that has a say: the role's (None: nobody's) and the bucket's (empty: no bucket is asked for)."""
    documents: list[Any] = []
    if role:
        documents += [one.inputs["policy"] for one in world.referrers(ROLE, role.id) if one.type == ROLE_POLICY]
        documents += [one.get("policy") for one in role.inputs.get("inlinePolicies") or []]
    if bucket:
        documents += [one.inputs["policy"] for one in world.referrers(BUCKET, bucket) if one.type == BUCKET_POLICY]
    return documents


def status_url(found: dict[str, Any], instance: str) -> str:
    """Where the machine with this document puts its status record."""
    return f"{found['facts']['status_url']}{instance}.json"


def write_status(world: World, boot: Boot, found: dict[str, Any], kubernetes: str | None, message: str = "") -> None:
    """The record of a machine whose run ended well, as its executor writes it. message: what it has to say besides."""
    bucket, key = place(status_url(found, boot.instance))
    record = {
        "machine": boot.machine,
        "instance": boot.instance,
        "bundle": boot.bundle,
        "state": "ready",
        "phase": None,
        "step": None,
        "code": None,
        "name": None,
        "message": message,
        "kubernetes": kubernetes,
        "seconds": 0,
        "time": now(),
    }
    content = json.dumps(record, sort_keys=True).encode()
    world.put_object(bucket, key, content, "application/json", versioned=is_versioned(world, bucket))
