"""Names of etcd snapshots in the snapshot store: time, reason, sha256, and a MAC over these three.

etcd/20261124T093000Z-timer.<sha256>.<mac>.db         at an interval
etcd/20261124T095000Z-command.<sha256>.<mac>.db  by `mullion snapshot`
etcd/20261124T101500Z-1795600000.<sha256>.<mac>.db    before a change; the pointer's serial is the reason

The store is not trusted: only the control plane and the program have the MAC's key, the secret desired-state.
"""

from __future__ import annotations

import hashlib
import hmac
import re

PREFIX = "etcd/"
KEY = re.compile(
    rf"(?P<body>{PREFIX}(?P<at>\d{{8}}T\d{{6}}Z)-(?:timer|command|\d+)\.(?P<sha256>[0-9a-f]{{64}}))\.(?P<mac>[0-9a-f]{{64}})\.db"
)


def name(secret: str, stamp: str, reason: str, sha256: str) -> str:
    """Return the key of a snapshot. stamp: UTC, 20261124T093000Z."""
    body = f"{PREFIX}{stamp}-{reason}.{sha256}"
    return f"{body}.{_mac(secret, body)}.db"


def signed(secret: str, key: str) -> re.Match[str] | None:
    """Return the parts of a key that has this cluster's MAC; None of any other key."""
    found = KEY.fullmatch(key)
    return found if found and hmac.compare_digest(_mac(secret, found["body"]), found["mac"]) else None


def _mac(secret: str, body: str) -> str:
    """Return the HMAC-SHA-256; components/rollout/signed_documents.py computes the same."""
    return hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
