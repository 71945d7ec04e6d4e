"""Bootstrap tokens of kubeadm's kind in a cluster that somebody else made.

A token is a Secret of kube-system (https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/). It has
the group of `kubeadm token create`, to which kubeadm's bindings give the right to ask for a certificate, and for which
kube-controller-manager approves it.
"""

import base64
import secrets
import string
from datetime import datetime, timedelta, timezone
from typing import Any

from components.rollout.kubernetes_api import PATCH, KubernetesApi, Refused

GROUP = "system:bootstrappers:kubeadm:default-node-token"
"""Group of kubeadm's bootstrap tokens (cmd/kubeadm/app/constants NodeBootstrapTokenAuthGroup)."""
LIFE = timedelta(hours=2)
"""From the creation of a machine, which needs the token within half an hour (workers.BOOT_SECONDS). Then
kube-controller-manager's tokencleaner deletes the Secret."""
NEW_AFTER = LIFE / 2
"""An `up` replaces a token after this time: what a machine has read is of no use in a later roll."""
LETTERS = string.ascii_lowercase + string.digits
SECRETS = "/api/v1/namespaces/kube-system/secrets"


def generate() -> str:
    """Return a new token: six letters, a dot, and 16 letters, of which the first six are no secret."""
    id_, secret = ("".join(secrets.choice(LETTERS) for _ in range(length)) for length in (6, 16))
    return f"{id_}.{secret}"


def period(now: float) -> int:
    """Return the number of the time span in which a token is not replaced. now: Unix seconds."""
    return int(now // NEW_AFTER.total_seconds())


def secret_name(token: str) -> str:
    """Return the name of the Secret of a token, or of a token's id."""
    return f"bootstrap-token-{token.partition('.')[0]}"


async def delete(api: KubernetesApi, token: str) -> None:
    """Delete the Secret of a token, or of a token's id. Raises Unreachable, or Refused unless it is gone."""
    try:
        await api.call("DELETE", f"{SECRETS}/{secret_name(token)}")
    except Refused as error:
        if error.status != 404:
            raise


def manifest(token: str, stack: str, ends: datetime) -> dict[str, Any]:
    """Return the Secret of a token. ends: UTC."""
    id_, _, secret = token.partition(".")
    data = {
        "token-id": id_,
        "token-secret": secret,
        "expiration": ends.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": GROUP,
        "description": f"Windows machines of the stack {stack} of Mullion",
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret_name(id_)},
        "type": "bootstrap.kubernetes.io/token",
        "data": {name: base64.b64encode(value.encode()).decode() for name, value in data.items()},
    }


async def admit(api: KubernetesApi, token: str, stack: str) -> None:
    """Make the token valid for LIFE from now. Raises Unreachable, or Refused without the right to it."""
    wanted = manifest(token, stack, datetime.now(timezone.utc) + LIFE)
    try:
        await api.call("POST", SECRETS, wanted)
    except Refused as refused:
        if refused.status != 409:
            raise
        path = f"{SECRETS}/{wanted['metadata']['name']}"
        data = wanted["data"]
        found: dict[str, str] = (await api.call("GET", path)).get("data") or {}
        if found.get("token-secret") != data["token-secret"]:
            raise Refused(409, f"{wanted['metadata']['name']} is another token") from None
        await api.call("PATCH", path, {"data": {"expiration": data["expiration"]}}, PATCH)
