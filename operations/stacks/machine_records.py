"""What `mullion wait` last saw of a stack's machines, in a file, which the HTML report shows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.rollout.plain_text import plain_record
from operations.console import faults
from operations.stacks import target

MEMBERS = ("state", "phase", "step", "code", "name", "kubernetes", "seconds", "time", "problem")
"""Members of a status record that are kept, and the problem that `wait` found. Messages are left out."""


def _file(stack: str) -> Path:
    return target.folder(stack) / "machines.json"


def write(stack: str, records: Mapping[str, tuple[str, Mapping[str, Any], str]]) -> None:
    """Keep the records. records: by machine, the instance's id, the record and the problem, empty if it has none."""
    kept = {
        machine: {"instance": instance, **_kept({**record, "problem": faults.redacted(problem)})}
        for machine, (instance, record, problem) in records.items()
    }
    target.write(_file(stack), json.dumps(kept, indent=1) + "\n")


def _kept(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plain_record(record).items() if name in MEMBERS and value is not None}


def read(stack: str) -> dict[str, dict[str, Any]]:
    """Return the kept records by machine, with the member `instance`; empty if there are none that can be read."""
    try:
        found: Any = json.loads(_file(stack).read_text("utf-8"))
        return {str(machine): plain_record(record) for machine, record in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def forget(stack: str) -> None:
    """Remove the file."""
    _file(stack).unlink(missing_ok=True)
