"""Predicted times in a real cloud: until resources are created, the API answers, and every node is Ready."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from components.clouds import CLOUDS
from components.plan import ClusterPlan
from components.spec.quantities import duration_seconds
from operations.console.table import table
from operations.engine.progress import duration
from operations.recorder.recorder import Recording

API_SECONDS = 5 * 60
"""Seconds from a running founder to an API that answers. Estimate: first boot, downloads, kubeadm init."""
BOOT_SECONDS = {"linux": 4 * 60, "windows": 15 * 60}
"""Seconds from a running worker to a Ready node. Windows: as in the check expires-soon; Linux: an estimate."""
BAKED_SECONDS = {**BOOT_SECONDS, "windows": 8 * 60}
"""The same with baked Windows images (docs/images.md), which need no installation of features, restart or download.
Estimate."""
JOIN_SECONDS = 60
"""Seconds from an API that answers to a Ready node, for a worker that booted earlier. Estimate."""

_MACHINE = re.compile(r"\$mullion:\w+:(ControlPlane|Workers)\$[^$]+:(?:Instance|VirtualMachine)::(.+)")
"""Matches the URN of a machine; groups: component, logical name."""

Waits = tuple[str, Sequence[str], str]
"""A resource: URN, URNs of its dependencies, type."""


@dataclass(frozen=True)
class Times:
    """Predicted seconds from the start of `up`. api: None if the API stays reachable.

    baked: `ready` if Windows machines start from baked images; None if no Windows machine boots.
    """

    created: float
    api: float | None
    ready: float
    baked: float | None = None

    def sentence(self, cloud: str) -> str:
        """Return one line for people; times that contain an estimate are rounded up to minutes."""
        api = f"API after about {_minutes(self.api)}" if self.api is not None else "API reachable all the time"
        baked = "" if self.baked is None else f" ({_minutes(self.baked)} with baked Windows images)"
        return (
            f"Predicted, on real {CLOUDS[cloud].title}: resources created after {duration(self.created)}, {api}, "
            f"all nodes Ready after about {_minutes(self.ready)}{baked}"
        )


def _minutes(seconds: float) -> str:
    return f"{math.ceil(seconds / 60)} min"


def waits_of(recording: Recording) -> list[Waits]:
    """Return the resources of a recorded program with their dependencies."""
    return [
        (resource.urn, sorted(resource.dependencies), resource.type)
        for resource in recording.resources.values()
        if resource.custom
    ]


def first_build(planned: ClusterPlan, waits: Iterable[Waits]) -> tuple[Times, list[str]]:
    """Return the times of a first `up`, and the URNs of the critical path to `created`, in order."""
    from sandbox import clouds, latency

    rows = [(urn, others, type_, clouds.seconds(type_, "create")) for urn, others, type_ in _queued(waits)]
    created, path = latency.critical_path(rows)
    ends = _ends(rows)
    founders = [ends[urn] for urn in ends if (match := _MACHINE.search(urn)) and match[1] == "ControlPlane"]
    starts = 0 if planned.joins else API_SECONDS
    api = min(founders, default=0) + starts
    families = _families(planned)
    workers = [(end, families[match[2]]) for urn, end in ends.items() if (match := _worker(urn))]

    def ready(seconds: Mapping[str, int]) -> float:
        nodes = (max(end + seconds[family], api + JOIN_SECONDS) for end, family in workers)
        return max(max(founders, default=0) + starts, created, *nodes)

    windows = any(family == "windows" for _, family in workers)
    answers = None if planned.joins else max(api, created)
    return Times(created, answers, ready(BOOT_SECONDS), ready(BAKED_SECONDS) if windows else None), path


def _queued(waits: Iterable[Waits], ops: Mapping[str, str] | None = None) -> list[Waits]:
    """Return the resources; each changed grant also waits for the one before it on the same bucket or secret.

    ops: the engine's operation by URN; None: all are created.
    """
    from sandbox.gcp.latencies import QUEUED

    last, rows = dict[str, str](), list[Waits]()
    for urn, others, type_ in waits:
        target = next((each for each in others if _type(each) == QUEUED.get(type_)), None)
        if target and (ops is None or _kinds(ops.get(urn))):
            rows.append((urn, [*others, last.get(target, target)], type_))
            last[target] = urn
        else:
            rows.append((urn, others, type_))
    return rows


def _deleted(types: Sequence[str]) -> float:
    """Return the seconds in which resources of these types are deleted; grants of a type one after the other."""
    from sandbox import clouds
    from sandbox.gcp.latencies import QUEUED

    together = (clouds.seconds(each, "delete") for each in types)
    return max(*together, *(clouds.seconds(each, "delete") * types.count(each) for each in QUEUED), 0)


def _worker(urn: str) -> re.Match[str] | None:
    match = _MACHINE.search(urn)
    return match if match and match[1] == "Workers" else None


def _families(planned: ClusterPlan) -> dict[str, str]:
    """Return the family of each worker's system, linux or windows, by logical name."""
    return {f"{planned.name}-{machine.name}": pool.family for pool in planned.pools for machine in pool.machines}


def change(planned: ClusterPlan, waits: Iterable[Waits], ops: Mapping[str, str]) -> Times:
    """Return the times of an `up` on a built cluster. ops: the engine's operation by URN.

    A replaced machine must be Ready before the next machine of its pool is replaced.
    """
    from sandbox import clouds, latency

    canaries = {
        f"{planned.name}-{pool.machines[0].name}": duration_seconds(
            planned.spec.pools[pool.name].rollout.canary or "0s"
        )
        for pool in planned.pools
        if pool.machines
    }
    waits, families = _queued(waits, ops), _families(planned)
    replaced = {
        match[2]: urn for urn, _, _ in waits if (match := _MACHINE.search(urn)) and "create" in _kinds(ops.get(urn))
    }

    def ends(seconds: Mapping[str, int]) -> tuple[float, float]:
        """Return when all nodes are Ready and when all resources are created. seconds: of a boot, by family."""
        boots: dict[str, float] = {}
        for machine, urn in replaced.items():
            canary = canaries.get(machine, 0) if "delete" in _kinds(ops.get(urn)) else 0
            boots[urn] = seconds[families.get(machine, "linux")] + canary
        rows = [
            (urn, others, type_, sum(clouds.seconds(type_, kind) for kind in _kinds(ops.get(urn))) + boots.get(urn, 0))
            for urn, others, type_ in waits
        ]
        ready, path = latency.critical_path(rows)
        ready = max(ready, _deleted([_type(urn) for urn, op in ops.items() if op == "delete"]))
        return ready, ready - (boots.get(path[-1], 0) if path else 0)

    ready, created = ends(BOOT_SECONDS)
    windows = any(families.get(machine) == "windows" for machine in replaced)
    return Times(created, None, ready, ends(BAKED_SECONDS)[0] if windows else None)


_KINDS = {
    "create": ("create",),
    "update": ("update",),
    "replace": ("delete", "create"),
    "create-replacement": ("delete", "create"),
    "delete-replaced": ("delete", "create"),
}
"""Calls to the cloud, by the engine's operation."""


def _kinds(op: str | None) -> tuple[str, ...]:
    return _KINDS.get(op or "", ())


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def _ends(rows: Sequence[tuple[str, Sequence[str], str, float]]) -> dict[str, float]:
    """Return the second at which each resource is created."""
    waits = {urn: (others, seconds) for urn, others, _, seconds in rows}
    ends: dict[str, float] = {}
    left = list(waits)
    while left:
        # in the program's order nearly every resource comes after its dependencies
        later: list[str] = []
        for urn in left:
            others, seconds = waits[urn]
            known = [other for other in others if other in waits]
            if all(other in ends for other in known):
                ends[urn] = seconds + max((ends[other] for other in known), default=0)
            else:
                later.append(urn)
        if len(later) == len(left):
            raise ValueError(f"these resources wait for each other: {', '.join(later)}")
        left = later
    return ends


def critical_path(path: Sequence[str], types: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """Return when each resource of the critical path is begun, how long it takes, its name and type. types: by URN."""
    from sandbox import clouds

    rows: list[tuple[str, str, str, str]] = []
    clock = 0.0
    for urn in path:
        seconds = clouds.seconds(types[urn], "create")
        begun = f"{int(clock) // 60}:{int(clock) % 60:02}"
        if round(seconds):  # steps under half a second do not matter
            rows.append((begun, duration(seconds), urn.rpartition("::")[2], types[urn]))
        clock += seconds
    return rows


def deciding(path: Sequence[str], types: Mapping[str, str]) -> str:
    """Return the table of the critical path: the resources that decide when all are created. types: by URN."""
    return table(("at", "takes", "resource", "type"), critical_path(path, types))
