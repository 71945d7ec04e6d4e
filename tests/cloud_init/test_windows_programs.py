"""Programs that the Windows executor starts (modules/programs.ps1), under real PowerShell for Windows."""

import pytest

from components.machine.bundle import CLOUD_INIT
from sandbox.boot.windows.winpwsh import Machine

MODULES = CLOUD_INIT / "windows" / "modules"
READ = "$in = [Console]::OpenStandardInput(); while (($byte = $in.ReadByte()) -ge 0) { '{0:x2}' -f $byte }"
"""A program that prints each byte of its standard input in hexadecimal."""


@pytest.mark.windows
@pytest.mark.subprocess
def test_a_program_reads_its_input_in_utf_8_whatever_the_console_uses(machine: Machine) -> None:
    for name in ("run", "native", "plain", "scm", "programs"):
        machine.path(rf"C:\{name}.ps1").write_bytes((MODULES / f"{name}.ps1").read_bytes())
    machine.path(r"C:\read.ps1").write_text(READ)
    code, output = machine.pwsh(
        r"foreach ($name in 'run', 'native', 'plain', 'scm', 'programs') { . C:\$name.ps1 };"
        r" $Utf8 = [Text.UTF8Encoding]::new($false);"
        r" [Console]::InputEncoding = [Text.Encoding]::GetEncoding(28591);"
        r" $me = [Diagnostics.Process]::GetCurrentProcess().MainModule.FileName;"
        r" (Invoke-Program $me @('-NoProfile', '-File', 'C:\read.ps1') -InputText ([string] [char] 0xFC)).Output"
    )
    assert (code, output.split()) == (0, ["c3", "bc"])
