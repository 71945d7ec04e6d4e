"""Machines of any cloud as their own programs see them: document in user-data, status record, rights."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox.cloud_state import CloudState, now
from sandbox.records import Boot, Record

_DOCUMENT = re.compile(r'^\s*(\{"bundle":.*\})\s*$', re.MULTILINE)


@dataclass(frozen=True)
class Machines:
    """How a cloud's tables describe its machines.

    type: token of a machine. user_data: user-data text from a machine's inputs. instance: the id that the metadata
    service gives to the machine. place: bucket and key of a URL in the store. not_allowed: why a machine's identity may
    not do an action at a URL (empty if it may); read, write: these actions. versioned: whether a bucket keeps older
    versions. key: key of a secret in the cloud state, from its name in a fact. obstacles: reasons of this cloud why a
    machine cannot boot, each from the machine and its document (empty if there is none). stop: makes a machine that has
    baked an image stop; None where nothing bakes.
    """

    type: str
    user_data: Callable[[dict[str, Any]], str]
    instance: Callable[[Record], str]
    place: Callable[[str], tuple[str, str]]
    not_allowed: Callable[[CloudState, Record, str, str], str]
    read: str
    write: str
    versioned: Callable[[CloudState, str], bool]
    key: Callable[[CloudState, str], str]
    obstacles: tuple[Callable[[CloudState, Record, dict[str, Any]], str], ...]
    stop: Callable[[CloudState, Record], None] | None = None

    def document(self, inputs: dict[str, Any]) -> dict[str, Any] | None:
        """Return the JSON in a machine's user-data, {"bundle", "machine", "facts"}; None if there is none."""
        match = _DOCUMENT.search(self.user_data(inputs))
        return json.loads(match.group(1)) if match else None

    def status_url(self, document: dict[str, Any], instance: str) -> str:
        """Return the URL of the status record of the instance with this document."""
        return f"{document['facts']['status_url']}{instance}.json"

    def write_status(
        self,
        cloud_state: CloudState,
        machine: Record,
        boot: Boot,
        document: dict[str, Any],
        kubernetes: str | None,
        message: str = "",
    ) -> None:
        """Write the status record of a machine that is ready, as its executor writes it."""
        bucket, key = self.place(self.status_url(document, self.instance(machine)))
        record = {
            "machine": boot.machine,
            "instance": self.instance(machine),
            "bundle": boot.bundle,
            "state": "ready",
            "phase": None,
            "step": None,
            "code": None,
            "name": None,
            "message": message,
            "kubernetes": kubernetes,
            "seconds": 0,
            "time": now(),
        }
        content = json.dumps(record, sort_keys=True).encode()
        cloud_state.put_object(bucket, key, content, "application/json", versioned=self.versioned(cloud_state, bucket))
