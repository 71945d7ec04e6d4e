"""Registry values below keys of Windows' installer, under real PowerShell.

The machines here refuse no account a key, so a stand-in of the function that writes refuses as Windows does.
"""

import pytest

from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.test_windows_kinds import said

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

KEY = r"HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses\{CCC2A336-D7F3-4818-A213-272B7924213E}"
ABOVE = r"SYSTEM\CurrentControlSet\Control\CCG\COMClasses"
STEP = f"$step = @{{ key = '{KEY}'; value = ''; type = 'String'; data = ''; owned = $true }}"
EXISTS = rf"[void][Microsoft.Win32.Registry]::LocalMachine.CreateSubKey('{ABOVE}')"
HOLDS = "Test-RegistryStep $run $step"
EDITS = """$log = [Collections.Generic.List[string]]::new(); $script:Owner = 'S-1-5-80-1'
$security = [Security.AccessControl.RegistrySecurity]::new()
function Edit-KeySecurity {
    param($Path, $Section, $Rights, $Change)
    $sid = [Security.Principal.SecurityIdentifier]
    $security.SetOwner($sid::new($script:Owner))
    [void] (& $Change $security)
    $script:Owner = $security.GetOwner($sid).Value
    $script:log.Add("$Path $Section $Rights $($security.GetAccessRules($true, $false, $sid).Count)")
}
"""


def test_a_value_that_may_be_written_is_written_without_any_ownership(machine: Machine, cloud: FakeCloud) -> None:
    lines = (STEP, "function Enable-Privilege { 'taken' }", HOLDS, "Set-RegistryStep $run $step", HOLDS)
    assert said(machine, cloud, *lines) == ["False", "True"]


def test_the_nearest_existing_key_is_found(machine: Machine, cloud: FakeCloud) -> None:
    whole = KEY.replace("HKLM", "HKEY_LOCAL_MACHINE")
    assert said(machine, cloud, EXISTS, f"Get-ExistingKey '{whole}'") == [ABOVE]


def test_this_process_may_turn_on_the_privileges_it_needs(machine: Machine, cloud: FakeCloud) -> None:
    assert said(machine, cloud, "Enable-Privilege $TakeOwnership, $Restore; 'on'") == ["on"]
    failed = "try { Enable-Privilege 99 } catch { $_.Exception.Data['mullion'] }"
    assert said(machine, cloud, failed) == ["not-privileged"]


@pytest.mark.parametrize("breaks", ["", "throw 'no space'"], ids=["written", "broken"])
def test_a_refused_value_is_written_as_the_owner_of_the_key_who_gives_it_back(
    machine: Machine, cloud: FakeCloud, breaks: str
) -> None:
    refuses = "if ($script:Owner -eq 'S-1-5-80-1') { throw [UnauthorizedAccessException]::new('Access is denied.') }"
    lines = (
        STEP,
        EXISTS,
        EDITS,
        "Copy-Item Function:\\Set-RegistryValue Function:\\Set-Allowed",
        f"function Set-RegistryValue {{ {refuses}; {breaks}; Set-Allowed @args; $script:log.Add('written') }}",
        "try { Set-RegistryStep $run $step } catch { $_.Exception.Message }",
        "$log; $script:Owner",
        HOLDS,
    )
    taken = [f"{ABOVE} Owner TakeOwnership 0", f"{ABOVE} Access ChangePermissions 1"]
    back = [f"{ABOVE} Access ChangePermissions 0", f"{ABOVE} Owner TakeOwnership 0"]
    done, said_first = ([], ["no space"]) if breaks else (["written"], [])
    result = [*said_first, *taken, *done, *back, "S-1-5-80-1", str(not breaks)]
    assert said(machine, cloud, *lines) == result


def test_guids_are_compared_without_case_and_other_texts_with_it(machine: Machine, cloud: FakeCloud) -> None:
    written = "{A6FF50C0-56C0-71CA-5732-BED303A59628}"
    lines = [
        f"Set-RegistryValue 'HKEY_LOCAL_MACHINE\\SOFTWARE\\a' 'x' 'String' '{text.lower()}'; "
        f"Test-RegistryValue 'HKEY_LOCAL_MACHINE\\SOFTWARE\\a' 'x' 'String' '{text}'"
        for text in (written, f"a{written}")
    ]
    assert said(machine, cloud, *lines) == ["True", "False"]


@pytest.mark.parametrize("rights", ["OTHER", "OWN"])
def test_the_security_of_a_key_is_read_and_written_by_the_calls_of_windows(
    machine: Machine, cloud: FakeCloud, rights: str
) -> None:
    """OWN: the key gives this account already what the step adds for a while."""
    refuses = "if (-not $script:Asked++) { throw [UnauthorizedAccessException]::new('Access is denied.') }"
    security = f"([Microsoft.Win32.Registry]::LocalMachine.OpenSubKey('{ABOVE}').GetAccessControl('Owner, Access'))"
    who = "[Security.Principal.SecurityIdentifier]::new('S-1-5-32-544')"
    rule = f"[Security.AccessControl.RegistryAccessRule]::new({who}, 'ReadKey', 'None', 'None', 'Allow')"
    if rights == "OWN":
        me = "[Security.Principal.WindowsIdentity]::GetCurrent().User"
        words = f"{me}, 'FullControl', 'ContainerInherit', 'None', 'Allow'"
        rule = f"[Security.AccessControl.RegistryAccessRule]::new({words})"
    shown = f"{security}.GetSecurityDescriptorSddlForm('Owner, Access')"
    lines = (
        STEP,
        EXISTS,
        "Copy-Item Function:\\Set-RegistryValue Function:\\Set-Allowed",
        f"$script:Asked = 0; function Set-RegistryValue {{ {refuses}; Set-Allowed @args }}",
        # the machines invent rules at the first write of a key's security
        f"Edit-KeySecurity '{ABOVE}' 'Owner, Access' 'ChangePermissions' {{ $args[0].AddAccessRule({rule}) }}",
        f"$before = {shown}",
        "Set-RegistryStep $run $step",
        f"{shown} -eq $before; $script:Asked",
        HOLDS,
    )
    assert said(machine, cloud, *lines) == ["True", "2", "True"]
