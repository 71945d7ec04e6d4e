"""Azure Container Registry: sign-in with a machine's identity, and the right to pull.

Every registry NAME.azurecr.io exists, in the subscription of the machine, and has no images: an allowed pull ends with
MANIFEST_UNKNOWN. Sources: Azure/acr, docs/AAD-OAuth.md (challenge, exchange, tokens); CNCF Distribution, "Token
Authentication Specification". Registries accept the audiences of Azure Resource Manager unless a policy forbids them.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from sandbox.azure.regions import TENANT
from sandbox.azure.rights import PULL
from sandbox.azure.rights import refused as not_allowed
from sandbox.cloud_state import CloudState
from sandbox.services import distribution, signed_tokens
from sandbox.services.azure import tokens
from sandbox.services.calls import Answer, Call, Refused

AUDIENCES = frozenset(
    ("https://containerregistry.azure.net", "https://management.azure.com", "https://management.core.windows.net")
)
NOBODY = "00000000-0000-0000-0000-000000000000"
"""User name with which a refresh token is the password."""
REFRESH_SECONDS, ACCESS_SECONDS = 3 * 3600, 75 * 60
_KEY = "azure-registry-key"


@dataclass(frozen=True)
class Registry:
    """One registry, as machines of a cloud state see it."""

    cloud_state: CloudState
    host: str
    """Name of the login server: shop.azurecr.io."""

    def answer(self, call: Call, now: float) -> Answer:
        """Answer a call. Raises Refused."""
        if call.path == "/oauth2/exchange" and call.method == "POST":
            return self._exchange(_form(call), now)
        if call.path == "/oauth2/token" and call.method in ("GET", "POST"):
            return self._access(call, now)
        repository = distribution.repository(call)
        shown = self._claims(call.headers.get("authorization", "").removeprefix("Bearer "), "access", now)
        if shown is None or (repository and repository not in shown["repositories"]):
            raise distribution.Challenged(f"https://{self.host}/oauth2/token", self.host, repository)
        return distribution.empty(repository)

    def _exchange(self, form: dict[str, str], now: float) -> Answer:
        """Exchange a token of Microsoft Entra ID for a refresh token, which says who pulls but not what."""
        given = form.get("access_token", "")
        said = tokens.claims(self.cloud_state, given)
        wrong = form.get("grant_type") not in ("access_token", "access_token_refresh_token")
        if wrong or form.get("service") != self.host or form.get("tenant", TENANT) != TENANT:
            raise Refused("UNAUTHORIZED", "grant_type, service and tenant must be those of the registry", 401)
        if said is None or said["exp"] <= now or str(said["aud"]).rstrip("/") not in AUDIENCES:
            raise Refused("UNAUTHORIZED", "authentication required: the token is not valid for registries", 401)
        claims = {"oid": said["oid"], "machine": said["xms_az_rid"]}
        return distribution.document({"refresh_token": self._signed("refresh", claims, now + REFRESH_SECONDS)})

    def _access(self, call: Call, now: float) -> Answer:
        """Give an access token for the repositories that the identity may pull from."""
        form = _form(call) if call.method == "POST" else {k: v[0] for k, v in parse_qs(call.query).items()}
        said = self._claims(_refresh_token(call, form), "refresh", now)
        if said is None:
            raise Refused("UNAUTHORIZED", "authentication required: no valid refresh token", 401)
        wanted = distribution.pulled(form.get("scope", "").split())
        name = self.host.partition(".")[0]
        place = "/".join(said["machine"].split("/")[:3])
        id = f"{place}/resourceGroups/registries/providers/Microsoft.ContainerRegistry/registries/{name}"
        if why := not_allowed(self.cloud_state, said["oid"], PULL, id, data=False):
            raise Refused("UNAUTHORIZED", f"authentication required: {why}", 401)
        token = self._signed("access", {"repositories": wanted}, now + ACCESS_SECONDS)
        return distribution.document({"access_token": token})

    def _signed(self, kind: str, claims: dict[str, Any], end: float) -> str:
        return signed_tokens.signed(
            self.cloud_state, _KEY, {**claims, "aud": self.host, "grant_type": kind, "exp": int(end)}
        )

    def _claims(self, text: str, kind: str, now: float) -> dict[str, Any] | None:
        said = signed_tokens.claims(self.cloud_state, _KEY, text) if text else None
        valid = said and (said["aud"], said["grant_type"]) == (self.host, kind) and now < said["exp"]
        return said if valid else None


def _refresh_token(call: Call, form: dict[str, str]) -> str:
    """Return the refresh token of a form, of a form's password, or of basic authentication."""
    if form.get("grant_type") == "refresh_token":
        return form.get("refresh_token", "")
    user, _, password = f"{form.get('username', '')}:{form.get('password', '')}".partition(":")
    if not password:
        user, password = distribution.basic(call)
    return password if user == NOBODY else ""


def _form(call: Call) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(call.body.decode("utf-8", "replace")).items()}
