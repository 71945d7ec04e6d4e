"""A Windows machine of the lab: winpwsh runs it in its own network, and what starts at a boot is what is registered."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.boot.windows import server as booted
from sandbox.boot.windows.server import FRESH
from sandbox.records import Record
from tests.boot_to_ready.lab import Lab

__all__ = ["FRESH", "Server", "server"]


@dataclass(kw_only=True)
class Server(booted.Server):
    """One machine, and where it stands in the lab."""

    lab: Lab
    record: Record

    def start(self, command: str, seconds: int = booted.RUN_SECONDS) -> "subprocess.Popen[str]":
        """A run; the first of a boot leaves the machine on."""
        run = super().start(command, seconds)
        self.stay_on()
        return run

    def outcomes(self) -> dict[str, str]:
        """held or set, by step, of the last run."""
        phases = self.result()["phases"]
        return {step["name"]: step["outcome"] for phase in phases for step in phase["steps"]}


@contextmanager
def server(tool: str, lab: Lab, record: Record, space: str, folder: Path, launch: str) -> Iterator[Server]:
    """A machine with a new disk; it ends with the test."""
    place: dict[str, Any] = {"space": space, "address": record.outputs["privateIp"], "hosts": lab.hosts}
    here = Server(tool=tool, folder=folder, lab=lab, record=record, launch=lambda: f"Start-Ec2Launch {launch}", **place)
    here.install("windows-2019")
    yield here
    here.cut()
