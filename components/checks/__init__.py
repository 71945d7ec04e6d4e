"""Every check, in one table per concern. For a new concern add a module and a row in TABLES."""

from components.checks import (
    addresses,
    api,
    budget,
    capacity,
    config_types,
    control_plane,
    control_plane_reach,
    downloads,
    egress,
    encryption_key,
    etcd_disk,
    eviction,
    existing_cluster,
    existing_network,
    exporters,
    extra_arguments,
    gates,
    gmsa,
    harmful_config,
    image_sources,
    ingress,
    ingress_limits,
    isolation,
    labels,
    lifecycle,
    machines,
    names,
    network,
    no_egress,
    node_programs,
    not_built,
    open_access,
    pod_identity,
    pod_security,
    ranges,
    region,
    reserves,
    runtimes,
    service_zones,
    sessions,
    snapshots,
    taints,
    user_config,
    versions,
    volumes,
    worker_identity,
)
from components.checks.acknowledged import acknowledged_checks
from components.checks.check import Check, Path, Subject
from components.spec.report import Problem, Severity

TABLES: dict[str, tuple[Check, ...]] = {
    "IP plan": ranges.CHECKS + addresses.CHECKS,
    "Region": region.CHECKS,
    "Encryption": encryption_key.CHECKS,
    "Network": network.CHECKS + existing_network.CHECKS + service_zones.CHECKS,
    "Existing clusters": existing_cluster.CHECKS,
    "API access": api.CHECKS + pod_security.CHECKS + sessions.CHECKS,
    "Metrics": exporters.CHECKS,
    "Traffic from outside": ingress.CHECKS + ingress_limits.CHECKS,
    "Proxy and authorities": egress.CHECKS,
    "Without a way to the internet": no_egress.CHECKS,
    "Control plane": control_plane.CHECKS + etcd_disk.CHECKS + snapshots.CHECKS,
    "Names": names.CHECKS,
    "Machines": machines.CHECKS + capacity.CHECKS + worker_identity.CHECKS,
    "Reserves and eviction": reserves.CHECKS + eviction.CHECKS,
    "Scheduling": labels.CHECKS + taints.CHECKS,
    "Versions and runtimes": versions.CHECKS + runtimes.CHECKS + isolation.CHECKS,
    "Downloads": downloads.CHECKS,
    "Volumes": volumes.CHECKS,
    "Roles of pods": pod_identity.CHECKS,
    "Group managed service accounts": gmsa.CHECKS,
    "User configuration": user_config.CHECKS
    + config_types.CHECKS
    + gates.CHECKS
    + extra_arguments.CHECKS
    + harmful_config.CHECKS
    + open_access.CHECKS
    + control_plane_reach.CHECKS
    + image_sources.CHECKS
    + node_programs.CHECKS,
    "Life of the cluster": lifecycle.CHECKS,
    "Budget": budget.CHECKS,
    "Not built yet": not_built.CHECKS,
}
TABLES["Acknowledgements"] = acknowledged_checks([row for table in TABLES.values() for row in table])

CHECKS: tuple[Check, ...] = tuple(row for table in TABLES.values() for row in table)

UNREADY = frozenset({downloads.WITHOUT_DIGEST, lifecycle.PAST})
"""Ids of warnings that stop `up`, acknowledged or not. `plan` and the commands on a built cluster accept them."""

TO_ACKNOWLEDGE = frozenset(
    {
        *(api.ANYWHERE_ID, budget.WITHOUT_PRICE, downloads.REPLACED, region.UNKNOWN, region.WITHOUT_ZONES),
        *(control_plane_reach.ARGUMENT, control_plane_reach.ENVIRONMENT, control_plane_reach.VOLUME),
        *(image_sources.ELSEWHERE, image_sources.UNENCRYPTED, image_sources.INTERCEPTED, image_sources.TRUSTED),
        *(node_programs.UNJUDGED, node_programs.ELSEWHERE, pod_security.NODE_POLICIES),
    }
)
"""Ids of warnings that stop `up` unless the stack acknowledges them."""


def examine(subject: Subject, broken: frozenset[Path] = frozenset()) -> tuple[Problem, ...]:
    """Return all problems of a spec; warnings carry the reason of their acknowledgement.

    broken: paths of parts that could not be read; no check judges by them.
    """
    reasons = subject.spec.acknowledge
    return tuple(
        problem if problem.severity is Severity.ERROR else _acknowledge(problem, reasons.get(problem.id, ""))
        for row in CHECKS
        for problem in row.problems(subject, broken)
    )


def _acknowledge(problem: Problem, reason: str) -> Problem:
    fields = (problem.id, problem.path, problem.severity, problem.wrong, problem.fix)
    return Problem(*fields, acknowledged=reason.strip() or None)
