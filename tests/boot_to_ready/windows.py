"""A Windows machine of the lab: winpwsh runs it in its own network; each boot starts the registered tasks."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sandbox.boot.windows import server as booted
from sandbox.boot.windows.server import FRESH
from sandbox.records import Record
from tests.boot_to_ready.lab import Lab

__all__ = ["FRESH", "Server", "server"]


@dataclass(kw_only=True)
class Server(booted.Server):
    """One machine, and its record in the lab."""

    lab: Lab
    record: Record

    def start(
        self, command: str, seconds: int = booted.RUN_SECONDS, output: IO[str] | None = None
    ) -> "subprocess.Popen[str]":
        """Start a command; the first one of a boot leaves the machine on."""
        run = super().start(command, seconds, output)
        self.stay_on()
        return run

    def outcomes(self) -> dict[str, str]:
        """Return held or set, by step, of the last run."""
        phases = self.result()["phases"]
        return {step["name"]: step["outcome"] for phase in phases for step in phase["steps"]}


@contextmanager
def server(tool: str, lab: Lab, record: Record, space: str, folder: Path, launch: str) -> Iterator[Server]:
    """Create a machine with a new disk; it is removed at the end."""
    place: dict[str, Any] = {"space": space, "address": record.outputs["privateIp"], "hosts": lab.hosts}
    machine = Server(
        tool=tool, folder=folder, lab=lab, record=record, launch=lambda: f"Start-Ec2Launch {launch}", **place
    )
    machine.install("windows-2019")
    yield machine
    machine.cut()
