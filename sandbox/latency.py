"""How long the real clouds take, so that the sandbox can say what an `up` would cost in time. Nothing ever waits.

Figures are medians of "Creation complete after" and "Destruction complete after" in published logs of the providers
that the Pulumi ones wrap or stand beside; where none was found, the row says estimate. They are times until the cloud
reports the thing made (a machine runs, not: its node is ready).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple


class Latency(NamedTuple):
    """Seconds to create, update and delete one resource, and where the figures come from."""

    create: float
    update: float
    delete: float
    source: str


ESTIMATE = "estimate: one or a few API calls that wait for nothing"
QUICK = Latency(1, 1, 1, ESTIMATE)
LOGS = "published apply logs, "


def seconds_of(latencies: Mapping[str, Latency]) -> Callable[[str, str], float]:
    """From a cloud's table: seconds that a `create`, `update` or `delete` of a type takes, QUICK without a row."""
    return lambda type, kind: getattr(latencies.get(type, QUICK), kind)


def critical_path(
    resources: Iterable[tuple[str, Sequence[str], str, float]],
) -> tuple[float, list[str]]:
    """The longest chain of things that wait for each other: total seconds, and its URNs from first to last.

    Each row is a URN, the URNs it waits for, its type, and its seconds. URNs without a row count as done. Linear in
    rows and dependencies; a cycle raises ValueError.
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
    """URNs such that each comes after those it waits for."""
    open_counts = {urn: len({other for other in others if other in waits_for}) for urn, others in waits_for.items()}
    followers: dict[str, list[str]] = {urn: [] for urn in waits_for}
    for urn, others in waits_for.items():
        for other in {other for other in others if other in waits_for}:
            followers[other].append(urn)
    order = [urn for urn, count in open_counts.items() if count == 0]
    for urn in order:  # grows while it is read
        for follower in followers[urn]:
            open_counts[follower] -= 1
            if open_counts[follower] == 0:
                order.append(follower)
    if len(order) < len(waits_for):
        raise ValueError(f"these wait for each other: {sorted(set(waits_for) - set(order))[:5]}")
    return order
