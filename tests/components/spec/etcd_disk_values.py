"""Options of etcd's disk, each with another value, and the stack around them."""

from typing import Any

VALUES: dict[str, Any] = {
    "control_plane.etcd_disk.size_gb": 100,
    "control_plane.etcd_disk.type": "gp3",
    "control_plane.etcd_disk.iops": 6000,
    "control_plane.etcd_disk.throughput": 500,
}
"""Another value for each option; on a stack without a disk it adds one."""
CONTEXT: dict[str, dict[str, Any]] = {
    "control_plane.etcd_disk.type": {"control_plane": {"etcd_disk": {"type": "io2"}}},
}
"""Further options, set before and after the change."""
