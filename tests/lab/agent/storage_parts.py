"""Sidecars of storage drivers and the snapshot controller as processes, with an add-on's arguments and rights."""

import json
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from components.node import addons
from components.node.manifests import Manifest, pod_of
from components.node.role import Role
from lab import build
from lab.programs import STORAGE
from tests.awaited import until
from tests.lab.agent.aws_world import written
from tests.lab.agent.served import Served

NEWER = "volumesnapshots.snapshot.storage.k8s.io is fo"
"""Log of provisioner 6.3.0, which watches VolumeSnapshots to protect them; 6.0.0, the image's version, only reads them
(deploy/kubernetes/rbac.yaml of both)."""
SIDECARS = ("csi-provisioner", "csi-attacher", "csi-snapshotter")


class Parts:
    """The running programs and their logs."""

    def __init__(self, folder: Path, running: dict[str, subprocess.Popen[bytes]]) -> None:
        self.folder, self.running = folder, running

    def said(self) -> str:
        """Return the ends of all logs, after asserting that no program has ended."""
        texts = {name: (self.folder / f"{name}.log").read_text("utf-8", "replace") for name in self.running}
        ended = [name for name, each in self.running.items() if each.poll() is not None]
        assert not ended, f"{ended} ended:\n{texts[ended[0]][-2000:]}"
        return "\n".join(f"== {name}\n{text[-1500:]}" for name, text in texts.items())

    def calls(self, method: str) -> list[dict[str, Any]]:
        """Return the requests of the calls of the driver that succeeded; sidecars repeat calls."""
        lines = (self.folder / "driver.log").read_text("utf-8").splitlines()
        calls = [json.loads(each) for each in lines if each.startswith('{"failed"')]
        return [each["request"] for each in calls if each["method"].endswith(f"/{method}") and not each["failed"]]

    def refused(self) -> list[str]:
        """Return the lines of logs about a missing right, except one that the image's version does not use."""
        logs = [(self.folder / f"{name}.log").read_text("utf-8", "replace") for name in self.running]
        lines = [line for text in logs for line in text.splitlines() if "forbidden" in line]
        return [line for line in lines if NEWER not in line]


def running(
    served: Served,
    folder: Path,
    subject: Role,
    driver: list[object],
    stack: ExitStack,
    environment: Mapping[str, str] | None = None,
) -> Parts:
    """Apply the add-ons of a cluster with one storage driver, and run the programs as their service accounts.

    driver: command that serves the driver on csi.sock of the folder. environment: its variables.
    """
    (name,) = (each.value for each in subject.spec.csi)
    made = {name: addons.ADDONS[name](subject) for name in ("snapshots", "volumes")}
    for of, manifests in made.items():
        _apply(served, folder, of, manifests, stack)
    socket, started = folder / "csi.sock", dict[str, subprocess.Popen[bytes]]()

    def start(program: str, *argv: object, **variables: str) -> None:
        log = stack.enter_context((folder / f"{program}.log").open("wb"))
        whole = {"HOME": str(folder), **variables}
        started[program] = subprocess.Popen([*map(str, argv)], env=whole, stdout=log, stderr=log)
        stack.callback(started[program].wait)
        stack.callback(started[program].kill)

    start("driver", *driver, **(environment or {}))
    until(socket.exists, "the driver serves", seconds=60)
    for of, account in (("volumes", f"csi-{name}-controller"), ("snapshots", "snapshot-controller")):
        if not made[of]:
            continue
        place, containers = _kubeconfig(served, folder / f"{of}.kubeconfig", account), containers_of(made[of], account)
        for part in (each for each in containers if each in STORAGE):
            arguments = [each.replace("/csi/csi.sock", str(socket)) for each in containers[part]["args"]]
            start(part, build.place(STORAGE[part]), *arguments, f"--kubeconfig={place}")
    return Parts(folder, started)


def _apply(served: Served, folder: Path, name: str, manifests: list[Manifest], stack: ExitStack) -> None:
    if not manifests:
        return
    file = written(folder, f"{name}.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    served.kubectl("apply", "--validate=strict", "--filename", str(file))
    stack.callback(served.kubectl, "delete", "--ignore-not-found", "--wait=false", "--filename", str(file), check=False)
    if definitions := [each["metadata"]["name"] for each in manifests if each["kind"] == "CustomResourceDefinition"]:
        served.kubectl("wait", "--for=condition=Established", "--timeout=40s", *(f"crd/{each}" for each in definitions))


def containers_of(manifests: list[Manifest], deployment: str) -> dict[str, dict[str, Any]]:
    (found,) = [each for each in manifests if (each["kind"], each["metadata"]["name"]) == ("Deployment", deployment)]
    return {each["name"]: each for each in pod_of(found)["containers"]}


def _kubeconfig(served: Served, place: Path, account: str) -> Path:
    token = served.kubectl("create", "token", account, "--namespace", "kube-system").strip()
    kubeconfig = yaml.safe_load(Path(served.administrator).read_text())
    kubeconfig["users"][0]["user"] = {"token": token}
    kubeconfig["clusters"][0]["cluster"]["server"] = served.url
    place.write_text(yaml.safe_dump(kubeconfig))
    return place


def read(served: Served, kind: str, name: str) -> dict[str, Any]:
    said = served.kubectl("get", kind, name, "--ignore-not-found", "--output", "json")
    return json.loads(said) if said.strip() else {}


def create(served: Served, folder: Path, name: str, **document: Any) -> None:
    served.kubectl("create", "--filename", str(written(folder, f"{name}.json", json.dumps(document))))


def register(served: Served, folder: Path, name: str, plugin: Mapping[str, Any], labels: Mapping[str, str]) -> None:
    """Create a Node, and its CSINode as a kubelet does once the plug-in has registered."""
    annotations = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    about = {"name": name, "annotations": annotations, "labels": labels}
    create(served, folder, "Node", apiVersion="v1", kind="Node", metadata=about)
    of_node = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}}
    create(served, folder, "CSINode", **of_node, spec={"drivers": [plugin]})


def claim(served: Served, folder: Path, parts: Parts, node: str, size: str) -> dict[str, Any]:
    """Claim a volume called data for a node, and return the volume once it exists."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    about = {"name": "data", "annotations": {"volume.kubernetes.io/selected-node": node}}
    create(served, folder, "claim", apiVersion="v1", kind="PersistentVolumeClaim", metadata=about, spec=wanted)
    until(
        lambda: read(served, "pvc", "data")["status"]["phase"] == "Bound",
        "the claim has a volume",
        log=parts.said,
        seconds=60,
    )
    (volume,) = json.loads(served.kubectl("get", "pv", "--output", "json"))["items"]
    return volume


def mount(served: Served, folder: Path, node: str) -> None:
    """Create a pod on a node that uses the claim data."""
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    container = {"name": "a", "image": "registry.k8s.io/pause:3.10.2"}
    container |= {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    pod = {"nodeName": node, "containers": [container], "volumes": mounted}
    create(served, folder, "pod", apiVersion="v1", kind="Pod", metadata={"name": "user"}, spec=pod)


def snapshot(served: Served, folder: Path, parts: Parts) -> None:
    """Make a snapshot called before of the claim data, and wait until it is ready."""
    kind = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot"}
    source = {"source": {"persistentVolumeClaimName": "data"}}
    create(served, folder, "snapshot", **kind, metadata={"name": "before"}, spec=source)
    until(
        lambda: read(served, "volumesnapshot", "before").get("status", {}).get("readyToUse") is True,
        "the snapshot is ready",
        log=parts.said,
        seconds=60,
    )


def remove(served: Served, parts: Parts, seconds: float) -> None:
    """Delete snapshot, pod and claim, and wait until nothing of them is left."""
    served.kubectl("delete", "volumesnapshot", "before", "--wait=false")
    served.kubectl("delete", "pod", "user", "--force", "--grace-period=0")
    served.kubectl("delete", "pvc", "data", "--wait=false")

    def left() -> str:
        kinds = "volumesnapshots,volumesnapshotcontents,volumeattachments,pvc,pv"
        return served.kubectl("get", kinds, "--all-namespaces", "--output", "name").strip()

    until(lambda: not left(), "nothing is left", log=lambda: left() + parts.said(), seconds=seconds)
