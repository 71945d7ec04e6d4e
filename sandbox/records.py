"""What the world tells of itself: things, calls, objects, boots, faults."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Record:
    """One thing in the cloud. `outputs` holds the inputs too; secret values are redacted in both."""

    sequence: int
    type: str
    id: str
    name: str
    urn: str
    region: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    created: str

    @property
    def tags(self) -> dict[str, str]:
        """Tags with the provider's default tags."""
        return self.outputs.get("tagsAll") or {}


@dataclass(frozen=True)
class Operation:
    """One call the cloud was asked for: kind is create, update or delete; error is None where it was done."""

    sequence: int
    kind: str
    type: str
    urn: str
    id: str
    simulated_seconds: float
    error: str | None
    at: str


@dataclass(frozen=True)
class ObjectRecord:
    """The newest version of an object in a bucket; versions counts those kept."""

    bucket: str
    key: str
    content: bytes
    etag: str
    content_type: str
    modified: str
    versions: int


@dataclass(frozen=True)
class Boot:
    """How far the machine of an instance got.

    state: ready (its status record is written), waiting (it tries again; reason says what is in its way), or dead
    (trying again would not help). bundle is the sha256 it was given.
    """

    instance: str
    machine: str
    bundle: str
    state: str
    reason: str
    at: str


@dataclass(frozen=True)
class Fault:
    """A fault that one planned: see sandbox/faults.py for kinds and amounts.

    type: a type's token or class name, None for any. nth: which matching call it comes at, counted from now.
    times: how many calls in a row.
    """

    sequence: int
    kind: str
    type: str | None
    nth: int
    amount: float
    times: int
