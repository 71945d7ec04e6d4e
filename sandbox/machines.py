"""A machine as its own programs find it, whatever the cloud: its document, its place in the store, what it may do."""

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
    """What of a cloud's machines the sandbox must know to let them do their part.

    type: token of a machine. user_data: text that a machine is given, from its inputs. instance: how the cloud calls
    one towards itself. place: bucket and key of a URL in the store. not_allowed: why a machine's identity does not let
    it do an action with what is at a URL (empty where it does); read, write: those actions. versioned: whether a bucket
    keeps older versions. key: the world's name of a secret, by its name in a fact. ways: the cloud's own reasons why a
    machine gets nowhere, each from the machine and its document (empty where there is none).
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
    ways: tuple[Callable[[CloudState, Record, dict[str, Any]], str], ...]

    def document(self, inputs: dict[str, Any]) -> dict[str, Any] | None:
        """The JSON that a machine's user-data carries, {"bundle", "machine", "facts"}; None where there is none."""
        found = _DOCUMENT.search(self.user_data(inputs))
        return json.loads(found.group(1)) if found else None

    def status_url(self, found: dict[str, Any], instance: str) -> str:
        """Where the machine with this document, which the cloud calls so, puts its status record."""
        return f"{found['facts']['status_url']}{instance}.json"

    def write_status(
        self,
        cloud_state: CloudState,
        machine: Record,
        boot: Boot,
        found: dict[str, Any],
        kubernetes: str | None,
        message: str = "",
    ) -> None:
        """The record of a machine whose run ended well, as its executor writes it. message: what it says besides."""
        bucket, key = self.place(self.status_url(found, self.instance(machine)))
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
