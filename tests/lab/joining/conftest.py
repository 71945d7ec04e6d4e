"""One Windows worker of the program's own, joined to a real API server: what all tests of this folder look at."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from components.node import addons
from components.node.role import role
from components.spec.stack import CLUSTER, read_stack
from operations.engine import Engine
from sandbox.boot.spaces import within
from tests.lab.conftest import WINPWSH, Find
from tests.lab.joining import mirror
from tests.lab.joining.control_plane import TOKEN, ControlPlane, kubeadm_files
from tests.lab.joining.machine import CRI, Joining, no_runtime
from tests.whole_way.lab import Lab, lab
from tests.whole_way.windows import FRESH, server
from tools.lab import build
from tools.lab.programs import joining_programs
from tools.linuxnode.image import lacking

POOL = "web"
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
class Site:
    """What there is: the cloud, its API server, and the one worker, whose plan has been made true."""

    lab: Lab
    plane: ControlPlane
    worker: Joining
    kubernetes: str
    folder: Path
    """The clone that the stack belongs to."""

    @property
    def node(self) -> dict[str, Any]:
        """The worker's Node object."""
        return self.plane.call("GET", f"/api/v1/nodes/{self.worker.name}")

    def boot(self) -> None:
        """Power on, until its plan is true or says why not."""
        with self.worker.links():
            self.worker.power_on()


@pytest.fixture(scope="session")
def site(
    kubernetes: str,
    program: Find,
    missing: Callable[[str, str], NoReturn],
    engine: Engine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """The worker joined, with all that it needed."""
    if why := lacking():
        missing("linuxnode", why)
    if not WINPWSH:
        missing("winpwsh", "set MULLION_WINPWSH to the program that makes Windows machines")
    folder = tmp_path_factory.mktemp("joining")
    programs = _programs(kubernetes, program, missing)
    spec = {**SPEC, "kubernetes": kubernetes}
    worker = role("lab", read_stack("lab", {"aws:region": "eu-west-1", CLUSTER: spec}).spec, POOL)
    files = mirror.mirror(worker, lambda name: programs[name], programs["standins"])
    files.write_entries(folder / "artifacts.json")
    with ExitStack() as stack:
        spec["artifacts"] = {"file": str(folder / "artifacts.json"), "mirror": f"http://10.20.0.1:{mirror.PORT}"}
        cloud = stack.enter_context(lab(folder, _stack_file(spec)))
        downloads = within(cloud.net, lambda: mirror.serve(files.files))
        stack.callback(downloads.server_close)
        stack.callback(downloads.shutdown)
        plane = _control_plane(cloud, programs, kubernetes, folder / "control-plane")
        stack.callback(plane.stop)
        plane.start()
        plane.apply(addons.windows_nodes(worker))
        record = cloud.machine(POOL)
        # a name that nobody knows makes each start of Wine wait for a name server
        for each in (FRESH, cloud.told(record)["machine"]["name"]):
            cloud.others[each] = record.outputs["privateIp"]
        cloud.set_secret("join_secret", record, TOKEN)
        space = cloud.join(record)
        stack.enter_context(no_runtime(programs["crinotready"], space))
        machine = stack.enter_context(server(WINPWSH, cloud, record, space, folder / "worker", "v2", Joining))
        here = Site(cloud, plane, machine, kubernetes, folder)
        here.boot()
        yield here


def _programs(kubernetes: str, program: Find, missing: Callable[[str, str], NoReturn]) -> dict[str, Path]:
    """The programs by name: Windows' own where there are two."""
    found = {"kubeadm": program("kubeadm", "linux")}
    for each in ("kubelet", "kube-proxy", "kube-log-runner", "host-local", "win-overlay", "win-bridge"):
        found[each] = program(each, "windows")
    for each in joining_programs(kubernetes):
        if not build.is_built(each):
            missing("lab", f"{each.name} {each.version} is not built; run: python -m tools.lab join {kubernetes}")
        found[each.name] = build.place(each)
    return found


def _stack_file(spec: dict[str, Any]) -> str:
    return yaml.safe_dump({"config": {"aws:region": "eu-west-1", CLUSTER: spec}})


def _control_plane(cloud: Lab, programs: dict[str, Path], kubernetes: str, folder: Path) -> ControlPlane:
    folder.mkdir()
    record = cloud.machine("control-plane")
    host, address = cloud.told(record)["facts"]["api_host"], record.outputs["privateIp"]
    cloud.others[host] = address
    secrets = kubeadm_files(cloud.secret("pki_secret", record))
    return ControlPlane(programs, kubernetes, folder, cloud.join(record), address, host, secrets)
