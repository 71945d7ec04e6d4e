"""Secrets Manager: secrets and their versions. A deleted secret's name stays taken for its recovery window."""

import re
from datetime import datetime, timedelta, timezone
from typing import Any

from sandbox.aws import keys
from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.records import Record

ENTRY = keys.SECRET
DESCRIPTION_LIMIT = 2048
VALUE_LIMIT = 65536
"""Largest secret value in bytes (Secrets Manager quotas)."""
_NAME = Unique(
    "secret",
    ("name",),
    "ResourceExistsException",
    "The operation failed because the secret {in_.name} already exists.",
    regional=True,
    kept=(
        "InvalidRequestException",
        "You can't create this secret because a secret with this name is already scheduled for deletion.",
    ),
)


def _description(request: Request) -> None:
    if len(request.inputs.get("description") or "") > DESCRIPTION_LIMIT:
        raise Refusal("ValidationException", f"A secret's description has at most {DESCRIPTION_LIMIT} characters")


def _recovery(request: Request) -> None:
    days = request.inputs["recoveryWindowInDays"]
    if days != 0 and not 7 <= days <= 30:
        raise Refusal("InvalidParameterException", f"The recovery window is 0 or 7 to 30 days, not {days}")


def _deleted(request: Request) -> None:
    """Keep the name for the recovery window; without a window, free it at once."""
    request.cloud_state.remove_secret(request.id)
    days = request.inputs.get("recoveryWindowInDays", 30)
    if days:
        until = datetime.now(timezone.utc) + timedelta(days=days)
        request.cloud_state.keep_claim(_NAME.kind, str(_NAME.key(request)), until.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _value(inputs: dict[str, Any]) -> str:
    return inputs.get("secretString") or inputs.get("secretBinary") or inputs.get("secretStringWo") or ""


def _value_size(request: Request) -> None:
    if not _value(request.inputs):
        raise Refusal("InvalidRequestException", "You must provide either SecretString or SecretBinary.")
    if len(_value(request.inputs).encode()) > VALUE_LIMIT:
        raise Refusal("ValidationException", f"A secret's value has at most {VALUE_LIMIT} bytes")


def _version(request: Request) -> str:
    digits = request.digits(32, "version")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _apart(cloud_state: CloudState, version: Record) -> dict[str, str]:
    value = cloud_state.secret_values(version.inputs["secretId"]).get(version.id.rpartition("|")[2])
    given = [name for name in ("secretString", "secretBinary") if name in version.inputs]
    return {} if value is None else dict.fromkeys(given, value)


def _store(request: Request) -> None:
    request.cloud_state.put_secret(request.inputs["secretId"], _version(request), _value(request.inputs))


TYPES: dict[str, ResourceType] = {
    ENTRY: ResourceType(
        id="arn:aws:secretsmanager:{region}:{account}:secret:{in_.name}-{hex:6}",
        immutable=("name", "namePrefix"),
        chosen=("name", "policy", "replicas"),
        fallback={"recoveryWindowInDays": 30, "forceOverwriteReplicaSecret": False},
        documents=("policy",),
        outputs={"arn": "{id}"},
        auto_name=AutoName(limit=512),
        at_most_one=(("name", "namePrefix"),),
        patterns={"name": (re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}"), "1 to 512 letters, digits and /_+=.@-")},
        unique=(_NAME,),
        rules=(_recovery, _description),
        deleted=_deleted,
    ),
    "aws:secretsmanager/secretVersion:SecretVersion": ResourceType(
        id=lambda request: f"{request.inputs['secretId']}|{_version(request)}",
        immutable=("secretId", "secretString", "secretBinary"),
        chosen=("versionStages",),
        outputs={"arn": "{in_.secretId}", "secretArn": "{in_.secretId}"},
        derive=lambda request: {"versionId": _version(request), "versionStages": ["AWSCURRENT"]},
        secret=("secretString", "secretBinary", "secretStringWo"),
        at_most_one=(("secretString", "secretBinary", "secretStringWo"),),
        references=(
            Reference(
                "secretId",
                ENTRY,
                "ResourceNotFoundException",
                "Secrets Manager can't find the specified secret: {id}",
                "vanish",
            ),
        ),
        rules=(_value_size, keys.check_secret),
        created=_store,
        apart=_apart,
        deleted=lambda request: request.cloud_state.remove_secret(
            request.inputs["secretId"], request.id.rsplit("|", 1)[-1]
        ),
    ),
}
