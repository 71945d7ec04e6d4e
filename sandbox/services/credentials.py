"""Credentials of machine roles, derived from one key of the cloud state, so that issued credentials need no storage."""

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from sandbox.aws import policies
from sandbox.aws.iam import PROFILE, ROLE
from sandbox.aws.network import INSTANCE
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.calls import Refused

KEY = "sandbox/services"
"""Name of the key among the cloud state's secrets."""
LIFETIME = 6 * 3600
"""Lifetime of credentials in seconds; new ones appear OVERLAP seconds before the end (EC2 user guide, "IAM roles")."""
OVERLAP = 300


@dataclass(frozen=True)
class Credentials:
    """One set of credentials, with the content of its session token. Times are seconds since 1970."""

    key_id: str
    secret: str
    token: str
    instance: str
    issued: int
    expires: int


@dataclass(frozen=True)
class Caller:
    """Identity whose credentials signed a call."""

    instance: Record
    role: Record
    place: Record | None = None
    """Machine from which the call comes; None: from somewhere else, with credentials that left their machine."""

    @property
    def user_id(self) -> str:
        """aws:userid of an EC2 role session."""
        return f"{self.role.outputs['uniqueId']}:{self.instance.id}"


def role_of(cloud_state: CloudState, instance: Record) -> Record | None:
    """Return the role in the machine's instance profile, or None."""
    profile = cloud_state.find(PROFILE, instance.inputs.get("iamInstanceProfile") or "")
    return cloud_state.find(ROLE, profile.inputs.get("role") or "") if profile else None


def may_assume(role: Record) -> bool:
    """Return whether the role's trust policy lets EC2 instances assume it."""
    return policies.assumes(role.inputs["assumeRolePolicy"], "ec2.amazonaws.com")


def issue(cloud_state: CloudState, instance: str, role: Record, now: float, lifetime: int = LIFETIME) -> Credentials:
    """Return the machine's current credentials at a time; the same credentials until newer ones are due."""
    period = lifetime - min(OVERLAP, lifetime // 2)
    issued = int(now // period * period)
    said = {"instance": instance, "role": role.outputs["uniqueId"], "issued": issued, "expires": issued + lifetime}
    body = base64.b64encode(json.dumps(said, sort_keys=True).encode()).decode()
    return _of(cloud_state, f"{body}/{_mac(cloud_state, body).hex()}")


def caller(cloud_state: CloudState, key_id: str, token: str, now: float) -> tuple[Caller, str]:
    """Return the owner of an access key, and its secret key. Raises Refused if unknown, expired, or of a deleted
    machine.
    """
    body, _, mac = token.partition("/")
    if not token or not hmac.compare_digest(_mac(cloud_state, body).hex(), mac):
        raise Refused("bad-token", "The provided token is malformed or otherwise invalid.")
    found = _of(cloud_state, token)
    instance = cloud_state.find(INSTANCE, found.instance)
    role = role_of(cloud_state, instance) if instance else None
    same_role = role is not None and role.outputs["uniqueId"] == _said(token)["role"]
    if key_id != found.key_id or instance is None or role is None or not same_role:
        raise Refused("unknown-key", "The AWS Access Key Id you provided does not exist in our records.")
    if now >= found.expires:
        raise Refused("expired", "The provided token has expired.")
    return Caller(instance, role), found.secret


def _of(cloud_state: CloudState, token: str) -> Credentials:
    said = _said(token)
    key_id = "ASIA" + base64.b32encode(hashlib.sha256(token.encode()).digest()).decode()[:16]
    secret = base64.b64encode(_mac(cloud_state, f"secret key of {token}")).decode()[:40]
    return Credentials(key_id, secret, token, said["instance"], said["issued"], said["expires"])


def _said(token: str) -> dict[str, Any]:
    return json.loads(base64.b64decode(token.partition("/")[0]))


def _mac(cloud_state: CloudState, text: str) -> bytes:
    return hmac.new(signing_key(cloud_state), text.encode(), hashlib.sha256).digest()


def signing_key(cloud_state: CloudState) -> bytes:
    """Return the key for credentials and metadata tokens; the first call creates it."""
    kept = cloud_state.secret_values(KEY)
    if not kept:
        with cloud_state.transaction():
            if not cloud_state.secret_values(KEY):
                cloud_state.put_secret(KEY, "key", secrets.token_hex(32))
        kept = cloud_state.secret_values(KEY)
    return bytes.fromhex(kept["key"])


def owner_token(cloud_state: CloudState) -> str:
    """Return the access token of the owner of a subscription or project."""
    return signing_key(cloud_state).hex()


def iso(seconds: float) -> str:
    """Format a time as AWS does."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
