"""The real sidecars of storage drivers and the real snapshot controller, with the add-ons' arguments and rights.

A real API server judges manifests and rights. Kubernetes' mock of a driver stands for the driver of EBS, whose module
no Go module proxy serves; the CSINode and the choice of a Node, a kubelet's and a scheduler's work, are written here.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import pytest

from components.node import addons
from components.node.role import role
from components.releases.storage_drivers import DRIVERS
from components.spec.choices import StorageDriver
from lab import build
from lab.programs import CSI_DRIVER, STORAGE
from tests.awaited import until
from tests.lab.agent.aws_world import written
from tests.lab.agent.served import Served
from tests.lab.agent.storage_parts import (
    SIDECARS,
    Parts,
    claim,
    create,
    mount,
    read,
    register,
    remove,
    running,
    snapshot,
)
from tools.golden.samples import spec

pytestmark = [pytest.mark.lab, pytest.mark.soak]

PLUGIN = DRIVERS[StorageDriver.EBS].plugin

Run = Callable[[StorageDriver], Parts]


@pytest.fixture
def run(served: Served, tmp_path: Path, missing: Callable[[str, str], NoReturn]) -> Iterator[Run]:
    """Return the function that applies the add-ons for a driver, and runs the programs as their service accounts."""
    wanted = (CSI_DRIVER, *(STORAGE[name] for name in (*SIDECARS, "snapshot-controller")))
    if lacking := [each.name for each in wanted if not build.is_built(each)]:
        missing("lab", f"{', '.join(lacking)} is not built; run: python -m lab storage {served.kubernetes}")
    with ExitStack() as stack:
        yield lambda driver: _running(served, tmp_path, driver, stack)


@pytest.fixture
def parts(run: Run) -> Parts:
    return run(StorageDriver.EBS)


def _running(served: Served, folder: Path, driver: StorageDriver, stack: ExitStack) -> Parts:
    pools = {"web": {"os": "windows-2022"}}
    subject = role("dev", spec(kubernetes=served.kubernetes, csi=[driver.value], pools=pools), None)
    (csi_driver,) = (each for each in addons.ADDONS["volumes"](subject) if each["kind"] == "CSIDriver")
    attach = str(csi_driver["spec"]["attachRequired"]).lower()
    flags = (f"--name={DRIVERS[driver].plugin}", f"--socket={folder / 'csi.sock'}", f"--attach={attach}")
    return running(served, folder, subject, [build.place(CSI_DRIVER), *flags], stack)


@pytest.fixture
def node(served: Served, tmp_path: Path) -> Iterator[str]:
    """Register a Node, and its CSINode as a kubelet does once the plug-in has registered."""
    plugin = {"name": PLUGIN, "nodeID": PLUGIN, "topologyKeys": [], "allocatable": {"count": 24}}
    register(served, tmp_path, "linux-0", plugin, {})
    yield "linux-0"
    served.kubectl("delete", "nodes,csinodes", "--ignore-not-found", "linux-0")


def test_sto_03_a_claim_becomes_a_volume_is_attached_has_a_snapshot_and_leaves_nothing(
    served: Served, parts: Parts, node: str, tmp_path: Path
) -> None:
    volume = claim(served, tmp_path, parts, node, "1Gi")
    assert read(served, "pvc", "data")["spec"]["storageClassName"] == "ebs", "the default class"
    made = parts.calls("CreateVolume")[0]
    assert made["parameters"] | {"type": "gp3", "encrypted": "true"} == made["parameters"]
    assert made["parameters"]["csi.storage.k8s.io/pvc/name"] == "data"
    assert (volume["spec"]["csi"]["driver"], volume["spec"]["csi"]["fsType"]) == (PLUGIN, "ext4")

    mount(served, tmp_path, node)

    def attachments() -> list[bool]:
        items = json.loads(served.kubectl("get", "volumeattachments", "--output", "json"))["items"]
        return [each.get("status", {}).get("attached", False) for each in items]

    until(lambda: attachments() == [True], "the volume is attached", log=parts.said, seconds=60)
    nodes = {each["node_id"] for each in parts.calls("ControllerPublishVolume")}
    assert nodes == {PLUGIN}, "by the id that the plug-in gave for the Node"

    snapshot(served, tmp_path, parts)
    assert read(served, "volumesnapshot", "before")["spec"]["volumeSnapshotClassName"] == "ebs", "the default class"

    remove(served, parts, 120)
    assert parts.calls("DeleteVolume") and parts.calls("DeleteSnapshot"), "Delete is the reclaim policy of both"
    assert not parts.refused(), "every right that the programs use is granted"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"persistentVolumeClaimName": "a", "volumeSnapshotContentName": "b"}, "write either"),
        ({}, "write either"),
    ],
)
def test_sto_03_a_snapshot_without_one_source_is_refused(
    served: Served, parts: Parts, tmp_path: Path, source: dict[str, str], reason: str
) -> None:
    document = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": {"name": "wrong"}}
    file = written(tmp_path, "wrong.json", json.dumps({**document, "spec": {"source": source}}))
    with pytest.raises(RuntimeError, match=reason):
        served.kubectl("create", "--filename", str(file))


def test_sto_03_a_claim_of_a_share_gets_a_folder_with_the_credentials_of_the_shares_secret(
    served: Served, run: Run, tmp_path: Path
) -> None:
    parts, plugin = run(StorageDriver.SMB), DRIVERS[StorageDriver.SMB].plugin
    secret = {"stringData": {"username": "writer", "password": "not-a-secret"}}
    create(served, tmp_path, "secret", apiVersion="v1", kind="Secret", metadata={"name": "share"}, **secret)
    prefix = "csi.storage.k8s.io/provisioner-secret"
    parameters = {"source": "//files.corp.example/data", f"{prefix}-name": "share", f"{prefix}-namespace": "default"}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "share"}}
    create(served, tmp_path, "class", **kind, provisioner=plugin, parameters=parameters)
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    claim |= {"storageClassName": "share"}
    create(
        served, tmp_path, "claim", apiVersion="v1", kind="PersistentVolumeClaim", metadata={"name": "web"}, spec=claim
    )
    try:
        bound = "the claim has a volume"
        until(lambda: read(served, "pvc", "web")["status"]["phase"] == "Bound", bound, log=parts.said, seconds=60)
        made = parts.calls("CreateVolume")[0]
        assert made["parameters"]["source"] == "//files.corp.example/data"
        assert set(made["secrets"]) == {"username", "password"}
        assert not parts.refused(), "every right that the programs use is granted"
    finally:
        served.kubectl("delete", "pvc", "web", "--wait=false")
        until(lambda: not served.kubectl("get", "pv", "--output", "name"), "the volume is gone", log=parts.said)
        served.kubectl("delete", "secret/share", "storageclass/share")
