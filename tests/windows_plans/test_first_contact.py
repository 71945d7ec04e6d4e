"""A first contact under PowerShell for Windows: one file on a machine, the archive that it writes, and its undo."""

import json
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import components.machine.first_contact as files
from components.node.downloads import wanted
from components.node.first_contact import document
from components.node.role import role
from lab.hns.service import BUILDS, Service
from operations.commands import first_contact_archive
from operations.commands.first_contact_archive import Contact
from sandbox.boot.windows import registry
from sandbox.boot.windows.losses import reboot
from sandbox.boot.windows.winpwsh import BOOKS, Machine, networking, new_machine
from tests.cloud_init.cloud import serving
from tests.cloud_init.windows import ADDRESS
from tests.conformance.downloads import serving as publishing
from tests.conformance.state import Served
from tests.windows_plans.publisher import publish
from tools.golden.samples import spec

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]
FILE, FOLDER = r"C:\first-contact.ps1", r"C:\first-contact"
TOKEN = "abcdef.0123456789abcdef"
NEXT_BOOT = (
    r"$key = 'HKEY_LOCAL_MACHINE\SOFTWARE\mullion-boot'; "
    "[Microsoft.Win32.Registry]::SetValue($key, 'Id', 1 + [Microsoft.Win32.Registry]::GetValue($key, 'Id', 0))"
)
DIFFERS_HERE = {
    "PowerShell: version",
    ".NET: version",
    # the stand-ins do not have these flags
    r"program C:\k\kubelet.exe --version",
    r"program C:\k\kube-proxy.exe --version",
    r"program C:\k\kubectl.exe version --client",
}
"""Checks that Windows Server passes and this machine does not."""


def own_address() -> str:
    """Return the source address of packets to the cloud, as the stand-in of Get-NetIPAddress does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("169.254.169.254", 80))
        return probe.getsockname()[0]


@pytest.fixture
def server(winhns: str, standins: Path, tmp_path: Path) -> Iterator[Machine]:
    """Yield a machine with the file on its disk; metadata and downloads are on loopback."""
    (tmp_path / "cloud").mkdir()
    machine = new_machine(winhns, tmp_path / "machine")
    registry.install(machine.folder, "windows-2022")
    machine.stay_on()
    with serving(tmp_path / "cloud") as cloud, publishing() as downloads, pytest.MonkeyPatch.context() as patch:
        scripts = {
            name: content.replace(ADDRESS.encode(), cloud.url.encode())
            for name, content in files.contact_scripts().items()
        }
        patch.setattr(files, "contact_scripts", lambda: scripts)
        downloads.files, entries = publish(wanted(role("dev", spec("windows-2022"), "pool")), standins)
        downloads.served = {name: Served() for name in downloads.files}
        mirrored = spec("windows-2022", artifacts={"mirror": downloads.urls["url"], "entries": entries})
        machine.path(FILE).write_text(files.one_file(document("dev", mirrored, "pool")), "ascii")
        machine.path(r"C:\ProgramData\mullion").mkdir(parents=True)
        machine.path(r"C:\ProgramData\mullion\loader.log").write_text(f"join with {TOKEN}\n")
        with networking(machine, Service(BUILDS["windows-2022"], {"Ethernet": own_address()})):
            yield machine
            machine.cut()


def hns(machine: Machine) -> Service:
    assert machine.hns
    return machine.hns


def run(machine: Machine, command: str) -> str:
    """Run a command on the machine and return its output."""
    code, said = machine.pwsh(command, 900)
    assert code == 0, said
    return said


def archive(machine: Machine) -> Path:
    return machine.path(rf"{FOLDER}\first-contact.zip")


def state(machine: Machine) -> dict[str, object]:
    """Return the state that steps set: records of the stand-ins, without counters, HNS, and folders of C:."""
    kept = {name: machine.kept(name) for name in ("rules", "tasks", "routes")} | dict(hns(machine).objects)
    folders = {each.name for each in machine.drive.iterdir() if each.name not in ("first-contact", "fakes")}
    programs = {each.name for each in (machine.drive / "Program Files").iterdir()}
    return {**kept, "folders": folders, "programs": programs}


def progress(machine: Machine) -> dict[str, object]:
    return json.loads(machine.path(rf"{FOLDER}\progress.json").read_text())


def unpacked(machine: Machine) -> dict[str, str]:
    with zipfile.ZipFile(archive(machine)) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


def rows(contact: Contact) -> dict[str, bool]:
    return {each["check"]: each["fits"] for each in contact.rows}


def changes_nothing_but_its_folder(server: Machine, before: dict[str, object]) -> None:
    """Run the file without the switch."""
    assert "nothing was changed" in run(server, FILE)
    assert state(server) == before
    assert not server.asked(), "no stand-in was asked for a change"
    contact = first_contact_archive.read(archive(server))
    assert not contact.changes
    assert not any("set" in check.split(", ")[-1:] for check in rows(contact))
    assert {"before/hns-networks", "before/routes", "before/assemblies", "before/access"} <= set(contact.dumps)


def test_it_changes_only_its_folder_without_the_switch_and_with_it_sets_each_step_and_makes_both_networks(
    server: Machine,
) -> None:
    before = state(server)
    changes_nothing_but_its_folder(server, before)
    # a run without the switch must not prevent this one
    said = run(server, f"{FILE} -Change")
    assert "the machine restarts" in said
    assert [each["name"] for each in server.asked()].count("shutdown.exe") == 1
    argument = server.kept("tasks")["mullion"]["action"]["Argument"]
    assert argument.endswith(rf'-File "{FOLDER}\resume.ps1"')
    run(server, rf"{FOLDER}\resume.ps1")
    assert progress(server)["stage"] == "set", "a second start in the same boot does nothing"
    server.cut()
    reboot(server.path(BOOKS))
    hns(server).reboot()
    server.stay_on()
    run(server, NEXT_BOOT)
    said = run(server, rf"{FOLDER}\resume.ps1")
    contact = first_contact_archive.read(archive(server))
    assert {each["check"] for each in contact.differences} == DIFFERS_HERE, said
    made = [json.loads(words[3]) for words in hns(server).calls if words[:3] == ("HNSCall", "POST", "/networks")]
    assert {"L2Bridge", "Overlay"} <= {each["Type"] for each in made}
    assert not any(hns(server).objects.values()), "networks and endpoints are removed again"
    assert "mullion" not in server.kept("tasks"), "the boot task is removed"
    assert rows(contact)["restart: Windows forgets volatile keys"]
    for mode in ("l2bridge", "overlay"):
        assert contact.dumps[f"{mode}/hns-networks"][0]["Type"].lower() == mode
        endpoints = {each["Name"]: each for each in contact.dumps[f"{mode}/hns-endpoints"]}
        policies = {each["Type"] for each in endpoints["first-contact-pod"]["Policies"]}
        assert policies == {"OutBoundNAT", "ROUTE", "ACL"}

    texts = unpacked(server)
    assert texts["loader.log"] == "join with [secret]\n"
    assert not [name for name, text in texts.items() if TOKEN in text]

    steps = {check for check in rows(contact) if check.endswith(", set")}
    assert len(steps) > 50
    assert "it ran here already" in run(server, f"{FILE} -Change")
    run(server, f"{FILE} -Undo")
    assert state(server) == before
    there = r"Test-Path 'HKLM:\SYSTEM\CurrentControlSet\Services\containerd'"
    assert run(server, there).strip() == "False", "the service is removed"


def test_after_a_query_that_hangs_the_second_start_writes_what_the_first_one_found(server: Machine) -> None:
    unpacks = server.path(FILE).read_text("ascii")
    starts = '& "$Contact\\scripts\\contact\\run.ps1" -Change:'
    assert starts in unpacks
    limits = {r"modules\deadline.ps1": "$QuerySeconds = 120", r"contact\dumps.ps1": "$DumpSeconds = 300"}
    shortened = "".join(
        f'$file = "$Contact\\scripts\\{file}"; $text = [IO.File]::ReadAllText($file); '
        f"[IO.File]::WriteAllText($file, $text.Replace('{limit}', '{limit.partition(' =')[0]} = 4'))\n"
        for file, limit in limits.items()
    )
    server.path(FILE).write_text(unpacks.replace(starts, shortened + starts), "ascii")
    (server.path(BOOKS) / "wmi.json").write_text(json.dumps({"hangs": True, "error": "", "cmdlets": ["Get-NetRoute"]}))
    code, said = server.pwsh(FILE, 60)
    assert code != 0, said
    assert not archive(server).exists()
    assert "DIFFERS first contact itself; expected: every query returns" in run(server, FILE)
    assert rows(first_contact_archive.read(archive(server)))["first contact itself"] is False
    assert "it ran here already" in run(server, FILE)
