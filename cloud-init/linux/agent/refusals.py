"""Has this machine's API server refuse every request of revoked and replaced machines (authorization.py).

The active agent lists them in ConfigMap kube-system/mullion-revoked (agent/revocations.py). Every agent writes the list
into its API server's file, which the API server reads again at once. That does not end watches that are open then, so
after `mullion revoke` the API servers restart, one after the other (agent/turns.py).
"""

import json
import time
from typing import Any

import authorization
import static_pods
from kinds.files import MODES, plain
from run import STATE, Run
from writing import write_whole

from agent.api import Api
from agent.configuration import Configuration
from agent.memory import PATH
from agent.revocations import NAME

NOTE = f"{STATE}/revoked.json"
"""{"users": users that are revoked, "since": when this machine learned of the last one, in seconds since 1970}."""
SERVER = "kube-apiserver"


class Refusals:
    """The list of this machine's API server."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.restarted = 0.0
        """Newest `since` after which the API server is known to have started."""

    def reconcile(self, config: Configuration, api: Api) -> None:
        """Write the list into the API server's file. Without the ConfigMap the file stays as it is."""
        fields: dict[str, Any] | None = config.get("authorization")
        found = api.find(f"{PATH}/{NAME}") if fields else None
        if not fields or found is None:
            return
        listed = [identity(key) for key in found.get("data") or {}]
        file = self.run.path(fields["path"])
        content = authorization.document(listed, fields["webhook"])
        if not plain(file) or file.read_bytes() != content:
            write_whole(file, content, MODES["private"])
        users, before = sorted(each for each in listed if each.startswith("system:")), self.note()
        if users != before["users"]:
            since = time.time() if {*users} - {*before["users"]} else before["since"]
            note = json.dumps({"users": users, "since": since}).encode()
            write_whole(self.run.path(NOTE), note, MODES["private"])

    def note(self) -> dict[str, Any]:
        """Return what this machine knows of revoked users."""
        file = self.run.path(NOTE)
        return json.loads(file.read_text()) if file.exists() else {"users": [], "since": 0.0}

    def connected(self, config: Configuration) -> bool:
        """Return whether a user that is revoked may have a watch open: the API server has run since before."""
        since = self.note()["since"]
        if since <= self.restarted:
            return False
        began = static_pods.started(self.run, config, SERVER)
        if began is not None and began > since:
            self.restarted = since
        return began is not None and began <= since

    def restart(self, config: Configuration) -> None:
        """Restart this machine's API server."""
        static_pods.stop(self.run, config, SERVER)


def identity(key: str) -> str:
    """Return the user or the credential of a key of the ConfigMap (agent/revocations.py, EXPRESSION)."""
    return key.replace(".", ":", 2) if key.startswith("system.") else key.replace(".", "=", 1)
