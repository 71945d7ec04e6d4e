"""Where the executor looks for a machine's further disk, in each cloud, and how much etcd can store on it."""

import importlib
import re
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sandbox.aws.network import INSTANCE
from tests.cloud_init.accounts import AWS_INSTANCE
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import Programs, put

VOLUME = "vol-0123456789abcdef0"
NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0"


@pytest.fixture
def run(node: ModuleType, cloud: FakeCloud, root: Path) -> Any:
    """Return a run of the executor on a machine of AWS."""
    made = importlib.import_module("run").Run(root, {"machine": {"name": "web-0"}, "facts": cloud.facts}, {})
    made.try_for(60)
    return made


def with_disk(cloud: FakeCloud, **disk: Any) -> None:
    """Give the machine a further disk, as RunInstances makes it."""
    cloud_state = cloud.objects.cloud_state
    record = cloud_state.find(INSTANCE, AWS_INSTANCE)
    assert record
    with cloud_state.transaction():
        record.outputs["ebsBlockDevices"] = [disk]
        cloud_state.put(record)


def test_on_nitro_the_disk_is_found_by_its_volume_in_ec2s_answer(run: Any, cloud: FakeCloud) -> None:
    with_disk(cloud, deviceName="/dev/sdf", volumeId=VOLUME)
    assert run.cloud.disk(run, "/dev/sdf") == [NVME]
    assert not cloud.refused()


def test_on_xen_the_disk_has_the_kernels_name_and_ec2_is_not_asked(run: Any, cloud: FakeCloud, root: Path) -> None:
    put(root, "/dev/xvdf", "")
    cloud.services.faults.plan("ec2 *", "refuse", "denied")
    assert run.cloud.disk(run, "/dev/sdf") == ["/dev/sdf", "/dev/xvdf"]
    assert not cloud.refused()


def test_an_instance_without_the_disk_has_no_link(run: Any, cloud: FakeCloud) -> None:
    with_disk(cloud, deviceName="/dev/sdg", volumeId=VOLUME)
    assert run.cloud.disk(run, "/dev/sdf") == ["/dev/sdf", "/dev/xvdf"]


def test_on_azure_a_disk_by_nvme_is_the_namespace_of_its_lun(run: Any, root: Path) -> None:
    """Namespace 1 is the root disk; local disks have a controller of another model (azure-nvme-utils)."""
    for name, model, number in (
        ("nvme0n1", "MSFT NVMe Accelerator v1.0\n", 1),
        ("nvme0n3", "MSFT NVMe Accelerator v1.0\n", 2),
        ("nvme1n1", "Microsoft NVMe Direct Disk v2\n", 2),
    ):
        put(root, f"/sys/block/{name}/device/model", model)
        put(root, f"/sys/block/{name}/nsid", f"{number}\n")
    links = ["/dev/disk/azure/data/by-lun/0", "/dev/disk/azure/scsi1/lun0"]
    assert importlib.import_module("clouds.azure").disk(run, "0") == [*links, "/dev/nvme0n3"]


def test_on_google_cloud_the_link_has_the_device_name(run: Any) -> None:
    assert importlib.import_module("clouds.gcp").disk(run, "etcd") == ["/dev/disk/by-id/google-etcd"]


ETCD, QUOTA, GIB = "/var/lib/etcd", 8 << 30, 1 << 30
LOGS = 7 * 64 << 20
"""Bytes of etcd's write-ahead log: five files of 64 MiB, the one in use and the next (etcd, server/storage/wal)."""


@pytest.mark.subprocess
def test_the_smallest_disk_can_defragment_the_largest_database(
    run: Any, programs: Programs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real mkfs.ext4 formats a file of 20 GiB; etcd's quota is 8 GiB, all of it in use."""
    disks, space = importlib.import_module("kinds.disks"), importlib.import_module("agent.space")
    (root / "var/lib/etcd").mkdir(parents=True)
    device = root / "disk"
    with device.open("wb") as file:
        file.truncate(20 * GIB)

    def start(argv: tuple[str, ...], *rest: Any) -> Any:
        if argv[0] in ("mkfs.ext4", "blkid"):
            return subprocess.run(argv, check=False, capture_output=True, text=True)
        return programs.start(argv, *rest)

    monkeypatch.setattr(importlib.import_module("programs"), "start", start)
    monkeypatch.setattr(disks, "found", lambda *_: device)
    monkeypatch.setattr(disks, "mounted", lambda *_: True)
    disks.make_disk(run, {"path": ETCD, "disk": "/dev/sdf", "service": "kubelet", "joined": "/var/lib/joined"})
    said = subprocess.run(["dumpe2fs", "-h", device], check=True, capture_output=True, text=True).stdout
    count = {name: int(number) for name, number in re.findall(r"(?m)^(.+?) blocks?(?: count)?: +(\d+)$", said)}
    available = (count["Free"] - count["Reserved"]) * 4096 - QUOTA - LOGS
    statvfs = SimpleNamespace(f_bavail=available // 4096, f_frsize=4096)
    monkeypatch.setattr(space.os, "statvfs", lambda _: statvfs)
    member = space.Member(1, "10.20.64.10", QUOTA, QUOTA, True)
    assert space.Space().hindrance(member, Path(ETCD), run) == ""
    assert available > QUOTA + (512 << 20), "or a snapshot of it, beside it"
