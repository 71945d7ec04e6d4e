"""The Windows executor where security software refuses its calls to Windows libraries, under real PowerShell."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from components.machine.bundle import CLOUD_INIT
from sandbox.boot.windows.registry import SERVICE
from sandbox.boot.windows.winpwsh import FOLDER, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.windows import place

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

REFUSED = "throw 'This script contains malicious content and has been blocked by your antivirus software.'"
"""Imitates AMSI: a script file that it refuses fails at its first line."""


def steps(word: str) -> list[dict[str, object]]:
    """Return steps that create or change a service, and start a program."""
    service = {"kind": "service", "name": "s", "service": "mullion-s", "command": [SERVICE, word, "a b"]}
    program = {"kind": "command", "name": "c", "argv": ["cmd.exe", "/c", "echo ran>>C:\\ran.txt"]}
    return [service | {"description": "A service", "restart_seconds": 7}, program]


@pytest.mark.parametrize("refused", ["native", "scm"])
def test_services_and_programs_run_if_a_script_with_library_calls_is_refused(
    machine: Machine, cloud: FakeCloud, refused: str
) -> None:
    for word in ("--first", "--second"):
        place(machine, cloud, steps(word))
        (machine.path(FOLDER) / "modules" / f"{refused}.ps1").write_text(REFUSED)
        assert machine.node()[0] == 0, machine.result()
        outcomes = {each["name"]: each["outcome"] for each in machine.result()["phases"][0]["steps"]}
        assert outcomes == {"s": "set", "c": "set"}
    key = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\mullion-s"
    asked = f"[Microsoft.Win32.Registry]::GetValue('{key}', 'ImagePath', ''); sc.exe query mullion-s"
    said = machine.pwsh(asked)[1]
    assert '--second "a b"' in said and "RUNNING" in said, said


@pytest.mark.parametrize("refused", ["native", "scm"])
def test_logs_are_collected_and_an_image_is_cleaned_if_that_script_is_refused(
    machine: Machine, cloud: FakeCloud, refused: str
) -> None:
    place(machine, cloud, [])
    folder, left = machine.path(FOLDER), machine.path(r"C:\k\node.conf")
    (folder / "modules" / f"{refused}.ps1").write_text(REFUSED)
    (folder / "image").mkdir()
    (folder / "image" / "clean.ps1").write_bytes((CLOUD_INIT / "windows" / "image" / "clean.ps1").read_bytes())
    kinds = ("services", "stopped", "tasks", "rules", "folders", "kept", "stays")
    remove = {**{kind: [] for kind in kinds}, "files": [r"C:\k\node.conf"]}
    (folder / "bake.json").write_text(json.dumps({"remove": remove}))
    left.parent.mkdir()
    left.write_text("web-0")
    runs = rf"& '{FOLDER}\collect-logs.ps1' -Output C:\logs.zip", rf"& '{FOLDER}\image\clean.ps1'"
    code, said = machine.pwsh("; ".join([*runs, "exit 0"]))
    assert code == 0, said
    assert machine.path(r"C:\logs.zip").exists()
    assert not left.exists()


def test_hns_without_library_calls_fails_with_its_own_number(machine: Machine, cloud: FakeCloud) -> None:
    network = {"kind": "hns-network", "name": "n", "network": "cbr0", "subnet": "10.244.3.0/24", "endpoint": "cbr0_ep"}
    place(machine, cloud, [network])
    (machine.path(FOLDER) / "modules" / "native.ps1").write_text(REFUSED)
    assert machine.node()[0] == 1
    result = machine.result()
    assert (result["code"], result["name"]) == (509, "code-blocked"), result


def test_functions_of_a_library_compile_as_c_sharp(
    machine: Machine, tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> None:
    """Judge the source by Mono's compiler; the compiler of PowerShell is not part of these machines."""
    compiler = shutil.which("mcs")
    if not compiler:
        missing("mcs", "no C# compiler: apt-get install mono-mcs")
    for name in ("run", "native"):
        machine.path(rf"C:\{name}.ps1").write_bytes((CLOUD_INIT / "windows" / "modules" / f"{name}.ps1").read_bytes())
    machine.pwsh(
        "function global:Add-Type { param($Namespace, $Name, $MemberDefinition, [switch] $PassThru)"
        r" [IO.File]::WriteAllText('C:\source.txt', $MemberDefinition) }; . C:\run.ps1; . C:\native.ps1;"
        r" New-CompiledType 'Mullion.Test' 'vmcompute.dll' @{"
        r" HNSCall = [int], @([string], [string], [string], [string].MakeByRefType());"
        r" CloseHandle = [bool], @(, [IntPtr]); Now = [uint32], @() }"
    )
    members = machine.path(r"C:\source.txt").read_text()
    (tmp_path / "native.cs").write_text(
        "using System; using System.Runtime.InteropServices; public class Native {\n" + members + "\n}\n"
        'class Caller { static int Call() { string said = ""; return Native.HNSCall("a", "b", "c", ref said); } }\n'
    )
    words = [compiler, "-target:library", "-out:native.dll", "native.cs"]
    compiled = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr + members
