"""The metadata server: the tree of values, tokens of the machine's service account, attributes with user-data.

Source: Compute Engine, "View and query VM metadata", "Predefined metadata keys".
"""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from sandbox import interruptions
from sandbox.cloud_state import CloudState
from sandbox.gcp.rights import has_account
from sandbox.records import Record
from sandbox.services import bearer
from sandbox.services.calls import Answer, Call, Refused
from sandbox.services.gcp import identity
from sandbox.services.gcp import machine as machines
from sandbox.services.gcp.machine import PROJECT_NUMBER

FLAVOR = {"metadata-flavor": "Google", "server": "Metadata Server for VM"}
TEXT, JSON = {"content-type": "application/text"}, {"content-type": "application/json"}
ROOT = "/computeMetadata/v1/"
QUERY = {"recursive": ("true", "false"), "alt": ("json", "text")}
"""Query parameters that a request for values may have, besides the scopes of a token."""
_TOKEN = re.compile(r"instance/service-accounts/(?P<account>[^/]+)/(?P<kind>token|identity)")
_PART = re.compile(r"-([a-z])")


@dataclass(frozen=True)
class Metadata:
    """The server for the machines of one cloud state."""

    cloud_state: CloudState
    lifetime: int
    """Lifetime of tokens in seconds."""

    def answer(self, call: Call, now: float) -> Answer:
        """Answer one request."""
        machine = machines.find(self.cloud_state, call)
        if machine is None:
            raise Refused("", f"the sandbox has no instance {call.machine or call.source}\n", 404)
        if call.headers.get("metadata-flavor") != "Google" or "x-forwarded-for" in call.headers:
            raise Refused("", "Your client does not have permission to get URL: Missing Metadata-Flavor:Google", 403)
        if call.method not in ("GET", "HEAD"):
            raise Refused("", "", 405)
        if not call.path.startswith(ROOT):
            raise Refused("", "", 404)
        path, query = call.path.removeprefix(ROOT), dict(parse_qsl(call.query, keep_blank_values=True))
        token = _TOKEN.fullmatch(path)
        if token and token["kind"] == "identity":
            return self._identity(machine, token["account"], query, now)
        if token:
            return self._token(machine, token["account"], query, now)
        if any(value not in QUERY.get(name, ()) for name, value in query.items()):
            raise Refused("", f"the sandbox does not support {call.query}", 400)
        preempted = interruptions.announced(self.cloud_state, machine) is not None
        return _value(_tree(machine, preempted), path, query)

    def _token(self, machine: Record, account: str, query: dict[str, str], now: float) -> Answer:
        email, scopes = machines.account(machine)
        if not has_account(self.cloud_state, machine) or account not in ("default", email):
            raise Refused("", "", 404)
        asked = query.get("scopes", "").split(",") if query.get("scopes") else scopes
        if set(asked) - set(scopes) or set(query) - {"scopes"}:
            raise Refused("", "scopes that the machine does not have", 400)
        text, said = bearer.issue(self.cloud_state, machine.id, email, " ".join(asked), now, self.lifetime)
        given = {"access_token": text, "expires_in": said.expires - int(now), "token_type": "Bearer"}
        return Answer(200, json.dumps(given).encode(), FLAVOR | JSON)

    def _identity(self, machine: Record, account: str, query: dict[str, str], now: float) -> Answer:
        email, _ = machines.account(machine)
        if not has_account(self.cloud_state, machine) or account not in ("default", email):
            raise Refused("", "", 404)
        if not query.get("audience"):
            raise Refused("", "non-empty audience parameter required\n", 400)
        if set(query) - {"audience", "format"} or query.get("format", "standard") not in ("standard", "full"):
            raise Refused("", f"the sandbox does not support {sorted(query)}", 400)
        full = query.get("format") == "full"
        text = identity.token(self.cloud_state, machine, email, query["audience"], full, now)
        return Answer(200, text.encode(), FLAVOR | {"content-type": "text/html"})


def _value(tree: Any, path: str, query: dict[str, str]) -> Answer:
    """Return a value, a folder's names, or everything below with recursive=true."""
    value = tree
    for part in filter(None, path.split("/")):
        value = value.get(part) if isinstance(value, dict) else None
    folder = isinstance(value, dict)
    if value is None or (path.endswith("/") and not folder):
        raise Refused("", "", 404)
    if folder and path and not path.endswith("/"):
        return Answer(301, b"", FLAVOR | {"location": f"{ROOT}{path}/"})
    as_json = query.get("alt") == "json" or (query.get("recursive") == "true" and query.get("alt") != "text")
    if folder and query.get("recursive") != "true":
        value = "".join(f"{name}/\n" if isinstance(each, dict) else f"{name}\n" for name, each in value.items())
    elif as_json or folder:
        return Answer(200, json.dumps(_camel(value)).encode(), FLAVOR | JSON)
    text = "".join(f"{each}\n" for each in value) if isinstance(value, list) else str(value)
    return Answer(200, text.encode(), FLAVOR | TEXT)


def _camel(value: Any) -> Any:
    """Return folders in JSON form: machine-type is machineType, 0/ and 1/ are a list; attributes keep their names."""
    if not isinstance(value, dict):
        return value
    if value and all(name.isdigit() for name in value):
        return [_camel(each) for each in value.values()]
    return {
        _PART.sub(lambda found: found[1].upper(), name): part if name == "attributes" else _camel(part)
        for name, part in value.items()
    }


def _tree(machine: Record, preempted: bool) -> dict[str, Any]:
    """Return everything below v1: folders are dicts; a list is a value with one line for each element."""
    given, zone = machine.outputs, machines.zone(machine)
    project, name = given["project"], given["name"]
    email, scopes = machines.account(machine)
    held = {"aliases": ["default"], "email": email, "scopes": scopes, "token": ""}
    interface = machines.interface(machine)
    kind = str(given.get("machineType", "")).rpartition("/")[2]
    attributes = {**(given.get("metadata") or {})}
    if given.get("metadataStartupScript"):
        attributes["startup-script"] = given["metadataStartupScript"]
    return {
        "instance": {
            "attributes": attributes,
            "hostname": f"{name}.{zone}.c.{project}.internal",
            "id": str(given["instanceId"]),
            "machine-type": f"projects/{PROJECT_NUMBER}/machineTypes/{kind}",
            "name": name,
            "network-interfaces": {"0": {"ip": interface.get("networkIp", ""), "mtu": "1460"}},
            "preempted": "TRUE" if preempted else "FALSE",
            "service-accounts": dict.fromkeys(("default", email), held) if email else {},
            "tags": json.dumps(given.get("tags") or []),
            "zone": f"projects/{PROJECT_NUMBER}/zones/{zone}",
        },
        "project": {"attributes": {}, "numeric-project-id": PROJECT_NUMBER, "project-id": project},
    }


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal: HTTP status and an HTML page."""
    status = 503 if refused.why == "throttled" else refused.status or 500
    later = {"retry-after": "1"} if status == 503 else {}
    return Answer(status, refused.message.encode(), FLAVOR | {"content-type": "text/html"} | later), ""
