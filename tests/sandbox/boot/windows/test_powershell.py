"""PowerShell where Windows has it, with a console of its own, as the service manager starts it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.boot.windows.winpwsh import Machine, new_machine

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]

POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
SAID, SCRIPT = r"C:\said.txt", r"C:\says.ps1"


@pytest.fixture
def machine(winpwsh: str, tmp_path: Path) -> Iterator[Machine]:
    made = new_machine(winpwsh, tmp_path / "machine")
    yield made
    made.cut()


def test_a_script_runs_in_a_new_console(machine: Machine) -> None:
    machine.path(SCRIPT).write_text(f"[IO.File]::WriteAllText('{SAID}', (Get-Process -Id $PID).Path)")
    words = f"'-NoProfile -NonInteractive -ExecutionPolicy Bypass -File {SCRIPT}'"
    code, said = machine.pwsh(f"Start-Process -Wait -FilePath '{POWERSHELL}' -ArgumentList {words}")
    assert code == 0, said
    assert machine.path(SAID).read_text().lower() == POWERSHELL.lower()
