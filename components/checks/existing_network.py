"""Existing networks: ids, ranges and sizes of subnets, and what an existing network cannot be combined with."""

import re
from collections.abc import Callable, Iterator
from itertools import combinations

from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.spec.existing import ExistingNetwork
from components.spec.models import ApiAccess, Cloud, NatGateways, NetworkMode
from components.topology.addressing import TAIL, WORKER_OFFSET, zone_ranges

SMALLEST = 25
"""Prefix length of the smallest range of a zone: WORKER_OFFSET and TAIL leave 48 of its addresses to workers."""

_AZURE_GROUP = r"/subscriptions/[0-9a-fA-F-]{36}/resourceGroups/[\w().-]+"
_AZURE = rf"{_AZURE_GROUP}/providers/Microsoft\.Network/virtualNetworks/[\w.-]+"
_GCP_PROJECT = r"projects/[a-z][a-z0-9.:-]*[a-z0-9]"
NETWORK_FORMS = {
    Cloud.AWS: (re.compile(r"vpc-[0-9a-f]{8,17}"), "vpc- and 8 to 17 hexadecimal digits"),
    Cloud.AZURE: (
        re.compile(_AZURE),
        "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/virtualNetworks/NAME",
    ),
    Cloud.GCP: (re.compile(rf"{_GCP_PROJECT}/global/networks/[a-z0-9-]+"), "projects/PROJECT/global/networks/NAME"),
}
"""Form of a network's id, and its words."""
SUBNET_FORMS = {
    Cloud.AWS: (re.compile(r"subnet-[0-9a-f]{8,17}"), "subnet- and 8 to 17 hexadecimal digits"),
    Cloud.AZURE: (re.compile(rf"{_AZURE}/subnets/[\w.-]+"), "the network's id, /subnets/ and the subnet's name"),
    Cloud.GCP: (
        re.compile(rf"{_GCP_PROJECT}/regions/[a-z0-9-]+/subnetworks/[a-z0-9-]+"),
        "projects/PROJECT/regions/REGION/subnetworks/NAME",
    ),
}
"""Form of a subnet's id, and its words."""

_ExistingRule = Callable[[Subject, ExistingNetwork], Iterator[Finding]]


def _of(rule: _ExistingRule) -> Rule:
    """Return the rule for specs with an existing network."""

    def checked(subject: Subject) -> Iterator[Finding]:
        if subject.spec.network.existing:
            yield from rule(subject, subject.spec.network.existing)

    return checked


def _in(*path: object, **values: object) -> Finding:
    return at("network", "existing", *path, **values)


def _network_form(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    form, words = NETWORK_FORMS[subject.spec.cloud]
    if not form.fullmatch(existing.network):
        yield _in("network", value=existing.network, form=words)


def _subnet_form(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    form, words = SUBNET_FORMS[subject.spec.cloud]
    places = [(("subnets", index, "id"), subnet.id) for index, subnet in enumerate(existing.subnets)]
    places += [(("public_subnets", index), id_) for index, id_ in enumerate(existing.public_subnets)]
    for path, id_ in places:
        if not form.fullmatch(id_):
            yield _in(*path, value=id_, form=words)


def _elsewhere(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    """Yield subnets whose id names another network, project or region."""
    cloud = subject.spec.cloud
    if cloud is Cloud.AWS or not NETWORK_FORMS[cloud][0].fullmatch(existing.network):
        return
    where = f"{existing.network}/subnets/"
    if cloud is Cloud.GCP:
        where = f"{existing.network.partition('/global/')[0]}/regions/{subject.region}/subnetworks/"
    for index, subnet in enumerate(existing.subnets):
        inside = subnet.id.lower().startswith(where.lower())
        if SUBNET_FORMS[cloud][0].fullmatch(subnet.id) and not inside:
            yield _in("subnets", index, "id", value=subnet.id, where=where)


def _count(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    zones, count = subject.spec.network.zones, len(existing.subnets)
    if count != zones and (count != 1 or subject.spec.cloud.facts.edge_subnets):
        more = "" if subject.spec.cloud.facts.edge_subnets else ", or a single one for all zones"
        yield _in("subnets", count=count, zones=zones, more=more)


def _twice(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    for (_, one), (index, other) in combinations(enumerate(existing.subnets), 2):
        if one.id == other.id:
            yield _in("subnets", index, "id", value=other.id)
    for index, id_ in enumerate(existing.public_subnets):
        if id_ in existing.public_subnets[:index]:
            yield _in("public_subnets", index, value=id_)


def _overlap(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    for (_, one), (index, other) in combinations(enumerate(existing.subnets), 2):
        if one.range.overlaps(other.range):
            yield _in("subnets", index, "range", one=one.range, other=other.range)


def _outside_nodes(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    nodes = subject.spec.network.nodes
    for index, subnet in enumerate(existing.subnets):
        if not subnet.range.subnet_of(nodes):
            yield _in("subnets", index, "range", value=subnet.range, nodes=nodes)


def _too_small(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    zones = subject.spec.network.zones
    ranges = zone_ranges(existing.subnets, zones)
    for index, cidr in enumerate(ranges):
        if cidr.prefixlen > SMALLEST:
            place = min(index, len(existing.subnets) - 1)
            wanted = SMALLEST - (existing.subnets[place].range.prefixlen < cidr.prefixlen) * (zones - 1).bit_length()
            yield _in("subnets", place, "range", value=cidr, used=WORKER_OFFSET + TAIL, prefix=wanted)
            return


def _routed(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    if subject.spec.network.mode is NetworkMode.L2BRIDGE and subject.spec.cloud is not Cloud.GCP:
        yield at("network", "mode", cloud=subject.spec.cloud.facts.title)


def _zonal(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    if subject.spec.network.nat_gateways is NatGateways.ZONAL:
        yield at("network", "nat_gateways")


def _needs_public_subnets(subject: Subject) -> bool:
    """Return whether a public load balancer needs subnets: of the API, or of `ingress`."""
    public = subject.spec.api.access is ApiAccess.PUBLIC or subject.spec.ingress.is_public
    return subject.spec.cloud is Cloud.AWS and public


def _public_subnets_missing(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    if _needs_public_subnets(subject) and not existing.public_subnets:
        yield _in("public_subnets")


def _public_subnets_shared(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    machines = {subnet.id for subnet in existing.subnets}
    for index, id_ in enumerate(existing.public_subnets):
        if id_ in machines:
            yield _in("public_subnets", index, value=id_)


def _public_subnets_unused(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    if existing.public_subnets and not _needs_public_subnets(subject):
        yield _in("public_subnets")


def _zone_elsewhere(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    if existing.private_zone and subject.spec.cloud is not Cloud.AWS:
        yield _in("private_zone")


def _packet_size(subject: Subject, existing: ExistingNetwork) -> Iterator[Finding]:
    if subject.spec.cloud is Cloud.GCP:
        yield _in("network", mtu=subject.spec.cloud.facts.mtu)


_READS = "network.existing cloud"

CHECKS = (
    error(
        "existing-network-id",
        _READS,
        _of(_network_form),
        "{value!r} is not the id of a network",
        "write {form}",
    ),
    error("existing-subnet-id", _READS, _of(_subnet_form), "{value!r} is not the id of a subnet", "write {form}"),
    error(
        "existing-subnet-elsewhere",
        f"{_READS} region",
        _of(_elsewhere),
        "{value} is not in the network and region of this stack",
        "write the id of a subnet that begins with {where}",
    ),
    error(
        "existing-subnet-count",
        f"{_READS} network.zones",
        _of(_count),
        "existing.subnets has {count} subnets, but network.zones is {zones}",
        "list one subnet per zone{more}; or change network.zones",
    ),
    error("existing-subnet-twice", _READS, _of(_twice), "{value} is listed twice", "list each subnet once"),
    error(
        "existing-subnets-overlap",
        _READS,
        _of(_overlap),
        "{other} overlaps {one}, the range of another subnet",
        "write the ranges that the cloud shows for these subnets",
        "IPP-05",
    ),
    error(
        "existing-subnet-outside-nodes",
        f"{_READS} network.nodes",
        _of(_outside_nodes),
        "{value} is not in network.nodes, {nodes}",
        "remove network.nodes, or write a range that contains all subnets",
        "IPP-05",
    ),
    error(
        "existing-subnet-too-small",
        f"{_READS} network.zones",
        _of(_too_small),
        "a zone would have {value}, which is too small: {used} addresses are reserved for the cloud, load balancers and"
        " control planes",
        "choose a subnet with a /{prefix} or larger",
        "IPP-05",
    ),
    error(
        "existing-network-routed",
        f"{_READS} network.mode",
        _of(_routed),
        "mode l2bridge needs a route for each machine in the route tables of your subnets; on {cloud} these belong to"
        " your network, which Mullion never changes",
        "write mode: overlay, or remove network.existing",
        "NET-05",
    ),
    error(
        "existing-network-zonal-nat",
        f"{_READS} network.nat_gateways",
        _of(_zonal),
        "no NAT gateway is created in an existing network",
        "remove nat_gateways",
    ),
    error(
        "existing-public-subnets-missing",
        f"{_READS} api.access ingress",
        _of(_public_subnets_missing),
        "public load balancers, of the API or of ingress, need subnets with a route to an internet gateway",
        "list their ids, one per zone, or write api: {{access: private}} and internal: true for load balancers",
    ),
    error(
        "existing-public-subnets-unused",
        f"{_READS} api.access ingress",
        _of(_public_subnets_unused),
        "public_subnets has no effect here: only public load balancers on AWS, of the API or of ingress, use them",
        "remove public_subnets",
    ),
    warning(
        "existing-public-subnets-shared",
        _READS,
        _of(_public_subnets_shared),
        "{value} is one of the machines' subnets: public load balancers take any free address there, and a machine"
        " made later may need that one",
        "list another subnet of the zone with a route to an internet gateway",
    ),
    error(
        "existing-private-zone-unused",
        _READS,
        _of(_zone_elsewhere),
        "private_zone has no effect on this cloud: Mullion creates a private zone for the network",
        "remove private_zone",
    ),
    warning(
        "existing-network-packet-size",
        _READS,
        _of(_packet_size),
        "the network's MTU must be {mtu}, which no lookup shows: with GCP's default of 1460 pods lose large packets",
        "look at it (gcloud compute networks describe NAME), set it, and acknowledge this warning",
    ),
)
