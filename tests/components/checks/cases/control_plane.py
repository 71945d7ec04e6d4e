"""Sizes of the control plane by number of nodes, and etcd's disk."""

from tests.components.spec.documents import Case, azure, gcp, linux, plane

CASES = (
    Case(
        "control-plane-small-for-nodes",
        {**linux(count=11), **plane(size="m6i.large")},
        "control_plane.size",
        {**linux(count=11), **plane(size="m6i.xlarge")},
    ),
    Case(
        "control-plane-small-for-nodes",
        {**linux(count=150), **plane(size="m6i.xlarge")},
        "control_plane.size",
        {**linux(count=150), **plane(size="m6i.2xlarge")},
    ),
    Case(
        "control-plane-small-for-nodes",
        {**linux(count=150), **plane(size="c6i.2xlarge")},
        "control_plane.size",
        {**linux(count=150), **plane(size="m6i.2xlarge")},
    ),
    Case("etcd-shares-disk", linux(count=101), "control_plane.etcd_disk", linux(count=90)),
    Case(
        "etcd-shares-disk",
        linux(count=101),
        "control_plane.etcd_disk",
        {**linux(count=101), **plane(etcd_disk={})},
    ),
    *(
        Case("etcd-disk-type", wrong, "control_plane.etcd_disk.type", right)
        for wrong, right in (
            (plane(etcd_disk={"type": "pd-ssd"}), plane(etcd_disk={"type": "io2"})),
            (azure(plane(etcd_disk={"type": "gp3"})), azure(plane(etcd_disk={"type": "PremiumV2_LRS"}))),
            (
                gcp(plane(size="n4-standard-4", etcd_disk={"type": "pd-ssd"})),
                gcp(plane(size="n4-standard-4", etcd_disk={"type": "hyperdisk-balanced"})),
            ),
            (
                gcp(plane(size="n2-standard-4", etcd_disk={"type": "hyperdisk-balanced"})),
                gcp(plane(size="n2-standard-4", etcd_disk={})),
            ),
        )
    ),
    Case(
        "etcd-disk-fixed-speed",
        azure(plane(etcd_disk={"iops": 6000})),
        "control_plane.etcd_disk.iops",
        plane(etcd_disk={"iops": 6000}),
    ),
    Case(
        "etcd-disk-fixed-speed",
        plane(etcd_disk={"type": "io2", "throughput": 500}),
        "control_plane.etcd_disk.throughput",
        plane(etcd_disk={"type": "io2", "iops": 5000}),
    ),
    *(
        Case("etcd-disk-speed", wrong, f"control_plane.etcd_disk.{option}", right)
        for option, wrong, right in (
            # EBS user guide: 500 a GiB, a quarter MiB/s for each; io2 1000 a GiB
            ("iops", plane(etcd_disk={"iops": 10001}), plane(etcd_disk={"iops": 10000})),
            ("iops", plane(etcd_disk={"iops": 2999}), plane(etcd_disk={"iops": 3000})),
            ("throughput", plane(etcd_disk={"throughput": 751}), plane(etcd_disk={"throughput": 750})),
            (
                "iops",
                plane(etcd_disk={"type": "io2", "iops": 20001}),
                plane(etcd_disk={"type": "io2", "iops": 20000}),
            ),
            (
                "throughput",
                gcp(plane(size="n4-standard-4", etcd_disk={"throughput": 130})),
                gcp(plane(size="n4-standard-4", etcd_disk={"throughput": 140})),
            ),
        )
    ),
)
