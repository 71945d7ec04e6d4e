"""The planned plug-in of CCG under real PowerShell: its DLL, and its registration in the machine's registry."""

import hashlib
from typing import Any

import pytest

from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.test_windows_kinds import said
from tests.cloud_init.test_windows_second_run import outcomes
from tests.cloud_init.windows import place
from tests.components.spec.gmsa_values import CLSID, PLUGIN, PREINSTALLED
from tests.windows_plans.registry import hive, shown
from tools.golden.samples import plan

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

LIBRARY = b"MZ the plug-in"
COM_CLASSES = r"SYSTEM\CurrentControlSet\Control\CCG\COMClasses"
PLACE = r"C:\Program Files\ccg-plugin\ccg-plugin.dll"


def steps(cloud: FakeCloud) -> list[dict[str, Any]]:
    """Return the planned steps of the plug-in, whose download the test's store has."""
    cloud.objects["/public/plugin.dll"] = LIBRARY
    digest = hashlib.sha256(LIBRARY).hexdigest()
    entry = {"name": "ccg-plugin", "version": "1.1.3", "os": "windows", "sha256": digest}
    artifacts = {"entries": [{**entry, "url": f"{cloud.url}/public/plugin.dll"}]}
    document = plan("windows-2022", **{**PLUGIN, "artifacts": artifacts}).document()
    every = [step for phase in document["phases"] for step in phase["steps"]]
    return [step for step in every if "ccg-plugin" in step["name"] or step["name"].startswith("gmsa-plugin")]


def test_sec_03_the_plug_in_is_downloaded_and_registered_and_a_second_run_sets_nothing(
    machine: Machine, cloud: FakeCloud
) -> None:
    planned = steps(cloud)
    place(machine, cloud, planned)
    assert machine.node()[0] == 0
    assert set(outcomes(machine.result()).values()) == {"set"}
    assert len(outcomes(machine.result())) == len(planned) == 11
    assert machine.path(PLACE).read_bytes() == LIBRARY
    assert machine.node()[0] == 0
    assert set(outcomes(machine.result()).values()) == {"held"}
    machine.cut()
    written = {key.upper(): values for key, values in hive(machine.folder / "system.reg").items()}
    classes, interface = r"SOFTWARE\CLASSES", r"INTERFACE\{6ECDA518-2010-4437-8BC3-46E752B7B172}"
    expected = {
        rf"{classes}\CLSID\{CLSID}\INPROCSERVER32": {"@": PLACE, "ThreadingModel": "Both"},
        rf"{classes}\CLSID\{CLSID}": {"AppID": CLSID},
        rf"{classes}\{interface}\PROXYSTUBCLSID32": {"@": "{A6FF50C0-56C0-71CA-5732-BED303A59628}"},
        rf"{classes}\{interface}": {"@": "ICcgDomainAuthCredentials"},
        rf"SYSTEM\CURRENTCONTROLSET\CONTROL\CCG\COMCLASSES\{CLSID}": {"@": ""},
    }
    found = {key: {name: shown(data) for name, data in written[key].items()} for key in expected}
    assert found == expected
    application = written[rf"{classes}\APPID\{CLSID}"]
    assert application["DllSurrogate"] == '""'
    assert application["AccessPermission"] == application["LaunchPermission"]


def test_sec_03_a_machine_whose_image_has_the_plug_in_goes_on_and_another_stops(
    machine: Machine, cloud: FakeCloud
) -> None:
    document = plan("windows-2022", **PREINSTALLED).document()
    [look] = (step for phase in document["phases"] for step in phase["steps"] if step["name"].startswith("gmsa-plugin"))
    argv = ", ".join(f"'{word}'" for word in look["argv"])
    ask = f"$step = @{{ argv = @({argv}); expect = '{look['expect']}'; message = 'missing' }}"
    tried = "try { Test-ProbeStep $run $step } catch { $_.Exception.Message }"
    made = f"[void][Microsoft.Win32.Registry]::LocalMachine.CreateSubKey('{COM_CLASSES}\\{CLSID}')"
    missing, there = said(machine, cloud, ask, tried, made, tried)
    assert missing.startswith("missing: it ended with 1") and there == "True"
