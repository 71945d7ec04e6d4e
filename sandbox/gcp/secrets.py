"""Secret Manager: secrets, versions, and grants on them. A deleted secret's name is free at once."""

import base64
import re
from typing import Any

from sandbox.cloud import Reference, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.gcp import keys
from sandbox.gcp.iam import member_type
from sandbox.gcp.regions import NUMBER, REGIONS
from sandbox.records import Record

SECRET, VERSION = "gcp:secretmanager/secret:Secret", "gcp:secretmanager/secretVersion:SecretVersion"
SECRET_MEMBER = "gcp:secretmanager/secretIamMember:SecretIamMember"  # noqa: S105
VALUE_LIMIT = 65536
"""Largest payload of a version in bytes (Secret Manager, "Quotas and limits")."""


def in_secret(path: str) -> Reference:
    """Return a reference to a secret: its id, or its name in the project."""
    return Reference(
        path,
        SECRET,
        "notFound",
        "googleapi: Error 404: Secret [{id}] not found or has no versions.",
        "vanish",
        id=lambda request, value: value if "/" in value else f"projects/{request.account}/secrets/{value}",
    )


def _value(inputs: dict[str, Any]) -> str:
    text = inputs.get("secretData") or inputs.get("secretDataWo") or ""
    return base64.b64decode(text).decode() if inputs.get("isSecretDataBase64") else text


def _size(request: Request) -> None:
    if len(_value(request.inputs).encode()) > VALUE_LIMIT:
        raise Refusal("badRequest", f"googleapi: Error 400: The secret payload has at most {VALUE_LIMIT} bytes.")


def _replicas(request: Request) -> None:
    replication = request.inputs["replication"]
    given = [name for name in ("auto", "userManaged") if replication.get(name) is not None]
    if len(given) != 1:
        raise Refusal("badRequest", "googleapi: Error 400: Replication is one of automatic and user-managed.")
    for replica in (replication.get("userManaged") or {}).get("replicas") or []:
        if replica["location"] not in REGIONS:
            message = f"Invalid user-managed replica location: {replica['location']}"
            raise Refusal("badRequest", f"googleapi: Error 400: {message}")


def _secret_of(request: Request) -> str:
    return in_secret("secret").ids(request)[0]


def _number(request: Request) -> str:
    """Return the number of a new version; versions count from 1."""
    if request.old:
        return request.old.id.rpartition("/")[2]
    return str(1 + max((int(each) for each in request.cloud_state.secret_values(_secret_of(request))), default=0))


def _store(request: Request) -> None:
    if request.inputs.get("enabled", True):
        request.cloud_state.put_secret(_secret_of(request), request.id.rpartition("/")[2], _value(request.inputs))


def _apart(cloud_state: CloudState, version: Record) -> dict[str, str]:
    secret, _, number = version.id.rpartition("/versions/")
    value = cloud_state.secret_values(secret).get(number)
    given = [name for name in ("secretData", "secretDataWo") if name in version.inputs]
    return {} if value is None else dict.fromkeys(given, value)


def _name(request: Request) -> dict[str, str]:
    number = request.id.rpartition("/")[2]
    secret = _secret_of(request).rpartition("/")[2]
    return {"version": number, "name": f"projects/{NUMBER}/secrets/{secret}/versions/{number}"}


def _protected(request: Request) -> None:
    if request.inputs.get("deletionProtection"):
        raise Refusal(
            "deletionProtection", f"cannot destroy secret {request.id} without setting deletion_protection=false"
        )


TYPES: dict[str, ResourceType] = {
    SECRET: ResourceType(
        id="projects/{account}/secrets/{in_.secretId}",
        immutable=("secretId", "project", "replication"),
        chosen=("project", "expireTime"),
        fallback={"deletionProtection": False},
        outputs={
            "project": "{account}",
            "name": f"projects/{NUMBER}/secrets/{{in_.secretId}}",
            "createTime": "2026-01-01T00:00:00Z",
        },
        at_least_one=(("secretId",),),
        patterns={"secretId": (re.compile(r"[A-Za-z0-9_-]{1,255}"), "1 to 255 letters, digits, _ and -")},
        unique=(
            Unique(
                "secret",
                ("secretId",),
                "alreadyExists",
                f"googleapi: Error 409: Secret [projects/{NUMBER}/secrets/{{in_.secretId}}] already exists.",
            ),
        ),
        rules=(_replicas, keys.replicas),
        delete_rules=(_protected,),
        deleted=lambda request: request.cloud_state.remove_secret(request.id),
    ),
    VERSION: ResourceType(
        id=lambda request: f"{_secret_of(request)}/versions/{_number(request)}",
        immutable=("secret", "secretData", "secretDataWoVersion", "isSecretDataBase64", "project"),
        chosen=("project",),
        fallback={"enabled": True, "deletionPolicy": "DELETE"},
        outputs={"project": "{account}", "createTime": "2026-01-01T00:00:00Z", "destroyTime": ""},
        derive=_name,
        secret=("secretData", "secretDataWo"),
        at_most_one=(("secretData", "secretDataWo"),),
        at_least_one=(("secretData", "secretDataWo"),),
        references=(in_secret("secret"),),
        rules=(_size, keys.version(SECRET, _secret_of)),
        created=_store,
        apart=_apart,
        deleted=lambda request: request.cloud_state.remove_secret(_secret_of(request), request.id.rpartition("/")[2]),
    ),
    SECRET_MEMBER: member_type(
        "secrets",
        "secretId",
        "projects/{account}/secrets/{in_.secretId}/{in_.role}/{in_.member}",
        in_secret("secretId"),
    ),
}
