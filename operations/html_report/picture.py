"""The picture of a cluster's network: zones, subnets, machines, load balancers, stores, as boxes with coordinates.

Coordinates are units of the SVG's viewBox. Each box is placed below the one before it, so boxes never overlap.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from components.plan import ClusterPlan, Machine, MachineGroup
from components.spec.choices import Egress
from components.topology.addressing import Subnet
from components.topology.private_ranges import inside_clients

COLUMN, NARROWEST = 270, 700
"""Least width of a zone and of the picture."""
GAP, HEAD, LINE, ARROW = 12, 25, 16, 34
"""Distance between boxes, height of a box's title, of a line of text, and of an arrow."""
LETTER = 7.4
"""Width that a letter takes at most on average, at the 12 units of the texts."""


@dataclass(frozen=True)
class Box:
    """A box with texts. kind: class of its colours. tip: everything about it, for the pointer and screen readers."""

    kind: str
    title: str
    lines: tuple[str, ...] = ()
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0

    @property
    def tip(self) -> str:
        return "; ".join((self.title, *self.lines))

    @property
    def texts(self) -> list[tuple[float, str, bool]]:
        """Return the texts that fit: y, text, whether it is the title."""
        rows = [(self.y + 17, self.title, True)]
        rows += [(self.y + 17 + LINE * number, line, False) for number, line in enumerate(self.lines, 1)]
        return [(y, fitting(text, self.width - 20), title) for y, text, title in rows]


@dataclass(frozen=True)
class Arrow:
    """A vertical arrow with its label."""

    x: float
    top: float
    bottom: float
    label: str = ""


@dataclass(frozen=True)
class Picture:
    """The boxes, outer ones first, the arrows, and what the picture says in one sentence."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    sentence: str


def fitting(text: str, width: float) -> str:
    """Return a text, cut to a width with an ellipsis."""
    most = max(2, int(width / LETTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def picture(planned: ClusterPlan, zones: Mapping[int, str]) -> Picture:
    """Return the picture of a planned cluster. zones: names by number, as far as they are known."""
    return _Drawing(planned, zones).drawn()


def _tall(box: Box) -> float:
    return HEAD + LINE * len(box.lines) + 4


class _Drawing:
    """The picture while it grows downwards: y is where the next row begins."""

    def __init__(self, planned: ClusterPlan, zones: Mapping[int, str]) -> None:
        self._planned, self._zones = planned, zones
        count = planned.network.zones
        self._column = max(COLUMN, (NARROWEST - 4 * GAP - GAP * (count - 1)) / count)
        self._width = self._column * count + GAP * (count - 1) + 4 * GAP
        self._boxes: list[Box] = []
        self._arrows: list[Arrow] = []
        self._y: float = 0

    def drawn(self) -> Picture:
        planned = self._planned
        self._row([_people(planned)], 0, self._width)
        self._arrow(self._width / 2, "tcp 6443")
        top, at = self._y, len(self._boxes)
        self._y += HEAD + 6
        for bar in _balancers(planned):
            self._row([bar], GAP, self._width - 2 * GAP)
        self._into_zones()
        self._columns()
        gateways = tuple(each.name for each in planned.network.gateways if not each.subnet)
        if gateways:
            self._row([Box("edge", "NAT", (", ".join(gateways),))], GAP, self._width - 2 * GAP)
        frame = Box("network", _network_title(planned), (), 0, top, self._width, self._y - top)
        self._boxes.insert(at, frame)
        outside = [_internet(planned), *_stores()]
        share = self._width / len(outside)
        for number in range(len(outside)):
            self._arrows.append(Arrow(share * (number + 0.5), self._y, self._y + ARROW - 4))
        self._y += ARROW
        self._row(outside, 0, self._width)
        return Picture(self._width, self._y, tuple(self._boxes), tuple(self._arrows), _sentence(planned))

    def _row(self, boxes: Sequence[Box], x: float, width: float) -> None:
        """Place boxes beside each other, all as tall as the tallest."""
        height = max(map(_tall, boxes))
        each = (width - GAP * (len(boxes) - 1)) / len(boxes)
        for number, box in enumerate(boxes):
            self._boxes.append(replace(box, x=x + number * (each + GAP), y=self._y, width=each, height=height))
        self._y += height + GAP

    def _arrow(self, x: float, label: str = "") -> None:
        self._arrows.append(Arrow(x, self._y - GAP, self._y + ARROW - GAP - 4, label))
        self._y += ARROW - GAP

    def _into_zones(self) -> None:
        """Draw an arrow from the API's bar into each zone with a control plane."""
        used = sorted({machine.zone for machine in self._planned.control_plane.machines})
        for zone in used:
            x = 2 * GAP + zone * (self._column + GAP) + self._column / 2
            self._arrows.append(Arrow(x, self._y - GAP, self._y + ARROW - GAP - 4))
        self._y += ARROW - GAP

    def _columns(self) -> None:
        top, ends = self._y, list[float]()
        for zone in range(self._planned.network.zones):
            x = 2 * GAP + zone * (self._column + GAP)
            at, self._y = len(self._boxes), top + HEAD + 6
            for subnet in (each for each in self._planned.network.subnets if each.zone == zone):
                self._subnet(subnet, x + GAP, self._column - 2 * GAP)
            name = self._zones.get(zone, "")
            title = f"Zone {zone}: {name}" if name else f"Zone {zone}"
            self._boxes.insert(at, Box("zone", title, (), x, top, self._column, 0))
            ends.append(self._y)
        self._y = max(ends) + GAP
        self._boxes = [replace(box, height=max(ends) - top) if box.kind == "zone" else box for box in self._boxes]

    def _subnet(self, subnet: Subnet, x: float, width: float) -> None:
        top, at = self._y, len(self._boxes)
        inner = list(_inside(self._planned, subnet))
        edge = not subnet.name.startswith("machines")
        head = Box("edge" if edge else "subnet", f"{subnet.name}: {subnet.cidr}", tuple(_edge(self._planned, subnet)))
        self._y += _tall(head) + (2 if inner else 0)
        for box in inner:
            self._row([box], x + GAP / 2, width - GAP)
        height = self._y - top - (GAP / 2 if inner else 0)
        self._boxes.insert(at, replace(head, x=x, y=top, width=width, height=height))
        self._y = top + height + GAP


def _people(planned: ClusterPlan) -> Box:
    if planned.endpoint.public:
        allowed = ", ".join(map(str, planned.spec.api.allow)) or "nobody"
        return Box("outside", "People", (f"from {allowed}",))
    inside = "".join(f", and {each}" for each in inside_clients(planned.spec))
    return Box("outside", "People", (f"only from the cluster's network{inside}: the API is private",))


def _balancers(planned: ClusterPlan) -> Iterator[Box]:
    """Yield the public load balancer if there is one, then what the endpoint's name resolves to."""
    endpoint = planned.endpoint
    if endpoint.public:
        yield Box("balancer", "Public load balancer", ("for people",))
    addresses = ", ".join(map(str, planned.api_addresses))
    what = "internal load balancer" if endpoint.balanced else "address of the only control plane"
    yield Box(
        "balancer", f"API: {endpoint.host}:{endpoint.port}", (f"{what} {addresses}", f"private zone {endpoint.zone}")
    )


def _network_title(planned: ClusterPlan) -> str:
    whose = "Existing network" if planned.network.existing else "Network"
    return f"{whose} {planned.network.cidr}, pods {planned.spec.network.pods} ({planned.spec.network.mode.value})"


def _edge(planned: ClusterPlan, subnet: Subnet) -> Iterator[str]:
    if subnet in planned.network.endpoints:
        yield f"private endpoints: {', '.join(each.service for each in planned.private_endpoints)}"
    if not subnet.name.startswith("edge"):
        return
    gateways = [each.name for each in planned.network.gateways if each.subnet == subnet.name]
    if gateways:
        yield f"NAT gateway {', '.join(gateways)}"
    if planned.endpoint.public:
        yield "public load balancer"


def _inside(planned: ClusterPlan, subnet: Subnet) -> Iterator[Box]:
    """Yield the machines of a subnet: one box for each control plane, one for each pool."""
    if not subnet.name.startswith("machines"):
        return
    for group in planned.machine_groups:
        here = [machine for machine in group.machines if machine.zone == subnet.zone]
        if group.is_control_plane:
            yield from (Box("control", each.name, (f"{group.os.value}, {each.address}",)) for each in here)
        elif here:
            yield _pool(group, here)


def _pool(group: MachineGroup, here: Sequence[Machine]) -> Box:
    first, last = _span([machine.address for machine in here])
    addresses = str(first) if first == last else f"{first} to {last}"
    machines = f"{len(here)} machine{'s' if len(here) > 1 else ''}"
    return Box(group.family, f"{group.name}: {machines}", (f"{group.os.value}, {group.size}", addresses))


def _span(addresses: Sequence[IPv4Address]) -> tuple[IPv4Address, IPv4Address]:
    return min(addresses), max(addresses)


def _internet(planned: ClusterPlan) -> Box:
    if planned.has_public_machines:
        return Box("outside", "Internet", ("by public addresses",))
    if planned.spec.network.egress is Egress.NONE:
        return Box("outside", "Proxy or mirror", ("no way to the internet",))
    if planned.network.existing:
        return Box("outside", "Internet", ("by your routes",))
    return Box("outside", "Internet", ("through NAT",))


def _stores() -> Iterator[Box]:
    yield Box("store", "Bundles", ("machines' files",))
    yield Box("store", "Snapshots", ("of etcd",))
    yield Box("store", "Secrets", ("join, keys",))


def _sentence(planned: ClusterPlan) -> str:
    pools = ", ".join(f"{len(pool.machines)} of pool {pool.name}" for pool in planned.pools) or "no workers"
    zones = f"{planned.network.zones} zone{'s' if planned.network.zones > 1 else ''}"
    return f"{len(planned.control_plane.machines)} control planes and {pools}, in {zones} of {planned.network.cidr}."
