"""The API server's AuthorizationConfiguration: Node and RBAC, and before them authorizers that refuse some nodes.

Kubernetes has no list of revoked client certificates. Each authorizer of type Webhook here has a condition, and a
server that nobody runs: a request that meets the condition fails, with status 500, and other requests never reach the
webhook. The API server reads the file again when it changes.

A list of refused certificates alone would not do. The API server knows a certificate by the sha256 of all its bytes, of
which the authority signs only a part: whoever has the key can write others with the same meaning (another form of the
signature, more bytes after it). So for the name of a replaced machine the file has the certificates of its successor,
and every other one is refused.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

CREDENTIAL = "authentication.kubernetes.io/credential-id"
"""Key of a requester's `extra` with its certificate's sha256; the API server adds it from Kubernetes 1.32 on."""
FINGERPRINT = "X509SHA256="
"""Prefix of a client certificate's sha256 as a requester's credential (apiserver/pkg/authentication/request/x509)."""
ONLY = "only."
"""Begin of the keys of the ConfigMap whose value is the only certificates of a user."""
USER = re.compile(r"system:node:[a-z0-9.-]{1,253}")
CERTIFICATE = re.compile(rf"{FINGERPRINT}[0-9a-f]{{64}}")
SIZE = 80_000
"""Most characters of the lists in an expression; CEL's parser reads at most 100,000 (cel-go, parser/options.go)."""
NODES = "request.user.startsWith('system:node:')"
_OF = f"request.extra['{CREDENTIAL}']"
_KNOWN = f"has(request.extra) && '{CREDENTIAL}' in request.extra"
# searches in one text: CEL would build a list anew for each request
LISTED = f"([request.user] + ({_KNOWN} ? {_OF} : [])).exists(each, '%s'.contains(' ' + each + ' '))"
GUARDED = f"{_KNOWN} && '%s'.contains(' ' + request.user + ' ') && !{_OF}.exists(each, '%s'.contains(' ' + each + ' '))"
_TEXT = re.compile(r"'( [^']*)'\.contains")


class Refused(NamedTuple):
    """What the API server refuses."""

    listed: list[str]
    """Users and certificates, all whose requests it refuses."""
    guarded: dict[str, list[str]]
    """By user the only certificates with which it may ask."""


def document(refused: Refused, webhook: str) -> bytes:
    """Return the configuration as JSON.

    Users and certificates of another form are left out. webhook: path of a kubeconfig, whose server must not exist.
    """
    listed = sorted({each for each in refused.listed if USER.fullmatch(each) or CERTIFICATE.fullmatch(each)})
    guarded = [[user, *filter(CERTIFICATE.fullmatch, own)] for user, own in sorted(refused.guarded.items())]
    parts = enumerate(_parts(([each] for each in listed), SIZE))
    conditions = {f"revoked-{number}": LISTED % part for number, part in parts}
    groups = (each for each in guarded if USER.fullmatch(each[0]))
    for number, part in enumerate(_parts(groups, SIZE // 2)):
        if part.strip():
            conditions[f"replaced-{number}"] = GUARDED % (part, part)
    authorizers = [_refusing(*each, webhook) for each in conditions.items()]
    authorizers += [{"type": "Node", "name": "node"}, {"type": "RBAC", "name": "rbac"}]
    found = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
    return json.dumps(found | {"authorizers": authorizers}, indent=2).encode() + b"\n"


def parsed(text: str) -> Refused:
    """Return what a configuration refuses; nothing if the text is no configuration of `document`."""
    try:
        authorizers: list[dict[str, Any]] = json.loads(text)["authorizers"]
        webhooks = [(each["name"], each["webhook"]) for each in authorizers if "webhook" in each]
        texts = [(name, _TEXT.findall(each["matchConditions"][-1]["expression"])[0]) for name, each in webhooks]
    except (ValueError, KeyError, TypeError, IndexError):
        return Refused([], {})
    listed = [each for name, text in texts if name.startswith("revoked") for each in text.split()]
    guarded: dict[str, list[str]] = {}
    own: list[str] = []
    for word in (each for name, text in texts if name.startswith("replaced") for each in text.split()):
        if USER.fullmatch(word):
            own = guarded[word] = []
        else:
            own.append(word)
    return Refused(listed, guarded)


def of_config_map(data: Mapping[str, str]) -> Refused:
    """Return what ConfigMap mullion-revoked lists (agent/revocations.py)."""
    listed = [_identity(key) for key in data if not key.startswith(ONLY)]
    guarded = {_identity(key.removeprefix(ONLY)): text.split() for key, text in data.items() if key.startswith(ONLY)}
    return Refused(listed, guarded)


def _identity(key: str) -> str:
    """Return the user or the certificate of a key, which has no colon and no equals sign."""
    return key.replace(".", ":", 2) if key.startswith("system.") else key.replace(".", "=", 1)


def _parts(groups: Iterable[list[str]], size: int) -> Iterator[str]:
    """Yield the words as texts of at most `size` characters, with a space around each word; a group stays together."""
    part = " "
    for group in groups:
        text = "".join(f"{each} " for each in group)
        if len(part) + len(text) > size and part.strip():
            yield part
            part = " "
        part += text
    yield part


def _refusing(name: str, condition: str, webhook: str) -> dict[str, Any]:
    return {
        "type": "Webhook",
        "name": name,
        "webhook": {
            "timeout": "1s",
            "subjectAccessReviewVersion": "v1",
            "matchConditionSubjectAccessReviewVersion": "v1",
            "failurePolicy": "Deny",
            "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": webhook},
            "matchConditions": [{"expression": NODES}, {"expression": condition}],
        },
    }
