"""Quotas of GCP (Compute Engine, "Allocation quotas", by project and region; VPC, "Quotas and limits")."""

from collections.abc import Mapping
from typing import Any

from components.catalogue.account_limits import (
    ACCOUNTS,
    ADDRESSES,
    FIREWALLS,
    NETWORKS,
    NEW_ACCOUNT,
    SSD,
    STATIC,
    VCPUS,
)
from sandbox.cloud import Request
from sandbox.gcp.names import ADDRESS, DISK, INSTANCE
from sandbox.gcp.regions import vcpus
from sandbox.quotas import Quota, Quotas

_OVER = "Quota '{name}' exceeded.  Limit: {{limit}}.0 {where}."


def _quota(default: int, name: str, *, granted: int | None = None, regional: bool = True) -> Quota:
    where = "in region {region}" if regional else "globally"
    return Quota(default, "quotaExceeded", "googleapi: Error 403: " + _OVER.format(name=name, where=where), granted)


CPUS, ALL_CPUS, DISKS = "CPUs per region", "CPUs in all regions", "SSD GB per region"
STATIC_ADDRESSES = "static addresses per region"
SERVICE_ACCOUNTS = "service accounts per project"
_NEW = NEW_ACCOUNT["gcp"]
_ROWS: Mapping[str, Quota] = {
    CPUS: _quota(_NEW[VCPUS].new, "CPUS", granted=2400),
    ALL_CPUS: _quota(2400, "CPUS_ALL_REGIONS", regional=False),  # Google chooses it for each project
    "in-use external addresses per region": _quota(_NEW[ADDRESSES].new, "IN_USE_ADDRESSES", granted=64),
    DISKS: _quota(_NEW[SSD].new, "SSD_TOTAL_GB", granted=100_000),
    STATIC_ADDRESSES: _quota(_NEW[STATIC].new, "STATIC_ADDRESSES", granted=64),
    "networks per project": _quota(_NEW[NETWORKS].new, "NETWORKS", regional=False),
    "subnetworks per project": _quota(100, "SUBNETWORKS", regional=False),
    "firewall rules per project": _quota(_NEW[FIREWALLS].new, "FIREWALLS", granted=1000, regional=False),
    "routes per project": _quota(200, "ROUTES", granted=500, regional=False),
    "routers per project": _quota(10, "ROUTERS", regional=False),
    "forwarding rules per region": _quota(15, "FORWARDING_RULES", granted=150),
    SERVICE_ACCOUNTS: Quota(
        _NEW[ACCOUNTS].new,
        "rateLimitExceeded",
        "googleapi: Error 429: Maximum number of service accounts on project reached.",
    ),
}
QUOTAS = Quotas(_ROWS)


def cpus(request: Request) -> None:
    """Check the vCPUs of the region's machines, and of all regions', with the new machine's."""
    for quota, region in ((CPUS, request.region), (ALL_CPUS, None)):
        others = request.cloud_state.counts(INSTANCE, region, "machineType", without=request.sequence)
        used = sum((vcpus(name) or 0) * count for name, count in others.items() if name)
        QUOTAS.refuse_over(request, quota, vcpus(request.inputs["machineType"]) or 0, used)


def external(request: Request) -> None:
    """Check the number of public addresses in use: of machines with an access configuration, and reserved ones."""
    if request.old is not None or not any(each.get("accessConfigs") for each in request.inputs["networkInterfaces"]):
        return
    machines = [one for one in request.cloud_state.resources(INSTANCE) if one.region == request.region]
    used = sum(bool(face.get("accessConfigs")) for one in machines for face in one.inputs["networkInterfaces"])
    QUOTAS.refuse_over(request, "in-use external addresses per region", 1, used)


def static(request: Request) -> None:
    """Check the number of reserved public addresses of the region."""
    if request.old is None and request.inputs.get("addressType", "EXTERNAL") == "EXTERNAL":
        there = [one for one in request.cloud_state.resources(ADDRESS) if one.region == request.region]
        used = sum(one.inputs.get("addressType", "EXTERNAL") == "EXTERNAL" for one in there)
        QUOTAS.refuse_over(request, STATIC_ADDRESSES, 1, used)


def ssd(request: Request) -> None:
    """Check the gigabytes of the region's SSD disks, also those beside boot disks, with the new one's."""
    if request.old is not None:
        return
    there = [one for type in (INSTANCE, DISK) for one in request.cloud_state.resources(type)]
    used = sum(ssd_gb(one.inputs) for one in there if one.region == request.region)
    QUOTAS.refuse_over(request, DISKS, ssd_gb(request.inputs), used)


def ssd_gb(inputs: Mapping[str, Any]) -> int:
    """Return the gigabytes of a machine's boot disk, or of a further disk, that count as SSD."""
    disk = (inputs.get("bootDisk") or {}).get("initializeParams") or {} if "bootDisk" in inputs else inputs
    return int(disk.get("size") or 0) if disk.get("type") in ("pd-balanced", "pd-ssd") else 0
