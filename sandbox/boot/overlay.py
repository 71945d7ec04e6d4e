"""The bootable overlay: options of lab.yaml merged over a stack's cluster, so its machines boot on this host."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from components import releases
from components.node.merge import merge

LAB = Path(__file__).with_name("lab.yaml")
_RUNTIME = {2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime", 4: "io.containerd.cri.v1.runtime"}
"""containerd's runtime plugin, by version of its configuration."""


def bootable(cluster: Mapping[str, Any], artifacts_file: str) -> dict[str, Any]:
    """Return a `mullion:cluster` object with the overlay. artifacts_file: digests of the mirror's files."""
    lab = yaml.safe_load(LAB.read_text(encoding="utf-8"))
    own = lab["clouds"].get(cluster["cloud"], {})
    whole = merge(merge(merge(cluster, lab["cluster"]), own), {"artifacts": {"file": artifacts_file}})
    # the lab's images are built here and have digests of their own
    whole["artifacts"] = {key: value for key, value in whole["artifacts"].items() if key != "images"}
    # the bucket is the owner's and not in the sandbox, and its address is S3's own
    snapshots = whole.get("snapshots") or {}
    whole["snapshots"] = {key: value for key, value in snapshots.items() if key != "copy_to"}
    # node containers have no further disks
    planes = {name: value for name, value in (cluster.get("control_plane") or {}).items() if name != "etcd_disk"}
    whole["control_plane"] = merge(planes, lab["control_plane"])
    machines = {"control_plane": whole["control_plane"], **(cluster.get("pools") or {})}
    fitted = {
        name: merge(group, lab["windows"])
        if str(group.get("os", "")).startswith("windows")
        else _linux(group, lab["linux"], whole["kubernetes"])
        for name, group in machines.items()
    }
    return {**whole, "control_plane": fitted.pop("control_plane"), "pools": fitted}


def _linux(machines: Mapping[str, Any], linux: Mapping[str, Any], kubernetes: str) -> dict[str, Any]:
    """Merge the overlay's options for Linux over a group of machines, without kubelet fields that its version lacks."""
    fields = releases.top_fields("kubelet", releases.minor(kubernetes))
    kubelet = {name: value for name, value in linux["kubelet"]["config"].items() if name in fields}
    own = (machines.get("containerd") or {}).get("version")
    plugin = _RUNTIME[releases.containerd_of(releases.minor(kubernetes), own).config_version]
    settings = linux["containerd"]["config"]["plugins"][plugin]
    options = {
        "kubelet": {**linux["kubelet"], "config": kubelet},
        "containerd": {**linux["containerd"], "config": {"plugins": {plugin: settings}}},
    }
    return merge(machines, {**linux, **options})
