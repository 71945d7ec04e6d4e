"""Start of user-data on a Windows machine without network, under PowerShell for Windows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.boot.windows.winpwsh import Machine, new_machine

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]

MARK = r"C:\ProgramData\Amazon\EC2Launch\state\.run-once"
LAUNCHED = r"C:\fakes\launched.txt"
STARTS = {"Start-Ec2Launch v1": MARK, "Start-Ec2Launch v2": MARK, "Start-MetadataScript": LAUNCHED}
"""What starts it, and what says that it was started at an earlier boot."""


@pytest.fixture
def isolated(winpwsh: str, tmp_path: Path) -> Iterator[Machine]:
    """A machine in an empty network, without an address."""
    here = new_machine(winpwsh, tmp_path / "machine")
    here.entry = ("unshare", "--net")
    yield here
    here.cut()


def test_a_disconnected_machine_continues_only_if_its_user_data_was_started_before(isolated: Machine) -> None:
    tried = "; ".join(f"try {{ {each}; 'went on' }} catch {{ 'failed' }}" for each in STARTS)
    assert isolated.pwsh(f"Import-Module boot; {tried}") == (0, "failed\n" * 3)
    for mark in STARTS.values():
        isolated.path(mark).parent.mkdir(parents=True, exist_ok=True)
        isolated.path(mark).write_text("")
    assert isolated.pwsh(f"Import-Module boot; {tried}") == (0, "went on\n" * 3)
    assert isolated.path(LAUNCHED).read_text() == "", "no user-data was started"


def test_azures_extension_runs_its_command_once_for_its_settings(isolated: Machine) -> None:
    start = "Start-CustomScript 'Add-Content C:\\ran.txt (1 + 1)'"
    assert isolated.pwsh(f"Import-Module boot; {start}; {start}")[0] == 0
    assert isolated.path(r"C:\ran.txt").read_text().split() == ["2"]
    isolated.cut()
    isolated.pwsh(f"Import-Module boot; {start}")
    assert isolated.path(r"C:\ran.txt").read_text().split() == ["2"], "not again at a restart"
