"""What the state of a built cluster says for the report: its machines, and when they were created.

Only the fields below are read: the other inputs and outputs of a state may be secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from operations.clouds import cloud_tables
from operations.engine import clusters, state
from operations.engine.clusters import ClusterFacts
from operations.engine.events import CLUSTER


@dataclass(frozen=True)
class BuiltMachine:
    """A machine of the state. digest: first characters of its replace digest. after: seconds from the cluster's
    creation to the machine's; None if unknown.
    """

    name: str
    pool: str
    instance: str
    zone: str
    digest: str
    after: float | None


@dataclass(frozen=True)
class BuiltCluster:
    """A cluster by its state. seconds: from its creation to that of the last resource; None if unknown.

    cut_off: operations of an interrupted run without an answer.
    """

    facts: ClusterFacts
    machines: Mapping[str, BuiltMachine]
    seconds: float | None
    cut_off: int


@dataclass(frozen=True)
class Known:
    """What is known of a stack beside its file.

    place: where it is built, in one sentence. built: None if it is not built, or if `unknown` says why its state is
    unknown. resources: of its state. records: of its machines, by name. config: for the recorder.
    """

    place: str
    built: BuiltCluster | None = None
    unknown: str = ""
    resources: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])


def read(name: str, place: str, deployment: Mapping[str, Any]) -> BuiltCluster | None:
    """Return the cluster of an exported state; None if it has no resources."""
    facts = clusters.read(name, place, deployment)
    if facts is None:
        return None
    resources: state.State = deployment.get("resources") or []
    began = next((state.created(each) for each in resources if each["type"] == CLUSTER), None)
    times = [time for each in resources if each.get("custom") and (time := state.created(each))]
    cloud, machines = cloud_tables.of(resources), dict[str, BuiltMachine]()
    ids = state.instances(resources)
    for machine in filter(cloud.is_machine, resources):
        named = machine["urn"].rpartition("::")[2]
        given = machine.get("inputs") or {}
        short = named.removeprefix(f"{cloud.tag(given, 'cluster')}-")
        found = ids.get(short, {})
        machines[short] = BuiltMachine(
            short,
            cloud.tag(given, "pool"),
            str(found.get("id", "")),
            str(found.get("zone", "")),
            cloud.tag(given, "digest"),
            _after(began, state.created(machine)),
        )
    pending = len(deployment.get("pending_operations") or [])
    return BuiltCluster(facts, machines, _after(began, max(times, default=None)), pending)


def _after(began: datetime | None, time: datetime | None) -> float | None:
    return (time - began).total_seconds() if began and time else None
