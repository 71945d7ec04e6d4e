"""Tells every machine that the cluster was restored: each starts anew what watches it (epoch.py beside node.py)."""

import json
from urllib.error import HTTPError

import epoch
from failure import Failure
from kinds import founding
from run import Run

from agent.configuration import Configuration

ABSENT = (403, 404)
"""A store answers 403 for what is not there to who may not list it."""


def reconcile(run: Run, told: Configuration) -> None:
    """Publish the epoch of the founding that counts, where that began with a snapshot. Failure store-failed."""
    record = founding.last(run, told["founding"])
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
    """The object; empty where there is none."""
    try:
        return run.ask("store", url)
    except HTTPError as error:
        if error.code not in ABSENT:
            raise
        return b""
