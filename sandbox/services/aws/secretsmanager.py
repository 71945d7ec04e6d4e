"""Secrets Manager: GetSecretValue, PutSecretValue, DescribeSecret, in JSON 1.1.

Source: AWS Secrets Manager API reference.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sandbox.aws.regions import ACCOUNT
from sandbox.aws.secretsmanager import ENTRY, VALUE_LIMIT
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.aws.access import require
from sandbox.services.calls import Answer, Call, Codes, Refused, worded
from sandbox.services.credentials import Caller

PREFIX = "secretsmanager."
JSON = "application/x-amz-json-1.1"
CODES: Codes = {
    "anonymous": (400, "MissingAuthenticationTokenException"),
    "malformed": (400, "IncompleteSignatureException"),
    "bad-token": (400, "UnrecognizedClientException"),
    "unknown-key": (400, "UnrecognizedClientException"),
    "expired": (400, "ExpiredTokenException"),
    "skewed": (400, "InvalidSignatureException"),
    "scope": (400, "InvalidSignatureException"),
    "mismatch": (400, "InvalidSignatureException"),
    "unsigned-headers": (400, "InvalidSignatureException"),
    "wrong-digest": (400, "InvalidSignatureException"),
    "denied": (400, "AccessDeniedException"),
    "throttled": (400, "ThrottlingException"),
    "failed": (500, "InternalServiceError"),
}
FIELDS: Mapping[str, tuple[str, ...]] = {
    "GetSecretValue": ("SecretId", "VersionId", "VersionStage"),
    "PutSecretValue": ("SecretId", "SecretString", "SecretBinary", "ClientRequestToken", "VersionStages"),
    "DescribeSecret": ("SecretId",),
}
STAGES = ("AWSCURRENT", "AWSPREVIOUS")
"""Stages of the newest version and the one before; older versions are gone."""
NO_VALUE = "Secrets Manager can't find the specified secret value for "


@dataclass(frozen=True)
class Secrets:
    """The secrets of one cloud state and region."""

    cloud_state: CloudState
    region: str

    def answer(self, call: Call, caller: Caller | None) -> Answer:
        """Answer a call, with the identity that signed it."""
        target = call.headers.get("x-amz-target", "")
        action = target.removeprefix(PREFIX)
        if action not in FIELDS or not target.startswith(PREFIX) or call.method != "POST":
            raise Refused("UnknownOperationException", f"{call.method} {target}")
        if call.headers.get("content-type", "").partition(";")[0] != JSON:
            raise Refused("UnknownOperationException", f"the content type is not {JSON}", 404)
        body = _body(call.body, FIELDS[action])
        record = self._find(body["SecretId"])
        unknown = f"arn:aws:secretsmanager:{self.region}:{ACCOUNT}:secret:{body['SecretId']}"
        require(self.cloud_state, caller, f"secretsmanager:{action}", record.id if record else unknown)
        if record is None:
            raise Refused("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
        actions = {"GetSecretValue": self._get, "PutSecretValue": self._put, "DescribeSecret": self._describe}
        result = actions[action](record, body)
        return Answer(200, json.dumps(result).encode(), {"content-type": JSON})

    def _find(self, id: str) -> Record | None:
        """Return a secret by name, by ARN, or by ARN without its six random letters."""
        for record in self.cloud_state.resources(ENTRY):
            if record.region == self.region and id in (record.outputs["name"], record.id, record.id[:-7]):
                return record
        return None

    def _stages(self, record: Record) -> dict[str, list[str]]:
        """Return stages by version id, newest first."""
        newest = list(self.cloud_state.secret_values(record.id))[::-1]
        return {version: [stage] for version, stage in zip(newest, STAGES, strict=False)}

    def _get(self, record: Record, body: dict[str, Any]) -> dict[str, Any]:
        stage, wanted = body.get("VersionStage", STAGES[0]), body.get("VersionId")
        stages = self._stages(record)
        if wanted is None:
            wanted = next((version for version, names in stages.items() if stage in names), None)
            if wanted is None:
                raise Refused("ResourceNotFoundException", f"{NO_VALUE}staging label: {stage}")
        value = self.cloud_state.secret_values(record.id).get(wanted)
        if value is None:
            raise Refused("ResourceNotFoundException", f"{NO_VALUE}VersionId: {wanted}")
        kind = "SecretBinary" if record.outputs.get("secretBinary") else "SecretString"
        found = {"ARN": record.id, "Name": record.outputs["name"], "VersionId": wanted, kind: value}
        return found | {"VersionStages": stages.get(wanted, []), "CreatedDate": _seconds(record.created)}

    def _put(self, record: Record, body: dict[str, Any]) -> dict[str, Any]:
        value = body.get("SecretString") or body.get("SecretBinary")
        if not value or len(value.encode()) > VALUE_LIMIT:
            raise Refused("InvalidParameterException", f"A value has 1 to {VALUE_LIMIT} bytes.")
        token = body.get("ClientRequestToken") or str(uuid.uuid4())
        if not 32 <= len(token) <= 64:
            raise Refused("InvalidParameterException", "ClientRequestToken has 32 to 64 characters.")
        kept = self.cloud_state.secret_values(record.id)
        if kept.get(token, value) != value:
            raise Refused("ResourceExistsException", "You can't use ClientRequestToken twice for different values.")
        if token not in kept:
            with self.cloud_state.transaction():
                self.cloud_state.put_secret(record.id, token, value)
                for old in list(self.cloud_state.secret_values(record.id))[: -len(STAGES)]:
                    self.cloud_state.remove_secret(record.id, old)
        return {
            "ARN": record.id,
            "Name": record.outputs["name"],
            "VersionId": token,
            "VersionStages": self._stages(record).get(token, []),
        }

    def _describe(self, record: Record, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "ARN": record.id,
            "Name": record.outputs["name"],
            "Description": record.outputs.get("description") or "",
            "CreatedDate": _seconds(record.created),
            "Tags": [{"Key": key, "Value": value} for key, value in record.tags.items()],
            "VersionIdsToStages": self._stages(record),
        }


def _body(content: bytes, fields: tuple[str, ...]) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError:
        raise Refused("SerializationException", "the body is no JSON") from None
    if not isinstance(body, dict) or not isinstance(body.get("SecretId"), str) or not body["SecretId"]:
        raise Refused("ValidationException", "SecretId must be given")
    if set(body) - set(fields):
        raise Refused(
            "ValidationException", f"the sandbox does not support {', '.join(sorted(set(body) - set(fields)))}"
        )
    return body


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in Secrets Manager's format, and its code."""
    status, code = worded(refused, CODES)
    body = json.dumps({"__type": code, "Message": refused.message}).encode()
    return Answer(status, body, {"content-type": JSON, "x-amzn-errortype": code}), code
