"""A Windows machine that plays cases one after the other, in one PowerShell process that lives until a cut."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.boot.windows.winpwsh import FOLDER, Machine

DRIVER = Path(__file__).with_name("windows_driver.ps1")
JOB_SECONDS = 120
"""Longest time of one job in seconds; a run under Wine takes about one."""
IDLE_SECONDS = 1200


class PowerGone(Exception):
    """Raised if the process ended during a job."""


@dataclass
class Driver:
    """Jobs for windows_driver.ps1 on one machine."""

    machine: Machine
    process: subprocess.Popen[str] | None = None
    full: Path | None = None
    r"""The host's path of C:\full: a small disk that can be full."""
    longest: float = JOB_SECONDS
    """Seconds that one job may take."""

    def __post_init__(self) -> None:
        """Copy the driver to the machine, which gets a second drive, D:."""
        self.jobs.mkdir(exist_ok=True)
        second = self.machine.folder / "drive_d"
        if not second.exists():
            second.mkdir()
            (self.machine.folder / "dosdevices" / "d:").symlink_to(second)
        (self.jobs / "driver.ps1").write_bytes(DRIVER.read_bytes())

    @property
    def jobs(self) -> Path:
        r"""Return the host's path of C:\jobs."""
        return self.machine.path(r"C:\jobs")

    def call(self, kind: str, **job: Any) -> dict[str, Any]:
        """Do a job and return its answer. Raises PowerGone if the process ended; the next job starts a new one."""
        self.send(kind, **job)
        return self.answer()

    def send(self, kind: str, **job: Any) -> None:
        """Send a job."""
        if self.process is None or self.process.poll() is not None:
            for name in ("job.json", "answer.json", "answer.new", "met", "go"):
                (self.jobs / name).unlink(missing_ok=True)
            self.machine.stay_on()
            self.process = self.machine.start(r"& C:\jobs\driver.ps1", IDLE_SECONDS)
        new = self.jobs / "job.new"
        new.write_text(json.dumps({"kind": kind, **job}))
        new.rename(self.jobs / "job.json")

    def answer(self) -> dict[str, Any]:
        """Return the answer of the last job."""
        place, end = self.jobs / "answer.json", time.monotonic() + self.longest
        process = self.process
        assert process is not None
        while not place.exists():
            if process.poll() is not None and not place.exists():
                raise PowerGone(f"exit {process.returncode}: {last_words(process)}")
            assert time.monotonic() < end, f"no answer within {self.longest} s"
            time.sleep(0.01)
        result = json.loads(place.read_text())
        place.unlink()
        assert "broken" not in result, result
        return result

    def kill(self) -> None:
        """Cut the power of the machine: all processes end, disk and registry stay."""
        self.machine.cut()
        if self.process is not None:
            self.process.wait(30)
            if self.process.stdout:
                self.process.stdout.close()

    def second_run(self, data: str) -> str:
        """Start the executor in a second process; return its output."""
        command = rf"function Start-Sleep {{}}; $env:ProgramData = '{data}'; & '{FOLDER}\node.ps1'"
        return self.machine.pwsh(command)[1]


def last_words(process: subprocess.Popen[str]) -> str:
    """Return the end of the process's output; a console of Wine may keep the pipe open longer than the process
    lives."""
    assert process.stdout is not None
    with process.stdout, suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=5)[0][-800:]
    return ""


@contextmanager
def small_disk(machine: Machine) -> Iterator[Driver]:
    r"""Return a driver on the machine, whose C:\full is a disk of 1 MiB in its own mount namespace."""
    place = machine.path(r"C:\full")
    place.mkdir()
    script = 'mount -t tmpfs -o size=1m mullion "$1" && echo mounted && exec sleep 9999'
    words = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", str(place)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "mounted\n"
            machine.entry = ("nsenter", "-m", "-t", str(holder.pid), "--")
            driver = Driver(machine, full=Path(f"/proc/{holder.pid}/root{place}"))
            yield driver
            driver.kill()
        finally:
            holder.kill()


def fill(folder: Path) -> None:
    """Fill the folder's disk to the last byte."""
    with (folder / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        for block in (4096, 1):
            with suppress(OSError):
                while filler.write(bytes(block)):
                    pass


def clear(folder: Path) -> None:
    """Free the space again."""
    (folder / "filler").unlink()
