"""Encryption keys of the user, which belong to no stack: what a key service would say about them.

A setting of the cloud state holds a key. A key that nobody added does not exist.
"""

import json
from dataclasses import asdict, dataclass

from sandbox.cloud_state import CloudState


@dataclass(frozen=True)
class Key:
    """A key. lacking: services, or "account" and "spot" on AWS, that its policy and grants do not let use it."""

    enabled: bool = True
    lacking: tuple[str, ...] = ()
    identity: str = ""
    """Azure: id of the user-assigned identity that may use the key."""


def put(cloud_state: CloudState, id: str, key: Key | None = None) -> None:
    """Add a key, or change it."""
    cloud_state.set_setting(_setting(id), json.dumps(asdict(key or Key())))


def find(cloud_state: CloudState, id: str) -> Key | None:
    """Return a key; None if it does not exist."""
    found = cloud_state.setting(_setting(id))
    if not found:
        return None
    known = json.loads(found)
    return Key(bool(known["enabled"]), tuple(known["lacking"]), known.get("identity", ""))


def ids(cloud_state: CloudState) -> list[str]:
    """Return the ids of all keys that were added."""
    return [name.removeprefix(_setting("")) for name in cloud_state.settings(_setting(""))]


def _setting(id: str) -> str:
    return f"key/{id}"
