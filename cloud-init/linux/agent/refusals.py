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
from agent.revocations import NAME, REVOKED

NOTE = f"{STATE}/revoked.json"
"""{"users": keys of revoked users in the ConfigMap, "since": when this machine learned of the last one}; in seconds
since 1970."""
SERVER = "kube-apiserver"


class Refusals:
    """The list of this machine's API server."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.connected = False
        """Whether a user that is revoked may have a watch open: the API server has run since before."""
        self.restarted = 0.0
        """Newest `since` after which the API server is known to have started."""

    def reconcile(self, config: Configuration, api: Api) -> None:
        """Write the list into the API server's file. Without the ConfigMap the file stays as it is."""
        fields: dict[str, Any] | None = config.get("authorization")
        found = api.find(f"{PATH}/{NAME}") if fields else None
        if not fields or found is None:
            return
        data: dict[str, str] = found.get("data") or {}
        file = self.run.path(fields["path"])
        content = authorization.document(authorization.of_config_map(data), fields["webhook"])
        if not plain(file) or file.read_bytes() != content:
            write_whole(file, content, MODES["private"])
        self.learn(sorted(key for key, why in data.items() if key.startswith("system.") and why == REVOKED))
        self.look(config)

    def learn(self, users: list[str]) -> None:
        """Note the revoked users, and when another one was added. A time in the future is of a clock that was ahead."""
        before, now = self.note(), time.time()
        since = now if {*users} - {*before["users"]} else min(before["since"], now)
        if (after := {"users": users, "since": since}) != before:
            write_whole(self.run.path(NOTE), json.dumps(after).encode(), MODES["private"])

    def note(self) -> dict[str, Any]:
        """Return what this machine knows of revoked users."""
        file = self.run.path(NOTE)
        return json.loads(file.read_text()) if file.exists() else {"users": [], "since": 0.0}

    def look(self, config: Configuration) -> None:
        """Find out whether the API server has run since before the last revocation."""
        since = self.note()["since"]
        if since <= self.restarted:
            self.connected = False
            return
        began = static_pods.started(self.run, config, SERVER)
        self.connected = began is not None and began <= since
        if began is not None and not self.connected:
            self.restarted = since

    def restart(self, config: Configuration) -> None:
        """Restart this machine's API server."""
        static_pods.stop(self.run, config, SERVER)
        self.connected = False
