"""IAM: roles bound to a member on a resource and on the project, under their conditions.

Sources: IAM, "Understanding roles" (the permissions that the services check), "Overview of IAM Conditions" and
"Resource attributes" (resource.name of an object: projects/_/buckets/BUCKET/objects/KEY).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.gcp.firewalls import ACCOUNT
from sandbox.records import Record

CUSTOM_ROLE = "gcp:projects/iAMCustomRole:IAMCustomRole"
PROJECT_MEMBER = "gcp:projects/iAMMember:IAMMember"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
ENTRY_MEMBER = "gcp:secretmanager/secretIamMember:SecretIamMember"
ACCOUNT_MEMBER = "gcp:serviceaccount/iAMMember:IAMMember"

PULL = "artifactregistry.repositories.downloadArtifacts"
_READ = {"storage.objects.get", "storage.objects.list"}
_WRITE = _READ | {"storage.objects.create", "storage.objects.delete", "storage.objects.update"}
_VERSIONS = {f"secretmanager.versions.{each}" for each in ("add", "destroy", "disable", "enable", "get", "list")}
ROLES: Mapping[str, set[str]] = {
    "roles/storage.objectViewer": _READ,
    "roles/storage.legacyObjectReader": {"storage.objects.get"},
    "roles/storage.objectCreator": {"storage.objects.create"},
    "roles/storage.objectUser": _WRITE,
    "roles/storage.objectAdmin": _WRITE,
    "roles/secretmanager.secretAccessor": {"secretmanager.versions.access"},
    "roles/secretmanager.secretVersionAdder": {"secretmanager.versions.add"},
    "roles/secretmanager.secretVersionManager": _VERSIONS,
    "roles/artifactregistry.reader": {PULL},
    "roles/compute.viewer": {"compute.instances.get", "compute.instances.list"},
}
"""Permissions of predefined roles; an unlisted role grants nothing here."""

_TERM = re.compile(r"""resource\.name(?:\.startsWith\(\s*(["'])(?P<start>.*?)\1\s*\)|\s*==\s*(["'])(?P<whole>.*?)\3)""")
_BUCKET = re.compile(r"projects/_/buckets/([^/]+)")
_SECRET = re.compile(r"projects/[^/]+/secrets/([^/]+)")
_SERVICE_ACCOUNT = re.compile(r"projects/[^/]+/serviceAccounts/([^/]+)")


def refused(cloud_state: CloudState, member: str, permission: str, resource: str) -> str:
    """Return why a member (serviceAccount:E-MAIL) may not act on a resource; an empty string if it may.

    resource: its full name: projects/_/buckets/B, .../objects/KEY, projects/P/secrets/S, projects/P/serviceAccounts/A,
    projects/P/zones/Z/disks/D, projects/P.
    """
    for role, condition in _bindings(cloud_state, member, resource):
        if permission in permissions(cloud_state, role) and holds(condition, resource):
            return ""
    return f"{member.partition(':')[2]} does not have {permission} access to {resource}"


def permissions(cloud_state: CloudState, role: str) -> set[str]:
    """Return the permissions of a predefined or custom role."""
    if role in ROLES:
        return ROLES[role]
    for each in cloud_state.resources(CUSTOM_ROLE):
        if role in (each.id, each.outputs.get("name")) or role.endswith(f"/roles/{each.inputs['roleId']}"):
            return set(each.inputs["permissions"])
    return set()


def _bindings(cloud_state: CloudState, member: str, resource: str) -> Iterator[tuple[str, str]]:
    """Return role and condition of each binding that applies to the resource."""
    bucket, secret, account = (each.match(resource) for each in (_BUCKET, _SECRET, _SERVICE_ACCOUNT))
    kinds: list[tuple[str, str, str]] = [(PROJECT_MEMBER, "", "")]
    kinds += [(BUCKET_MEMBER, "bucket", bucket[1])] if bucket else []
    kinds += [(ENTRY_MEMBER, "secretId", secret[1])] if secret else []
    kinds += [(ACCOUNT_MEMBER, "serviceAccountId", account[1])] if account else []
    for type, property, name in kinds:
        for record in cloud_state.resources(type):
            given: Any = record.inputs
            about = str(given.get(property, "")).rpartition("/")[2]
            if given["member"] == member and about == name:
                yield given["role"], (given.get("condition") or {}).get("expression", "")


def holds(expression: str, resource: str) -> bool:
    """Return whether a condition allows a resource: terms about resource.name, joined by || and &&.

    Raises ValueError for any other condition: the sandbox must not guess.
    """
    alternatives = expression.split("||") if expression else []
    results = [all(_term(each.strip(), resource) for each in one.split("&&")) for one in alternatives]
    return any(results) or not expression


def _term(text: str, resource: str) -> bool:
    found = _TERM.fullmatch(text)
    if not found:
        raise ValueError(f"the sandbox does not know the condition {text!r}; sandbox/gcp/rights.py says which it knows")
    return resource.startswith(found["start"]) if found["start"] is not None else resource == found["whole"]


def has_account(cloud_state: CloudState, machine: Record) -> bool:
    """Return whether the service account exists with which a machine was created.

    A younger one of the same name is another account (IAM, "Deleting and undeleting service accounts").
    """
    email = (machine.outputs.get("serviceAccount") or {}).get("email") or ""
    found = cloud_state.find(ACCOUNT, f"projects/{machine.outputs['project']}/serviceAccounts/{email}")
    return found is not None and found.sequence < machine.sequence
