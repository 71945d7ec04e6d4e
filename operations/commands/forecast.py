"""Predicted times in a real cloud: until resources are created, the API answers, and every node is Ready."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from components.clouds import CLOUDS
from components.plan import ClusterPlan
from operations.console.table import table
from operations.engine.progress import duration
from operations.recorder.recorder import Recording

API_SECONDS = 5 * 60
"""Seconds from a running founder to an API that answers. Estimate: first boot, downloads, kubeadm init."""
BOOT_SECONDS = {"linux": 4 * 60, "windows": 15 * 60}
"""Seconds from a running worker to a Ready node. Windows: as in the check expires-soon; Linux: an estimate."""
JOIN_SECONDS = 60
"""Seconds from an API that answers to a Ready node, for a worker that booted earlier. Estimate."""

_MACHINE = re.compile(r"\$mullion:\w+:(ControlPlane|Workers)\$[^$]+:(?:Instance|VirtualMachine)::(.+)")
"""Matches the URN of a machine; groups: component, logical name."""

Waits = tuple[str, Sequence[str], str]
"""A resource: URN, URNs of its dependencies, type."""


@dataclass(frozen=True)
class Times:
    """Predicted seconds from the start of `up`. api: None if the API stays reachable."""

    created: float
    api: float | None
    ready: float

    def sentence(self, cloud: str) -> str:
        """Return one line for people; times that contain an estimate are rounded up to minutes."""
        api = f"API after about {_minutes(self.api)}" if self.api is not None else "API reachable all the time"
        return (
            f"Predicted, on real {CLOUDS[cloud].title}: resources created after {duration(self.created)}, {api}, "
            f"all nodes Ready after about {_minutes(self.ready)}"
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

    rows = [(urn, others, type_, clouds.seconds(type_, "create")) for urn, others, type_ in waits]
    created, path = latency.critical_path(rows)
    ends = _ends(rows)
    founders = [ends[urn] for urn in ends if (match := _MACHINE.search(urn)) and match[1] == "ControlPlane"]
    api = min(founders, default=0) + API_SECONDS
    ready = max(founders, default=0) + API_SECONDS
    families = {f"{planned.name}-{machine.name}": pool.family for pool in planned.pools for machine in pool.machines}
    for urn, end in ends.items():
        match = _MACHINE.search(urn)
        if match and match[1] == "Workers":
            ready = max(ready, end + BOOT_SECONDS[families[match[2]]], api + JOIN_SECONDS)
    return Times(created, max(api, created), max(ready, created)), path


def change(planned: ClusterPlan, waits: Iterable[Waits], ops: Mapping[str, str]) -> Times:
    """Return the times of an `up` on a built cluster. ops: the engine's operation by URN.

    A replaced machine must be Ready before the next machine of its pool is replaced.
    """
    from sandbox import clouds, latency

    families = {f"{planned.name}-{machine.name}": pool.family for pool in planned.pools for machine in pool.machines}
    boots: dict[str, float] = {}
    rows: list[tuple[str, Sequence[str], str, float]] = []
    for urn, others, type_ in waits:
        kinds = _KINDS.get(ops.get(urn, ""), ())
        match = _MACHINE.search(urn)
        if match and "create" in kinds:
            boots[urn] = BOOT_SECONDS[families.get(match[2], "linux")]
        rows.append((urn, others, type_, sum(clouds.seconds(type_, kind) for kind in kinds) + boots.get(urn, 0)))
    ready, path = latency.critical_path(rows)
    deleted = (clouds.seconds(_type(urn), "delete") for urn, op in ops.items() if op == "delete")
    ready = max(ready, *deleted, 0)
    return Times(ready - (boots.get(path[-1], 0) if path else 0), None, ready)


_KINDS = {
    "create": ("create",),
    "update": ("update",),
    "replace": ("delete", "create"),
    "create-replacement": ("delete", "create"),
    "delete-replaced": ("delete", "create"),
}
"""Calls to the cloud, by the engine's operation."""


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
