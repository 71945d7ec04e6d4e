"""What a run of node.ps1 finds that an earlier run, or Windows, left behind."""

import hashlib
import os
import zipfile

import pytest

from sandbox.boot.windows.winpwsh import FOLDER, MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.watched_node import LOADED
from tests.cloud_init.windows import place
from tests.conformance.windows_programs import SERVICE
from tests.windows_plans.server import outcomes

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

ARTIFACT, ORDINARY = r"C:\k\large.bin", r"C:\k\small.bin"
STEPS = [{"kind": "service", "name": "daemon", "service": "daemon", "command": [r"C:\k\daemon.exe"]}]
STARTS = r"""
$began = [Diagnostics.Stopwatch]::StartNew()
Update-TypeData -TypeName System.ServiceProcess.ServiceController -MemberType ScriptProperty -MemberName Status -Force `
    -Value { $null = $this.Refresh(); if ($began.Elapsed.TotalSeconds -lt 8) { 'StartPending' }
        else { $this.PSBase.Status } }
"""
"""Shows services as early in a boot, for some seconds."""


def test_large_files_are_read_again_if_they_changed_and_by_every_check(machine: Machine, cloud: FakeCloud) -> None:
    whole = {ARTIFACT: bytes(2**20), ORDINARY: b"small"}
    steps = [
        {"kind": "artifact", "name": path, "path": path, "url": f"{cloud.url}/missing", "retries": 0,
         "digest": f"sha256:{hashlib.sha256(content).hexdigest()}"}
        for path, content in whole.items()
    ]  # fmt: skip
    place(machine, cloud, steps)
    for path, content in whole.items():
        machine.path(path).parent.mkdir(exist_ok=True)
        machine.path(path).write_bytes(content)
    assert machine.node()[0] == 0
    assert set(outcomes(machine.result()).values()) == {"held"}
    file = machine.path(ARTIFACT)
    seen = file.stat()
    file.write_bytes(b"1" + whole[ARTIFACT][1:])
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    # nobody but an administrator or a disk error does that; a run trusts size and time, a check does not
    assert machine.node()[0] == 0
    assert '"would-set"' in machine.pwsh(rf"& '{FOLDER}\node.ps1' -Check")[1]
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns + 10**9))
    assert machine.node()[0] == 1
    assert (machine.result()["name"], machine.result()["step"]) == ("download-failed", ARTIFACT)


def test_a_service_that_is_still_starting_is_waited_for_and_not_stopped(machine: Machine, cloud: FakeCloud) -> None:
    place(machine, cloud, STEPS)
    program = machine.path(r"C:\k\daemon.exe")
    program.parent.mkdir(exist_ok=True)
    program.write_bytes(machine.path(SERVICE).read_bytes())
    assert machine.node()[0] == 0
    code, said = machine.pwsh(f"{STARTS}; {machine.run_node}")
    assert code == 0, said
    assert outcomes(machine.result()) == {"daemon": "held"}


def test_an_error_of_a_module_of_windows_ends_a_script_that_another_one_calls(
    machine: Machine, cloud: FakeCloud
) -> None:
    # as the periodic task and Azure's extension do; functions of modules do not see the caller's own preference
    place(machine, cloud, [])
    script = machine.path(r"C:\user\called.ps1")
    script.parent.mkdir(exist_ok=True)
    script.write_text(
        rf". '{MULLION}\bundles\b\loader.ps1' -Functions; "
        "try { Start-ScheduledTask -TaskName 'none'; 'went on' } catch { 'ended' }; $global:LASTEXITCODE = 0"
    )
    assert machine.pwsh(r"& C:\user\called.ps1") == (0, "ended\n")


def test_a_boot_has_one_number_and_the_next_boot_another(machine: Machine, cloud: FakeCloud) -> None:
    place(machine, cloud, [])
    machine.pwsh(r"reg.exe delete HKLM\SOFTWARE\mullion-boot /f")  # the tests' own, which outlives a boot
    ask = f"{LOADED}; [Console]::Out.Write((Get-BootId)); exit 0"
    first, again = machine.pwsh(ask), machine.pwsh(ask)
    machine.cut()
    machine.stay_on()
    later = machine.pwsh(ask)
    assert first == again != later
    assert all(code == 0 and said.isdigit() for code, said in (first, later))


def test_a_service_whose_program_an_archive_replaces_runs_the_new_one(machine: Machine, cloud: FakeCloud) -> None:
    source = machine.path(r"C:\images\programs.zip")
    source.parent.mkdir()
    archive = {"kind": "archive", "name": "programs", "source": r"C:\images\programs.zip", "target": r"C:\k"}
    place(machine, cloud, [archive, *STEPS])
    found: list[dict[str, str]] = []
    for version in (b"1", b"", b"2"):
        if version:
            with zipfile.ZipFile(source, "w") as made:
                made.writestr("daemon.exe", machine.path(SERVICE).read_bytes() + version)
        assert machine.node()[0] == 0
        found.append(outcomes(machine.result()))
    assert [set(each.values()) for each in found] == [{"set"}, {"held"}, {"set"}]


def test_memory_that_a_power_cut_left_under_its_new_name_is_read(machine: Machine, cloud: FakeCloud) -> None:
    place(machine, cloud, [])
    state = machine.path(r"C:\ProgramData\mullion\state.json.new")
    state.parent.mkdir(parents=True)
    said: list[tuple[int, str]] = []
    for text in ('{"drives": ["C"]}', '{"drives": ["', ""):
        state.write_text(text)
        said.append(machine.pwsh(f"{LOADED}; [Console]::Out.Write((ConvertTo-JsonText (Update-Memory))); exit 0"))
    assert said == [(0, '{"drives": ["C"]}'), (0, "{}"), (0, "{}")]
