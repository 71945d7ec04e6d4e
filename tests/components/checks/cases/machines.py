"""Sizes, disks, images, rollout, reserves."""

from collections.abc import Mapping
from typing import Any

from tests.components.spec.documents import REMOVED, Case, Only, azure, gcp, kubelet, linux, plane, web

_AMI, _OTHER = "ami-0123456789abcdef0", "ami-01234567"
_LOW = {"system_reserved": {"memory": "1Gi"}, "accept_low_reserve": True}


def _eviction(**signals: str) -> dict[str, dict[str, str]]:
    return {"eviction_hard": {name.replace("_", "."): text for name, text in signals.items()}}


def _pools(count: int) -> dict[str, Any]:
    """Return so many pools with a machine, and one without, whose workers share accounts."""
    more = {
        f"p{index}": {"os": "ubuntu-24.04", "count": int(index < count), "slot": index} for index in range(count + 1)
    }
    return {"pools": Only(more), "worker_identity": "pool", "cloud": "gcp", "control_plane": {"size": "n2-standard-2"}}


def _budget(change: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {**(change or {}), "budget": {"month": 9000}}


_KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
_GROUP = "/subscriptions/12345678-1234-1234-1234-123456789012/resourceGroups/images/providers/Microsoft.Compute"
_IMAGE = "projects/example-project/global/images/mine"

CASES = (
    Case("size-unknown", gcp(web(size="n9-standard-4")), "pools.web.size", gcp(web(size="n4-standard-4"))),
    Case("size-of-another-cloud", gcp(web(size="m6i.xlarge")), "pools.web.size", gcp(web(size="n9-standard-4"))),
    Case("size-of-another-cloud", plane(size="Standard_D4s_v5"), "control_plane.size", plane(size="m9i.large")),
    Case("size-of-another-cloud", plane(size="n2-standard-2"), "control_plane.size", plane(size="m6i_large")),
    Case("size-of-another-cloud", azure(linux(size="e2-micro")), "pools.linux.size", azure(linux(size="Standard_X1"))),
    Case("size-arm64", gcp(linux(size="t2a-standard-2")), "pools.linux.size", gcp(linux(size="t2d-standard-2"))),
    Case(
        "burstable-control-plane",
        gcp({**plane(size="e2-medium"), "protect": True, "owner": "x"}),
        "control_plane.size",
        gcp({**plane(size="e2-standard-2"), "protect": True, "owner": "x"}),
    ),
    Case("licence-of-the-cloud", web(licence="own"), "pools.web.licence", azure(web(licence="own"))),
    Case("licence-of-the-cloud", gcp(web(licence="own")), "pools.web.licence", gcp(web(licence="included"))),
    Case("licence-without-windows", azure(linux(licence="own")), "pools.linux.licence", azure(web(licence="own"))),
    Case(
        "spot-size",
        azure(linux(spot=True, size="Standard_B2ms")),
        "pools.linux.spot",
        azure(linux(spot=True, size="Standard_D2s_v5")),
    ),
    Case("worker-identity-elsewhere", azure({"worker_identity": "pool"}), "worker_identity", azure()),
    Case("worker-identity-elsewhere", {"worker_identity": "pool"}, "worker_identity", gcp({"worker_identity": "pool"})),
    Case("worker-identity-limit", gcp(web(count=91)), "worker_identity", gcp(web(count=90))),
    Case(
        "worker-identity-limit",
        gcp(web(count=91)),
        "worker_identity",
        gcp({**web(count=91), "worker_identity": "pool"}),
    ),
    Case("worker-policy-size", gcp(web(count=90)), "worker_identity", gcp(web(count=40))),
    Case("pool-identity-limit", _pools(50), "pools", _pools(49)),
    Case("budget-without-price", _budget(web(size="m7i.large")), "pools.web.size", _budget(web(size="m6i.large"))),
    Case("budget-without-price", _budget(linux(size="m7i.large", spot=True)), "pools.linux.size", _budget()),
    Case(
        "budget-without-price",
        _budget(plane(size="m7i.large")),
        "control_plane.size",
        {**_budget(plane(size="m7i.large")), "budget": REMOVED},
    ),
    Case("budget-without-price", _budget(web(size="t3.large")), "pools.web.size", _budget(web(size="t3.medium"))),
    Case("budget-without-price", _budget(linux(size="m7i.large")), "pools.linux.size", _budget(linux(count=0))),
    Case("spot-key-grant", {**linux(spot=True), "encryption_key": _KEY}, "pools.linux.spot", linux(spot=True)),
    Case("windows-all-spot", web(spot=True), "pools.web.spot", web(spot=True, count=0)),
    Case("tag-no-label", gcp({"tags": {"Team": "web"}}), "tags.Team", gcp({"tags": {"team": "web"}})),
    Case("os-without-cloud-init", gcp(linux(os="debian-12")), "pools.linux.os", linux(os="debian-12")),
    Case(
        "image-form",
        gcp({"images": {"windows-2022": "windows-cloud/windows-2022-core"}}),
        "images.windows-2022",
        gcp({"images": {"windows-2022": _IMAGE}}),
    ),
    Case(
        "image-form",
        azure({"images": {"windows-2022": f"{_GROUP}/images/baked"}}),  # a managed image: no trusted launch
        "images.windows-2022",
        azure({"images": {"windows-2022": f"{_GROUP}/galleries/team.images/images/windows-2022/versions/1.0.0"}}),
    ),
    Case(
        "image-form",
        azure({"images": {"windows-2022": f"{_GROUP}/galleries/team/images/windows-2022/versions/1.0"}}),
        "images.windows-2022",
        azure({"images": {"windows-2022": f"{_GROUP}/galleries/team/images/windows-2022"}}),
    ),
    Case("size-unknown", web(size="m6i.huge"), "pools.web.size", web(size="m6i.xlarge")),
    Case("size-unknown", plane(size="m6i_large"), "control_plane.size", plane(size="t3.medium")),
    Case("size-arm64", linux(size="m7g.large"), "pools.linux.size", linux(size="m7i.large")),
    Case("size-arm64", web(size="t4g.xlarge"), "pools.web.size", web(size="t3.xlarge")),
    Case("control-plane-too-small", plane(size="t3.micro"), "control_plane.size", plane(size="t3.small")),
    Case("control-plane-too-small", plane(size="m7a.medium"), "control_plane.size", plane(size="m7a.large")),
    Case(
        "image-newest",
        azure({"protect": True, "owner": "x"}),
        "images",
        azure({"owner": "x"}),
    ),
    Case("nodes-beyond-record", linux(count=2000), "pools", linux(count=1990)),
    Case("windows-too-small", web(size="t3.small"), "pools.web.size", web(size="t3.medium")),
    Case("windows-too-small", web(size="r7a.medium"), "pools.web.size", linux(size="r7a.medium")),
    Case(
        "burstable-control-plane",
        {**plane(size="t3.large"), "protect": True, "owner": "x"},
        "control_plane.size",
        plane(size="t3.large"),
    ),
    Case("windows-disk-below-image", web(disk_gb=29), "pools.web.disk_gb", web(disk_gb=30)),
    Case("windows-disk-below-image", gcp(web(disk_gb=49)), "pools.web.disk_gb", gcp(web(disk_gb=50))),
    Case("windows-disk-small", web(disk_gb=63), "pools.web.disk_gb", web(disk_gb=64)),
    Case("windows-disk-small", web(disk_gb=30), "pools.web.disk_gb", linux(disk_gb=30)),
    Case(
        "image-form", {"images": {"windows-2022": "ami-123"}}, "images.windows-2022", {"images": {"windows-2022": _AMI}}
    ),
    Case(
        "image-form",
        azure({"images": {"windows-2022": "MicrosoftWindowsServer:WindowsServer:2022-datacenter-core"}}),
        "images.windows-2022",
        azure({"images": {"windows-2022": "MicrosoftWindowsServer:WindowsServer:2022-datacenter-core-g2:20348.4.251"}}),
    ),
    Case("rotation-of-images", azure({"rotation": {"images": 1}}), "rotation.images", {"rotation": {"images": 1}}),
    Case("image-unused", {"images": {"windows-2019": _AMI}}, "images.windows-2019", {"images": {"windows-2022": _AMI}}),
    Case(
        "image-shared",
        {"images": {"windows-2022": _AMI, "ubuntu-24.04": _AMI}},
        "images.ubuntu-24.04",
        {"images": {"windows-2022": _AMI, "ubuntu-24.04": _OTHER}},
    ),
    Case(
        "max-unavailable-above-count",
        web(rollout={"max_unavailable": 4}),
        "pools.web.rollout.max_unavailable",
        web(rollout={"max_unavailable": 3}),
    ),
    Case(
        "max-unavailable-above-count",
        web(count=0, rollout={"max_unavailable": 2}),
        "pools.web.rollout.max_unavailable",
        web(count=0, rollout={"max_unavailable": 1}),
    ),
    Case(
        "whole-pool-at-once",
        web(rollout={"max_unavailable": 3}),
        "pools.web.rollout.max_unavailable",
        web(rollout={"max_unavailable": 2}),
    ),
    Case(
        "whole-pool-at-once",
        web(rollout={"max_unavailable": "100%"}),
        "pools.web.rollout.max_unavailable",
        web(rollout={"max_unavailable": "99%"}),
    ),
    Case("too-many-nodes", linux(count=4995), "pools", linux(count=4994)),
    # RES-01
    Case(
        "windows-memory-reserve",
        kubelet(system_reserved={"memory": "2047Mi"}),
        "pools.web.kubelet.system_reserved.memory",
        kubelet(system_reserved={"memory": "2Gi"}),
    ),
    Case(
        "windows-memory-reserve",
        kubelet(system_reserved={"memory": "1Gi"}),
        "pools.web.kubelet.system_reserved.memory",
        kubelet(**_LOW),
    ),
    Case(
        "accept-low-reserve-needless",
        kubelet(accept_low_reserve=True),
        "pools.web.kubelet.accept_low_reserve",
        kubelet(**_LOW),
    ),
    # RES-02: 8 vCPU want 800m, 4 vCPU the 500m that are the least
    Case(
        "windows-cpu-reserve",
        web(size="m6i.2xlarge", kubelet={"system_reserved": {"cpu": "799m"}}),
        "pools.web.kubelet.system_reserved.cpu",
        web(size="m6i.2xlarge", kubelet={"system_reserved": {"cpu": "800m"}}),
    ),
    Case(
        "windows-cpu-reserve",
        kubelet(system_reserved={"cpu": "499m"}),
        "pools.web.kubelet.system_reserved.cpu",
        kubelet(system_reserved={"cpu": "0.5"}),
    ),
    # RES-06: m6i.xlarge has 16384 MiB; 2048 go to the system, 500 to hard eviction
    Case(
        "allocatable-memory",
        kubelet(kube_reserved={"memory": "13836Mi"}),
        "pools.web.kubelet",
        kubelet(kube_reserved={"memory": "13835Mi"}),
    ),
    Case(
        "allocatable-memory",
        kubelet(kube_reserved={"memory": "13Gi"}, **_eviction(memory_available="10%")),
        "pools.web.kubelet",
        kubelet(kube_reserved={"memory": "13Gi"}, **_eviction(memory_available="1%")),
    ),
    Case(
        "allocatable-memory-little",
        kubelet(kube_reserved={"memory": "12813Mi"}),
        "pools.web.kubelet",
        kubelet(kube_reserved={"memory": "12812Mi"}),
    ),
    Case(
        "allocatable-cpu",
        kubelet(kube_reserved={"cpu": "3500m"}),
        "pools.web.kubelet",
        kubelet(kube_reserved={"cpu": "3499m"}),
    ),
    Case(
        "allocatable-cpu",
        plane(kubelet={"system_reserved": {"cpu": "2"}}),
        "control_plane.kubelet",
        plane(kubelet={"system_reserved": {"cpu": "1999m"}}),
    ),
    Case(
        "allocatable-disk",
        kubelet(system_reserved={"ephemeral_storage": "128Gi"}),
        "pools.web.kubelet",
        kubelet(system_reserved={"ephemeral_storage": "127Gi"}),
    ),
    Case(
        "priority-class-low",
        kubelet(priority_class="NORMAL_PRIORITY_CLASS"),
        "pools.web.kubelet.priority_class",
        kubelet(priority_class="ABOVE_NORMAL_PRIORITY_CLASS"),
    ),
    Case(
        "priority-class-realtime",
        kubelet(priority_class="REALTIME_PRIORITY_CLASS"),
        "pools.web.kubelet.priority_class",
        kubelet(priority_class="HIGH_PRIORITY_CLASS"),
    ),
    Case(
        "priority-class-on-linux",
        linux(kubelet={"priority_class": "HIGH_PRIORITY_CLASS"}),
        "pools.linux.kubelet.priority_class",
        linux(kubelet=REMOVED),
    ),
    Case(
        "eviction-signal",
        linux(kubelet=_eviction(memory_free="1Gi")),
        "pools.linux.kubelet.eviction_hard.memory.free",
        linux(kubelet=_eviction(memory_available="1Gi")),
    ),
    Case(
        "eviction-threshold",
        linux(kubelet=_eviction(memory_available="1GB")),
        "pools.linux.kubelet.eviction_hard.memory.available",
        linux(kubelet=_eviction(memory_available="1G")),
    ),
    Case(
        "eviction-threshold",
        linux(kubelet=_eviction(memory_available="101%")),
        "pools.linux.kubelet.eviction_hard.memory.available",
        linux(kubelet=_eviction(memory_available="99.5%")),
    ),
    Case(
        "eviction-signal-linux-only",
        kubelet(**_eviction(nodefs_inodesFree="5%")),
        "pools.web.kubelet.eviction_hard.nodefs.inodesFree",
        kubelet(**_eviction(nodefs_available="5%")),
    ),
    Case(
        "eviction-hard-on-windows",
        kubelet(**_eviction(memory_available="500Mi")),
        "pools.web.kubelet.eviction_hard.memory.available",
        kubelet(**_eviction(nodefs_available="10%")),
    ),
    Case(
        "eviction-soft-on-windows",
        kubelet(config={"evictionSoft": {"memory.available": "1Gi"}}),
        "pools.web.kubelet.config.evictionSoft",
        linux(kubelet={"config": {"evictionSoft": {"memory.available": "1Gi"}}}),
    ),
    Case("verbosity-high", kubelet(verbosity=7), "pools.web.kubelet.verbosity", kubelet(verbosity=6)),
)
