"""A clone of the repository in which commands boot a stack's machines."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

from components.node.api_server import AUDIT_LOGS
from operations.commands import sandbox_boot
from operations.stacks.paths import REPOSITORY
from sandbox.boot import supervision
from sandbox.cloud_state import CloudState
from tests import clones
from tests.lab.cluster.running import in_clone
from tests.lab.cluster.test_leaves_nothing import left

LONGEST = 900
"""Seconds of one command; it takes a fraction of that on two idle cores."""


class Clone:
    """A clone in which commands run."""

    def __init__(self, folder: Path, stack: str, cluster: dict[str, Any] | None = None) -> None:
        """cluster: of a stack on AWS that the repository does not contain."""
        self.folder, self.stack = folder, stack
        self.groups: list[Path] = []
        self.sandbox = folder / ".mullion" / "sandbox" / stack
        if cluster:
            text = yaml.safe_dump({"config": {"aws:region": "eu-west-1", "mullion:cluster": cluster}})
        else:
            text = (REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml").read_text("utf-8")
        clones.write(folder, stack, text)

    def argv(self, *words: str) -> list[str]:
        """Return the words of a process that runs a command here."""
        return in_clone(self.folder, *words)

    def mullion(self, *words: str) -> str:
        """Run a command that must succeed; return its output."""
        ran = subprocess.run(
            self.argv(*words), cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=LONGEST,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def machines(self) -> dict[str, dict[str, str]]:
        """Return the machines of `sandbox ls` without starting a process, for tests that poll."""
        with closing(CloudState(supervision.cloud_state_file(self.sandbox))) as cloud_state:
            return sandbox_boot.machines(cloud_state)

    def audit_lines(self) -> Iterator[str]:
        """Yield the lines of the API server's audit log."""
        for disk in supervision.disks(self.sandbox).glob("control-plane-0-*"):
            for log in disk.glob(f"upper{AUDIT_LOGS}/*"):
                yield from log.read_text(errors="replace").splitlines()

    def remains(self) -> dict[str, list[str]]:
        """Return leftovers of its machines on this host."""
        return left(self.folder, supervision.namespace(self.sandbox), self.groups)
