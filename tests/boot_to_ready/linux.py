"""A Linux machine of the lab: linuxnode boots it with the user-data that the program gave the cloud."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lab.linuxnode import machine
from operations.stacks.paths import REPOSITORY
from sandbox.records import Record
from tests.boot_to_ready.lab import Lab


@dataclass
class Node:
    """One machine, with its disk in a folder and its own network."""

    lab: Lab
    record: Record
    folder: Path
    space: str

    def boot(self) -> None:
        """Power on. On a new disk cloud-init runs with the metadata service's data; on a disk that has booted it does
        nothing."""
        (self.folder / "upper" / "etc").mkdir(parents=True, exist_ok=True)
        (self.folder / "upper" / "etc" / "hosts").write_text(self.lab.hosts())
        file = self.folder / "user-data"
        file.write_text(self.lab.user_data(self.space))
        # the default target waits for Mullion's unit, which some tests stop
        assert machine.boot(self.folder, self.space, "debian", str(file), "", "basic.target") == 0, self.console()

    def off(self) -> None:
        """Cut the power."""
        assert machine.stop(self.folder) == 0

    def run(self, *words: str) -> str:
        """Return the output of a command on the machine."""
        argv = [sys.executable, "-m", "lab.linuxnode", "exec", str(self.folder), *words]
        ran = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=REPOSITORY, timeout=60)
        return (ran.stdout + ran.stderr).strip()

    def file(self, path: str) -> Path:
        """Return the host's path of a file of the machine."""
        return self.folder / "upper" / path.lstrip("/")

    def console(self) -> str:
        """Return the output of its serial console."""
        log = self.folder / "console.log"
        return log.read_text(errors="replace")[-8000:] if log.exists() else ""
