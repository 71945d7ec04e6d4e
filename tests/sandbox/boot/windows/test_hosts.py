"""The file of real Windows Servers, and its faults."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.boot import windows
from sandbox.boot.windows import hosts
from sandbox.boot.windows.hosts import HOSTS, Host
from sandbox.boot.windows.server import Failed

VIRSH = {each: ["virsh", each, "web-0"] for each in ("new", "start", "stop")}
WEB: dict[str, Any] = {
    "powershell": ["ssh", "Administrator@192.0.2.7", "powershell"], "link": "tap3", "card": "Ethernet 2", **VIRSH,
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that MULLION_WINDOWS_HOSTS names."""
    path = tmp_path / "hosts.yaml"
    monkeypatch.setenv(HOSTS, str(path))
    monkeypatch.delenv(windows.TOOL, raising=False)
    return path


def test_a_machine_of_the_file_boots_on_its_host_and_others_under_winpwsh(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(yaml.safe_dump({"web-0": WEB}))
    assert hosts.hosts() == {"web-0": Host.model_validate(WEB)}
    assert hosts.why_not("web-0") == ""
    assert HOSTS in hosts.why_not("web-1"), "the reason names both variables"
    assert windows.TOOL in hosts.why_not("web-1")
    monkeypatch.setenv(windows.TOOL, "/winpwsh")
    assert hosts.why_not("web-1") == ""
    monkeypatch.delenv(HOSTS)
    assert hosts.hosts() == {}


WRONG: dict[str, tuple[str, str]] = {
    "no YAML": ("web-0: {", "not YAML: "),
    "empty": (
        "",
        "as a whole: Input should be a valid dictionary; write the name of each machine, with keys powershell",
    ),
    "a host that is none": (
        "web-0: ssh",
        "web-0: Input should be a valid dictionary or instance of Host; write the name",
    ),
    "without its card": (
        yaml.safe_dump({"web-0": {name: each for name, each in WEB.items() if name != "card"}}),
        "web-0.card: Field required; write what Windows calls that card: Ethernet 2",
    ),
    "a key that a host has not": (
        yaml.safe_dump({"web-0": {**WEB, "reset": ["virsh", "reset", "web-0"]}}),
        "web-0.reset: unknown key; a host has powershell, link, card, new, start, stop",
    ),
    "a command in one text": (
        yaml.safe_dump({"web-0": {**WEB, "start": "virsh start web-0"}}),
        "web-0.start: Input should be a valid tuple; write the command that powers it on: [virsh, start, VM]",
    ),
    "a command without words": (
        yaml.safe_dump({"web-0": {**WEB, "powershell": []}}),
        "web-0.powershell: Tuple should have at least 1 item",
    ),
    "an interface's name that is none": (
        yaml.safe_dump({"web-0": {**WEB, "link": "a b"}}),
        "web-0.link: String should",
    ),
    "a host for two": (
        yaml.safe_dump({"web-0": WEB, "web-1": {**WEB, "link": "tap4"}}),
        "web-0 and web-1 have the same powershell; give each machine its own Windows Server",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_fault_of_the_file_is_reported_with_path_and_fix(what: str, file: Path) -> None:
    text, said = WRONG[what]
    file.write_text(text)
    with pytest.raises(ValueError, match=re.escape(said)) as raised:
        hosts.hosts()
    assert str(file) in str(raised.value)
    assert hosts.why_not("web-0") == str(raised.value), "the fault is the reason why a machine does not boot"


def test_a_missing_file_or_a_relative_path_is_reported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hosts.why_not("web-0") == f"{file}: No such file or directory; set {HOSTS} to a readable file, or unset it"
    monkeypatch.setenv(HOSTS, "hosts.yaml")
    assert f"{HOSTS} needs an absolute path" in hosts.why_not("web-0")


def test_a_host_that_another_booted_stack_uses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one, other = Host.model_validate(WEB), Host.model_validate({**WEB, "powershell": ["ssh", "other"]})
    refused = pytest.raises(
        Failed, match=r"another booted stack .* \(ssh Administrator@192.0.2.7 powershell\); stop that stack"
    )
    with hosts.taken(one), hosts.taken(other), refused, hosts.taken(one):
        pass
    with hosts.taken(one):
        pass
