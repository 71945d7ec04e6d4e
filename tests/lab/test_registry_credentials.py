"""The kubelet gets credentials from the programs of `registry_credentials`, and the sandbox's registries take them."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from lab import build
from lab.hns import dlls
from lab.programs import CREDENTIAL_PROVIDERS, PULLS
from sandbox.azure.regions import TENANT
from sandbox.boot.windows.server import CRI, WMIC
from tests.cloud_init.accounts import AZURE_CLIENT
from tests.cloud_init.cloud import FakeCloud, serving
from tests.conformance import authority
from tests.lab.cloud_proxy import proxy
from tests.lab.conftest import Find
from tests.lab.hns.whole_node import SOCKETS
from tests.lab.judge import Windows
from tests.sandbox.services import test_registries as registries
from tools.golden.samples import one, plan

pytestmark = pytest.mark.lab

IMAGES = {"acr": f"{registries.SHOP}/app/web:1", "gar": f"{registries.GAR}/{registries.PLACE}:1"}
CLOUDS = {"acr": "azure", "gar": "gcp"}
FACTS = {"registry_identity": AZURE_CLIENT, "tenant": TENANT}
STANDALONE: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "cgroupsPerQOS": False,
    "enableServer": False,
    "enforceNodeAllocatable": [],
    "localStorageCapacityIsolation": False,
    "resolvConf": "",
}
"""A kubelet without an API server, which runs one static pod."""
OF_SYSTEM: dict[str, dict[str, Any]] = {
    # it needs no cgroups and no kernel log of its own
    "linux": {"failCgroupV1": False, "failSwapOn": False, "featureGates": {"KubeletInUserNamespace": True}},
    "windows": {},
}
SECONDS = 180
"""Longest wait for a pull: the kubelet starts the pod a few seconds after its own start."""

Missing = Callable[[str, str], NoReturn]


class Host:
    """A machine for one kubelet: this host with all paths below a folder, or the Windows machine."""

    def __init__(self, folder: Path, windows: Windows | None) -> None:
        self.folder, self.windows = folder, windows
        self.system, self.os = ("windows", "windows-2022") if windows else ("linux", "ubuntu-24.04")

    def path(self, planned: str) -> Path:
        """Return this host's path of a planned one, in a folder that exists."""
        if self.windows:
            return self.windows.path(planned)
        path = self.folder / planned.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def told(self, planned: str) -> str:
        """Return a planned path as the programs of the machine must name it."""
        return planned if self.windows else f"{self.folder}{planned}"

    def write(self, planned: str, content: Any, home: str = "") -> str:
        """Write a document, with facts filled in and the folder `home` moved; return its path for programs."""
        text = json.dumps(content)
        for fact, value in FACTS.items():
            text = text.replace(json.dumps({"ref": f"facts.{fact}"}), json.dumps(value))
        if home and not self.windows:
            text = text.replace(home, self.told(home))
        self.path(planned).write_text(text)
        return self.told(planned)

    def place(self, name: str) -> str:
        """Return the planned path of one of the test's own files."""
        return rf"C:\lab\{name}" if self.windows else f"/lab/{name}"


def lay_out(host: Host, registry: str, kubernetes: str, missing: Missing) -> list[str]:
    """Write what a node plan has for its kubelet's credential provider; return the kubelet's flags."""
    node_plan = plan(host.os, registry_credentials=[registry], kubernetes=kubernetes)
    config = one(node_plan, "credential-providers").fields
    [provider] = config["content"]["providers"]
    home = config["path"].removesuffix("config.json")
    for step in node_plan.steps:
        if step.kind == "file" and step.fields["path"].startswith(home):
            host.write(step.fields["path"], step.fields["content"], home)
    wanted = (host.system, provider["name"])
    program = next(each for each in CREDENTIAL_PROVIDERS if (each.os, each.file_name) == wanted)
    if not build.is_built(program):
        missing("lab", f"{program.name} is not built; run: python -m lab build {kubernetes}")
    host.path(home + provider["name"]).unlink(missing_ok=True)
    host.path(home + provider["name"]).symlink_to(build.place(program))
    command = one(node_plan, "kubelet").fields["command"]
    flags = [each.partition("=") for each in command if str(each).startswith("--image-credential")]
    return [f"{flag}={host.told(value)}" for flag, _, value in flags]


@contextmanager
def running(command: Sequence[str | Path], output: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with output.open("wb") as file:
        own = {**os.environ, **environment, "WINPWSH_TIMEOUT": str(SECONDS)}
        process = subprocess.Popen([str(each) for each in command], env=own, stdout=file, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def pulled(output: Path, kubelet: subprocess.Popen[bytes], log: Path) -> dict[str, str]:
    """Return the first pull that the runtime got."""
    for _ in range(SECONDS):
        if lines := [each for each in output.read_text().splitlines() if each.startswith("{")]:
            return json.loads(lines[0])
        assert kubelet.poll() is None, log.read_text()[-2000:]
        time.sleep(1)
    raise AssertionError(f"no pull in {SECONDS} seconds: {log.read_text()[-2000:]}")


@pytest.fixture
def host(request: pytest.FixtureRequest, tmp_path: Path, missing: Missing) -> Iterator[Host]:
    """Return a host of the system that the test names."""
    if request.param == "linux":
        if os.geteuid() != 0:
            missing("linuxnode", "a kubelet mounts its folder, which needs root")
        # pytest's folder is too deep: the kubelet makes sockets in its own, and their paths have at most 107 bytes
        with tempfile.TemporaryDirectory(prefix="kubelet-") as folder:
            made = Host(Path(folder), None)
            yield made
            # the kubelet mounts it on itself
            subprocess.run(["umount", made.told(made.place("root"))], check=False, capture_output=True)
        return
    windows: Windows = request.getfixturevalue("windows")
    if not dlls.is_built():
        missing("lab", "the DLLs of Windows' networking are not built; run: python -m lab build 1.37.1")
    dlls.install(windows.folder)
    windows.path(r"C:\windows\system32\wmic.bat").write_text(WMIC)
    yield Host(tmp_path, windows)
    subprocess.run([windows.tool, "stop", windows.folder], check=False, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    ("registry", "host"),
    # Azure's registry needs an authority that only Linux takes from a variable
    [("acr", "linux"), ("gar", "linux"), ("gar", "windows")],
    indirect=["host"],
)
def test_the_kubelet_pulls_with_credentials_that_the_clouds_registry_accepts(
    registry: str, host: Host, kubernetes: str, program: Find, missing: Missing, tmp_path: Path
) -> None:
    kubelet = program("kubelet", host.system)
    if not build.is_built(PULLS):
        missing("lab", f"{PULLS.name} is not built; run: python -m lab build {kubernetes}")
    flags = lay_out(host, registry, kubernetes, missing)
    container = {"name": "app", "image": IMAGES[registry]}
    pod = {"hostNetwork": host.system == "linux", "containers": [container]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app"}, "spec": pod}
    host.write(host.place("pods/app.json"), document)
    listen = ["tcp", CRI] if host.windows else ["unix", str(tmp_path / "cri.sock")]
    folders = {"staticPodPath": host.told(host.place("pods")), "podLogsDir": host.told(host.place("logs"))}
    own = {**folders, "containerRuntimeEndpoint": f"{listen[0]}://{listen[1]}"}
    config = host.write(host.place("kubelet.json"), {**STANDALONE, **OF_SYSTEM[host.system], **own})
    root, log, pulls = host.place("root"), tmp_path / "kubelet.log", tmp_path / "pulls"
    host.path(root).mkdir(parents=True, exist_ok=True)
    words = ["--config", config, "--root-dir", host.told(root), "--hostname-override", "n", "--v=4", *flags]
    start: list[str | Path] = [kubelet]
    if host.windows:
        start = [host.windows.tool, "run", host.windows.folder, *SOCKETS]
        start.append(host.windows.install(kubelet, r"C:\lab\kubelet.exe"))
    trusted = tmp_path / "authority.pem"
    trusted.write_text(authority.pem(authority.authority()))
    (tmp_path / "cloud").mkdir()
    with serving(tmp_path / "cloud", cloud=CLOUDS[registry]) as cloud, proxy(cloud.url) as url:
        with (
            running([build.place(PULLS), *listen], pulls),
            running([*start, *words], log, HTTP_PROXY=url, HTTPS_PROXY=url, SSL_CERT_FILE=str(trusted)) as process,
        ):
            given = pulled(pulls, process, log)
        assert given["image"] == IMAGES[registry]
        assert given["password"] and given["password"] not in log.read_text(), "a log is no place for it"
        assert judged(registry, cloud, given) == (401 if registry == "acr" else 403), "without the role"
        grant(registry, cloud)
        assert judged(registry, cloud, given) == 200


def grant(registry: str, cloud: FakeCloud) -> None:
    if registry == "gar":
        registries.reader(cloud)
    else:
        registries.may(cloud, registries.ACR_PULL, registries.SUBSCRIPTION)


def judged(registry: str, cloud: FakeCloud, given: Mapping[str, str]) -> int:
    """Return the status with which the registry answers a runtime that asks for a token to pull."""
    if registry == "gar":
        return registries.google_pull(cloud, given["username"], given["password"])[0]
    assert given["username"] == registries.NOBODY
    return registries.allowed(cloud, given["password"])[0]
