"""Problems of a stack that only planning finds."""

from collections.abc import Iterator

from components.plan.model import ClusterPlan
from components.spec.models import ClusterSpec
from components.spec.report import Problem, Severity
from components.topology.addressing import NetworkPlan
from components.topology.slots import capacity, overlaps

SPARE_BYTES = 1024
"""Bytes of user-data kept free below the cloud's limit, so that a longer fact does not stop a later roll."""


def address_problems(network: NetworkPlan, spec: ClusterSpec) -> Iterator[Problem]:
    """Yield a problem if the workers do not fit into the node range, else one for each two overlapping pools."""
    existing = spec.network.existing
    ranges = ", ".join(str(subnet.range) for subnet in existing.subnets) if existing else str(network.cidr)
    larger = "larger subnets" if existing else "a larger network.nodes"
    room, workers = capacity(network), sum(pool.count for pool in spec.pools.values())
    largest = max((-(-pool.count // network.zones) for pool in spec.pools.values()), default=0)
    if max(workers, largest * network.zones) > room:
        most = "" if existing else " (up to a /16)"
        yield _error(
            "node-range-full",
            "network.existing.subnets" if existing else "network.nodes",
            f"{workers} workers do not fit: {ranges} has addresses for {room} in {network.zones} zones",
            f"{larger}{most}, or fewer machines",
        )
        return
    for overlap in overlaps(network, spec.pools):
        free = f"slot: {overlap.free}" if overlap.free is not None else larger
        yield _error(
            "pool-addresses-meet",
            f"pools.{overlap.second}.slot",
            f"pools {overlap.first} and {overlap.second} would use the same node addresses",
            f"{free} for pool {overlap.second}; if its machines exist, they are replaced at new addresses",
        )


def size_problems(plan: ClusterPlan) -> Iterator[Problem]:
    """Yield a problem for each machine group whose user-data is too long for the cloud."""
    limit = plan.spec.cloud.facts.user_data_limit - SPARE_BYTES
    for group in plan.machine_groups:
        if group.longest_user_data > limit:
            yield _error(
                "user-data-too-large",
                "control_plane" if group.is_control_plane else f"pools.{group.name}",
                f"user-data can reach {group.longest_user_data} bytes; the limit is {limit}, with {SPARE_BYTES} spare",
                "a shorter cluster or pool name",
            )


def path_problems(plan: ClusterPlan) -> Iterator[Problem]:
    """Yield a problem for each blocked network path."""
    for path in plan.paths:
        if path.missing:
            wrong = f"{path.source} cannot reach {path.destination}: {path.missing}"
            yield _error("no-way", "network", wrong, "report this: a bug in Mullion")


def _error(check: str, path: str, wrong: str, fix: str) -> Problem:
    return Problem(check, path, Severity.ERROR, wrong, fix)
