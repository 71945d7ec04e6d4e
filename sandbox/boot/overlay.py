"""lab.yaml over a stack: the same cluster, on machines that can boot here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from components import releases
from components.node.merge import merge

LAB = Path(__file__).with_name("lab.yaml")
_RUNTIME = {2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime", 4: "io.containerd.cri.v1.runtime"}
"""containerd's plug-in that makes containers, by the version of its configuration."""


def bootable(cluster: Mapping[str, Any], artifacts_file: str) -> dict[str, Any]:
    """A `mullion:cluster` object with what booting here needs. artifacts_file: digests of what the mirror has."""
    lab = yaml.safe_load(LAB.read_text(encoding="utf-8"))
    own = lab["clouds"].get(cluster["cloud"], {})
    whole = merge(merge(merge(cluster, lab["cluster"]), own), {"artifacts": {"file": artifacts_file}})
    whole["control_plane"] = merge(cluster.get("control_plane") or {}, lab["control_plane"])
    machines = {"control_plane": whole["control_plane"], **(cluster.get("pools") or {})}
    fitted = {
        name: merge(each, lab["windows"])
        if str(each.get("os", "")).startswith("windows")
        else _linux(each, lab["linux"], whole["kubernetes"])
        for name, each in machines.items()
    }
    return {**whole, "control_plane": fitted.pop("control_plane"), "pools": fitted}


def _linux(machines: Mapping[str, Any], linux: Mapping[str, Any], kubernetes: str) -> dict[str, Any]:
    """The machines with the lab's options, as far as their versions know these."""
    known = releases.top_fields("kubelet", releases.minor(kubernetes))
    kubelet = {name: value for name, value in linux["kubelet"]["config"].items() if name in known}
    own = (machines.get("containerd") or {}).get("version")
    plugin = _RUNTIME[releases.containerd_of(releases.minor(kubernetes), own).config_version]
    settings = linux["containerd"]["config"]["plugins"][plugin]
    options = {
        "kubelet": {**linux["kubelet"], "config": kubelet},
        "containerd": {**linux["containerd"], "config": {"plugins": {plugin: settings}}},
    }
    return merge(machines, {**linux, **options})
