"""Defaults that depend on another option; all other defaults are in `models.py`.

Each function takes a part of the spec as the user wrote it and returns a copy with defaults for missing options.
Values of the wrong shape are returned unchanged: pydantic reports them.
"""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any, cast

from components.clouds import CLOUDS
from components.spec.options import Model

SIZES: dict[str, dict[str, str]] = {
    cloud: {"linux": facts.linux_size, "windows": facts.windows_size} for cloud, facts in CLOUDS.items()
}
"""Default instance types by cloud and OS family."""

DISK_GB = {"linux": 50, "windows": 128}
"""Root disks, GiB. On Windows base image layers take tens of GiB (Cluster API for Azure also uses 128)."""

TAINTS: dict[str, list[str]] = {"linux": [], "windows": ["os=windows:NoSchedule"]}
"""Taints that keep Linux pods that select no operating system off Windows nodes (SCH-02)."""

PRIORITY_CLASS = "ABOVE_NORMAL_PRIORITY_CLASS"
"""Priority class of the kubelet on Windows: at normal priority it misses heartbeats under full CPU load (RES-03,
kubernetes#95735)."""

SYSTEM_MEMORY = {"windows": "2Gi"}
"""Memory reserved for the system: Windows itself needs 2 GiB, and the kubelet evicts no pods when memory is short
(RES-01)."""


def windows_cpu_milli(vcpus: int) -> int:
    """Return CPU reserved for Windows, in thousandths of a core: the larger of 500m and a tenth of the cores (RES-02).

    vcpus: 0 for an instance type that is in no table. Such types have no default in the spec; the checks and the
    kubelet's plan call this function instead.
    """
    return max(500, vcpus * 100)


HARD_EVICTION = {
    "linux": {
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
        "imagefs.available": "15%",
        "imagefs.inodesFree": "5%",
    },
    "windows": {"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%"},
}
"""The kubelet's default hard eviction thresholds (1.37, pkg/kubelet/eviction/defaults_{linux,windows}.go). Up to 1.30
memory.available on Windows was 100Mi, and Linux had no imagefs.inodesFree."""

RANGES: dict[str, dict[str, str]] = {
    "overlay": {"pods": "10.244.0.0/16", "nodes": "10.20.0.0/16"},
    # routed by the cloud: each node address has the /24 at the same position of the pod range (topology/addressing.py)
    "l2bridge": {"pods": "10.244.0.0/14", "nodes": "10.20.0.0/22"},
}
"""Pod and node ranges by network mode (IPP-01); all other modes are refused."""

DNS_INDEX = 10
"""Index in the service range of the DNS address: the tenth (IPP-06)."""


def family(os: object) -> str:
    """Return `linux` or `windows` for an operating system."""
    return "windows" if str(getattr(os, "value", os)).startswith("windows") else "linux"


def _mapping(data: Any) -> dict[str, Any] | None:
    return dict(cast(Mapping[str, Any], data)) if isinstance(data, Mapping) else None


def _filled(data: dict[str, Any], **missing: Any) -> dict[str, Any]:
    return {**data, **{key: value for key, value in missing.items() if data.get(key) is None}}


def _existing_subnets(existing: Any) -> list[Any]:
    """Return the subnets of an existing network as written; empty if there is none, or if they have another shape."""
    network = existing.model_dump() if isinstance(existing, Model) else _mapping(existing)
    subnets = (network or {}).get("subnets")
    return cast(list[Any], subnets) if isinstance(subnets, list) else []


def enclosing_range(existing: Any) -> str | None:
    """Return the smallest range with all subnets of an existing network; None if their ranges cannot be read."""
    try:
        ranges = [IPv4Network(str(each["range"])) for each in _existing_subnets(existing)]
    except (ValueError, TypeError, KeyError):
        return None
    if not ranges:
        return None
    whole = ranges[0]
    while not all(each.subnet_of(whole) for each in ranges):
        whole = whole.supernet()
    return str(whole)


def network(data: Any) -> Any:
    """Fill in the ranges by the mode, and the DNS address by the service range."""
    written = _mapping(data)
    if written is None:
        return data
    if (nodes := enclosing_range(written.get("existing"))) is not None:
        written = _filled(written, nodes=nodes)
    mode = written.get("mode")
    written = _filled(written, **RANGES.get(str(getattr(mode, "value", mode)), RANGES["overlay"]))
    if written.get("dns") is not None:
        return written
    try:
        services = IPv4Network(written.get("services") or "10.96.0.0/12")
        return _filled(written, dns=str(services[DNS_INDEX]))
    except (ValueError, TypeError, IndexError):
        return _filled(written, dns="0.0.0.0")  # noqa: S104 - the range is too small for a DNS address; a check reports the range


def _kubelet(kubelet: Any, os_family: str) -> Any:
    written = {} if kubelet is None else _mapping(kubelet)
    if os_family != "windows" or written is None:
        return kubelet if written is None else written
    reserved = written.get("system_reserved")
    reserve = {} if reserved is None else _mapping(reserved)
    if reserve is not None:
        reserved = _filled(reserve, memory=SYSTEM_MEMORY["windows"])
    return {**_filled(written, priority_class=PRIORITY_CLASS), "system_reserved": reserved}


def _kube_proxy(kube_proxy: Any, os_family: str) -> Any:
    """Turn direct server return on for Windows: without it each Service port reserves 64 dynamic ports (SVC-03)."""
    written = {} if kube_proxy is None else _mapping(kube_proxy)
    if os_family != "windows" or written is None:
        return kube_proxy if written is None else written
    return _filled(written, dsr=True)


def pool(data: Any) -> Any:
    """Fill in disk, taints, reserves, priority class and direct server return by the operating system."""
    written = _mapping(data)
    if written is None:
        return data
    os_family = family(written.get("os"))
    return _filled(
        {
            **written,
            "kubelet": _kubelet(written.get("kubelet"), os_family),
            "kube_proxy": _kube_proxy(written.get("kube_proxy"), os_family),
        },
        disk_gb=DISK_GB[os_family],
        taints=TAINTS[os_family],
    )


def _value(choice: Any) -> str:
    """Return an option of a closed list as stack files write it."""
    return str(getattr(choice, "value", choice))


def _sized(pool: Any, sizes: dict[str, str]) -> Any:
    written = _mapping(pool)
    return pool if written is None else _filled(written, size=sizes[family(written.get("os"))])


def cluster(data: Any) -> Any:
    """Fill in sizes by the cloud; zones and NAT gateways by the number of control-plane machines."""
    written = _mapping(data)
    if written is None:
        return data
    filled = _filled(written, network={}, control_plane={})
    if filled.get("gmsa") is False:  # in states and stack files of former versions, where it was true or false
        filled["gmsa"] = {}
    cloud = filled.get("cloud")
    # an unknown cloud is reported elsewhere; sizes of any cloud keep the machines from adding more errors
    facts = CLOUDS.get(_value(cloud))
    sizes = SIZES[_value(cloud) if facts else next(iter(SIZES))]
    control_plane, pools, net = (_mapping(filled.get(key)) for key in ("control_plane", "pools", "network"))
    if control_plane is not None:
        none = {"count": 0} if filled.get("existing_cluster") is not None else {}  # its machines are not Mullion's
        filled["control_plane"] = _filled(control_plane, size=sizes["linux"], **none)
    if pools is not None:
        filled["pools"] = {name: _sized(pool, sizes) for name, pool in pools.items()}
    if net is not None:
        several = control_plane is not None and control_plane.get("count", 1) != 1
        nat = _value(net.get("egress", "nat")) == "nat"
        subnets = len(_existing_subnets(net.get("existing")))
        zonal = several and nat and not subnets and not (facts and facts.regional_nat)
        # a subnet of AWS is in one zone
        by_subnets = subnets > 1 or (subnets and facts and facts.edge_subnets)
        zones = min(subnets, 3) if by_subnets else 3 if several else 1
        filled["network"] = _filled(net, zones=zones, nat_gateways="zonal" if zonal else "single")
    return filled
