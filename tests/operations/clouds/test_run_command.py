"""Run Command: the request, judged by Azure's own model; the script, run by a real shell; answers of both systems."""

import json
import subprocess
from pathlib import Path

import pytest

from operations.clouds import run_command
from sandbox.boot.windows.winpwsh import new_machine
from tests.components.official_models.azure_models import Row, faults

REQUEST = Row("compute.v2024_11_01", "RunCommandInput", "_operations.virtual_machines_run_command")
VM = "/subscriptions/s/resourceGroups/team/providers/Microsoft.Compute/virtualMachines/web-0"


@pytest.mark.parametrize(("is_windows", "command_id"), [(False, "RunShellScript"), (True, "RunPowerShellScript")])
def test_the_request_is_one_of_azures_model(is_windows: bool, command_id: str) -> None:
    """Compare with `az vm run-command invoke` (azure-cli, command_modules/vm, _params.py)."""
    words = run_command.words(VM, Path("script"), is_windows=is_windows)
    assert words[:4] == ["az", "vm", "run-command", "invoke"]
    given = dict(zip(words[4::2], words[5::2], strict=True))
    assert given == {"--ids": VM, "--command-id": command_id, "--scripts": "@script", "--output": "json"}
    text = run_command.script(["hostname"], is_windows=is_windows)
    _, _, _, _, group, *_, name = given["--ids"].split("/")
    asked = {"resourceGroupName": group, "vmName": name, "commandId": given["--command-id"], "script": [text]}
    assert faults(REQUEST, asked) == []
    assert faults(REQUEST, asked | {"script": text}) != []


CODES = {"true": 0, "false": 1, "exit 7": 7, "echo a; exit 3": 3, "no-such-program": 127, "cat": 0}


@pytest.mark.subprocess
@pytest.mark.parametrize("command", CODES)
def test_the_last_line_of_a_script_has_the_exit_code(command: str) -> None:
    text = run_command.script(command.split(" "), is_windows=False)
    ran = subprocess.run(["sh"], input=text, capture_output=True, text=True, check=True)
    message = f"Enable succeeded: \n[stdout]\n{ran.stdout}\n[stderr]\n{ran.stderr}"
    read = run_command.read(json.dumps({"value": [{"code": "ProvisioningState/succeeded", "message": message}]}))
    assert read.code == CODES[command]


FILE = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File")
ON_WINDOWS = {
    "'hi'": ("hi\n", 0),
    'Write-Output hi; cmd /c "exit 3" # why': ("hi\n", 3),
    "Get-Item C:\\windows | ForEach-Object Name": ("windows\n", 0),
    "Get-Item C:\\nothing": ("", 1),
    "throw 'boom'": ("", 1),
}


@pytest.mark.windows
@pytest.mark.subprocess
def test_the_last_line_of_a_script_for_powershell_has_the_exit_code(winpwsh: str, tmp_path: Path) -> None:
    machine = new_machine(winpwsh, tmp_path / "machine")
    try:
        for number, (command, (output, code)) in enumerate(ON_WINDOWS.items()):
            file = machine.path(rf"C:\{number}.ps1")
            file.write_text(run_command.script([command], is_windows=True))
            argv = [winpwsh, "pwsh", str(machine.folder), *FILE, rf"C:\{number}.ps1"]
            ran = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False)
            read = run_command.read(windows(ran.stdout.replace("\r\n", "\n"), ran.stderr))
            assert (read.output, read.code) == (output, code), ran
    finally:
        machine.cut()


def linux(message: str) -> str:
    return json.dumps({"value": [{"code": "ProvisioningState/succeeded", "message": message}]})


def windows(output: str, errors: str = "") -> str:
    texts = {"StdOut": output, "StdErr": errors}
    return json.dumps({"value": [{"code": f"ComponentStatus/{k}/succeeded", "message": v} for k, v in texts.items()]})


ANSWERS = {
    "linux": (linux("Enable succeeded: \n[stdout]\na\nmullion-exit-code: 0\n\n[stderr]\n"), ("a\n", "", 0)),
    "errors": (linux("Enable succeeded: \n[stdout]\nmullion-exit-code: 2\n\n[stderr]\nb\n"), ("", "b\n", 2)),
    "the end only": (linux("lf a line\nmullion-exit-code: 1\n\n[stderr]\n"), ("lf a line\n", "", 1)),
    "the command writes a mark": (
        linux("[stdout]\nmullion-exit-code: 9\nmullion-exit-code: 0\n\n[stderr]\n"),
        ("mullion-exit-code: 9\n", "", 0),
    ),
    "windows": (windows("Running\nmullion-exit-code: 0"), ("Running\n", "", 0)),
    "errors on windows": (windows("mullion-exit-code: -1073741510\r\n", "b"), ("", "b", -1073741510)),
    "no code": (windows("a"), ("a", "", None)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_both_systems_are_read(name: str) -> None:
    text, (output, errors, code) = ANSWERS[name]
    assert run_command.read(text) == run_command.Ran(output, errors, code)


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"value": [{"code": "x"}]})])
def test_another_form_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no result of a run command"):
        run_command.read(text)


def test_a_script_for_powershell_has_the_command_on_lines_of_its_own() -> None:
    lines = run_command.script(["Get-Service", "kubelet", "# why"], is_windows=True).splitlines()
    at = lines.index("Get-Service kubelet # why")
    assert (lines[at - 1], lines[at + 1]) == ("try {", "if (-not $?) { $code = 1 }")
    assert lines[-1] == '"mullion-exit-code: $code"'
