"""Durations of the real clouds' calls, with which the sandbox predicts the time of an `up`. Nothing waits for them.

Figures are medians of "Creation complete after" and "Destruction complete after" in published logs of the Terraform
providers; rows without a log say estimate. They end when the cloud reports the resource created: a machine runs, but
its node may not be ready.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple


class Latency(NamedTuple):
    """Seconds to create, update and delete one resource, and the source of the figures."""

    create: float
    update: float
    delete: float
    source: str


ESTIMATE = "estimate: a few API calls that do not wait"
QUICK = Latency(1, 1, 1, ESTIMATE)
LOGS = "published apply logs, "


def seconds_of(latencies: Mapping[str, Latency]) -> Callable[[str, str], float]:
    """Return a function (type, kind) -> seconds of `create`, `update` or `delete`; QUICK for types without a row."""
    return lambda type, kind: getattr(latencies.get(type, QUICK), kind)


def critical_path(
    resources: Iterable[tuple[str, Sequence[str], str, float]],
) -> tuple[float, list[str]]:
    """Return the longest chain of dependent resources: total seconds, and its URNs from first to last.

    Each row is a URN, the URNs it depends on, its type, and its seconds. URNs without a row count as done. Linear in
    rows and dependencies. Raises ValueError if there is a cycle.
    """
    rows = {urn: (tuple(waits_for), duration) for urn, waits_for, _, duration in resources}
    ends: dict[str, float] = {}
    before: dict[str, str | None] = {}
    for urn in _in_order({urn: waits_for for urn, (waits_for, _) in rows.items()}):
        waits_for, duration = rows[urn]
        last = max((other for other in waits_for if other in ends), key=ends.__getitem__, default=None)
        before[urn] = last
        ends[urn] = duration + (ends[last] if last else 0)
    if not ends:
        return 0, []
    path = [max(ends, key=ends.__getitem__)]
    while (last := before[path[-1]]) is not None:
        path.append(last)
    return ends[path[0]], path[::-1]


def _in_order(waits_for: Mapping[str, Sequence[str]]) -> list[str]:
    """Return URNs ordered so that each comes after its dependencies. Raises ValueError if there is a cycle."""
    open_counts = {urn: len({other for other in others if other in waits_for}) for urn, others in waits_for.items()}
    followers: dict[str, list[str]] = {urn: [] for urn in waits_for}
    for urn, others in waits_for.items():
        for other in {other for other in others if other in waits_for}:
            followers[other].append(urn)
    order = [urn for urn, count in open_counts.items() if count == 0]
    for urn in order:  # appended to in the loop
        for follower in followers[urn]:
            open_counts[follower] -= 1
            if open_counts[follower] == 0:
                order.append(follower)
    if len(order) < len(waits_for):
        raise ValueError(f"these wait for each other: {sorted(set(waits_for) - set(order))[:5]}")
    return order
