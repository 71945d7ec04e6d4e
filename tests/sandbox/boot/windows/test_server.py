"""Tasks, disk and clean-up of a Windows machine under Wine, without Windows."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab import build
from lab.linuxnode import network
from sandbox.boot import supervision
from sandbox.boot.windows import machine, registry
from sandbox.boot.windows.server import Failed, Server, command
from tests.windows_plans.registry import hive

RUN = "-NoProfile -NonInteractive -ExecutionPolicy Bypass"
POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"


def task(argument: str, *, user: str = "SYSTEM", execute: str = "powershell.exe", every: str | None = None) -> Any:
    trigger = {"AtStartup": every is None, "Repetition": {"Interval": every}}
    return {"principal": {"UserId": user}, "action": {"Execute": execute, "Argument": argument}, "trigger": trigger}


COMMANDS = {
    "a file": (task(rf'{RUN} -File "C:\a b\loader.ps1"'), r"& 'C:\a b\loader.ps1'"),
    "a command": (task(f'{RUN} -Command "& (1) -Requested"', execute=POWERSHELL), "& (1) -Requested"),
}
STRANGE = {
    "another user's": task(f'{RUN} -File "C:\\a.ps1"', user="Administrator"),
    "another program": task(f'{RUN} -File "C:\\a.ps1"', execute="cmd.exe"),
    "with a profile": task('-File "C:\\a.ps1"'),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_a_registered_task_runs_as_by_the_task_scheduler(what: str) -> None:
    found, words = COMMANDS[what]
    assert command("mullion", found) == words


@pytest.mark.parametrize("what", STRANGE)
def test_a_task_that_does_not_run_powershell_as_system_is_refused(what: str) -> None:
    with pytest.raises(Failed, match="task mullion"):
        command("mullion", STRANGE[what])


def server(folder: Path, tool: str = "winpwsh") -> Server:
    return Server(tool=tool, folder=folder, space="net-x", address="10.20.0.9", launch=lambda: "Start-Ec2Launch v2")


def test_repeated_tasks_are_returned_with_their_interval(tmp_path: Path) -> None:
    here = server(tmp_path)
    assert here.repeated() == {}
    book = here.path(r"C:\fakes\tasks.json")
    book.parent.mkdir(parents=True)
    book.write_text(
        json.dumps({"once": task(f'{RUN} -File "C:\\a.ps1"'), "logs": task(f'{RUN} -Command "l"', every="PT2M")})
    )
    assert here.repeated() == {"logs": (120.0, "l")}


@pytest.mark.subprocess
def test_a_task_that_is_started_by_name_after_the_boot_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, ran = server(tmp_path), list[str]()

    def start(self: Server, command: str) -> Any:
        ran.append(command)
        return subprocess.Popen(["true"])

    monkeypatch.setattr(Server, "start", start)
    book = here.path(r"C:\fakes\tasks.json")
    book.parent.mkdir(parents=True)
    book.write_text(json.dumps({"mullion": task(f'{RUN} -File "C:\\a.ps1"')}))
    calls = [{"name": "Start-ScheduledTask", "asked": {"TaskName": name}} for name in ("mullion", "another")]
    (book.parent / "asked.jsonl").write_text("".join(json.dumps(each) + "\n" for each in calls))
    for _ in range(2):
        here.run_started(lambda: False)
    assert ran == ["& 'C:\\a.ps1'"]


@pytest.mark.parametrize("os", registry.REVISIONS)
def test_a_machine_reports_the_windows_server_of_its_plan(os: str, tmp_path: Path) -> None:
    (tmp_path / "system.reg").write_text("WINE REGISTRY Version 2\n")
    registry.install(tmp_path, os)
    found = hive(tmp_path / "system.reg")[registry.CURRENT_VERSION]
    build, revision = registry.REVISIONS[os]
    assert found["CurrentBuildNumber"] == f'"{build}"'
    assert int(found["UBR"].removeprefix("dword:"), 16) == revision
    assert os.rpartition("-")[2] in found["ProductName"]


def test_every_operating_system_of_windows_pools_has_a_revision() -> None:
    from components.releases.systems import WINDOWS

    assert {name: f"10.0.{build}" for name, (build, _) in registry.REVISIONS.items()} == {
        name: each.build for name, each in WINDOWS.items()
    }


def test_a_file_of_the_cloud_is_written_to_a_new_disk_only(tmp_path: Path) -> None:
    here, path = server(tmp_path), r"C:\AzureData\CustomData.bin"
    here.put(path, b"first")
    here.put(path, b"again")
    assert here.path(path).read_bytes() == b"first"


@pytest.mark.subprocess
def test_clean_stops_a_windows_machine_of_a_killed_supervisor_with_its_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, said = tmp_path / "winpwsh", tmp_path / "said"
    tool.write_text(f'#!/bin/sh\necho "$@" >>{said}\n')
    tool.chmod(0o755)
    monkeypatch.setattr(network, "down", lambda net: None)
    monkeypatch.setattr(build, "place", lambda program: Path("/lab/crinotready"))
    disk = supervision.disks(tmp_path) / "web-0-i-1"
    disk.mkdir(parents=True)
    (disk / machine.WITH).write_text(str(tool))
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen([*words, "/lab/crinotready"]) as its_runtime, subprocess.Popen(words) as somebody:
        for process, code in ((somebody, None), (its_runtime, -9)):
            (disk / machine.RUNTIME).write_text(str(process.pid))
            supervision.clean(tmp_path)
            assert (process.poll() if code is None else process.wait(10)) == code
        somebody.kill()
    assert said.read_text() == f"stop {disk}\n" * 2
