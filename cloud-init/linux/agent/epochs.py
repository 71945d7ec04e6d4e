"""Publishes two numbers of the founding log in the bundle store.

The epoch of a restore, so every machine restarts the programs that watch the cluster (epoch.py); and the last founding,
so no machine founds the cluster again from a log whose last records were deleted (kinds/founding.py).
"""

import json
from typing import Any
from urllib.error import HTTPError

import epoch
from failure import Failure
from kinds import founding
from run import Run

from agent.configuration import Configuration


def reconcile(run: Run, config: Configuration) -> None:
    """Publish the number of the valid founding record, and as epoch if it names a snapshot.

    A record without the MAC of the current key is from before records were signed, or before the key was renewed, or
    forged. Its number is published only if none is; it lets nobody found a cluster, which needs a signed record.

    Raise Failure store-failed, or founding-refused if the log ends before the last founding or after it without a MAC.
    """
    step = config["founding"]
    record = founding.last(run, step)
    founding.refuse_older(run, step, record)
    if not record or record["state"] != "founded":
        return
    signed, known = founding.is_signed(run, record), founding.published(run, step)
    if not signed and known not in (-1, record["epoch"]):
        text = f"{founding.place(step, record['epoch'])} lacks the MAC of this cluster's desired-state key"
        raise Failure("founding-refused", f"{text}, and the cluster was founded at number {known}: delete the record")
    number: dict[str, Any] = {"cluster": step["cluster"], "epoch": record["epoch"]}
    publish(run, founding.published_place(run), {**number, "mac": founding.mac(run, number)})
    if signed and record.get("snapshot"):
        publish(run, f"{run.value('facts.bundle_store').rstrip('/')}/{epoch.OBJECT}", {"epoch": record["epoch"]})


def publish(run: Run, url: str, document: dict[str, Any]) -> None:
    """Write an object unless it has this content. Raise Failure store-failed."""
    wanted = json.dumps(document).encode()
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
        if error.code not in founding.ABSENT:
            raise
        return b""
