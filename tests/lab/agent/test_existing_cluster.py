"""`mullion join --check` against a real API server with what kubeadm and flannel's manifest put into a new cluster.

The printed commands are run by a real kubectl; then the checks find nothing more.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from typer.testing import CliRunner

from components import releases
from components.catalogue.artifacts import versions
from operations.__main__ import app
from operations.joining.reading import JOINERS
from tests.awaited import until
from tests.lab.agent.conftest import PROGRAMS, built
from tests.lab.agent.served import Served
from tests.lab.conftest import Find

pytestmark = pytest.mark.lab

PODS, SERVICES = "10.244.0.0/16", "10.96.0.0/12"
SELECTOR: dict[str, Any] = {"matchLabels": {"app": "x"}}
ON_LINUX = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [ON_LINUX]}]}}


class Foreign(Served):
    """A cluster that kubeadm made, without anything of Mullion."""

    def phase(self, *words: str, **variables: str) -> None:
        """Run a phase of `kubeadm init`. variables: of its environment."""
        argv = [str(self.programs["kubeadm"]), "init", "phase", *words, "--config", str(self.folder / "own.yaml")]
        environment = {**os.environ, **variables}
        ended = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120, env=environment)
        assert ended.returncode == 0, ended.stdout + ended.stderr

    def static_pods(self, **flags: str) -> None:
        """Create the pods that kubelets report for kubeadm's manifests. flags: of kube-controller-manager."""
        folder = self.folder / "dry-run"
        folder.mkdir(exist_ok=True)
        self.phase("control-plane", "all", "--dry-run", KUBEADM_INIT_DRYRUN_DIR=str(folder))
        for name in ("kube-apiserver", "kube-controller-manager"):
            pod = yaml.safe_load((folder / f"{name}.yaml").read_text())
            if name == "kube-controller-manager":
                command = pod["spec"]["containers"][0]["command"]
                kept = [word for word in command if word.removeprefix("--").partition("=")[0] not in flags]
                pod["spec"]["containers"][0]["command"] = [*kept, *(f"--{each}={flags[each]}" for each in flags)]
            self.kubectl("delete", "pod", name, "-n", "kube-system", "--ignore-not-found", "--force")
            self.put(pod)

    def put(self, *manifests: dict[str, Any]) -> None:
        """Apply manifests."""
        file = self.folder / "manifests.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
        self.kubectl("apply", "--server-side", "--force-conflicts", "--filename", str(file))

    def furnish(self) -> None:
        """Do what a person does after `kubeadm init`: add-ons of kubeadm, flannel, a Node, names in DNS."""
        documents = list(yaml.safe_load_all(self.config.read_text()))
        documents[1]["networking"] = {"podSubnet": PODS, "serviceSubnet": SERVICES}
        (self.folder / "own.yaml").write_text(yaml.safe_dump_all(documents))
        access = ("--kubeconfig", str(self.administrator))
        for words in (("upload-config", "all"), ("addon", "all"), ("bootstrap-token",)):
            self.phase(*words, *access)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cp"}, "spec": {"podCIDR": "10.244.0.0/24"}}
        self.put(node, *flannel({"Network": PODS, "EnableNFTables": False, "Backend": {"Type": "vxlan"}}), names())

    def checked(self, *words: str) -> dict[str, Any]:
        """Return what `mullion join --check --json` prints."""
        ran = CliRunner().invoke(app, ["join", "--check", str(self.administrator), "--json", *words])
        assert ran.exit_code in (0, 1), ran.output
        found = json.loads(ran.stdout)
        assert (ran.exit_code == 0) == found["ready"], ran.output
        return found

    def run(self, command: str) -> None:
        """Run a printed command in a shell, with kubectl of the cluster."""
        words = shlex.join((str(self.programs["kubectl"]), "--kubeconfig", str(self.administrator)))
        script = f'kubectl() {{ {words} "$@"; }}\n{command}\n'
        ended = subprocess.run(["bash", "-euc", script], check=False, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, f"{command}: {ended.stderr}"


def flannel(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return flannel as its published manifest creates it; without RBAC, which no check reads."""
    meta = {"name": "kube-flannel-cfg", "namespace": "kube-flannel"}
    data = {"net-conf.json": json.dumps(settings), "cni-conf.json": "{}"}
    volume = {"name": "flannel-cfg", "configMap": {"name": "kube-flannel-cfg"}}
    pod = {
        "affinity": {"nodeAffinity": AFFINITY},
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "containers": [{"name": "kube-flannel", "image": "ghcr.io/flannel-io/flannel:v0.28.10"}],
        "volumes": [volume],
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-flannel"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data},
        workload("DaemonSet", "kube-flannel", "kube-flannel-ds", pod),
    ]


def node_version(kubernetes: str) -> str:
    """Return the newest version of the minor with published digests."""
    minor = releases.minor(kubernetes)
    fitting = [each for each in versions("kubernetes-node") if releases.minor(each) == minor]
    return releases.in_order([each for each in fitting if not releases.older(kubernetes, each)])[-1]


def workload(kind: str, namespace: str, name: str, pod: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = {"metadata": {"labels": {"app": "x"}}, "spec": pod}
    meta = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": meta,
        "spec": {"selector": SELECTOR, "template": template},
    }


def names() -> dict[str, Any]:
    """Return an endpoint of CoreDNS; no pod runs here."""
    labels = {"kubernetes.io/service-name": "kube-dns"}
    meta = {"name": "kube-dns-test", "namespace": "kube-system", "labels": labels}
    endpoint = {"addresses": ["10.244.0.7"], "conditions": {"ready": True}}
    kind = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4"}
    return {**kind, "metadata": meta, "endpoints": [endpoint], "ports": [{"port": 53}]}


@pytest.fixture(scope="module")
def foreign(
    kubernetes: str, program: Find, missing: Callable[[str, str], NoReturn], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Foreign]:
    paths: dict[str, Path] = {"kubeadm": program("kubeadm", "linux")}
    paths |= {name: built(name, kubernetes, missing) for name in PROGRAMS}
    cluster = Foreign(paths, kubernetes, tmp_path_factory.mktemp("foreign"))
    try:
        cluster.start()
        account = ("get", "serviceaccount", "default", "--namespace", "kube-system")
        until(lambda: cluster.kubectl(*account, check=False), "kube-system has its service account")
        cluster.furnish()
        yield cluster
    finally:
        cluster.stop()


def states(found: dict[str, Any]) -> dict[str, str]:
    return {row["check"]: row["state"] for row in found["rows"] if row["state"] != "ok"}


def test_the_printed_commands_make_a_new_kubeadm_cluster_ready(foreign: Foreign) -> None:
    stray = {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "a", "image": "example.com/a:1"}]}
    foreign.put(workload("DaemonSet", "default", "stray", stray))
    foreign.kubectl("delete", "clusterrolebinding", "kubeadm:kubelet-bootstrap", "kubeadm:node-autoapprove-bootstrap")
    found = until(lambda: _with(foreign, "joining-rights"), "the API server refuses joiners")
    assert states(found) == {
        "flannel": "mend",
        "workloads": "mend",
        "joining-rights": "mend",
        "node-rights": "mend",
        "bootstrap-tokens": "unknown",
        "certificates": "unknown",
    }, json.dumps(found, indent=1)
    commands = [command for row in found["rows"] for command in row["commands"]]
    assert len(commands) == 5
    for command in commands:
        foreign.run(command)
    after = until(lambda: _ready(foreign), "the checks find nothing more")
    assert states(after) == {"bootstrap-tokens": "unknown", "certificates": "unknown"}
    assert after["values"] == {
        "kubernetes": node_version(foreign.kubernetes),
        "endpoint": foreign.url,
        "network": {
            "pods": PODS,
            "services": SERVICES,
            "dns": "10.96.0.10",
            "domain": "cluster.local",
            "vni": 4096,
            "port": 4789,
        },
    }
    kept = json.loads(foreign.kubectl("get", "configmap", "kube-flannel-cfg", "-n", "kube-flannel", "-o", "json"))
    assert json.loads(kept["data"]["net-conf.json"])["EnableNFTables"] is False, "other settings stay"
    binding = json.loads(foreign.kubectl("get", "clusterrolebinding", "kubeadm:kubelet-bootstrap", "-o", "json"))
    assert binding["subjects"][0]["name"] == JOINERS


def test_flags_of_the_control_plane_are_read_from_its_pods(foreign: Foreign) -> None:
    foreign.static_pods()
    found = foreign.checked()
    assert not {"bootstrap-tokens", "certificates"} & {*states(found)}, "kubeadm's own manifests are right"
    foreign.static_pods(controllers="*,-csrapproving")
    assert states(foreign.checked())["certificates"] == "refused"


def test_nodes_newer_than_the_api_server_are_refused(foreign: Foreign) -> None:
    newer = f"{foreign.kubernetes.rpartition('.')[0]}.99"
    assert states(foreign.checked("--kubernetes", newer))["version"] == "refused"


def test_an_administrator_without_rights_gets_the_answer_of_the_api_server(foreign: Foreign, tmp_path: Path) -> None:
    document = yaml.safe_load((foreign.folder / "controller-manager.conf").read_text())
    path = tmp_path / "other.conf"
    path.write_text(yaml.safe_dump(document))
    ran = CliRunner().invoke(app, ["join", "--check", str(path)])
    assert ran.exit_code == 1
    assert "403" in str(ran.exception) + ran.output


def _with(foreign: Foreign, check: str) -> dict[str, Any] | None:
    found = foreign.checked()
    return found if check in states(found) else None


def _ready(foreign: Foreign) -> dict[str, Any] | None:
    found = foreign.checked()
    return found if found["ready"] else None
