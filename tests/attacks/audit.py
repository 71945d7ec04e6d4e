"""The audit log of the real API server, in which a person finds the requests that it refused."""

import json
from typing import Any

from tests.awaited import until
from tests.lab.agent.served import Served


def events(served: Served) -> list[dict[str, Any]]:
    """Return what the log has (audit.k8s.io/v1, Event), without a line that is still being written."""
    whole, _, _ = served.audit_log.read_text("utf-8").rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]


def refused(served: Served, code: int, place: str, *, user: str, says: str, since: int = 0) -> None:
    """Assert that the log has a request of this user that was answered with this status and text.

    place: begin of the request's path. user: its name, or the name's end; empty if the API server does not know it.
    since: number of events before the request.
    """

    def found() -> bool:
        return any(
            (event.get("responseStatus") or {}).get("code") == code
            and event["requestURI"].startswith(place)
            and event["user"].get("username", "").endswith(user)
            and bool(event["user"].get("username")) == bool(user)
            and says in event["responseStatus"].get("message", "")
            for event in events(served)[since:]
        )

    until(found, f"the audit log has {code} for {user or 'nobody'} at {place}: {says}", seconds=60)


def removed(served: Served, place: str) -> bool:
    """Return whether the log has a deletion of the object at this path that succeeded."""
    return any(
        (event["verb"], event["requestURI"], event["responseStatus"]["code"]) == ("delete", place, 200)
        for event in events(served)
    )
