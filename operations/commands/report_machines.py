"""The machines of the HTML report, by pool: planned, built, and as `mullion wait` last saw them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.plan import ClusterPlan
from operations.commands.plan_against import DIGEST
from operations.engine.progress import duration
from operations.html_report.built import BuiltCluster, BuiltMachine

Record = Mapping[str, Any]
GIB = 2**30


@dataclass(frozen=True)
class MachineRow:
    """One machine. kind: class of the state's mark. after: seconds after the cluster's creation, None if unknown."""

    name: str
    address: str
    pods: str
    zone: str
    instance: str
    state: str
    kind: str
    digest: str
    after: float | None
    report: str


@dataclass(frozen=True)
class PoolTable:
    """A pool with its facts and machines."""

    name: str
    size: str
    os: str
    facts: tuple[tuple[str, str], ...]
    machines: tuple[MachineRow, ...]


def values(
    planned: ClusterPlan,
    whole: Mapping[str, Any],
    built: BuiltCluster | None,
    records: Mapping[str, Record],
    changes: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the pools, whether pods are routed, and whether any machine has a record. changes: None if unknown."""
    by_pool: dict[str, list[MachineRow]] = {}
    for machine in whole["machines"]:
        there = built.machines.get(machine["name"]) if built else None
        record = records.get(machine["name"], {})
        record = record if there and record.get("instance") == there.instance else {}
        by_pool.setdefault(machine["pool"], []).append(_row(machine, there, record, changes))
    pools = [
        PoolTable(
            pool["name"], pool["size"], pool["os"], tuple(_facts(pool, planned)), tuple(by_pool.get(pool["name"], ()))
        )
        for pool in whole["pools"]
    ]
    return {
        "pools": pools,
        "routed": any("pods" in machine for machine in whole["machines"]),
        "has_records": any(machine.report for pool in pools for machine in pool.machines),
    }


def _row(
    machine: Mapping[str, Any], there: BuiltMachine | None, record: Record, changes: Mapping[str, Any] | None
) -> MachineRow:
    name = machine["name"]
    state, kind = "not built", ""
    if there:
        state, kind = "built", "good"
        if changes and name in changes["replaced"]:
            state, kind = "to be replaced", "warn"
    return MachineRow(
        name,
        machine["address"],
        machine.get("pods", ""),
        (there.zone if there else "") or machine["zone"],
        there.instance if there else "",
        state,
        kind,
        there.digest if there else "",
        there.after if there else None,
        _report(record),
    )


def _report(record: Record) -> str:
    """Return a record in one line: state, step, version, seconds of the last run, time."""
    if not record:
        return ""
    where = "/".join(str(record[key]) for key in ("phase", "step") if record.get(key))
    seconds = record.get("seconds")
    parts = [
        f"{record.get('state', 'unknown')}{f' in {where}' if where else ''}",
        f"E{record['code']} {record.get('name', '')}".strip() if record.get("code") else "",
        f"Kubernetes {record['kubernetes']}" if record.get("kubernetes") else "",
        f"last run {duration(seconds)}" if isinstance(seconds, int | float) else "",
        str(record.get("time", "")),
        str(record.get("problem", "")),
    ]
    return ", ".join(part for part in parts if part)


def _facts(pool: Mapping[str, Any], planned: ClusterPlan) -> Iterator[tuple[str, str]]:
    yield "Role", "control plane" if pool["control_plane"] else "workers"
    yield "Image", pool["image"] or "the newest at the first up, then kept"
    runtime = "containerd" if pool["control_plane"] else planned.spec.pools[pool["name"]].runtime.value
    yield "Runtime", runtime
    yield "Disk", f"{pool['disk_gb']} GiB"
    if disk := pool.get("etcd_disk"):
        yield "Disk of etcd", f"{disk['size_gb']} GiB, {disk['type']}"
    yield "Labels", ", ".join(pool["labels"]) or "none"
    yield "Taints", ", ".join(pool["taints"]) or "none"
    room = pool["allocatable"]
    yield (
        "For pods",
        f"{room['cpu_milli']}m CPU, {room['memory_bytes'] / GIB:.2f} GiB a node"
        if room
        else "unknown: size in no table",
    )
    if pool["control_plane"]:
        yield "Replacement", "never; changes are made in place"
    else:
        first = "the first alone, then " if pool["canary"] else ""
        digest = pool["replace_digest"][:DIGEST]
        yield "Replacement", f"{first}{pool['max_unavailable']} at a time; planned digest {digest}"
    yield "Bundle", f"sha256 {pool['bundle']['sha256'][:DIGEST]}, {pool['bundle']['bytes']:,} bytes"
