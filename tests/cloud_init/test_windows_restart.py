"""Restart-Machine: shutdown.exe first, Restart-Computer only if that fails."""

import pytest

from sandbox.boot.windows.winpwsh import BOOKS, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.watched_node import LOADED, log
from tests.cloud_init.windows import place

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

DONE, DENIED, UNDER_WAY = 0, 5, 1115
"""Exit codes of shutdown.exe (winerror.h)."""


def test_a_restart_asks_wmi_only_if_shutdown_exe_fails(machine: Machine, cloud: FakeCloud) -> None:
    place(machine, cloud, [])
    for folder in (BOOKS, r"C:\ProgramData\mullion"):
        machine.path(folder).mkdir(parents=True, exist_ok=True)
    run = rf"$run = New-Run (Read-Json '{MULLION}\machine.json') $false"
    tries = [rf"[IO.File]::WriteAllText('{BOOKS}\shutdown.txt', '{code}'); Restart-Machine $run"
             for code in (DONE, UNDER_WAY, DENIED)]  # fmt: skip
    missing = r"function global:shutdown.exe { throw 'blocked' }; Restart-Machine $run; exit 0"
    code, said = machine.pwsh("; ".join([LOADED, run, *tries, missing]))
    assert code == 0, said
    asked = [each["name"] for each in machine.asked()]
    assert asked == [*["shutdown.exe"] * 3, *["Restart-Computer"] * 2]
    assert machine.asked()[0]["asked"] == {"arguments": "/r /f /t 0"}
    assert log(machine).count("Restart-Computer is asked") == 2
    assert "shutdown.exe ended with 5" in log(machine)
    assert "shutdown.exe blocked; Restart-Computer is asked" in log(machine)
