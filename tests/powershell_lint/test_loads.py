"""No test loads an assembly or a module that the scripts themselves could forget."""

import pytest

from tests.powershell_lint.loads import ROOT, judged, loads


def test_no_test_loads_an_assembly_or_a_module_for_the_scripts() -> None:
    files = list(judged())
    assert len(files) > 300
    found = {str(each.relative_to(ROOT)): loads(each.name, each.read_text("utf-8")) for each in files}
    assert {path: rows for path, rows in found.items() if rows} == {}


@pytest.mark.parametrize(
    "line",
    [
        "Add-Type -AssemblyName System.Net.Http",
        "add-type -an System.Net.Http",
        "Add-Type -Path C:/System.Net.Http.dll",
        "[void][Reflection.Assembly]::LoadWithPartialName('System.Net.Http')",
        "[Reflection.Assembly]::LoadFile('C:/System.Net.Http.dll')",
        "Import-Module NetTCPIP",
        "using assembly System.Net.Http",
    ],
)
def test_a_load_in_a_test_is_found_at_its_line(line: str) -> None:
    assert [each for each, _ in loads("test_it.py", f'import x\n\nx.pwsh(r"{line}; . C:/loader.ps1")\n')] == [3]
    assert [each for each, _ in loads("driver.ps1", f"Set-StrictMode -Version 2.0\n{line}\n")] == [2]
