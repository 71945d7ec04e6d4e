"""Microsoft Entra ID: a token of another issuer for an access token of a managed identity that trusts it.

Entra ID reads the issuer's discovery document and keys itself, from the public address in the token's claim `iss`.
Sources: "Microsoft identity platform and OAuth 2.0 client credentials flow" (third case: access token request with a
federated credential), "Microsoft Entra authentication and authorization error codes", and
Azure/azure-workload-identity#1232, #605 and #1200 for answers to tokens whose key, issuer or credential is not found.
"""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from sandbox.azure.names import CREDENTIAL, IDENTITY
from sandbox.azure.regions import TENANT
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.azure import tokens
from sandbox.services.azure.metadata import RESOURCES
from sandbox.services.azure.website import Websites
from sandbox.services.calls import Answer, Call, Refused
from sandbox.services.signed_tokens import decoded

PATH = re.compile(r"/(?P<tenant>[^/]+)/oauth2/v2\.0/token")
HOST = re.compile(r"(?P<account>[a-z0-9]+)\.z\d+\.web\.core\.windows\.net")
DISCOVERY = "/.well-known/openid-configuration"
FIELDS = {
    "grant_type": "client_credentials",
    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
}
SKEW = 300
"""Seconds by which the clocks of issuer and Entra ID may differ."""


@dataclass(frozen=True)
class Exchange:
    """The token endpoint of one cloud state. lifetime: of its access tokens, in seconds."""

    cloud_state: CloudState
    lifetime: int

    def answer(self, call: Call, now: float) -> Answer:
        """Answer a request for an access token. Raises Refused with Entra ID's code."""
        form = dict(parse_qsl(call.body.decode()))
        tenant = PATH.fullmatch(call.path)
        if not tenant or tenant["tenant"] != TENANT:
            raise Refused("invalid_request", f"AADSTS90002: Tenant of {call.path} not found.")
        for name, value in FIELDS.items():
            if form.get(name) != value:
                raise Refused("invalid_request", f"AADSTS900144: the request body must have {name}={value}.")
        resource, _, scope = form.get("scope", "").rpartition("/")
        if scope != ".default" or not RESOURCES.fullmatch(resource):
            raise Refused("invalid_scope", f"AADSTS70011: The provided value for scope {form.get('scope')} is invalid.")
        identity = self._identity(form.get("client_id", ""))
        self._require_trust(identity, form.get("client_assertion", ""), now)
        text, said = tokens.of_workload(self.cloud_state, identity, resource, now, self.lifetime)
        given = {
            "token_type": "Bearer",
            "expires_in": said.expires - int(now),
            "ext_expires_in": said.expires - int(now),
            "access_token": text,
        }
        return Answer(200, json.dumps(given).encode(), {"content-type": "application/json; charset=utf-8"})

    def _identity(self, client: str) -> Record:
        found = (one for one in self.cloud_state.resources(IDENTITY.token) if one.outputs["clientId"] == client)
        identity = next(found, None)
        if identity is None:
            text = f"AADSTS700016: Application with identifier '{client}' was not found in the directory '{TENANT}'."
            raise Refused("unauthorized_client", text)
        return identity

    def _require_trust(self, identity: Record, assertion: str, now: float) -> None:
        """Raise Refused unless a credential of the identity trusts a token, and its issuer has signed it."""
        try:
            head, claims, signature = assertion.split(".")
            said, header = json.loads(decoded(claims)), json.loads(decoded(head))
        except ValueError:
            raise Refused("invalid_client", "AADSTS50027: JWT token is invalid or malformed.") from None
        trusted = [
            one.inputs
            for one in self.cloud_state.resources(CREDENTIAL.token)
            if one.id.startswith(f"{identity.id}/federatedIdentityCredentials/")
        ]
        audiences = said.get("aud") if isinstance(said.get("aud"), list) else [said.get("aud")]
        none = "No matching federated identity record found for presented assertion"
        for code, what, value in (("700211", "issuer", said.get("iss")), ("700213", "subject", said.get("sub"))):
            trusted = [each for each in trusted if each[what] == value]
            if not trusted:
                raise Refused("invalid_client", f"AADSTS{code}: {none} {what} '{value}'.")
        if not any(each["audiences"][0] in audiences for each in trusted):
            raise Refused("invalid_client", f"AADSTS700212: {none} audience '{said.get('aud')}'.")
        if not said.get("nbf", 0) - SKEW <= now < said.get("exp", 0) + SKEW:
            raise Refused("invalid_client", "AADSTS700024: Client assertion is not within its valid time range.")
        issuer, named = str(said["iss"]), header.get("kid")
        key = self._keys(issuer).get(named)
        if key is None:
            text = (
                f"AADSTS7000272: The certificate with identifier {named} used to sign the federated credential could"
                f" not be found in the metadata of identity provider {issuer}."
            )
            raise Refused("invalid_client", text)
        if header.get("alg") != "RS256" or not _signed(key, f"{head}.{claims}", signature):
            raise Refused("invalid_client", "AADSTS50013: Assertion failed signature validation.")

    def _keys(self, issuer: str) -> dict[str, dict[str, str]]:
        """Return the keys of an issuer by their ids, as its public documents have them."""
        document = self._read(f"{issuer}{DISCOVERY}")
        if document.get("issuer") != issuer:
            raise Refused("invalid_client", f"AADSTS90061: the discovery document of {issuer} names another issuer.")
        return {each["kid"]: each for each in self._read(document["jwks_uri"])["keys"]}

    def _read(self, url: str) -> dict[str, Any]:
        """Return a public JSON document; the sandbox's internet has websites of storage accounts alone."""
        address = urlsplit(url)
        host = HOST.fullmatch(address.hostname or "")
        failed = f"AADSTS90061: Request to External OIDC endpoint failed: {url}"
        if address.scheme != "https" or host is None:
            raise Refused("invalid_client", failed)
        try:
            content, _, _ = Websites(self.cloud_state).file(host["account"], address.path.removeprefix("/"))
            found: dict[str, Any] = json.loads(content)
        except (Refused, ValueError):
            raise Refused("invalid_client", failed) from None
        return found


def _signed(key: dict[str, str], text: str, signature: str) -> bool:
    n, e = (int.from_bytes(decoded(key[name]), "big") for name in ("n", "e"))
    try:
        rsa.RSAPublicNumbers(e, n).public_key().verify(decoded(signature), text.encode(), padding.PKCS1v15(), SHA256())
    except (InvalidSignature, ValueError):
        return False
    return True
