"""Images that a control plane pulls by digest and tags before kubeadm runs: by the real crictl, ctr and containerd."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pytest

from lab import build
from lab.programs import cluster_programs
from tests.lab.test_containerd import CONFIG, digest
from tests.operations.downloads.registries import MANIFEST, serving
from tools.golden.samples import content, plan

pytestmark = pytest.mark.lab

TAG = "v1.37.1"
CONFIGURATION = """version = 3
[plugins."io.containerd.cri.v1.images".registry]
config_path = "{hosts}"
[plugins."io.containerd.cri.v1.images"]
snapshotter = "native"
[[plugins."io.containerd.transfer.v1.local".unpack_config]]
platform = "linux/amd64"
snapshotter = "native"
"""


@pytest.fixture
def client(
    kubernetes: str, tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> Iterator[Callable[..., "subprocess.CompletedProcess[str]"]]:
    """Yield a function that runs a command of the plan against a containerd with CRI, which asks registries by http."""
    found = {each.name: each for each in cluster_programs(kubernetes) if each.name in ("containerd", "ctr", "crictl")}
    if lacking := [name for name, each in found.items() if not build.is_built(each)]:
        missing("lab", f"{' and '.join(lacking)} are not built; run: python -m lab cluster {kubernetes}")
    config, socket = tmp_path / "config.toml", f"{tmp_path}/s"
    (tmp_path / "hosts").mkdir()
    config.write_text(CONFIGURATION.format(hosts=tmp_path / "hosts"), encoding="ascii")
    places = ["--config", config, "--root", tmp_path / "root", "--state", tmp_path / "state", "--address", socket]

    def run(argv: list[str]) -> "subprocess.CompletedProcess[str]":
        name, *words = argv
        name = name.rpartition("/")[2]
        words = [f"unix://{socket}" if word.startswith("unix://") else word for word in words]
        address = ["--address", socket] if name == "ctr" else []
        command = [str(build.place(found[name])), *address, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    with (tmp_path / "log").open("wb") as log:
        daemon = subprocess.Popen([build.place(found["containerd"]), *places], stdout=log, stderr=log)
    try:
        end = time.monotonic() + 120
        while run(["crictl", "--runtime-endpoint", "unix://x", "images"]).returncode and time.monotonic() < end:
            assert daemon.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.5)
        yield run
    finally:
        daemon.terminate()
        daemon.wait(60)


def test_an_image_that_was_pulled_by_digest_is_the_image_of_its_tag(
    client: Callable[..., "subprocess.CompletedProcess[str]"], tmp_path: Path
) -> None:
    """The tag in the registry was moved; kubeadm finds the tag on the machine, and pulls none."""
    settings = b'{"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}'
    described = {"mediaType": CONFIG, "digest": digest(settings), "size": len(settings)}
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": [], "annotations": {"a": "1"}}
    true = json.dumps(document).encode()
    moved = true.replace(b'"a": "1"', b'"a": "2"')
    with serving() as registry:
        host = urlsplit(registry.url).netloc
        place = tmp_path / "hosts" / host
        place.mkdir()
        (place / "hosts.toml").write_text(f'server = "http://{host}"\n', encoding="ascii")
        image = f"{host}/kube-apiserver:{TAG}"
        registry.manifests = {
            f"kube-apiserver:{digest(true)}": true,
            f"kube-apiserver:{TAG}": moved,
            f"kube-apiserver:{digest(settings)}": settings,
        }
        config = {"ClusterConfiguration": {"imageRepository": host}}
        made = plan(None, kubernetes="1.37.1", kubeadm={"config": config}, artifacts={"images": {image: digest(true)}})
        commands = content(made, "agent-config")["upgrade"]["apply"][:2]
        assert [argv[-1] for argv in commands] == [f"{host}/kube-apiserver@{digest(true)}", image]
        for argv in commands:
            said = client(argv)
            assert not said.returncode, said.stdout + said.stderr
        end = time.monotonic() + 60
        while client(["crictl", "--runtime-endpoint", "unix://x", "inspecti", "--quiet", image]).returncode:
            assert time.monotonic() < end, "CRI sees the tag, and kubeadm asks CRI"
            time.sleep(0.2)
        said = client(["crictl", "--runtime-endpoint", "unix://x", "inspecti", "--output", "json", image])
        assert json.loads(said.stdout)["status"]["repoDigests"] == [f"{host}/kube-apiserver@{digest(true)}"]
