"""A provider of OpenID Connect on Authlib's server: `python -m tests.portal.provider FAULT` prints its address.

It signs in whoever the parameter `login` names, with the groups of `groups`. It refuses requests without PKCE by S256.
FAULT: the fault in its identity tokens, "" for none.
"""

import sys
import time
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import flask
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import AuthorizationCodeMixin, OpenIDCode, UserInfo
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

CLIENT, SECRET = "portal", "a-client-secret-of-tests"
FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
KEY, OTHER = (RSAKey.generate_key(2048, {"kid": "one"}) for _ in range(2))
CODES: dict[str, Any] = {}
app = flask.Flask(__name__)


class Client(ClientMixin):
    """The portal."""

    def get_client_id(self) -> str:
        return CLIENT

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: Collection[str] | str) -> str:
        return scope if isinstance(scope, str) else " ".join(scope)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == "http://testserver/oidc/callback/"

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


class Code(SimpleNamespace, AuthorizationCodeMixin):
    """An authorization code."""

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str:
        return "another" if FAULT == "nonce" else self.nonce

    def get_auth_time(self) -> int:
        return int(time.time())

    def get_acr(self) -> str:
        return ""

    def get_amr(self) -> list[str]:
        return []


class Grant(grants.AuthorizationCodeGrant):
    """Codes in memory, each for one use."""

    def save_authorization_code(self, code: str, request: Any) -> None:
        given = request.payload.data
        kept = ("redirect_uri", "scope", "nonce", "code_challenge", "code_challenge_method")
        CODES[code] = Code(user=request.user, **{name: given.get(name) for name in kept})

    def query_authorization_code(self, code: str, client: Any) -> Any:
        return CODES.get(code)

    def delete_authorization_code(self, authorization_code: Any) -> None:
        CODES.clear()

    def authenticate_user(self, authorization_code: Any) -> Any:
        return authorization_code.user


class Identity(OpenIDCode):
    """Identity tokens with the fault FAULT."""

    def exists_nonce(self, nonce: str, request: Any) -> bool:
        return False

    def get_jwt_config(self, grant: Any, client: Any = None) -> dict[str, Any]:
        issuer = "https://another.example.com" if FAULT == "issuer" else flask.request.host_url.rstrip("/")
        key = OTHER if FAULT == "key" else KEY
        return {
            "key": key.as_dict(private=True),
            "alg": "RS256",
            "iss": issuer,
            "exp": -600 if FAULT == "expired" else 60,
        }

    def get_audiences(self, request: Any) -> list[str]:
        return ["another-client"] if FAULT == "audience" else [CLIENT]

    def generate_user_info(self, user: Any, scope: str) -> UserInfo:
        return UserInfo(**user)


server = AuthorizationServer(
    app, query_client=lambda name: Client() if name == CLIENT else None, save_token=lambda *_: None
)
server.register_grant(Grant, [CodeChallenge(required=True), Identity(require_nonce=True)])


@app.get("/.well-known/openid-configuration")
def metadata() -> Any:
    own = flask.request.host_url.rstrip("/")
    return {
        "issuer": own,
        "authorization_endpoint": f"{own}/authorize",
        "token_endpoint": f"{own}/token",
        "jwks_uri": f"{own}/keys",
        "id_token_signing_alg_values_supported": ["RS256"],
    }


@app.get("/keys")
def keys() -> Any:
    return {"keys": [KEY.as_dict(private=False)]}


@app.get("/authorize")
def authorize() -> Any:
    given = flask.request.args
    if given.get("code_challenge_method") != "S256" or not given.get("nonce"):
        return "PKCE by S256 and a nonce are required", 400
    groups = given.get("groups", "").split()
    user = {"sub": given.get("sub", given["login"]), "preferred_username": given["login"], "groups": groups}
    return server.create_authorization_response(grant=server.get_consent_grant(user), grant_user=user)


@app.post("/token")
def token() -> Any:
    return server.create_token_response()


if __name__ == "__main__":
    serving = make_server("127.0.0.1", 0, app)
    sys.stdout.write(f"http://127.0.0.1:{serving.server_port}\n")
    sys.stdout.flush()
    serving.serve_forever()
