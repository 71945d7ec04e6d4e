"""The services of Google Cloud: routing by host, identity of the caller, and the answer.

The Host header names the service. Without a host name (a test on loopback) the path decides: /computeMetadata/ and
/compute/, /v1/projects/ of Secret Manager, Google's public keys; the rest is Cloud Storage.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from sandbox.cloud_state import CloudState
from sandbox.services import bearer, distribution
from sandbox.services.bearer import Token
from sandbox.services.calls import METADATA, Answer, Call, Refused, Target
from sandbox.services.gcp import compute, identity, metadata, registry, secretmanager, storage

STORE, SECRETS, COMPUTE, KEYS, REGISTRY = "storage", "secretmanager", "compute", "keys", "registry"
HOSTS: Mapping[str, str] = {
    "metadata.google.internal": METADATA,
    "metadata": METADATA,
    "169.254.169.254": METADATA,
    "storage.googleapis.com": STORE,
    "secretmanager.googleapis.com": SECRETS,
    "compute.googleapis.com": COMPUTE,
    "www.googleapis.com": KEYS,
}
PATHS: tuple[tuple[str, str], ...] = (
    ("/computeMetadata/", METADATA),
    ("/compute/v1/projects/", COMPUTE),
    ("/v1/projects/", SECRETS),
    (identity.PATH, KEYS),
    ("/", STORE),
)
REFUSALS: Mapping[str, Callable[[Refused], tuple[Answer, str]]] = {
    METADATA: metadata.refusal,
    STORE: storage.refusal,
    SECRETS: secretmanager.refusal,
    COMPUTE: compute.refusal,
    KEYS: metadata.refusal,
    REGISTRY: distribution.refusal,
}
_BUCKET = re.compile(r"([a-z0-9][a-z0-9_.-]+)\.storage\.googleapis\.com")
_REGISTRY = re.compile(r"(?:[a-z]+\.)?gcr\.io|[a-z0-9-]+\.pkg\.dev")
LONGEST = 3600
"""Lifetime of a token in seconds (Compute Engine, "Authenticate workloads to Google Cloud APIs")."""
EVERYWHERE = "https://www.googleapis.com/auth/cloud-platform"
SCOPES: Mapping[str, tuple[str, ...]] = {
    STORE: tuple(f"https://www.googleapis.com/auth/devstorage.{each}" for each in ("read_write", "full_control")),
    SECRETS: (),
    COMPUTE: tuple(f"https://www.googleapis.com/auth/compute{each}" for each in ("", ".readonly")),
}
"""Scopes that a service accepts, besides cloud-platform."""


@dataclass(frozen=True)
class Gcp:
    """The services of one cloud state."""

    cloud_state: CloudState
    lifetime: int

    def target(self, call: Call) -> Target:
        """Return the service of a request, by its Host header or its path."""
        host = call.headers.get("host", "").partition(":")[0].removesuffix(".")
        if _REGISTRY.fullmatch(host):
            return Target(REGISTRY, "", host)
        named, path = _BUCKET.fullmatch(host), unquote(call.path)
        service = HOSTS.get(host) or next(name for start, name in PATHS if path.startswith(start))
        if path == identity.PATH and service == COMPUTE:
            service = KEYS  # machines of a sandbox know the address of Compute Engine only
        if named:
            return Target(STORE, "", named[1], path[1:])
        first, _, rest = path[1:].partition("/")
        return Target(service, "", first, rest) if service == STORE else Target(service)

    def caller(self, call: Call, to: Target, now: float) -> tuple[str, Token | None]:
        """Return the machine whose token signs the call, and the token."""
        if to.service in (METADATA, KEYS, REGISTRY):
            return "", None
        token = bearer.read(self.cloud_state, call, now, "Request is missing required authentication credential.")
        if not {EVERYWHERE, *SCOPES[to.service]} & set(token.audience.split()):
            raise Refused("scope", "Request had insufficient authentication scopes.")
        return token.machine, token

    def serve(self, call: Call, to: Target, caller: Token | None, now: float) -> Answer:
        """Return the answer of the addressed service."""
        if to.service == METADATA:
            return metadata.Metadata(self.cloud_state, min(self.lifetime, LONGEST)).answer(call, now)
        if to.service == KEYS:
            if call.method != "GET" or call.path != identity.PATH:
                raise Refused("", "", 404)
            body = json.dumps(identity.public_keys(self.cloud_state)).encode()
            return Answer(200, body, {"content-type": "application/json; charset=UTF-8"})
        if to.service == REGISTRY:  # its tokens are its own
            return registry.Registry(self.cloud_state, to.bucket).answer(call, now)
        member = f"serviceAccount:{caller.identity if caller else ''}"
        if to.service == STORE:
            return storage.Store(self.cloud_state, member).answer(call, to.bucket, to.key)
        if to.service == SECRETS:
            return secretmanager.Secrets(self.cloud_state, member).answer(call)
        return compute.Compute(self.cloud_state, member).answer(call)

    def refusal(self, to: Target, refused: Refused) -> tuple[Answer, str]:
        """Return a refusal in the service's format."""
        return REFUSALS[to.service](refused)
