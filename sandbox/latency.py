"""How long the real clouds take, so that the sandbox can say what an `up` would cost in time. Nothing ever waits.

Figures are medians of "Creation complete after" and "Destruction complete after" in published logs of the provider
that pulumi-aws wraps; where none was found, the row says estimate. They are times until the cloud reports the thing
made (a machine runs, not: its node is ready).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Latency(NamedTuple):
    """Seconds to create, update and delete one resource, and where the figures come from."""

    create: float
    update: float
    delete: float
    source: str


ESTIMATE = "estimate: one or a few API calls that wait for nothing"
QUICK = Latency(1, 1, 1, ESTIMATE)

_LOGS = "published apply logs, "
LATENCIES: Mapping[str, Latency] = {
    "aws:ec2/vpc:Vpc": Latency(
        12, 11, 1, "terraform-aws-modules/terraform-aws-route53#33: 12 s with DNS host names; 1 s and less without"
    ),
    "aws:ec2/internetGateway:InternetGateway": Latency(
        1, 1, 20, _LOGS + "create 1 s; delete 1 to 79 s, as it waits for public addresses to go"
    ),
    "aws:ec2/subnet:Subnet": Latency(
        11, 11, 1, _LOGS + "11 s where addresses are public by default, 1 s otherwise; counted as the longer"
    ),
    "aws:ec2/routeTable:RouteTable": Latency(1, 1, 1, "DevopsArtFactory/terraform-provisioning#5 and #7: 1 s"),
    "aws:ec2/eip:Eip": Latency(1, 1, 1, "DevopsArtFactory/terraform-provisioning#5 and #7: 0 to 1 s"),
    "aws:ec2/natGateway:NatGateway": Latency(105, 1, 56, _LOGS + "create 85 to 125 s, delete 37 to 79 s"),
    "aws:ec2/securityGroup:SecurityGroup": Latency(2, 1, 1, _LOGS + "create 2 to 3 s, delete 1 s"),
    "aws:ec2/instance:Instance": Latency(
        15, 60, 40, _LOGS + "delete 20 to 40 s and more; create, and update with stop and start: estimate"
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Latency(6, 6, 6, _LOGS + "gateway endpoints 6 to 7 s; delete: estimate"),
    "aws:lb/loadBalancer:LoadBalancer": Latency(
        157, 10, 5, _LOGS + "network load balancers 142, 157 and 161 s; delete: estimate"
    ),
    "aws:route53/zone:Zone": Latency(
        65, 30, 30, _LOGS + "private zones 62 and 79 s; update and delete wait for the same change: estimate"
    ),
    "aws:route53/record:Record": Latency(35, 35, 35, _LOGS + "35 s; any change waits until the servers have it"),
    "aws:iam/instanceProfile:InstanceProfile": Latency(6, 1, 1, _LOGS + "1 to 6 s; waits until the profile is seen"),
    "aws:s3/bucket:Bucket": Latency(
        3, 1, 3, _LOGS + "delete 3 s; create 2 to 19 s (terraform-aws-modules/terraform-aws-route53#33)"
    ),
    "aws:s3/bucketVersioning:BucketVersioning": Latency(2, 2, 2, _LOGS + "create 1 to 2 s"),
}


def seconds(type: str, kind: str) -> float:
    """Seconds that a `create`, `update` or `delete` of a type takes; QUICK for a type without a row.

    The engine's own types (a Stash) ask no cloud.
    """
    return 0.0 if type.startswith("pulumi:") else getattr(LATENCIES.get(type, QUICK), kind)


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
