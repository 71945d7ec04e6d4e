"""One Windows worker of the program, joined to a real API server, for all tests of this folder."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from components.node import addons, downloads
from components.node.layout import WINDOWS_STATE
from components.node.role import Role, role
from components.stack_files.stack import CLUSTER, read_stack
from lab import build, windows
from lab.linuxnode.image import lacking
from lab.programs import joining_programs
from operations.engine.locate import Engine
from sandbox.boot import mirror
from sandbox.boot.network_namespaces import within
from sandbox.boot.windows.kubelet_links import links
from sandbox.boot.windows.server import CRI, no_runtime
from tests.boot_to_ready.lab import Lab, lab
from tests.boot_to_ready.windows import Server, server
from tests.lab.conftest import WINPWSH, Find
from tests.lab.joining.control_plane import JOIN_SECRET, NUMBER, ControlPlane, kubeadm_files

POOL = "web"
ROUTER = "10.20.0.1"
NEVER = hashlib.sha256(b"").hexdigest()
SPEC: dict[str, Any] = {
    "cloud": "aws",
    "pools": {
        POOL: {
            "os": "windows-2019",
            "count": 1,
            "labels": {"team": "billing"},
            "taints": ["os=windows:NoSchedule", "gpu=yes:NoExecute"],
            "rollout": {"gate": "registered"},
            "kubelet": {
                "system_reserved": {"cpu": "500m", "memory": "2Gi"},
                "kube_reserved": {"memory": "256Mi"},
                "eviction_hard": {"memory.available": "500Mi"},
                "priority_class": "ABOVE_NORMAL_PRIORITY_CLASS",
                # named pipes do not work between Go programs under Wine
                "config": {"containerRuntimeEndpoint": f"tcp://{CRI}"},
            },
        }
    },
}


@dataclass
class JoinedWorker:
    """The cloud, its API server, and the one worker, whose plan has run."""

    lab: Lab
    plane: ControlPlane
    worker: Server
    kubernetes: str
    folder: Path
    """Folder of the clone with the stack."""

    @property
    def node(self) -> dict[str, Any]:
        """Return the worker's Node object."""
        return self.plane.call("GET", f"/api/v1/nodes/{self.worker.name}")

    def boot(self) -> None:
        """Power on, and wait until its plan succeeds or fails."""
        with links(self.worker):
            self.worker.power_on()


@pytest.fixture(scope="session")
def joined(
    kubernetes: str,
    program: Find,
    missing: Callable[[str, str], NoReturn],
    engine: Engine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[JoinedWorker]:
    """Return the joined worker with its cloud and API server."""
    if why := lacking():
        missing("linuxnode", why)
    if not WINPWSH:
        missing("winpwsh", "set MULLION_WINPWSH to the program that makes Windows machines")
    folder = tmp_path_factory.mktemp("joining")
    programs = programs_of(kubernetes, program, missing)
    spec = {**SPEC, "kubernetes": kubernetes}
    worker = role("lab", read_stack("lab", {"aws:region": "eu-west-1", CLUSTER: spec}).spec, POOL)
    entries = windows.pack(kubernetes, folder / mirror.DOWNLOADS)
    (folder / "artifacts.json").write_text(json.dumps([*entries, *_unpinned(worker)]), encoding="ascii")
    with ExitStack() as stack:
        spec["artifacts"] = {"file": str(folder / "artifacts.json"), "mirror": f"http://{ROUTER}:{mirror.PORT}"}
        # whoever runs the test built these programs
        spec["acknowledge"] = {**spec.get("acknowledge", {}), "download-replaced": "built from their Go modules"}
        cloud = stack.enter_context(lab(folder, _stack_file(spec)))
        served = within(cloud.net, lambda: mirror.server(ROUTER, [folder]))
        threading.Thread(target=served.serve_forever, daemon=True).start()
        stack.callback(served.server_close)
        stack.callback(served.shutdown)
        plane = _control_plane(cloud, programs, kubernetes, folder / "control-plane")
        stack.callback(plane.stop)
        plane.start()
        plane.apply(addons.windows_nodes(worker))
        record = cloud.machine(POOL)
        cloud.set_secret("join_secret", record, JOIN_SECRET)
        space = cloud.join(record)
        stack.enter_context(no_runtime(programs["crinotready"], space))
        machine = stack.enter_context(server(WINPWSH, cloud, record, space, folder / "worker", "v2"))
        machine.put(rf"{WINDOWS_STATE}\join-number", NUMBER.encode())
        joined_worker = JoinedWorker(cloud, plane, machine, kubernetes, folder)
        joined_worker.boot()
        yield joined_worker


def _unpinned(worker: Role) -> Iterator[dict[str, str]]:
    """Yield `artifacts` entries for downloads of machines that do not boot here, which have no published digest."""
    for download in downloads.needed("lab", worker.spec):
        if not download.is_pinned and download.os == "linux":
            pinned = {"name": download.name, "version": download.version, "os": download.os, "url": download.url}
            yield {**pinned, "sha256": NEVER, "source": "the lab"}


def programs_of(kubernetes: str, program: Find, missing: Callable[[str, str], NoReturn]) -> dict[str, Path]:
    """Return the control plane's programs by name, and the runtime's; the Windows programs must also be built."""
    paths = {"kubeadm": program("kubeadm", "linux")}
    for each in windows.REAL - {"kubectl"}:
        program(each, "windows")
    for joining in joining_programs(kubernetes):
        if not build.is_built(joining):
            missing("lab", f"{joining.name} {joining.version} is not built; run: python -m lab join {kubernetes}")
        paths[joining.name] = build.place(joining)
    return paths


def _stack_file(spec: dict[str, Any]) -> str:
    return yaml.safe_dump({"config": {"aws:region": "eu-west-1", CLUSTER: spec}})


def _control_plane(cloud: Lab, programs: dict[str, Path], kubernetes: str, folder: Path) -> ControlPlane:
    folder.mkdir()
    record = cloud.machine("control-plane")
    host, address = cloud.told(record)["facts"]["api_host"], record.outputs["privateIp"]
    cloud.others[host] = address
    secrets = kubeadm_files(cloud.secret("pki_secret", record))
    return ControlPlane(programs, kubernetes, folder, cloud.join(record), address, host, secrets)
