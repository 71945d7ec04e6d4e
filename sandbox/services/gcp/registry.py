"""Artifact Registry: sign-in with a token of a service account, and the right to pull.

Every repository PLACE-docker.pkg.dev/PROJECT/REPOSITORY exists and has no images; an allowed pull ends with
MANIFEST_UNKNOWN. Sources: Artifact Registry, "Configure authentication to Artifact Registry for Docker" (user names,
access tokens); CNCF Distribution, "Token Authentication Specification".
"""

from dataclasses import dataclass
from urllib.parse import parse_qs

from sandbox.cloud_state import CloudState
from sandbox.gcp.rights import PULL
from sandbox.gcp.rights import refused as not_allowed
from sandbox.services import bearer, distribution
from sandbox.services.bearer import Token
from sandbox.services.calls import Answer, Call, Refused

USERS = frozenset(("oauth2accesstoken", "_token"))
"""User names with which an access token is the password; Google's credential provider says `_token`."""
LIFETIME = 3600


@dataclass(frozen=True)
class Registry:
    """The repositories of one host, as machines of a cloud state see them."""

    cloud_state: CloudState
    host: str

    def answer(self, call: Call, now: float) -> Answer:
        """Answer a call. Raises Refused."""
        if call.path == "/v2/token" and call.method == "GET":
            return self._token(call, now)
        repository = distribution.repository(call)
        try:
            shown = bearer.read(self.cloud_state, call, now, "")
        except Refused:
            shown = None
        if shown is None or not shown.audience.startswith(f"{self.host} ") or not _covers(shown, repository):
            raise distribution.Challenged(f"https://{self.host}/v2/token", self.host, repository)
        return distribution.empty(repository)

    def _token(self, call: Call, now: float) -> Answer:
        """Give a token for the repositories that the service account may pull from."""
        user, password = distribution.basic(call)
        signed = Call("GET", "/", "", {"authorization": f"Bearer {password}"}, b"")
        if user not in USERS:
            raise Refused("UNAUTHORIZED", f"the user must be one of {', '.join(sorted(USERS))}", 401)
        try:
            said = bearer.read(self.cloud_state, signed, now, "")
        except Refused as refused:
            raise Refused("UNAUTHORIZED", refused.message, 401) from None
        wanted = distribution.pulled(parse_qs(call.query).get("scope", []))
        for repository in wanted:
            self._check(said, repository.partition("/")[0])
        text, _ = bearer.issue(
            self.cloud_state, said.machine, said.identity, " ".join((self.host, *wanted)), now, LIFETIME
        )
        return distribution.document({"token": text, "expires_in": LIFETIME})

    def _check(self, said: Token, project: str) -> None:
        """Raise Refused unless the account may read images of the project: grants here are for its own project."""
        own = said.identity.partition("@")[2].partition(".")[0]
        member, resource = f"serviceAccount:{said.identity}", f"projects/{project}"
        why = not_allowed(self.cloud_state, member, PULL, resource) if project == own else f"no grant on {resource}"
        if why:
            raise Refused("denied", f'Permission "{PULL}" denied on resource "{resource}" (or it may not exist)')


def _covers(shown: Token, repository: str) -> bool:
    return not repository or repository in shown.audience.split()[1:]
