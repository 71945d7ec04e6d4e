"""Publishes the epoch of a restore, so every machine restarts the programs that watch the cluster (epoch.py)."""

import json
from urllib.error import HTTPError

import epoch
from failure import Failure
from kinds import founding
from run import Run

from agent.configuration import Configuration

ABSENT = (403, 404)
"""Statuses for a missing object; stores answer 403 to clients that may not list."""


def reconcile(run: Run, config: Configuration) -> None:
    """Publish the epoch of the valid founding record if it names a snapshot. Raise Failure store-failed."""
    record = founding.last(run, config["founding"])
    if not record or record["state"] != "founded" or not record.get("snapshot"):
        return
    url = f"{run.value('facts.bundle_store').rstrip('/')}/{epoch.OBJECT}"
    wanted = json.dumps({"epoch": record["epoch"]}).encode()
    try:
        if stored(run, url) != wanted:
            run.ask("store", url, "PUT", wanted, content_type="application/json")
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None


def stored(run: Run, url: str) -> bytes:
    """Return the object's content; empty if it does not exist."""
    try:
        return run.ask("store", url, most=epoch.LARGEST)
    except HTTPError as error:
        if error.code not in ABSENT:
            raise
        return b""
