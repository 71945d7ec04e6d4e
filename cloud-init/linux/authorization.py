"""The API server's AuthorizationConfiguration: authorizers Node and RBAC, behind one that refuses listed identities.

Kubernetes has no list of revoked client certificates. Each authorizer of type Webhook here has the condition that the
user or the certificate is on its list, and a server that nobody runs: a request of a listed identity fails, with status
500, and other requests never reach the webhook. The API server reads the file again when it changes.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

CREDENTIAL = "authentication.kubernetes.io/credential-id"
"""Key of a requester's `extra` with its certificate's sha256; the API server adds it from Kubernetes 1.32 on."""
IDENTITY = re.compile(r"system:node:[a-z0-9.-]{1,253}|X509SHA256=[0-9a-f]{64}")
"""A kubelet's user, or the credential of a client certificate."""
SIZE = 75_000
"""Most characters of one list; CEL's parser reads expressions of at most 100,000 (cel-go, parser/options.go)."""
_KNOWN = f"has(request.extra) && '{CREDENTIAL}' in request.extra"
_IDENTITIES = f"([request.user] + ({_KNOWN} ? request.extra['{CREDENTIAL}'] : []))"
_LISTED = re.compile(r"'( [^']* )'\.contains")


def document(identities: Iterable[str], webhook: str) -> bytes:
    """Return the configuration as JSON.

    identities: what it refuses; texts that are no IDENTITY are left out. webhook: path of a kubeconfig, whose server
    must not exist.
    """
    known = sorted({each for each in identities if IDENTITY.fullmatch(each)})
    refusing = [_refusing(number, part, webhook) for number, part in enumerate(_parts(known))]
    authorizers = [*refusing, {"type": "Node", "name": "node"}, {"type": "RBAC", "name": "rbac"}]
    found = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
    return json.dumps(found | {"authorizers": authorizers}, indent=2).encode() + b"\n"


def refused(text: str) -> list[str]:
    """Return the identities that a configuration refuses; empty if the text is no configuration of `document`."""
    try:
        authorizers: list[dict[str, Any]] = json.loads(text)["authorizers"]
        conditions = [each["webhook"]["matchConditions"][-1]["expression"] for each in authorizers if "webhook" in each]
    except (ValueError, KeyError, TypeError, IndexError):
        return []
    return [each for expression in conditions for part in _LISTED.findall(expression) for each in part.split()]


def _parts(identities: list[str]) -> list[str]:
    """Return the identities as texts of at most SIZE characters, with a space before and after each identity."""
    parts = [" "]
    for each in identities:
        if len(parts[-1]) + len(each) > SIZE:
            parts.append(" ")
        parts[-1] += f"{each} "
    return parts


def _refusing(number: int, part: str, webhook: str) -> dict[str, Any]:
    # a search in one text: CEL would build a list anew for each request
    listed = f"{_IDENTITIES}.exists(each, '{part}'.contains(' ' + each + ' '))"
    nodes = "request.user.startsWith('system:node:')"
    return {
        "type": "Webhook",
        "name": f"revoked-{number}",
        "webhook": {
            "timeout": "1s",
            "subjectAccessReviewVersion": "v1",
            "matchConditionSubjectAccessReviewVersion": "v1",
            "failurePolicy": "Deny",
            "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": webhook},
            "matchConditions": [{"expression": nodes}, {"expression": listed}],
        },
    }
