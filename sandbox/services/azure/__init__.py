"""The services of Azure: routing by host, identity of the caller, and the answer.

The Host header names the service. Without a host name (a test on loopback) the path decides: /metadata/,
/subscriptions/ of Resource Manager, /secrets/ of the only vault, the keys of Microsoft Entra ID; the rest is Blob
Storage, with the account as the first part of the path, or the only account that has a container of that name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from sandbox.cloud_state import CloudState
from sandbox.services import distribution
from sandbox.services.azure import blob, exchange, keyvault, metadata, registry, resources, responses, tokens, website
from sandbox.services.bearer import Token
from sandbox.services.calls import METADATA, Answer, Call, Refused, Target

BLOB, VAULT, RESOURCES, KEYS, REGISTRY = "blob", "keyvault", "management", "keys", "registry"
WEBSITE = "website"
HOSTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"169\.254\.169\.254"), METADATA),
    (re.compile(r"management\.azure\.com"), RESOURCES),
    (re.compile(r"login\.microsoftonline\.com"), KEYS),
    (re.compile(r"(?P<name>[a-z0-9-]+)\.vault\.azure\.net"), VAULT),
    (re.compile(r"(?P<name>[a-z0-9-]+)\.azurecr\.io"), REGISTRY),
    (re.compile(r"(?P<name>[a-z0-9]+)\.blob\.core\.windows\.net"), BLOB),
    (re.compile(r"(?P<name>[a-z0-9]+)\.z\d+\.web\.core\.windows\.net"), WEBSITE),
)
PATHS: tuple[tuple[str, str], ...] = (
    ("/metadata/", METADATA),
    ("/subscriptions/", RESOURCES),
    ("/secrets/", VAULT),
    (tokens.PATH, KEYS),
    ("/", BLOB),
)
REFUSALS: Mapping[str, Callable[[Refused], tuple[Answer, str]]] = {
    METADATA: metadata.refusal,
    BLOB: blob.refusal,
    VAULT: keyvault.refusal,
    RESOURCES: resources.refusal,
    KEYS: metadata.refusal,
    REGISTRY: distribution.refusal,
    WEBSITE: website.refusal,
}
AUDIENCES: Mapping[str, str] = {
    BLOB: "https://storage.azure.com",
    VAULT: "https://vault.azure.net",
    RESOURCES: "https://management.azure.com",
}
"""Audience that a token needs, by service."""


@dataclass(frozen=True)
class Azure:
    """The services of one cloud state."""

    cloud_state: CloudState
    lifetime: int

    def target(self, call: Call) -> Target:
        """Return the service of a request, by its Host header or its path.

        bucket is the name of a vault or registry, or ACCOUNT/CONTAINER.
        """
        host, path = call.headers.get("host", "").partition(":")[0], unquote(call.path)
        for pattern, service in HOSTS:
            if named := pattern.fullmatch(host):
                name = named.groupdict().get("name", "")
                if service == RESOURCES and path == tokens.PATH:
                    return Target(KEYS)  # machines of a sandbox know the address of Resource Manager only
                return self._blob(f"/{name}{path}") if service == BLOB else Target(service, "", name, path[1:])
        service = next(name for start, name in PATHS if path.startswith(start))
        return self._blob(path) if service == BLOB else Target(service)

    def _blob(self, path: str) -> Target:
        """Return ACCOUNT/CONTAINER and key of /ACCOUNT/CONTAINER/KEY, or of /CONTAINER/KEY."""
        containers = [blob.name(one) for one in self.cloud_state.resources(blob.CONTAINER)]
        first, _, rest = path[1:].partition("/")
        if first in {each.partition("/")[0] for each in containers}:
            container, _, key = rest.partition("/")
            return Target(BLOB, "", f"{first}/{container}", key)
        place = next((each for each in containers if each.endswith(f"/{first}")), f"/{first}")
        return Target(BLOB, "", place, rest)

    def caller(self, call: Call, to: Target, now: float) -> tuple[str, Token | None]:
        """Return the machine whose token signs the call, and the token."""
        if to.service in (METADATA, KEYS, REGISTRY, WEBSITE):
            return "", None
        token = tokens.read(self.cloud_state, call, now)
        if token.audience != AUDIENCES[to.service]:
            raise Refused("audience", f"The token is for {token.audience}, not for {AUDIENCES[to.service]}.")
        return token.machine, token

    def serve(self, call: Call, to: Target, caller: Token | None, now: float) -> Answer:
        """Return the answer of the addressed service."""
        if to.service == METADATA:
            return metadata.Metadata(self.cloud_state, self.lifetime).answer(call, now)
        if to.service == WEBSITE:
            return website.Websites(self.cloud_state).answer(call, to.bucket, to.key)
        if to.service == KEYS:
            if call.method == "POST":
                return exchange.Exchange(self.cloud_state, self.lifetime).answer(call, now)
            if call.method != "GET" or call.path != tokens.PATH:
                raise Refused("not_found", "", 404)
            return responses.answer(tokens.public_keys(self.cloud_state))
        if to.service == REGISTRY:  # its tokens are its own
            return registry.Registry(self.cloud_state, f"{to.bucket}.azurecr.io").answer(call, now)
        principal = caller.identity if caller else ""
        if to.service == BLOB:
            return blob.Blobs(self.cloud_state, principal).answer(call, to.bucket, to.key)
        if to.service == VAULT:
            return keyvault.Secrets(self.cloud_state, principal).answer(call, to.bucket)
        return resources.Machines(self.cloud_state, principal).answer(call)

    def refusal(self, to: Target, refused: Refused) -> tuple[Answer, str]:
        """Return a refusal in the service's format."""
        return REFUSALS[to.service](refused)
