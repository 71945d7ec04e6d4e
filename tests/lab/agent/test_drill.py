"""A drill with real programs: etcd of a real API server is snapshotted, restored beside it, read, and removed."""

import importlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from components.node.layout import PKI
from tests.cloud_init.cloud import FakeCloud
from tests.lab.agent.conftest import built
from tests.lab.agent.free_ports import held_ports
from tests.lab.agent.served import Served
from tests.lab.agent.test_agent import client
from tools.golden.samples import content, plan

pytestmark = pytest.mark.lab

LATER = 4_000_000_000.0


class Containers:
    """Stands in for containerd: runs the programs of `ctr run` as processes, and stops them by `ctr tasks delete`."""

    def __init__(self, programs: dict[str, Path], start: Callable[..., Any], log: Path) -> None:
        self.programs, self.real, self.log = programs, start, log
        self.running: list[subprocess.Popen[bytes]] = []
        self.commands: list[list[str]] = []

    def start(self, argv: tuple[str, ...], seconds: float, *rest: Any) -> Any:
        if argv[0] == "ctr" and "run" in argv:
            words = list(argv[argv.index("mullion-drill") + 1 :])  # after image and name of the container
            own = (f"{self.programs[words[0]]}", *words[1:])
            self.commands.append(words)
            if "--detach" not in argv:
                return self.real(own, seconds, *rest)
            with self.log.open("wb") as log:
                self.running.append(subprocess.Popen(own, stdout=log, stderr=log))
            return self.real(("true",), seconds)
        if argv[:1] in (("ctr",), ("crictl",)):
            if "tasks" in argv:
                self.stop()
            return self.real(("true",), seconds)
        return self.real(argv, seconds, *rest)

    def stop(self) -> None:
        while self.running:
            process = self.running.pop()
            process.kill()
            process.wait()


@pytest.fixture
def containers(
    run: Any,
    kubernetes: str,
    missing: Callable[[str, str], NoReturn],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Containers]:
    programs = importlib.import_module("programs")
    own = {name: built(name, kubernetes, missing) for name in ("etcd", "etcdutl")}
    made = Containers(own, programs.start, tmp_path / "drill.log")
    monkeypatch.setattr(programs, "start", made.start)
    yield made
    made.stop()


@pytest.fixture
def config(served: Served, etcdctl: Path, run: Any) -> dict[str, Any]:
    """Return the planned configuration with the paths, ports and certificates of the served API."""
    held = held_ports(2)
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    text = json.dumps(content(plan(None), "agent-config")["drill"]).replace(PKI, f"{served.pki}")
    section = json.loads(text.replace("12379", f"{ports[0]}").replace("12380", f"{ports[1]}"))
    running, endpoint = client(served, etcdctl), f"https://127.0.0.1:{served.etcd}"
    section |= {"etcd_image": "registry.k8s.io/etcd:3.7.0", "folder": "/var/lib/etcd/drill"}
    section["client"] = [f"https://127.0.0.1:{ports[0]}" if word == endpoint else word for word in running]
    run.path("/var/lib/etcd").mkdir(parents=True)
    memory = run.path("/proc/meminfo")
    memory.parent.mkdir(parents=True)
    memory.write_text(Path("/proc/meminfo").read_text())
    keys = run.path("/etc/encryption.json")
    keys.parent.mkdir(parents=True, exist_ok=True)
    keys.write_text('{"name": "key1"}')
    return {
        "drill": section,
        "etcd": {"find": ["echo", "etcd"], "etcdctl": running},
        "snapshots": {"file": "/var/lib/etcd/mullion.snapshot"},
        "encryption": {"path": "/etc/encryption.json"},
    }


def test_a_snapshot_of_a_real_cluster_is_restored_beside_it(
    served: Served,
    etcdctl: Path,
    module: Callable[[str], ModuleType],
    run: Any,
    cloud: FakeCloud,
    config: dict[str, Any],
    containers: Containers,
) -> None:
    snapshots, drills = module("snapshots"), module("drills")
    file = run.path("/var/lib/etcd/mullion.snapshot")
    config["snapshots"]["file"] = f"/{file.relative_to(run.root)}"
    served.kubectl("create", "secret", "generic", "drilled", "--from-literal=password=none")
    subprocess.run([*client(served, etcdctl), "snapshot", "save", f"{file}"], check=True, capture_output=True)
    key = snapshots.upload(run, file, "20261130T120000Z", "command")
    file.unlink()
    served.kubectl("create", "secret", "generic", "later", "--from-literal=password=none")
    run.try_for(120)
    found = drills.hold(run, config, {}, LATER)
    names = served.kubectl("get", "secrets", "--all-namespaces", "--output", "name").split()
    spaces = served.kubectl("get", "namespaces", "--output", "name").split()
    assert found["snapshot"] == key
    assert found["counts"]["secrets"] == [len(names) - 1, len(names)], "one was created after the snapshot"
    assert found["counts"]["namespaces"] == [len(spaces)] * 2
    assert found["readable"] == len(names) - 1
    assert not containers.running and not list(run.path("/var/lib/etcd").iterdir())
    assert [words[0] for words in containers.commands] == ["etcdutl", "etcd"]
    assert served.kubectl("get", "secret", "later", "--output", "name"), "the running cluster is as before"

    lost = [*client(served, etcdctl), "put", "/registry/secrets/shop/lost", "k8s:enc:secretbox:v1:key7:x"]
    subprocess.run(lost, check=True, capture_output=True)
    subprocess.run([*client(served, etcdctl), "snapshot", "save", f"{file}"], check=True, capture_output=True)
    subprocess.run([*client(served, etcdctl), "del", "/registry/secrets/shop/lost"], check=True, capture_output=True)
    snapshots.upload(run, file, "20261130T130000Z", "command")
    file.unlink()
    run.try_for(120)
    found = drills.hold(run, config, {}, LATER)
    assert found["readable"] == found["counts"]["secrets"][0] - 1, "this control plane has no key 7"
    assert cloud.objects
