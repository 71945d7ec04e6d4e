"""Announcement of a machine that wants to join: an object of the bundle store.

It has a random number, made once on the machine. The machine's bootstrap token is derived from that number and from
the secret `join`, so the number alone is no secret. The control plane's agent derives the same token and creates it
in the cluster for this machine (agent/announcements.py). On GCP and Azure, where others may write the object too, the
announcement has a token that names the machine (clouds/gcp.py, clouds/azure.py).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import TYPE_CHECKING

from failure import Failure
from writing import write_whole

if TYPE_CHECKING:
    from run import Run

NUMBER = "/var/lib/mullion/join-number"
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
IDENTIFIER, LENGTH = 6, 22
"""Characters of a bootstrap token before its dot, and without its dot."""


def token(secret: str, number: str) -> str:
    """Return the bootstrap token of a machine that announced the number."""
    made = hmac.new(secret.strip().encode(), number.encode(), hashlib.sha256).digest()
    text = "".join(LETTERS[each % len(LETTERS)] for each in made[:LENGTH])
    return f"{text[:IDENTIFIER]}.{text[IDENTIFIER:]}"


def place(store: str, records: str, instance: str) -> str:
    """Return the URL of a machine's announcement. records: prefix of its records' names, URL-encoded."""
    return f"{store}/join/{records}{instance}.json"


def announce(run: Run, secret: str) -> str:
    """Announce this machine; return its bootstrap token. Raise Failure store-failed or secret-unavailable.

    secret: name of the secret `join`.
    """
    path = run.path(NUMBER)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, secrets.token_hex(16).encode(), 0o600)
    number, store = path.read_text().strip(), run.value("facts.bundle_store").rstrip("/")
    records = run.value("facts.status_url").rpartition("/")[2]
    try:
        me = run.cloud.instance()
        body = json.dumps({"number": number, "instance": me, **run.cloud.proof(run, number)}).encode()
        run.ask("store", place(store, records, me), "PUT", body, content_type="application/json")
    except (OSError, ValueError) as error:
        raise Failure("store-failed", f"{store}/join: {type(error).__name__}: {error}") from None
    made = token(run.secret(secret), number)
    run.keep_unsaid(made)
    return made
