"""The real controller of Google's driver of persistent disks, with the add-on's arguments and a control plane's rights.

Google's descriptions of Compute Engine judge its requests, and the roles that Mullion makes decide what it may do. The
driver is of another release than the image (lab/programs.py): no Go module proxy has that one.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from components.gcp.volumes import ROLES
from components.naming import volume_prefix
from components.node import addons
from components.node.manifests import pod_of
from components.node.role import role
from lab import build
from lab.programs import CSI_CALLS, STORAGE
from tests.awaited import until
from tests.lab.agent.compute_engine import PROJECT, REGION, ZONE, ComputeEngine
from tests.lab.agent.compute_server import Server
from tools.golden.samples import spec

pytestmark = [pytest.mark.lab, pytest.mark.soak]

GIB = 1 << 30
NAME = f"{volume_prefix('dev')}-{'0123456789abcdef' * 2}"
VOLUME = f"projects/{PROJECT}/zones/{ZONE}/disks/{NAME}"
SNAPSHOT = f"projects/{PROJECT}/global/snapshots/{NAME}"
NODE = f"projects/{PROJECT}/zones/{ZONE}/instances/dev-linux-0"
WRITER = {"mount": {"fsType": "ext4"}, "accessMode": {"mode": "SINGLE_NODE_WRITER"}}
TOPOLOGY = {"segments": {"topology.gke.io/zone": ZONE}}

Call = Callable[..., dict[str, Any]]


def manifests() -> list[dict[str, Any]]:
    """Return the add-on of a cluster with persistent disks."""
    pools = {"linux": {"os": "ubuntu-24.04"}}
    return addons.ADDONS["volumes"](role("dev", spec(cloud="gcp", csi=["pd"], pools=pools), None))


def parameters(kind: str, name: str) -> dict[str, str]:
    (found,) = (each for each in manifests() if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return {key: value for key, value in found["parameters"].items() if not key.startswith("csi.storage.k8s.io/")}


@pytest.fixture
def cloud() -> ComputeEngine:
    return ComputeEngine()


@pytest.fixture
def call(
    kubernetes: str, cloud: ComputeEngine, tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> Iterator[Call]:
    """Return the function that calls the driver's controller, which runs with the add-on's arguments."""
    driver = STORAGE["gce-pd-csi-driver"]
    if lacking := [each.name for each in (driver, CSI_CALLS) if not build.is_built(each)]:
        missing("lab", f"{', '.join(lacking)} is not built; run: python -m lab storage {kubernetes}")
    (deployment,) = (each for each in manifests() if each["kind"] == "Deployment")
    main = next(each for each in pod_of(deployment)["containers"] if each["name"] == "driver")
    socket, log = tmp_path / "csi.sock", tmp_path / "driver.log"
    arguments = [each.replace("$(CSI_ENDPOINT)", f"unix://{socket}") for each in main["args"]]
    with Server(cloud) as server, log.open("wb") as lines:
        environment = {"HOME": str(tmp_path), "GCE_METADATA_HOST": server.address}
        command = [build.place(driver), *arguments, f"--compute-endpoint=http://{server.address}"]
        running = subprocess.Popen(command, env=environment, stdout=lines, stderr=lines)
        try:
            until(socket.exists, "the driver serves", log=lambda: log.read_text("utf-8", "replace"), seconds=60)
            yield lambda method, **request: called(socket, method, request)
        finally:
            running.kill()
            running.wait()


def called(socket: Path, method: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return the driver's answer to one call, as JSON: answer, or code and message."""
    line = json.dumps({"method": method, "request": request})
    command = [build.place(CSI_CALLS), str(socket)]
    done = subprocess.run(command, check=True, input=line + "\n", capture_output=True, text=True, timeout=180)
    return json.loads(done.stdout)


def done(said: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a call that the driver did."""
    assert "answer" in said, said
    return said["answer"]


def create(call: Call, name: str = NAME, class_: str = "pd", **more: Any) -> dict[str, Any]:
    return call(
        "CreateVolume",
        name=name,
        capacityRange={"requiredBytes": str(10 * GIB)},
        volumeCapabilities=[WRITER],
        parameters=parameters("StorageClass", class_),
        accessibilityRequirements={"requisite": [TOPOLOGY], "preferred": [TOPOLOGY]},
        **more,
    )


def attach(call: Call, volume: str = VOLUME, node: str = NODE, read_only: bool = False) -> dict[str, Any]:
    return call("ControllerPublishVolume", volumeId=volume, nodeId=node, volumeCapability=WRITER, readonly=read_only)


def test_sto_03_a_disk_is_made_attached_grown_copied_restored_and_deleted_with_the_rights_of_the_control_plane(
    call: Call, cloud: ComputeEngine
) -> None:
    made = done(create(call))["volume"]
    assert (made["volumeId"], made["accessibleTopology"]) == (VOLUME, [TOPOLOGY])
    (inserted,) = cloud.called("compute.disks.insert")
    assert inserted.body["type"].endswith(f"zones/{ZONE}/diskTypes/pd-balanced")
    assert (inserted.body["labels"], inserted.body["sizeGb"]) == ({"kubernetes-io-cluster-dev": "owned"}, "10")

    done(attach(call))
    assert [*cloud.attached["dev-linux-0"]] == [NAME]
    grown = call("ControllerExpandVolume", volumeId=VOLUME, capacityRange={"requiredBytes": str(20 * GIB)})
    assert done(grown)["capacityBytes"] == str(20 * GIB)

    of_snapshots = parameters("VolumeSnapshotClass", "pd")
    taken = done(call("CreateSnapshot", name=NAME, sourceVolumeId=VOLUME, parameters=of_snapshots))["snapshot"]
    assert (taken["snapshotId"], taken["readyToUse"]) == (SNAPSHOT, True)
    assert cloud.snapshots[NAME]["labels"] == {"kubernetes-io-cluster-dev": "owned"}
    assert done(call("ListSnapshots", snapshotId=SNAPSHOT))["entries"]
    restored = f"{NAME[:-1]}0"
    source = {"snapshot": {"snapshotId": SNAPSHOT}}
    done(create(call, restored, volumeContentSource=source))
    assert cloud.disks[restored]["sourceSnapshot"] == SNAPSHOT

    assert len(done(call("ListVolumes"))["entries"]) == 2, "the attacher asks for all volumes each minute"
    done(call("ControllerUnpublishVolume", volumeId=VOLUME, nodeId=NODE))
    done(attach(call, read_only=True))
    done(call("ControllerUnpublishVolume", volumeId=VOLUME, nodeId=NODE))
    for name in (NAME, restored):
        done(call("DeleteVolume", volumeId=f"projects/{PROJECT}/zones/{ZONE}/disks/{name}"))
    done(call("DeleteSnapshot", snapshotId=SNAPSHOT))
    assert not cloud.disks and not cloud.snapshots and not any(cloud.attached.values())
    assert cloud.refused == [], "neither Google's descriptions nor the roles refuse a call"
    given = {permission for listed in ROLES.values() for permission in listed}
    assert given - cloud.used == {"compute.disks.update"}, "of no use here: it grows a Hyperdisk"


def test_sto_03_a_hyperdisk_of_the_second_class_grows_too(call: Call, cloud: ComputeEngine) -> None:
    done(create(call, class_="pd-hyperdisk"))
    (inserted,) = cloud.called("compute.disks.insert")
    assert inserted.body["type"].endswith("diskTypes/hyperdisk-balanced")
    grown = call("ControllerExpandVolume", volumeId=VOLUME, capacityRange={"requiredBytes": str(20 * GIB)})
    assert done(grown)["capacityBytes"] == str(20 * GIB)
    assert cloud.disks[NAME]["sizeGb"] == "20" and cloud.refused == []


def test_sto_03_a_users_class_of_snapshots_may_name_their_region(call: Call, cloud: ComputeEngine) -> None:
    done(create(call))
    of_snapshots = {**parameters("VolumeSnapshotClass", "pd"), "storage-locations": REGION}
    done(call("CreateSnapshot", name=NAME, sourceVolumeId=VOLUME, parameters=of_snapshots))
    assert cloud.snapshots[NAME]["storageLocations"] == [REGION] and cloud.refused == []


OTHERS = "pv-dev-2--" + 32 * "0"


@pytest.mark.parametrize("name", [OTHERS, "pvc-0123", "dev-linux-0"])
def test_sto_03_a_disk_of_another_name_is_neither_made_nor_read_nor_deleted(
    call: Call, cloud: ComputeEngine, name: str
) -> None:
    """Of another cluster, of another installation of the driver, of a machine."""
    volume = f"projects/{PROJECT}/zones/{ZONE}/disks/{name}"
    assert "code" in create(call, name)
    cloud.disks[name] = {"name": name, "sizeGb": "10", "status": "READY", "type": f"zones/{ZONE}/diskTypes/pd-ssd"}
    for answer in (
        call("DeleteVolume", volumeId=volume),
        attach(call, volume),
        call("CreateSnapshot", name=NAME, sourceVolumeId=volume),
    ):
        assert "code" in answer
    assert [*cloud.disks] == [name] and not cloud.snapshots and not any(cloud.attached.values())
    assert cloud.refused and all("Required 'compute.disks." in each for each in cloud.refused)


def test_sto_03_a_machine_of_another_cluster_gets_no_disk(call: Call, cloud: ComputeEngine) -> None:
    done(create(call))
    answer = attach(call, node=NODE.replace("dev-linux-0", "dev-2-linux-0"))
    assert "code" in answer and "iam.serviceAccounts.actAs" in cloud.refused[-1]
    assert not any(cloud.attached.values())


@pytest.mark.parametrize(
    "permission",
    ["compute.disks.create", "compute.disks.setLabels", "compute.disks.get", "compute.zoneOperations.get"],
)
def test_sto_03_without_one_of_the_permissions_no_disk_is_ready(
    call: Call, cloud: ComputeEngine, permission: str
) -> None:
    for listed in cloud.roles.values():
        listed.discard(permission)
    assert "code" in create(call)
    assert f"Required '{permission}'" in cloud.refused[-1]
