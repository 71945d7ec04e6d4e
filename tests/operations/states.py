"""States of temporary clusters for tests."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any

from pulumi.automation import CommandError, CommandResult

from operations.stacks import target

CREATED = datetime(2026, 11, 23, 10, 0, tzinfo=timezone.utc)


def deployment(*, resources: bool = True, roots: int = 1, **spec: Any) -> dict[str, Any]:
    """Return an exported state with a cluster of this spec, created at 10:00."""
    root = {
        "type": "mullion:index:MixedCluster",
        "urn": "urn:pulumi:ci::mullion::mullion:index:MixedCluster::ci",
        "inputs": {"cloud": "aws", **spec},
        "created": "2026-11-23T10:00:00.857175387Z",
    }
    machine = {
        "type": "aws:ec2/instance:Instance",
        "urn": "urn:pulumi:ci::mullion::aws:ec2/instance:Instance::ci-web-0",
        "outputs": {"arn": "arn:aws:ec2:eu-west-1:111122223333:instance/i-1"},
    }
    return {"resources": [*[root] * roots, *([machine] if resources else [])]}


NOW = CREATED + timedelta(hours=9)
STATES = {
    "ci-long-past": deployment(expires="1h", owner="qa"),
    "ci-past": deployment(expires="2026-11-23T18:00:00Z"),
    "ci-fresh": deployment(expires="10h"),
    "ci-for-ever": deployment(),
    "ci-protected": deployment(expires="1h", protect=True),
    "ci-unreadable": deployment(expires="soon"),
}
"""States at NOW, 9 hours after the creation of each cluster."""


def put(name: str, state: dict[str, Any]) -> None:
    """Write a state into the backend of a sandbox."""
    folder = target.sandbox_folder(name) / "state" / ".pulumi" / "stacks" / "mullion"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"checkpoint": {"latest": state}}))


class Backend:
    """A workspace whose engine answers from these states."""

    def __init__(self, states: dict[str, str]) -> None:
        self.states, self.work_dir, self.pulumi_command = states, ".", self

    def list_stacks(self) -> list[Any]:
        """List the stacks; like the engine's own list, fail as a whole if one cannot be read."""
        for text in self.states.values():
            if text.startswith("unlistable: "):
                raise CommandError(CommandResult("", text.removeprefix("unlistable: "), 255))
        rows = [type("Summary", (), {"name": name, "resource_count": 2})() for name in self.states]
        return [*rows, type("Summary", (), {"name": "empty", "resource_count": 0})()]

    def run(self, words: list[str], *_: Any) -> Any:
        said = self.states[words[-1]].removeprefix("unlistable: ")
        if said.startswith("error: "):
            raise CommandError(CommandResult("", said, 255))
        return type("Result", (), {"stdout": self.states[words[-1]]})()
