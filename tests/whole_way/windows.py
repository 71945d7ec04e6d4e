"""A Windows machine of the lab: winpwsh runs it in its own network, and what starts at a boot is what is registered."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sandbox.records import Record
from tests.cloud_init.windows import WINE_CRASHED, Machine, inside, new_machine
from tests.whole_way.lab import Lab

STANDINS = Path(__file__).with_name("boot.psm1")
MODULE = r"C:\fakes\modules\boot\boot.psm1"
FRESH = "ec2amaz-1"
"""The name that Windows gives itself before anyone names it."""
RESTARTS = 5
PATIENCE = 600
"""Seconds after which a run is taken for one that hangs."""
_FILE = re.compile(r'-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "([^"]+)"')


@dataclass(kw_only=True)
class Server(Machine):
    """One machine: `tool` and `folder` as elsewhere, and where it stands in the lab."""

    lab: Lab
    record: Record
    space: str
    launch: str
    """Version of EC2Launch on its image: v1 or v2."""
    _started: set[str] = field(default_factory=set[str])

    def start(self, command: str, seconds: int = PATIENCE) -> "subprocess.Popen[str]":
        """A run of PowerShell in the machine's network, with its name and its /etc/hosts, which Wine reads."""
        hosts = self.folder / "hosts"
        # its own name too: a name server that nobody reaches makes each start of Wine wait for it
        hosts.write_text(f"{self.lab.hosts()}{self.record.outputs['privateIp']} {self.name}\n")
        self.entry = inside(self.space, self.name, hosts)
        return super().start(f"Import-Module boot -DisableNameChecking; {command}", seconds)

    @property
    def name(self) -> str:
        """The name of this boot: what was asked for before it."""
        asked = self.path(r"C:\fakes\name.txt")
        return asked.read_text() if asked.exists() else FRESH

    def power_on(self) -> None:
        """Boot, as often as the machine restarts itself, until nothing that was started runs any more."""
        for _ in range(RESTARTS):
            restarts = self.restarts()
            self.begin()
            for run in self.tasks():
                run.communicate(timeout=PATIENCE + 60)
                if self.restarts() > restarts:
                    break
            if self.restarts() == restarts:
                return
            self.cut()
        raise AssertionError(f"it restarts for ever: {self.asked()}")

    def begin(self) -> None:
        """Up to where the task scheduler starts tasks: the kernel, then EC2Launch."""
        seen = len(self.asked())
        code, said = self.pwsh(f"Start-Windows; Start-Ec2Launch {self.launch}", 240)
        assert code == 0, said
        self._started = {
            one["asked"]["TaskName"] for one in self.asked()[seen:] if one["name"] == "Start-ScheduledTask"
        }

    def tasks(self) -> "Iterator[subprocess.Popen[str]]":
        """Run what is registered to start at boot, or was started by name; never the same task twice in a boot."""
        file = self.path(r"C:\fakes\tasks.json")
        registered: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        assert self._started <= set(registered)
        for name, task in registered.items():
            if not task["trigger"]["AtStartup"] and name not in self._started:
                continue
            assert task["principal"]["UserId"] == "SYSTEM"
            assert task["action"]["Execute"] == "powershell.exe"
            script = _FILE.fullmatch(task["action"]["Argument"])
            assert script, task["action"]
            assert self.path(script[1]).is_file(), f"{script[1]} is not there"
            yield self.again(rf"& '{script[1]}'")

    def again(self, command: str) -> "subprocess.Popen[str]":
        """A run; once more where Wine itself crashed."""
        run = self.start(command)
        if run.poll() == WINE_CRASHED:
            return self.start(command)
        return run

    def restarts(self) -> int:
        """How often the machine asked for a restart."""
        return sum(one["name"] == "Restart-Computer" for one in self.asked())

    def outcomes(self) -> dict[str, str]:
        """held or set, by step, of the last run."""
        phases = self.result()["phases"]
        return {step["name"]: step["outcome"] for phase in phases for step in phase["steps"]}

    def log(self) -> str:
        """What the loader and the executor wrote."""
        folder = self.path(r"C:\ProgramData\mullion")
        return "\n".join(file.read_text(errors="replace") for file in sorted(folder.glob("*.log")))


Form = TypeVar("Form", bound=Server)


@contextmanager
def server(
    tool: str, lab: Lab, record: Record, space: str, folder: Path, launch: str, form: type[Form] = Server
) -> Iterator[Form]:
    """A machine with a new disk; it ends with the test."""
    made = new_machine(tool, folder)
    here = form(tool=tool, folder=made.folder, lab=lab, record=record, space=space, launch=launch)
    module = here.path(MODULE)
    module.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(STANDINS, module)
    yield here
    here.cut()
