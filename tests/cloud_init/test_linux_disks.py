"""Where the executor looks for a machine's further disk, in each cloud."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sandbox.aws.network import INSTANCE
from tests.cloud_init.accounts import AWS_INSTANCE
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import put

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
