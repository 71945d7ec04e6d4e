"""Deadlines that end the process of a query that hangs (modules/deadline.ps1), under real PowerShell."""

import time

import pytest

from sandbox.boot.windows.winpwsh import BOOKS, Machine
from tests.cloud_init.watched_node import LOADED, node

__all__ = ["node"]

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

ENDED = -1
"""Exit code of a process that .NET's Process.Kill ended."""
SLOW = """@{ ModuleVersion = '1.0'; RootModule = 'slow.psm1'; FunctionsToExport = 'Get-SlowAnswer' }"""
MODULE = "Start-Sleep -Seconds 6; function Get-SlowAnswer { [CmdletBinding()] param() 'answered' }"


def test_the_deadline_of_a_query_begins_after_its_module_is_loaded(node: Machine) -> None:
    folder = node.path(rf"{BOOKS}\modules\slow")
    folder.mkdir()
    (folder / "slow.psd1").write_text(SLOW)
    (folder / "slow.psm1").write_text(MODULE)
    ask = "$QuerySeconds = 3; Find-NetObject { Get-SlowAnswer -ErrorAction Stop }"
    code, said = node.pwsh(f"{LOADED}; {ask}; $global:LASTEXITCODE = 0")
    assert (code, said.strip()) == (0, "answered")


def test_a_deadline_kills_its_process_also_if_the_mark_cannot_be_written(node: Machine) -> None:
    node.path(r"C:\k\full").write_text("a file where the mark's folder would be")
    began = time.monotonic()
    code, said = node.pwsh(rf"{LOADED}; $HungMark = 'C:\k\full\mark'; $end = New-Deadline 1; Start-Sleep -Seconds 60")
    assert (code % 256, said) == (ENDED % 256, ""), said
    assert time.monotonic() - began < 50
