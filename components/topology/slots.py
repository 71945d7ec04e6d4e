"""Addresses of workers.

A worker's address depends only on its pool's name and its index: each pool starts at a slot (a block of addresses, the
same in every zone) that its name or the option `slot` decides. So the order of pools has no effect, and scaling a pool
never moves another. Two pools can overlap; planning then names both and a free slot.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from components.spec.models import Pool
from components.topology.addressing import TAIL, WORKER_OFFSET, NetworkPlan

SLOTS = 512
"""Fewest slots, where the range allows: two of five pools overlap in less than 2 % of clusters."""


@dataclass(frozen=True)
class Slots:
    """Slots of a zone's worker addresses: their number and size."""

    count: int
    size: int

    @classmethod
    def of(cls, subnet: IPv4Network) -> "Slots":
        """Return the slots of a subnet: the largest power of two as size that leaves at least SLOTS, if the range
        allows.
        """
        area = subnet.num_addresses - WORKER_OFFSET - TAIL
        size = 1 << max(0, (area // SLOTS).bit_length() - 1)
        return cls(area // size, size)

    def start(self, name: str, chosen: int | None) -> int:
        """Return the first slot of a pool."""
        if chosen is not None:
            return chosen % self.count
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % self.count

    def taken(self, start: int, machines: int) -> frozenset[int]:
        """Return the slots that so many machines of one zone use."""
        return frozenset((start + i) % self.count for i in range(-(-machines // self.size)))


def worker_addresses(plan: NetworkPlan, name: str, pool: Pool) -> list[IPv4Address]:
    """Return the fixed addresses of a pool's machines by index; consecutive machines are in different zones."""
    slots = Slots.of(plan.smallest)
    first = slots.start(name, pool.slot) * slots.size
    area = slots.count * slots.size
    firsts = [int(each.cidr.network_address) + WORKER_OFFSET for each in plan.machines]
    zones = plan.zones
    return [IPv4Address(firsts[i % zones] + (first + i // zones) % area) for i in range(pool.count)]


@dataclass(frozen=True)
class Overlap:
    """Two pools whose addresses overlap, and a slot at which the second would not overlap any pool."""

    first: str
    second: str
    free: int | None


def capacity(plan: NetworkPlan) -> int:
    """Return how many workers a cluster can have in this network."""
    slots = Slots.of(plan.smallest)
    return slots.count * slots.size * plan.zones


def overlaps(plan: NetworkPlan, pools: Mapping[str, Pool]) -> Iterable[Overlap]:
    """Yield the pairs of pools that would share addresses, the smaller pool second."""
    slots = Slots.of(plan.smallest)
    need = {name: -(-pool.count // plan.zones) for name, pool in pools.items()}
    taken = {name: slots.taken(slots.start(name, pools[name].slot), need[name]) for name in pools}
    order = sorted(pools, key=lambda name: (-need[name], name))
    for first, second in combinations(order, 2):
        if taken[first] & taken[second]:
            others = {slot for name in pools if name != second for slot in taken[name]}
            free = (s for s in range(slots.count) if not slots.taken(s, need[second]) & others)
            yield Overlap(first, second, next(free, None))
