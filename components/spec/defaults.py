"""Defaults that depend on another option; all others stand at their field in `models.py`.

Each function takes what the user wrote and returns a copy in which what is missing is
filled in. Whatever has the wrong shape is passed on untouched: pydantic names it.
"""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any, cast

from components.clouds import CLOUDS

SIZES: dict[str, dict[str, str]] = {
    cloud: {"linux": facts.linux_size, "windows": facts.windows_size} for cloud, facts in CLOUDS.items()
}
"""Default instance types by cloud and OS family."""

DISK_GB = {"linux": 50, "windows": 128}
"""Windows: base image layers take tens of GiB (Cluster API for Azure also uses 128)."""

TAINTS: dict[str, list[str]] = {"linux": [], "windows": ["os=windows:NoSchedule"]}
"""SCH-02: Linux workloads that name no operating system stay off Windows nodes."""

PRIORITY_CLASS = "ABOVE_NORMAL_PRIORITY_CLASS"
"""RES-03: at normal priority heartbeats starve under full CPU load (kubernetes#95735)."""

SYSTEM_MEMORY = {"windows": "2Gi"}
"""RES-01: Windows itself needs 2 GiB, and nothing evicts pods when memory is short."""


def windows_cpu_milli(vcpus: int) -> int:
    """RES-02: CPU that Windows itself keeps, in thousandths of a core: the larger of 500m and a tenth of the cores.

    It depends on the instance type, which the tables of sizes may not know (0 cores: 500m), so it is no default
    of the spec's: the checks and the kubelet's plan ask for it.
    """
    return max(500, vcpus * 100)


RANGES: dict[str, dict[str, str]] = {
    "overlay": {"pods": "10.244.0.0/16", "nodes": "10.20.0.0/16"},
    # the cloud routes: each node address owns a /24 at the same place in the pod range (topology/addressing.py)
    "l2bridge": {"pods": "10.244.0.0/14", "nodes": "10.20.0.0/22"},
}
"""IPP-01, by network mode; all other modes are refused."""

DNS_INDEX = 10
"""IPP-06: the tenth address of the service range."""


def family(os: object) -> str:
    """`linux` or `windows`, from an operating system's name."""
    return "windows" if str(getattr(os, "value", os)).startswith("windows") else "linux"


def _mapping(data: Any) -> dict[str, Any] | None:
    return dict(cast(Mapping[str, Any], data)) if isinstance(data, Mapping) else None


def _filled(data: dict[str, Any], **missing: Any) -> dict[str, Any]:
    return {**data, **{key: value for key, value in missing.items() if data.get(key) is None}}


def network(data: Any) -> Any:
    """Ranges from the mode, the DNS address from the service range."""
    given = _mapping(data)
    if given is None:
        return data
    mode = given.get("mode")
    given = _filled(given, **RANGES.get(str(getattr(mode, "value", mode)), RANGES["overlay"]))
    if given.get("dns") is not None:
        return given
    try:
        services = IPv4Network(given.get("services") or "10.96.0.0/12")
        return _filled(given, dns=str(services[DNS_INDEX]))
    except (ValueError, TypeError, IndexError):
        return _filled(given, dns="0.0.0.0")  # noqa: S104 - no address fits; the range itself is reported


def _kubelet(kubelet: Any, os_family: str) -> Any:
    given = {} if kubelet is None else _mapping(kubelet)
    if os_family != "windows" or given is None:
        return kubelet if given is None else given
    reserved = given.get("system_reserved")
    reserve = {} if reserved is None else _mapping(reserved)
    if reserve is not None:
        reserved = _filled(reserve, memory=SYSTEM_MEMORY["windows"])
    return {**_filled(given, priority_class=PRIORITY_CLASS), "system_reserved": reserved}


def pool(data: Any) -> Any:
    """Disk, taints, reserves and priority class, from the operating system."""
    given = _mapping(data)
    if given is None:
        return data
    os_family = family(given.get("os"))
    return _filled(
        {**given, "kubelet": _kubelet(given.get("kubelet"), os_family)},
        disk_gb=DISK_GB[os_family],
        taints=TAINTS[os_family],
    )


def _value(choice: Any) -> str:
    """A choice as files write it."""
    return str(getattr(choice, "value", choice))


def _sized(pool: Any, sizes: dict[str, str]) -> Any:
    given = _mapping(pool)
    return pool if given is None else _filled(given, size=sizes[family(given.get("os"))])


def cluster(data: Any) -> Any:
    """Sizes from the cloud; zones and NAT gateways from the number of control-plane machines."""
    given = _mapping(data)
    if given is None:
        return data
    filled = _filled(given, network={}, control_plane={})
    cloud = filled.get("cloud")
    # an unknown cloud is an error of its own; with any sizes the machines add no further errors
    facts = CLOUDS.get(_value(cloud))
    sizes = SIZES[_value(cloud) if facts else next(iter(SIZES))]
    control_plane, pools, net = (_mapping(filled.get(key)) for key in ("control_plane", "pools", "network"))
    if control_plane is not None:
        filled["control_plane"] = _filled(control_plane, size=sizes["linux"])
    if pools is not None:
        filled["pools"] = {name: _sized(each, sizes) for name, each in pools.items()}
    if net is not None:
        several = control_plane is not None and control_plane.get("count", 1) != 1
        nat = _value(net.get("egress", "nat")) == "nat"
        zonal = several and nat and not (facts and facts.regional_nat)
        filled["network"] = _filled(net, zones=3 if several else 1, nat_gateways="zonal" if zonal else "single")
    return filled
