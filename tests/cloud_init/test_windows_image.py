"""Images of Windows machines: what is baked, what is removed, which sysprep runs; and rotation of logs."""

import json
from typing import Any

import pytest

from components.machine.bundle import BAKE, CLOUD_INIT, PLAN, bundle, image_bundle
from components.machine.user_data import document, image_user_data
from components.node import baking
from components.node.kinds import KINDS, ref, step
from components.node.plan import NodePlan, Phase, Scope
from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import FakeCloud
from tools.golden.samples import plan

BUNDLE = r"C:\image"
SERVICE = r"C:\windows\system32\spoolsv.exe"
"""Program that runs as a service under any name."""
windows, subprocess = pytest.mark.windows, pytest.mark.subprocess

PLANS = [
    plan("windows-2019", {"runtime": runtime}, kubernetes="1.23.17", network=network)
    for runtime in ("containerd", "docker")
    for network in ({"mode": "overlay"}, {"mode": "l2bridge"})
]


def _paths(made: NodePlan, scope: Scope, *kinds: str) -> set[str]:
    steps = [each for phase in made.phases if phase.scope is scope for each in phase.steps]
    return {each.fields["path"] for each in steps if each.kind in kinds}


@pytest.mark.parametrize(
    "made", PLANS, ids=["containerd-overlay", "containerd-l2bridge", "docker-overlay", "docker-l2bridge"]
)
def test_ops_10_results_of_node_phases_are_removed_and_those_of_image_phases_stay(made: NodePlan) -> None:
    remove = baking.traces(made)
    assert _paths(made, Scope.NODE, "file", "certificate-authority", "kubelet-bootstrap") <= set(remove["files"])
    assert r"C:\k\kubelet.conf" in remove["files"], "the kubelet writes it itself"
    kept = _paths(made, Scope.IMAGE, "file", "artifact")
    assert not kept & set(remove["files"])
    lost = [path for path in kept for folder in remove["folders"] if path.startswith(folder + "\\")]
    assert not [each for each in lost if not each.startswith(tuple(remove["kept"]))]
    assert "kubelet" in remove["services"]
    assert not set(remove["services"]) & set(remove["stopped"])


def test_every_kind_of_a_single_machine_declares_what_it_leaves() -> None:
    made = {each.kind for made in PLANS for phase in made.phases if phase.scope is Scope.NODE for each in phase.steps}
    assert made <= baking.TRACES.keys() <= KINDS.keys()


@pytest.mark.parametrize("made", PLANS[:1])
def test_an_images_bundle_has_only_image_phases_and_always_the_same_bytes(made: NodePlan) -> None:
    baked = baking.image_plan(made)
    assert {each.scope for each in baked.phases} == {Scope.IMAGE}
    assert baked.registration == {"labels": "", "taints": [], "taint_text": ""}
    first, second = image_bundle(made, "aws"), image_bundle(made, "aws")
    assert first.sha256 == second.sha256
    for name in (PLAN, BAKE, "image/bake.ps1", "image/clean.ps1", "image/generalize.ps1", "node.ps1"):
        assert name.encode() in first.content


def _plan() -> NodePlan:
    """Return a small machine's plan: a folder, a service and a setting in its image; files, a service, a task later."""
    folder, config = r"C:\var\log\own", r"C:\own\config"
    image = (
        step("directory", "logs", path=folder, access="private"),
        step("file", "config", path=config, content="1"),
        step("registry", "fix", key=r"HKLM\SOFTWARE\Lab", value="Fix", type="DWord", data=1),
        step("service", "runtime", service="mullion-runtime", command=[SERVICE], restarts_on=[config]),
    )
    node = (
        step("file", "kubeconfig", path=r"C:\k\node.conf", content=ref("machine.name")),
        step("service", "kubelet", service="mullion-kubelet", command=[SERVICE, "--node"]),
        step("task", "task", task="own", command=["cmd.exe"], schedule={"boot": True}),
        step("firewall-rule", "rule", rule="mullion-own", protocol="tcp", ports=["10250"]),
    )
    phases = (Phase("image", Scope.IMAGE, image), Phase("node", Scope.NODE, node))
    return NodePlan("worker", "web", "windows-2019", phases)


def _files(made: NodePlan, cloud: str) -> dict[str, bytes]:
    """Return the files of a bundle for images."""
    scripts = CLOUD_INIT / "windows"
    files: dict[str, bytes] = {f.relative_to(scripts).as_posix(): f.read_bytes() for f in scripts.rglob("*.ps1")}
    files |= {name: (CLOUD_INIT / name).read_bytes() for name in ("errors.json", "redaction.json")}
    files |= {PLAN: json.dumps(baking.image_plan(made).document()).encode()}
    return files | {BAKE: json.dumps(baking.document(made, cloud)).encode()}


def _place(machine: Machine, made: NodePlan, cloud: str = "aws") -> None:
    """Unpack the bundle as a user does."""
    for name, content in _files(made, cloud).items():
        place = machine.path(BUNDLE) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


LEFT = {
    r"C:\k\node.conf": "web-0",
    r"C:\k\kubelet.conf": "certificate",
    r"C:\var\lib\kubelet\pki\kubelet-client-current.pem": "key",
    r"C:\var\lib\cni\networks\flannel.4096\10.244.3.2": "kube-proxy",
    r"C:\run\flannel\subnet.env": "FLANNEL_SUBNET=10.244.3.1/24",
    r"C:\var\log\own\own.log": "web-0 joined",
    r"C:\ProgramData\Microsoft\Windows\HNS\HNS.data": "networks",
    r"C:\Program Files\mullion\bundles\b\plan.json": "{}",
    r"C:\Program Files\mullion\current.txt": "b",
}
"""Files and settings that a former node has in addition."""
DOWNLOAD = r"C:\ProgramData\mullion\downloads\containerd.tar.gz"


def _book(machine: Machine, name: str, content: Any) -> None:
    (machine.path(r"C:\fakes") / f"{name}.json").write_text(json.dumps(content))


@windows
@subprocess
def test_ops_10_an_image_of_a_former_node_has_nothing_of_the_node(machine: Machine) -> None:
    made = _plan()
    _place(machine, made)
    for path, text in {**LEFT, DOWNLOAD: "bytes"}.items():
        machine.path(path).parent.mkdir(parents=True, exist_ok=True)
        machine.path(path).write_text(text)
    rule = {"Direction": "Inbound", "Action": "Allow", "Enabled": "True", "Protocol": "TCP", "LocalPort": ["10250"]}
    _book(machine, "rules", {"mullion-own": rule | {"RemoteAddress": None}})
    _book(machine, "tasks", {"mullion": {}, "mullion-own": {}, "other": {}})
    told = json.dumps({"machine": {"name": "web-1"}, "facts": {"cloud": "aws"}})
    lines = [
        f"sc.exe create mullion-kubelet binPath= '{SERVICE}' start= auto | Out-Null",
        rf"& '{BUNDLE}\image\bake.ps1' -NoGeneralize; if ($LASTEXITCODE) {{ exit 9 }}",
        "$there = [ServiceProcess.ServiceController]::GetServices() | ForEach-Object ServiceName",
        r"[IO.File]::WriteAllText('C:\services.txt', $there -join ' ')",
        # a clone boots
        r"[void][IO.Directory]::CreateDirectory('C:\Program Files\mullion')",
        rf"[IO.File]::WriteAllText('C:\Program Files\mullion\machine.json', '{told}')",
        rf"sc.exe start mullion-runtime | Out-Null; & '{BUNDLE}\node.ps1' -Check",
    ]
    code, said = machine.pwsh("; ".join(lines), 180)
    assert code == 0, f"a clone would set something, or baking failed: {said}"
    assert "nothing of one node" in said
    for path in LEFT:
        assert not machine.path(path).exists(), path
    assert machine.path(DOWNLOAD).read_text() == "bytes", "clones do not download it again"
    assert machine.path(r"C:\own\config").read_text() == "1"
    memory = json.loads(machine.path(r"C:\ProgramData\mullion\state.json").read_text())
    assert memory["started"].keys() == {"mullion-runtime"}
    assert list(machine.kept("tasks")) == ["other"]
    assert machine.kept("rules") == {}
    there = machine.path(r"C:\services.txt").read_text().split()
    assert "mullion-runtime" in there
    assert "mullion-kubelet" not in there


_EC2 = r"C:\ProgramData\Amazon\EC2-Windows\Launch\Scripts"
_SYSPREP = r"C:\windows\system32\sysprep"
_STATE = r"HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State"
_SEALS = f"[Microsoft.Win32.Registry]::SetValue('{_STATE}', 'ImageState', 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE')"
_AGENTS = "; ".join(
    f"sc.exe create {name} binPath= '{SERVICE}' start= demand | Out-Null; sc.exe start {name} | Out-Null"
    for name in ("RdAgent", "WindowsAzureGuestAgent")
)
WAYS: tuple[tuple[str, dict[str, str], list[str]], ...] = (
    ("aws", {}, ["InitializeInstance -Schedule", "SysprepInstance"]),
    ("aws", {r"C:\Program Files\Amazon\EC2Launch\EC2Launch.exe": ""}, ["EC2Launch sysprep --clean --shutdown"]),
    ("gcp", {r"C:\Program Files\Google\Compute Engine\sysprep\gcesysprep.bat": ""}, ["gcesysprep"]),
    (
        "azure",
        {rf"{_SYSPREP}\sysprep.exe": _SEALS, "shutdown.exe": ""},
        ["sysprep /oobe /generalize /mode:vm /quiet /quit", "shutdown /s /t 0"],
    ),
)
"""Cloud; its programs and what each does in addition; what runs, in order. The first row has scripts."""


@windows
@subprocess
def test_ops_10_each_clouds_sysprep_is_run(machine: Machine) -> None:
    scripts, answers = machine.path(_EC2), machine.path(rf"{_SYSPREP}\unattend.xml")
    scripts.mkdir(parents=True)
    for name in ("InitializeInstance", "SysprepInstance"):
        said = f"('{name} ' + {_SWITCH}).Trim()"
        # Amazon's scripts read variables that are never set.
        (scripts / f"{name}.ps1").write_text(f"param([switch] $Schedule)\n$x = $NeverSet\n{_ran(said)}\nexit 0\n")
    answers.parent.mkdir(parents=True)
    answers.write_text("<unattend/>")
    _place(machine, _plan())
    own_process = "function global:Start-Shell { & pwsh.exe @args }; Set-Alias powershell.exe Start-Shell -Scope Global"
    lines = [_AGENTS, own_process]
    for cloud, programs, _ in WAYS:
        for program, besides in programs.items():
            lines += _program(program, besides)
        lines.append(rf"& '{BUNDLE}\image\generalize.ps1' -Cloud {cloud}")
    code, said = machine.pwsh("; ".join(lines))
    assert code in (0, None), said
    wanted = [line for _, _, words in WAYS for line in words]
    assert machine.path(r"C:\ran.txt").read_text().splitlines() == wanted, said
    assert not answers.exists(), "an answer file would also apply to clones"


@windows
@subprocess
def test_ops_10_a_sysprep_with_windows_is_waited_for(machine: Machine) -> None:
    _place(machine, _plan())
    # a program of Wine for the windows subsystem, as sysprep.exe is one
    program = machine.path(rf"{_SYSPREP}\sysprep.exe")
    program.parent.mkdir(parents=True)
    program.write_bytes(machine.path(r"C:\windows\system32\rundll32.exe").read_bytes())
    unset = "Remove-Variable LASTEXITCODE -Scope Global -ErrorAction Ignore"
    run = rf"& '{BUNDLE}\image\generalize.ps1' -Cloud azure"
    lines = [_AGENTS, _SEALS, *_program("shutdown.exe", ""), unset, run, "$global:LASTEXITCODE = 0"]
    code, said = machine.pwsh("; ".join(lines))
    assert (code, machine.path(r"C:\ran.txt").read_text().splitlines()) == (0, ["shutdown /s /t 0"]), said


@windows
@subprocess
def test_ops_10_a_sysprep_that_fails_is_reported_with_the_end_of_its_logs(machine: Machine) -> None:
    _place(machine, NodePlan("worker", "web", "windows-2019", (Phase("image", Scope.IMAGE, ()),)), "azure")
    logs = machine.path(rf"{_SYSPREP}\Panther")
    logs.mkdir(parents=True)
    (logs / "setuperr.log").write_text("2026-11-27 10:00:00, Error SYSPRP Package x was installed for a user\n")
    (logs / "setupact.log").write_text("".join(f"line {number}\n" for number in range(100)))
    fails = "function global:Write-sysprep { $global:LASTEXITCODE = 3 }"
    lines = [_AGENTS, *_program(rf"{_SYSPREP}\sysprep.exe", ""), fails, rf"& '{BUNDLE}\image\bake.ps1'"]
    code, said = machine.pwsh("; ".join(lines), 180)
    assert code == 1, said
    log = machine.path(r"C:\ProgramData\mullion\bake.log").read_text()
    assert "sysprep.exe ended with 3" in log
    assert "setuperr.log: 2026-11-27 10:00:00, Error SYSPRP Package x was installed for a user" in log
    assert "setupact.log: line 99" in log and "line 79" not in log


def _program(program: str, besides: str) -> list[str]:
    """Return lines that replace a program by a function that prints its arguments."""
    name = program.rpartition("\\")[2].rpartition(".")[0]
    words = f"('{name} ' + ($args -join ' ')).Trim()"
    lines = [f"function global:Write-{name} {{ {_ran(words)}; {besides}; $global:LASTEXITCODE = 0 }}"]
    if "\\" in program:
        lines += [f"[void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName('{program}'))"]
        lines += [f"[IO.File]::WriteAllText('{program}', '')"]
    return [*lines, f"Set-Alias '{program}' Write-{name} -Scope Global"]


def _ran(text: str) -> str:
    return rf"[IO.File]::AppendAllText('C:\ran.txt', {text} + [char]10)"


_SWITCH = "$(if ($Schedule) { '-Schedule' })"


@windows
@subprocess
def test_ops_10_user_data_of_a_builder_fetches_its_bundle_and_bakes(machine: Machine, cloud: FakeCloud) -> None:
    made, files = _plan(), _files(_plan(), "aws")
    files.pop(PLAN)
    stored = bundle(baking.image_plan(made), files)
    cloud.objects[f"/{stored.key}"] = stored.content
    told = document(
        f"{cloud.url}/{stored.key}", stored.sha256, {"name": "x-image"}, {"cloud": "aws", "world": "sandbox"}
    )
    text = image_user_data(told, "aws").replace("http://169.254.169.254", cloud.url)
    script = machine.path(r"C:\user-data.ps1")
    script.write_text(text.removeprefix("<powershell>\n").removesuffix("</powershell>\n"))
    lines = [*_program(r"C:\Program Files\Amazon\EC2Launch\EC2Launch.exe", ""), r"& C:\user-data.ps1"]
    code, said = machine.pwsh("; ".join(lines), 180)
    assert code in (0, None), said
    assert machine.path(r"C:\ran.txt").read_text().split() == ["EC2Launch", "sysprep", "--clean", "--shutdown"], said
    assert not cloud.refused(), "the bundle is fetched with the role's signature"
    assert machine.path(r"C:\own\config").read_text() == "1"
    assert list(machine.kept("tasks")) == [], "neither the loader's task nor that of the bake stays"
    for name in ("current.txt", "installed.txt", "machine.json", "loader.ps1"):
        assert not machine.path(rf"C:\Program Files\mullion\{name}").exists(), "a clone would not run its user-data"


@windows
@subprocess
def test_ops_03_a_large_log_is_rotated_and_few_old_ones_stay(machine: Machine) -> None:
    logs = machine.path(r"C:\logs")
    for name in ("kubelet", "flanneld", "pods"):
        (logs / name).mkdir(parents=True)
    (logs / "kubelet" / "kubelet.log").write_bytes(b"x" * 2000)
    (logs / "flanneld" / "flanneld.log").write_bytes(b"small")
    (logs / "pods" / "pods.log").write_bytes(b"x" * 2000)
    for number in range(5):
        (logs / "flanneld" / f"flanneld-{number}.log").write_bytes(b"old")
    script = machine.path(r"C:\rotate-logs.ps1")
    script.write_bytes((CLOUD_INIT / "windows" / "rotate-logs.ps1").read_bytes())
    held = "$held = [IO.FileStream]::new('C:\\logs\\kubelet\\kubelet.log', 'Append', 'Write', 'ReadWrite'); "
    more = "; $held.WriteByte(65); $held.Dispose()"
    code, said = machine.pwsh(rf"{held}& C:\rotate-logs.ps1 -Logs C:\logs -Bytes 1000 -Kept 3{more}")
    assert code in (0, None), said
    kept = sorted(each.name for each in (logs / "kubelet").iterdir())
    assert len(kept) == 2 and (logs / "kubelet" / kept[0]).stat().st_size in (1, 2000)
    assert len(list((logs / "flanneld").iterdir())) == 4, "the log itself and three older ones"
    assert (logs / "flanneld" / "flanneld.log").read_bytes() == b"small"
    assert (logs / "pods" / "pods.log").stat().st_size == 2000, "the kubelet cuts those of pods"
