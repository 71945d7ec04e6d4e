"""A claim for a persistent disk, from a real API server to Compute Engine's API, by the real programs of the add-on.

The sidecars, the snapshot controller and Google's driver run with the add-on's arguments; a real API server judges
manifests and rights, Google's descriptions and the control plane's roles the calls of Compute Engine. The CSINode and
the choice of a Node, a kubelet's and a scheduler's work, are written here.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import pytest

from components.node import addons
from components.node.manifests import pod_of
from components.node.role import role
from components.releases.storage_drivers import DRIVERS
from components.spec.choices import StorageDriver
from lab import build
from lab.programs import STORAGE
from tests.awaited import until
from tests.lab.agent.compute_engine import PROJECT, ZONE, ComputeEngine
from tests.lab.agent.compute_server import Server
from tests.lab.agent.served import Served
from tests.lab.agent.storage_parts import SIDECARS, Parts, claim, mount, read, register, remove, running, snapshot
from tools.golden.samples import spec

pytestmark = [pytest.mark.lab, pytest.mark.soak]

PLUGIN, NODE = DRIVERS[StorageDriver.PD].plugin, "linux-0"
OURS = re.compile(r"pv-dev--[0-9a-f]{32}")


@pytest.fixture
def cloud() -> ComputeEngine:
    return ComputeEngine()


@pytest.fixture
def parts(
    served: Served, cloud: ComputeEngine, tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> Iterator[Parts]:
    """Run the add-on of a cluster with Linux and Windows pools."""
    wanted = [STORAGE[name] for name in (*SIDECARS, "snapshot-controller", "gce-pd-csi-driver")]
    if lacking := [each.name for each in wanted if not build.is_built(each)]:
        missing("lab", f"{', '.join(lacking)} is not built; run: python -m lab storage {served.kubernetes}")
    pools = {"web": {"os": "windows-2022"}, "linux": {"os": "ubuntu-24.04"}}
    subject = role("dev", spec(cloud="gcp", kubernetes=served.kubernetes, csi=["pd"], pools=pools), None)
    (deployment,) = (each for each in addons.ADDONS["volumes"](subject) if each["kind"] == "Deployment")
    main = next(each for each in pod_of(deployment)["containers"] if each["name"] == "driver")
    arguments = [each.replace("$(CSI_ENDPOINT)", f"unix://{tmp_path / 'csi.sock'}") for each in main["args"]]
    with ExitStack() as stack:
        address = stack.enter_context(Server(cloud)).address
        command = [build.place(STORAGE["gce-pd-csi-driver"]), *arguments, f"--compute-endpoint=http://{address}"]
        yield running(served, tmp_path, subject, command, stack, {"GCE_METADATA_HOST": address})


@pytest.fixture
def node(served: Served, tmp_path: Path) -> Iterator[str]:
    """Register a Node, and its CSINode as a kubelet does once the plug-in has registered."""
    place = f"projects/{PROJECT}/zones/{ZONE}/instances/dev-linux-0"
    plugin = {"name": PLUGIN, "nodeID": place, "topologyKeys": ["topology.gke.io/zone"], "allocatable": {"count": 127}}
    register(served, tmp_path, NODE, plugin, {"topology.gke.io/zone": ZONE})
    yield NODE
    served.kubectl("delete", "nodes,csinodes", "--ignore-not-found", NODE)


def test_sto_03_a_claim_becomes_a_disk_of_the_clusters_name_in_the_nodes_zone_and_leaves_nothing(
    served: Served, parts: Parts, cloud: ComputeEngine, node: str, tmp_path: Path
) -> None:
    volume = claim(served, tmp_path, parts, node, "10Gi")
    assert read(served, "pvc", "data")["spec"]["storageClassName"] == "pd", "the default class"
    (disk,) = cloud.disks.values()
    assert OURS.fullmatch(disk["name"]) and disk["labels"] == {"kubernetes-io-cluster-dev": "owned"}
    assert volume["spec"]["csi"]["volumeHandle"] == f"projects/{PROJECT}/zones/{ZONE}/disks/{disk['name']}"
    assert volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "topology.gke.io/zone", "operator": "In", "values": [ZONE]}]}
    ]

    mount(served, tmp_path, node)
    until(lambda: bool(cloud.attached["dev-linux-0"]), "the disk is attached", log=parts.said, seconds=60)

    snapshot(served, tmp_path, parts)
    assert all(map(OURS.fullmatch, cloud.snapshots)) and len(cloud.snapshots) == 1

    remove(served, parts, 180)
    assert not cloud.disks and not cloud.snapshots and not any(cloud.attached.values())
    assert cloud.refused == [], "every right in the project that the driver uses is granted"
    assert not parts.refused(), "every right in the cluster that the programs use is granted"
