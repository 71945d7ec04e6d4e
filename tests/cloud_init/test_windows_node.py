"""The Windows executor under real PowerShell for Windows; modules of Windows itself are stand-ins."""

import hashlib
import io
import json
import re
import tarfile
import zipfile
from typing import Any

import pytest

from components.bundle import CLOUD_INIT
from components.node.kinds import KINDS
from tests.cloud_init.cloud import INSTANCE, Cloud
from tests.cloud_init.windows import FILES, NAME, Machine, place

TOKEN = "abcdef.0123456789abcdef"
CODES = {row["name"]: row["code"] for row in json.loads((CLOUD_INIT / "errors.json").read_text())["errors"]}
BOOT = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters"

windows = pytest.mark.windows
subprocess = pytest.mark.subprocess


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    """held or set by step."""
    return {step["name"]: step["outcome"] for phase in result["phases"] for step in phase["steps"]}


def reboot(machine: Machine, number: int) -> None:
    """What a restart changes: the boot's number, and features that waited for it."""
    features = machine.path(r"C:\fakes\features.json")
    features.write_text(features.read_text().replace("InstallPending", "Installed"))
    machine.pwsh(f"Set-ItemProperty '{BOOT}' BootId {number}")


def archive_of(files: dict[str, bytes]) -> bytes:
    """A tar.gz of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    """A zip of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def named(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Steps with their kind, or kind and number, as name."""
    kinds = [each["kind"] for each in steps]
    return [
        {"name": f"{kind}-{kinds[:at].count(kind)}", **step}
        for at, (kind, step) in enumerate(zip(kinds, steps, strict=True))
    ]


def whole_plan(cloud: Cloud) -> list[dict[str, Any]]:
    """Each kind that a winpwsh machine can carry."""
    big = bytes(range(256)) * 9000
    long = f"kubernetes/{'x' * 120}/long.txt"
    cloud.objects["/public/a.tgz"] = tgz = archive_of(
        {"kubernetes/node/bin/kubelet.exe": big, long: b"l", "./dot": b"d"}
    )
    packed = zip_of({"nssm/win64/nssm.exe": b"64", "nssm/win32/nssm.exe": b"32"})
    cloud.objects |= {"/public/a.tgz": tgz, "/public/b.zip": packed}
    cloud.secrets |= {"join": TOKEN, "pki": json.dumps({"ca.key": "-----KEY-----\nsecretline\n"})}
    config = {
        "enforceNodeAllocatable": [], "registerWithTaints": {"ref": "registration.taints"}, "one": ["x"], "on": True,
        "none": None, "half": 1.5, "token": {"ref": "node.bootstrap_token"}, "id": {"ref": "node.provider_id"},
        "text": "\u00e9\n<\"\\",
    }  # fmt: skip
    port = int(cloud.url.rpartition(":")[2])
    return named(
        {"kind": "build", "build": "10.0.17763", "minimum_ubr": 379},
        {"kind": "hostname", "value": {"ref": "machine.name"}},
        {"kind": "registry", "key": r"HKLM\SYSTEM\Mullion", "value": "Big", "type": "DWord", "data": 4294967295},
        {"kind": "feature", "feature": "Containers"},
        {"kind": "port-range", "protocol": "tcp", "start": 34000, "count": 31536},
        {"kind": "defender-exclusion", "processes": [r"C:\k\kubelet.exe"], "paths": []},
        {"kind": "reboot"},
        {"kind": "firewall-rule", "rule": "vxlan", "protocol": "udp", "ports": "4789", "sources": ["10.20.0.0/16"]},
        {"kind": "directory", "path": r"C:\k", "access": "private"},
        {"kind": "directory", "path": r"C:\k\cni"},
        {"kind": "artifact", "path": r"C:\dl\a.tgz", "url": f"{cloud.url}/public/a.tgz", "digest": sha256(tgz)},
        {"kind": "archive", "source": r"C:\dl\a.tgz", "target": r"C:\k", "strip": 3,
         "members": ["kubernetes/node/bin/kubelet.exe"]},
        {"kind": "archive", "source": r"C:\dl\a.tgz", "target": r"C:\all"},
        {"kind": "artifact", "path": r"C:\dl\b.zip", "url": f"{cloud.url}/public/b.zip", "digest": sha256(packed)},
        {"kind": "archive", "source": r"C:\dl\b.zip", "target": r"C:\nssm", "strip": 2,
         "members": ["nssm/win64/nssm.exe"]},
        {"kind": "environment", "variable": "CRI", "value": "npipe:////./pipe/x"},
        {"kind": "file", "path": r"C:\k\kubelet.json", "format": "json", "content": config, "access": "private"},
        {"kind": "file", "path": r"C:\k\a.toml", "content": "a = 1\n"},
        {"kind": "secret", "secret": {"ref": "facts.pki_secret"}, "member": "ca.key", "path": r"C:\k\ca.key"},
        {"kind": "command", "argv": ["cmd.exe", "/c", r"echo hello > C:\made.txt"], "creates": r"C:\made.txt"},
        {"kind": "command", "argv": ["none.exe"], "creates": r"C:\none", "requires": r"C:\never"},
        {"kind": "service", "service": "plain", "command": [r"C:\k\plain.exe", "--x", "a b"], "start": "boot"},
        {"kind": "service", "service": "flanneld", "command": [r"C:\f\flanneld.exe", "--x", "a b"], "start": "boot",
         "wrapper": r"C:\nssm\nssm.exe", "environment": {"NODE_NAME": "n"}, "log": r"C:\var\log\f\f.log"},
        {"kind": "metadata-route", "address": "169.254.169.254"},
        {"kind": "source-vip", "network": "flannel.4096", "plugin": r"C:\none.exe", "data_directory": "/cni/networks"},
        {"kind": "file", "path": r"C:\k\vip", "content": {"ref": "node.source_vip"}},
        {"kind": "wait", "condition": {"file": r"C:\k\kubelet.json"}},
        {"kind": "wait", "condition": {"url": f"{cloud.url}/public/none"}},
        {"kind": "wait", "condition": {"tcp": ["127.0.0.1", port]}},
    )  # fmt: skip


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@windows
@subprocess
def test_a_machine_becomes_what_its_plan_says_over_a_restart_and_a_second_run_changes_nothing(
    machine: Machine, cloud: Cloud
) -> None:
    """OS, RUN, SRV rows: every kind set once, a restart in between, then all held; files are as planned."""
    plan = whole_plan(cloud)
    place(machine, cloud, plan)
    hold_source_vip(machine)
    assert machine.node() == (0, "")
    first = machine.result()
    assert (first["state"], first["step"]) == ("reboot", "reboot-0")
    assert machine.asked()[-1]["name"] == "Restart-Computer"
    reboot(machine, 2)
    assert machine.node() == (0, "")
    second = machine.result()
    assert second["state"] == "done", second
    held = {"build-0", "hostname-0", "registry-0", "feature-0", "port-range-0", "defender-exclusion-0", "reboot-0"}
    held |= {"source-vip-0", "command-1", "wait-0", "wait-1", "wait-2"}
    assert {name for name, outcome in outcomes(second).items() if outcome == "held"} == held
    assert machine.node() == (0, "")
    assert set(outcomes(machine.result()).values()) == {"held"}
    check_files(machine)
    log = machine.path(r"C:\ProgramData\mullion\node.log").read_text()
    assert TOKEN not in log + json.dumps(machine.result())
    assert not cloud.refused()


def hold_source_vip(machine: Machine) -> None:
    """What flanneld and host-local leave on a node: its subnet, and an address held for kube-proxy."""
    files = {
        r"C:\run\flannel\subnet.env": "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n",
        r"C:\cni\networks\flannel.4096\10.244.3.2": "kube-proxy\r\nsource-vip",
        r"C:\cni\networks\flannel.4096\last_reserved_ip.0": "10.244.3.2",
    }
    for path, text in files.items():
        machine.path(path).parent.mkdir(parents=True, exist_ok=True)
        machine.path(path).write_text(text)


def check_files(machine: Machine) -> None:
    """What the whole plan left on the disk and with the stand-ins."""
    kubelet = json.loads(machine.path(r"C:\k\kubelet.json").read_text(encoding="ascii"))
    assert kubelet["enforceNodeAllocatable"] == []
    assert kubelet["registerWithTaints"] == [{"key": "os", "value": "windows", "effect": "NoSchedule"}]
    assert (kubelet["one"], kubelet["on"], kubelet["none"], kubelet["half"]) == (["x"], True, None, 1.5)
    assert (kubelet["token"], kubelet["text"]) == (TOKEN, '\u00e9\n<"\\')
    assert kubelet["id"] == f"aws:///eu-west-1a/{INSTANCE}"
    assert machine.path(r"C:\k\kubelet.exe").read_bytes() == bytes(range(256)) * 9000
    assert machine.path(r"C:\k\vip").read_text() == "10.244.3.2"
    assert machine.path(r"C:\nssm\nssm.exe").read_bytes() == b"64"
    assert (machine.path(r"C:\all\kubernetes") / ("x" * 120) / "long.txt").read_bytes() == b"l"
    assert machine.path(r"C:\k\ca.key").read_text() == "-----KEY-----\nsecretline\n"
    access = machine.kept("access")
    assert access[r"C:\k\ca.key"] == "D:P(A;;FA;;;SY)(A;;FA;;;BA)", "SYSTEM and Administrators, nothing inherited"
    assert access[r"C:\k\cni"].endswith("(A;OICI;0x1200a9;;;BU)")
    assert machine.kept("rules")["vxlan"]["RemoteAddress"] == ["10.20.0.0/16"]
    assert machine.kept("routes")["169.254.169.254/32"]["NextHop"] == "10.20.0.1"


def failing(cloud: Cloud) -> list[tuple[str, dict[str, Any]]]:
    """Steps that fail, each with the name of its error."""
    cloud.objects["/public/x"] = b"other"
    cloud.objects["/public/y.tgz"] = evil = archive_of({"../evil": b"x"})
    url = f"{cloud.url}/public/"
    artifact = {"kind": "artifact", "url": f"{url}x", "digest": sha256(b"expected"), "path": r"C:\x", "retries": 0}
    unsafe = {"kind": "artifact", "url": f"{url}y.tgz", "digest": sha256(evil), "path": r"C:\y.tgz"}
    return [
        ("kind-not-implemented", {"kind": "teleport"}),
        ("reference-unresolved", {"kind": "file", "path": r"C:\a", "content": {"ref": "facts.moon"}, "retries": 0}),
        ("step-invalid", {"kind": "file", "path": r"C:\a", "content": 1}),
        ("step-invalid", {"kind": "wait", "condition": {"moon": "full"}}),
        ("wait-timeout", {"kind": "wait", "condition": {"file": r"C:\never"}, "timeout_seconds": 1}),
        ("build-refused", {"kind": "build", "build": "10.0.20348"}),
        ("build-refused", {"kind": "build", "build": "10.0.17763", "minimum_ubr": 99999}),
        ("digest-mismatch", artifact),
        ("download-failed", {**artifact, "url": f"{url}none"}),
        ("archive-unsafe", {"kind": "archive", "source": r"C:\y.tgz", "target": r"C:\t\u", "before": unsafe}),
        ("secret-unavailable", {"kind": "secret", "secret": "none", "path": r"C:\a", "retries": 0}),
        ("command-failed", {"kind": "command", "argv": ["cmd.exe", "/c", "exit 3"], "retries": 0}),
        ("network-missing", {"kind": "file", "path": r"C:\a", "content": {"ref": "node.pod_subnet"}, "retries": 0}),
    ]


@windows
@subprocess
def test_each_failure_has_its_number_and_step(machine: Machine, cloud: Cloud) -> None:
    """One machine for all of them: its start is what costs."""
    for name, step in failing(cloud):
        before = [{"name": "before", **step.pop("before")}] if "before" in step else []
        place(machine, cloud, [*before, {"name": "fails", **step}])
        code, said = machine.node()
        result = machine.result()
        assert (code, said, result["state"]) == (1, "", "failed"), (name, said)
        assert (result["name"], result["code"], result["step"]) == (name, CODES[name], "fails"), result
    assert not machine.path(r"C:\x").exists()
    assert not machine.path(r"C:\evil").exists()
    place(machine, cloud, [], format=2)
    assert machine.node()[0] == 1
    assert machine.result()["name"] == "plan-format"


@windows
@subprocess
def test_a_new_name_asks_for_a_restart(machine: Machine, cloud: Cloud) -> None:
    place(machine, cloud, named({"kind": "hostname", "value": f"{NAME[:10]}-new"}, {"kind": "reboot"}))
    assert machine.node() == (0, "")
    assert machine.result()["state"] == "reboot"
    assert outcomes(machine.result()) == {"hostname-0": "set"}


PARSE = r"""
$found = @()
foreach ($file in Get-ChildItem C:\scripts -Recurse -Filter *.ps1) {
    $errors = $null; $tokens = $null
    $tree = [Management.Automation.Language.Parser]::ParseFile($file.FullName, [ref] $tokens, [ref] $errors)
    $errors | ForEach-Object { $found += "$($file.Name): $_" }
    $verbs = (Get-Verb).Verb
    foreach ($node in $tree.FindAll({ $true }, $true)) {
        $kind = $node.GetType().Name
        if ($kind -in 'TernaryExpressionAst', 'PipelineChainAst') { $found += "$($file.Name): $node is not in 5.1" }
        if ($kind -eq 'FunctionDefinitionAst' -and $node.Name.Split('-')[0] -notin $verbs) {
            $found += "$($file.Name): $($node.Name) has no approved verb"
        }
        $name = if ($kind -eq 'CommandAst') { $node.GetCommandName() }
        if ($name -and (Get-Alias $name -ErrorAction Ignore)) { $found += "$($file.Name): alias $name" }
        if ($name -eq 'Invoke-Expression') { $found += "$($file.Name): Invoke-Expression" }
    }
    $tokens | Where-Object { "$($_.Kind)" -like '*Question*' } | ForEach-Object { $found += "$($file.Name): $_" }
}
$found -join "`n"
"""


@windows
@subprocess
def test_powershells_own_parser_finds_no_error_no_alias_and_no_newer_syntax(machine: Machine) -> None:
    for file in FILES:
        target = machine.path(r"C:\scripts") / file.relative_to(CLOUD_INIT / "windows")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    machine.path(r"C:\parse.ps1").write_text(PARSE)
    assert machine.pwsh(r"& C:\parse.ps1")[1].strip() == ""


def test_windows_implements_every_kind_of_the_table() -> None:
    table = (CLOUD_INIT / "windows" / "node.ps1").read_text().split("$Kinds = @{")[1].split("\n}")[0]
    pairs = re.findall(r"'([a-z-]+)' = '(\w+)'", table)
    assert {kind for kind, _ in pairs} == {name for name, kind in KINDS.items() if "windows" in kind.systems}
    text = "".join(file.read_text() for file in FILES)
    for _, noun in pairs:
        assert f"function Test-{noun}Step" in text
        assert f"function Set-{noun}Step" in text or noun == "Build", "a build is only tested"


def test_scripts_are_ascii_with_short_lines_and_no_word_that_windows_powershell_lacks() -> None:
    for file in FILES:
        text = file.read_bytes().decode("ascii")
        assert max(map(len, text.splitlines())) <= 120, file.name
        for word in ("Invoke-Expression", "-AsHashtable", "-Parallel", "SkipCertificateCheck", "??", "&&"):
            assert word not in text, (file.name, word)


def test_every_failure_that_a_script_names_is_in_the_error_table() -> None:
    text = "".join(file.read_text() for file in [*FILES, *CLOUD_INIT.joinpath("linux").rglob("*.py")])
    used = set(re.findall(r"New-Failure '([a-z-]+)'", text)) | set(re.findall(r'Failure\(\s*"([a-z-]+)"', text))
    assert used - CODES.keys() == {"reboot"}, "a restart is a result, not an error"
